#include "sidestream/redistribute/data_mapping.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "redistribute/layouts.hpp"
#include "redistribute/mapping/chunk_layouts.hpp"
#include "redistribute/planner.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/mesh/forest.hpp"

namespace sidestream::redistribute {
namespace {

using mesh::Box;
using mesh::Int3;
using test::all_strategies;
using test::world;
using testing::AllOf;
using testing::HasSubstr;

/// Chunks of all ranks, by rank.
struct Chunks {
  std::vector<std::vector<Box>> owned, needed;
};

const std::vector<Box>& of_rank(const std::vector<std::vector<Box>>& chunks) {
  return chunks[static_cast<std::size_t>(world().rank())];
}

// Different for cells nearby, and held exactly by every type of element.
int value_at(Int3 cell, int component) {
  return (7 * cell.x + 31 * cell.y + 113 * cell.z + 57 * component) % 120 + 1;
}

template <typename T>
T element_of(int value) {
  if constexpr (requires { typename T::value_type; })
    return T(static_cast<typename T::value_type>(value));
  else
    return static_cast<T>(value);
}

/// Memory of chunks with the axes in any order, forwards or backwards, and gaps between the cells.
template <typename T>
struct Strided {
  Box box;
  int components;
  std::array<std::ptrdiff_t, 4> strides{};
  std::ptrdiff_t first = 0;
  std::vector<T> memory;

  Strided(const Box& its_box, int its_components, std::mt19937& random, T filling)
      : box(its_box), components(its_components) {
    const Int3 n = box.extent();
    const std::array<std::ptrdiff_t, 4> extent{n.x, n.y, n.z, components};
    std::array<std::size_t, 4> order{0, 1, 2, 3};
    std::shuffle(order.begin(), order.end(), random);
    std::ptrdiff_t stride = 1;
    for (const std::size_t axis : order) {
      stride += static_cast<std::ptrdiff_t>(random() % 2);
      const bool is_backwards = random() % 4 == 0 && extent[axis] > 0;
      strides[axis] = is_backwards ? -stride : stride;
      if (is_backwards) first += (extent[axis] - 1) * stride;
      stride *= std::max<std::ptrdiff_t>(extent[axis], 1);
    }
    memory.assign(static_cast<std::size_t>(stride) + 1, filling);
  }

  T& at(Int3 cell, int component) {
    const Int3 place = cell - box.lo;
    return memory[static_cast<std::size_t>(first + place.x * strides[0] + place.y * strides[1] + place.z * strides[2] +
                                           component * strides[3])];
  }
  template <typename Cell>
  ChunkMemory<Cell> given() {
    return {memory.data() + first, mesh::ElementTypeOf<T>::value, box.extent(), strides};
  }
};

template <typename F>
void for_each_cell_of(const Box& box, F f) {
  for (Int3 cell = box.lo; cell.z < box.hi.z; ++cell.z)
    for (cell.y = box.lo.y; cell.y < box.hi.y; ++cell.y)
      for (cell.x = box.lo.x; cell.x < box.hi.x; ++cell.x) f(cell);
}

bool is_owned(const Chunks& chunks, Int3 cell) {
  return std::ranges::any_of(chunks.owned, [&](const std::vector<Box>& boxes) {
    return std::ranges::any_of(boxes, [&](const Box& box) { return box.contains(cell); });
  });
}

// What a needed cell holds afterwards, by looking at every chunk there is; 0: what it held before.
int expected_at(const DataDescription& data, const Chunks& chunks, Int3 cell, int component) {
  for (int axis = 0; axis < 3; ++axis) {
    if (data.periodic[static_cast<std::size_t>(axis)]) cell[axis] = mesh::wrapped(cell[axis], data.cells[axis]);
    if (cell[axis] < 0 || cell[axis] >= data.cells[axis]) return 0;
  }
  return is_owned(chunks, cell) ? value_at(cell, component) : 0;
}

template <typename From, typename To>
void expect_moved(DataMapping& mapping, const Chunks& chunks, std::mt19937& random) {
  const DataDescription& data = mapping.description();
  std::vector<Strided<From>> sources;
  std::vector<Strided<To>> targets;
  std::vector<OwnedMemory> from;
  std::vector<NeededMemory> to;
  for (const Box& box : mapping.owned()) {
    Strided<From> source(box, data.components, random, element_of<From>(125));
    for (int c = 0; c < data.components; ++c)
      for_each_cell_of(box, [&](Int3 cell) { source.at(cell, c) = element_of<From>(value_at(cell, c)); });
    sources.push_back(std::move(source));
  }
  const To before = element_of<To>(121);
  for (const Box& box : mapping.needed()) targets.emplace_back(box, data.components, random, before);
  for (auto& source : sources) from.push_back(source.template given<const void>());
  for (auto& target : targets) to.push_back(target.template given<void>());

  mapping.reorganise(from, to);

  int wrong = 0, touched = 0;
  for (Strided<To>& target : targets) {
    for (int c = 0; c < data.components; ++c)
      for_each_cell_of(target.box, [&](Int3 cell) {
        const int expected = expected_at(data, chunks, cell, c);
        wrong += target.at(cell, c) != (expected == 0 ? before : element_of<To>(expected));
        target.at(cell, c) = before;
      });
    touched += static_cast<int>(target.memory.size() - std::ranges::count(target.memory, before));
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(touched, 0) << "memory between the cells";
}

/// Data with chunks at random: the same on every rank.
struct Case {
  DataDescription data;
  Chunks chunks;
};

Case random_case(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned end) { return static_cast<std::int32_t>(random() % end); };
  Case one;
  const unsigned dimensions = 1 + seed % 3;
  for (unsigned axis = 0; axis < dimensions; ++axis) {
    one.data.cells[static_cast<int>(axis)] = 4 + below(9);
    one.data.periodic[axis] = below(2) == 0;
    one.data.rim[static_cast<int>(axis)] = below(3);
  }
  one.data.components = 1 + below(3);
  one.data.allows_holes = below(2) == 0;
  const auto ranks = static_cast<std::size_t>(world().size());
  one.chunks.owned.resize(ranks);
  one.chunks.needed.resize(ranks);
  const auto layout = test::random_layout(mesh::domain_of(one.data.cells), below(20), test::all_ranks(), seed,
                                          one.data.periodic, one.data.allows_holes ? 0.7 : 1.0);
  for (std::int32_t i = 0; i < layout.size(); ++i)
    one.chunks.owned[static_cast<std::size_t>(layout.owner(i))].push_back(layout.box(i));
  for (auto& chunks : one.chunks.needed)
    for (std::int32_t n = below(5); n > 0; --n) {
      Box box{{0, 0, 0}, {1, 1, 1}};
      for (unsigned a = 0; a < dimensions; ++a) {
        const int axis = static_cast<int>(a);
        const std::int32_t cells = one.data.cells[axis];
        box.lo[axis] = one.data.periodic[a] ? below(3 * static_cast<unsigned>(cells)) - cells
                                            : below(static_cast<unsigned>(cells));
        box.hi[axis] = one.data.periodic[a] ? box.lo[axis] + below(2 * static_cast<unsigned>(cells))
                                            : box.lo[axis] + below(static_cast<unsigned>(cells - box.lo[axis] + 1));
      }
      chunks.push_back(box);
    }
  return one;
}

class Mapped : public testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(Strategies, Mapped, testing::ValuesIn(all_strategies), test::name_of);

TEST_P(Mapped, RandomChunksAreThoseOfTheWhole) {
  const unsigned seeds = GetParam() == Strategy::tuned ? 6 : 40;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    Case one = random_case(seed);
    one.data.strategy = GetParam();
    DataMapping mapping(world().raw(), one.data, of_rank(one.chunks.owned), of_rank(one.chunks.needed));
    std::mt19937 random(seed + static_cast<unsigned>(1000 * world().rank()));
    expect_moved<double, double>(mapping, one.chunks, random);
    if (GetParam() == Strategy::tuned) continue;
    expect_moved<float, double>(mapping, one.chunks, random);
    expect_moved<double, float>(mapping, one.chunks, random);
    expect_moved<std::uint8_t, std::uint8_t>(mapping, one.chunks, random);
    expect_moved<std::uint16_t, float>(mapping, one.chunks, random);
    expect_moved<std::int8_t, std::int64_t>(mapping, one.chunks, random);
    expect_moved<std::complex<float>, std::complex<double>>(mapping, one.chunks, random);
    expect_moved<std::complex<double>, std::complex<double>>(mapping, one.chunks, random);
  }
}

/// The 8 x 8 cells of the paper on DDR, in rows that are dealt to the ranks.
Chunks rows_of_eight() {
  Chunks chunks;
  chunks.owned.resize(static_cast<std::size_t>(world().size()));
  chunks.needed.resize(static_cast<std::size_t>(world().size()));
  for (std::int32_t row = 0; row < 8; ++row)
    chunks.owned[static_cast<std::size_t>(row % world().size())].push_back({{0, row, 0}, {8, row + 1, 1}});
  return chunks;
}

std::string refusal_of(const DataDescription& data, const Chunks& chunks) {
  std::string text;
  try {
    DataMapping(world().raw(), data, of_rank(chunks.owned), of_rank(chunks.needed));
  } catch (const core::Error& error) {
    text = error.what();
  }
  const std::string first = world().broadcast(text);
  EXPECT_EQ(text, first) << "not the same on all ranks";
  return first;
}

TEST(DataMappingErrors, OwnedChunksThatOverlapAreNamedWithTheirRanks) {
  Chunks chunks = rows_of_eight();
  chunks.owned.back().push_back({{6, 2, 0}, {8, 4, 1}});
  const int last = world().size() - 1;

  const std::string text = refusal_of({.cells = {8, 8, 1}}, chunks);

  const std::string other =
      fmt::format("and owned chunk {} of rank {}, [6 2 0, 8 4 1) overlap in [6 ", chunks.owned.back().size() - 1, last);
  EXPECT_THAT(text, AllOf(HasSubstr("owned chunk"), HasSubstr(other)));
}

TEST(DataMappingErrors, CellsThatNobodyOwnsAreNamedWithWhoNeedsThem) {
  Chunks chunks = rows_of_eight();
  for (auto& boxes : chunks.owned) std::erase_if(boxes, [](const Box& box) { return box.lo.y == 5; });
  chunks.needed.back() = {{{0, 0, 0}, {4, 4, 1}}, {{3, 4, 0}, {7, 8, 1}}};
  const std::string needs =
      fmt::format("nobody owns the cells [3 5 0, 7 6 1), which chunk 1 of rank {} needs", world().size() - 1);

  EXPECT_THAT(refusal_of({.cells = {8, 8, 1}}, chunks), HasSubstr(needs));
  EXPECT_EQ(refusal_of({.cells = {8, 8, 1}, .allows_holes = true}, chunks), "");
}

TEST(DataMappingErrors, ChunksOutsideTheWholeAreNamed) {
  Chunks chunks = rows_of_eight();
  const int last = world().size() - 1;
  chunks.needed.back() = {{{0, 0, 0}, {4, 9, 1}}};
  EXPECT_THAT(refusal_of({.cells = {8, 8, 1}, .periodic = {true, false, true}}, chunks),
              HasSubstr(fmt::format("needed chunk 0 of rank {}, [0 0 0, 4 9 1), reaches out of the whole, [0 0 0, 8 8 "
                                    "1), which is not periodic along y",
                                    last)));
  EXPECT_EQ(refusal_of({.cells = {8, 8, 1}, .periodic = {false, true, false}}, chunks), "");
  chunks.needed.back() = {{{3, 0, 0}, {2, 1, 1}}};
  EXPECT_THAT(refusal_of({.cells = {8, 8, 1}}, chunks), HasSubstr("ends before it begins"));
  chunks.needed.back() = {};
  chunks.owned.back().push_back({{0, -1, 0}, {8, 0, 1}});
  EXPECT_THAT(refusal_of({.cells = {8, 8, 1}, .periodic = {true, true, true}}, chunks),
              HasSubstr(fmt::format("of rank {}, [0 -1 0, 8 0 1), reaches out of the whole", last)));
}

TEST(DataMappingErrors, DescriptionsThatCannotBeAreRefused) {
  const Chunks nothing{std::vector<std::vector<Box>>(static_cast<std::size_t>(world().size())),
                       std::vector<std::vector<Box>>(static_cast<std::size_t>(world().size()))};
  EXPECT_THAT(refusal_of({.cells = {8, 0, 1}}, nothing), HasSubstr("8 x 0 x 1 cells cannot be"));
  EXPECT_THAT(refusal_of({.cells = {8, 8, 1}, .rim = {0, -1, 0}}, nothing), HasSubstr("rim"));
  EXPECT_THAT(refusal_of({.cells = {8, 8, 1}, .components = 0}, nothing), HasSubstr("0 components"));
  EXPECT_THAT(refusal_of({.cells = {1 << 29, 1 << 29, 1 << 29}}, nothing), HasSubstr("more than can be numbered"));
  Chunks wide = nothing;
  wide.needed.back() = {{{-5000, -5000, 0}, {5000, 5000, 1}}};
  EXPECT_THAT(refusal_of({.cells = {2, 2, 1}, .periodic = {true, true, true}, .allows_holes = true}, wide),
              HasSubstr("25000000 times"));
  wide.needed.back() = {{{-(1 << 30), 0, 0}, {1 << 30, 1, 1}}};
  EXPECT_THAT(refusal_of({.cells = {2, 2, 1}, .periodic = {true, true, true}, .allows_holes = true}, wide),
              HasSubstr("beyond 2^30 cells"));
  if (world().size() == 1) return;
  const std::int32_t rows = world().rank() == 1 ? 9 : 8;
  EXPECT_THAT(refusal_of({.cells = {8, rows, 1}}, nothing),
              AllOf(HasSubstr("rank 1 describes"), HasSubstr("8 x 9 x 1"), HasSubstr("8 x 8 x 1")));
}

std::string refusal_of(DataMapping& mapping, std::span<const OwnedMemory> from, std::span<const NeededMemory> to) {
  std::string text;
  try {
    mapping.start(from, to);
    mapping.finish();
  } catch (const core::Error& error) {
    text = error.what();
  }
  const std::string first = world().broadcast(text);
  EXPECT_EQ(text, first) << "not the same on all ranks";
  return first;
}

TEST(DataMappingErrors, MemoryThatDoesNotFitOnOneRankIsRefusedOnAllAndTheMappingGoesOn) {
  const bool is_last = world().rank() == world().size() - 1;
  Chunks chunks = rows_of_eight();
  for (auto& needed : chunks.needed) needed = {{{0, 0, 0}, {8, 8, 1}}};
  DataMapping mapping(world().raw(), {.cells = {8, 8, 1}}, of_rank(chunks.owned), of_rank(chunks.needed));
  std::vector<double> row(8, 1.0), whole(64);
  const std::vector<OwnedMemory> rows(mapping.owned().size(), packed_memory<const double>(row.data(), {8, 1, 1}));
  const std::vector<NeededMemory> wholes{packed_memory(whole.data(), {8, 8, 1})};
  std::vector<float> singles(64);

  const auto fewer = std::span(rows).first(rows.size() - (is_last ? 1 : 0));
  EXPECT_THAT(refusal_of(mapping, fewer, wholes), HasSubstr("pieces of memory for"));
  const std::vector<NeededMemory> small{packed_memory(whole.data(), {8, is_last ? 7 : 8, 1})};
  EXPECT_THAT(refusal_of(mapping, rows, small), HasSubstr("has 8 x 7 x 1 cells, the chunk 8 x 8 x 1: [0 0 0, 8 8 1)"));
  std::vector<NeededMemory> none = wholes;
  if (is_last) none[0].first = nullptr;
  EXPECT_THAT(refusal_of(mapping, rows, none), HasSubstr("there is no memory for needed chunk 0"));
  if (world().size() > 1) {
    const std::vector<NeededMemory> other{is_last ? packed_memory(singles.data(), {8, 8, 1}) : wholes[0]};
    EXPECT_THAT(refusal_of(mapping, rows, other),
                HasSubstr(fmt::format("rank 0 needs elements of float64, rank {} of float32", world().size() - 1)));
  }
  std::vector<std::int32_t> whole_numbers(64);
  EXPECT_THAT(refusal_of(mapping, rows, std::vector{packed_memory(whole_numbers.data(), {8, 8, 1})}),
              HasSubstr("elements of float64 cannot be converted to int32"));

  EXPECT_EQ(refusal_of(mapping, rows, wholes), "");
  EXPECT_EQ(std::ranges::count(whole, 1.0), 64);
  mapping.start(rows, wholes);
  EXPECT_THROW(mapping.start(rows, wholes), core::Error);
  mapping.finish();
  EXPECT_THROW(mapping.finish(), core::Error);
}

// A field with ghost cells whose inner cells are owned: the rims come from the others, and nothing else is written.
TEST_P(Mapped, RimsAreFilledInPlace) {
  const int ranks = world().size(), rank = world().rank();
  const std::int32_t cells = 6;
  const DataDescription data{.cells = {cells * ranks, 5, 4},
                             .periodic = {true, false, true},
                             .rim = {2, 1, 0},
                             .components = 2,
                             .strategy = GetParam()};
  const Box own{{cells * rank, 0, 0}, {cells * (rank + 1), 5, 4}};
  DataMapping mapping(world().raw(), data, std::vector{own}, std::vector{own});
  const Int3 n{cells + 4, 7, 4};
  std::vector<double> memory(static_cast<std::size_t>(2 * n.product()), -1.0);
  const NeededMemory whole = packed_memory(memory.data(), n);
  OwnedMemory inside = packed_memory<const double>(memory.data() + 2 + n.x, n);
  inside.cells = own.extent();
  const auto place_of = [&](Int3 cell, int c) {
    const Int3 at = cell - own.grown(data.rim).lo;
    return static_cast<std::size_t>(c * n.product() + (at.z * n.y + at.y) * n.x + at.x);
  };
  for (int c = 0; c < 2; ++c) for_each_cell_of(own, [&](Int3 cell) { memory[place_of(cell, c)] = value_at(cell, c); });

  mapping.start(std::vector{inside}, std::vector{whole});
  while (!mapping.test()) {
  }
  mapping.finish();

  int wrong = 0;
  for (int c = 0; c < 2; ++c)
    for_each_cell_of(own.grown(data.rim), [&](Int3 cell) {
      const bool is_beyond = cell.y < 0 || cell.y >= 5;
      const Int3 inner{mesh::wrapped(cell.x, data.cells.x), cell.y, cell.z};
      wrong += memory[place_of(cell, c)] != (is_beyond ? -1.0 : value_at(inner, c));
    });
  EXPECT_EQ(wrong, 0);
}

/// An intercommunicator between the first `count` ranks and the others.
class TwoGroups {
 public:
  explicit TwoGroups(int count) : is_first_(world().rank() < count), group_(world().split(is_first_ ? 0 : 1)) {
    comm::check(MPI_Intercomm_create(group_.raw(), 0, world().raw(), is_first_ ? count : 0, 7, &inter_),
                "MPI_Intercomm_create");
  }
  ~TwoGroups() { MPI_Comm_free(&inter_); }
  TwoGroups(const TwoGroups&) = delete;
  TwoGroups& operator=(const TwoGroups&) = delete;

  bool is_first() const { return is_first_; }
  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }
  MPI_Comm raw() const { return inter_; }

 private:
  bool is_first_;
  comm::Communicator group_;
  MPI_Comm inter_ = MPI_COMM_NULL;
};

TEST_P(Mapped, SendersOfOneGroupReachReceiversOfAnother) {
  for (int count = 1; count < world().size(); ++count)
    for (const bool first_sends : {true, false}) {
      const TwoGroups groups(count);
      const bool sends = groups.is_first() == first_sends;
      const mesh::Box whole = mesh::domain_of({12, 12, 1});
      const auto mine = mesh::split(whole, sends ? Int3{1, groups.size(), 1} : Int3{groups.size(), 1, 1});
      const std::vector<Box> own{mine.box(groups.rank())}, nothing;
      const DataDescription data{.cells = {12, 12, 1}, .strategy = GetParam()};

      DataMapping mapping(groups.raw(), data, sends ? own : nothing, sends ? nothing : own);

      const int senders = first_sends ? count : world().size() - count;
      EXPECT_EQ(mapping.comm().rank(), groups.rank() + (sends ? 0 : senders));
      std::vector<float> cells(static_cast<std::size_t>(own[0].volume()));
      std::vector<double> arrived(cells.size(), -1.0);
      std::size_t n = 0;
      for_each_cell_of(own[0], [&](Int3 cell) { cells[n++] = static_cast<float>(value_at(cell, 0)); });
      std::vector<OwnedMemory> from;
      std::vector<NeededMemory> to;
      if (sends)
        from.push_back(packed_memory<const float>(cells.data(), own[0].extent()));
      else
        to.push_back(packed_memory(arrived.data(), own[0].extent()));
      mapping.reorganise(from, to);
      EXPECT_TRUE(sends || std::ranges::equal(arrived, cells));
    }
}

TEST(DataMapping, MemoryThatIsNewEachTimeIsMovedAlike) {
  Chunks chunks = rows_of_eight();
  for (auto& needed : chunks.needed) needed = {{{1, 0, 0}, {4, 8, 1}}, {{2, 3, 0}, {8, 8, 1}}};
  DataMapping mapping(world().raw(), {.cells = {8, 8, 1}, .components = 2}, of_rank(chunks.owned),
                      of_rank(chunks.needed));
  std::mt19937 random(3);
  for (int turn = 0; turn < 50; ++turn) expect_moved<double, double>(mapping, chunks, random);
}

TEST(DataMapping, NoCommunicatorIsRefused) {
  EXPECT_THROW(DataMapping(MPI_COMM_NULL, {.cells = {8, 8, 1}}, {}, {}), core::Error);
}

// What one of 4096 ranks makes of the chunks of all: blocks that are owned, and the same with rims of 4 that overlap.
TEST(DataMapping, TakesUnder100BytesABoxForAQuarterOfAMillionBoxes) {
  constexpr int ranks = 4096;
  const auto blocks = mesh::Forest({1024, 1024, 1024}, 16).layout(ranks);
  ASSERT_EQ(blocks.size(), 262144);
  const DataDescription data{.cells = {1024, 1024, 1024}, .periodic = {true, true, true}, .rim = {4, 4, 4}};
  std::vector<std::int64_t> counts, part_counts;
  std::vector<Box> owned, needed;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Box> mine;
    for (const std::int32_t index : blocks.boxes_of(rank)) mine.push_back(blocks.box(index));
    const auto parts = parts_of(data, mine);
    for (const ChunkPart& part : parts) needed.push_back(part.box);
    owned.insert(owned.end(), mine.begin(), mine.end());
    counts.push_back(static_cast<std::int64_t>(mine.size()));
    part_counts.push_back(static_cast<std::int64_t>(parts.size()));
  }
  const mesh::Layout from = chunk_layout(data, owned, counts), to = chunk_layout(data, needed, part_counts);

  const Tables tables = plan_of_rank(from, to, {}, 1000);

  EXPECT_LT(from.size_bytes() + to.size_bytes() + tables.size_bytes(), 100u * (262144u + 262144u));
}

}  // namespace
}  // namespace sidestream::redistribute
