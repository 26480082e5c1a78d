// Species of particles travel with the tasks that read them, whatever the transport.
#include "support/species.hpp"

#include <map>

#include "couple/session_fixture.hpp"

namespace sidestream::couple {
namespace {

// Counts, and a sum of hashes of all bits of all particles of some species, in whatever order they come.
class SpeciesDigest : public analysis::Analysis {
 public:
  explicit SpeciesDigest(std::vector<std::string> species) : species_(std::move(species)) {}

  std::vector<std::string> fields() const override { return {}; }
  std::vector<std::string> species() const override { return species_; }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    std::vector<std::int64_t> numbers;
    for (const std::string& name : species_) {
      const mesh::Particles none;
      const mesh::Particles* own = snapshot.particles(name);
      if (own == nullptr) own = &none;
      numbers.push_back(static_cast<std::int64_t>(own->size()));
      numbers.push_back(0);
      for (std::size_t p = 0; p < own->size(); ++p) numbers.back() += hash_of(*own, p);
      numbers.push_back(strays_of(comm, snapshot, *own));
    }
    comm.sum(numbers);
    if (comm.rank() != 0) return {};
    mesh::Result result;
    const auto count = static_cast<std::int64_t>(numbers.size());
    result.add("numbers", "", "particles, hashes, strays", {"number"}, {count}, std::move(numbers));
    for (const mesh::Species& species : snapshot.species()) result.attributes[species.name()] = std::int64_t{1};
    return result;
  }

 private:
  static std::int64_t hash_of(const mesh::Particles& particles, std::size_t p) {
    std::uint64_t hash = 14695981039346656037U;
    const auto add = [&](auto value) { hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 1099511628211U; };
    add(particles.id[p]);
    add(particles.mass);
    for (const auto& axis : particles.position) add(axis[p]);
    for (const auto& attribute : particles.attributes) {
      for (const char c : attribute.name + " " + attribute.unit) add(static_cast<std::uint64_t>(c));
      add(attribute.values[p]);
    }
    return static_cast<std::int64_t>(hash >> 20U);
  }
  static std::int64_t strays_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                                const mesh::Particles& particles) {
    std::int64_t strays = 0;
    for (std::size_t p = 0; p < particles.size(); ++p)
      strays += !test::owns_leaf_at(snapshot, comm.rank(),
                                    {particles.position[0][p], particles.position[1][p], particles.position[2][p]});
    return strays;
  }

  std::vector<std::string> species_;
};

std::shared_ptr<const analysis::Analysis> digest(std::vector<std::string> species) {
  return std::make_shared<SpeciesDigest>(std::move(species));
}

mesh::Snapshot with_species(const comm::Communicator& group, std::int64_t step) {
  mesh::Snapshot snapshot = refined_snapshot_of(group, step);
  snapshot.rank = group.rank();
  test::add_species_samples(snapshot, group.rank());
  return snapshot;
}

// What each task of a run reads.
const std::map<std::string, std::vector<std::string>> reads{
    {"stars", {"stars"}}, {"first", {""}}, {"all", {"black_holes", "tracers", "dark_matter", "stars"}}};

class SpeciesTransport : public SessionTest {
 protected:
  std::vector<Task> tasks(const std::string& prefix, const std::string& transport) const {
    std::vector<Task> all;
    for (const auto& [name, species] : reads) all.push_back(task_of(prefix + name, digest(species), transport));
    return all;
  }
  std::vector<std::int64_t> numbers_of(const std::string& task, std::int64_t step) const {
    return std::get<std::vector<std::int64_t>>(io::read_result(folder_.result(task, step)).column("numbers").values);
  }
  void expect_results_of_here(const std::string& prefix) const {
    for (std::int64_t step = 0; world_.rank() == 0 && step < steps; ++step)
      for (const auto& [name, species] : reads) {
        ASSERT_TRUE(has_result(prefix + name, step)) << prefix << name;
        EXPECT_EQ(numbers_of(prefix + name, step), numbers_of("here-" + name, step)) << prefix << name;
      }
  }

  static constexpr std::int64_t steps = 4;
};

TEST_F(SpeciesTransport, BringsEachTaskTheSpeciesThatItReads) {
  run(config_of(tasks("here-", "in-situ")), steps, with_species);
  if (world_.rank() == 0) {
    const std::vector<std::int64_t> all = numbers_of("here-all", 1);
    for (const std::size_t strays : {2, 5, 8, 11}) EXPECT_EQ(all[strays], 0);
    EXPECT_EQ((std::array{all[0], all[3], all[6], all[9]}), (std::array<std::int64_t, 4>{0, 300, 700, 90}));
    EXPECT_EQ(all[10], numbers_of("here-stars", 1)[1]);
    EXPECT_EQ(all[7], numbers_of("here-first", 1)[1]);
  }
  for (const Way& way : ways()) {
    run(config_of(tasks(way.name + "-", way.transport), way), steps, with_species);
    expect_results_of_here(way.name + "-");
  }
  const CouplingConfig later = config_of(tasks("later-", "file"));
  run(later, steps, with_species);
  analyze_stored(later, world_.size());
  expect_results_of_here("later-");
}

// Step 0 is at work until all are published, and the queue holds one more.
TEST_F(SpeciesTransport, StoresThemOnTheDiskWhereTheQueueIsFull) {
  run(config_of(tasks("here-", "in-situ")), steps, with_species);
  std::ptrdiff_t runs = 0;
  for (const std::string transport : {"async", "in-transit"}) {
    if (!allows(transport)) continue;
    ++runs;
    Gate gate(world_, transport == "async" ? world_.size() : world_.size() - 1);
    const auto stop = [&](const comm::Communicator& group, const mesh::Snapshot& snapshot) {
      if (snapshot.moment.step == 0) gate.enter(group);
    };
    CouplingConfig config = config_of(tasks(transport + "-", transport), 1);
    config.tasks.insert(config.tasks.begin(),
                        task_of("gate", std::make_shared<test::Told>(stop, std::vector<std::string>{}), transport));
    config.when_full = &policies().named("spill");
    config.queue_bytes = 60e3;
    Session session = start(std::move(config));
    if (session.computes()) {
      session.publish(with_species(session.compute_group(), 0));
      gate.wait_until_entered(session.compute_group());
      for (std::int64_t step = 1; step < steps; ++step) session.publish(with_species(session.compute_group(), step));
      gate.open(session.compute_group());
      session.finish();
    } else {
      session.serve();
    }
    world_.barrier();
    expect_results_of_here(transport + "-");
  }
  if (world_.rank() != 0) return;
  std::map<std::string, std::ptrdiff_t> actions;
  for (const auto& event : events("compute", "publish")) ++actions[event.at("action")];
  EXPECT_EQ(actions["stored"], runs * 2 * (std::ssize(reads) + 1)) << "two steps of each task";
  EXPECT_EQ(actions["sent"], actions["stored"]);
}

TEST_F(SpeciesTransport, SendsNoneThatNobodyReads) {
  for (const Way& way : ways()) {
    const auto totals = run(config_of({task_of(way.name, digest({"stars"}), way.transport),
                                       task_of(way.name + "-again", digest({"stars", ""}), way.transport)},
                                      way),
                            1, with_species);
    if (world_.rank() != 0) continue;
    EXPECT_EQ(totals.at(0).bytes, 90 * 8 * (4 + 4)) << "ids, positions and four numbers of the stars";
    EXPECT_EQ(totals.at(1).bytes, 700 * 8 * (4 + 3)) << "the stars travel once";
    const auto names = io::read_result(folder_.result(way.name, 0)).attributes;
    EXPECT_TRUE(names.contains("stars") && names.contains("dark_matter"));
    EXPECT_FALSE(names.contains("tracers") || names.contains("black_holes"));
  }
}

}  // namespace
}  // namespace sidestream::couple
