#include "io/methods/aggregated/aggregation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "io/methods/aggregated/file_domains.hpp"
#include "io/methods/aggregated/outgoing_rows.hpp"
#include "sidestream/comm/sparse_exchange.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

using Bytes = std::vector<std::byte>;

constexpr int rows_tag = 1;

std::int64_t bytes_of(std::span<const ByteRange> ranges) {
  std::int64_t bytes = 0;
  for (const ByteRange& range : ranges) bytes += range.bytes;
  return bytes;
}

// Ranges that touch become one.
std::vector<ByteRange> joined(std::vector<ByteRange> ranges) {
  std::ranges::sort(ranges, {}, &ByteRange::offset);
  std::vector<ByteRange> all;
  for (const ByteRange& range : ranges)
    if (!all.empty() && all.back().offset + all.back().bytes == range.offset)
      all.back().bytes += range.bytes;
    else
      all.push_back(range);
  return all;
}

// Messages of rows under way. Buffers that they are in stay where they are until `wait`.
class Traffic {
 public:
  explicit Traffic(const comm::Communicator& comm) : comm_(comm) {}
  void send(int rank, std::span<const std::byte> bytes) {
    comm::check(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, rank, rows_tag, comm_.raw(), &next()),
                "MPI_Isend");
  }
  void receive(int rank, std::span<std::byte> bytes) {
    comm::check(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, rank, rows_tag, comm_.raw(), &next()),
                "MPI_Irecv");
  }
  void wait() {
    comm::check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    requests_.clear();
  }

 private:
  MPI_Request& next() { return requests_.emplace_back(MPI_REQUEST_NULL); }

  const comm::Communicator& comm_;
  std::vector<MPI_Request> requests_;
};

// A window of this rank that fills and is written.
struct Filling {
  std::int64_t begin = 0;
  Bytes bytes;
  std::vector<ByteRange> filled;

  std::span<std::byte> at(std::int64_t offset, std::int64_t count) {
    return std::span(bytes).subspan(static_cast<std::size_t>(offset - begin), static_cast<std::size_t>(count));
  }
};

// Ranges that are packed one behind the other in a message that did not go to their place at once.
struct Packed {
  std::vector<ByteRange> ranges;
  Bytes bytes;
};

class Aggregation {
 public:
  Aggregation(const ArrayWrite& work, const FileDomains& domains)
      : work_(work), domains_(domains), outgoing_(work, domains), traffic_(work.comm) {}

  AccessStatistics operator()() {
    plan();
    for (std::int64_t round = 0; round < domains_.rounds(); ++round) {
      finish();
      start(round);
      write_arrived();
    }
    finish();
    write_arrived();
    unless_failed([&] {
      if (!file_) return;
      file_->close();
      statistics_ += file_->statistics();
    });
    failure_.rethrow();
    return statistics_;
  }

 private:
  void unless_failed(const auto& local_work) {
    if (!failure_.has_failed()) failure_.keep(local_work);
  }

  // What comes to each aggregator is told to it beforehand, for all rounds.
  void plan() {
    const core::Stopwatch watch;
    comm::ByRank<ByteRange> told;
    for (const OutgoingRows::Share& share : outgoing_.shares()) {
      std::vector<ByteRange>& ranges = told[share.window.rank];
      ranges.insert(ranges.end(), share.ranges.begin(), share.ranges.end());
    }
    incoming_ = comm::deliver(work_.comm, told).incoming;
    statistics_.exchange_s += watch.seconds();
  }

  // The ranges of a sender that stand next in its list and lie in the window that begins with the first of all.
  std::span<const ByteRange> next_ranges(int rank, const std::vector<ByteRange>& ranges, std::int64_t round) {
    const std::size_t begin = taken_[rank];
    std::size_t end = begin;
    while (end < ranges.size() && domains_.window_at(ranges[end].offset).round == round) ++end;
    taken_[rank] = end;
    return std::span(ranges).subspan(begin, end - begin);
  }

  void start(std::int64_t round) {
    const core::Stopwatch watch;
    expect(round);
    double packing_s = 0.0;
    for (; next_share_ < outgoing_.shares().size(); ++next_share_) {
      const OutgoingRows::Share& share = outgoing_.shares()[next_share_];
      if (share.window.round != round) break;
      const core::Stopwatch packing;
      const std::span<const std::byte> message = packed(share);
      packing_s += packing.seconds();
      if (!message.empty()) traffic_.send(share.window.rank, message);
    }
    statistics_.copy_s += packing_s;
    statistics_.exchange_s += watch.seconds() - packing_s;
    take_note_of_memory();
  }

  // Makes room for the window of this rank, if it has one, and for what comes to it.
  void expect(std::int64_t round) {
    std::vector<std::pair<int, std::span<const ByteRange>>> expected;
    for (const auto& [rank, ranges] : incoming_)
      if (const auto next = next_ranges(rank, ranges, round); !next.empty()) expected.emplace_back(rank, next);
    if (expected.empty()) return;
    const FileDomains::Window window = domains_.window_at(expected.front().second.front().offset);
    Filling& filling = arriving_.emplace();
    filling.begin = window.begin;
    filling.bytes = std::move(spare_);
    filling.bytes.resize(static_cast<std::size_t>(window.end - window.begin));
    for (const auto& [rank, ranges] : expected) {
      filling.filled.insert(filling.filled.end(), ranges.begin(), ranges.end());
      if (rank == work_.comm.rank()) continue;
      if (ranges.size() == 1) {
        traffic_.receive(rank, filling.at(ranges[0].offset, ranges[0].bytes));
      } else {
        Packed& message = received_.emplace_back();
        message.ranges.assign(ranges.begin(), ranges.end());
        message.bytes.resize(static_cast<std::size_t>(bytes_of(ranges)));
        traffic_.receive(rank, message.bytes);
      }
    }
  }

  // The message with a share; empty where it is for a window of this rank, and there already.
  std::span<const std::byte> packed(const OutgoingRows::Share& share) {
    if (share.window.rank == work_.comm.rank()) {
      unless_failed([&] {
        outgoing_.pack(share, [&](std::int64_t offset, std::int64_t bytes) { return arriving_->at(offset, bytes); });
      });
      return {};
    }
    Bytes& message = sent_.emplace_back(static_cast<std::size_t>(share.bytes));
    std::size_t used = 0;
    unless_failed([&] {
      outgoing_.pack(share, [&](std::int64_t /*offset*/, std::int64_t bytes) {
        used += static_cast<std::size_t>(bytes);
        return std::span(message).subspan(used - static_cast<std::size_t>(bytes), static_cast<std::size_t>(bytes));
      });
    });
    return message;
  }

  // What was started is there.
  void finish() {
    const core::Stopwatch waiting;
    traffic_.wait();
    statistics_.wait_s += waiting.seconds();
    const core::Stopwatch copying;
    for (const Packed& message : received_) {
      auto next = message.bytes.begin();
      for (const ByteRange& range : message.ranges) {
        std::copy_n(next, range.bytes, arriving_->at(range.offset, range.bytes).begin());
        next += range.bytes;
      }
    }
    received_.clear();
    sent_.clear();
    arrived_ = std::exchange(arriving_, std::nullopt);
    statistics_.copy_s += copying.seconds();
  }

  void write_arrived() {
    if (!arrived_) return;
    unless_failed([&] {
      if (!file_) file_.emplace(work_.path, OutputFile::Open::modify);
      for (const ByteRange& range : joined(arrived_->filled)) {
        file_->write_at(range.offset, arrived_->at(range.offset, range.bytes));
        if (work_.options.is_durable) file_->begin_sync(range.offset, range.bytes);
      }
    });
    spare_ = std::move(arrived_->bytes);
    arrived_.reset();
  }

  void take_note_of_memory() {
    std::size_t bytes = spare_.capacity() + static_cast<std::size_t>(outgoing_.scratch_bytes());
    for (const auto* filling : {&arriving_, &arrived_})
      if (*filling) bytes += (*filling)->bytes.capacity();
    for (const Bytes& message : sent_) bytes += message.size();
    for (const Packed& message : received_) bytes += message.bytes.size();
    for (const auto& [rank, ranges] : incoming_) bytes += ranges.size() * sizeof(ByteRange);
    statistics_.memory_bytes = std::max(statistics_.memory_bytes, static_cast<std::int64_t>(bytes));
  }

  const ArrayWrite& work_;
  const FileDomains& domains_;
  OutgoingRows outgoing_;
  std::size_t next_share_ = 0;
  comm::ByRank<ByteRange> incoming_;
  std::map<int, std::size_t> taken_;  // ranges of `incoming_`
  Traffic traffic_;
  std::vector<Bytes> sent_;
  std::vector<Packed> received_;
  std::optional<Filling> arriving_, arrived_;
  Bytes spare_;
  std::optional<OutputFile> file_;
  AccessStatistics statistics_;
  FirstFailure failure_;
};

}  // namespace

int chosen_aggregators(std::int64_t bytes, std::int64_t portion_bytes, int ranks, int nodes, int stripes) {
  constexpr int a_server = 4, a_node = 2;
  const std::int64_t most = std::min(ranks, stripes > 0 ? a_server * stripes : a_node * nodes);
  return static_cast<int>(
      std::clamp<std::int64_t>((bytes + portion_bytes - 1) / portion_bytes, 1, std::max<std::int64_t>(1, most)));
}

AccessStatistics write_aggregated(const ArrayWrite& work, const FileSystem& system) {
  std::vector<ByteRange> arrays;
  for (std::size_t g = 0; g < work.groups.size(); ++g)
    for (std::size_t a = 0; a < work.groups[g].arrays.size(); ++a)
      arrays.push_back({work.offsets[g][a], work.groups[g].rows * work.groups[g].arrays[a].row_bytes()});
  const std::int64_t bytes = bytes_of(arrays);
  if (bytes == 0) return {};
  std::ranges::sort(arrays, {}, &ByteRange::offset);
  AggregationChoice choice{1, work.comm.size(), system.unit_bytes, work.options.buffer_bytes};
  if (work.options.aggregators > 0) {
    choice.aggregators = std::min(work.options.aggregators, work.comm.size());
  } else if (const std::int64_t portion = system.has_large_units() ? system.unit_bytes : choice.buffer_bytes;
             bytes > portion) {
    const std::int64_t nodes = work.comm.sum(std::int64_t{work.comm.split_by_node().rank() == 0});
    choice.aggregators = chosen_aggregators(bytes, portion, choice.ranks, static_cast<int>(nodes), system.stripes);
  }
  const FileDomains domains(arrays, choice);
  return Aggregation(work, domains)();
}

}  // namespace sidestream::io
