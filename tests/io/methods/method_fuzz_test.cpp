// Random files by every method, compared byte for byte with what they must hold.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "io/array_samples.hpp"
#include "io/temporary_folder.hpp"

namespace sidestream::test {

namespace {

using io::Array;
using io::ArrayFile;
using io::Container;
using io::ElementType;

const std::vector<std::string> communicator_names = {"world", "dup", "Cartesian", "split of Cartesian", "reversed"};

comm::Communicator communicator_named(const std::string& name) {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (name == "reversed") return world.split(0, -world.rank());
  if (name == "dup") return world.duplicate();
  if (name == "world") return comm::Communicator(MPI_COMM_WORLD);
  int sides[2] = {0, 0}, periodic[2] = {1, 0};
  MPI_Dims_create(world.size(), 2, sides);
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periodic, 0, &grid);
  const comm::Communicator cartesian(grid);
  MPI_Comm_free(&grid);
  return name == "Cartesian" ? cartesian.duplicate() : cartesian.split(0);
}

struct SampleFile {
  std::vector<SampleGroup> groups;
  ArrayFile file;
  Offsets offsets = std::make_shared<std::vector<std::int64_t>>();
};

class Maker {
 public:
  Maker(Dice& dice, const comm::Communicator& comm, Container container) : dice_(dice), comm_(comm) {
    sample_.file.container = container;
  }

  SampleFile operator()() {
    std::vector<int> owners;
    for (int rank = 0; rank < comm_.size(); ++rank)
      if (dice_.of(0, 3) > 0) owners.push_back(rank);
    if (owners.empty()) owners.push_back(comm_.size() - 1);
    const auto groups = static_cast<std::size_t>(dice_.of(1, 3));
    for (std::size_t g = 0; g < groups; ++g) {
      const auto kind = dice_.of(0, 3);
      SampleGroup group = kind == 0 ? blocks(g, owners) : kind == 1 ? flat_blocks(g, owners) : packed(g, owners);
      if (dice_.of(0, 1) == 1) group.group.checksums = fmt::format("checksums{}", g);
      sample_.groups.push_back(std::move(group));
    }
    finish();
    return std::move(sample_);
  }

 private:
  void finish() {
    for (SampleGroup& sample : sample_.groups) {
      sample.group.pack = [sample](std::size_t array, std::size_t run, std::span<std::byte> out) {
        sample.put(array, sample.group.runs[run], out);
      };
      sample_.file.groups.push_back(sample.group);
    }
    const Container container = sample_.file.container;
    if (container == Container::hdf5) sample_.file.create = hdf5_maker(sample_.offsets);
    if (container == Container::netcdf) sample_.file.create = netcdf_maker(sample_.offsets);
    if (container == Container::raw)
      sample_.file.create = raw_maker(sample_.offsets, static_cast<std::uint64_t>(dice_.of(0, 1'000'000)));
  }

  std::string name_of(std::size_t group, std::int64_t array) const {
    return sample_.file.container == Container::hdf5 && group % 2 == 1 ? fmt::format("group{}/array{}", group, array)
                                                                       : fmt::format("array{}_{}", group, array);
  }

  // Any numbers in rows of any shape.
  SampleGroup packed(std::size_t g, const std::vector<int>& owners) {
    SampleGroup sample;
    Array array{
        "",
        dice_.one_of<ElementType>({ElementType::float32, ElementType::float64, ElementType::int32, ElementType::int64}),
        {}};
    for (auto axes = dice_.of(0, 3); axes > 0; --axes) array.row_shape.push_back(dice_.of(1, 7));
    for (auto arrays = dice_.of(1, 5), a = std::int64_t{0}; a < arrays; ++a) {
      array.name = name_of(g, a);
      sample.group.arrays.push_back(array);
    }
    std::vector<std::int64_t> counts(static_cast<std::size_t>(dice_.of(0, 12)));
    for (auto& count : counts) count = dice_.of(0, 4);
    const bool needs_rows = sample_.file.container == Container::netcdf;  // where no rows mean an unlimited axis
    if (needs_rows) counts.push_back(1);
    deal_runs(sample, counts, owners, comm_.rank(), dice_);
    sample.value = [g](std::size_t a, std::int64_t row, std::int64_t e) {
      return mixed({static_cast<std::int64_t>(g), static_cast<std::int64_t>(a), row, e});
    };
    return sample;
  }

  // A row is components of a block with ghost cells.
  SampleGroup blocks(std::size_t g, const std::vector<int>& owners) {
    SampleGroup sample;
    const mesh::Int3 cells{static_cast<std::int32_t>(dice_.of(1, 6)), static_cast<std::int32_t>(dice_.of(1, 6)),
                           static_cast<std::int32_t>(dice_.of(1, 6))};
    const auto components = static_cast<int>(dice_.of(1, 5));
    const auto chosen = static_cast<std::size_t>(dice_.of(1, components));
    std::vector<std::vector<int>> of_array;
    for (auto arrays = dice_.of(1, 5), a = std::int64_t{0}; a < arrays; ++a) {
      std::vector<int> all(static_cast<std::size_t>(components));
      std::iota(all.begin(), all.end(), 0);
      dice_.shuffle(all);
      all.resize(chosen);
      if (dice_.of(0, 2) > 0) std::ranges::sort(all);
      of_array.push_back(all);
      std::vector<std::int64_t> shape{cells.z, cells.y, cells.x};
      if (chosen > 1) shape.insert(shape.begin(), static_cast<std::int64_t>(chosen));
      sample.group.arrays.push_back({name_of(g, a), ElementType::float64, shape});
    }
    deal_runs(sample, std::vector<std::int64_t>(static_cast<std::size_t>(dice_.of(1, 9)), 1), owners, comm_.rank(),
              dice_);
    const std::int64_t volume = cells.product();
    sample.value = [g, of_array, volume](std::size_t a, std::int64_t row, std::int64_t e) {
      return mixed({static_cast<std::int64_t>(g), row, of_array[a][static_cast<std::size_t>(e / volume)], e % volume});
    };
    fill_field(sample, std::vector<mesh::Int3>(sample.all_runs.size(), cells), components,
               [g, volume](const io::RowRun& run, int component, std::int64_t cell) {
                 return mixed({static_cast<std::int64_t>(g), run.first, component, cell % volume});
               });
    for (const auto& chosen_components : of_array) sample.group.in_place.push_back({*sample.field, chosen_components});
    return sample;
  }

  // A row is a cell; blocks of any shape.
  SampleGroup flat_blocks(std::size_t g, const std::vector<int>& owners) {
    SampleGroup sample;
    const auto components = static_cast<int>(dice_.of(1, 4));
    for (int c = 0; c < components; ++c) sample.group.arrays.push_back({name_of(g, c), ElementType::float64, {}});
    std::vector<mesh::Int3> shapes(static_cast<std::size_t>(dice_.of(1, 7)));
    std::vector<std::int64_t> counts;
    for (auto& shape : shapes) {
      shape = {static_cast<std::int32_t>(dice_.of(1, 5)), static_cast<std::int32_t>(dice_.of(1, 5)),
               static_cast<std::int32_t>(dice_.of(1, 5))};
      counts.push_back(shape.product());
    }
    deal_runs(sample, counts, owners, comm_.rank(), dice_);
    sample.value = [g](std::size_t a, std::int64_t row, std::int64_t) {
      return mixed({static_cast<std::int64_t>(g), static_cast<std::int64_t>(a), row});
    };
    fill_field(sample, shapes, components, [g](const io::RowRun& run, int component, std::int64_t cell) {
      return mixed({static_cast<std::int64_t>(g), component, run.first + cell});
    });
    for (int c = 0; c < components; ++c) sample.group.in_place.push_back({*sample.field, {c}});
    return sample;
  }

  // Block r of this rank is its run r; ghost cells hold what must not be seen in the file.
  template <typename Value>
  void fill_field(SampleGroup& sample, const std::vector<mesh::Int3>& shapes, int components, Value value) {
    std::vector<mesh::Box> boxes;
    std::vector<std::int32_t> owners;
    std::size_t own = 0;
    mesh::Int3 corner{0, 0, 0}, extent{1, 1, 1};
    for (std::size_t r = 0; r < shapes.size(); ++r) {
      const bool is_mine = own < sample.group.runs.size() && sample.group.runs[own].number == sample.all_runs[r].number;
      own += is_mine ? 1 : 0;
      boxes.push_back({corner, {corner.x + shapes[r].x, shapes[r].y, shapes[r].z}});
      owners.push_back(is_mine ? comm_.rank() : comm_.size());
      corner.x += shapes[r].x;
      extent = {corner.x, std::max(extent.y, shapes[r].y), std::max(extent.z, shapes[r].z)};
    }
    const mesh::Layout layout(mesh::domain_of(extent), {}, boxes, owners);
    sample.field = std::make_shared<mesh::Field<double>>(layout, comm_.rank(), components,
                                                         static_cast<std::int32_t>(dice_.of(0, 4)));
    std::ranges::fill(sample.field->all(), -1e300);
    for (int b = 0; b < sample.field->blocks(); ++b) {
      const mesh::Box box = sample.field->box(b);
      for (int c = 0; c < components; ++c) {
        std::int64_t cell = 0;
        for (auto z = box.lo.z; z < box.hi.z; ++z)
          for (auto y = box.lo.y; y < box.hi.y; ++y)
            for (auto x = box.lo.x; x < box.hi.x; ++x) {
              const std::uint64_t bits = value(sample.group.runs[static_cast<std::size_t>(b)], c, cell++);
              std::memcpy(&sample.field->view(b)(c, z, y, x), &bits, sizeof bits);
            }
      }
    }
  }

  Dice& dice_;
  const comm::Communicator& comm_;
  SampleFile sample_;
};

std::vector<std::byte> expected_checksums(const SampleGroup& sample, Container container) {
  std::vector<std::uint64_t> sums;
  std::vector<std::byte> bytes;
  for (const io::RowRun& run : sample.all_runs)
    for (std::size_t a = 0; a < sample.group.arrays.size(); ++a) {
      bytes.resize(static_cast<std::size_t>(run.count * sample.group.arrays[a].row_bytes()));
      sample.put(a, run, bytes);
      const std::uint64_t sum = XXH3_64bits(bytes.data(), bytes.size());
      sums.push_back(container == Container::netcdf ? __builtin_bswap64(sum) : sum);
    }
  const auto all = std::as_bytes(std::span(sums));
  return {all.begin(), all.end()};
}

void expect_file(const std::string& path, const SampleFile& sample) {
  std::size_t next = 0;
  for (const SampleGroup& group : sample.groups) {
    if (group.group.checksums.empty()) continue;
    EXPECT_EQ(bytes_that_differ(path, (*sample.offsets)[next++], expected_checksums(group, sample.file.container)), 0)
        << group.group.checksums;
  }
  for (const SampleGroup& group : sample.groups)
    for (std::size_t a = 0; a < group.group.arrays.size(); ++a)
      EXPECT_EQ(bytes_that_differ(path, (*sample.offsets)[next++], group.bytes(a)), 0) << group.group.arrays[a].name;
  EXPECT_TRUE(io::check_commit_record(path));
}

int rounds() {
  const char* const text = std::getenv("SIDESTREAM_FUZZ_ROUNDS");
  return text == nullptr ? 300 : std::atoi(text);
}

void write_by_all_methods(int round, const std::string& folder) {
  Dice dice(static_cast<std::uint64_t>(round));
  const std::string communicator = dice.one_of(communicator_names);
  const comm::Communicator comm = communicator_named(communicator);
  const auto container = dice.one_of<Container>({Container::hdf5, Container::netcdf, Container::raw});
  const SampleFile sample = Maker(dice, comm, container)();
  for (const io::WriteMethod& method : io::write_methods()) {
    if (!method.write || std::ranges::find(method.containers, container) == method.containers.end()) continue;
    SCOPED_TRACE(fmt::format("round {}, method {}, communicator {}, container {}", round, method.name, communicator,
                             static_cast<int>(container)));
    io::WriteOptions options;
    options.method = method.name;
    options.aggregators = static_cast<int>(dice.of(0, comm.size()));
    options.buffer_bytes = dice.one_of<std::int64_t>({150, 5000, 1 << 20});
    options.is_durable = dice.of(0, 9) == 0;
    options.is_verified = dice.of(0, 1) == 0;
    const std::string path = folder + "/" + method.name;

    ASSERT_NO_THROW(io::write_array_file(comm, path, sample.file, options));

    if (comm.rank() == 0) expect_file(path, sample);
    comm.barrier();
  }
}

}  // namespace

TEST(MethodFuzz, EveryMethodWritesEveryByteOfRandomFiles) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const TemporaryFolder folder(world);

  for (int round = 0; round < rounds() && world.all(!HasFailure()); ++round) write_by_all_methods(round, folder.path());
}

}  // namespace sidestream::test
