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

template <typename T>
struct StatisticsMember {
  const char* name;
  T AccessStatistics::*value;
};
constexpr std::array count_members{
    StatisticsMember{"files", &AccessStatistics::files},
    StatisticsMember{"writes", &AccessStatistics::writes},
    StatisticsMember{"reads", &AccessStatistics::reads},
    StatisticsMember{"bytes_written", &AccessStatistics::bytes_written},
    StatisticsMember{"bytes_read", &AccessStatistics::bytes_read},
    StatisticsMember{"sequential", &AccessStatistics::sequential},
    StatisticsMember{"consecutive", &AccessStatistics::consecutive},
    StatisticsMember{"unaligned", &AccessStatistics::unaligned},
};
constexpr std::array size_members{
    StatisticsMember{"write_sizes", &AccessStatistics::write_sizes},
    StatisticsMember{"read_sizes", &AccessStatistics::read_sizes},
};
constexpr std::array time_members{
    StatisticsMember{"metadata_s", &AccessStatistics::metadata_s},
    StatisticsMember{"data_s", &AccessStatistics::data_s},
    StatisticsMember{"sync_s", &AccessStatistics::sync_s},
    StatisticsMember{"verify_s", &AccessStatistics::verify_s},
    StatisticsMember{"exchange_s", &AccessStatistics::exchange_s},
    StatisticsMember{"copy_s", &AccessStatistics::copy_s},
    StatisticsMember{"wait_s", &AccessStatistics::wait_s},
};
// Of which only the largest counts.
constexpr std::array most_members{
    StatisticsMember{"memory_bytes", &AccessStatistics::memory_bytes},
    StatisticsMember{"stripes", &AccessStatistics::stripes},
};

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
  for (const auto& count : count_members) this->*count.value += other.*count.value;
  for (const auto& size : size_members)
    for (std::size_t bin = 0; bin < bins; ++bin) (this->*size.value)[bin] += (other.*size.value)[bin];
  for (const auto& time : time_members) this->*time.value += other.*time.value;
  for (const auto& largest : most_members) this->*largest.value = std::max(this->*largest.value, other.*largest.value);
  if (chosen.empty()) chosen = other.chosen;
  if (chosen_because.empty()) chosen_because = other.chosen_because;
  return *this;
}

AccessStatistics total(const comm::Communicator& comm, const AccessStatistics& own) {
  std::vector<std::int64_t> sums;
  for (const auto& count : count_members) sums.push_back(own.*count.value);
  for (const auto& size : size_members) sums.insert(sums.end(), (own.*size.value).begin(), (own.*size.value).end());
  comm.sum(std::span(sums));
  AccessStatistics all;
  auto next = sums.begin();
  for (const auto& count : count_members) all.*count.value = *next++;
  for (const auto& size : size_members)
    for (auto& in_bin : all.*size.value) in_bin = *next++;
  for (const auto& time : time_members) all.*time.value = comm.max(own.*time.value);
  for (const auto& largest : most_members) all.*largest.value = comm.max(own.*largest.value);
  all.chosen = own.chosen;
  all.chosen_because = own.chosen_because;
  return all;
}

nlohmann::json to_json(const AccessStatistics& statistics) {
  nlohmann::json json;
  for (const auto& count : count_members) json[count.name] = statistics.*count.value;
  for (const auto& size : size_members) json[size.name] = bins_as_json(statistics.*size.value);
  for (const auto& time : time_members) json[time.name] = statistics.*time.value;
  for (const auto& largest : most_members) json[largest.name] = statistics.*largest.value;
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
