// The speed of every format and method of writing, beside what the disk can do, and what reaches the file system: how
// many writes of which sizes. Prints one JSON object; progress goes to stderr.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "bench_program.hpp"
#include "cases.hpp"
#include "command_line.hpp"
#include "hierarchy_cases.hpp"
#include "hierarchy_files.hpp"
#include "io_layer.hpp"
#include "reading_cases.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/format.hpp"

namespace {

using namespace sidestream;
using bench::Case;
using nlohmann::json;

struct Arguments {
  std::string folder = ".";
  int repetitions = 7;
  bool has_model = false;
  std::vector<std::string> sync{"no", "yes"};
  bench::WorkloadSize size;
  bench::Selection selection;
  std::vector<std::string> sizes;  // of hierarchies; none: blocks
  bool has_reads = false;
};

// What this rank did with its time in one repetition, and the memory that it took: by the clock of the layer in calls
// of the system, by that of the method elsewhere. Calls of a library, which does all of it within, count as data.
constexpr std::array<const char*, 10> part_names{"total_s", "write_s", "read_s", "sync_s",     "exchange_s",
                                                 "copy_s",  "wait_s",  "data_s", "metadata_s", "memory_bytes"};
using Parts = std::array<double, part_names.size()>;

Parts parts_of(double total_s, const sidestream_io_counts& calls, const io::AccessStatistics& method) {
  const auto seconds = [](std::int64_t ns) { return 1e-9 * static_cast<double>(ns); };
  return {total_s,
          seconds(calls.write_ns),
          seconds(calls.read_ns),
          seconds(calls.sync_ns),
          method.exchange_s,
          method.copy_s,
          method.wait_s,
          method.data_s,
          method.metadata_s,
          static_cast<double>(method.memory_bytes)};
}

// How long a case took, and with what: each time one repetition.
struct Times {
  std::vector<double> seconds;
  std::vector<Parts> own;
};

// What happened to a case.
struct Outcome {
  json calls, statistics;
  Times plain, synced;
  std::string error;
};

class Benchmark {
 public:
  Benchmark(const comm::Communicator& comm, const Arguments& arguments, const std::string& folder,
            const std::vector<Case>& cases)
      : comm_(comm), arguments_(arguments), folder_(folder), cases_(cases), outcomes_(cases.size()) {}

  json operator()() {
    const bool is_without = has("no"), is_with = has("yes");
    const int rounds = 1 + arguments_.repetitions * (is_without + is_with);
    for (std::size_t c = 0; c < cases_.size(); ++c) look_at(c, rounds);
    // None always follows the same other one, whose pages the system may still have at hand.
    std::vector<std::size_t> order(cases_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937 alike_on_all_ranks;
    for (int repetition = 0; repetition < arguments_.repetitions; ++repetition)
      for (const bool is_durable : {false, true}) {
        std::ranges::shuffle(order, alike_on_all_ranks);
        for (const std::size_t c : order)
          if (is_durable ? is_with : is_without) measure(c, is_durable, rounds);
      }
    return report();
  }

 private:
  bool has(const std::string& sync) const { return std::ranges::find(arguments_.sync, sync) != arguments_.sync.end(); }

  void tell(const Case& now, int rounds) {
    ++done_;
    if (comm_.rank() == 0)
      fmt::print(stderr, "{} of {}: {} {} {}\n", done_, static_cast<std::size_t>(rounds) * cases_.size(), now.content,
                 now.format, now.method);
  }

  struct Done {
    io::AccessStatistics statistics;
    double seconds = 0.0;
  };
  // The work of a case, of which one rank may do all and fail.
  Done done(const Case& now, bool is_durable) const {
    Done own;
    comm_.agree_on([&] {
      const core::Stopwatch watch;
      own.statistics = now.work(is_durable);
      own.seconds = watch.seconds();
    });
    return own;
  }

  // Leaves a folder without the file of a case that writes, with that of one that reads, and a disk with nothing to do.
  void prepare(const Case& next) {
    comm_.barrier();
    if (comm_.rank() == 0) io::remove_all(next.path);
    if (next.before) next.before();
    if (comm_.rank() == 0) {
      const int descriptor = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      ::syncfs(descriptor);
      ::close(descriptor);
    }
    if (arguments_.has_model) renew_model();
    comm_.barrier();
  }

  void renew_model() {
    const std::string table = folder_ + "/.model";
    if (comm_.rank() == 0) io::remove_all(table);
    comm_.barrier();
    comm_.agree_on([&] {
      if (!sidestream_io_model(table.c_str())) throw core::Error("the model file system has no room", table);
    });
  }

  // Writes once to count and to read back, with the layer; the time of this one does not count.
  void look_at(std::size_t c, int rounds) {
    const Case& now = cases_[c];
    tell(now, rounds);
    prepare(now);
    sidestream_io_watch(folder_.c_str());
    sidestream_io_reset();
    try {
      const io::AccessStatistics statistics = done(now, true).statistics;
      sidestream_io_watch(nullptr);
      outcomes_[c].calls = total_calls();
      outcomes_[c].statistics = to_json(io::total(comm_, statistics));
      now.check();
    } catch (const core::Error& error) {
      outcomes_[c].error = error.what();
    }
    sidestream_io_watch(nullptr);
  }

  json total_calls() const {
    const sidestream_io_counts own = sidestream_io_read();
    std::vector<std::int64_t> sums{own.writes,    own.bytes, own.sequential, own.consecutive,
                                   own.unaligned, own.opens, own.makes,      own.reserves,
                                   own.truncates, own.syncs, own.renames,    own.removes};
    sums.insert(sums.end(), {own.reads, own.read_bytes});
    sums.insert(sums.end(), std::begin(own.sizes), std::end(own.sizes));
    sums.insert(sums.end(), std::begin(own.read_sizes), std::end(own.read_sizes));
    comm_.sum(std::span(sums));
    json calls;
    auto next = sums.begin();
    for (const char* name : {"writes", "bytes", "sequential", "consecutive", "unaligned", "opens", "makes", "reserves",
                             "truncates", "syncs", "renames", "removes", "reads", "read_bytes"})
      calls[name] = *next++;
    calls["largest"] = comm_.max(own.largest);
    calls["writing_ranks"] = comm_.sum(std::int64_t{own.writes > 0});
    for (const char* name : {"sizes", "read_sizes"}) {
      calls[name] = json::object();
      for (std::size_t bin = 0; bin < io::AccessStatistics::bins; ++bin, ++next)
        if (*next > 0) calls[name][std::string(io::bin_name(bin))] = *next;
    }
    return calls;
  }

  void measure(std::size_t c, bool is_durable, int rounds) {
    const Case& now = cases_[c];
    tell(now, rounds);
    if (!outcomes_[c].error.empty() || (is_durable && now.before)) return;
    prepare(now);
    sidestream_io_watch(folder_.c_str());
    sidestream_io_reset();
    const Done own = done(now, is_durable);
    sidestream_io_watch(nullptr);
    Times& times = is_durable ? outcomes_[c].synced : outcomes_[c].plain;
    times.own.push_back(parts_of(own.seconds, sidestream_io_read(), own.statistics));
    times.seconds.push_back(comm_.max(own.seconds));
  }

  // The median over the repetitions on each rank.
  json parts(const Times& times) const {
    json all = json::object();
    for (std::size_t part = 0; part < part_names.size() && !times.own.empty(); ++part) {
      std::vector<double> values;
      for (const Parts& own : times.own) values.push_back(own[part]);
      const auto middle = values.begin() + std::ssize(values) / 2;
      std::ranges::nth_element(values, middle);
      all[part_names[part]] = comm_.all_gather(*middle);
    }
    return all;
  }

  json report() const {
    json list = json::array();
    for (std::size_t c = 0; c < cases_.size(); ++c) {
      const Case& now = cases_[c];
      json entry{{"content", now.content}, {"format", now.format}, {"method", now.method}, {"bytes", now.bytes}};
      if (!outcomes_[c].error.empty()) entry["error"] = outcomes_[c].error;
      entry["calls"] = outcomes_[c].calls;
      entry["statistics"] = outcomes_[c].statistics;
      entry["seconds"] = outcomes_[c].plain.seconds;
      entry["seconds_synced"] = outcomes_[c].synced.seconds;
      entry["parts"] = parts(outcomes_[c].plain);
      entry["parts_synced"] = parts(outcomes_[c].synced);
      list.push_back(std::move(entry));
    }
    return list;
  }

  const comm::Communicator& comm_;
  const Arguments& arguments_;
  std::string folder_;
  const std::vector<Case>& cases_;
  std::vector<Outcome> outcomes_;
  int done_ = 0;
};

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

// The type of the file system that holds `folder`.
std::string file_system_of(const std::string& folder) {
  std::ifstream mounts("/proc/mounts");
  const std::string path = std::filesystem::absolute(folder).lexically_normal().string();
  std::string device, point, type, rest, longest, found = "unknown";
  while (mounts >> device >> point >> type && std::getline(mounts, rest))
    if (path.starts_with(point) && point.size() >= longest.size()) {
      longest = point;
      found = type;
    }
  return found;
}

// Files in memory have no other place that they could be read from.
bool has_cold_cache(const std::string& folder) {
  const std::string type = file_system_of(folder);
  return type != "tmpfs" && type != "ramfs";
}

json head(const comm::Communicator& comm, const Arguments& arguments) {
  const bench::WorkloadSize& size = arguments.size;
  json all{{"benchmark", "io"},
           {"version", SIDESTREAM_VERSION},
           {"processor", processor()},
           {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)},
           {"file_system", file_system_of(arguments.folder)},
           {"ranks", comm.size()},
           {"repetitions", arguments.repetitions},
           {"model", arguments.has_model},
           {"reads", arguments.has_reads},
           {"cold_cache", has_cold_cache(arguments.folder)}};
  if (arguments.sizes.empty())
    all.update({{"blocks_a_rank", size.blocks}, {"block", size.block}, {"ghost", size.ghost}});
  for (const std::string& name : arguments.sizes)
    all["grids"][name] = bench::grids_of(*bench::hierarchy_size(name), false).size();
  return all;
}

// That there is memory for the state and for the file that one rank writes, and room for a file on the disk.
// Collective.
void require_room(const comm::Communicator& comm, const Arguments& arguments) {
  constexpr double gib = 0x1p30;
  const bench::WorkloadSize& size = arguments.size;
  const double blocks = static_cast<double>(size.blocks) * comm.size();
  const std::string what = fmt::format("{} blocks of {}^3 cells on each of {} ranks", size.blocks, size.block,
                                       comm.size()),
                    hint = "choose fewer --blocks";
  apps::require_memory(comm, what, blocks * (size.state_bytes() + size.file_bytes()), 0.0, hint);
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    io::make_folder(arguments.folder);
    const auto room = static_cast<double>(std::filesystem::space(arguments.folder).available);
    if (blocks * size.file_bytes() > room)
      throw core::Error(fmt::format("a file of {} takes {:.3g} GiB, and {:.3g} GiB are free", what,
                                    blocks * size.file_bytes() / gib, room / gib),
                        arguments.folder, hint + ", or another --folder");
  });
}

// A folder of its own below the one that was asked for.
std::string make_own_folder(const comm::Communicator& comm, const std::string& below) {
  std::string name;
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    io::make_folder(below);
    name = std::filesystem::absolute(below + "/bench_io_XXXXXX").lexically_normal().string();
    if (::mkdtemp(name.data()) == nullptr) throw core::Error("cannot make a folder for the files", below);
  });
  return comm.broadcast(name);
}

// Whole numbers from 1 to `most`; none when a word is something else.
std::optional<std::vector<int>> counts_of(const std::vector<std::string>& words, int most) {
  std::vector<int> found;
  for (const std::string& word : words) {
    int value = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (problem != std::errc{} || end != word.data() + word.size() || value < 1 || value > most) return std::nullopt;
    found.push_back(value);
  }
  return found;
}

int measure_all(const Arguments& arguments, int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator comm(MPI_COMM_WORLD);
  std::string folder;
  int failed = apps::used_wrongly;
  try {
    if (arguments.sizes.empty()) require_room(comm, arguments);
    failed = 1;
    folder = make_own_folder(comm, arguments.folder);
    json all = head(comm, arguments);
    std::optional<bench::Workload> workload;
    std::vector<Case> cases;
    if (arguments.has_reads)
      cases = bench::reading_cases(comm, workload.emplace(comm, arguments.size), folder, arguments.selection,
                                   has_cold_cache(arguments.folder));
    else if (arguments.sizes.empty())
      cases = bench::cases(comm, workload.emplace(comm, arguments.size), folder, arguments.selection);
    else
      cases = bench::hierarchy_cases(comm, arguments.sizes, folder, arguments.selection);
    all["cases"] = Benchmark(comm, arguments, folder, cases)();
    if (comm.rank() == 0) {
      fmt::print("{}\n", all.dump(1));
      io::remove_all(folder);
    }
    return 0;
  } catch (const core::Error& error) {
    if (comm.rank() == 0 && !folder.empty()) std::filesystem::remove_all(folder);
    if (!error.is_reported_elsewhere()) fmt::print(stderr, "{}\n", error.what());
    return failed;
  }
}

// What a selection names that there is not, or that does not go together.
std::optional<std::string> problem_of(const bench::Selection& selection, bool is_of_hierarchies) {
  std::vector<std::string> methods = io::write_methods().names(), formats = io::formats().names();
  if (is_of_hierarchies) {
    methods.clear();
    for (const bench::HierarchyMethod& method : bench::hierarchy_methods()) methods.push_back(method.name);
  }
  const auto unknown = [](const std::vector<std::string>& named, const std::vector<std::string>& known) {
    return std::ranges::find_if(named, [&](const auto& name) { return std::ranges::find(known, name) == known.end(); });
  };
  if (const auto method = unknown(selection.methods, methods); method != selection.methods.end())
    return fmt::format("`{}` is no method: --methods takes {}", *method, fmt::join(methods, ", "));
  if (is_of_hierarchies) return std::nullopt;
  if (const auto format = unknown(selection.formats, formats); format != selection.formats.end())
    return fmt::format("`{}` is no format: --formats takes {}", *format, fmt::join(formats, ", "));
  for (const std::string& name : selection.formats) {
    const std::vector<std::string>& own = io::formats().named(name).methods;
    if (!selection.methods.empty() && std::ranges::find_first_of(selection.methods, own) == selection.methods.end())
      return own.empty() ? fmt::format("the format `{}` has one way of its own: leave --methods out", name)
                         : fmt::format("the format `{}` is written by {}", name, fmt::join(own, ", "));
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  apps::CommandLine line(
      "Times every format and method of writing a checkpoint and a plot file, and counts the writes.\n"
      "Example: mpirun -n 4 sidestream-bench-io --folder /scratch",
      SIDESTREAM_VERSION);
  line.word("--folder", arguments.folder, "where to write (default: here)");
  line.number("--repetitions", arguments.repetitions, "of each case, taken in turns (default 7)", 0);
  line.number("--blocks", arguments.size.blocks, "blocks a rank (default 32)", 1);
  line.number("--block", arguments.size.block, "cells of a block along an axis (default 16)", 1);
  line.number("--ghost", arguments.size.ghost, "ghost cells in memory (default 4)", 0);
  std::vector<std::string> contents;
  line.flag("--reads", arguments.has_reads, "times reading instead of writing, with a cold cache and a warm one");
  line.parts("--contents", contents,
             "these: checkpoint,plotfile,chosen (default: the first two); with --reads: everything,field,slice,region,"
             "particles");
  line.parts("--formats", arguments.selection.formats, "only these");
  line.parts("--methods", arguments.selection.methods, "only these");
  std::vector<std::string> buffers, aggregators;
  line.parts("--buffers", buffers, "MiB of an aggregator's buffer in the method `aggregated`, each in turn");
  line.parts("--aggregators", aggregators, "ranks that write in the method `aggregated`, each in turn");
  line.parts("--hierarchies", arguments.sizes, "refined grids and particles instead of blocks: AMR64,AMR128,AMR256");
  line.parts("--sync", arguments.sync, "bring files to the disk: yes,no (default: both)");
  line.flag("--model", arguments.has_model, "charge the time of a model file system: a model, not a measurement");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  constexpr int most_buffer_mib = 1024, most_aggregators = 1 << 20;
  const auto sizes = counts_of(buffers, most_buffer_mib), writers = counts_of(aggregators, most_aggregators);
  if (!sizes) return line.refuse("--buffers takes whole numbers from 1 to 1024");
  if (!writers) return line.refuse("--aggregators takes whole numbers from 1 on");
  for (const std::string& name : arguments.sizes)
    if (bench::hierarchy_size(name) == nullptr) return line.refuse("--hierarchies takes AMR64, AMR128 and AMR256");
  const std::vector<std::string>& known = arguments.has_reads ? bench::readings : bench::contents;
  for (const std::string& name : contents)
    if (std::ranges::find(known, name) == known.end())
      return line.refuse(fmt::format("--contents takes {}", fmt::join(known, ", ")));
  const bool is_of_writing = !arguments.sizes.empty() || !arguments.selection.methods.empty() || !buffers.empty() ||
                             !aggregators.empty() || arguments.has_model;
  if (arguments.has_reads && is_of_writing)
    return line.refuse("--reads goes with none of --hierarchies, --methods, --buffers, --aggregators and --model");
  if (arguments.has_reads) {
    arguments.size.has_particles = true;
    arguments.sync = {"no"};
    arguments.selection.contents = bench::readings;
  }
  if (!contents.empty()) arguments.selection.contents = contents;
  if (const std::optional<std::string> problem = problem_of(arguments.selection, !arguments.sizes.empty()))
    return line.refuse(*problem);
  arguments.selection.buffers = *sizes;
  arguments.selection.aggregators = *writers;
  return measure_all(arguments, argc, argv);
}
