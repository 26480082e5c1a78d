#include "sidestream/core/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <sstream>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <toml.hpp>
#pragma GCC diagnostic pop

#include "core/toml_text.hpp"
#include "core/utf8.hpp"
#include "sidestream/core/input_file.hpp"

namespace sidestream::core {

namespace {

using TomlValue = toml::basic_value<toml::discard_comments, std::unordered_map, std::vector>;

std::string joined(const std::string& table, const std::string& name) {
  return table.empty() ? name : table + "." + name;
}

// Only tables written out have a place of their own; the order of members is that of their places.
std::pair<std::uint_least32_t, std::uint_least32_t> position(const TomlValue& value) {
  const auto location = value.location();
  return {location.line(), location.column()};
}

constexpr const char* too_many_digits = "the whole number has too many digits";

// The parser gives numbers that do not fit the nearest one that does.
std::int64_t whole_number(const TomlValue& value, const std::string& where) {
  const std::int64_t number = value.as_integer();
  if (number == std::numeric_limits<std::int64_t>::max() || number == std::numeric_limits<std::int64_t>::min())
    throw Error(too_many_digits, where, "18 digits are the most");
  return number;
}

// Names of tables become those of files, folders and arrays.
void require_short(const std::string& name, const std::string& place) {
  constexpr std::size_t longest_name = 128;
  if (name.size() > longest_name)
    throw Error(fmt::format("the name `{}...` has {} bytes", name.substr(0, 40), name.size()), place,
                fmt::format("{} are the most", longest_name));
}

Node converted(const TomlValue& value, const std::string& key, const std::string& source);

Node::Members converted_members(const TomlValue& value, const std::string& key, const std::string& source) {
  std::vector<std::pair<std::string, const TomlValue*>> ordered;
  for (const auto& [name, member] : value.as_table()) ordered.emplace_back(name, &member);
  std::ranges::sort(ordered, [](const auto& a, const auto& b) {
    return std::pair(position(*a.second), a.first) < std::pair(position(*b.second), b.first);
  });
  Node::Members members;
  for (const auto& [name, member] : ordered) {
    require_short(name, source);
    members.emplace_back(name, converted(*member, joined(key, name), source));
  }
  return members;
}

Node converted(const TomlValue& value, const std::string& key, const std::string& source) {
  const auto [line, column] = position(value);
  const std::string place = line > 0 ? fmt::format("{}:{}:{}", source, line, column) : source;
  switch (value.type()) {
    case toml::value_t::table:
      return Node(converted_members(value, key, source), key, place);
    case toml::value_t::array: {
      Node::Array elements;
      for (const auto& element : value.as_array()) elements.push_back(converted(element, key, source));
      return Node(std::move(elements), key, place);
    }
    case toml::value_t::string:
      return Node(std::string(value.as_string().str), key, place);
    case toml::value_t::integer:
      return Node(whole_number(value, fmt::format("{}, key `{}`", place, key)), key, place);
    case toml::value_t::floating:
      return Node(double{value.as_floating()}, key, place);
    case toml::value_t::boolean:
      return Node(bool{value.as_boolean()}, key, place);
    default:
      throw Error("dates and times have no meaning here", fmt::format("{}, key `{}`", place, key), "write a string");
  }
}

// toml11 explains over several lines, with a drawing of the place; its first line and the place are enough.
Error syntax_error(const toml::exception& error, const std::string& source) {
  std::string message = error.what();
  const auto begin = message.find("] ");
  message = message.substr(begin == std::string::npos ? 0 : begin + 2);
  message = message.substr(0, message.find('\n'));
  if (const auto name = message.find(": "); name != std::string::npos && message.starts_with("toml::"))
    message = message.substr(name + 2);
  const auto location = error.location();
  return Error(fmt::format("this is not TOML: {}", message),
               fmt::format("{}:{}:{}", source, location.line(), location.column()),
               "strings stand in double quotes, tables begin with [name]");
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else if ((c >= 0 && c < ' ') || c == '\x7f')
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      out += c;
  }
  return out + "\"";
}

bool is_bare(const std::string& key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
}
std::string key_text(const std::string& key) {
  return is_bare(key) ? key : quoted(key);
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void write_table(const Node& table, const std::string& path, std::string& out) {
  for (const auto& [name, member] : table.members())
    if (!member.is_table()) out += fmt::format("{} = {}\n", key_text(name), value_to_toml(member));
  for (const auto& [name, member] : table.members()) {
    if (!member.is_table()) continue;
    const std::string full = joined(path, key_text(name));
    out += fmt::format("\n[{}]\n", full);
    write_table(member, full, out);
  }
}

void check_range(const Node& node, const Option& option, double value) {
  if (!std::isfinite(value)) reject(node, fmt::format("`{}` is not a finite number", option.name));
  const bool low = option.minimum && value < *option.minimum, high = option.maximum && value > *option.maximum;
  if (!low && !high) return;
  const std::string bounds = option.minimum && option.maximum
                                 ? fmt::format("between {} and {}", *option.minimum, *option.maximum)
                             : option.minimum ? fmt::format("at least {}", *option.minimum)
                                              : fmt::format("at most {}", *option.maximum);
  reject(node, fmt::format("`{}` is {}, but must be {}", option.name, value, bounds), option.documentation);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

}  // namespace

const Node::Members& Node::members() const {
  if (!is_table()) reject(*this, fmt::format("`{}` is {}, but must be a table", key_, kind()));
  return std::get<Members>(value_);
}

const Node::Array& Node::elements() const {
  if (!is_array())
    reject(*this, fmt::format("`{}` is {}, but must be an array", key_, kind()), "write it in square brackets");
  return std::get<Array>(value_);
}

const Node* Node::find(std::string_view name) const {
  for (const auto& [key, member] : members())
    if (key == name) return &member;
  return nullptr;
}

void Node::set(std::string_view name, Node value) {
  members();
  auto& all = std::get<Members>(value_);
  for (auto& [key, member] : all)
    if (key == name) {
      member = std::move(value);
      return;
    }
  all.emplace_back(std::string(name), std::move(value));
}

double Node::number() const {
  if (const auto* real = std::get_if<double>(&value_)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*whole);
  reject(*this, fmt::format("`{}` is {}, but must be a number", key_, kind()));
}

std::int64_t Node::integer() const {
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return *whole;
  reject(*this, fmt::format("`{}` is {}, but must be a whole number", key_, kind()));
}

bool Node::boolean() const {
  if (const auto* truth = std::get_if<bool>(&value_)) return *truth;
  reject(*this, fmt::format("`{}` is {}, but must be true or false", key_, kind()));
}

const std::string& Node::text() const {
  if (const auto* words = std::get_if<std::string>(&value_)) return *words;
  reject(*this, fmt::format("`{}` is {}, but must be a string", key_, kind()), "write it in double quotes");
}

std::string Node::where() const {
  if (key_.empty()) return place_;
  return place_.empty() ? fmt::format("key `{}`", key_) : fmt::format("{}, key `{}`", place_, key_);
}

std::string Node::kind() const {
  constexpr std::array names{"a table", "an array", "a string", "a whole number", "a number", "true or false"};
  return names[value_.index()];
}

Node load_toml(const std::string& path) {
  const InputFile configuration{.noun = "the configuration",
                                .hint = "give the path of a TOML file, for example examples/cosmology.toml",
                                .most_bytes = std::uint64_t{1} << 24};
  return parse_toml(read_input_file(path, configuration), path);
}

Node parse_toml(const std::string& text, const std::string& source) {
  require_utf8(text, source);
  require_shallow(text, source);
  std::istringstream stream(text);
  try {
    Node root =
        converted(toml::parse<toml::discard_comments, std::unordered_map, std::vector>(stream, source), "", source);
    return Node(root.value(), "", source);
  } catch (const toml::exception& error) {
    throw syntax_error(error, source);
  }
}

namespace {

// A value with all that is in it, as if it had been written at `key`.
Node moved_to(const Node& value, const std::string& key, const std::string& place) {
  Node::Value moved = value.value();
  if (auto* elements = std::get_if<Node::Array>(&moved))
    for (Node& element : *elements) element = moved_to(element, key, place);
  if (auto* members = std::get_if<Node::Members>(&moved))
    for (auto& [name, member] : *members) member = moved_to(member, joined(key, name), place);
  return {std::move(moved), key, place};
}

}  // namespace

void override_key(Node& root, const std::string& assignment) {
  const std::string source = "--set " + excerpt(assignment, 0);
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    throw Error("an override is written key=value", source, "for example --set task.halos.every=5");
  const std::string key = assignment.substr(0, equals), text = assignment.substr(equals + 1);
  require_shallow(key, source.substr(0, 60));
  require_utf8(assignment, source);
  Node value;
  try {
    value = *parse_toml("value = " + text, source).find("value");
  } catch (const Error& error) {
    if (error.message() == too_many_digits) throw Error(error.message(), source + ", key `" + key + "`", error.hint());
    value = Node(text);
  }
  Node* table = &root;
  std::string path;
  for (std::size_t begin = 0;;) {
    const auto dot = key.find('.', begin);
    const std::string name = key.substr(begin, dot - begin);
    if (name.empty()) throw Error("an override names its key as table.key", source, "such as --set mesh.block=16");
    require_short(name, "--set");
    path = joined(path, name);
    if (dot == std::string::npos) {
      table->set(name, moved_to(value, path, source));
      return;
    }
    if (table->find(name) == nullptr) table->set(name, Node(Node::Members{}, path, source));
    auto& members = std::get<Node::Members>(table->value());
    table = &std::ranges::find(members, name, &Node::Members::value_type::first)->second;
    table->members();
    begin = dot + 1;
  }
}

std::string to_toml(const Node& root) {
  std::string out;
  write_table(root, "", out);
  return out;
}

std::string value_to_toml(const Node& node) {
  if (const auto* table = std::get_if<Node::Members>(&node.value())) {
    std::vector<std::string> members;
    for (const auto& [name, member] : *table)
      members.push_back(fmt::format("{} = {}", key_text(name), value_to_toml(member)));
    return fmt::format("{{ {} }}", fmt::join(members, ", "));
  }
  if (const auto* array = std::get_if<Node::Array>(&node.value())) {
    std::vector<std::string> elements;
    for (const Node& element : *array) elements.push_back(value_to_toml(element));
    return fmt::format("[{}]", fmt::join(elements, ", "));
  }
  if (const auto* text = std::get_if<std::string>(&node.value())) return quoted(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&node.value())) return fmt::format("{}", *whole);
  if (const auto* real = std::get_if<double>(&node.value())) return number_text(*real);
  return std::get<bool>(node.value()) ? "true" : "false";
}

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  std::string nearest;
  std::size_t best = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates)
    if (const std::size_t distance = edit_distance(name, candidate); distance < best) {
      best = distance;
      nearest = candidate;
    }
  constexpr std::size_t least_of_a_beginning = 3;
  const auto begins = [name](const std::string& candidate) { return candidate.starts_with(name); };
  if (nearest.empty() && name.size() >= least_of_a_beginning && std::ranges::count_if(candidates, begins) == 1)
    return *std::ranges::find_if(candidates, begins);
  return nearest;
}

void reject(const Node& node, const std::string& what, const std::string& hint) {
  throw Error(what, node.where(), hint);
}

double quantity(const Node& node, const Units& units) {
  std::vector<std::string> names;
  for (const auto& [name, factor] : units)
    if (!name.empty()) names.push_back(name);
  const std::string hint = fmt::format("write a number and a unit ({}), for example \"1.5 {}\"", fmt::join(names, ", "),
                                       names.empty() ? "" : names.front());
  const bool bare = units.contains("");
  if (!node.is_text()) {
    const double value =
        node.is_table() || node.is_array()
            ? (reject(node, fmt::format("`{}` is {}, but must be a number with a unit", node.key(), node.kind()), hint),
               0.0)
            : node.number();
    if (!bare) reject(node, fmt::format("`{}` has no unit", node.key()), hint);
    return value * units.find("")->second;
  }
  const std::string& text = node.text();
  double value = 0.0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || !std::isfinite(value))
    reject(node, fmt::format("\"{}\" does not begin with a number", text), hint);
  std::string unit(end, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size() : unit.find_first_not_of(' '));
  while (!unit.empty() && unit.back() == ' ') unit.pop_back();
  const auto found = units.find(unit);
  if (found == units.end())
    reject(node,
           unit.empty() ? fmt::format("`{}` has no unit", node.key())
                        : fmt::format("\"{}\" is no unit for `{}`", unit, node.key()),
           hint);
  return value * found->second;
}

const Units& wall_time_units() {
  static const Units units{{"s", 1.0}, {"min", 60.0}, {"h", 3600.0}, {"d", 86400.0}};
  return units;
}

const Units& size_units() {
  static const Units units{{"B", 1.0}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  return units;
}

void check_known_keys(const Node& table, std::span<const std::string> known) {
  for (const auto& [name, member] : table.members()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string nearest = nearest_name(name, known);
    reject(member, fmt::format("`{}` is not a key here", name),
           nearest.empty() ? fmt::format("the keys are {}", fmt::join(known, ", "))
                           : fmt::format("did you mean `{}`?", nearest));
  }
}

void read_value(const Node& node, const Option& option, double& out) {
  out = option.units != nullptr ? quantity(node, *option.units) : node.number();
  check_range(node, option, out);
}

void read_value(const Node& node, const Option& option, std::int64_t& out) {
  out = node.integer();
  check_range(node, option, static_cast<double>(out));
}

void read_value(const Node& node, const Option& option, std::int32_t& out) {
  const std::int64_t value = node.integer();
  check_range(node, option, static_cast<double>(value));
  if (value != static_cast<std::int32_t>(value)) reject(node, fmt::format("`{}` is too large", option.name));
  out = static_cast<std::int32_t>(value);
}

void read_value(const Node& node, const Option&, bool& out) {
  out = node.boolean();
}

void read_value(const Node& node, const Option& option, std::string& out) {
  out = node.text();
  if (option.choices.empty() || std::ranges::find(option.choices, out) != option.choices.end()) return;
  const std::string nearest = nearest_name(out, option.choices);
  reject(node, fmt::format("\"{}\" is no choice for `{}`", out, option.name),
         fmt::format("the choices are {}{}", fmt::join(option.choices, ", "),
                     nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
}

void read_value(const Node& node, const Option& option, std::vector<double>& out) {
  out.clear();
  for (const Node& element : node.elements()) read_value(element, option, out.emplace_back());
}

void read_value(const Node& node, const Option& option, std::vector<std::string>& out) {
  out.clear();
  for (const Node& element : node.elements()) {
    std::string name;
    read_value(element, option, name);
    if (std::ranges::find(out, name) != out.end())
      reject(element, fmt::format("`{}` is named twice", name), "name it once");
    out.push_back(std::move(name));
  }
}

void read_value(const Node& node, const Option& option, std::array<std::int32_t, 3>& out) {
  const std::string hint = fmt::format("write them in square brackets: {} = {}", option.name,
                                       option.default_text.empty() ? "[64, 64, 64]" : option.default_text);
  if (!node.is_array()) reject(node, fmt::format("`{}` takes 3 numbers (x, y, z)", option.name), hint);
  const auto& elements = node.elements();
  if (elements.size() != 3)
    reject(node, fmt::format("`{}` holds {} numbers, but takes 3 (x, y, z)", option.name, elements.size()), hint);
  for (std::size_t axis = 0; axis < 3; ++axis) read_value(elements[axis], option, out[axis]);
}

namespace {

template <typename V>
std::optional<Node> array_node(const V& values, const Option& option) {
  Option element = option;
  element.units = nullptr;
  Node::Array elements;
  for (const auto& value : values) elements.push_back(*to_node(value, element));
  return Node(std::move(elements));
}

}  // namespace

std::optional<Node> to_node(double value, const Option& option) {
  if (option.units == nullptr) return Node(value);
  // The default in the first unit whose factor is one, as the user would write it.
  for (const auto& [name, factor] : *option.units)
    if (factor == 1.0) return Node(fmt::format("{} {}", value, name));
  return Node(value);
}
std::optional<Node> to_node(std::int64_t value, const Option&) {
  return Node(value);
}
std::optional<Node> to_node(std::int32_t value, const Option&) {
  return Node(std::int64_t{value});
}
std::optional<Node> to_node(bool value, const Option&) {
  return Node(value);
}
std::optional<Node> to_node(const std::string& value, const Option&) {
  return Node(value);
}
std::optional<Node> to_node(const std::vector<double>& value, const Option& option) {
  return array_node(value, option);
}
std::optional<Node> to_node(const std::vector<std::string>& value, const Option& option) {
  return array_node(value, option);
}
std::optional<Node> to_node(const std::array<std::int32_t, 3>& value, const Option& option) {
  return array_node(value, option);
}

}  // namespace sidestream::core
