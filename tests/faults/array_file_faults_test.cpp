// Faults at every call of a file of arrays, below all formats.
#include <algorithm>

#include "sidestream/io/array_file.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sweep.hpp"

namespace sidestream {
namespace {

constexpr std::int64_t rows_a_rank = 4, head_bytes = 4096;

// Two arrays of rows of `width` doubles, four rows a rank, and checksums.
class ArrayFileFaultsTest : public testing::Test {
 protected:
  static double value(int generation, std::int64_t row, std::int64_t element, std::size_t array) {
    return 1.0 / static_cast<double>(3 * generation + 7 * row + element + 100 * static_cast<std::int64_t>(array));
  }

  io::ArrayFile file(int generation) const {
    io::ArrayGroup group;
    group.rows = group.run_total = rows_a_rank * comm_.size();
    for (std::int64_t r = 0; r < rows_a_rank; ++r) {
      const std::int64_t row = comm_.rank() * rows_a_rank + r;
      group.runs.push_back({row, row, 1});
    }
    group.arrays = {{"a", io::ElementType::float64, {width_}}, {"b", io::ElementType::float64, {width_}}};
    group.pack = [generation, runs = group.runs](std::size_t array, std::size_t run, std::span<std::byte> out) {
      auto* values = reinterpret_cast<double*>(out.data());
      for (std::size_t e = 0; e < out.size() / sizeof(double); ++e)
        values[e] = value(generation, runs[run].first, static_cast<std::int64_t>(e), array);
    };
    group.checksums = "sums";
    io::ArrayFile file;
    file.container = io::Container::raw;
    file.groups = {std::move(group)};
    file.create = [](const std::string& path, std::span<const io::Array> arrays, std::span<const std::int64_t> rows) {
      io::OutputFile head(path, io::OutputFile::Open::modify);
      head.write(std::string(head_bytes, '#'));
      head.close();
      std::vector<std::int64_t> offsets{head_bytes};
      for (std::size_t a = 0; a + 1 < arrays.size(); ++a)
        offsets.push_back(offsets.back() + arrays[a].row_bytes() * rows[a]);
      return offsets;
    };
    return file;
  }

  bool is_good(int generation) const {
    bool is_equal = true;
    comm_.agree_on([&] {
      is_equal = io::check_commit_record(path(generation));
      const io::InputFile input(path(generation));
      const std::int64_t array_bytes = width_ * 8 * rows_a_rank * comm_.size();
      const std::int64_t first_byte = head_bytes + 2 * 8 * rows_a_rank * comm_.size();  // behind the checksums
      for (std::size_t array = 0; array < 2; ++array)
        for (std::int64_t row = comm_.rank(); row < rows_a_rank * comm_.size(); row += comm_.size()) {
          const auto bytes =
              input.bytes(first_byte + static_cast<std::int64_t>(array) * array_bytes + row * width_ * 8, width_ * 8);
          const auto* values = reinterpret_cast<const double*>(bytes.data());
          for (std::int64_t e = 0; e < width_; ++e)
            is_equal = is_equal && values[e] == value(generation, row, e, array);
        }
    });
    return comm_.all(is_equal);
  }

  std::string path(int generation) const { return folder_ / ("arrays" + std::to_string(generation)); }
  test::Sweep sweep(const std::string& method) {
    io::WriteOptions options;
    options.method = method;
    options.buffer_bytes = 1 << 18;
    return {
        comm_,
        folder_,
        {[this](int generation) { return path(generation); },
         [this, options](int generation) { io::write_array_file(comm_, path(generation), file(generation), options); },
         [this](int generation) { return is_good(generation); }},
        12};
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
  std::int64_t width_ = 9'000;  // large enough for each rank to write by itself
};

TEST_F(ArrayFileFaultsTest, WritesAtKnownPlacesLoseNothing) {
  test::Sweep sweep = this->sweep("engine");

  sweep.expect_no_loss_by("enospc");
  sweep.expect_no_loss_by("eio");
  sweep.expect_no_loss_by_lasting("enospc");
  sweep.expect_no_harm_by("short", "write");
  sweep.expect_no_harm_by("eintr", "all");
}

TEST_F(ArrayFileFaultsTest, AggregatorsLoseNothing) {
  test::Sweep sweep = this->sweep("aggregated");

  sweep.expect_no_loss_by("enospc");
  sweep.expect_no_loss_by("edquot");
  sweep.expect_no_loss_by_lasting("eio");
  sweep.expect_no_harm_by("short", "write");
  sweep.expect_no_harm_by("eintr", "all");
}

}  // namespace
}  // namespace sidestream
