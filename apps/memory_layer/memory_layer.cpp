// A layer between a program and the allocator: it counts what is asked for while something is under way that the
// program tells of (`core::UnderWay`: an analysis), and refuses some of it. It is preloaded:
//
//   mpirun -n 2 env LD_PRELOAD=.../libsidestream_memory_layer.so SIDESTREAM_MEMORY_AT=12 PROGRAM
//
// SIDESTREAM_MEMORY_RANK   on this rank only (OMPI_COMM_WORLD_RANK)
// SIDESTREAM_MEMORY_OF     `program`: what C++ asks for, by `new` and aligned_alloc; `all`: what C libraries ask for by
//                          malloc, calloc and realloc, too
// SIDESTREAM_MEMORY_AT     the n-th allocation of the process, n from 1, is refused; `n+`: all from the n-th on
// SIDESTREAM_MEMORY_SEED   instead: of whatever is under way time and again, such as an analysis at each step, every
//                          second time is spared, and of the others a random allocation is refused, or all from one on
// SIDESTREAM_MEMORY_COUNT  how many were counted and refused, and in how many times that something was under way, goes
// to
//                          PREFIX.RANK.json at the end of the process
//
// Of the glibc, whose allocator is reached by other names.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../layer_process.hpp"

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* data, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace sidestream::memory_layer {

namespace {

/// What a program exports that tells what it is at.
using UnderWay = const char* (*)(std::int64_t* number);

std::uint64_t mixed(std::uint64_t value) {  // splitmix64
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

/// Which allocations of what is under way time and again are refused. Never allocates.
class EverySecondTime {
 public:
  explicit EverySecondTime(std::uint64_t seed) : seed_(seed) {}

  bool must_refuse(const char* who, std::int64_t number) {
    const std::scoped_lock lock(mutex_);
    Work* const work = work_of(std::hash<std::string_view>()(who));
    if (work == nullptr) return false;
    if (work->number != number) begin(*work, number);
    ++work->count;
    return work->refused != 0 && (work->is_lasting ? work->count >= work->refused : work->count == work->refused);
  }

 private:
  struct Work {
    std::uint64_t name = 0;
    std::int64_t number = 0, count = 0, count_of_whole = 0;
    std::int64_t refused = 0;  // 0: this time is spared
    bool is_lasting = false;
  };

  Work* work_of(std::uint64_t name) {
    for (Work& work : all_) {
      if (work.number == 0) work.name = name;
      if (work.name == name) return &work;
    }
    return nullptr;
  }
  void begin(Work& work, std::int64_t number) const {
    const bool was_spared = work.refused == 0;
    if (was_spared) work.count_of_whole = work.count;
    work.number = number;
    work.count = 0;
    const std::uint64_t drawn = mixed(seed_ ^ mixed(static_cast<std::uint64_t>(number)));
    const bool is_spared = !was_spared || work.count_of_whole == 0;
    work.refused =
        is_spared ? 0 : 1 + static_cast<std::int64_t>((drawn >> 1) % static_cast<std::uint64_t>(work.count_of_whole));
    work.is_lasting = (drawn & 1) != 0;
  }

  std::mutex mutex_;
  std::uint64_t seed_;
  std::array<Work, 64> all_{};
};

class Layer {
 public:
  Layer() : rank_(rank_of_process()), prefix_(environment("SIDESTREAM_MEMORY_COUNT")) {
    const std::string rank = environment("SIDESTREAM_MEMORY_RANK"), at = environment("SIDESTREAM_MEMORY_AT"),
                      seed = environment("SIDESTREAM_MEMORY_SEED");
    counts_all_ = environment("SIDESTREAM_MEMORY_OF") == "all";
    first_ = std::atoll(at.c_str());
    last_ = at.ends_with('+') ? INT64_MAX : first_;
    if (!seed.empty()) every_second_time_.emplace(static_cast<std::uint64_t>(std::atoll(seed.c_str())));
    if (rank.empty() || std::atoi(rank.c_str()) == rank_)
      under_way_ = reinterpret_cast<UnderWay>(::dlsym(RTLD_DEFAULT, "sidestream_under_way"));
  }

  bool counts_all() const { return counts_all_; }

  /// Counts an allocation and tells whether there is to be no memory for it.
  bool must_refuse() {
    std::int64_t number = 0;
    const char* const who = under_way_ == nullptr ? nullptr : under_way_(&number);
    if (who == nullptr) return false;
    const std::int64_t count = ++counted_;
    const bool is_refused = every_second_time_ ? every_second_time_->must_refuse(who, number)
                                               : first_ <= count && count <= last_ && first_ > 0;
    if (!is_refused) return false;
    ++refused_;
    times_ += last_time_.exchange(number) == number ? 0 : 1;
    return true;
  }

  /// Of programs that tell what they are at.
  void report() {
    if (prefix_.empty() || std::exchange(under_way_, nullptr) == nullptr) return;
    std::FILE* const out = std::fopen((prefix_ + "." + std::to_string(rank_) + ".json").c_str(), "w");
    if (out == nullptr) return;
    std::fprintf(out, "{\"counted\": %lld, \"refused\": %lld, \"times\": %lld}\n",
                 static_cast<long long>(counted_.load()), static_cast<long long>(refused_.load()),
                 static_cast<long long>(times_.load()));
    std::fclose(out);
  }

 private:
  int rank_;
  std::string prefix_;
  bool counts_all_ = false;
  std::int64_t first_ = 0, last_ = 0;
  std::optional<EverySecondTime> every_second_time_;
  UnderWay under_way_ = nullptr;
  std::atomic<std::int64_t> counted_ = 0, refused_ = 0, times_ = 0, last_time_ = 0;
};

// Null before the program begins and what it asks for counts.
Layer* layer = nullptr;

__attribute__((constructor)) void begin() {
  layer = new Layer;
}
__attribute__((destructor)) void end() {
  layer->report();
}

bool must_refuse() {
  return layer != nullptr && layer->must_refuse();
}

bool must_refuse_library() {
  return layer != nullptr && layer->counts_all() && layer->must_refuse();
}

void* refused() {
  errno = ENOMEM;
  return nullptr;
}

}  // namespace

}  // namespace sidestream::memory_layer

using sidestream::memory_layer::must_refuse;
using sidestream::memory_layer::must_refuse_library;
using sidestream::memory_layer::refused;

// All others of C++ are made of this one, or of aligned_alloc.
void* operator new(std::size_t size) {
  void* const data = must_refuse() ? nullptr : __libc_malloc(size == 0 ? 1 : size);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

extern "C" {

void* malloc(std::size_t size) noexcept {
  return must_refuse_library() ? refused() : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return must_refuse_library() ? refused() : __libc_calloc(count, size);
}
void* realloc(void* data, std::size_t size) noexcept {
  return must_refuse_library() ? refused() : __libc_realloc(data, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return must_refuse() ? refused() : __libc_memalign(alignment, size);
}

}  // extern "C"
