#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "io/temporary_folder.hpp"
#include "io_layer.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::test {

/// Whether SIDESTREAM_ALL_FAULTS=1 is in the environment (`make test-slow`).
inline bool tries_all() {
  const char* all = std::getenv("SIDESTREAM_ALL_FAULTS");
  return all != nullptr && std::string(all) == "1";
}

/// The calls at which a fault is tried: all of them where `tries_all`, otherwise at most `most`, evenly spread, the
/// first and the last among them.
inline std::vector<std::int64_t> tried(std::int64_t calls, std::int64_t most) {
  if (tries_all()) most = calls;
  most = std::min(most, calls);
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < most; ++i) numbers.push_back(most == 1 ? 1 : 1 + i * (calls - 1) / (most - 1));
  return numbers;
}

/// What is written, in two generations.
struct Subject {
  std::function<std::string(int generation)> path;
  std::function<void(int generation)> write;    ///< collective
  std::function<bool(int generation)> is_good;  ///< the file is there and right to the bit; collective
};

/// Writes the second generation of a subject again and again, each time with a fault at another of its calls, and looks
/// at what is left, for at most `most` calls of a rank (see `tried`). An attempt that takes more than two minutes ends
/// the program.
class Sweep {
 public:
  Sweep(const comm::Communicator& comm, const TemporaryFolder& folder, Subject subject, std::int64_t most)
      : comm_(comm), folder_(folder), subject_(std::move(subject)), most_(most) {
    subject_.write(1);
    sidestream_io_watch(folder_.path().c_str());
  }
  ~Sweep() {
    sidestream_io_fault(nullptr, 0, 0, nullptr);
    sidestream_io_watch(nullptr);
  }
  Sweep(const Sweep&) = delete;

  /// The matching calls of each rank in an undisturbed write.
  std::vector<std::int64_t> calls_of_ranks(const char* calls) {
    sidestream_io_fault(nullptr, 0, 0, calls);
    subject_.write(2);
    const std::vector<std::int64_t> numbers = comm_.all_gather(sidestream_io_calls());
    EXPECT_TRUE(subject_.is_good(2));
    remove_second();
    return numbers;
  }

  /// Every call of every rank that is tried fails once, among those that `calls` names, or all but removals.
  void expect_no_loss_by(const char* fault, const char* calls = nullptr) {
    const std::vector<std::int64_t> numbers = calls_of_ranks(calls);
    EXPECT_GT(numbers.front(), 0);
    for_each_call(fault, numbers, [&](int rank, std::int64_t n) {
      expect_failure([&] { return comm_.rank() == rank && sidestream_io_fault(fault, n, n, calls); });
    });
  }

  /// From its n-th call on every call of every rank fails, for each n: a disk that stays full.
  void expect_no_loss_by_lasting(const char* fault) {
    const std::vector<std::int64_t> numbers = calls_of_ranks(nullptr);
    for (const std::int64_t n : tried(*std::ranges::max_element(numbers), most_)) {
      if (testing::Test::HasFailure()) return;
      SCOPED_TRACE(std::string(fault) + " from call " + std::to_string(n) + " on");
      expect_failure([&] { return sidestream_io_fault(fault, n, std::numeric_limits<std::int64_t>::max(), nullptr); });
    }
  }

  /// Every call of every rank that is tried does not what it was to do once, and says so without failing.
  void expect_no_harm_by(const char* fault, const char* calls) {
    const std::vector<std::int64_t> numbers = calls_of_ranks(calls);
    EXPECT_GT(*std::ranges::max_element(numbers), 0) << calls;
    for_each_call(fault, numbers, [&](int rank, std::int64_t n) {
      if (comm_.rank() == rank) sidestream_io_fault(fault, n, n, calls);
      EXPECT_FALSE(write_fails());
      EXPECT_TRUE(subject_.is_good(2));
      remove_second();
    });
  }

 private:
  void for_each_call(const char* fault, const std::vector<std::int64_t>& numbers,
                     const std::function<void(int rank, std::int64_t n)>& attempt) {
    for (int rank = 0; rank < comm_.size(); ++rank)
      for (const std::int64_t n : tried(numbers[static_cast<std::size_t>(rank)], most_)) {
        if (testing::Test::HasFailure()) return;
        SCOPED_TRACE(std::string(fault) + " at call " + std::to_string(n) + " of rank " + std::to_string(rank));
        attempt(rank, n);
      }
  }
  bool write_fails() {
    ::alarm(120);
    bool has_failed = false;
    try {
      subject_.write(2);
    } catch (const core::Error&) {
      has_failed = true;
    }
    ::alarm(0);
    EXPECT_EQ(comm_.sum(std::int64_t{has_failed}) % comm_.size(), 0) << "some ranks failed and others did not";
    sidestream_io_fault(nullptr, 0, 0, nullptr);
    return has_failed;
  }

  void expect_failure(const std::function<bool()>& arm) {
    arm();
    EXPECT_TRUE(write_fails());
    EXPECT_TRUE(subject_.is_good(1));
    if (exists(subject_.path(2))) {  // the error came after the file was whole
      EXPECT_TRUE(subject_.is_good(2));
      remove_second();
    }
    EXPECT_EQ(entries_in_folder(), 1) << "something was left behind";
  }

  bool exists(const std::string& path) const {
    comm_.barrier();
    return comm_.broadcast(std::filesystem::exists(path));
  }
  int entries_in_folder() const {
    comm_.barrier();
    return comm_.broadcast(entries_of(folder_.path()));
  }
  void remove_second() {
    comm_.barrier();
    if (comm_.rank() == 0) std::filesystem::remove_all(subject_.path(2));
    comm_.barrier();
  }

  const comm::Communicator& comm_;
  const TemporaryFolder& folder_;
  Subject subject_;
  std::int64_t most_;
};

}  // namespace sidestream::test
