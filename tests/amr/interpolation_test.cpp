#include "sidestream/amr/interpolation.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sidestream::amr {
namespace {

using mesh::Box;
using mesh::Int3;

// An array of cells with a view, one component unless said otherwise.
struct Array {
  explicit Array(const Box& its_box, int components = 1)
      : box(its_box), data(static_cast<std::size_t>(box.volume() * components)), count(components) {}
  core::View4<double> view() {
    const Int3 n = box.extent();
    return {data.data(), box.lo.x, box.lo.y, box.lo.z, n.x, n.y, n.z, count};
  }
  template <typename F>
  void fill(F value) {
    const auto to = view();
    for (int k = box.lo.z; k < box.hi.z; ++k)
      for (int j = box.lo.y; j < box.hi.y; ++j)
        for (int i = box.lo.x; i < box.hi.x; ++i) to(k, j, i) = value(i, j, k);
  }
  Box box;
  std::vector<double> data;
  int count;
};

constexpr RefinedAxes all{true, true, true}, plane{true, true, false};
const Box coarse_box{{-2, -2, -2}, {4, 4, 4}}, inner{{-1, -1, -1}, {3, 3, 3}};

TEST(Interpolation, ALinearFunctionIsReproduced) {
  Array coarse(coarse_box), fine(refined(inner, all));
  coarse.fill([](int i, int j, int k) { return 1.0 + 2.0 * (i + 0.5) - 3.0 * (j + 0.5) + 0.5 * (k + 0.5); });
  interpolate_limited(coarse.view(), fine.view(), fine.box, all);
  for (int k = -2; k < 6; ++k)
    for (int j = -2; j < 6; ++j)
      for (int i = -2; i < 6; ++i)
        EXPECT_NEAR(fine.view()(k, j, i), 1.0 + (i + 0.5) - 1.5 * (j + 0.5) + 0.25 * (k + 0.5), 1e-14);
}

TEST(Interpolation, ChildrenAverageToTheirParent) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> value(-1.0, 1.0);
  for (const RefinedAxes axes : {all, plane}) {
    Array coarse(coarse_box), fine(refined(inner, axes)), back(inner);
    for (double& v : coarse.data) v = value(random);
    interpolate_limited(coarse.view(), fine.view(), fine.box, axes);
    average(fine.view(), back.view(), inner, axes);
    for (int k = -1; k < 3; ++k)
      for (int j = -1; j < 3; ++j)
        for (int i = -1; i < 3; ++i) EXPECT_NEAR(back.view()(k, j, i), coarse.view()(k, j, i), 4e-16);
  }
}

TEST(Interpolation, AConstantStaysTheSameToTheBit) {
  Array coarse(coarse_box), fine(refined(inner, all)), back(inner);
  for (double& v : coarse.data) v = 0.1 + 1e-17;
  interpolate_limited(coarse.view(), fine.view(), fine.box, all);
  for (const double v : fine.data) EXPECT_EQ(v, coarse.data.front());
  average(fine.view(), back.view(), inner, all);
  for (const double v : back.data) EXPECT_EQ(v, coarse.data.front());
}

TEST(Interpolation, MirroringAndExchangingAxesMirrorsAndExchangesTheResultToTheBit) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> value(-1.0, 1.0);
  Array coarse(coarse_box), turned(coarse_box), fine(refined(inner, all)), fine_turned(refined(inner, all));
  for (double& v : coarse.data) v = value(random);
  // x -> mirrored z, y -> x, z -> y.
  turned.fill([&](int i, int j, int k) { return coarse.view()(j, i, 1 - k); });
  interpolate_limited(coarse.view(), fine.view(), fine.box, all);
  interpolate_limited(turned.view(), fine_turned.view(), fine.box, all);
  for (int k = -2; k < 6; ++k)
    for (int j = -2; j < 6; ++j)
      for (int i = -2; i < 6; ++i) ASSERT_EQ(fine_turned.view()(k, j, i), fine.view()(j, i, 3 - k));
  Array back(inner), back_turned(inner);
  for (double& v : fine.data) v = value(random);
  fine_turned.fill([&](int i, int j, int k) { return fine.view()(j, i, 3 - k); });
  average(fine.view(), back.view(), inner, all);
  average(fine_turned.view(), back_turned.view(), inner, all);
  for (int k = -1; k < 3; ++k)
    for (int j = -1; j < 3; ++j)
      for (int i = -1; i < 3; ++i) ASSERT_EQ(back_turned.view()(k, j, i), back.view()(j, i, 1 - k));
}

TEST(Interpolation, OddRegionsGetTheSameValues) {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> value(-1.0, 1.0);
  Array coarse(coarse_box), whole(refined(inner, all)), part(refined(inner, all));
  for (double& v : coarse.data) v = value(random);
  interpolate_limited(coarse.view(), whole.view(), whole.box, all);
  const Box region{{-1, 1, 0}, {2, 2, 5}};
  interpolate_limited(coarse.view(), part.view(), region, all);
  for (int k = -2; k < 6; ++k)
    for (int j = -2; j < 6; ++j)
      for (int i = -2; i < 6; ++i)
        EXPECT_EQ(part.view()(k, j, i), region.contains(Int3{i, j, k}) ? whole.view()(k, j, i) : 0.0);
}

TEST(Interpolation, NoNewExtremaAriseAtAStep) {
  Array coarse(coarse_box), fine(refined(inner, all));
  coarse.fill([](int i, int, int) { return i < 1 ? 1.0 : 0.125; });
  interpolate_limited(coarse.view(), fine.view(), fine.box, all);
  for (const double v : fine.data) EXPECT_TRUE(v == 1.0 || v == 0.125) << v;
}

TEST(Interpolation, InjectionCopies) {
  Array coarse(coarse_box), fine(refined(inner, plane));
  coarse.fill([](int i, int j, int k) { return i + 10.0 * j + 100.0 * k; });
  inject(coarse.view(), fine.view(), fine.box, plane);
  EXPECT_EQ(fine.view()(1, -1, 5), -1 * 10.0 + 2.0 + 100.0);
}

}  // namespace
}  // namespace sidestream::amr
