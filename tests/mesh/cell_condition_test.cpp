#include "sidestream/mesh/cell_condition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::mesh {
namespace {

using testing::HasSubstr;

core::Error error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const core::Error& error) {
    return error;
  }
  return core::Error("");
}

TEST(CellCondition, HoldsInTheCellsOfABoxWhereItIsTrue) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Box domain = domain_of({8, 8, 8}), box{{1, 0, 0}, {7, 8, 5}};
  Snapshot snapshot;
  snapshot.rank = world.rank();
  snapshot.geometry = {domain, {1.0, 1.0, 1.0}, {true, true, true}};
  snapshot.levels = {split(domain, {1, 1, world.size()})};
  snapshot.add_computed({"density", "1", ""}, [](int, const Box& cells, const core::View4<double>& out) {
    core::for_each_cell(cells, [&](int k, int j, int i) { out(k, j, i) = i; });
  });
  snapshot.add_computed({"pressure", "1", ""}, [](int, const Box& cells, const core::View4<double>& out) {
    core::for_each_cell(cells, [&](int k, int j, int i) { out(k, j, i) = j * k; });
  });

  const auto holds = CellCondition("density > 2 and not pressure >= 6", "edit.where").holds(snapshot, box);

  std::int64_t differ = 0;
  for (int b = 0; b < holds[0].blocks(); ++b)
    core::for_each_cell(holds[0].box(b), [&, view = holds[0].view(b)](int k, int j, int i) {
      const bool expected = box.contains(Int3{i, j, k}) && i > 2 && j * k < 6;
      differ += view(k, j, i) != (expected ? 1.0 : 0.0);
    });
  EXPECT_EQ(world.sum(differ), 0);
}

TEST(CellCondition, IsTrueOrFalseAndNamesWhatThereIs) {
  EXPECT_THAT(error_of([] { CellCondition("density + 1", "edit.where"); }).hint(), HasSubstr("compare"));
  EXPECT_THAT(error_of([] { CellCondition("density >", "edit.where"); }).where(), HasSubstr("column"));
  const CellCondition condition("dense > 1", "edit.where");
  EXPECT_THAT(error_of([&] { condition.check({"density", "pressure"}, true); }).hint(), HasSubstr("density"));
  const CellCondition of_time("density > redshift", "edit.where");
  EXPECT_THROW(of_time.check({"density"}, false), core::Error);
  EXPECT_NO_THROW(of_time.check({"density"}, true));
}

}  // namespace
}  // namespace sidestream::mesh
