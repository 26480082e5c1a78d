#include "io/methods/aggregated/tuned_writing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "io/disk/file_system.hpp"
#include "io/disk/stripes.hpp"
#include "io/write_methods.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/redistribute/exchange_choice.hpp"
#include "sidestream/redistribute/tuner.hpp"

namespace sidestream::io {

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

// The trials of a choice write at most so many times what the file has.
constexpr int most_trials = 8;
// What is smaller is not worth a trial.
constexpr std::int64_t least_bytes = 64 * mebibyte;

// Files of one class, whose sizes differ by less than a factor of eight, are written alike: the least size of it.
std::int64_t class_of(std::int64_t bytes) {
  std::int64_t least = least_bytes;
  while (bytes / least >= 8) least *= 8;
  return least;
}

std::string plural(int count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

TunedWriting way(WriteOptions options, const std::string& method) {
  options.method = method;
  TunedWriting found{options, method, ""};
  if (method == "aggregated") {
    if (options.aggregators > 0) found.name += ", " + plural(options.aggregators, "writer");
    found.name += fmt::format(", {} MiB", options.buffer_bytes / mebibyte);
  }
  if (options.stripes > 0) found.name += ", " + plural(options.stripes, "stripe");
  return found;
}

// One writer a node and four, and the engine's choice (0).
std::vector<int> numbers_of_writers(const WriteOptions& options, int ranks, int nodes) {
  if (options.aggregators > 0) return {options.aggregators};
  std::vector<int> numbers{0};
  for (const int writers : {nodes, 4 * nodes})
    if (writers <= ranks) numbers.push_back(writers);
  return numbers;
}

std::vector<TunedWriting> ways_of_writing(const WriteOptions& options, std::int64_t bytes, int ranks, int nodes) {
  std::vector<TunedWriting> ways{way(options, "engine")};
  if (ranks == 1) return ways;
  for (const std::int64_t buffer : {16 * mebibyte, 64 * mebibyte, 4 * mebibyte})
    for (const int writers : numbers_of_writers(options, ranks, nodes)) {
      const bool is_filled = bytes > std::max(writers, 1) * buffer / 4;
      WriteOptions chosen = options;
      chosen.aggregators = writers;
      chosen.buffer_bytes = buffer;
      if (buffer == 16 * mebibyte || is_filled) ways.push_back(way(chosen, "aggregated"));
    }
  return ways;
}

// On a file system that has stripes: its own choice first, then one, some, and many.
std::vector<TunedWriting> ways_of_striping(const TunedWriting& best) {
  std::vector<TunedWriting> ways{best};
  for (const int stripes : {1, 4, 16, 64}) {
    WriteOptions options = best.options;
    options.stripes = stripes;
    ways.push_back(way(options, options.method));
  }
  return ways;
}

// What the first rank of a process has chosen already, whether there is a file of wisdom or not.
class Remembered {
 public:
  std::int64_t find(const std::string& key) {
    const std::lock_guard guard(turn_);
    const auto found = chosen_.find(key);
    return found == chosen_.end() ? -1 : found->second;
  }
  void keep(const std::string& key, std::int64_t chosen) {
    const std::lock_guard guard(turn_);
    chosen_[key] = chosen;
  }

 private:
  std::mutex turn_;
  std::map<std::string, std::int64_t> chosen_;
};

TunedWriting because(std::string reason, TunedWriting chosen) {
  chosen.reason = std::move(reason);
  return chosen;
}

TunedWriting fastest(const comm::Communicator& comm, const std::string& key, const std::vector<TunedWriting>& ways,
                     const std::function<void(const WriteOptions&)>& write_trial) {
  if (ways.size() == 1) return because("it is the only way", ways.front());
  static Remembered remembered;
  std::int64_t chosen = comm.broadcast(comm.rank() == 0 ? remembered.find(key) : -1);
  int trials = 0;
  if (chosen < 0) {
    std::vector<redistribute::Candidate> candidates;
    for (const TunedWriting& one : ways)
      candidates.push_back({one.name, [&] {
                              return [&] {
                                ++trials;
                                write_trial(one.options);
                              };
                            }});
    const redistribute::Wisdom wisdom(redistribute::exchange_of(comm).wisdom);
    chosen = static_cast<std::int64_t>(
        redistribute::tune(comm, wisdom, key, candidates,
                           {.repeats = 2, .is_warmed_up = false, .budget_s = 60.0, .most_runs = most_trials})
            .chosen);
    if (comm.rank() == 0) remembered.keep(key, chosen);
  }
  return because(trials == 0 ? "known from earlier trials" : "the fastest in " + plural(trials, "trial"),
                 ways[static_cast<std::size_t>(chosen)]);
}

}  // namespace

WriteMethod tuned_method() {
  return {"tuned",
          "the fastest of these two with their buffers, writers and stripes, as measured at the first use",
          {Container::hdf5, Container::netcdf, Container::raw},
          nullptr};
}

TunedWriting tuned_writing(const comm::Communicator& comm, const std::string& path, std::int64_t bytes,
                           const WriteOptions& options, const std::function<void(const WriteOptions&)>& write_trial) {
  if (bytes < least_bytes)
    return because(fmt::format("below {} MiB nothing is tried", least_bytes / mebibyte), way(options, "engine"));
  const std::int64_t nodes = comm.sum(std::int64_t{comm.split_by_node().rank() == 0});
  const std::string folder = std::filesystem::absolute(path).parent_path();  // the file is not there yet
  const std::string system = comm.broadcast(comm.rank() == 0 ? name_of_file_system(folder) : std::string());
  const std::int64_t least = class_of(bytes);
  const std::string key = fmt::format("writing: {}; {}; {} MiB to eight times as much{}; {} writers, {} stripes said",
                                      redistribute::machine_key(comm), system, least / mebibyte,
                                      options.is_durable ? ", on the disk" : "", options.aggregators, options.stripes);
  const auto ways = ways_of_writing(options, least, comm.size(), static_cast<int>(nodes));
  try {
    const TunedWriting best = fastest(comm, key, ways, write_trial);
    const bool has_stripes = comm.broadcast(comm.rank() == 0 && options.stripes == 0 && is_striped(folder));
    return has_stripes ? fastest(comm, key + "; " + best.name, ways_of_striping(best), write_trial) : best;
  } catch (const core::Error&) {  // the file itself will say what is wrong
    return because("a trial failed", ways.front());
  }
}

}  // namespace sidestream::io
