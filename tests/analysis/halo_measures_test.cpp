// What is measured of halos beyond their mass: volume, shape, particles, motion; against plain sums over their cells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <numbers>

#include "analysis/flood_fill.hpp"
#include "analysis/refined_mesh.hpp"
#include "analysis/world_and_self.hpp"
#include "sidestream/analysis/halos.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/units.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Int3;
using test::Grid;
using test::RefinedMesh;
using Vector = std::array<double, 3>;

constexpr mesh::Periodicity periodic{true, true, true};

using OfCell = std::function<double(int level, Int3 cell)>;

// A mesh with the same matter in any layout: fields are functions of the cell, particles are numbered.
struct Universe {
  OfCell density, gas;
  std::array<OfCell, 3> velocity;
  mesh::Particles particles;  // all of them
  double scale_factor = 1.0;
  std::vector<double> spheres;
};

std::array<LeafField, 3> velocities(const RefinedMesh& mesh, int rank, const Universe& universe) {
  std::array<LeafField, 3> fields;
  for (std::size_t a = 0; a < 3; ++a) fields[a] = test::shared(test::leaves_of(mesh, rank, universe.velocity[a]));
  return fields;
}

// The particles that rank `rank` has if they are dealt out at random and in reverse order.
mesh::Particles dealt(const mesh::Particles& all, int rank, int ranks) {
  mesh::Particles mine;
  mine.mass = all.mass;
  for (const auto& attribute : all.attributes) mine.attributes.push_back({attribute.name, attribute.unit, {}});
  for (std::size_t i = all.size(); i-- > 0;) {
    if (static_cast<int>(core::uniform(7, 5, i) * ranks) != rank) continue;
    mine.id.push_back(all.id[i]);
    for (std::size_t a = 0; a < 3; ++a) mine.position[a].push_back(all.position[a][i]);
    for (std::size_t a = 0; a < all.attributes.size(); ++a)
      mine.attributes[a].values.push_back(all.attributes[a].values[i]);
  }
  return mine;
}

class World : public test::WorldAndSelf {
 public:
  std::vector<Halo> together(const RefinedMesh& mesh, const Universe& universe, const HaloCriteria& criteria) const {
    return world_.broadcast(find(world_, mesh, universe, criteria));
  }
  std::vector<Halo> alone(const RefinedMesh& mesh, const Universe& universe, const HaloCriteria& criteria) const {
    return find(self_, mesh, universe, criteria);
  }
  std::vector<mesh::Field<std::int64_t>> membership(const RefinedMesh& mesh, const Universe& universe,
                                                    const HaloCriteria& criteria) const {
    return halo_membership(self_, test::shared(test::leaves_of(mesh, 0, universe.density)), criteria);
  }

 private:
  static std::vector<Halo> find(const comm::Communicator& comm, const RefinedMesh& mesh, const Universe& universe,
                                const HaloCriteria& criteria) {
    HaloMeasures measures;
    if (universe.gas) {
      measures.moving_density = test::shared(test::leaves_of(mesh, comm.rank(), universe.gas));
      measures.velocity = velocities(mesh, comm.rank(), universe);
    }
    const mesh::Particles particles = dealt(universe.particles, comm.rank(), comm.size());
    if (!universe.particles.attributes.empty()) measures.particles = &particles;
    measures.scale_factor = universe.scale_factor;
    measures.sphere_densities = universe.spheres;
    const LeafField density = test::shared(test::leaves_of(mesh, comm.rank(), universe.density));
    return find_halos(comm, density, mesh.geometry, criteria, measures);
  }
};

RefinedMesh uniform_mesh(Int3 cells, mesh::Periodicity wrap, int ranks, std::uint64_t seed) {
  return {test::unit_cells(cells, wrap),
          {test::random_layout(cells, wrap, ranks, 1 + static_cast<int>(seed % 30), seed)}};
}

// Random gas, and particles with momenta and masses of their own.
Universe random_universe(const mesh::Geometry& geometry, std::uint64_t seed) {
  Universe universe;
  universe.density = [seed](int level, Int3 cell) { return 0.2 + test::noise(seed, level, cell); };
  universe.gas = [seed](int level, Int3 cell) { return 0.1 * test::noise(seed + 100, level, cell); };
  for (std::size_t a = 0; a < 3; ++a)
    universe.velocity[a] = [seed, a](int level, Int3 cell) {
      return 300.0 * (test::noise(seed + 200 + a, level, cell) - 0.3);
    };
  universe.scale_factor = 0.25;
  universe.spheres = {0.9, 0.6, 1.1};
  universe.particles.mass = 2.0;
  universe.particles.attributes = {
      {"momentum_x", "km/s", {}}, {"momentum_y", "km/s", {}}, {"momentum_z", "km/s", {}}, {"mass_fraction", "1", {}}};
  for (std::uint64_t i = 0; i < 3000; ++i) {
    universe.particles.id.push_back(static_cast<std::int64_t>(i));
    for (std::size_t a = 0; a < 3; ++a) {
      universe.particles.position[a].push_back(core::uniform(seed, 30 + a, i) * geometry.length[a]);
      universe.particles.attributes[a].values.push_back(100.0 * (core::uniform(seed, 40 + a, i) - 0.6));
    }
    universe.particles.attributes[3].values.push_back(i % 3 == 0 ? 0.125 : 1.0);
  }
  return universe;
}

// Sums over the matter of one halo, in long doubles.
struct Sums {
  struct Point {
    double mass;
    Vector at, velocity;
  };
  double volume = 0.0;
  long double mass = 0.0;
  std::int64_t particles = 0;
  double particle_mass = 0.0;
  std::vector<Point> cells, moving;
  std::vector<Vector> sizes;  // of the cells
};

// The plain twin: each cell and particle is looked at by itself.
class Oracle {
 public:
  Oracle(const RefinedMesh& mesh, const Universe& universe, const std::vector<mesh::Field<std::int64_t>>& ids)
      : mesh_(mesh), id_at_(mesh.finest_cells(), -1.0), level_at_(mesh.finest_cells()) {
    for (int level = 0; level <= mesh.finest_level(); ++level)
      add_level(universe, level, ids[static_cast<std::size_t>(level)]);
    for (std::size_t i = 0; i < universe.particles.size(); ++i) add_particle(universe, i);
  }

  const Sums& of(std::int64_t id) const { return sums_.at(id); }
  std::size_t count() const { return sums_.size(); }

 private:
  Int3 finest() const { return mesh_.finest_cells(); }
  double fine_size(std::size_t axis) const { return mesh_.geometry.length[axis] / finest()[static_cast<int>(axis)]; }

  // The middle of a cell of `level`, in the image whose index is nearest to that of the peak on the same level.
  Vector middle_of(std::int64_t id, int level, Int3 cell) const {
    const Int3 n = mesh_.levels[static_cast<std::size_t>(level)].domain().extent(), f = finest();
    const Int3 peak{static_cast<int>(id % f.x), static_cast<int>(id / f.x % f.y), static_cast<int>(id / f.x / f.y)};
    Vector middle{};
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      int away = cell[axis] - peak[axis] / (f[axis] / n[axis]);
      if (mesh_.geometry.periodic[a]) {
        while (2 * away >= n[axis]) away -= n[axis];
        while (2 * away < -n[axis]) away += n[axis];
      }
      const double size = mesh_.geometry.length[a] / n[axis];
      middle[a] = (peak[axis] / (f[axis] / n[axis]) + away + 0.5) * size;
    }
    return middle;
  }
  void add_level(const Universe& universe, int level, const mesh::Field<std::int64_t>& ids) {
    for (int b = 0; b < ids.blocks(); ++b)
      core::for_each_cell(ids.box(b), [&, view = ids.view(b)](int k, int j, int i) {
        const std::int64_t id = view(k, j, i);
        core::for_each_cell(mesh_.finest_cells_of({i, j, k}, level), [&](int z, int y, int x) {
          id_at_(z, y, x) = static_cast<double>(id);
          level_at_(z, y, x) = level;
        });
        if (id >= 0) add_cell(universe, level, {i, j, k}, id);
      });
  }
  void add_cell(const Universe& universe, int level, Int3 cell, std::int64_t id) {
    const Int3 n = mesh_.levels[static_cast<std::size_t>(level)].domain().extent();
    const double volume = mesh_.geometry.volume() / static_cast<double>(n.product());
    Sums& sums = sums_[id];
    const Vector middle = middle_of(id, level, cell);
    sums.volume += volume;
    sums.mass += universe.density(level, cell) * volume;
    sums.cells.push_back({universe.density(level, cell) * volume, middle, {}});
    sums.sizes.push_back(
        {mesh_.geometry.length[0] / n.x, mesh_.geometry.length[1] / n.y, mesh_.geometry.length[2] / n.z});
    if (universe.gas)
      sums.moving.push_back(
          {universe.gas(level, cell) * volume,
           middle,
           {universe.velocity[0](level, cell), universe.velocity[1](level, cell), universe.velocity[2](level, cell)}});
  }
  void add_particle(const Universe& universe, std::size_t i) {
    const mesh::Particles& from = universe.particles;
    const Vector at{from.position[0][i], from.position[1][i], from.position[2][i]};
    Int3 cell;
    for (int axis = 0; axis < 3; ++axis)
      cell[axis] = static_cast<int>(at[static_cast<std::size_t>(axis)] / fine_size(static_cast<std::size_t>(axis)));
    const auto id = static_cast<std::int64_t>(id_at_(cell.z, cell.y, cell.x));
    if (id < 0) return;
    const int level = static_cast<int>(level_at_(cell.z, cell.y, cell.x));
    const Int3 n = mesh_.levels[static_cast<std::size_t>(level)].domain().extent();
    Int3 leaf;
    for (int axis = 0; axis < 3; ++axis) leaf[axis] = cell[axis] / (finest()[axis] / n[axis]);
    const Vector middle = middle_of(id, level, leaf);
    Sums::Point point{from.mass * from.attribute("mass_fraction")[i], at, {}};
    for (std::size_t a = 0; a < 3; ++a) {
      const double length = mesh_.geometry.length[a];
      point.at[a] += length * std::round((middle[a] - at[a]) / length);
      point.velocity[a] = from.attributes[a].values[i] / universe.scale_factor;
    }
    Sums& sums = sums_[id];
    ++sums.particles;
    sums.particle_mass += point.mass;
    sums.moving.push_back(point);
  }

  const RefinedMesh& mesh_;
  Grid id_at_, level_at_;
  std::map<std::int64_t, Sums> sums_;
};

Vector center_of(const std::vector<Sums::Point>& points, Vector Sums::Point::*what) {
  std::array<long double, 3> sum{};
  long double mass = 0.0;
  for (const auto& point : points) {
    mass += point.mass;
    for (std::size_t a = 0; a < 3; ++a) sum[a] += static_cast<long double>(point.mass) * (point.*what)[a];
  }
  return {static_cast<double>(sum[0] / mass), static_cast<double>(sum[1] / mass), static_cast<double>(sum[2] / mass)};
}

// The semi-axes are right if the elementary symmetric functions of their squares are the invariants of five times the
// tensor.
void expect_axes(const Halo& halo, const Sums& sums) {
  const Vector center = center_of(sums.cells, &Sums::Point::at);
  std::array<std::array<long double, 3>, 3> t{};
  for (std::size_t c = 0; c < sums.cells.size(); ++c)
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b) {
        long double product = (sums.cells[c].at[a] - center[a]) * (sums.cells[c].at[b] - center[b]);
        if (a == b) product += sums.sizes[c][a] * sums.sizes[c][a] / 12;
        t[a][b] += 5 * sums.cells[c].mass * product / sums.mass;
      }
  const auto minor = [&](std::size_t a, std::size_t b) { return t[a][a] * t[b][b] - t[a][b] * t[b][a]; };
  const long double trace = t[0][0] + t[1][1] + t[2][2], second = minor(0, 1) + minor(1, 2) + minor(0, 2);
  const long double determinant = t[0][0] * minor(1, 2) - t[0][1] * (t[1][0] * t[2][2] - t[1][2] * t[2][0]) +
                                  t[0][2] * (t[1][0] * t[2][1] - t[1][1] * t[2][0]);
  const double a = halo.axes[0] * halo.axes[0], b = halo.axes[1] * halo.axes[1], c = halo.axes[2] * halo.axes[2];
  EXPECT_NEAR(a + b + c, static_cast<double>(trace), 1e-12 * static_cast<double>(trace));
  EXPECT_NEAR(a * b + b * c + a * c, static_cast<double>(second), 1e-12 * static_cast<double>(trace * trace));
  EXPECT_NEAR(a * b * c, static_cast<double>(determinant), 1e-12 * static_cast<double>(trace * trace * trace));
  EXPECT_GE(halo.axes[0], halo.axes[1]);
  EXPECT_GE(halo.axes[1], halo.axes[2]);
}

void expect_motion(const Halo& halo, const Sums& sums, double scale_factor) {
  const Vector center = center_of(sums.moving, &Sums::Point::at), bulk = center_of(sums.moving, &Sums::Point::velocity);
  long double mass = 0.0, square = 0.0, size = 0.0;
  std::array<long double, 3> spin{};
  for (const auto& point : sums.moving) {
    mass += point.mass;
    std::array<long double, 3> x{}, v{};
    for (std::size_t a = 0; a < 3; ++a) {
      x[a] = scale_factor * (point.at[a] - center[a]);
      v[a] = point.velocity[a] - bulk[a];
      square += point.mass * v[a] * v[a];
    }
    for (std::size_t a = 0; a < 3; ++a)
      spin[a] += point.mass * (x[(a + 1) % 3] * v[(a + 2) % 3] - x[(a + 2) % 3] * v[(a + 1) % 3]);
    size += std::abs(point.mass * std::hypot(x[0], x[1], x[2]) * 300);
  }
  EXPECT_NEAR(halo.moving_mass, static_cast<double>(mass), 1e-12 * static_cast<double>(mass));
  // The mean square and the square of the mean cancel.
  EXPECT_NEAR(3 * halo.velocity_dispersion * halo.velocity_dispersion, static_cast<double>(square / mass), 1e-12 * 9e4);
  for (std::size_t a = 0; a < 3; ++a) {
    EXPECT_NEAR(halo.velocity[a], bulk[a], 1e-12 * 300);
    EXPECT_NEAR(halo.angular_momentum[a], static_cast<double>(spin[a]), 1e-12 * static_cast<double>(size) + 1e-300);
  }
  const double radius = scale_factor * std::cbrt(3 * halo.volume / (4 * std::numbers::pi));
  const double circular = std::sqrt(core::units::gravitational_constant * halo.mass / radius);
  const double momentum = static_cast<double>(std::sqrt(spin[0] * spin[0] + spin[1] * spin[1] + spin[2] * spin[2]));
  EXPECT_NEAR(halo.spin, momentum / static_cast<double>(mass) / (std::sqrt(2) * circular * radius),
              1e-11 * static_cast<double>(size / mass) / (circular * radius));
}

void expect_measures(const Halo& halo, const Sums& sums, double scale_factor) {
  EXPECT_EQ(halo.cells, static_cast<std::int64_t>(sums.cells.size()));
  EXPECT_NEAR(halo.volume, sums.volume, 1e-12 * sums.volume);
  EXPECT_NEAR(halo.mass, static_cast<double>(sums.mass), 1e-12 * halo.mass);
  EXPECT_EQ(halo.particles, sums.particles);
  EXPECT_NEAR(halo.particle_mass, sums.particle_mass, 1e-12 * sums.particle_mass);
  expect_axes(halo, sums);
  if (!sums.moving.empty()) expect_motion(halo, sums, scale_factor);
}

void expect_like_oracle(const World& world, const RefinedMesh& mesh, const RefinedMesh& mesh_alone,
                        const Universe& universe, const HaloCriteria& criteria) {
  const Oracle oracle(mesh_alone, universe, world.membership(mesh_alone, universe, criteria));

  const auto halos = world.together(mesh, universe, criteria);

  ASSERT_EQ(halos.size(), oracle.count());
  for (const Halo& halo : halos) {
    SCOPED_TRACE(testing::Message() << "halo " << halo.id << " of " << halo.cells << " cells");
    expect_measures(halo, oracle.of(halo.id), universe.scale_factor);
  }
  EXPECT_TRUE(halos == world.alone(mesh_alone, universe, criteria)) << "differs from one rank alone";
}

TEST(HaloMeasures, OfRandomFieldsAreThoseOfPlainSumsOnAnyLayout) {
  const World world;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    test::Dice dice(seed);
    const Int3 cells{6 + dice.below(6), 6 + dice.below(6), 6 + dice.below(6)};
    const mesh::Periodicity wrap{dice.below(4) > 0, dice.below(4) > 0, dice.below(4) > 0};
    RefinedMesh mesh = uniform_mesh(cells, wrap, world.size(), seed), alone = uniform_mesh(cells, wrap, 1, seed);
    mesh.geometry.length = alone.geometry.length = {3.0, 2.0, 4.0};

    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_like_oracle(world, mesh, alone, random_universe(mesh.geometry, seed), {0.75 + 0.03 * dice.below(8), 1.1});
  }
}

TEST(HaloMeasures, OfRefinedMeshesAreThoseOfPlainSumsOnAnyLayout) {
  const World world;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    test::Dice dice(seed);
    const mesh::Periodicity wrap{dice.below(3) > 0, dice.below(3) > 0, dice.below(3) > 0};
    const Int3 cells{8, 4 + 4 * dice.below(2), seed % 6 == 5 ? 1 : 8};
    const RefinedMesh mesh = test::random_mesh(cells, 4, 2, wrap, world.size(), seed);
    const RefinedMesh alone = test::random_mesh(cells, 4, 2, wrap, 1, seed);

    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_like_oracle(world, mesh, alone, random_universe(mesh.geometry, seed), {0.8, 1.15});
  }
}

TEST(HaloMeasures, OfTwoCellsAreThoseByHand) {
  const World world;
  const RefinedMesh mesh = uniform_mesh({8, 8, 8}, periodic, world.size(), 3);
  Universe universe;
  universe.density = [](int, Int3 cell) { return cell == Int3{2, 2, 2} ? 10.0 : cell == Int3{3, 2, 2} ? 5.0 : 0.0; };
  universe.gas = universe.density;
  universe.velocity = {[](int, Int3) { return 7.0; }, [](int, Int3 cell) { return cell.x == 2 ? 1.0 : -2.0; },
                       [](int, Int3) { return 0.0; }};
  universe.scale_factor = 0.5;

  const auto halos = world.together(mesh, universe, {4, 8});

  ASSERT_EQ(halos.size(), 1u);
  EXPECT_EQ(halos[0].volume, 2.0);
  EXPECT_DOUBLE_EQ(halos[0].velocity[0], 7.0);
  EXPECT_NEAR(halos[0].velocity[1], 0.0, 1e-14);
  EXPECT_NEAR(halos[0].velocity_dispersion, std::sqrt(2.0 / 3.0), 1e-13);
  EXPECT_NEAR(halos[0].angular_momentum[2], 0.5 * -10.0, 1e-13);
  EXPECT_NEAR(halos[0].axes[0], std::sqrt(5.0 * (2.0 / 9.0 + 1.0 / 12.0)), 1e-13);
  EXPECT_NEAR(halos[0].axes[1], std::sqrt(5.0 / 12.0), 1e-13);
  EXPECT_NEAR(halos[0].axes[2], std::sqrt(5.0 / 12.0), 1e-13);
}

// A ball with a density that falls outwards, around a point of the box, in cells; halo cells are those within 6 cells.
struct Blob {
  int n = 32;
  Vector center{10.3, 15.8, 20.1};

  Vector from_center(Int3 cell) const {
    Vector d{cell.x + 0.5 - center[0], cell.y + 0.5 - center[1], cell.z + 0.5 - center[2]};
    for (double& x : d) x -= n * std::round(x / n);
    return d;
  }
  double density(Int3 cell) const {
    const Vector d = from_center(cell);
    return 100.0 - (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
  }
};

Universe universe_of(const Blob& blob, std::function<Vector(const Vector&)> velocity) {
  Universe universe;
  universe.density = [blob](int, Int3 cell) { return std::max(blob.density(cell), 0.0); };
  universe.gas = universe.density;
  for (std::size_t a = 0; a < 3; ++a)
    universe.velocity[a] = [=](int, Int3 cell) { return velocity(blob.from_center(cell))[a]; };
  return universe;
}

TEST(HaloMeasures, OfARotatingBlobAreItsMomentOfInertiaTimesItsRotation) {
  const World world;
  const RefinedMesh mesh = uniform_mesh({32, 32, 32}, periodic, world.size(), 17);
  const double rotation = 3.0;
  const Universe universe = universe_of({}, [=](const Vector& x) {
    return Vector{50.0 - rotation * x[1], -20.0 + rotation * x[0], 5.0};
  });

  const auto halos = world.together(mesh, universe, {64, 90});

  ASSERT_EQ(halos.size(), 1u);
  const Halo& halo = halos[0];
  // A ball of radius 6 and density 100 - r^2.
  const double mass = 4 * std::numbers::pi * (100 * 216 / 3.0 - 7776 / 5.0);
  const double inertia = 8 * std::numbers::pi / 3 * (100 * 7776 / 5.0 - 279936 / 7.0);
  EXPECT_NEAR(halo.mass, mass, 0.03 * mass);
  EXPECT_NEAR(halo.angular_momentum[2], rotation * inertia, 0.03 * rotation * inertia);
  EXPECT_NEAR(halo.angular_momentum[0], 0.0, 0.01 * rotation * inertia);
  EXPECT_NEAR(halo.angular_momentum[1], 0.0, 0.01 * rotation * inertia);
  const double square = rotation * rotation * inertia / mass;
  EXPECT_NEAR(halo.velocity_dispersion, std::sqrt(square / 3), 0.03 * std::sqrt(square / 3));
  EXPECT_NEAR(halo.velocity[0], 50.0 - rotation * (halo.center[1] - 15.8), 1e-9);
  EXPECT_NEAR(halo.velocity[1], -20.0 + rotation * (halo.center[0] - 10.3), 1e-9);
  for (const double axis : halo.axes) EXPECT_NEAR(axis, std::sqrt(5 * inertia / mass / 2), 0.1);
}

TEST(HaloMeasures, OfAPureShearAreHalfARotation) {
  const World world;
  const RefinedMesh mesh = uniform_mesh({32, 32, 32}, periodic, world.size(), 11);
  const auto turning = [](double ab, double ba) {
    return universe_of({}, [=](const Vector& x) { return Vector{ab * x[1], ba * x[0], 0.0}; });
  };

  const auto sheared = world.together(mesh, turning(4.0, 0.0), {64, 90});
  const auto rotating = world.together(mesh, turning(2.0, -2.0), {64, 90});
  const auto stretched = world.together(mesh, turning(2.0, 2.0), {64, 90});

  ASSERT_EQ(sheared.size(), 1u);
  const double turned = rotating[0].angular_momentum[2];
  EXPECT_LT(turned, 0.0);
  EXPECT_NEAR(sheared[0].angular_momentum[2], turned, 0.02 * std::abs(turned));
  EXPECT_NEAR(stretched[0].angular_momentum[2], 0.0, 0.02 * std::abs(turned));
}

TEST(HaloMeasures, MoveWithTheMatterAcrossTheFacesOfTheBox) {
  const World world;
  const auto velocity = [](const Vector& x) { return Vector{x[1], -2 * x[0], 3 * x[2] + 10}; };
  const HaloCriteria criteria{64, 90};
  Universe universe = universe_of({}, velocity);
  universe.spheres = {70, 40};
  const auto expected = world.alone(uniform_mesh({32, 32, 32}, periodic, 1, 5), universe, criteria);
  for (const Int3 shift : {Int3{22, 0, 0}, Int3{0, 16, 12}, Int3{-10, -15, -20}}) {
    Universe shifted = universe_of({32, {10.3 + shift.x, 15.8 + shift.y, 20.1 + shift.z}}, velocity);
    shifted.spheres = universe.spheres;

    const auto halos = world.together(uniform_mesh({32, 32, 32}, periodic, world.size(), 5), shifted, criteria);

    ASSERT_EQ(halos.size(), 1u);
    EXPECT_EQ(halos[0].volume, expected[0].volume);
    EXPECT_NEAR(halos[0].velocity_dispersion, expected[0].velocity_dispersion, 1e-9);
    for (std::size_t a = 0; a < 3; ++a) {
      EXPECT_NEAR(halos[0].axes[a], expected[0].axes[a], 1e-9);
      EXPECT_NEAR(halos[0].velocity[a], expected[0].velocity[a], 1e-9);
      EXPECT_NEAR(halos[0].angular_momentum[a], expected[0].angular_momentum[a], 1e-6);
    }
    for (std::size_t s = 0; s < 2; ++s) {
      EXPECT_GT(halos[0].spheres[s].radius, 5.0);
      EXPECT_NEAR(halos[0].spheres[s].radius, expected[0].spheres[s].radius, 1e-9);
    }
  }
}

TEST(HaloMeasures, OfAHomogeneousEllipsoidAreItsSemiAxes) {
  const World world;
  const RefinedMesh mesh = uniform_mesh({48, 48, 48}, periodic, world.size(), 13);
  Universe universe;
  universe.density = [](int, Int3 cell) {
    const Vector d{cell.x + 0.5 - 23.7, cell.y + 0.5 - 24.2, cell.z + 0.5 - 24.0};
    const double along = 0.6 * d[0] + 0.8 * d[1], across = -0.8 * d[0] + 0.6 * d[1];  // turned about z
    return along * along / 225 + across * across / 36 + d[2] * d[2] / 81 < 1 ? 5.0 : 0.0;
  };

  const auto halos = world.together(mesh, universe, {1, 2});

  ASSERT_EQ(halos.size(), 1u);
  EXPECT_NEAR(halos[0].axes[0], 15, 0.1);
  EXPECT_NEAR(halos[0].axes[1], 9, 0.1);
  EXPECT_NEAR(halos[0].axes[2], 6, 0.1);
}

TEST(HaloMeasures, DoNotChangeWhereCellsAreDividedIntoEqualOnes) {
  const World world;
  const Grid grid = test::wave_field(16);
  const RefinedMesh refined = test::random_mesh(grid.cells, 4, 2, periodic, world.size(), 3);
  const RefinedMesh plain{refined.geometry, {test::one_box(grid.cells)}};
  Universe universe;
  universe.density = [&](int level, Int3 cell) { return grid(cell.z >> level, cell.y >> level, cell.x >> level); };
  universe.gas = universe.density;
  for (std::size_t a = 0; a < 3; ++a)
    universe.velocity[a] = [a](int level, Int3 cell) {
      return 100 * test::noise(a, 0, {cell.x >> level, cell.y >> level, cell.z >> level});
    };
  const auto expected = world.alone(plain, universe, {20, 40});

  const auto halos = world.together(refined, universe, {20, 40});

  ASSERT_EQ(halos.size(), expected.size());
  for (std::size_t h = 0; h < halos.size(); ++h) {
    EXPECT_EQ(halos[h].volume, expected[h].volume);
    if (halos[h].spans_box) continue;
    const double momentum = halos[h].mass * 100 * halos[h].axes[0];
    EXPECT_NEAR(halos[h].velocity_dispersion, expected[h].velocity_dispersion, 1e-10);
    for (std::size_t a = 0; a < 3; ++a) {
      EXPECT_NEAR(halos[h].axes[a], expected[h].axes[a], 1e-9);
      EXPECT_NEAR(halos[h].velocity[a], expected[h].velocity[a], 1e-10);
      EXPECT_NEAR(halos[h].angular_momentum[a], expected[h].angular_momentum[a], 1e-11 * momentum);
    }
  }
}

TEST(HaloMeasures, OfMatterWithoutMassAreZero) {
  const World world;
  const RefinedMesh mesh = uniform_mesh({6, 6, 6}, periodic, world.size(), 4);
  Universe universe;
  universe.density = [](int, Int3 cell) { return cell.x < 3 ? 0.0 : -1.0; };
  universe.gas = [](int, Int3) { return 0.0; };
  for (auto& velocity : universe.velocity) velocity = [](int, Int3) { return 3.0; };
  universe.spheres = {1.0};

  const auto halos = world.together(mesh, universe, {-0.5, 0.0});

  ASSERT_EQ(halos.size(), 1u);
  EXPECT_EQ(halos[0].mass, 0.0);
  EXPECT_EQ(halos[0].center, halos[0].centroid);
  EXPECT_EQ(halos[0].axes, Vector{});
  EXPECT_EQ(halos[0].velocity, Vector{});
  EXPECT_EQ(halos[0].spin, 0.0);
  EXPECT_EQ(halos[0].spheres[0], Sphere{});
}

TEST(HaloMeasures, RefuseNumbersThatAreNotFinite) {
  const World world;
  const RefinedMesh mesh = uniform_mesh({8, 8, 8}, periodic, world.size(), 9);
  const Universe good = random_universe(mesh.geometry, 1);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Universe bad_velocity = good, bad_position = good, bad_momentum = good;
  bad_velocity.velocity[1] = [](int, Int3) { return nan; };
  bad_position.particles.position[2][17] = std::numeric_limits<double>::infinity();
  for (double& momentum : bad_momentum.particles.attributes[0].values) momentum = nan;

  for (const Universe* bad : {&bad_velocity, &bad_position, &bad_momentum})
    EXPECT_THROW(world.together(mesh, *bad, {0.5, 1.0}), core::Error);
  EXPECT_THROW(world.together(mesh, good, {0.5, nan}), core::Error);
  EXPECT_THROW(world.together(mesh, good, {-std::numeric_limits<double>::infinity(), 1.0}), core::Error);
  EXPECT_NO_THROW(world.together(mesh, good, {0.5, 1.0}));
}

}  // namespace
}  // namespace sidestream::analysis
