#include <gtest/gtest.h>

#include <cmath>

#include "fft/fields.hpp"
#include "sidestream/core/exact_sum.hpp"
#include "sidestream/fft/modes.hpp"
#include "support/slow_tier.hpp"

// How exact a transform is: of 64^3 cells, and of 256^3 with the other slow tests.
namespace sidestream::fft {
namespace {

int cells_a_side() {
  return test::is_slow_tier() ? 256 : 64;
}

class Accuracy : public testing::Test {
 protected:
  const comm::Communicator comm{MPI_COMM_WORLD};
  const Int3 cells{cells_a_side(), cells_a_side(), cells_a_side()};
  const Layout layout = scattered_blocks(cells, comm.size());
  const double count = static_cast<double>(cells.product());
  const FftPlan<double> plan{comm, layout};
  Field<double> field = noise_on(layout, comm.rank());
  Field<std::complex<double>> modes{plan.spectral(), comm.rank()};
};

TEST_F(Accuracy, OfTheWayThereAndBackIsOneIn1e14) {
  Field<double> back(layout, comm.rank());
  plan.forward(field, modes);
  plan.backward(modes, back);

  double largest = 0.0, worst = 0.0;
  core::ExactSum squares, errors;
  for (std::size_t i = 0; i < field.all().size(); ++i) {
    const double value = field.all()[i], error = back.all()[i] / count - value;
    largest = std::max(largest, std::abs(value));
    worst = std::max(worst, std::abs(error));
    squares.add(value * value);
    errors.add(error * error);
  }
  EXPECT_LT(comm.max(worst) / comm.max(largest), 1e-14);
  EXPECT_LT(std::sqrt(comm.sum(errors) / comm.sum(squares)), 1e-15);
}

TEST_F(Accuracy, OfParsevalsSumIsOneIn1e14) {
  core::ExactSum in_cells, in_modes;
  for (const double value : field.all()) in_cells.add(value * value);

  plan.forward(field, modes);

  for_each_mode(modes, cells, [&](const Mode& mode, const std::complex<double>& amplitude) {
    in_modes.add(mode.weight * std::norm(amplitude));
  });
  EXPECT_NEAR(comm.sum(in_modes) / count / comm.sum(in_cells), 1.0, 1e-14);
}

}  // namespace
}  // namespace sidestream::fft
