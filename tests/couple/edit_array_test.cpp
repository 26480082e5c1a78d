#include "sidestream/couple/edit_array.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/couple/array_inbox.hpp"
#include "support/folder.hpp"

namespace sidestream::couple {
namespace {

using mesh::Box;
using nlohmann::json;
using testing::HasSubstr;

json corners(const Box& box) {
  return {{box.lo.x, box.lo.y, box.lo.z}, {box.hi.x, box.hi.y, box.hi.z}};
}
double value_of(mesh::Int3 cell) {
  return 1.5 + cell.x + 100.0 * cell.y + 10000.0 * cell.z;
}
json part(std::int64_t array, const Box& cells) {
  std::vector<double> values;
  core::for_each_cell(cells, [&](int k, int j, int i) { values.push_back(value_of({i, j, k})); });
  std::vector<std::uint8_t> bytes(values.size() * sizeof(double));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {{"kind", "array"}, {"array", array}, {"cells", corners(cells)}, {"values", json::binary(bytes)}};
}

class EditArrayTest : public testing::Test {
 protected:
  EditArrayTest() {
    if (world_.rank() == 0) inbox_ = ArrayInbox(folder_ / "", domain_);
  }
  std::int64_t begin(const Box& box) {
    return inbox_.answer({{"kind", "array"}, {"cells", corners(box)}}).at("array").get<std::int64_t>();
  }
  std::string message_of(const json& request) {
    try {
      inbox_.answer(request);
    } catch (const core::Error& error) {
      return error.message();
    }
    return "";
  }
  /// An array that came in four parts, the last one first.
  RegionEdit whole() {
    RegionEdit edit{"density", box_};
    if (world_.rank() == 0) {
      const std::int64_t array = begin(box_);
      for (const Box& cells :
           {Box{{6, 1, 2}, {9, 7, 8}}, Box{{2, 4, 2}, {6, 7, 8}}, Box{{2, 1, 5}, {6, 4, 8}}, Box{{2, 1, 2}, {6, 4, 5}}})
        inbox_.answer(part(array, cells));
      edit.array = inbox_.finish(array);
    }
    edit.array.name = world_.broadcast(edit.array.name);
    edit.array.checksum = world_.broadcast(edit.array.checksum);
    return edit;
  }

  comm::Communicator world_{MPI_COMM_WORLD};
  test::SharedFolder folder_{world_};
  const Box domain_ = mesh::domain_of({16, 8, 8}), box_{{2, 1, 2}, {9, 7, 8}};
  ArrayInbox inbox_;
};

TEST_F(EditArrayTest, IsReadByAnyRanksAsItCame) {
  const RegionEdit edit = whole();
  const mesh::Field<double> values = read_edit_array(world_, folder_ / "", edit);

  std::int64_t cells = 0, differ = 0;
  for (int b = 0; b < values.blocks(); ++b)
    core::for_each_cell(values.box(b), [&, view = values.view(b)](int k, int j, int i) {
      ++cells;
      differ += view(k, j, i) != value_of({i, j, k});
    });
  EXPECT_EQ(world_.sum(cells), box_.volume());
  EXPECT_EQ(world_.sum(differ), 0);
  EXPECT_EQ(edit.array.name, edit_array_name(1));
}

TEST_F(EditArrayTest, IsRefusedByAllRanksWhereItIsNotWhatItWas) {
  RegionEdit edit = whole();
  const std::string path = (folder_ / "") + edit.array.name;
  if (world_.rank() == 0) {
    EXPECT_NO_THROW(check_edit_array(folder_ / "", edit));
    io::OutputFile file(path, io::OutputFile::Open::modify);
    const double other = 1e300;
    file.write_at(128 + 8 * 17, std::as_bytes(std::span(&other, 1)));
    file.close();
    EXPECT_THROW(check_edit_array(folder_ / "", edit), core::Error);
  }
  world_.barrier();
  EXPECT_THROW(read_edit_array(world_, folder_ / "", edit), core::Error);
  RegionEdit other = edit;
  other.cells.hi.x -= 1;
  EXPECT_THROW(read_edit_array(world_, folder_ / "", other), core::Error);
  other = edit;
  other.array.name = "steering/../../secret.npy";
  EXPECT_THROW(read_edit_array(world_, folder_ / "", other), core::Error);
  world_.barrier();
}

TEST_F(EditArrayTest, WhatMakesNoSenseTakesNoRoom) {
  if (world_.rank() != 0) return;
  EXPECT_THAT(message_of({{"cells", {{0, 0, 0}, {17, 8, 8}}}}), HasSubstr("domain"));
  EXPECT_THAT(message_of({{"cells", {{0, 0, 0}, {2147483647, 2147483647, 2147483647}}}}), HasSubstr("domain"));
  EXPECT_THAT(message_of({{"cells", {{4, 0, 0}, {4, 8, 8}}}}), HasSubstr("empty"));
  EXPECT_THAT(message_of(part(7, box_)), HasSubstr("no array 7"));
  EXPECT_FALSE(std::filesystem::exists((folder_ / "") + "/steering"));

  const std::int64_t array = begin(box_);
  EXPECT_THAT(message_of(part(array, {{2, 1, 2}, {10, 7, 8}})), HasSubstr("not inside"));
  json half = part(array, box_);
  half["values"] = json::binary({1, 2, 3});
  EXPECT_THAT(message_of(half), HasSubstr("3 bytes"));
  for (int n = 1; n < 8; ++n) begin(box_);
  EXPECT_THAT(message_of({{"cells", corners(box_)}}), HasSubstr("8 arrays"));
}

TEST_F(EditArrayTest, IsTakenWholeAndWithEachCellOnce) {
  if (world_.rank() != 0) return;
  const Box lower{box_.lo, {box_.hi.x, box_.hi.y, 5}}, upper{{box_.lo.x, box_.lo.y, 5}, box_.hi};
  const std::int64_t array = begin(box_);
  inbox_.answer(part(array, lower));
  EXPECT_THROW(inbox_.finish(array), core::Error);
  inbox_.answer(part(array, lower));
  EXPECT_THROW(inbox_.finish(array), core::Error);  // overlaps, and is gone
  EXPECT_THROW(inbox_.answer(part(array, upper)), core::Error);

  const std::int64_t again = begin(box_);
  inbox_.answer(part(again, upper));
  inbox_.answer(part(again, lower));
  const EditArrayName name = inbox_.finish(again);
  EXPECT_EQ(name.name, edit_array_name(again));
  EXPECT_TRUE(std::filesystem::exists((folder_ / "") + name.name));
}

TEST_F(EditArrayTest, WhatIsNotWholeGoesWithTheRun) {
  if (world_.rank() != 0) return;
  begin(box_);
  EXPECT_FALSE(std::filesystem::is_empty((folder_ / "") + "/steering"));
  { const ArrayInbox over = std::move(inbox_); }
  EXPECT_TRUE(std::filesystem::is_empty((folder_ / "") + "/steering"));
}

}  // namespace
}  // namespace sidestream::couple
