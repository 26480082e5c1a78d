#include "sidestream/couple/stream_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "couple/publish/protocol.hpp"
#include "couple/publish/understood.hpp"
#include "couple/stream/demand.hpp"
#include "couple/stream/meeting_point.hpp"
#include "couple/stream/reader/attendant.hpp"
#include "couple/stream/reader/fetch.hpp"
#include "couple/stream/reader/inquirer.hpp"
#include "couple/stream/reader/particle_owners.hpp"
#include "couple/stream/reader/technique_choice.hpp"
#include "couple/stream/shares.hpp"
#include "couple/waiting.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::couple {

using nlohmann::json;

class StreamReader::Impl {
 public:
  Impl(const comm::Communicator& comm, std::string where, ReaderOptions options)
      : comm_(comm.duplicate()), where_(std::move(where)), options_(std::move(options)) {
    attach();
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  // Whoever ends by an error may be started again, and goes on then.
  ~Impl() {
    if (attendant_ && !has_failed_ && std::uncaught_exceptions() == 0) attendant_->leave_for_good();
  }

  std::optional<mesh::Snapshot> next() {
    has_failed_ = true;
    std::optional<mesh::Snapshot> snapshot = next_of_run();
    has_failed_ = false;
    return snapshot;
  }

  std::optional<mesh::Snapshot> next_of_run() {
    acknowledge();
    while (ending_.empty()) {
      const json told = next_message();
      const std::string kind = told.at("kind");
      if (kind == "step") {
        if (std::optional<mesh::Snapshot> snapshot = understood([&] { return take(told); })) return snapshot;
        continue;
      }
      const std::string reason = told.at("reason");
      if (kind == "interrupted") throw_together(comm_, core::Error(reason));
      if ((kind == "silence" || kind == "let go") && options_.patience_s > 0.0) {
        attach();
        continue;
      }
      ending_ = reason;
      if (attendant_ && (kind == "end" || kind == "dismissed")) attendant_->leave_for_good();
      attendant_.reset();
      if (kind == "silence")
        throw_together(comm_,
                       core::Error(reason, where_, "attach again, with more patience if the run is to be restarted"));
      if (kind != "end") throw_together(comm_, let_go(reason, kind == "let go"));
    }
    return std::nullopt;
  }

  bool has_next() const { return attendant_ && attendant_->has_next(); }

  void acknowledge() {
    if (!ending_.empty()) return;
    if (attendant_) attendant_->finish(number_);
    done_run_ = run_;
    done_step_ = step_;
  }

  const ReaderOptions& options() const { return options_; }
  const std::string& configuration() const { return configuration_; }
  const std::string& run() const { return run_; }
  const std::string& ending() const { return ending_; }
  const std::vector<std::int64_t>& lost() const { return lost_; }
  const ReaderCounts& counts() const { return counts_; }

 private:
  using FieldOfLevel = std::shared_ptr<mesh::Field<double>>;

  // How a level comes: the boxes that are fetched, those that are wanted, and the plan between, if they differ.
  struct Level {
    mesh::Layout source, fetched, target;
    std::unique_ptr<redistribute::Redistribution> plan{};
  };
  struct Way {
    std::vector<Level> levels;
    TechniqueTimes times;
  };

  bool is_first() const { return comm_.rank() == 0; }

  // The first rank finds the run; a reader that has patience goes on trying.
  void attach() {
    attendant_.reset();
    fetcher_.reset();
    ways_ = {};
    levels_version_ = number_ = 0;
    const json welcome = unpacked(told_by_first(comm_, [&] { return find_run(); }));
    std::vector<std::string> plain_addresses;
    MeetingPoint point;
    understood([&] {
      configuration_ = welcome.at("configuration");
      options_.task = welcome.at("task");
      run_ = welcome.at("run");
      for (const std::int64_t step : welcome.at("lost")) lost_.push_back(step);
      addresses_ = addresses_in(welcome, "addresses");
      plain_addresses = addresses_in(welcome, "plain_addresses");
      point = {welcome.at("address"), welcome.at("key"), welcome.at("point_run"), welcome.at("point_configuration")};
      if (addresses_.empty() || plain_addresses.size() != addresses_.size())
        refuse_message("it has not two addresses of each rank");
    });
    comm_.agree_on([&] {
      fetcher_ = std::make_unique<Fetcher>(addresses_, plain_addresses, security_for(point.key, where_, options_.keys),
                                           options_.timeout_s, Relocation(where_, point));
    });
  }

  // One of all interfaces is that by which the run was found.
  static std::vector<std::string> addresses_in(const json& welcome, const char* key) {
    auto addresses = welcome.at(key).get<std::vector<std::string>>();
    for (std::string& address : addresses)
      for (const std::string any : {"//0.0.0.0:", "//*:"})
        if (const std::size_t at = address.find(any); at != std::string::npos)
          address.replace(at, any.size(), "//" + welcome.at("host").get<std::string>() + ":");
    return addresses;
  }

  std::string find_run() {
    const core::Stopwatch watch;
    while (true) {
      std::optional<Relocation> relocation;
      try {
        const MeetingPoint point = meeting_point(where_);
        relocation.emplace(where_, point);
        ReaderOptions options = options_;
        if (options_.patience_s > 0.0)
          options.timeout_s = std::min(options.timeout_s, std::max(1.0, options_.patience_s));
        attendant_ = std::make_unique<Attendant>(point, security_for(point.key, where_, options_.keys), options,
                                                 comm_.size(), *relocation);
        json welcome = attendant_->welcome();
        welcome["address"] = point.address;
        welcome["key"] = point.key;
        welcome["point_run"] = point.run;
        welcome["point_configuration"] = point.configuration;
        welcome["host"] = is_local(point.address) && point.address.starts_with("ipc") ? "" : host_of(point.address);
        return packed(welcome);
      } catch (const Refusal&) {
        throw;
      } catch (const core::Error&) {
        if (watch.seconds() > options_.patience_s && !(relocation && relocation->has_been())) throw;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }

  // What the run says next, on all ranks.
  json next_message() {
    json told;
    if (is_first()) {
      Attendant::News news = attendant_->next(number_);
      constexpr std::array kinds{"step", "end", "dismissed", "let go", "silence", "interrupted"};
      told = news.kind == Attendant::Kind::step ? std::move(news.step) : json{{"reason", news.reason}};
      told["kind"] = kinds[static_cast<std::size_t>(news.kind)];
      told["dropped"] = attendant_->dropped();
    }
    return unpacked(broadcast_patiently(comm_, is_first() ? packed(told) : std::string()));
  }

  // Nothing where it was given before.
  std::optional<mesh::Snapshot> take(const json& told) {
    if (told.contains("levels")) adopt(told);
    const Announcement announcement = announcement_from(told, std::numeric_limits<std::size_t>::max());
    if (announcement.number <= number_) return std::nullopt;
    mesh::Snapshot snapshot = snapshot_from(told);
    if (!options_.once_as.empty() && run_ == done_run_ && snapshot.moment.step <= done_step_) {  // of a restarted run
      number_ = announcement.number;
      if (attendant_) attendant_->receive(number_, levels_version_, 0);
      if (attendant_) attendant_->finish(number_);
      return std::nullopt;
    }
    snapshot.source = where_;
    snapshot.rank = comm_.rank();
    const Technique technique = choose();
    Way& way = ways_[static_cast<std::size_t>(technique)];
    if (way.levels.empty()) lay_out(technique, way);
    counts_.technique = techniques().named(technique == Technique::bounding_box ? "bounding-box" : "write-block").name;
    const std::vector<std::string> names = told.at("own_fields"), species = told.at("own_species");
    const core::Stopwatch watch;
    std::string problem;
    bool is_late = false;
    Fetched fetched;
    try {
      fetched = fetch(announcement, names, !species.empty(), way);
    } catch (const FetchTimeout& error) {
      problem = error.message();
      is_late = true;
    } catch (const core::Error& error) {
      problem = error.message();
    }
    if (!is_fetched_by_all(problem, is_late)) {
      attach();
      return std::nullopt;
    }
    bring_together(announcement, names, species, way, fetched, snapshot);
    const double seconds = comm_.max(watch.seconds());
    way.times.add(seconds);
    number_ = announcement.number;
    step_ = snapshot.moment.step;
    counts_.transfer_s = seconds;
    counts_.dropped = told.at("dropped");
    counts_.connections = fetcher_->connections();
    ++counts_.steps;
    if (attendant_)
      attendant_->receive(number_, levels_version_, counts_.bytes - std::exchange(told_bytes_, counts_.bytes));
    return snapshot;
  }

  // One that has patience looks again for a run that gives nothing or has let it go; else all ranks throw.
  bool is_fetched_by_all(const std::string& problem, bool is_late) {
    if (comm_.all(problem.empty())) return true;
    const std::string reason = comm_.broadcast(attendant_ ? attendant_->reason_to_let_go() : std::string());
    const bool is_patient = options_.patience_s > 0.0;
    if (!reason.empty() && !is_patient) throw_together(comm_, let_go(reason, true));
    comm_.agree(is_patient && (is_late || !reason.empty()) ? "" : problem);
    return false;
  }

  core::Error let_go(const std::string& reason, bool may_return) const {
    return core::Error("the run has let this reader go: " + reason, where_,
                       may_return ? "attach again; one with patience does so itself" : "");
  }

  void adopt(const json& told) {
    const int ranks = static_cast<int>(addresses_.size());
    leaves_ = levels_from(told.at("levels").at("leaves"), {}, ranks);
    blocks_ = told.at("levels").contains("blocks") ? levels_from(told.at("levels").at("blocks"), {}, ranks) : leaves_;
    levels_version_ = told.at("levels_version");
    ways_ = {};
  }

  // Whose share each rank of the run is.
  std::vector<std::int32_t> reader_of_writer(int writers) const {
    const std::vector<std::int32_t> gateways = gateways_of(options_.gateways, comm_.size());
    std::vector<std::int32_t> owners = owners_of_writers(writers, static_cast<int>(gateways.size()));
    for (std::int32_t& owner : owners) owner = gateways[static_cast<std::size_t>(owner)];
    return owners;
  }

  Technique choose() const {
    if (options_.gateways > 0) return Technique::write_block;
    if (options_.technique != Technique::automatic) return options_.technique;
    const auto times = [this](Technique technique) -> const TechniqueTimes& {
      return ways_[static_cast<std::size_t>(technique)].times;
    };
    return choose_technique(times(Technique::bounding_box), times(Technique::write_block));
  }

  void lay_out(Technique technique, Way& way) {
    const int writers = static_cast<int>(addresses_.size());
    for (const mesh::Layout& source : levels_for(options_.demand, leaves_, blocks_)) {
      Level& level = way.levels.emplace_back();
      level.source = source;
      const mesh::Layout shares = source.renumbered(reader_of_writer(writers));
      const bool takes_shares = technique == Technique::write_block && options_.gateways == 0;
      level.target = target_of(source, shares, takes_shares && comm_.size() <= writers);
      level.fetched = technique == Technique::write_block ? shares : level.target;
      if (level.fetched != level.target)
        level.plan = std::make_unique<redistribute::Redistribution>(comm_, level.fetched, level.target);
    }
    if (options_.demand.region && !way.levels.empty() &&
        intersection(*options_.demand.region, way.levels.front().source.domain()).is_empty())
      throw core::Error(fmt::format("the region {} lies outside the box of the run, {}",
                                    to_string(*options_.demand.region), to_string(way.levels.front().source.domain())),
                        "", "give a region inside of it");
    comm_.agree(options_.layout->pieces && way.levels.size() > 1
                    ? fmt::format("the run is refined, and a layout of {} is for one level", options_.layout->name)
                    : "");
  }

  mesh::Layout target_of(const mesh::Layout& source, const mesh::Layout& shares, bool takes_shares) const {
    if (!options_.layout->pieces) return takes_shares ? shares : dealt(source, comm_.size());
    mesh::Box region = source.domain();
    if (options_.demand.region) region = intersection(region, *options_.demand.region);
    const mesh::Layout pieces = mesh::split(region, options_.layout->pieces(comm_.size(), region), source.periodic());
    return {source.domain(),
            source.periodic(),
            {pieces.boxes().begin(), pieces.boxes().end()},
            {pieces.owners().begin(), pieces.owners().end()},
            source.level()};
  }

  // Memory in which nobody looks any more is used again: to be given fresh memory takes as long as to fill it.
  FieldOfLevel field_on(const mesh::Layout& layout) {
    for (FieldOfLevel& kept : kept_)
      if (kept.use_count() == 1 && kept->layout() == layout) return kept;
    std::erase_if(kept_, [](const FieldOfLevel& kept) { return kept.use_count() == 1; });
    return kept_.emplace_back(std::make_shared<mesh::Field<double>>(layout, comm_.rank()));
  }

  struct Fetched {
    std::vector<std::vector<FieldOfLevel>> fields;  // by name and level
    std::vector<std::vector<Word>> particles;
  };

  // What this rank takes from those of the run. Local.
  Fetched fetch(const Announcement& announcement, const std::vector<std::string>& names, bool has_species,
                const Way& way) {
    std::vector<std::int32_t> numbers;
    for (const std::string& name : names) {
      const auto found = std::ranges::find(announcement.fields, name, &FieldLabel::name);
      if (found == announcement.fields.end()) throw core::Error("the run does not give what it has announced", name);
      numbers.push_back(static_cast<std::int32_t>(found - announcement.fields.begin()));
    }
    Fetched fetched;
    for (std::size_t f = 0; f < names.size(); ++f) {
      std::vector<FieldOfLevel>& levels = fetched.fields.emplace_back();
      for (const Level& level : way.levels) levels.push_back(field_on(level.fetched));
    }
    std::vector<Wanted> wanted = wanted_of(numbers, way, fetched.fields);
    if (!options_.compression.is_none())
      for (Wanted& one : wanted) one.order.compression = compression_of(names);
    if (has_species) add_particles_wanted(announcement, wanted);
    fetched.particles = fetcher_->fetch(announcement.number, std::move(wanted), counts_);
    return fetched;
  }

  std::vector<TransferOrder::Choice> compression_of(const std::vector<std::string>& names) const {
    std::vector<TransferOrder::Choice> all;
    for (const std::string& name : names) {
      const core::CompressionChoice& choice = options_.compression.of(name);
      if (choice.is_relative)
        throw core::Error(
            fmt::format("`{}` of a stream is compressed with a bound of its own, not a relative one", name), "",
            fmt::format("state the largest error of a cell: \"{} 1e-3\"", choice.compressor->name));
      all.push_back({choice.compressor, choice.bound});
    }
    return all;
  }

  // The parts of my boxes that each rank of the run has.
  std::vector<Wanted> wanted_of(const std::vector<std::int32_t>& numbers, const Way& way,
                                const std::vector<std::vector<FieldOfLevel>>& fetched) const {
    std::map<int, std::vector<std::pair<Part, std::pair<std::size_t, int>>>> parts;  // by rank: in which block of mine
    for (std::size_t l = 0; l < way.levels.size(); ++l) {
      const Level& level = way.levels[l];
      int block = 0;
      for (const std::int32_t index : level.fetched.boxes_of(comm_.rank())) {
        const mesh::Box& box = level.fetched.box(index);
        std::vector<std::int32_t> met;
        level.source.for_each_meeting(box, [&](std::int32_t other) { met.push_back(other); });
        std::ranges::sort(met);
        for (const std::int32_t other : met)
          parts[level.source.owner(other)].push_back(
              {{level.source.level(), intersection(box, level.source.box(other))}, {l, block}});
        ++block;
      }
    }
    std::vector<Wanted> all;
    for (const auto& [rank, list] : parts) {
      Wanted& one = all.emplace_back();
      one.from = rank;
      one.order.fields = numbers;
      one.order.is_single = options_.demand.single_precision;
      for (const auto& [part, place] : list) one.order.parts.push_back(part);
      for (std::size_t f = 0; f < numbers.size(); ++f)
        for (const auto& [part, place] : list) one.targets.push_back(fetched[f][place.first]->view(place.second));
    }
    return all;
  }

  // The particles of a rank of the run go with its blocks, to the reader whose share it is.
  void add_particles_wanted(const Announcement& announcement, std::vector<Wanted>& wanted) const {
    constexpr std::int64_t most_ranks = 1 << 20;  // each of which counts its own
    std::int64_t most = most_ranks * std::ssize(announcement.particles);
    for (const ParticleLabel& label : announcement.particles) most += label.bytes() / 8;
    const std::vector<std::int32_t> owners = reader_of_writer(static_cast<int>(addresses_.size()));
    for (std::size_t writer = 0; writer < owners.size(); ++writer) {
      if (owners[writer] != comm_.rank()) continue;
      const auto rank = static_cast<int>(writer);
      auto one = std::ranges::find(wanted, rank, &Wanted::from);
      if (one == wanted.end()) {
        wanted.push_back({rank, {}, {}, 0});
        one = wanted.end() - 1;
      }
      one->order.has_particles = true;
      one->most_particle_words = most;
    }
  }

  // What ranks do together once each has its own.
  void bring_together(const Announcement& announcement, const std::vector<std::string>& names,
                      const std::vector<std::string>& species, const Way& way, const Fetched& fetched,
                      mesh::Snapshot& snapshot) {
    for (const Level& level : way.levels) snapshot.levels.push_back(level.target);
    const core::Stopwatch watch;
    for (std::size_t f = 0; f < names.size(); ++f) {
      std::vector<FieldOfLevel> levels;
      for (std::size_t l = 0; l < way.levels.size(); ++l) {
        const Level& level = way.levels[l];
        if (!level.plan) {
          levels.push_back(fetched.fields[f][l]);
          continue;
        }
        const FieldOfLevel target = field_on(level.target);
        level.plan->apply(*fetched.fields[f][l], *target);
        levels.push_back(target);
      }
      const auto unit = std::ranges::find(announcement.fields, names[f], &FieldLabel::name)->unit;
      snapshot.add({names[f], unit}, [levels](int level) {
        return mesh::AnyField(mesh::FieldView<const double>(levels[static_cast<std::size_t>(level)]));
      });
    }
    counts_.redistribute_s = watch.seconds();
    if (!species.empty()) add_particles_of_owners(comm_, announcement.particles, species, fetched.particles, snapshot);
  }

  comm::Communicator comm_;
  std::string where_;
  ReaderOptions options_;
  bool has_failed_ = false;
  std::string configuration_, run_, ending_;
  std::vector<std::string> addresses_;
  std::vector<std::int64_t> lost_;
  std::unique_ptr<Attendant> attendant_;  // of the first rank
  std::unique_ptr<Fetcher> fetcher_;
  std::vector<mesh::Layout> leaves_, blocks_;
  std::int64_t levels_version_ = 0, number_ = 0, step_ = -1, told_bytes_ = 0;
  std::string done_run_;  // and the last step of it that was acknowledged
  std::int64_t done_step_ = -1;
  std::array<Way, 3> ways_{};  // by technique
  std::vector<FieldOfLevel> kept_;
  ReaderCounts counts_;
};

StreamReader::StreamReader(const comm::Communicator& comm, const std::string& where, ReaderOptions options)
    : impl_(std::make_unique<Impl>(comm, where, std::move(options))) {}
StreamReader::~StreamReader() = default;

std::optional<mesh::Snapshot> StreamReader::next() {
  return impl_->next();
}
bool StreamReader::has_next() const {
  return impl_->has_next();
}
void StreamReader::acknowledge() {
  impl_->acknowledge();
}
const std::string& StreamReader::configuration() const {
  return impl_->configuration();
}
const std::string& StreamReader::run() const {
  return impl_->run();
}
const std::string& StreamReader::task() const {
  return impl_->options().task;
}
const std::string& StreamReader::ending() const {
  return impl_->ending();
}
const std::vector<std::int64_t>& StreamReader::lost() const {
  return impl_->lost();
}
const ReaderCounts& StreamReader::counts() const {
  return impl_->counts();
}

}  // namespace sidestream::couple
