#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fft/fields.hpp"
#include "sidestream/fft/in_place_field.hpp"

// Modes in the memory of the cells.
namespace sidestream::fft {
namespace {

using testing::HasSubstr;

template <typename T>
void copy_into(const mesh::FieldView<const T>& from, const mesh::FieldView<T>& to) {
  for (int b = 0; b < from.blocks(); ++b)
    core::for_each_cell(from.box(b), [&, in = from.view(b), out = to.view(b)](int k, int j, int i) {
      for (int c = 0; c < from.components(); ++c) out(c, k, j, i) = in(c, k, j, i);
    });
}

template <typename T>
bool are_equal(const mesh::FieldView<const T>& a, const mesh::FieldView<const T>& b) {
  bool equal = true;
  for (int n = 0; n < a.blocks(); ++n)
    core::for_each_cell(a.box(n), [&, on_a = a.view(n), on_b = b.view(n)](int k, int j, int i) {
      for (int c = 0; c < a.components(); ++c)
        equal = equal && std::memcmp(&on_a(c, k, j, i), &on_b(c, k, j, i), sizeof(T)) == 0;
    });
  return equal;
}

template <typename Cell>
class InPlace : public testing::Test {
 protected:
  static constexpr int components = 2;
  using Mode = typename ModeOf<Cell>::Type;

  // Every number is another one.
  static Field<Cell> noise_of_all(const Layout& layout, int rank) {
    Field<Cell> field(layout, rank, components);
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
        const double one = noise(layout.domain(), {i, j, k});
        for (int c = 0; c < components; ++c) view(c, k, j, i) = static_cast<Cell>(one * (c + 0.5));
      });
    return field;
  }

  void expect_the_bits_of_two_fields(const Layout& layout, FftOptions options) const {
    options.components = components;
    const FftPlan<Cell> plain(comm, layout, options);
    options.in_place = true;
    const FftPlan<Cell> plan(comm, layout, options);
    const Field<Cell> field = noise_of_all(layout, comm.rank());
    Field<Mode> expected(plain.spectral(), comm.rank(), components);
    Field<Cell> expected_back(layout, comm.rank(), components);
    plain.forward(field, expected);
    InPlaceField<Cell> both(plan, comm.rank());

    for (int repeat = 0; repeat < 2; ++repeat) {
      copy_into<Cell>(field, both.cells());
      plan.forward(both.cells(), both.modes());
      EXPECT_TRUE(are_equal<Mode>(both.modes(), expected));
    }
    plan.backward(both.modes(), both.cells());

    plain.backward(expected, expected_back);
    EXPECT_TRUE(are_equal<Cell>(both.cells(), expected_back));
  }

  const comm::Communicator comm{MPI_COMM_WORLD};
};

using Cells = testing::Types<double, float, std::complex<double>>;
TYPED_TEST_SUITE(InPlace, Cells);

TYPED_TEST(InPlace, GivesTheBitsOfTwoFieldsFromAnyLayout) {
  for (const Int3 cells : {Int3{12, 10, 19}, Int3{7, 11, 13}}) {
    const Layout blocks = scattered_blocks(cells, this->comm.size());
    const Layout slabs = split(mesh::domain_of(cells), {1, 1, this->comm.size()});
    this->expect_the_bits_of_two_fields(slabs, {.decomposition = Decomposition::slabs});
    this->expect_the_bits_of_two_fields(slabs, {.decomposition = Decomposition::pencils});
    this->expect_the_bits_of_two_fields(blocks, {.decomposition = Decomposition::pencils, .depth = 3});
    this->expect_the_bits_of_two_fields(one_block(cells), {.grid = ProcessGrid{1, 1}});
  }
}

TYPED_TEST(InPlace, GivesTheBitsOfTwoFieldsWhereModesAreDroppedAndWantedElsewhere) {
  constexpr Int3 cells{12, 10, 19}, kept{3, 2, 4};
  constexpr bool is_real = !std::is_same_v<TypeParam, typename ModeOf<TypeParam>::Type>;
  const Layout blocks = scattered_blocks(cells, this->comm.size()),
               wanted = scattered_blocks({is_real ? 4 : 7, 5, 9}, this->comm.size());
  for (const Pieces pieces : {Pieces::planes, Pieces::components}) {
    this->expect_the_bits_of_two_fields(blocks, {.kept = kept, .pieces = pieces});
    this->expect_the_bits_of_two_fields(blocks, {.kept = kept, .spectral = wanted, .depth = 2, .pieces = pieces});
    this->expect_the_bits_of_two_fields(one_block(cells), {.grid = ProcessGrid{1, 1}, .kept = kept, .pieces = pieces});
  }
}

TYPED_TEST(InPlace, GivesTheBitsOfTwoFieldsByThreads) {
  constexpr Int3 cells{12, 10, 19};
  for (const ThreadMode mode : {ThreadMode::funneled, ThreadMode::serialized, ThreadMode::multiple}) {
    this->expect_the_bits_of_two_fields(scattered_blocks(cells, this->comm.size()),
                                        {.threads = 2, .thread_mode = mode});
    this->expect_the_bits_of_two_fields(one_block(cells),
                                        {.grid = ProcessGrid{1, 1}, .threads = 2, .thread_mode = mode});
  }
}

class InPlaceMemory : public testing::Test {
 protected:
  static constexpr Int3 cells{64, 64, 64};
  static constexpr double field_bytes = 64.0 * 64.0 * 64.0 * sizeof(double);

  std::string refusal_of(const FftPlan<double>& plan, const mesh::FieldView<double>& of_cells,
                         const mesh::FieldView<std::complex<double>>& modes) const {
    try {
      plan.forward(of_cells, modes);
    } catch (const core::Error& error) {
      return error.message();
    }
    return "";
  }
  const comm::Communicator self{MPI_COMM_SELF};
};

TEST_F(InPlaceMemory, OfOneRankIsThatOfTheModesAndSomePlanes) {
  const FftPlan<double> plan(self, one_block(cells), {.in_place = true});
  const InPlaceField<double> both(plan, 0);

  EXPECT_DOUBLE_EQ(static_cast<double>(both.size_bytes()), field_bytes * 66 / 64);
  EXPECT_LT(static_cast<double>(plan.size_bytes()), 0.6 * field_bytes);  // a slice is a MiB, and there are two of them
}

TEST_F(InPlaceMemory, OfAPlanThatMovesCellsHasTheLinesAlongZ) {
  const Layout blocks = scattered_blocks(cells, 1);
  const FftPlan<double> plain(self, blocks), plan(self, blocks, {.in_place = true});

  EXPECT_DOUBLE_EQ(static_cast<double>(plan.size_bytes() - plain.size_bytes()), field_bytes * 66 / 64);
}

TEST_F(InPlaceMemory, IsRefusedWhereItWasNotAskedFor) {
  const FftPlan<double> plain(self, one_block(cells)), in_place(self, one_block(cells), {.in_place = true});
  const InPlaceField<double> both(in_place, 0);

  EXPECT_THAT(refusal_of(plain, both.cells(), both.modes()), HasSubstr("lie in the same memory"));
  EXPECT_THROW(plain.backward(both.modes(), both.cells()), core::Error);
  EXPECT_EQ(refusal_of(in_place, both.cells(), both.modes()), "");
}

TEST_F(InPlaceMemory, IsRefusedWhereRowsHaveNoRoomOnOneRank) {
  const FftPlan<double> plan(self, one_block(cells), {.in_place = true});
  const InPlaceField<double> both(plan, 0);
  const core::View4<double> packed(both.cells().view(0).origin(), 0, 0, 0, cells.x, cells.y, cells.z, 1);
  const mesh::FieldView<double> rows(plan.real(), 0, {&packed, 1}, nullptr);
  Field<std::complex<double>> apart(plan.spectral(), 0);

  EXPECT_THAT(refusal_of(plan, rows, both.modes()), HasSubstr("each plane of modes begins where"));
  EXPECT_EQ(refusal_of(plan, rows, apart), "");
}

TEST_F(InPlaceMemory, HasNoGhostCells) {
  EXPECT_THROW(FftPlan<double>(self, one_block(cells), {.ghost = 1, .in_place = true}), core::Error);
}

}  // namespace
}  // namespace sidestream::fft
