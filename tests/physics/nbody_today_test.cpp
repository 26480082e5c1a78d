#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>

#include "sidestream/mesh/forest.hpp"
#include "sidestream/solvers/initial_conditions.hpp"
#include "support/cosmologies.hpp"
#include "support/csv.hpp"
#include "support/nbody.hpp"
#include "support/places.hpp"
#include "support/power_bins.hpp"

namespace sidestream::solvers {
namespace {

// A box of 100 Mpc/h with 64^3 particles on 128^3 cells, from z = 49 to today.
constexpr double side = 100.0, cell_size = side / 128;  // Mpc/h
constexpr int lattice = 64, mesh_cells = 128, steps = 100;

// The force of the mesh is weaker than Newton's by T = sinc^2(k dx / 2) sinc(k dx), which costs waves of this length
// the share 1 - 39^(2 (p - 1)), p = (sqrt(1 + 24 T) - 1) / 4, of the power that 39-fold growth gives: 4 % at k = 0.25
// h/Mpc, 15 % at 0.5. Two fits to large simulations differ by 4 %. The modes of a box couple: with exact initial
// amplitudes, bins scatter by about a quarter of what random amplitudes would give, sqrt(2 / modes); two standard
// deviations are allowed for.
constexpr double power_tolerance = 0.05, scatter = 2.0 * 0.25, power_k = 0.5;

// Friends-of-friends halos over the mass function of Warren et al. 2006 (ApJ 646, 881), for 150 particles and more: 15
// %, as an independent particle mesh finds, and twice the Poisson error.
constexpr double halo_tolerance = 0.15;
constexpr std::int64_t smallest_halo = 150;

double sinc(double x) {
  return std::sin(x) / x;
}
double power_left_by_mesh(double k_dx) {
  const double force = std::pow(sinc(0.5 * k_dx), 2) * sinc(k_dx), p = 0.25 * (std::sqrt(1.0 + 24.0 * force) - 1.0);
  return std::pow(39.0, 2.0 * (p - 1.0));
}

class Today : public testing::Test {
 protected:
  static void SetUpTestSuite() { box.emplace(); }
  static void TearDownTestSuite() { box.reset(); }

  struct Box {
    Box() { run.run_to(1.0, steps); }

    comm::Communicator comm{MPI_COMM_WORLD};
    CosmologyParameters parameters = test::cosmology_a();
    Background background{parameters};
    LinearPower power = read_linear_power(test::test_data("nonlinear_power_A.csv"), parameters);
    double length = side / parameters.hubble;
    mesh::Geometry geometry{mesh::domain_of({mesh_cells, mesh_cells, mesh_cells}), {length, length, length}};
    mesh::Layout layout = mesh::Forest(geometry.domain.hi, 32).layout(comm.size());
    test::NBody run{comm, layout, geometry, background, start(), 0.02};

   private:
    mesh::Particles start() const {
      InitialConditionsConfig config;
      config.particles = {lattice, lattice, lattice};
      config.fixed_amplitude = true;
      return InitialConditions(comm, layout, geometry, background, power, config)
          .particles(0.02, parameters.matter_density());
    }
  };
  static std::optional<Box> box;
};
std::optional<Today::Box> Today::box;

// Interpolated in ln k.
double interpolate(const std::vector<std::vector<double>>& rows, double k, std::size_t column) {
  const auto above =
      std::upper_bound(rows.begin(), rows.end(), k, [](double value, const auto& row) { return value < row[0]; });
  const auto& high = *above;
  const auto& low = *(above - 1);
  const double t = std::log(k / low[0]) / std::log(high[0] / low[0]);
  return low[column] * std::pow(high[column] / low[column], t);
}

TEST_F(Today, NonlinearGrowthOfThePowerIsThatOfLargeSimulations) {
  const auto rows = test::read_csv("nonlinear_power_A.csv");
  const double h = box->parameters.hubble;

  const auto bins = test::power_bins(box->comm, box->geometry, box->run.density(), box->power);

  for (std::size_t n = 2; bins[n].k < power_k * h; ++n) {
    const double k = bins[n].k / h, linear = interpolate(rows, k, 1);
    const double fits = 0.5 * (interpolate(rows, k, 2) + interpolate(rows, k, 3)) / linear;
    const double expected = fits * power_left_by_mesh(k * cell_size);
    const double tolerance = power_tolerance + scatter * std::sqrt(2.0 / bins[n].modes);
    EXPECT_NEAR(bins[n].power / bins[n].expected / expected, 1.0, tolerance) << "k = " << k << " h/Mpc";
  }
}

// Friends of friends: groups of particles linked by distances below `link`, in a periodic box of side 1 with cells no
// smaller than `link`.
class Friends {
 public:
  Friends(std::vector<std::array<double, 3>> points, double link)
      : points_(std::move(points)), link_(link), parent_(points_.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    sort_into_cells();
    for (std::size_t n = 0; n < points_.size(); ++n) link_neighbors(n);
  }
  std::vector<std::int64_t> group_sizes() {
    std::vector<std::int64_t> size(points_.size());
    for (std::size_t n = 0; n < points_.size(); ++n) ++size[root(n)];
    return size;
  }

 private:
  static constexpr int cells_ = 128;
  static std::size_t cell_at(int i, int j, int k) {
    const auto wrap = [](int n) { return static_cast<std::size_t>(mesh::wrapped(n, cells_)); };
    return (wrap(k) * cells_ + wrap(j)) * cells_ + wrap(i);
  }
  static int index(double x) { return std::min(cells_ - 1, static_cast<int>(x * cells_)); }
  std::size_t root(std::size_t n) {
    while (parent_[n] != n) n = parent_[n] = parent_[parent_[n]];
    return n;
  }
  void sort_into_cells() {
    start_.assign(static_cast<std::size_t>(cells_) * cells_ * cells_ + 1, 0);
    order_.resize(points_.size());
    const auto cell_of_point = [&](std::size_t n) {
      return cell_at(index(points_[n][0]), index(points_[n][1]), index(points_[n][2]));
    };
    for (std::size_t n = 0; n < points_.size(); ++n) ++start_[cell_of_point(n) + 1];
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    auto next = start_;
    for (std::size_t n = 0; n < points_.size(); ++n) order_[next[cell_of_point(n)]++] = n;
  }
  bool are_friends(std::size_t a, std::size_t b) const {
    double squared = 0.0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double d = points_[a][axis] - points_[b][axis], shortest = d - std::round(d);
      squared += shortest * shortest;
    }
    return squared < link_ * link_;
  }
  void link_neighbors(std::size_t n) {
    for (int dk = -1; dk <= 1; ++dk)
      for (int dj = -1; dj <= 1; ++dj)
        for (int di = -1; di <= 1; ++di) {
          const auto cell = cell_at(index(points_[n][0]) + di, index(points_[n][1]) + dj, index(points_[n][2]) + dk);
          for (std::size_t m = start_[cell]; m < start_[cell + 1]; ++m)
            if (order_[m] < n && are_friends(n, order_[m])) parent_[root(n)] = root(order_[m]);
        }
  }

  std::vector<std::array<double, 3>> points_;
  double link_;
  std::vector<std::size_t> parent_, start_, order_;
};

// Warren et al. 2006: number of halos above `mass` [Msun] in the box.
double warren_number_above(const LinearPower& power, double matter_density, double volume, double mass) {
  const auto sigma = [&](double m) {
    return power.sigma(std::cbrt(3.0 * m / (4.0 * std::numbers::pi * matter_density)));
  };
  double number = 0.0;
  const double step = 0.02;
  for (double m = mass * std::exp(0.5 * step); m < 1e16; m *= std::exp(step)) {
    const double s = sigma(m), slope = std::log(sigma(m * 1.01) / sigma(m / 1.01)) / (2.0 * std::log(1.01));
    const double f = 0.7234 * (std::pow(s, -1.625) + 0.2538) * std::exp(-1.1982 / (s * s));
    number += matter_density / m * f * std::abs(slope) * step * volume;
  }
  return number;
}

TEST_F(Today, NumberOfHalosIsThatOfLargeSimulations) {
  const auto& particles = box->run.particles();
  std::vector<std::array<double, 3>> mine(particles.size());
  for (std::size_t n = 0; n < mine.size(); ++n)
    for (std::size_t axis = 0; axis < 3; ++axis) mine[n][axis] = particles.position[axis][n] / box->length;
  const auto all = box->comm.gather(std::span<const std::array<double, 3>>(mine));
  if (box->comm.rank() != 0) return;
  const double density = box->parameters.matter_density();
  const auto corrected = [&](std::int64_t n) {
    const auto count = static_cast<double>(n);
    return particles.mass * count * (1.0 - std::pow(count, -0.6));
  };

  std::int64_t found = 0;
  for (const auto size : Friends(all, 0.2 / lattice).group_sizes()) found += size >= smallest_halo;

  const double expected = warren_number_above(box->power, density, box->geometry.volume(), corrected(smallest_halo));
  const double tolerance = halo_tolerance + 2.0 / std::sqrt(expected);
  EXPECT_NEAR(static_cast<double>(found) / expected, 1.0, tolerance) << found << " halos, " << expected << " expected";
}

}  // namespace
}  // namespace sidestream::solvers
