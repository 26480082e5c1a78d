// Files whose cells are compressed, in every format that holds them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "file_size_limit.hpp"
#include "format_fixture.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream {
namespace {

using test::Deal;
using test::FileState;
using test::SampleState;

core::Compression compression(const std::string& text) {
  return core::read_compression(*core::parse_toml("compress = " + text, "run.toml").find("compress"));
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

constexpr std::int32_t side = 24, block = 8;

double smooth(mesh::Int3 cell) {
  return 10.0 + std::sin(0.2 * cell.x) + std::cos(0.3 * cell.y) * std::sin(0.1 * cell.z);
}

/// A plot file of one smooth field in blocks of 8^3, one cell of which may be no number.
FileState smooth_state(const mesh::Layout& layout, mesh::Field<double>& field, mesh::Int3 bad = {-1, -1, -1}) {
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&](int k, int j, int i) {
      field.view(b)(k, j, i) = mesh::Int3{i, j, k} == bad ? std::nan("") : smooth({i, j, k});
    });
  FileState file;
  file.state.geometry = {layout.domain(), {1.0, 1.0, 1.0}, {true, true, true}};
  test::set_levels(file.state, {layout}, field.rank());
  test::add(file, "density", "", {mesh::FieldView<const double>(field)});
  return file;
}

class CompressedFiles : public test::FormatTest, public testing::WithParamInterface<std::string> {
 protected:
  const io::Format& format() const override { return io::formats().named(GetParam()); }
  std::string name(std::int64_t step = 7) const { return format().plotfile->of(step); }
  mesh::Layout layout(Deal deal = Deal::in_turn) const {
    return test::dealt(mesh::split(mesh::domain_of({side, side, side}), {side / block, side / block, side / block}),
                       comm_.size(), deal);
  }
  // Of the field on this rank, read again from `path`: f(cell, value).
  template <typename F>
  void for_each_read(const std::string& path, F f) const {
    const auto file = format().open(path);
    comm_.agree_on([&] { file->verify(comm_.rank(), comm_.size()); });
    mesh::Field<double> into(layout(Deal::in_pieces), comm_.rank());
    file->read_field("density", into);
    for (int b = 0; b < into.blocks(); ++b)
      core::for_each_cell(into.box(b), [&](int k, int j, int i) { f(mesh::Int3{i, j, k}, into.view(b)(k, j, i)); });
  }
};

TEST_P(CompressedFiles, ACheckpointWithoutLossComesBackBitForBit) {
  if (!format().checkpoint) GTEST_SKIP() << "is for plot files only";
  for (const Deal deal : {Deal::in_turn, Deal::to_last_rank}) {
    const SampleState state(comm_, 3, deal);
    FileState content = state.checkpoint();
    content.choice.compression = compression("{ density = 'zstd', phi_grav = 'none', '*' = 'zstd' }");

    const auto file = format().open(write(content, format().checkpoint->of(7)));

    test::expect_sample_checkpoint(comm_, *file, 3);
    test::expect_sample_particles(comm_, *file, 3);
    comm_.agree_on([&] { file->verify(comm_.rank(), comm_.size()); });
  }
}

TEST_P(CompressedFiles, NoCellIsFurtherOffThanItsBound) {
  mesh::Field<double> field(layout(), comm_.rank());
  for (const auto& [words, bound] : {std::pair("'zfp 1e-2'", 1e-2), std::pair("'zfp 1e-4 relative'", 1.2e-3)}) {
    FileState content = smooth_state(layout(), field);
    content.choice.compression = compression(words);
    double largest = 0.0;

    for_each_read(write(content, name()),
                  [&](mesh::Int3 cell, double value) { largest = std::max(largest, std::abs(value - smooth(cell))); });

    EXPECT_LE(largest, bound);
    EXPECT_GT(comm_.max(largest), 0.0) << "nothing was given up";
  }
}

TEST_P(CompressedFiles, TheUnitOfTheBoundIsThatOfTheQuantity) {
  mesh::Field<double> field(layout(), comm_.rank());
  FileState content = smooth_state(layout(), field);
  content.state = {};
  content.state.geometry = {layout().domain(), {1.0, 1.0, 1.0}, {true, true, true}};
  content.state.length_unit = "Mpc";  // of which some formats make cm, and g/cm^3 of the density
  test::set_levels(content.state, {layout()}, comm_.rank());
  content.state.add_stored({"density", "Msun/Mpc^3"}, {mesh::FieldView<const double>(field)}, 0);
  content.choice.compression = compression("'zfp 1e-2'");
  double factor = 0.0, largest = 0.0;

  for_each_read(write(content, name()), [&](mesh::Int3 cell, double value) {
    if (factor == 0.0) factor = value / smooth(cell);
    largest = std::max(largest, std::abs(value - factor * smooth(cell)));
  });

  if (factor != 0.0) {
    EXPECT_LE(largest, 3e-2 * factor) << "the factor is off by as much as the bound allows";
    EXPECT_GT(largest, 1e-6 * factor) << "bits are kept that the bound gives up";
  }
}

TEST_P(CompressedFiles, ABlockWithACellThatIsNoNumberIsKept) {
  mesh::Field<double> field(layout(), comm_.rank());
  FileState content = smooth_state(layout(), field, {3, 2, 1});
  content.choice.compression = compression("'zfp 1e-2'");
  std::int64_t differ = 0, nans = 0;

  for_each_read(write(content, name()), [&](mesh::Int3 cell, double value) {
    if (std::isnan(value)) return static_cast<void>(++nans);
    if (std::max({cell.x, cell.y, cell.z}) < block)
      differ += value != smooth(cell);
    else
      EXPECT_NEAR(value, smooth(cell), 1e-2);
  });

  EXPECT_EQ(comm_.sum(differ), 0);
  EXPECT_EQ(comm_.sum(nans), 1);
}

TEST_P(CompressedFiles, TheBytesDoNotDependOnRanks) {
  if (GetParam() == "sidestream" || GetParam() == "flash") GTEST_SKIP() << "tells the rank that has each block";
  std::set<std::string> different;
  for (const Deal deal : {Deal::in_turn, Deal::in_pieces, Deal::to_last_rank}) {
    mesh::Field<double> field(layout(deal), comm_.rank());
    FileState content = smooth_state(layout(deal), field);
    content.choice.compression = compression("'zfp 1e-3'");
    different.insert(bytes_of(write(content, name())));
    comm_.barrier();
  }
  if (comm_.rank() == 0) {
    const comm::Communicator alone(MPI_COMM_SELF);
    const mesh::Layout whole = test::dealt(layout(), 1, Deal::in_turn);
    mesh::Field<double> field(whole, 0);
    FileState content = smooth_state(whole, field);
    content.choice.compression = compression("'zfp 1e-3'");
    test::write(alone, format(), folder_ / name(8), content);
    different.insert(bytes_of(folder_ / name(8)));
  }

  EXPECT_EQ(different.size(), 1U);
}

TEST_P(CompressedFiles, FilesBecomeSmaller) {
  mesh::Field<double> field(layout(), comm_.rank());
  std::map<std::string, std::size_t> bytes;
  for (const std::string words : {"'none'", "'zstd'", "'zfp 1e-2'"}) {
    FileState content = smooth_state(layout(), field);
    content.choice.compression = compression(words);
    bytes[words] = bytes_of(write(content, name())).size();
  }

  EXPECT_LT(bytes["'zstd'"], bytes["'none'"]);
  EXPECT_LT(bytes["'zfp 1e-2'"], bytes["'none'"] / 2);
}

TEST_P(CompressedFiles, DamageIsFound) {
  mesh::Field<double> field(layout(), comm_.rank());
  FileState content = smooth_state(layout(), field);
  for (const std::string words : {"'zstd'", "'zfp 1e-3'"}) {
    content.choice.compression = compression(words);
    const std::string path = write(content, name());
    if (comm_.rank() != 0) continue;
    const std::string whole = bytes_of(path);
    constexpr std::size_t places = 60;
    std::size_t unseen = 0;
    for (std::size_t place = 0; place < places; ++place) {
      const std::size_t at = whole.size() * place / places;
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      const std::string other = folder_ / name(9);
      std::ofstream(other, std::ios::binary) << damaged;
      try {
        format().open(other)->verify();
        ++unseen;
      } catch (const core::Error&) {
      }
    }
    EXPECT_LE(unseen, places / 20) << words << ": what fills the last word of a chunk, and no more";
  }
}

TEST_P(CompressedFiles, ADiskThatFillsUpStopsAllAndLeavesNothing) {
  mesh::Field<double> field(layout(), comm_.rank());
  FileState content = smooth_state(layout(), field);
  content.choice.compression = compression("'zstd'");
  for (const int full : std::set{0, comm_.size() - 1}) {
    comm_.barrier();
    std::unique_ptr<test::FileSizeLimit> limit;
    if (comm_.rank() == full) limit = std::make_unique<test::FileSizeLimit>(5000);
    bool failed = false;
    try {
      test::write(comm_, format(), folder_ / name(), content);
    } catch (const core::Error&) {
      failed = true;
    }
    limit.reset();
    comm_.barrier();
    EXPECT_EQ(comm_.all(failed), comm_.max(std::int64_t{failed}) == 1) << "all ranks fail or none";
    EXPECT_TRUE(failed || full > 0);
    if (failed) {
      EXPECT_EQ(test::entries_of(folder_.path()), 0);
    }
    comm_.barrier();
    if (comm_.rank() == 0) io::remove_all(folder_ / name());
    comm_.barrier();
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, CompressedFiles, testing::Values("sidestream", "flash", "vtkhdf", "raw"));

class CompressionRefusals : public test::FormatTest {
 protected:
  const io::Format& format() const override { return *format_; }
  std::string message_of(const std::string& name, FileState content, const std::string& words,
                         const io::WriteOptions& options = {}) {
    format_ = &io::formats().named(name);
    content.choice.compression = compression(words);
    try {
      write(content, "file", options);
    } catch (const core::Error& error) {
      return error.message();
    }
    return "";
  }
  const io::Format* format_ = nullptr;
};

TEST_F(CompressionRefusals, FormatsThatHoldNoneSaySo) {
  const SampleState state(comm_, 1);
  const FileState content = state.plotfile();
  for (const io::Format& one : io::formats())
    if (!one.compresses && one.plotfile) {
      EXPECT_EQ(message_of(one.name, content, "'zstd'"), "the format `" + one.name + "` cannot hold compressed cells");
    }
}

TEST_F(CompressionRefusals, ACheckpointLosesNothing) {
  const SampleState state(comm_, 1);

  EXPECT_EQ(message_of("sidestream", state.checkpoint(), "{ density = 'zfp 1e-3' }"),
            "a checkpoint is exact: a run goes on from it to the bit");
}

TEST_F(CompressionRefusals, MethodsOfHdf5CannotWriteThem) {
  const SampleState state(comm_, 1);

  EXPECT_EQ(message_of("sidestream", state.plotfile(), "'zstd'", {.method = "hdf5-collective"}),
            "the method `hdf5-collective` cannot write compressed arrays");
}

}  // namespace
}  // namespace sidestream
