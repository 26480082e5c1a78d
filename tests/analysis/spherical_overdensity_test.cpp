// Spheres of given mean density around the peaks of halos.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "analysis/refined_mesh.hpp"
#include "analysis/world_and_self.hpp"
#include "sidestream/analysis/halos.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Int3;
using test::Grid;
using test::RefinedMesh;
using Vector = std::array<double, 3>;

constexpr mesh::Periodicity periodic{true, true, true};

class World : public test::WorldAndSelf {
 public:
  template <typename F>
  std::vector<Halo> together(const RefinedMesh& mesh, F density, const HaloCriteria& criteria,
                             std::vector<double> spheres) const {
    return world_.broadcast(find(world_, mesh, density, criteria, std::move(spheres)));
  }
  template <typename F>
  std::vector<Halo> alone(const RefinedMesh& mesh, F density, const HaloCriteria& criteria,
                          std::vector<double> spheres) const {
    return find(self_, mesh, density, criteria, std::move(spheres));
  }

 private:
  template <typename F>
  static std::vector<Halo> find(const comm::Communicator& comm, const RefinedMesh& mesh, F density,
                                const HaloCriteria& criteria, std::vector<double> spheres) {
    HaloMeasures measures;
    measures.sphere_densities = std::move(spheres);
    return find_halos(comm, test::shared(test::leaves_of(mesh, comm.rank(), density)), mesh.geometry, criteria,
                      measures);
  }
};

RefinedMesh uniform_mesh(int n, int ranks, std::uint64_t seed) {
  const Int3 cells{n, n, n};
  return {test::unit_cells(cells), {test::random_layout(cells, periodic, ranks, 20, seed)}};
}

// The mean over a cell of a density that falls with the distance from a point of a periodic box.
class Ball {
 public:
  Ball(double side, const Vector& center, std::function<double(double)> profile)
      : side_(side), center_(center), profile_(std::move(profile)) {}

  double operator()(int level, Int3 cell) const {
    constexpr int parts = 4;
    const double size = std::ldexp(1.0, -level);
    double sum = 0.0;
    core::for_each_cell(mesh::domain_of({parts, parts, parts}), [&](int k, int j, int i) {
      const Vector at{(cell.x + (i + 0.5) / parts) * size, (cell.y + (j + 0.5) / parts) * size,
                      (cell.z + (k + 0.5) / parts) * size};
      double square = 0.0;
      for (std::size_t a = 0; a < 3; ++a) {
        const double d = at[a] - center_[a] - side_ * std::round((at[a] - center_[a]) / side_);
        square += d * d;
      }
      sum += profile_(std::sqrt(square));
    });
    return sum / (parts * parts * parts);
  }

 private:
  double side_;
  Vector center_;
  std::function<double(double)> profile_;
};

void expect_consistent(const Sphere& sphere, double density) {
  const double mass = 4 * std::numbers::pi / 3 * density * std::pow(sphere.radius, 3);
  EXPECT_NEAR(sphere.mass, mass, 1e-12 * mass);
}

TEST(SphericalOverdensity, OfAnIsothermalSphereIsWithinTwoPerCent) {
  const World world;
  for (const double boundary : {4.0, 8.0, 14.0})
    for (const Vector center : {Vector{32, 32, 32}, Vector{0.5, 63.5, 10.5}, Vector{12.3, 40.1, 63.9}}) {
      const Ball ball(64, center, [=](double r) { return 81.66 * std::pow(boundary / std::max(r, 0.1), 2); });
      const RefinedMesh mesh = uniform_mesh(64, world.size(), 3);

      const auto halos = world.together(mesh, ball, {81.66, 200}, {200, 500});

      SCOPED_TRACE(testing::Message() << boundary << " cells around " << center[0]);
      ASSERT_EQ(halos.size(), 1u);
      for (std::size_t s = 0; s < 2; ++s) {
        const double density = s == 0 ? 200 : 500, radius = boundary * std::sqrt(3 * 81.66 / density);
        const double tolerance = radius > 5 ? 0.02 : 0.06;  // the peak is up to 0.87 cells away from the centre
        EXPECT_NEAR(halos[0].spheres[s].radius, radius, tolerance * radius) << density;
        expect_consistent(halos[0].spheres[s], density);
      }
      if (boundary < 8) continue;
      EXPECT_NEAR(halos[0].mass / halos[0].spheres[0].mass, 0.9035, 0.03 * 0.9035);
    }
}

TEST(SphericalOverdensity, OfAnNfwHaloIsWithinAFewPerCent) {
  const World world;
  const double scale = 4.0, amplitude = 4000.0;
  const auto enclosed = [=](double r) {
    const double x = r / scale;
    return 3 * amplitude * (std::log1p(x) - x / (1 + x)) / (x * x * x);  // mean density
  };
  const Ball ball(64, {20.2, 31.7, 63.4},
                  [=](double r) { return amplitude / (r / scale * std::pow(1 + r / scale, 2)); });
  const RefinedMesh mesh = uniform_mesh(64, world.size(), 8);
  const std::vector<double> densities{200, 700, 1700, 110};

  const auto halos = world.together(mesh, ball, {60, 200}, densities);

  ASSERT_EQ(halos.size(), 1u);
  for (std::size_t s = 0; s < densities.size(); ++s) {
    double low = 0.1, high = 60;
    for (int step = 0; step < 60; ++step)
      (enclosed(0.5 * (low + high)) > densities[s] ? low : high) = 0.5 * (low + high);
    EXPECT_NEAR(halos[0].spheres[s].radius, low, 0.02 * low) << densities[s];
    expect_consistent(halos[0].spheres[s], densities[s]);
  }
}

TEST(SphericalOverdensity, OnARefinedMeshIsNearThatOfAUniformOne) {
  const World world;
  const double boundary = 5.0;
  const Ball ball(32, {15.2, 17.1, 31.6}, [=](double r) { return 81.66 * std::pow(boundary / std::max(r, 0.1), 2); });
  const auto near = [&](const mesh::Box& box, int level) {
    const double size = std::ldexp(1.0, -level);
    const double x = 0.5 * (box.lo.x + box.hi.x) * size - 15.2, y = 0.5 * (box.lo.y + box.hi.y) * size - 17.1;
    double z = 0.5 * (box.lo.z + box.hi.z) * size - 31.6;
    z -= 32 * std::round(z / 32);
    return x * x + y * y + z * z < (level == 0 ? 49 : 16);
  };
  const RefinedMesh mesh = test::refined_mesh({32, 32, 32}, 4, 2, periodic, world.size(), near);
  for (const mesh::Layout& level : mesh.levels) ASSERT_GT(level.size(), 0);

  const auto halos = world.together(mesh, ball, {81.66, 200}, {200, 500, 2000});

  ASSERT_EQ(halos.size(), 1u);
  for (std::size_t s = 0; s < 3; ++s) {
    const double density = std::array{200.0, 500.0, 2000.0}[s], radius = boundary * std::sqrt(3 * 81.66 / density);
    EXPECT_NEAR(halos[0].spheres[s].radius, radius, 0.03 * radius);
  }
}

TEST(SphericalOverdensity, IsTheSameOnAnyLayoutAndMovesWithTheField) {
  const World world;
  const Grid grid = test::wave_field(32);
  const auto field = [](const Grid& values) {
    return [&values](int, Int3 cell) { return values(cell.z, cell.y, cell.x); };
  };
  const std::vector<double> densities{30, 8, 60};
  const auto expected = world.alone(uniform_mesh(32, 1, 1), field(grid), {20, 40}, densities);
  const Grid rolled = grid.rolled({9, 17, 30});
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto halos = world.together(uniform_mesh(32, world.size(), seed), field(grid), {20, 40}, densities);

    EXPECT_TRUE(halos == expected);
  }

  const auto moved = world.together(uniform_mesh(32, world.size(), 7), field(rolled), {20, 40}, densities);

  ASSERT_EQ(moved.size(), expected.size());
  ASSERT_GT(expected[0].spheres[0].radius, 2.0);
  for (std::size_t h = 0; h < moved.size(); ++h) EXPECT_EQ(moved[h].spheres, expected[h].spheres);
}

TEST(SphericalOverdensity, IsZeroWhereThePeakIsTooThinOrTheSphereTooWide) {
  const World world;
  const auto plateau = [](int, Int3 cell) { return cell == Int3{3, 4, 5} ? 300.0 : 100.0; };

  const auto halos = world.together(uniform_mesh(12, world.size(), 2), plateau, {200, 250}, {400, 90, 299, 150});

  ASSERT_EQ(halos.size(), 1u);
  EXPECT_EQ(halos[0].spheres[0], Sphere{});
  EXPECT_EQ(halos[0].spheres[1], Sphere{});
  EXPECT_GT(halos[0].spheres[2].radius, 0.4);
  EXPECT_LT(halos[0].spheres[2].radius, 0.7);
  EXPECT_GT(halos[0].spheres[3].radius, halos[0].spheres[2].radius);
}

TEST(SphericalOverdensity, TellsWhichHalosLieInsideTheSphereOfADenserOne) {
  const World world;
  // A ball of 1000 within 5 cells of (16, 16, 1), with a shell of zeros and a satellite around it; one further out.
  const auto density = [](int, Int3 cell) {
    const double x = cell.x - 16, y = cell.y - 16, z = cell.z < 16 ? cell.z - 1 : cell.z - 33;
    const double r = std::sqrt(x * x + y * y + z * z);
    if (cell == Int3{16, 16, 1}) return 2000.0;
    if (r < 5) return 1000.0;
    if (cell == Int3{16, 16, 26}) return 500.0;  // 7 cells below, across the face
    if (cell == Int3{16, 27, 1}) return 500.0;
    return 0.0;
  };

  const auto halos = world.together(uniform_mesh(32, world.size(), 6), density, {100, 400}, {200});

  ASSERT_EQ(halos.size(), 3u);
  const double radius = halos[0].spheres[0].radius;
  ASSERT_GT(radius, 7.5);
  ASSERT_LT(radius, 10);
  EXPECT_EQ(halos[0].inside, -1);
  EXPECT_EQ(halos[1].id, (1 * 32 + 27) * 32 + 16);
  EXPECT_EQ(halos[1].inside, -1);
  EXPECT_EQ(halos[2].id, (26 * 32 + 16) * 32 + 16);
  EXPECT_EQ(halos[2].inside, halos[0].id);
}

TEST(SphericalOverdensity, OfManyHalosTakesSeveralBatches) {
  const World world;
  const auto peaks = [](int, Int3 cell) {
    return cell.x % 4 == 1 && cell.y % 4 == 2 && cell.z % 4 == 3 ? 64.0 * 100 : 0.0;
  };

  const auto halos = world.together(uniform_mesh(48, world.size(), 1), peaks, {1000, 6000}, {200});

  ASSERT_EQ(halos.size(), 1728u);
  const double radius = std::cbrt(0.75 * std::numbers::inv_pi * 6400 / 200);
  for (const Halo& halo : halos) {
    EXPECT_NEAR(halo.spheres[0].radius, radius, 0.03 * radius);
    EXPECT_EQ(halo.spheres[0], halos[0].spheres[0]);
  }
}

}  // namespace
}  // namespace sidestream::analysis
