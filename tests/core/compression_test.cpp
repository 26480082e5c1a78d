#include "sidestream/core/compression.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "sidestream/core/compressed_block.hpp"

namespace sidestream::core {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

// Smooth over the block with noise of a few digits: what fields of simulations are like.
template <typename R>
std::vector<R> wavy(const BlockForm& form, double amplitude = 1.0) {
  std::vector<R> cells(form.cell_count());
  for (std::size_t c = 0; c < cells.size(); ++c)
    cells[c] = static_cast<R>(
        amplitude * (1.5 + std::sin(0.05 * static_cast<double>(c)) + 1e-6 * static_cast<double>(c * 7919 % 1009)));
  return cells;
}

template <typename R>
std::vector<R> after_a_round_trip(const std::string& compressor, double bound, const BlockForm& form,
                                  const std::vector<R>& cells) {
  std::vector<R> again(cells.size());
  decompress_block(form, compress_block(compressors().named(compressor), bound, form, std::as_bytes(std::span(cells))),
                   std::as_writable_bytes(std::span(again)));
  return again;
}

template <typename R>
bool have_equal_bits(const std::vector<R>& a, const std::vector<R>& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

template <typename R>
double largest_error(const std::vector<R>& a, const std::vector<R>& b) {
  double largest = 0.0;
  for (std::size_t c = 0; c < a.size(); ++c)
    largest = std::max(largest, std::abs(static_cast<double>(a[c]) - static_cast<double>(b[c])));
  return largest;
}

std::vector<BlockForm> all_forms(Real real) {
  std::vector<BlockForm> forms;
  for (const std::array<std::int64_t, 3>& cells : {std::array<std::int64_t, 3>{1, 1, 1},
                                                   {1, 1, 2},
                                                   {1, 1, 1009},
                                                   {1, 7, 1},
                                                   {13, 1, 1},
                                                   {1, 31, 17},
                                                   {5, 1, 3},
                                                   {7, 11, 13},
                                                   {16, 16, 16},
                                                   {0, 4, 4}})
    forms.push_back({cells, real});
  return forms;
}

std::string name_of(const BlockForm& form) {
  return ::testing::PrintToString(form.cells) + (form.real == Real::float32 ? " floats" : " doubles");
}

template <typename R>
class Compressors : public ::testing::Test {
 protected:
  static constexpr Real real = sizeof(R) == 4 ? Real::float32 : Real::float64;
};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Compressors, Reals);

TYPED_TEST(Compressors, ThoseWithoutLossGiveTheSameBits) {
  for (const Compressor& compressor : compressors()) {
    if (compressor.is_lossy) continue;
    for (const BlockForm& form : all_forms(this->real)) {
      std::vector<TypeParam> cells = wavy<TypeParam>(form);
      if (cells.size() > 2) {
        cells[0] = static_cast<TypeParam>(-infinity);
        cells[1] = std::numeric_limits<TypeParam>::denorm_min();
        cells[2] = -std::numeric_limits<TypeParam>::quiet_NaN();
      }
      EXPECT_TRUE(have_equal_bits(after_a_round_trip(compressor.name, 0.0, form, cells), cells))
          << compressor.name << ' ' << name_of(form);
    }
  }
}

TYPED_TEST(Compressors, ALossyOneKeepsToItsBoundAndUsesIt) {
  for (const BlockForm& form : all_forms(this->real))
    for (const double bound : {1e-1, 1e-3, 1e-5}) {
      const std::vector<TypeParam> cells = wavy<TypeParam>(form);

      const double error = largest_error(after_a_round_trip("zfp", bound, form, cells), cells);

      EXPECT_LE(error, bound) << name_of(form);
      if (form.cell_count() > 1000) {
        EXPECT_GT(error, bound / 1000) << "bits are kept that the bound gives up";
      }
    }
}

TYPED_TEST(Compressors, WhereABoundLeavesNoBitsALossyOneGivesTheSameBits) {
  const BlockForm form{{4, 4, 4}, this->real};
  std::vector<TypeParam> cells = wavy<TypeParam>(form);
  cells[5] = TypeParam{1e30F};

  for (const double bound : {1e-3, 0.0, -1.0, infinity, nan})
    EXPECT_TRUE(have_equal_bits(after_a_round_trip("zfp", bound, form, cells), cells)) << bound;
}

TYPED_TEST(Compressors, CellsThatAreNotFiniteAreKept) {
  const BlockForm form{{4, 4, 4}, this->real};
  for (const double bad : {nan, infinity, -infinity}) {
    std::vector<TypeParam> cells = wavy<TypeParam>(form);
    cells[17] = static_cast<TypeParam>(bad);

    EXPECT_TRUE(have_equal_bits(after_a_round_trip("zfp", 0.1, form, cells), cells)) << bad;
  }
}

TYPED_TEST(Compressors, FieldsBecomeSmaller) {
  const BlockForm form{{32, 32, 32}, this->real};
  std::vector<TypeParam> cells(form.cell_count());
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const double k = 0.1;
    const double x = static_cast<double>(c % 32), y = static_cast<double>(c / 32 % 32),
                 z = static_cast<double>(c / 1024);
    cells[c] = static_cast<TypeParam>(std::sin(k * x) * std::cos(k * y) + std::sin(k * z));
  }
  const auto size = [&](const std::string& name, double bound) {
    return compress_block(compressors().named(name), bound, form, std::as_bytes(std::span(cells))).size();
  };

  EXPECT_LT(size("zstd", 0.0), form.bytes());
  EXPECT_LT(size("zfp", 1e-3), form.bytes() / 4);
}

TYPED_TEST(Compressors, DamageIsAnErrorOrOtherCells) {
  const BlockForm form{{5, 6, 7}, this->real};
  const std::vector<TypeParam> cells = wavy<TypeParam>(form);
  std::vector<TypeParam> again(cells.size());
  const auto decompress = [&](std::span<const std::byte> bytes) {
    decompress_block(form, bytes, std::as_writable_bytes(std::span(again)));
  };
  for (const Compressor& compressor : compressors()) {
    const std::vector<std::byte> whole = compress_block(compressor, 1e-3, form, std::as_bytes(std::span(cells)));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      // Behind the last bit of zfp its bytes end with those of a word.
      if (compressor.is_lossy && size + 8 > whole.size()) break;
      EXPECT_THROW(decompress(std::span(whole).first(size)), Error) << compressor.name << ' ' << size;
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::vector<std::byte> damaged = whole;
      damaged[at] ^= std::byte{0x41};
      try {
        decompress(damaged);
      } catch (const Error&) {
      }
    }
    std::vector<std::byte> longer = whole;
    longer.resize(whole.size() + 8);
    EXPECT_THROW(decompress(longer), Error) << compressor.name;
  }
  EXPECT_THROW(decompress(std::vector(9, std::byte{77})), Error);
}

TYPED_TEST(Compressors, AnotherNumberOfCellsIsAnError) {
  const BlockForm form{{4, 4, 4}, this->real}, larger{{4, 4, 5}, this->real};
  const std::vector<TypeParam> cells = wavy<TypeParam>(form);
  std::vector<TypeParam> more(larger.cell_count());

  for (const std::string name : {"none", "zstd"})
    EXPECT_THROW(
        decompress_block(larger, compress_block(compressors().named(name), 0.0, form, std::as_bytes(std::span(cells))),
                         std::as_writable_bytes(std::span(more))),
        Error);
  EXPECT_THROW(compress_block(compressors().named("zfp"), 0.1, larger, std::as_bytes(std::span(cells))), Error);
}

TEST(CompressorsTable, TagsTellCompressorsApart) {
  for (const Compressor& a : compressors())
    for (const Compressor& b : compressors()) EXPECT_EQ(a.tag == b.tag, a.name == b.name);
}

TEST(CompressorsTable, BytesAreThoseOfTheFiltersOfHdf5) {
  const BlockForm form{{1, 1, 4}, Real::float32};
  const std::vector<float> cells{1.0F, 2.0F, 3.0F, 4.0F};  // 3f800000, 40000000, 40400000, 40800000

  const auto zstd = compressors().named("zstd").compress(form, std::as_bytes(std::span(cells)), 0.0);

  // A frame of Zstandard (RFC 8878, section 3.1.1), in which 16 bytes lie as they are: sorted by their places.
  const std::vector<unsigned> frame{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x10, 0x81, 0x00, 0x00, 0,    0,    0,   0,
                                    0,    0,    0,    0,    0x80, 0,    0x40, 0x80, 0x3f, 0x40, 0x40, 0x40};
  ASSERT_EQ(zstd->size(), frame.size());
  for (std::size_t b = 0; b < frame.size(); ++b) EXPECT_EQ(std::to_integer<unsigned>((*zstd)[b]), frame[b]) << b;
}

// --- the configuration
// ----------------------------------------------------------------------------------------------------------------------

Compression read(const std::string& toml) {
  return read_compression(*parse_toml(toml, "run.toml").find("compress"));
}

Error error_of(const std::string& toml) {
  try {
    read(toml).check_names(std::vector<std::string>{"density", "temperature"});
  } catch (const Error& error) {
    return error;
  }
  return Error("no error");
}

TEST(CompressionConfig, OneWordIsForAllQuantities) {
  EXPECT_EQ(read("compress = 'zstd'").of("density").text(), "zstd");
  EXPECT_TRUE(read("compress = 'none'").is_none());
  EXPECT_FALSE(read("compress = 'zstd'").is_none());
}

TEST(CompressionConfig, ATableHasOneForEachQuantityAndTheOthers) {
  const Compression mixed =
      read("compress = { density = 'zfp 1e-3', '*' = 'zstd', temperature = 'zfp 0.01 relative' }");

  EXPECT_EQ(mixed.of("density").text(), "zfp 0.001");
  EXPECT_EQ(mixed.of("temperature").text(), "zfp 0.01 relative");
  EXPECT_EQ(mixed.of("pressure").text(), "zstd");
  EXPECT_EQ(mixed.of("density").bound_for(50.0), 1e-3);
  EXPECT_EQ(mixed.of("temperature").bound_for(50.0), 0.5);
  EXPECT_EQ(read("compress = { density = 'zstd' }").of("pressure").text(), "none");
}

TEST(CompressionConfig, ErrorsTellPlaceAndNearestName) {
  const Error slip = error_of("a = 1\ncompress = 'zsdt'");
  EXPECT_EQ(slip.message(), "there is no compressor `zsdt`");
  EXPECT_EQ(slip.where(), "run.toml:2:12, key `compress`");
  EXPECT_EQ(slip.hint(), "did you mean `zstd`? choose one of: none, zstd, zfp");
  const Error quantity = error_of("compress = { densty = 'zstd' }");
  EXPECT_EQ(quantity.message(), "there is no quantity `densty`");
  EXPECT_EQ(quantity.where(), "run.toml:1:23, key `compress.densty`");
  EXPECT_EQ(error_of("compress = ''").message(), "the compressor is missing");
  EXPECT_EQ(error_of("compress = 'zfp'").message(), "`zfp` takes the largest error that a cell may have");
  EXPECT_EQ(error_of("compress = 'zstd 3'").message(), "`zstd` loses nothing and takes no bound");
  EXPECT_EQ(error_of("compress = 'zfp 1e-3 relatve'").message(), "`relatve` means nothing behind a bound");
  EXPECT_EQ(error_of("compress = 'zfp 1e-3 relative 5'").message(), "`5` means nothing behind a bound");
  EXPECT_EQ(error_of("compress = 3").message(), "`compress` is a whole number, but must be a string or a table");
  for (const std::string bound : {"0", "-1", "inf", "nan", "1e-3x", "much"})
    EXPECT_EQ(error_of("compress = 'zfp " + bound + "'").message(), "`" + bound + "` is no largest error of a cell");
}

TEST(CompressionConfig, WhoMayNotLoseAnythingRefusesALossyOne) {
  EXPECT_NO_THROW(read("compress = 'zstd'").refuse_lossy("a checkpoint is exact"));
  EXPECT_THROW(read("compress = { a = 'zstd', b = 'zfp 1' }").refuse_lossy("a checkpoint is exact"), Error);
  EXPECT_NO_THROW(read("compress = 'none'").refuse_all("Nyx cannot"));
  EXPECT_THROW(read("compress = 'zstd'").refuse_all("Nyx cannot"), Error);
}

}  // namespace
}  // namespace sidestream::core
