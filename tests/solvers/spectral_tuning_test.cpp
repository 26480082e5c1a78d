#include <gtest/gtest.h>

#include "fft/fields.hpp"
#include "sidestream/fft/tuning.hpp"
#include "sidestream/redistribute/exchange_choice.hpp"
#include "sidestream/redistribute/wisdom.hpp"
#include "sidestream/solvers/spectral/spectral_transform.hpp"
#include "support/folder.hpp"

namespace sidestream::solvers {
namespace {

constexpr mesh::Int3 cells{16, 16, 16};
constexpr TransformedFields fields{.backward = 3, .forward = 5};

template <typename Real>
std::vector<Wave<Real>> modes_by(const comm::Communicator& comm, SpectralTransform<Real>& transform) {
  mesh::Field<Real> real(transform.real(), comm.rank(), fields.forward);
  fft::fill(real, [](mesh::Int3 cell) { return static_cast<Real>(fft::noise(mesh::domain_of(cells), cell)); });
  Spectrum<Real> spectrum(transform.modes(), comm.rank(), fields.forward);
  transform.forward(real, spectrum);
  return fft::gathered(comm, spectrum);
}

template <typename Real>
class TunedTransform : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(TunedTransform, Reals);

// `sidestream bench fft --cells 16 --components 3 --kept 5` writes the same key for doubles.
TYPED_TEST(TunedTransform, GoesTheWayThatTheBenchmarkFoundWithTheSameBits) {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;  // there is nothing to choose
  const test::SharedFolder folder(world);
  const std::string path = folder / "wisdom.json";
  const comm::Communicator comm =
      redistribute::with_exchange(world, {.strategy = redistribute::Strategy::tuned, .wisdom = path});
  const WaveGrid grid({mesh::domain_of(cells), {1.0, 1.0, 1.0}, {true, true, true}}, Dealiasing::two_thirds);
  ASSERT_EQ(grid.highest(), (mesh::Int3{5, 5, 5}));
  const fft::Way found{{comm.size(), 1}, redistribute::Strategy::p2p, 2, fft::Pieces::components};
  const std::string key =
      fft::tuning_key<TypeParam>(comm, cells, std::nullopt, {.components = fields.backward, .kept = grid.highest()});
  if (comm.rank() == 0) redistribute::Wisdom(path).keep(key, {found.name(), 1e-3});
  comm.barrier();

  SpectralTransform<TypeParam> usual(world, grid, fields), tuned(comm, grid, fields);

  EXPECT_EQ(tuned.real(), fft::x_pencils(cells, found.grid));
  EXPECT_TRUE(fft::have_equal_bits(modes_by(world, tuned), modes_by(world, usual)));
}

}  // namespace
}  // namespace sidestream::solvers
