// Damaged FLASH files are refused with a reason, whatever was hit; and ranks that fail take the others along.
#include <hdf5.h>

#include <memory>
#include <random>

#include "file_size_limit.hpp"
#include "flash_fixture.hpp"
#include "format_fixture.hpp"
#include "support/slow_tier.hpp"

namespace sidestream {
namespace {

class FlashDamageTest : public FlashTest {
 protected:
  FlashDamageTest() : content_(sample_.content(true)), path_(write(content_)), bytes_(test::content_of(path_)) {}

  // Of what is tried in minutes, an eighth where there are only seconds.
  static std::size_t share_of(std::size_t tried) { return test::is_slow_tier() ? tried : tried / 8; }
  // Whether the damaged bytes are refused with an error that names the file. On the first rank.
  bool is_refused(const std::string& bytes) const {
    test::overwrite(path_, bytes);
    try {
      io::format_of(path_).open(path_)->verify();
    } catch (const core::Error& error) {
      return error.where().find(path_) != std::string::npos && !error.message().empty();
    }
    return false;
  }
  std::string with_flipped_bit(std::size_t byte, int bit) const {
    std::string bytes = bytes_;
    bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << bit));
    return bytes;
  }

  test::FileState content_;
  std::string path_, bytes_;
};

TEST_P(FlashDamageTest, TruncationAnywhereIsNamed) {
  if (comm_.size() > 1) return;  // reading is local, and the bytes do not depend on the number of ranks

  const std::size_t all = share_of(100), anywhere = all - share_of(12);
  for (std::size_t i = 0; i < all; ++i) {
    const std::size_t length = i < anywhere ? bytes_.size() * i / anywhere : bytes_.size() - (i - anywhere + 1);
    EXPECT_TRUE(is_refused(bytes_.substr(0, length))) << length << " of " << bytes_.size() << " bytes";
  }
}

TEST_P(FlashDamageTest, AFlippedBitAnywhereIsNamed) {
  if (comm_.size() > 1) return;  // reading is local, and the bytes do not depend on the number of ranks
  std::mt19937 random(1);

  // All of the first tables, the end of the file with its record, and places all over the file.
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < share_of(64); ++i) places.push_back(i);
  for (std::size_t i = 1; i <= share_of(64); ++i) places.push_back(bytes_.size() - i);
  for (std::size_t i = 0; i < share_of(60); ++i) places.push_back(random() % bytes_.size());

  for (const std::size_t place : places)
    EXPECT_TRUE(is_refused(with_flipped_bit(place, static_cast<int>(random() % 8)))) << "byte " << place;
}

TEST_P(FlashDamageTest, AFileThatIsSoundAgainIsRead) {
  if (comm_.size() > 1) return;  // reading is local, and the bytes do not depend on the number of ranks

  EXPECT_TRUE(is_refused(with_flipped_bit(bytes_.size() / 2, 3)));
  EXPECT_FALSE(is_refused(bytes_));
}

TEST_P(FlashDamageTest, ARankThatCannotWriteFailsTogetherWithAllAndLeavesTheOldFile) {
  comm_.barrier();
  {
    const auto limit = comm_.rank() == 0  // which writes something in any case
                           ? std::make_unique<test::FileSizeLimit>(static_cast<rlim_t>(bytes_.size() / 2))
                           : nullptr;

    EXPECT_THROW(write(content_), core::Error);
  }

  comm_.barrier();
  EXPECT_EQ(test::entries_of(folder_.path()), 1);
  EXPECT_TRUE(test::content_of(path_) == bytes_);
}

TEST_P(FlashDamageTest, BlocksOfDifferentSizeAreRefusedOnAllRanks) {
  const mesh::Layout uneven({{0, 0, 0}, {8, 4, 4}}, {}, {{{0, 0, 0}, {2, 4, 4}}, {{2, 0, 0}, {8, 4, 4}}}, {0, 0});
  const mesh::Field<double> field(uneven, comm_.rank());
  test::FileState content;
  content.state.geometry = {uneven.domain(), {1.0, 1.0, 1.0}, {}};
  test::set_levels(content.state, {uneven}, comm_.rank());
  test::add(content, "density", "", {field});

  EXPECT_THROW(write(content), core::Error);
}

// The places of all datasets of the file, so that none is left out.
struct Place {
  std::string name;
  std::int64_t offset, bytes;
};

herr_t visit(hid_t file, const char* name, const H5O_info_t* info, void* places) {
  if (info->type != H5O_TYPE_DATASET) return 0;
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  const haddr_t offset = H5Dget_offset(dataset);
  if (offset != HADDR_UNDEF && H5Dget_storage_size(dataset) > 0)
    static_cast<std::vector<Place>*>(places)->push_back(
        {name, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(H5Dget_storage_size(dataset))});
  H5Dclose(dataset);
  return 0;
}

TEST_P(FlashDamageTest, AFlippedBitInEachDatasetIsNamed) {
  if (comm_.size() > 1 || bytes_[1] != 'H') return;
  std::vector<Place> places;
  const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &places);
  H5Fclose(file);
  ASSERT_GT(places.size(), 20U);
  std::mt19937 random(2);

  for (const Place& place : places)
    for (const std::int64_t at : {std::int64_t{0}, place.bytes - 1, static_cast<std::int64_t>(random()) % place.bytes})
      EXPECT_TRUE(is_refused(with_flipped_bit(static_cast<std::size_t>(place.offset + at), 5)))
          << place.name << ", byte " << at;
}

INSTANTIATE_TEST_SUITE_P(
    Flash, FlashDamageTest,
    testing::ValuesIn(test::written({"sidestream", "flash-5d", "flash-netcdf", "flash-netcdf-5d"})), test_name);

}  // namespace
}  // namespace sidestream
