#include "sidestream/io/access_statistics.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sidestream::io {

namespace {

std::size_t bin_of(std::int64_t bytes) {
  const auto& ends = AccessStatistics::bin_ends;
  return static_cast<std::size_t>(std::lower_bound(ends.begin(), ends.end(), bytes) - ends.begin());
}

nlohmann::json bins_as_json(const std::array<std::int64_t, AccessStatistics::bins>& sizes) {
  nlohmann::json bins = nlohmann::json::object();
  for (std::size_t bin = 0; bin < sizes.size(); ++bin)
    if (sizes[bin] > 0) bins[std::string(bin_name(bin))] = sizes[bin];
  return bins;
}

}  // namespace

void AccessStatistics::add_write(std::int64_t bytes) {
  ++writes;
  bytes_written += bytes;
  ++write_sizes[bin_of(bytes)];
}

void AccessStatistics::add_read(std::int64_t bytes) {
  ++reads;
  bytes_read += bytes;
  ++read_sizes[bin_of(bytes)];
}

AccessStatistics& AccessStatistics::operator+=(const AccessStatistics& other) {
  files += other.files;
  writes += other.writes;
  reads += other.reads;
  bytes_written += other.bytes_written;
  bytes_read += other.bytes_read;
  sequential += other.sequential;
  consecutive += other.consecutive;
  unaligned += other.unaligned;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    write_sizes[bin] += other.write_sizes[bin];
    read_sizes[bin] += other.read_sizes[bin];
  }
  metadata_s += other.metadata_s;
  data_s += other.data_s;
  sync_s += other.sync_s;
  exchange_s += other.exchange_s;
  copy_s += other.copy_s;
  wait_s += other.wait_s;
  verify_s += other.verify_s;
  memory_bytes = std::max(memory_bytes, other.memory_bytes);
  stripes = std::max(stripes, other.stripes);
  if (chosen.empty()) chosen = other.chosen;
  if (chosen_because.empty()) chosen_because = other.chosen_because;
  return *this;
}

AccessStatistics total(const comm::Communicator& comm, const AccessStatistics& own) {
  std::vector<std::int64_t> counts{own.files,      own.writes,     own.reads,       own.bytes_written,
                                   own.bytes_read, own.sequential, own.consecutive, own.unaligned};
  counts.insert(counts.end(), own.write_sizes.begin(), own.write_sizes.end());
  counts.insert(counts.end(), own.read_sizes.begin(), own.read_sizes.end());
  comm.sum(std::span(counts));
  AccessStatistics all;
  auto next = counts.begin();
  for (auto* count : {&all.files, &all.writes, &all.reads, &all.bytes_written, &all.bytes_read, &all.sequential,
                      &all.consecutive, &all.unaligned})
    *count = *next++;
  for (auto& count : all.write_sizes) count = *next++;
  for (auto& count : all.read_sizes) count = *next++;
  all.metadata_s = comm.max(own.metadata_s);
  all.data_s = comm.max(own.data_s);
  all.sync_s = comm.max(own.sync_s);
  all.exchange_s = comm.max(own.exchange_s);
  all.copy_s = comm.max(own.copy_s);
  all.wait_s = comm.max(own.wait_s);
  all.memory_bytes = comm.max(own.memory_bytes);
  all.stripes = comm.max(own.stripes);
  all.chosen = own.chosen;
  all.chosen_because = own.chosen_because;
  all.verify_s = comm.max(own.verify_s);
  return all;
}

nlohmann::json to_json(const AccessStatistics& statistics) {
  nlohmann::json json{{"files", statistics.files},
                      {"writes", statistics.writes},
                      {"reads", statistics.reads},
                      {"bytes_written", statistics.bytes_written},
                      {"bytes_read", statistics.bytes_read},
                      {"sequential", statistics.sequential},
                      {"consecutive", statistics.consecutive},
                      {"unaligned", statistics.unaligned},
                      {"write_sizes", bins_as_json(statistics.write_sizes)},
                      {"read_sizes", bins_as_json(statistics.read_sizes)},
                      {"metadata_s", statistics.metadata_s},
                      {"data_s", statistics.data_s},
                      {"sync_s", statistics.sync_s},
                      {"exchange_s", statistics.exchange_s},
                      {"copy_s", statistics.copy_s},
                      {"wait_s", statistics.wait_s},
                      {"memory_bytes", statistics.memory_bytes},
                      {"stripes", statistics.stripes},
                      {"verify_s", statistics.verify_s}};
  if (!statistics.chosen.empty()) json["chosen"] = statistics.chosen;
  if (!statistics.chosen_because.empty()) json["chosen_because"] = statistics.chosen_because;
  return json;
}

std::string_view bin_name(std::size_t bin) {
  static constexpr std::array<std::string_view, AccessStatistics::bins> names{
      "<100", "100-1K", "1K-10K", "10K-100K", "100K-1M", "1M-4M", "4M-10M", "10M-100M", "100M-1G", ">1G"};
  return names[bin];
}

}  // namespace sidestream::io
