#include "sidestream/amr/criteria.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/mesh/field.hpp"
#include "support/rejection.hpp"

namespace sidestream::amr {
namespace {

using mesh::Box;
using mesh::Int3;
using testing::ElementsAre;
using testing::HasSubstr;

using Function = std::function<double(Int3 cell)>;

/// A block of a level with fields that are functions of the cell.
class Block {
 public:
  Block(const Box& cells, const Box& domain, int level = 0) : layout_(domain, {true, true, true}, {cells}, {0}) {
    data.cells = cells;
    data.level = level;
    data.geometry = {domain, {1.0, 1.0, 1.0}};
  }
  Block& set(const std::string& name, const Function& value) {
    auto& field = fields_.emplace(name, mesh::Field<double>(layout_, 0, 1, 2)).first->second;
    const auto view = field.view(0);
    core::for_each_cell(data.cells.grown(2), [&](int k, int j, int i) { view(k, j, i) = value({i, j, k}); });
    data.fields[name] = view;
    return *this;
  }

  BlockData data;

 private:
  mesh::Layout layout_;
  std::map<std::string, mesh::Field<double>> fields_;
};

Block cube(const Function& value, int level = 0) {
  Block block({{0, 0, 0}, {8, 8, 8}}, mesh::domain_of({16, 16, 16}), level);
  block.set("u", value);
  return block;
}

double error_at(const Block& block, Int3 cell) {
  return loehner_error(block.data.field("u"), cell, block.data.geometry);
}

TEST(LoehnerError, IsZeroInLinearFields) {
  const Block block = cube([](Int3 c) { return 3.0 + 0.5 * c.x - 0.25 * c.y + 2.0 * c.z; });

  EXPECT_EQ(error_at(block, {4, 4, 4}), 0.0);
  EXPECT_EQ(error_at(cube([](Int3) { return 0.0; }), {4, 4, 4}), 0.0);
}

TEST(LoehnerError, IsNearlyOneAtAStep) {
  Block tube({{0, 0, 0}, {16, 1, 1}}, mesh::domain_of({16, 1, 1}));
  tube.set("u", [](Int3 c) { return c.x < 8 ? 1.0 : 3.0; });

  EXPECT_GT(error_at(tube, {7, 0, 0}), 0.95);
  EXPECT_GT(error_at(tube, {8, 0, 0}), 0.9);
  EXPECT_LE(error_at(tube, {8, 0, 0}), 1.0);
  EXPECT_EQ(error_at(tube, {4, 0, 0}), 0.0);

  tube.set("u", [](Int3 c) { return c.x < 8 ? 0.0 : 1.0; });
  EXPECT_NEAR(error_at(tube, {7, 0, 0}), 1.0 / 1.01, 1e-12);
}

// Differences over two cells: a wave of 32 cells has one point each sixteenth of the wave.
TEST(LoehnerError, OfASineIsZeroAtNodesAndLargeAtExtrema) {
  Block tube({{0, 0, 0}, {64, 1, 1}}, mesh::domain_of({64, 1, 1}));
  tube.set("u", [](Int3 c) { return std::sin(2.0 * M_PI * c.x / 32.0); });

  EXPECT_NEAR(error_at(tube, {16, 0, 0}), 0.0, 1e-12);
  EXPECT_NEAR(error_at(tube, {8, 0, 0}), 0.79, 0.01);
}

TEST(LoehnerError, IsItsDefinitionInThreeDimensions) {
  const auto value = [](int x, int y, int z) {
    return core::normal(1, 0,
                        static_cast<std::uint64_t>(x + 20) + 100 * static_cast<std::uint64_t>(y + 20) +
                            10000 * static_cast<std::uint64_t>(z + 20));
  };
  Block block = cube([&](Int3 c) { return value(c.x, c.y, c.z); });
  block.data.geometry.length = {1.0, 2.0, 3.0};
  const Int3 cell{3, 4, 5};
  const auto u = [&](Int3 shift) { return value(cell.x + shift.x, cell.y + shift.y, cell.z + shift.z); };
  const auto step = [](int axis, int cells) {
    Int3 by;
    by[axis] = cells;
    return by;
  };

  double above = 0.0, below = 0.0;
  for (int p = 0; p < 3; ++p)
    for (int q = 0; q < 3; ++q) {
      const double area = 4.0 * block.data.geometry.cell_size(p) * block.data.geometry.cell_size(q);
      const auto slope = [&](int side) { return u(step(q, side) + step(p, 1)) - u(step(q, side) - step(p, 1)); };
      const auto ripples = [&](int side) {
        return std::fabs(u(step(q, side) + step(p, 1))) + std::fabs(u(step(q, side) - step(p, 1)));
      };
      above += std::pow((slope(1) - slope(-1)) / area, 2);
      below += std::pow((std::fabs(slope(1)) + std::fabs(slope(-1)) + 0.01 * (ripples(1) + ripples(-1))) / area, 2);
    }
  EXPECT_NEAR(error_at(block, cell), std::sqrt(above / below), 1e-14);
}

TEST(LoehnerError, IsTheSameToTheBitMirroredAndWithAxesExchanged) {
  const auto value = [](Int3 c) {
    return std::exp(core::normal(2, 0,
                                 static_cast<std::uint64_t>(c.x + 20) + 100 * static_cast<std::uint64_t>(c.y + 20) +
                                     10000 * static_cast<std::uint64_t>(c.z + 20)));
  };
  const Block plain = cube(value), mirrored = cube([&](Int3 c) {
                                     return value({7 - c.x, c.y, 7 - c.z});
                                   }),
              turned = cube([&](Int3 c) {
                return value({c.y, c.z, c.x});
              }),
              exchanged = cube([&](Int3 c) {
                return value({c.x, c.z, c.y});
              });

  core::for_each_cell(plain.data.cells, [&](int k, int j, int i) {
    const double error = error_at(plain, {i, j, k});
    EXPECT_EQ(error, error_at(mirrored, {7 - i, j, 7 - k}));
    EXPECT_EQ(error, error_at(turned, {k, i, j}));
    EXPECT_EQ(error, error_at(exchanged, {i, k, j}));
  });
}

TEST(Loehner, TagsTheCellsAtAJumpAndLetsSmoothBlocksGo) {
  const Criterion criterion = loehner({"u"}, {});

  const Tags jump = judged(criterion, cube([](Int3 c) { return c.x < 4 ? 1.0 : 5.0; }).data);
  EXPECT_TRUE(jump.refine);
  EXPECT_FALSE(jump.coarsen);
  EXPECT_EQ(jump.tagged.lo.y, 0);
  EXPECT_EQ(jump.tagged.hi.y, 8);
  EXPECT_LE(jump.tagged.lo.x, 3);
  EXPECT_GE(jump.tagged.hi.x, 4);
  EXPECT_LT(jump.tagged.hi.x, 8);

  const Tags smooth = judged(criterion, cube([](Int3 c) { return 10.0 + c.x; }).data);
  EXPECT_FALSE(smooth.refine);
  EXPECT_TRUE(smooth.coarsen);
  EXPECT_TRUE(smooth.tagged.is_empty());
}

TEST(Threshold, TagsTheBoxOfCellsAboveIt) {
  const Criterion criterion = threshold({"u"}, {4.0, 1.0});
  const auto spike = [](Int3 c) { return c == Int3{2, 3, 4} || c == Int3{5, 3, 1} ? 4.5 : 2.0; };

  const Tags tags = judged(criterion, cube(spike).data);

  EXPECT_TRUE(tags.refine);
  EXPECT_FALSE(tags.coarsen);
  EXPECT_EQ(tags.tagged, (Box{{2, 3, 1}, {6, 4, 5}}));
  EXPECT_FALSE(judged(criterion, cube([](Int3) { return 4.0; }).data).refine);
  EXPECT_TRUE(judged(criterion, cube([](Int3) { return 0.9; }).data).coarsen);
}

TEST(Threshold, OfTheMassOfACellGrowsWithTheLevel) {
  const Criterion criterion = threshold({"u"}, {4.0, 3.0}, 8.0);
  const auto on_level_one = [&](double value) { return judged(criterion, cube([=](Int3) { return value; }, 1).data); };

  EXPECT_TRUE(on_level_one(32.5).refine);
  EXPECT_FALSE(on_level_one(31.5).refine);
  EXPECT_FALSE(on_level_one(3.5).coarsen);  // the parent would want to be refined again above 4
  EXPECT_TRUE(on_level_one(2.5).coarsen);
}

TEST(Gradient, ComparesTheJumpAcrossACellWithItsValue) {
  const Criterion criterion = gradient({"u"}, {0.5, 0.1});

  EXPECT_TRUE(judged(criterion, cube([](Int3 c) { return c.z < 4 ? -1.0 : -1.6; }).data).refine);
  EXPECT_FALSE(judged(criterion, cube([](Int3 c) { return c.z < 4 ? 1.0 : 1.4; }).data).refine);
  EXPECT_TRUE(judged(criterion, cube([](Int3) { return 0.0; }).data).coarsen);
}

TEST(Jeans, CountsTheCellsOfAJeansLength) {
  Block block({{0, 0, 0}, {8, 8, 8}}, mesh::domain_of({16, 16, 16}));
  block.data.four_pi_g = 2.0;
  block.data.gamma = 1.5;
  // lambda = 2 pi sqrt(gamma p / (4 pi G)) / rho
  const double pressure_of_one_cell = 2.0 / 1.5 / std::pow(2.0 * M_PI * 16.0, 2);
  const auto cells_of_length = [&](double cells) -> BlockData& {
    block.set("gas_density", [](Int3) { return 3.0; });
    block.set("pressure", [&](Int3) { return 9.0 * cells * cells * pressure_of_one_cell; });
    return block.data;
  };
  const Criterion criterion = jeans("gas_density", "pressure", 4.0, 5.0);

  EXPECT_TRUE(judged(criterion, cells_of_length(3.99)).refine);
  EXPECT_FALSE(judged(criterion, cells_of_length(4.01)).refine);
  EXPECT_FALSE(judged(criterion, cells_of_length(9.9)).coarsen);  // 4.95 cells of the parent
  EXPECT_TRUE(judged(criterion, cells_of_length(10.1)).coarsen);
}

TEST(Region, IsRefinedDownToItsLevelAndKept) {
  const Criterion box = region(BoxRegion{{0.4, 0.0, 0.0}, {0.9, 0.1, 0.1}}, 2);
  const auto of_level = [&](int level) { return judged(box, cube([](Int3) { return 0.0; }, level).data); };

  EXPECT_TRUE(of_level(1).refine);
  EXPECT_TRUE(of_level(1).tagged.is_empty());  // so that its mesh is the same whatever the buffer
  EXPECT_FALSE(of_level(2).refine);
  EXPECT_FALSE(of_level(2).coarsen);
  EXPECT_TRUE(of_level(3).coarsen);
  EXPECT_TRUE(of_level(3).tagged.is_empty());
}

TEST(Region, ReachesAcrossPeriodicSidesAndIgnoresFlatAxes) {
  const Block corner = cube([](Int3) { return 0.0; });
  const auto refines = [](const Criterion& criterion, const BlockData& block) {
    return judged(criterion, block).refine;
  };

  EXPECT_TRUE(refines(region(SphereRegion{{0.97, 0.97, 0.97}, 0.06}, 1), corner.data));
  EXPECT_FALSE(refines(region(SphereRegion{{0.97, 0.97, 0.97}, 0.05}, 1), corner.data));
  EXPECT_TRUE(refines(region(BoxRegion{{0.9, 0.9, 0.9}, {1.1, 1.1, 1.1}}, 1), corner.data));
  EXPECT_FALSE(refines(region(BoxRegion{{0.8, 0.1, 0.1}, {0.9, 0.2, 0.2}}, 1), corner.data));

  Block walled = cube([](Int3) { return 0.0; });
  walled.data.geometry.periodic = {true, false, true};
  EXPECT_FALSE(refines(region(SphereRegion{{0.97, 0.97, 0.97}, 0.06}, 1), walled.data));

  const Block flat({{0, 0, 0}, {8, 8, 1}}, mesh::domain_of({16, 16, 1}));
  EXPECT_TRUE(refines(region(SphereRegion{{0.2, 0.2, 77.0}, 0.01}, 1), flat.data));
}

TEST(Criteria, RefineIfAnyWantsAndCoarsenIfAllAllow) {
  Criterion user{"user", {}, 0, 5, [](const BlockData& block) {
                   Tags tags{true, false, {block.cells.lo, block.cells.lo + Int3{1, 1, 1}}, {}};
                   return tags;
                 }};
  const Criterion never = threshold({"u"}, {10.0, 0.0});
  const Block block = cube([](Int3) { return 1.0; });

  EXPECT_TRUE(judged({user, never}, block.data).refine);
  EXPECT_FALSE(judged({never}, block.data).coarsen);
  EXPECT_FALSE(judged({never, threshold({"u"}, {10.0, 2.0})}, block.data).coarsen);
  EXPECT_TRUE(judged({threshold({"u"}, {10.0, 2.0})}, block.data).coarsen);
  EXPECT_EQ(judged({user, never}, block.data).tagged.volume(), 1);
  EXPECT_THAT(fields_of({never, loehner({"v", "u"}, {})}), ElementsAre("u", "v"));
  EXPECT_EQ(ghost_of({never, loehner({"v"}, {})}), 2);
}

TEST(Criteria, SayWhichFieldIsNotThere) {
  const Block block = cube([](Int3) { return 1.0; });
  EXPECT_THROW(judged(threshold({"gas_density"}, {}), block.data), core::Error);
}

std::vector<Criterion> read(const std::string& text, core::Node* resolved = nullptr) {
  core::Node full;
  auto criteria = read_criteria(core::parse_toml(text, "run.toml"), resolved != nullptr ? *resolved : full);
  return criteria;
}

core::Error error_of(const std::string& config) {
  return test::rejection_of(config, [](const std::string& text) { read(text); });
}

TEST(CriteriaConfig, EachKindIsRead) {
  core::Node resolved;
  const auto criteria = read(R"(
    [refine.shocks]
    criterion = "loehner"
    fields = ["gas_density", "pressure"]
    max_level = 3
    [refine.halos]
    criterion = "threshold"
    field = "gas_density"
    refine_above = 8.0
    coarsen_below = 6.0
    level_factor = 8
    [refine.edges]
    criterion = "gradient"
    field = "temperature"
    refine_above = 0.5
    coarsen_below = 0.1
    [refine.collapse]
    criterion = "jeans"
    [refine.middle]
    criterion = "region"
    center = [0.5, 0.5, 0.5]
    radius = 0.1
    max_level = 2)",
                             &resolved);

  ASSERT_EQ(criteria.size(), 5u);
  EXPECT_EQ(criteria[0].name, "shocks");
  EXPECT_EQ(criteria[0].max_level, 3);
  EXPECT_EQ(criteria[4].max_level, 2);
  EXPECT_THAT(fields_of(criteria), ElementsAre("gas_density", "pressure", "temperature"));
  EXPECT_EQ(resolved.find("refine")->find("shocks")->find("refine_above")->number(), 0.8);
  EXPECT_EQ(core::to_toml(resolved).find("nan"), std::string::npos);

  core::Node again;
  read(core::to_toml(resolved), &again);
  EXPECT_EQ(core::to_toml(again), core::to_toml(resolved));
}

TEST(CriteriaConfig, WithoutTablesThereAreNone) {
  EXPECT_TRUE(read("").empty());
}

TEST(CriteriaConfig, EachMistakeIsAnsweredWithItsPlaceAndARemedy) {
  const core::Error unknown = error_of("[refine.a]\ncriterion = \"lohner\"\n");
  EXPECT_THAT(unknown.hint(), HasSubstr("`loehner`"));
  EXPECT_THAT(unknown.where(), HasSubstr("run.toml:2"));

  EXPECT_THAT(error_of("[refine.a]\nfield = \"u\"\n").message(), HasSubstr("`criterion`"));
  EXPECT_THAT(error_of("[refine.a]\ncriterion = \"loehner\"\n").message(), HasSubstr("`field`"));
  EXPECT_THAT(error_of("[refine.a]\ncriterion = \"loehner\"\nfield = \"u\"\nfields = [\"v\"]\n").message(),
              HasSubstr("`field`"));
  EXPECT_THAT(error_of("[refine.a]\ncriterion = \"loehner\"\nfield = \"u\"\nrefine_abov = 0.7\n").hint(),
              HasSubstr("`refine_above`"));
  EXPECT_THAT(error_of("[refine.a]\ncriterion = \"loehner\"\nfield = \"u\"\nrefine_above = 0.1\n").message(),
              HasSubstr("not below"));
  EXPECT_THAT(error_of("[refine.a]\ncriterion = \"threshold\"\nfield = \"u\"\n").message(), HasSubstr("refine_above"));
  EXPECT_THAT(error_of("[refine.a]\ncriterion = \"jeans\"\nrefine_below = 8\n").message(), HasSubstr("not above"));
  EXPECT_THAT(error_of("[refine.a]\ncriterion = \"region\"\nmax_level = 2\n").message(),
              HasSubstr("a box or a sphere"));
  EXPECT_THAT(
      error_of("[refine.a]\ncriterion = \"region\"\nmax_level = 2\nlower = [0, 0]\nupper = [1, 1, 1]\n").message(),
      HasSubstr("no point"));
  EXPECT_THAT(
      error_of("[refine.a]\ncriterion = \"region\"\nmax_level = 2\nlower = [0, 0, 1]\nupper = [1, 1, 1]\n").message(),
      HasSubstr("empty along z"));
  EXPECT_THAT(error_of("[refine]\nevery = 2\n").message(), HasSubstr("not a table"));
}

}  // namespace
}  // namespace sidestream::amr
