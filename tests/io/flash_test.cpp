// FLASH files of all kinds: what is written comes back.
#include <set>

#include "flash_fixture.hpp"
#include "format_fixture.hpp"
#include "io/formats/flash/flash_tables.hpp"
#include "support/fields.hpp"

namespace sidestream {
namespace {

double exactly(double value) {
  return value;
}

TEST_P(FlashTest, ACheckpointComesBackBitForBitOnAnotherLayout) {
  const auto file = io::open_snapshot_file(write(sample_.content(true)));

  ASSERT_EQ(file->description().state.levels.size(), 3U);
  for (int level = 0; level < 3; ++level) {
    EXPECT_TRUE(std::ranges::equal(file->description().state.levels[static_cast<std::size_t>(level)].boxes(),
                                   sample_.layouts()[static_cast<std::size_t>(level)].boxes()));
    for (std::size_t field = 0; field < test::SampleContent::names.size(); ++field)
      EXPECT_EQ(cells_that_differ(*file, level, field, exactly), 0);
  }
  EXPECT_NO_THROW(file->verify(comm_.rank(), comm_.size()));
}

TEST_P(FlashTest, ACheckpointKeepsEverythingThatARestartNeeds) {
  const test::FileState content = sample_.content(true);
  const auto file = io::open_snapshot_file(write(content));

  const io::FileDescription& description = file->description();
  EXPECT_EQ(description.format, GetParam());
  EXPECT_EQ(description.kind, io::FileKind::checkpoint);
  EXPECT_EQ(description.state.moment.step, content.state.moment.step);
  EXPECT_EQ(description.state.state_numbers, content.state.state_numbers);
  EXPECT_EQ(description.state.texts, content.choice.texts);
  EXPECT_EQ(description.state.geometry.length, content.state.geometry.length);
  EXPECT_EQ(description.state.geometry.domain, content.state.geometry.domain);
  EXPECT_EQ(description.state.length_unit, "Mpc");
  EXPECT_EQ(description.state.moment.time, content.state.moment.time);
  ASSERT_EQ(description.fields.size(), content.state.quantities().size());
  for (std::size_t f = 0; f < content.state.quantities().size(); ++f) {
    EXPECT_EQ(description.fields[f].name, content.state.quantities()[f].name);
    EXPECT_EQ(description.fields[f].unit, content.state.quantities()[f].unit);
  }
  EXPECT_EQ(description.ratios[0], (mesh::Int3{1, 1, 1}));
  EXPECT_EQ(description.ratios[2], (mesh::Int3{2, 2, 2}));
}

struct Particle {
  std::array<double, 3> position;
  double mass, xvel;
  friend bool operator==(const Particle&, const Particle&) = default;
};

TEST_P(FlashTest, ParticlesComeBackWithAllBitsOfTheirIds) {
  const auto file = io::open_snapshot_file(write(sample_.content(true)));

  const mesh::Particles read = file->read_particles(comm_.rank(), comm_.size());

  std::map<std::int64_t, Particle> expected, found;
  const test::SampleContent all(0, 1);
  for (int level = 0; level < 3; ++level) {
    const mesh::Particles& p = all.particles(level);
    for (std::size_t i = 0; i < p.size(); ++i)
      expected[p.id[i]] = {{p.position[0][i], p.position[1][i], p.position[2][i]},
                           test::SampleContent::mass_of(p.id[i]),
                           p.attribute("xvel")[i]};
  }
  for (std::size_t i = 0; i < read.size(); ++i)
    found[read.id[i]] = {{read.position[0][i], read.position[1][i], read.position[2][i]},
                         read.attribute("mass")[i],
                         read.attribute("xvel")[i]};
  EXPECT_EQ(comm_.sum(static_cast<std::int64_t>(found.size())), static_cast<std::int64_t>(expected.size()));
  EXPECT_EQ(file->description().particles, static_cast<std::int64_t>(expected.size()));
  for (const auto& [id, particle] : found) EXPECT_EQ(particle, expected.at(id));
}

TEST_P(FlashTest, EveryMethodWritesTheSameBytes) {
  const std::string first = test::content_of(write(sample_.content(true), format().methods.front()));
  comm_.barrier();

  for (const std::string& method : format().methods) {
    const std::string at = write(sample_.content(true), method);
    EXPECT_TRUE(test::content_of(at) == first) << method;
    comm_.barrier();
  }
}

TEST_P(FlashTest, PlotFilesHoldSinglePrecisionInUnitsOfFlash) {
  const test::FileState content = sample_.content(false);
  const auto file = io::open_snapshot_file(write(content));

  const io::FileDescription& description = file->description();
  EXPECT_EQ(description.kind, io::FileKind::plot_file);
  EXPECT_EQ(description.state.length_unit, "cm");
  EXPECT_DOUBLE_EQ(description.state.geometry.length[0], 16.0 * 3.085677580962325e24);
  EXPECT_EQ(description.fields[0].name, "density");
  EXPECT_EQ(description.fields[0].unit, "g/cm^3");
  EXPECT_EQ(description.fields[5].unit, "g/cm^3 (cm/s)^2");
  const double density_unit = 1.98841586e33 / std::pow(3.085677580962325e24, 3);
  const auto in_file = [&](double value) { return static_cast<double>(static_cast<float>(density_unit * value)); };
  for (int level = 0; level < 3; ++level) EXPECT_EQ(cells_that_differ(*file, level, 0, in_file), 0);
  const auto velocity = [](double value) { return static_cast<double>(static_cast<float>(1e5 / 0.5 * value)); };
  EXPECT_EQ(cells_that_differ(*file, 1, 2, velocity), 0);
}

TEST_P(FlashTest, UniformMeshesWithoutParticlesComeBack) {
  const test::SampleContent uniform(comm_.rank(), comm_.size(), 1);
  test::FileState content = uniform.content(true);
  content.particles.stored.clear();

  const auto file = io::open_snapshot_file(write(content));

  ASSERT_EQ(file->description().state.levels.size(), 1U);
  EXPECT_FALSE(file->description().has_particles);
  EXPECT_EQ(cells_that_differ(*file, 0, 4, exactly), 0);
  EXPECT_EQ(file->read_particles().size(), 0U);
}

// Beside the owners of the blocks and the checksum of the tables that hold them.
TEST_P(FlashTest, BytesDoNotDependOnTheNumberOfRanks) {
  const std::string of_all = test::content_of(write(sample_.content(true)));
  comm_.barrier();
  const comm::Communicator first = comm_.split(comm_.rank() == 0 ? 0 : -1);
  if (first.is_empty()) return;
  const test::SampleContent alone(0, 1);

  test::write(first, format(), path(), alone.content(true));

  const std::string of_one = test::content_of(path());
  ASSERT_EQ(of_one.size(), of_all.size());
  constexpr std::size_t owners_bytes = 4 * 136;
  const std::size_t record = of_one.find("sidestream-rec1"), record_end = of_one.find("sidestream-end1", record);
  ASSERT_LT(record_end, of_one.size());
  std::vector<std::size_t> different;
  for (std::size_t i = 0; i < of_one.size(); i = i + 1 == record ? record_end : i + 1)
    if (of_one[i] != of_all[i]) different.push_back(i);
  EXPECT_TRUE(different.empty() || different.back() - different.front() < owners_bytes);
}

// A level of `cells`, cut into blocks of 4 cells on the axes that have more than one, and particles in every second
// one.
struct Flat {
  Flat(const comm::Communicator& comm, mesh::Int3 cells) : domain(mesh::domain_of(cells)) {
    std::vector<mesh::Box> boxes;
    std::vector<std::int32_t> owners;
    const auto step = [&](int axis) { return std::min(4, cells[axis]); };
    for (int z = 0; z < cells.z; z += step(2))
      for (int y = 0; y < cells.y; y += step(1))
        for (int x = 0; x < cells.x; x += step(0)) {
          owners.push_back(static_cast<std::int32_t>(boxes.size() / 2) % comm.size());
          boxes.push_back({{x, y, z}, {x + step(0), y + step(1), z + step(2)}});
        }
    layout = mesh::Layout(domain, {}, boxes, owners);
    field = test::field_of_global_index(layout, comm.rank(), 2, 3);
  }
  test::FileState content() const {
    test::FileState all;
    all.state.geometry = {domain, {3.0, 2.0, 1.0}, {false, true, true}};
    test::set_levels(all.state, {layout}, field.rank());
    all.state.state_numbers = {{"t", 1.0}};
    all.choice.kind = io::FileKind::checkpoint;
    test::add(all, "density", "g", {field}, 1);
    test::add(all, "dense gas", "", {field}, 0, 0.5);
    all.particles.stored = {test::kept_elsewhere(particles)};
    return all;
  }

  mesh::Box domain;
  mesh::Layout layout;
  mesh::Field<double> field;
  mesh::Particles particles;
};

TEST_P(FlashTest, DomainsOfAnyDimensionComeBack) {
  for (const mesh::Int3 cells : {mesh::Int3{16, 1, 1}, mesh::Int3{16, 8, 1}, mesh::Int3{16, 1, 8}}) {
    const Flat flat(comm_, cells);
    const auto file = io::open_snapshot_file(write(flat.content()));

    EXPECT_EQ(file->description().state.geometry.domain, flat.domain);
    EXPECT_EQ(file->description().state.geometry.length, (std::array<double, 3>{3.0, 2.0, 1.0}));
    EXPECT_EQ(file->description().state.geometry.periodic, (mesh::Periodicity{false, true, true}));
    mesh::Field<double> again(mesh::split(flat.domain, {comm_.size(), 1, 1}), comm_.rank(), 2);
    file->read_field("dense gas", again, 0, 0);
    file->read_field("density", again, 0, 1);
    for (int b = 0; b < again.blocks(); ++b)
      core::for_each_cell(again.box(b), [&](int k, int j, int i) {
        EXPECT_EQ(again.view(b)(0, k, j, i), 0.5 * test::global_value<double>(flat.domain, {i, j, k}, 0));
        EXPECT_EQ(again.view(b)(1, k, j, i), test::global_value<double>(flat.domain, {i, j, k}, 1));
      });
    comm_.barrier();
  }
}

TEST_P(FlashTest, ASetOfNoParticlesComesBackAsOne) {
  const Flat flat(comm_, {8, 8, 8});
  const auto file = io::open_snapshot_file(write(flat.content()));

  EXPECT_TRUE(file->description().has_particles);
  EXPECT_EQ(file->description().particles, 0);
  EXPECT_EQ(file->read_particles(comm_.rank(), comm_.size()).size(), 0U);
  EXPECT_NO_THROW(file->verify(comm_.rank(), comm_.size()));
}

TEST_P(FlashTest, AParticleOutsideTheBlocksOfItsRankIsAnErrorOfAll) {
  Flat flat(comm_, {8, 8, 8});
  const auto own = flat.layout.boxes_of(comm_.size() - 1);
  const mesh::Int3 cell = flat.layout.box(own.front()).lo;
  if (comm_.rank() == 0) {
    flat.particles.id = {1};
    const bool is_alone = comm_.size() == 1;
    flat.particles.position = {
        {{is_alone ? 5.0 : 3.0 * (cell.x + 0.5) / 8}, {2.0 * (cell.y + 0.5) / 8}, {(cell.z + 0.5) / 8}}};
  }

  EXPECT_THROW(write(flat.content()), core::Error);
  EXPECT_EQ(test::entries_of(folder_.path()), 0);
}

INSTANTIATE_TEST_SUITE_P(Flash, FlashTest,
                         testing::ValuesIn(test::written({"sidestream", "flash", "flash-5d", "flash-netcdf",
                                                          "flash-netcdf-5d"})),
                         test_name);

TEST(FlashNames, TellTenThousandVariablesApartByFourLetters) {
  io::FileContent content;
  const auto add = [&](int number) {
    content.state.add_computed({"field_" + std::to_string(number), ""},
                               [](int, const mesh::Box&, const core::View4<double>&) {});
  };
  for (int number = 0; number < 10'000; ++number) add(number);

  const std::vector<std::string> names = io::flash_variables(content);

  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 10'000u);
  EXPECT_TRUE(std::ranges::all_of(names, [](const std::string& name) { return name.size() == 4; }));
  for (int number = 10'000; number < 10'002; ++number) add(number);
  EXPECT_THROW(io::flash_variables(content), core::Error);
}

}  // namespace
}  // namespace sidestream
