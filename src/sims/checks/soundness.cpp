#include "sims/checks/soundness.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/units.hpp"
#include "sidestream/solvers/hydro.hpp"
#include "sidestream/solvers/momentum.hpp"

namespace sidestream::sims {

namespace {

struct Part {
  int component;
  const char* name;
};

bool is_possible(int component, double value) {
  return std::isfinite(value) && (component != solvers::density || value > 0.0) &&
         (component != solvers::internal_energy || value >= 0.0);
}

// Density first: gravity and pressure carry what is wrong with it into everything else, far and wide.
constexpr std::array parts{Part{solvers::density, "density"},
                           Part{solvers::internal_energy, "internal energy"},
                           Part{solvers::total_energy, "total energy"},
                           Part{solvers::momentum_x, "momentum along x"},
                           Part{solvers::momentum_y, "momentum along y"},
                           Part{solvers::momentum_z, "momentum along z"}};

}  // namespace

std::string problem_of_gas(const mesh::Field<double>& gas, int level) {
  std::string problem;
  for (const Part& part : parts)
    for (int b = 0; b < gas.blocks() && problem.empty(); ++b)
      core::for_each_cell(gas.box(b), [&, state = gas.view(b)](int k, int j, int i) {
        const double value = state(part.component, k, j, i);
        if (problem.empty() && !is_possible(part.component, value))
          problem =
              fmt::format("the {} of the gas is {} in cell ({}, {}, {}) of level {}", part.name, value, i, j, k, level);
      });
  return problem;
}

std::string problem_of_particles(const mesh::Particles& particles, double scale_factor) {
  const double most = core::units::speed_of_light * scale_factor;
  std::array<const double*, 3> momentum{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    momentum[axis] = particles.attribute(solvers::momentum_names[axis]).data();
  for (std::size_t n = 0; n < particles.size(); ++n) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (const double x = particles.position[axis][n]; !std::isfinite(x))
        return fmt::format("{} of the particle with id {} is {}", "xyz"[axis], particles.id[n], x);
    const double u = momentum[0][n], v = momentum[1][n], w = momentum[2][n];
    if (!(u * u + v * v + w * w <= most * most))
      return fmt::format("the particle with id {} moves at {} km/s: light makes {} km/s", particles.id[n],
                         core::hypot(core::hypot(u, v), w) / scale_factor, core::units::speed_of_light);
  }
  return "";
}

void require_sound(const comm::Communicator& comm, const std::string& problem, const std::string& moment,
                   const char* hint) {
  comm.agree_on([&] {
    if (!problem.empty()) throw core::Error(problem, moment, hint);
  });
}

void refuse_step(const comm::Communicator& comm, double step, const std::string& limit, const std::string& moment) {
  comm.agree_on([&] {
    throw core::Error(
        fmt::format("the time step is {:.3g}: the time does not go on; it is the {} that asks for it", step, limit),
        moment, "something is far too fast or too hot: look at the start and at its units");
  });
}

}  // namespace sidestream::sims
