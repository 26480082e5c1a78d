// What the layer sees: every byte of every library.
#include <aio.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <numeric>
#include <thread>

#include "refined_content.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sweep.hpp"

namespace sidestream {
namespace {

class LayerTest : public testing::Test {
 protected:
  std::int64_t bytes_of_fields() const {
    std::int64_t bytes = 0;
    for (const mesh::Layout& level : content_.content().state.levels)
      for (const mesh::Box& box : level.boxes()) bytes += box.volume() * 8;
    return bytes * static_cast<std::int64_t>(content_.content().state.quantities().size());
  }
  sidestream_io_counts counts_of(const io::Format& format, const std::string& method) const {
    io::WriteOptions options;
    options.method = method;
    sidestream_io_watch(folder_.path().c_str());
    sidestream_io_reset();
    test::write(comm_, format, folder_ / format.checkpoint->of(1), content_.content(), options);
    sidestream_io_watch(nullptr);
    return sidestream_io_read();
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
  test::RefinedContent content_{comm_, 1};
};

TEST_F(LayerTest, EveryLibraryWritesThroughIt) {
  for (const io::Format& format : io::formats()) {
    if (!format.checkpoint) continue;
    const std::vector<std::string> own_way{""};
    for (const std::string& method : format.methods.empty() ? own_way : format.methods) {
      SCOPED_TRACE(format.name + " " + method);

      const sidestream_io_counts counts = counts_of(format, method);

      EXPECT_GE(comm_.sum(counts.bytes), bytes_of_fields());
      EXPECT_GE(comm_.sum(counts.syncs), 1);
      EXPECT_GE(comm_.sum(counts.renames), 1);
      EXPECT_EQ(std::accumulate(std::begin(counts.sizes), std::end(counts.sizes), std::int64_t{0}), counts.writes);
    }
  }
}

TEST_F(LayerTest, ItCountsWritesBehindEachOther) {
  sidestream_io_watch(folder_.path().c_str());
  sidestream_io_reset();
  io::OutputFile file(folder_ / ("file" + std::to_string(comm_.rank())), io::OutputFile::Open::create);
  const std::vector<std::byte> data(1000);
  for (const std::int64_t offset : {0, 1000, 5000, 3000}) file.write_at(offset, data);
  file.close();
  sidestream_io_watch(nullptr);

  const sidestream_io_counts counts = sidestream_io_read();
  EXPECT_EQ(counts.writes, 4);
  EXPECT_EQ(counts.bytes, 4000);
  EXPECT_EQ(counts.sequential, 2);
  EXPECT_EQ(counts.consecutive, 1);
  EXPECT_EQ(counts.largest, 1000);
  EXPECT_EQ(counts.sizes[1], 4);
  EXPECT_EQ(counts.opens, 1);
}

// By the rules of the macros of Darshan 3.4 (`darshan-posix.c`, `darshan-common.h`; no log was made) these accesses are
// POSIX_SEQ_WRITES 4, POSIX_CONSEC_WRITES 1, POSIX_FILE_NOT_ALIGNED 3, and SIZE_WRITE 1 in 0_100, 3 in 100K_1M, 1 in
// 1M_4M.
TEST_F(LayerTest, ItAndTheStatisticsCountAsDarshanDoes) {
  constexpr std::int64_t mebibyte = 1 << 20;
  const std::vector<std::pair<std::int64_t, std::int64_t>> accesses{{4096, mebibyte},
                                                                    {4096 + mebibyte, mebibyte},
                                                                    {3 * mebibyte + 1, mebibyte},
                                                                    {10, 100},
                                                                    {3 * mebibyte + 7, mebibyte + 1}};
  sidestream_io_watch(folder_.path().c_str());
  sidestream_io_reset();
  io::OutputFile file(folder_ / ("file" + std::to_string(comm_.rank())), io::OutputFile::Open::create);
  for (const auto& [offset, bytes] : accesses)
    file.write_at(offset, std::vector<std::byte>(static_cast<std::size_t>(bytes)));
  const io::AccessStatistics statistics = file.statistics();
  file.close();
  sidestream_io_watch(nullptr);

  const sidestream_io_counts counts = sidestream_io_read();
  EXPECT_EQ(counts.sequential, 4);
  EXPECT_EQ(counts.consecutive, 1);
  EXPECT_EQ(counts.unaligned, 3);
  EXPECT_EQ(counts.sizes[0], 1);
  EXPECT_EQ(counts.sizes[4], 3);
  EXPECT_EQ(counts.sizes[5], 1);
  EXPECT_EQ(statistics.sequential, counts.sequential);
  EXPECT_EQ(statistics.consecutive, counts.consecutive);
  EXPECT_EQ(statistics.unaligned, counts.unaligned);
  for (std::size_t bin = 0; bin < statistics.write_sizes.size(); ++bin)
    EXPECT_EQ(statistics.write_sizes[bin], counts.sizes[bin]) << bin;
}

TEST_F(LayerTest, ItCountsReads) {
  const std::string path = folder_ / ("file" + std::to_string(comm_.rank()));
  io::OutputFile(path, io::OutputFile::Open::create).write_at(0, std::vector<std::byte>(10'000));
  sidestream_io_watch(folder_.path().c_str());
  sidestream_io_reset();
  std::vector<std::byte> bytes(1000);
  const io::InputFile file(path);
  for (const std::int64_t offset : {4096, 5096, 8000, 0}) file.read(offset, bytes);
  sidestream_io_watch(nullptr);

  const sidestream_io_counts counts = sidestream_io_read();
  EXPECT_EQ(counts.read_opens, 1);
  EXPECT_EQ(counts.reads, 4);
  EXPECT_EQ(counts.read_bytes, 4000);
  EXPECT_EQ(counts.read_sequential, 3);
  EXPECT_EQ(counts.read_consecutive, 1);
  EXPECT_EQ(counts.read_sizes[1], 4);
  EXPECT_EQ(counts.unaligned, 2);
  EXPECT_EQ(counts.writes, 0);
}

TEST_F(LayerTest, ItTellsWhatCallsTook) {
  const std::string path = folder_ / ("file" + std::to_string(comm_.rank()));
  sidestream_io_watch(folder_.path().c_str());
  sidestream_io_reset();
  const core::Stopwatch watch;
  io::OutputFile file(path, io::OutputFile::Open::create);
  file.write(std::vector<std::byte>(std::size_t{4} << 20));
  file.sync_and_close();
  std::vector<std::byte> bytes(std::size_t{1} << 20);
  io::InputFile(path).read(0, bytes);
  const double wall_s = watch.seconds();
  sidestream_io_watch(nullptr);

  const sidestream_io_counts counts = sidestream_io_read();
  EXPECT_GT(counts.write_ns, 10'000) << "no memory takes 4 MiB faster";
  EXPECT_GT(counts.read_ns, 1'000);
  EXPECT_GT(counts.sync_ns, 0);
  EXPECT_LE(1e-9 * static_cast<double>(counts.write_ns + counts.read_ns + counts.sync_ns), wall_s);
}

TEST_F(LayerTest, WritesBehindACallCountUntilTheyAreDoneAndSeveralAtATimeOnce) {
  const std::string path = folder_ / ("file" + std::to_string(comm_.rank()));
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT, 0666);
  sidestream_io_watch(folder_.path().c_str());
  sidestream_io_reset();
  std::vector<std::byte> bytes(1000);
  std::array<aiocb, 2> requests{};
  const core::Stopwatch watch;
  for (aiocb& request : requests) {
    request.aio_fildes = descriptor;
    request.aio_buf = bytes.data();
    request.aio_nbytes = bytes.size();
    ASSERT_EQ(::aio_write(&request), 0);
  }
  constexpr auto nap = std::chrono::milliseconds(20);
  std::this_thread::sleep_for(nap);
  for (aiocb& request : requests) {
    while (::aio_error(&request) == EINPROGRESS) std::this_thread::yield();
    EXPECT_EQ(::aio_return(&request), 1000);
  }
  const double wall_s = watch.seconds();
  sidestream_io_watch(nullptr);
  ::close(descriptor);

  const double write_s = 1e-9 * static_cast<double>(sidestream_io_read().write_ns);
  EXPECT_GE(write_s, std::chrono::duration<double>(nap).count());
  EXPECT_LE(write_s, 1.5 * wall_s) << "not that of each";
}

TEST_F(LayerTest, OnAFileSystemOfLargeUnitsTheEngineWritesWholeOnes) {
  const std::string table = folder_ / "model";
  ASSERT_TRUE(sidestream_io_model(table.c_str()));

  const sidestream_io_counts counts = counts_of(io::formats().named("sidestream"), "engine");
  sidestream_io_model(nullptr);

  EXPECT_LE(comm_.sum(std::int64_t{counts.writes > 0}), 2) << "two aggregators of a node";
}

TEST_F(LayerTest, TheModelChargesRequestsAndHandOvers) {
  const std::string table = folder_ / "model", path = folder_ / "shared";
  comm_.agree_on([&] {
    if (comm_.rank() == 0) io::OutputFile(path, io::OutputFile::Open::create).close();
  });
  sidestream_io_watch(path.c_str());
  ASSERT_TRUE(sidestream_io_model(table.c_str()));
  const std::vector<std::byte> data(1000);
  const core::Stopwatch watch;

  for (int rank = 0; rank < comm_.size(); ++rank) {
    comm_.barrier();
    if (comm_.rank() != rank) continue;
    io::OutputFile file(path, io::OutputFile::Open::modify);
    for (int i = 0; i < 10; ++i) file.write_at(1000 * i, data);
    file.close();
  }
  comm_.barrier();
  const double seconds = watch.seconds();
  sidestream_io_model(nullptr);
  sidestream_io_watch(nullptr);

  EXPECT_GE(seconds, comm_.size() * 10 * 5e-3 + (comm_.size() - 1) * 10e-3);
}

TEST_F(LayerTest, UnknownFaultsAreRefused) {
  EXPECT_FALSE(sidestream_io_fault("flood", 1, 1, nullptr));
  EXPECT_FALSE(sidestream_io_fault("eio", 1, 1, "write,flush"));
  EXPECT_TRUE(sidestream_io_fault("eio", 1, 1, "write,sync"));
  EXPECT_TRUE(sidestream_io_fault(nullptr, 0, 0, nullptr));
}

}  // namespace
}  // namespace sidestream
