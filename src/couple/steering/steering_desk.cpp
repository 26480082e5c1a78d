#include "sidestream/couple/steering_desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "couple/steering/box_json.hpp"
#include "couple/steering/change.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/couple/array_inbox.hpp"
#include "sidestream/mesh/cell_condition.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

constexpr std::size_t most_done = 50;                            // that are remembered
constexpr std::size_t most_waiting = 256, more_that_guide = 64;  // the run: none of those waits for a step far away
constexpr const char* place = "steering";
constexpr const char* array_kind = "array";

json refusal(const core::Error& error) {
  return {{"ok", false}, {"message", error.message()}, {"where", error.where()}, {"hint", error.hint()}};
}

bool is_whole_number(const json& given) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return given.is_number_integer() && !(given.is_number_unsigned() && given.get<std::uint64_t>() > most);
}

// What a client gives as text is read as the configuration would be: a word that is no TOML is a string.
core::Node node_from(const json& given, const std::string& key) {
  const std::string where = fmt::format("{} of `{}`", place, key);
  if (given.is_boolean()) return {given.get<bool>(), key, place};
  if (is_whole_number(given)) return {given.get<std::int64_t>(), key, place};
  if (given.is_number()) return {given.get<double>(), key, place};
  if (given.is_array()) {
    core::Node::Array elements;
    for (const json& element : given) elements.push_back(node_from(element, key));
    return {std::move(elements), key, place};
  }
  if (!given.is_string()) throw core::Error(fmt::format("`{}` is to be set to no value", key), place, "give one");
  const auto& text = given.get_ref<const std::string&>();
  try {
    const core::Node root = core::parse_toml("value = " + text, where);
    if (root.members().size() > 1) return {text, key, place};
    return {root.find("value")->value(), key, place};
  } catch (const core::Error&) {
    return {text, key, place};
  }
}

// TOML reads what no double can hold as the largest.
bool is_too_large(const core::Node& node) {
  const auto* const number = std::get_if<double>(&node.value());
  return number != nullptr && std::fabs(*number) == std::numeric_limits<double>::max();
}

bool ends_pause(const std::string& verb) {
  return verb == "resume" || verb == "step" || verb == "stop";
}

// A number of steps; `otherwise` where there is none.
std::int64_t whole_number_in(const json& request, const char* key, std::int64_t otherwise) {
  constexpr std::int64_t most = std::int64_t{1} << 50;
  const auto found = request.find(key);
  if (found == request.end()) return otherwise;
  if (!found->is_number_integer() || found->get<double>() > static_cast<double>(most))
    throw core::Error(fmt::format("`{}` is no number of steps", found->dump()), fmt::format("key `{}`", key),
                      "give a whole number of 1 or more");
  return found->get<std::int64_t>();
}

// Of at most so many bytes; what is no UTF-8, as where they end within a letter, is replaced.
std::string text_in(const json& request, const char* key) {
  constexpr std::size_t longest = 1000;
  const auto found = request.find(key);
  if (found == request.end() || !found->is_string()) return "";
  const json text = found->get<std::string>().substr(0, longest);
  return json::parse(text.dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

}  // namespace

const core::Registry<SteeringVerb>& steering_verbs() {
  static const core::Registry<SteeringVerb> all(
      {"steering", "verb of steering", "what `sidestream steer` asks of a run"},
      {{"list", "the knobs with their values, ranges and meanings, and what may be edited", false},
       {"status", "the step, and the changes that wait or were made", false},
       {"set", "gives a knob another value"},
       {"edit", "sets, adds to or multiplies a quantity in a part of the cells"},
       {"pause", "has the run wait between two steps", false},
       {"resume", "has it go on", false},
       {"step", "has it take so many steps and then wait", false},
       {"checkpoint", "writes a checkpoint"},
       {"stop", "ends the run, with a last checkpoint"}});
  return all;
}

struct SteeringDesk::State {
  std::mutex mutex;
  std::vector<Knob> knobs;
  EditRules rules;
  ArrayInbox arrays;
  SteeringStanding standing;
  std::int64_t first_free = 0;  // the earliest step that a change may be for
  std::int64_t last_id = 0;
  std::deque<Change> waiting;
  std::vector<Change> under_way;  // taken up, and not concluded: those who ask are told that they wait
  std::deque<json> done;          // the last ones
};

SteeringDesk::SteeringDesk() : state_(std::make_unique<State>()) {}
SteeringDesk::~SteeringDesk() = default;

void SteeringDesk::open(std::vector<Knob> knobs, EditRules rules) {
  const std::lock_guard lock(state_->mutex);
  state_->knobs = std::move(knobs);
  state_->rules = std::move(rules);
  state_->arrays = ArrayInbox(state_->rules.folder, state_->rules.domain);
}

json SteeringDesk::answer(const json& request) {
  const std::lock_guard lock(state_->mutex);
  try {
    return answer_to(request);
  } catch (const core::Error& error) {
    return refusal(error);
  } catch (const json::exception& error) {
    return refusal(core::Error(fmt::format("the request cannot be read: {}", error.what()), place));
  } catch (const std::exception& error) {  // of the disk, for an array
    return refusal(core::Error(error.what(), place));
  }
}

json SteeringDesk::answer_to(const json& request) {
  if (state_->standing.state == "starting")
    throw core::Error("the run does not listen yet: it makes its initial state", place, "ask again in a moment");
  const bool is_over = state_->standing.state == "ended";
  if (request.value("kind", "") == array_kind && !is_over) return state_->arrays.answer(request);
  const std::string verb = steering_verbs().named(request.at("verb").get<std::string>()).name;
  if (verb == "list") return listing();
  if (verb == "status") return overview();
  if (is_over) throw core::Error("the run is over", place, "go on with it: sidestream run CONFIG --restart --steer");
  return enter(request, verb);
}

json SteeringDesk::overview() const {
  json waiting = json::array();
  for (const Change& change : state_->under_way) waiting.push_back(to_json(change));
  for (const Change& change : state_->waiting) waiting.push_back(to_json(change));
  return {{"ok", true},
          {"step", state_->standing.step},
          {"progress", state_->standing.progress},
          {"state", state_->standing.state},
          {"waiting", waiting},
          {"done", json(state_->done)}};
}

json SteeringDesk::listing() const {
  json all = overview();
  all["knobs"] = json::array();
  for (const Knob& knob : state_->knobs) {
    const auto value = state_->standing.values.find(knob.option.name);
    all["knobs"].push_back(description_of(knob, value == state_->standing.values.end() ? json() : value->second));
  }
  all["editable"] = json::array();
  for (const EditableQuantity& one : state_->rules.editable)
    all["editable"].push_back({{"name", one.name}, {"unit", one.unit}, {"meaning", one.meaning}, {"above", one.above}});
  return all;
}

json SteeringDesk::enter(const json& request, const std::string& verb) {
  const bool guides = verb != "set" && verb != "edit" && !request.contains("at");
  if (state_->waiting.size() >= most_waiting + (guides ? more_that_guide : 0))
    throw core::Error(fmt::format("{} changes wait already", state_->waiting.size()), place, "ask again later");
  Change change{
      .at = whole_number_in(request, "at", state_->first_free), .verb = verb, .is_soon = !request.contains("at")};
  if (change.at < state_->first_free)
    throw core::Error(
        fmt::format("step {} is past: the next change may come after step {}", change.at, state_->first_free), place,
        "leave `at` out, or name a step that is still to come");
  change.who = text_in(request, "who");
  change.why = text_in(request, "why");
  change.key = text_in(request, "key");
  if (verb == "set") {
    const Knob& knob = knob_named(request.at("name").get<std::string>());
    change.name = knob.option.name;
    change.value = value_for(knob, request.at("value"));
  } else if (verb == "edit") {
    const RegionEdit edit = checked_or_dropped(request);
    change.name = edit.quantity;
    change.value = to_json(edit);
  } else if (verb == "step") {
    const std::int64_t count = whole_number_in(request, "count", 1);
    if (count < 1) throw core::Error(fmt::format("a run cannot take {} steps", count), place, "take 1 or more");
    change.value = count;
  }
  change.id = ++state_->last_id;
  state_->waiting.push_back(change);
  return {{"ok", true}, {"id", change.id}, {"at", change.at}};
}

const Knob& SteeringDesk::knob_named(const std::string& name) const {
  std::vector<std::string> names;
  for (const Knob& knob : state_->knobs) {
    if (knob.option.name == name) return knob;
    names.push_back(knob.option.name);
  }
  throw core::unknown_name("knob", name, names, place);
}

json SteeringDesk::value_for(const Knob& knob, const json& given) const {
  const core::Node node = node_from(given, knob.option.name);
  if (is_too_large(node))
    throw core::Error(fmt::format("the value of `{}` is larger than any number can be", knob.option.name), place,
                      "give a number below 1e308");
  json value = knob.read(node);
  const auto is_finite = [](const json& one) { return !one.is_number() || std::isfinite(one.get<double>()); };
  if (!is_finite(value) || (value.is_array() && !std::ranges::all_of(value, is_finite)))
    throw core::Error(fmt::format("`{}` takes finite numbers only", knob.option.name), place,
                      "give a number that is neither infinite nor NaN");
  return value;
}

// An edit that is refused keeps no array on its way, for there is room for few, unless parts of it are to come.
RegionEdit SteeringDesk::checked_or_dropped(const json& request) {
  try {
    return checked_edit(request);
  } catch (const std::exception&) {
    const json edit = request.value("edit", json::object());
    if (edit.is_object() && edit.contains("array")) state_->arrays.drop_whole(array_number(edit.at("array")));
    throw;
  }
}

// An array gets its name last, when nothing else can be wrong.
RegionEdit SteeringDesk::checked_edit(const json& request) {
  std::vector<std::string> names;
  for (const EditableQuantity& one : state_->rules.editable) names.push_back(one.name);
  const auto name = request.at("name").get<std::string>();
  const auto found = std::ranges::find(state_->rules.editable, name, &EditableQuantity::name);
  if (names.empty())
    throw core::Error("this simulation has no quantity that may be edited", place,
                      "`sidestream steer RUN list` says which knobs there are");
  if (found == state_->rules.editable.end())
    throw core::unknown_name("quantity that may be edited", name, names, place);
  json wanted = request.at("edit");
  std::optional<std::int64_t> array;
  if (wanted.contains("array")) {
    array = array_number(wanted.at("array"));
    wanted.erase("array");
    wanted["cells"] = box_json(state_->arrays.box_of(*array));
    wanted["value"] = 0.0;
  }
  if (!wanted.contains("cells")) wanted["cells"] = box_json(state_->rules.domain);
  RegionEdit edit = edit_from(name, wanted);
  require_inside(edit.cells, state_->rules.domain);
  if (!edit.where.empty())
    mesh::CellCondition(edit.where, edit_condition).check(state_->rules.quantities, state_->rules.has_redshift);
  if (!std::isfinite(edit.value))
    throw core::Error("an edit takes a finite number", place, "give a number that is neither infinite nor NaN");
  if (!array && edit.operation->name == "set" && !(edit.value > found->above))
    throw core::Error(fmt::format("`{}` cannot be {}: it is above {}", name, edit.value, found->above), place);
  if (array) edit.array = state_->arrays.finish(*array);
  return edit;
}

void SteeringDesk::tell(SteeringStanding standing) {
  const std::lock_guard lock(state_->mutex);
  const bool is_first = state_->standing.state == "starting";
  state_->standing = std::move(standing);
  if (is_first || state_->standing.state == "paused") state_->first_free = state_->standing.step;
}

std::vector<Change> SteeringDesk::take(std::int64_t step, bool is_paused) {
  const std::lock_guard lock(state_->mutex);
  // The next step does not come before one of those that end a pause, which came just before it.
  const auto is_due = [&](const Change& change) {
    return change.at <= step || (is_paused && change.is_soon && ends_pause(change.verb));
  };
  const auto later = std::ranges::stable_partition(state_->waiting, is_due);
  std::vector<Change> due(std::make_move_iterator(state_->waiting.begin()), std::make_move_iterator(later.begin()));
  state_->waiting.erase(state_->waiting.begin(), later.begin());
  const bool waits = is_paused && std::ranges::none_of(due, [](const Change& one) { return ends_pause(one.verb); });
  state_->first_free = waits ? step : step + 1;
  state_->under_way = due;
  return due;
}

void SteeringDesk::conclude(const Change& change, const std::string& outcome) {
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->under_way, [&](const Change& one) { return one.id == change.id; });
  json entry = to_json(change);
  entry["outcome"] = outcome;
  state_->done.push_back(std::move(entry));
  if (state_->done.size() > most_done) state_->done.pop_front();
}

std::vector<Change> SteeringDesk::close() {
  const std::lock_guard lock(state_->mutex);
  state_->standing.state = "ended";
  const std::deque<Change> left = std::exchange(state_->waiting, {});
  return {left.begin(), left.end()};
}

}  // namespace sidestream::couple
