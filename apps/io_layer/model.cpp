#include "model.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace sidestream::io_layer {

namespace {

constexpr std::size_t most_servers = 64, extents = std::size_t{1} << 20;
constexpr std::int64_t second_ns = 1'000'000'000;

void sleep_until(std::int64_t time_ns) {
  const timespec end{time_ns / second_ns, time_ns % second_ns};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) != 0) continue;
}

std::int64_t number_of(const char* variable, std::int64_t otherwise) {
  const char* text = ::getenv(variable);
  return text == nullptr ? otherwise : std::max<std::int64_t>(1, std::atoll(text));
}

}  // namespace

// All zero when new.
struct Model::Table {
  std::array<std::atomic<std::int64_t>, most_servers> busy_until_ns;
  std::array<std::atomic<std::int32_t>, extents> writer;  // rank + 1 of the last one; extents share a place by chance
};

ModelCosts Model::costs_of_environment() {
  ModelCosts costs;
  costs.request_ns = 1000 * number_of("SIDESTREAM_IO_MODEL_REQUEST_US", costs.request_ns / 1000);
  costs.handover_ns = 1000 * number_of("SIDESTREAM_IO_MODEL_HANDOVER_US", costs.handover_ns / 1000);
  costs.extent_bytes = number_of("SIDESTREAM_IO_MODEL_EXTENT", costs.extent_bytes);
  costs.bytes_per_s = 1'000'000 * number_of("SIDESTREAM_IO_MODEL_MB_PER_S", costs.bytes_per_s / 1'000'000);
  costs.servers =
      static_cast<int>(std::min<std::int64_t>(most_servers, number_of("SIDESTREAM_IO_MODEL_SERVERS", costs.servers)));
  return costs;
}

std::optional<Model> Model::open(const char* path, const ModelCosts& costs) {
  const int descriptor = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return std::nullopt;
  void* memory = ::ftruncate(descriptor, sizeof(Table)) == 0
                     ? ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
                     : MAP_FAILED;
  ::close(descriptor);
  if (memory == MAP_FAILED) return std::nullopt;
  ::prctl(PR_SET_TIMERSLACK, 1000UL);
  return Model(static_cast<Table*>(memory), costs);
}

std::int64_t Model::now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * second_ns + now.tv_nsec;
}

bool Model::take_lock(std::uint64_t file, std::int64_t extent, int rank) const {
  const std::uint64_t place = (file * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(extent)) % extents;
  const std::int32_t before = table_->writer[place].exchange(rank + 1);
  return before == 0 || before == rank + 1;
}

void Model::charge(std::int64_t start_ns, std::uint64_t file, std::int64_t offset, std::int64_t bytes, int rank) const {
  std::array<std::int64_t, most_servers> cost_ns{};
  const std::int64_t end = offset + std::max<std::int64_t>(bytes, 1);
  for (std::int64_t at = offset; at < end;) {
    const std::int64_t extent = at / costs_.extent_bytes;
    const std::int64_t next = std::min(end, (extent + 1) * costs_.extent_bytes);
    std::int64_t& cost = cost_ns[static_cast<std::size_t>(extent % costs_.servers)];
    if (cost == 0) cost = costs_.request_ns;
    cost += (next - at) * second_ns / costs_.bytes_per_s;
    if (!take_lock(file, extent, rank)) cost += costs_.handover_ns;
    at = next;
  }
  std::int64_t done_ns = start_ns;
  for (std::size_t server = 0; server < cost_ns.size(); ++server) {
    if (cost_ns[server] == 0) continue;
    std::atomic<std::int64_t>& busy = table_->busy_until_ns[server];
    std::int64_t until = busy.load(), finish = 0;
    do finish = std::max(until, start_ns) + cost_ns[server];
    while (!busy.compare_exchange_weak(until, finish));
    done_ns = std::max(done_ns, finish);
  }
  sleep_until(done_ns);
}

}  // namespace sidestream::io_layer
