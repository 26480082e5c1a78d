// Species of particles in files: each comes back with its own numbers, whatever the format and the number of ranks.
#include "support/species.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/format_fixture.hpp"
#include "sidestream/io/open_snapshot.hpp"

namespace sidestream {
namespace {

using test::species_samples;
using testing::HasSubstr;

mesh::Snapshot without_particles(const comm::Communicator& comm, int levels) {
  mesh::Snapshot snapshot;
  snapshot.moment = {.step = 3, .time = 0.5};
  snapshot.geometry = {mesh::domain_of({8, 8, 8}), {3.0, 2.0, 1.0}, {true, true, true}};
  snapshot.rank = comm.rank();
  const auto is_refined = [=](int level, mesh::Int3 p) { return level + 1 < levels && p.x == 0; };
  snapshot.levels = test::refined_levels(8, 4, comm.size(), test::Blocks::leaves, is_refined);
  if (levels > 1) {
    // A leaf has one owner, whichever list it is looked up in.
    std::vector<mesh::Layout> all = test::refined_levels(8, 4, 1, test::Blocks::all, is_refined);
    for (std::size_t level = 0; level < all.size(); ++level) {
      std::vector<std::int32_t> owners;
      for (const mesh::Box& box : all[level].boxes()) {
        const std::int32_t leaf = snapshot.levels[level].find(box.lo);
        owners.push_back(leaf < 0 ? 0 : snapshot.levels[level].owner(leaf));
      }
      all[level] = {all[level].domain(),
                    all[level].periodic(),
                    {all[level].boxes().begin(), all[level].boxes().end()},
                    std::move(owners),
                    all[level].level()};
    }
    snapshot.with_refined = std::move(all);
  }
  snapshot.state_numbers = {{"third", 1.0 / 3.0}};
  snapshot.add_computed({.name = "gas_density", .unit = "1", .is_state = true},
                        [](int, const mesh::Box& box, const core::View4<double>& out) {
                          core::for_each_cell(box, [&](int k, int j, int i) { out(k, j, i) = i + 8.0 * j + k / 3.0; });
                        });
  return snapshot;
}

class Species : public testing::Test {
 protected:
  mesh::Snapshot sample(int levels = 1) const {
    mesh::Snapshot snapshot = without_particles(comm_, levels);
    test::add_species_samples(snapshot, comm_.rank());
    return snapshot;
  }
  std::string write(const mesh::Snapshot& snapshot, io::FileChoice choice) const {
    const io::Format& format = *choice.format;
    const std::string path =
        folder_ / (choice.kind == io::FileKind::plot_file ? format.plotfile : format.checkpoint)->of(3);
    io::write_snapshot(comm_, snapshot, choice, path);
    comm_.barrier();
    return path;
  }
  static const io::Format& raw() { return io::formats().named("raw"); }
  static std::vector<const io::Format*> formats_of_checkpoints() {
    std::vector<const io::Format*> all;
    for (const io::Format& format : io::formats())
      if (format.checkpoint) all.push_back(&format);
    return all;
  }
  void expect_error(const std::function<void()>& work, const std::string& text, const std::string& hint) const {
    try {
      work();
      ADD_FAILURE() << "no error";
    } catch (const core::Error& error) {
      EXPECT_THAT(error.message(), HasSubstr(text));
      EXPECT_THAT(error.hint(), HasSubstr(hint));
    }
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
};

TEST_F(Species, OfACheckpointComeBackBitForBitOnAnyNumberOfRanks) {
  const auto formats = formats_of_checkpoints();
  EXPECT_GE(formats.size(), 6U);
  for (const io::Format* format : formats)
    for (const int levels : {1, 2}) {
      SCOPED_TRACE(format->name);
      const std::string path = write(sample(levels), {.format = format, .kind = io::FileKind::checkpoint});
      for (int ranks = 1; ranks <= comm_.size(); ++ranks) {
        const comm::Communicator some = comm_.split(comm_.rank() < ranks ? 0 : -1);
        if (some.is_empty()) continue;
        const mesh::Snapshot state = io::open_snapshot(some, path);
        ASSERT_EQ(mesh::names_of(state.species()),
                  (std::vector<std::string>{"dark_matter", "stars", "tracers", "black_holes"}));
        for (const test::SpeciesSample& one : species_samples()) {
          const mesh::Particles& found = *state.particles(one.name);
          test::expect_sample(some, one, found, state.geometry, 3);
          for (std::size_t p = 0; p < found.size(); ++p)
            EXPECT_TRUE(test::owns_leaf_at(state, some.rank(),
                                           {found.position[0][p], found.position[1][p], found.position[2][p]}));
        }
      }
      comm_.barrier();
    }
}

// A file that was read and written again, from a copy, tells the same.
TEST_F(Species, GoThroughACopyIntoAnotherFormat) {
  for (const io::Format* format : formats_of_checkpoints()) {
    SCOPED_TRACE(format->name);
    const std::string path = write(sample(2), {.format = &raw(), .kind = io::FileKind::checkpoint});
    const mesh::Snapshot state = io::open_snapshot(comm_, path);
    const io::FileChoice choice{.format = format, .kind = io::FileKind::checkpoint};

    const mesh::Snapshot again = io::open_snapshot(comm_, write(io::copy_of(comm_, state, choice), choice));

    for (const test::SpeciesSample& one : species_samples())
      test::expect_sample(comm_, one, *again.particles(one.name), again.geometry, 3);
    comm_.barrier();
  }
}

// As those of a program whose state is in cells and particles alone.
TEST_F(Species, AreInACheckpointAlsoWithoutNumbersOfTheState) {
  for (const io::Format* format : formats_of_checkpoints()) {
    SCOPED_TRACE(format->name);
    mesh::Snapshot snapshot = sample();
    snapshot.state_numbers.clear();

    const auto file = io::open_snapshot_file(write(snapshot, {.format = format, .kind = io::FileKind::checkpoint}));

    EXPECT_EQ(file->description().kind, io::FileKind::checkpoint);
    comm_.barrier();
  }
}

TEST_F(Species, AreDescribedWithWhatEachHas) {
  const std::string path = write(sample(), {.format = &raw(), .kind = io::FileKind::checkpoint});

  const nlohmann::json species = io::to_json(io::open_snapshot_file(path)->description()).at("species");

  ASSERT_EQ(species.size(), 4U);
  EXPECT_EQ(species[1], nlohmann::json::parse(
                            R"({"name": "stars", "particles": 90, "mass": 0.0,
                                "numbers": ["creation_time", "mass", "momentum_x", "metallicity"]})"));
  EXPECT_EQ(species[2].at("numbers").size(), 0U);
  EXPECT_EQ(species[3].at("particles"), 0);
}

TEST_F(Species, OfACheckpointAreNotLostInAFormatThatHoldsNone) {
  io::Format format = io::formats().named("raw");
  format.holds_particles = false;

  try {
    write(sample(), {.format = &format, .kind = io::FileKind::checkpoint});
    FAIL() << "a restart would have no particles";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.message(), "a checkpoint has particles, which the format `raw` cannot hold");
  }
}

TEST_F(Species, AreChosenForAPlotFile) {
  for (const io::Format& format : io::formats()) {
    if (!format.plotfile || !format.holds_particles) continue;
    SCOPED_TRACE(format.name);
    const std::string path = write(sample(), {.format = &format,
                                              .quantities = {"gas_density"},
                                              .species = {"tracers", "stars"},
                                              .particle_numbers = {"mass"}});

    const auto file = io::open_snapshot_file(path);

    const std::vector<io::FileSpecies> found = io::species_in(file->description());
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].name, "stars");
    EXPECT_EQ(found[0].numbers, std::vector<std::string>{"mass"});
    EXPECT_EQ(found[1].name, "tracers");
    EXPECT_TRUE(found[1].numbers.empty());
    EXPECT_EQ(file->read_particles(0, 1, "tracers").size(), 300U);
    const mesh::Particles stars = file->read_particles();
    ASSERT_EQ(stars.size(), 90U);
    for (std::size_t p = 0; p < stars.size(); ++p)
      EXPECT_EQ(stars.attribute("mass")[p], species_samples()[1].attribute(1, stars.id[p], 3));
    comm_.barrier();
  }
}

// As a simulation of dark matter alone writes it, but for the name.
TEST_F(Species, AloneIsATableOfItsOwn) {
  for (const io::Format* format : formats_of_checkpoints()) {
    SCOPED_TRACE(format->name);
    const test::SpeciesSample& tracers = species_samples()[2];
    mesh::Snapshot snapshot = without_particles(comm_, 1);
    snapshot.add_species({"tracers", test::particles_of(tracers, snapshot, comm_.rank())});
    const std::string path = write(snapshot, {.format = format, .kind = io::FileKind::checkpoint});

    const auto file = io::open_snapshot_file(path);

    EXPECT_TRUE(file->description().no_particles.attributes.empty());
    const mesh::Snapshot state = io::open_snapshot(comm_, path);
    test::expect_sample(comm_, tracers, *state.particles(), state.geometry, 3);
    EXPECT_EQ(state.species().front().name(), "tracers");
    comm_.barrier();
  }
}

// What other programs see of a file of Enzo.
TEST_F(Species, HaveTheNamesOfEnzosTypesWithoutWhatWeKeepBesideThem) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"dark_matter", "stars", "tracers"}, "particle_metallicity"},
      {{"dark_matter", "tracers"}, ""},
      {{"tracers"}, ""}};
  for (const auto& [names, number] : cases) {
    const io::Format& enzo = io::formats().named("enzo");
    const std::string path = write(sample(), {.format = &enzo, .quantities = {"gas_density"}, .species = names});
    if (comm_.rank() == 0) {
      std::filesystem::remove(path + "/sidestream.json");
      const std::string parameters = path + "/" + std::filesystem::path(path).filename().string();
      std::string text = test::content_of(parameters);
      const std::string line = "SidestreamMetadata = 1\n";
      expect_error([&] { io::open_snapshot_file(path); }, "no `sidestream.json`", "without the line");
      test::overwrite(parameters, text.erase(text.find(line), line.size()));

      const auto file = io::open_snapshot_file(path);

      std::vector<std::string> found;
      for (const io::FileSpecies& one : io::species_in(file->description())) found.push_back(one.name);
      EXPECT_EQ(found, names);
      EXPECT_EQ(file->read_particles(0, 1, "tracers").size(), 300U);
      if (!number.empty()) {
        EXPECT_EQ(file->read_particles(0, 1, "stars").attribute(number).size(), 90U);
      }
      std::filesystem::remove_all(path);
    }
    comm_.barrier();
  }
}

TEST_F(Species, OfDarkMatterNeedNoName) {
  mesh::Snapshot snapshot = without_particles(comm_, 1);
  snapshot.add_species({mesh::dark_matter, test::particles_of(species_samples()[0], snapshot, comm_.rank())});
  const std::string path = write(snapshot, {.format = &raw(), .kind = io::FileKind::checkpoint});

  EXPECT_THAT(test::content_of(path), testing::Not(HasSubstr("species")));
  const mesh::Snapshot state = io::open_snapshot(comm_, path);
  EXPECT_EQ(mesh::names_of(state.species()), std::vector<std::string>{"dark_matter"});
}

TEST_F(Species, ThatThereAreNotAreNamedWithThoseThatThereAre) {
  const mesh::Snapshot snapshot = sample();
  const std::string names = "dark_matter, stars, tracers, black_holes";
  expect_error([&] { snapshot.particles("star"); }, "species `star`", names);
  expect_error([&] { write(snapshot, {.format = &raw(), .quantities = {}, .species = {"star"}}); }, "species `star`",
               names);
  const auto file = io::open_snapshot_file(write(snapshot, {.format = &raw(), .kind = io::FileKind::checkpoint}));
  expect_error([&] { file->read_particles(0, 1, "star"); }, "species `star`", names);
}

TEST_F(Species, ThatDoNotFitIntoOneTableAreRefused) {
  for (const char* name : {"momentum_x", "species"}) {
    mesh::Snapshot snapshot = sample();
    mesh::Particles others;
    others.attributes = {{name, "m/s", {}}};
    snapshot.add_species({"others", std::move(others)});

    expect_error([&] { write(snapshot, {.format = &raw(), .kind = io::FileKind::checkpoint}); }, name, "give");
  }
}

TEST_F(Species, OfRanksThatTellOfOthersAreRefusedByAll) {
  if (comm_.size() == 1) return;
  mesh::Snapshot snapshot = without_particles(comm_, 1);
  snapshot.add_species({comm_.rank() == 0 ? "stars" : "tracers", mesh::Particles{}});

  EXPECT_THROW(write(snapshot, {.format = &raw(), .kind = io::FileKind::checkpoint}), core::Error);
}

// Particles in the middle of the box, on the rank that has it, with one value for each of `attributes`.
mesh::Particles lone(const mesh::Snapshot& snapshot, int rank, std::vector<mesh::ParticleAttribute> attributes) {
  mesh::Particles particles;
  particles.attributes = std::move(attributes);
  if (!test::owns_leaf_at(snapshot, rank, {1.6, 1.1, 0.6})) return particles;
  particles.id = {7};
  particles.position = {std::vector{1.6}, std::vector{1.1}, std::vector{0.6}};
  for (mesh::ParticleAttribute& attribute : particles.attributes) attribute.values = {2.5};
  return particles;
}

TEST_F(Species, NumbersHaveNamesThatFilesCanHold) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{{{"a", "b", "a"}, "two numbers `a`"},
                                                                            {{"x"}, "two numbers `x`"},
                                                                            {{""}, "has no name"},
                                                                            {{"a\nb"}, "no text of one line"},
                                                                            {{"\xc5"}, "no text of one line"}};
  for (const auto& [names, problem] : cases)
    for (const bool is_alone : {true, false}) {
      mesh::Snapshot snapshot = without_particles(comm_, 1);
      if (!is_alone) test::add_species_samples(snapshot, comm_.rank());
      std::vector<mesh::ParticleAttribute> attributes;
      for (const std::string& name : names) attributes.push_back({name, "1", {}});
      snapshot.add_species({"odd", lone(snapshot, comm_.rank(), attributes)});
      expect_error([&] { write(snapshot, {.format = &raw(), .kind = io::FileKind::checkpoint}); }, problem, "");
    }
}

TEST_F(Species, AMassInOtherUnitsDoesNotHideThatOfOthers) {
  mesh::Snapshot snapshot = without_particles(comm_, 1);
  mesh::Particles heavy = lone(snapshot, comm_.rank(), {});
  heavy.mass = 12.5;
  snapshot.add_species({"dark_matter", std::move(heavy)});
  snapshot.add_species({"stars", lone(snapshot, comm_.rank(), {{"mass", "g", {}}})});

  expect_error([&] { write(snapshot, {.format = &raw(), .kind = io::FileKind::checkpoint}); }, "`mass` is in g",
               "Msun");
}

TEST_F(Species, ACopyOfAnOpenedSnapshotHasThemToo) {
  const std::string path = write(sample(), {.format = &raw(), .kind = io::FileKind::checkpoint});
  const mesh::Snapshot opened = io::open_snapshot(comm_, path);
  const mesh::Snapshot copy = opened;

  const auto count = [&](const mesh::Snapshot& of) {
    return comm_.sum(static_cast<std::int64_t>(of.particles("stars")->size()));
  };
  EXPECT_EQ(count(opened), 90);
  EXPECT_EQ(count(copy), 90);
}

}  // namespace
}  // namespace sidestream
