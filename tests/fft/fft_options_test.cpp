#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "fft/fields.hpp"
#include "fft/slices.hpp"
#include "sidestream/fft/modes.hpp"

// What a plan can be asked for besides the transform of one real field to wherever the modes are left.
namespace sidestream::fft {
namespace {

using Complex = std::complex<double>;

constexpr Int3 cells{12, 10, 9};
constexpr Int3 kept{3, 2, 4};

class FftOptionsTest : public testing::Test {
 protected:
  const comm::Communicator comm{MPI_COMM_WORLD};
  const Layout blocks = scattered_blocks(cells, comm.size());

  template <typename Cell>
  auto modes_of(const FftPlan<Cell>& plan, const Field<Cell>& field) const {
    Field<typename FftPlan<Cell>::Mode> spectrum(plan.spectral(), comm.rank(), field.components());
    plan.forward(field, spectrum);
    return spectrum;
  }
};

Complex complex_noise(Int3 cell) {
  const Box domain = mesh::domain_of(cells);
  return {noise(domain, cell), noise(domain, {cell.x, cell.y, cells.z - 1 - cell.z})};
}

// The place of a kept mode among all modes of an axis of n cells.
int among_all(int wavenumber, int n) {
  return mesh::wrapped(wavenumber, n);
}

TEST_F(FftOptionsTest, KeptModesHaveTheBitsTheyHaveAmongAll) {
  const Field<double> field = noise_on(blocks, comm.rank());
  const FftPlan<double> all(comm, blocks);
  const auto expected = gathered(comm, modes_of(all, field));

  for (const auto decomposition : {Decomposition::slabs, Decomposition::pencils}) {
    const FftPlan<double> plan(comm, blocks, {.decomposition = decomposition, .kept = kept});
    const auto actual = gathered(comm, modes_of(plan, field));

    ASSERT_EQ(plan.waves(), (Int3{7, 5, 9}));
    const Box domain = spectral_domain(plan.waves()), full = spectral_domain(cells);
    for_each_mode(domain, plan.waves(), [&](const Mode& mode) {
      const Int3 place{mode.wavenumber.x, among_all(mode.wavenumber.y, cells.y), among_all(mode.wavenumber.z, cells.z)};
      const Complex found = actual[static_cast<std::size_t>(linear_index(domain, mode.index))];
      const Complex wanted = expected[static_cast<std::size_t>(linear_index(full, place))];
      EXPECT_EQ(0, std::memcmp(&found, &wanted, sizeof found));
    });
  }
}

TEST_F(FftOptionsTest, BackwardTakesModesThatAreNotKeptAsZeros) {
  const FftPlan<double> all(comm, blocks), plan(comm, blocks, {.kept = kept});
  Field<double> field = noise_on(blocks, comm.rank()), filtered = noise_on(blocks, comm.rank());
  Field<Complex> spectrum = modes_of(all, field), compact = modes_of(plan, field);
  for_each_mode(spectrum, cells, [](const Mode& mode, Complex& amplitude) {
    const Int3 k = mode.wavenumber;
    if (k.x > kept.x || std::abs(k.y) > kept.y || std::abs(k.z) > kept.z) amplitude = 0.0;
  });

  all.backward(spectrum, field);
  plan.backward(compact, filtered);

  EXPECT_TRUE(have_equal_bits(gathered(comm, field), gathered(comm, filtered)));
}

TEST_F(FftOptionsTest, AsManyModesAsThereAreMayBeKept) {
  constexpr Int3 odd{9, 7, 5};
  const Layout layout = scattered_blocks(odd, comm.size());
  const Field<double> field = noise_on(layout, comm.rank());
  const FftPlan<double> all(comm, layout), plan(comm, layout, {.kept = Int3{4, 3, 2}});

  EXPECT_TRUE(have_equal_bits(gathered(comm, modes_of(all, field)), gathered(comm, modes_of(plan, field))));
}

TEST_F(FftOptionsTest, ComponentsGoTogetherAsTheyGoAlone) {
  constexpr int components = 3;
  const FftPlan<double> one(comm, blocks, {.decomposition = Decomposition::pencils}),
      all(comm, blocks, {.decomposition = Decomposition::pencils, .components = components, .ghost = 1});
  Field<double> field(blocks, comm.rank(), components, 1), alone(blocks, comm.rank());
  const auto value = [](Int3 cell, int component) { return noise(mesh::domain_of(cells), cell) * (component + 0.1); };
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&](int k, int j, int i) {
      for (int c = 0; c < components; ++c) field.view(b)(c, k, j, i) = value({i, j, k}, c);
    });
  Field<Complex> spectrum = modes_of(all, field);
  Field<Complex> copy(all.spectral(), comm.rank(), components);
  std::ranges::copy(spectrum.all(), copy.all().begin());
  all.backward(copy, field);

  for (int c = 0; c < components; ++c) {
    fill(alone, [&](Int3 cell) { return value(cell, c); });
    Field<Complex> modes = modes_of(one, alone);
    for (int b = 0; b < modes.blocks(); ++b)
      core::for_each_cell(
          modes.box(b), [&](int k, int j, int i) { EXPECT_EQ(modes.view(b)(k, j, i), spectrum.view(b)(c, k, j, i)); });
    one.backward(modes, alone);
    for (int b = 0; b < alone.blocks(); ++b)
      core::for_each_cell(alone.box(b),
                          [&](int k, int j, int i) { EXPECT_EQ(alone.view(b)(k, j, i), field.view(b)(c, k, j, i)); });
  }
}

TEST_F(FftOptionsTest, ModesGoWhereverTheCallerWantsThem) {
  const Field<double> field = noise_on(blocks, comm.rank());
  for (const std::optional<Int3>& kept_modes : {std::optional<Int3>{}, std::optional<Int3>{kept}}) {
    const FftPlan<double> plain(comm, blocks, {.kept = kept_modes});
    const Layout wanted = scattered_blocks(plain.spectral().domain().hi, comm.size());
    const FftPlan<double> plan(comm, blocks, {.kept = kept_modes, .spectral = wanted});
    Field<double> back(blocks, comm.rank()), expected(blocks, comm.rank());

    Field<Complex> modes = modes_of(plan, field), plain_modes = modes_of(plain, field);
    const bool modes_agree = have_equal_bits(gathered(comm, modes), gathered(comm, plain_modes));
    plan.backward(modes, back);
    plain.backward(plain_modes, expected);

    EXPECT_EQ(plan.spectral(), wanted);
    EXPECT_TRUE(modes_agree);
    EXPECT_TRUE(have_equal_bits(gathered(comm, back), gathered(comm, expected)));
  }
}

TEST_F(FftOptionsTest, EveryProcessGridAndStrategyGivesTheSameBits) {
  constexpr int components = 3;
  Field<double> field(blocks, comm.rank(), components), back(blocks, comm.rank(), components);
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&](int k, int j, int i) {
      for (int c = 0; c < components; ++c) field.view(b)(c, k, j, i) = noise(blocks.domain(), {i, j, k}) * (c + 0.1);
    });
  // Modes, and the cells they go back to.
  const auto bits_of = [&](const FftOptions& options) {
    const FftPlan<double> plan(comm, blocks, options);
    Field<Complex> modes = modes_of(plan, field);
    std::vector<std::vector<Complex>> spectra;
    for (int c = 0; c < components; ++c) spectra.push_back(gathered(comm, modes, c));
    plan.backward(modes, back);
    return std::pair(spectra, std::vector<double>(back.all().begin(), back.all().end()));
  };
  const auto [modes, cells_back] = bits_of({.components = components});

  for (int rows = 1; rows <= comm.size(); ++rows)
    for (int columns = 1; rows * columns <= comm.size(); ++columns)
      for (const auto& entry : redistribute::strategies()) {
        if (entry.strategy == redistribute::Strategy::tuned) continue;  // see tuning_test.cpp
        const auto [its_modes, its_cells] =
            bits_of({.grid = ProcessGrid{rows, columns}, .components = components, .strategy = entry.strategy});

        for (std::size_t c = 0; c < components; ++c)
          EXPECT_TRUE(have_equal_bits(its_modes[c], modes[c])) << rows << " x " << columns << " " << entry.name;
        EXPECT_TRUE(have_equal_bits(its_cells, cells_back)) << rows << " x " << columns << " " << entry.name;
      }
}

// All exchanges of the slices of a plan.
std::vector<const redistribute::Redistribution*> exchanges_of(const Slices<double>& slices) {
  std::vector<const redistribute::Redistribution*> all;
  for (const Slice<double>& slice : slices.all())
    for (const auto* exchange :
         {&slice.given_to_x, &slice.x_to_given, &slice.x_to_y, &slice.y_to_x, &slice.y_to_z, &slice.z_to_y})
      if (*exchange) all.push_back(&**exchange);
  return all;
}

TEST_F(FftOptionsTest, AStrategyIsThatOfEveryExchange) {
  for (const auto& entry : redistribute::strategies()) {
    if (entry.make == nullptr) continue;
    const FftOptions options{.decomposition = Decomposition::pencils, .strategy = entry.strategy};
    const Slices<double> slices(comm, pencils_of(blocks, comm.size(), true, options), options);

    for (const auto* exchange : exchanges_of(slices)) EXPECT_EQ(exchange->strategy(), entry.strategy) << entry.name;
    EXPECT_GE(exchanges_of(slices).size(), comm.size() == 4 ? 6U : 2U);
  }
}

// Three of seven waves along x, and of these five of ten along y.
TEST_F(FftOptionsTest, ModesThatAreNotKeptAreNotSent) {
  const auto sent = [&](std::optional<Int3> few) {
    const FftOptions options{.decomposition = Decomposition::pencils, .kept = few};
    const Slices<double> slices(comm, pencils_of(blocks, comm.size(), true, options), options);
    std::array<std::int64_t, 2> modes{};  // to the pencils along y and along z
    for (const Slice<double>& slice : slices.all()) {
      if (slice.x_to_y) modes[0] += static_cast<std::int64_t>(slice.x_to_y->sent_bytes(1));
      if (slice.y_to_z) modes[1] += static_cast<std::int64_t>(slice.y_to_z->sent_bytes(1));
    }
    comm.sum(std::span(modes));
    return modes;
  };

  const auto all = sent(std::nullopt), few = sent(Int3{2, 2, 2});

  EXPECT_LE(2 * few[0], all[0]);
  EXPECT_LE(3 * few[1], all[1]);
  if (comm.size() == 4) {
    EXPECT_GT(few[0], 0);
    EXPECT_GT(few[1], 0);
  }
}

TEST_F(FftOptionsTest, ADecompositionIsTaken) {
  for (const auto& [decomposition, rows, columns] :
       {std::tuple(Decomposition::slabs, 1, comm.size()),
        std::tuple(Decomposition::pencils, comm.size() == 4 ? 2 : comm.size(), comm.size() == 4 ? 2 : 1)}) {
    const ProcessGrid grid = FftPlan<double>(comm, blocks, {.decomposition = decomposition}).grid();

    EXPECT_EQ(grid.rows, rows);
    EXPECT_EQ(grid.columns, columns);
  }
}

// Cells, modes and what a rank's plan has beside them: a slice of some 1 MiB.
TEST_F(FftOptionsTest, APlanTakesLittleMemory) {
  const comm::Communicator self(MPI_COMM_SELF);
  const Layout block = one_block({128, 128, 128});
  const FftPlan<double> plan(self, block);

  const std::size_t field_bytes = Field<double>::size_bytes(block, 0, 1),
                    bytes = field_bytes + Field<Complex>::size_bytes(plan.spectral(), 0, 1) + plan.size_bytes();
  EXPECT_LE(static_cast<double>(bytes), 2.2 * static_cast<double>(field_bytes));
}

TEST_F(FftOptionsTest, ComplexFieldsHaveTheSumOfTheSpectraOfTheirParts) {
  Field<Complex> field(blocks, comm.rank());
  Field<double> real(blocks, comm.rank()), imaginary(blocks, comm.rank());
  fill(field, complex_noise);
  fill(real, [](Int3 cell) { return complex_noise(cell).real(); });
  fill(imaginary, [](Int3 cell) { return complex_noise(cell).imag(); });
  const FftPlan<Complex> plan(comm, blocks);
  const FftPlan<double> half(comm, blocks);

  const auto modes = gathered(comm, modes_of(plan, field));
  const auto of_real = gathered(comm, modes_of(half, real)), of_imaginary = gathered(comm, modes_of(half, imaginary));

  const Box all = mesh::domain_of(cells), stored = spectral_domain(cells);
  const auto half_mode = [&](const std::vector<Complex>& spectrum, Int3 k) {
    const bool is_stored = k.x <= cells.x / 2;
    if (!is_stored) k = {cells.x - k.x, (cells.y - k.y) % cells.y, (cells.z - k.z) % cells.z};
    const Complex mode = spectrum[static_cast<std::size_t>(linear_index(stored, k))];
    return is_stored ? mode : std::conj(mode);
  };
  double worst = 0.0;
  core::for_each_cell(all, [&](int k, int j, int i) {
    const Complex expected = half_mode(of_real, {i, j, k}) + Complex(0, 1) * half_mode(of_imaginary, {i, j, k});
    worst = std::max(worst, std::abs(modes[static_cast<std::size_t>(linear_index(all, {i, j, k}))] - expected));
  });
  EXPECT_LT(worst, 3e-14 * std::sqrt(static_cast<double>(cells.product())));
}

TEST_F(FftOptionsTest, KeptModesOfComplexFieldsHaveTheBitsTheyHaveAmongAll) {
  Field<Complex> field(blocks, comm.rank());
  fill(field, complex_noise);
  const FftPlan<Complex> all(comm, blocks), plan(comm, blocks, {.decomposition = Decomposition::pencils, .kept = kept});

  const auto expected = gathered(comm, modes_of(all, field)), actual = gathered(comm, modes_of(plan, field));

  const Box full = mesh::domain_of(cells), compact = mesh::domain_of(plan.waves());
  core::for_each_cell(compact, [&](int k, int j, int i) {
    const Int3 w = plan.waves();
    const Int3 place{among_all(wavenumber(i, w.x), cells.x), among_all(wavenumber(j, w.y), cells.y),
                     among_all(wavenumber(k, w.z), cells.z)};
    EXPECT_EQ(actual[static_cast<std::size_t>(linear_index(compact, {i, j, k}))],
              expected[static_cast<std::size_t>(linear_index(full, place))]);
  });
}

template <typename Cell>
class RoundTrip : public FftOptionsTest {};
using Cells = testing::Types<double, float, std::complex<double>, std::complex<float>>;
TYPED_TEST_SUITE(RoundTrip, Cells);

// Of a sum of some log2(1080) roundings a pass, there and back.
template <typename Cell>
constexpr double tolerance = 100 * std::numeric_limits<decltype(std::abs(Cell{}))>::epsilon();

TYPED_TEST(RoundTrip, GivesTheFieldBack) {
  using Number = decltype(std::abs(TypeParam{}));
  for (const auto decomposition : {Decomposition::slabs, Decomposition::pencils}) {
    const FftPlan<TypeParam> plan(this->comm, this->blocks, {.decomposition = decomposition});
    const auto value = [&](Int3 cell) { return TypeParam(static_cast<Number>(noise(this->blocks.domain(), cell))); };
    Field<TypeParam> field(this->blocks, this->comm.rank()), back(this->blocks, this->comm.rank());
    fill(field, value);

    auto spectrum = this->modes_of(plan, field);
    plan.backward(spectrum, back);

    double worst = 0.0;
    for (std::size_t i = 0; i < field.all().size(); ++i) {
      const auto normalised = back.all()[i] / static_cast<Number>(cells.product());
      worst = std::max<double>(worst, std::abs(normalised - field.all()[i]));
    }
    EXPECT_LT(worst, tolerance<TypeParam>);
  }
}

TEST_F(FftOptionsTest, FloatsAreTransformedLikeDoublesToTheirPrecision) {
  Field<float> field(blocks, comm.rank());
  fill(field, [&](Int3 cell) { return noise(blocks.domain(), cell); });
  Field<double> precise(blocks, comm.rank());
  std::ranges::copy(field.all(), precise.all().begin());

  const auto modes = modes_of(FftPlan<float>(comm, blocks), field);
  const auto expected = modes_of(FftPlan<double>(comm, blocks), precise);

  double worst = 0.0;
  for (std::size_t i = 0; i < modes.all().size(); ++i)
    worst = std::max(worst, std::abs(Complex(modes.all()[i]) - expected.all()[i]));
  EXPECT_LT(worst, tolerance<float> * std::sqrt(static_cast<double>(cells.product())));
}

TEST_F(FftOptionsTest, WrongOnesAreNamed) {
  const auto plan_with = [&](const FftOptions& options) { FftPlan<double>(comm, blocks, options); };

  EXPECT_THROW(plan_with({.kept = Int3{6, 2, 2}}), core::Error);  // the wave of two cells has no sign
  EXPECT_THROW(plan_with({.kept = Int3{2, -1, 2}}), core::Error);
  EXPECT_THROW(plan_with({.grid = ProcessGrid{comm.size() + 1, 1}}), core::Error);
  EXPECT_THROW(plan_with({.components = 0}), core::Error);
  EXPECT_THROW(plan_with({.spectral = blocks}), core::Error);
}

}  // namespace
}  // namespace sidestream::fft
