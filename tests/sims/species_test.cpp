// A simulation of another program with three species of particles: they migrate, travel, and come back from checkpoints
// as particles of one species do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sidestream/io/format.hpp"
#include "sidestream/io/result_file.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "support/program_runs.hpp"
#include "support/species.hpp"

namespace sidestream::sims {
namespace {

const mesh::Geometry geometry{mesh::domain_of({8, 8, 8}), {3.0, 2.0, 1.0}, {true, true, true}};
constexpr std::int64_t last_step = 6;

// Particles that drift at different speeds; those that have an attribute turn it.
class Swarm final : public Simulation {
 public:
  explicit Swarm(const comm::Communicator& comm)
      : comm_(comm), layout_(mesh::Forest({8, 8, 8}, 4).layout(comm.size())), gas_(layout_, comm.rank()) {}

  void initialize() override {
    const mesh::Snapshot empty = described();
    for (const test::SpeciesSample& sample : test::species_samples())
      species_.push_back({sample.name, test::particles_of(sample, empty, comm_.rank())});
  }
  mesh::LevelLayouts blocks_for(const mesh::Snapshot&) const override { return mesh::LevelLayouts(layout_); }
  void restore(const mesh::Snapshot& state) override {
    for (const mesh::Species& species : state.species()) species_.push_back({species.name(), species.take()});
    step_ = state.moment.step;
  }
  void advance() override {
    ++step_;
    for (auto& [name, particles] : species_) {
      for (std::size_t p = 0; p < particles.size(); ++p)
        for (std::size_t axis = 0; axis < 3; ++axis)
          particles.position[axis][p] += 0.01 * static_cast<double>(particles.id[p] % 17) + 0.1 / 3.0;
      for (auto& attribute : particles.attributes)
        for (double& value : attribute.values) value = 1.0 / 3.0 - 0.9 * value;
      redistribute::migrate(comm_, layout_, geometry, particles);
    }
  }
  void check_state() const override {}
  mesh::Moment moment() const override { return {.step = step_, .time = static_cast<double>(step_)}; }
  double progress() const override { return static_cast<double>(step_) / last_step; }
  nlohmann::json status() const override { return {{"step", step_}}; }
  nlohmann::json summary() const override { return nlohmann::json::object(); }
  mesh::Snapshot snapshot() override {
    mesh::Snapshot snapshot = described();
    snapshot.add_stored({"dark_matter_density", "1", "of nothing", true}, {gas_}, 0);
    for (const auto& [name, particles] : species_) snapshot.add_species({name, &particles});
    return snapshot;
  }

 private:
  struct Own {
    std::string name;
    mesh::Particles particles;
  };
  mesh::Snapshot described() const {
    mesh::Snapshot snapshot;
    snapshot.moment = moment();
    snapshot.geometry = geometry;
    snapshot.levels = {layout_};
    snapshot.rank = comm_.rank();
    return snapshot;
  }

  const comm::Communicator& comm_;
  mesh::Layout layout_;
  mesh::Field<double> gas_;
  std::vector<Own> species_;
  std::int64_t step_ = 0;
};

class SwarmPlan final : public SimulationPlan {
 public:
  mesh::Int3 cells() const override { return geometry.domain.extent(); }
  double memory_bytes() const override { return 1e6; }
  couple::TimeKeeping times() const override {
    return {.has_redshift = false, .first_time = 0.0, .last_time = static_cast<double>(last_step)};
  }
  std::vector<mesh::Quantity> quantities() const override { return {{"dark_matter_density", "1", "of nothing", true}}; }
  std::vector<couple::ExpectedSpecies> species(const std::string&) const override {
    std::vector<couple::ExpectedSpecies> all;
    for (const test::SpeciesSample& sample : test::species_samples())
      all.push_back({sample.name, mesh::names_of(sample.attributes), 64.0 * static_cast<double>(sample.count)});
    return all;
  }
  nlohmann::json description() const override { return {{"cells", {8, 8, 8}}}; }
  std::unique_ptr<Simulation> make(const comm::Communicator& compute, const couple::Landings&,
                                   core::Bill&) const override {
    return std::make_unique<Swarm>(compute);
  }
};

const test::Simulations known = test::only_simulation<SwarmPlan>("swarm");

class SwarmRun : public test::ProgramRuns {
 protected:
  SwarmRun() : ProgramRuns(known) {}
};

TEST_F(SwarmRun, GoesOnFromACheckpointOnOtherRanksToTheBit) {
  for (const std::string format : {"raw", "nyx", "enzo", "sidestream"}) {
    const std::string output = "[output]\ncheckpoint = { format = \"" + format + "\", every = 2, keep = 3 }\n";
    run_whole_and_in_parts(output, 3, format + "-whole", format + "-parts");

    const auto expected = state(format + "-whole");
    EXPECT_EQ(expected.count("stars metallicity") + expected.count("tracers id"), 2U);
    EXPECT_EQ(state(format + "-parts"), expected) << format;
  }
}

TEST_F(SwarmRun, EveryTransportBringsTheHalosOfAChosenSpecies) {
  const auto tasks = [](const std::string& transport) {
    std::string text = "[run]\nmax_steps = 3\n";
    for (const std::string species : {"tracers", "dark_matter", ""})
      text += "[task.of_" + species + "]\nanalysis = \"halos\"\nfinder = \"fof\"\nfield = \"dark_matter_density\"\n" +
              "min_particles = 2\nspherical_overdensity = []\nlink = true\nevery = 1\nspecies = \"" + species +
              "\"\ntransport = \"" + transport + "\"\n";
    return text;
  };
  expect_the_same_by_every_transport(tasks);
  if (world.rank() != 0) return;
  const mesh::Result halos = io::read_result(io::RunFolder(folder / "in-situ").result("of_dark_matter", 1));
  const auto& masses = std::get<std::vector<double>>(halos.column("mass").values);
  const auto& counts = std::get<std::vector<std::int64_t>>(halos.column("particles").values);
  ASSERT_FALSE(masses.empty());
  for (std::size_t h = 0; h < masses.size(); ++h)
    EXPECT_DOUBLE_EQ(masses[h], 0.1 * static_cast<double>(counts[h]));  // which is the mass of each
}

TEST_F(SwarmRun, ASimulationOfDarkMatterDoesNotBeginWithAFileOfMore) {
  run("[run]\nmax_steps = 1\n[output]\ncheckpoint = { format = \"raw\", every = 1 }\n", "more");
  const std::string file = io::generations_in(folder / "more").front().path;
  const std::string text =
      "simulation = \"nbody\"\n[mesh]\ncells = [8, 8, 8]\nblock = 8\n"
      "[cosmology]\nbox = \"3 Mpc\"\npower = \"eisenstein-hu\"\n";

  try {
    sims::run(world, read_run(core::parse_toml(text, "run.toml")), folder / "begun", {.file = file}, {});
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("the species `stars`"));
    EXPECT_THAT(error.where(), testing::HasSubstr(file));
  }
}

TEST_F(SwarmRun, FilesOfParticlesHaveTheSpeciesThatAreChosen) {
  run("[run]\nmax_steps = 2\n[task.light]\nwrite = \"particles\"\nformat = \"raw\"\nevery = 2\n"
      "species = [\"stars\", \"tracers\"]\nparticle_numbers = [\"metallicity\"]\nparticle_share = 0.5\n",
      "chosen");

  const auto file = io::open_snapshot_file(folder / "chosen/light/" + io::formats().named("raw").plotfile->of(2));

  const std::vector<io::FileSpecies> species = io::species_in(file->description());
  ASSERT_EQ(species.size(), 2U);
  EXPECT_EQ(species[0].name, "stars");
  EXPECT_EQ(species[0].numbers, std::vector<std::string>{"metallicity"});
  EXPECT_EQ(species[1].name, "tracers");
  EXPECT_NEAR(static_cast<double>(species[1].particles), 150.0, 5.0 * std::sqrt(75.0));
}

}  // namespace
}  // namespace sidestream::sims
