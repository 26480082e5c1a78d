// Particles travel to the sidecar that owns the leaf they are in.
#include <deque>

#include "couple/session_fixture.hpp"
#include "sidestream/core/random.hpp"

namespace sidestream::couple {
namespace {

using testing::HasSubstr;

std::shared_ptr<const analysis::Analysis> sums(std::vector<std::string> fields = {}) {
  return std::make_shared<test::ParticleSums>(std::move(fields));
}

constexpr std::int64_t bytes_of_particle = 8 * (1 + 3 + 2);

// Particles of a box depend on nothing but its place among the boxes of its level: the first box of a level has many,
// most have a few, some none.
std::int64_t particles_in(std::int32_t box) {
  return box == 0 ? 3000 : box % 4;
}

// A coordinate in a box: on its lower edge, just below its upper one (as far as these are in it when rounded), or
// anywhere between.
double coordinate_in(const mesh::Geometry& geometry, const mesh::Box& box, int axis, std::uint64_t draw) {
  const double size = geometry.cell_size(axis), lower = size * box.lo[axis], upper = size * box.hi[axis];
  const double inside = lower + (upper - lower) * (0.01 + 0.98 * core::uniform(7, 1, draw));
  const double x = draw % 5 == 0 ? lower : draw % 5 == 1 ? std::nextafter(upper, lower) : inside;
  const std::int32_t cell = cell_of(geometry, axis, x);
  return cell >= box.lo[axis] && cell < box.hi[axis] ? x : inside;
}

void add_particles_of_box(const mesh::Snapshot& snapshot, const mesh::Layout& layout, std::int32_t box,
                          mesh::Particles& particles) {
  const mesh::Geometry geometry{layout.domain(), snapshot.geometry.length, snapshot.geometry.periodic};
  for (std::int64_t n = 0; n < particles_in(box); ++n) {
    const std::int64_t id = (std::int64_t{layout.level()} << 40) + (std::int64_t{box} << 20) + n;
    particles.id.push_back(id);
    for (int axis = 0; axis < 3; ++axis)
      particles.position[static_cast<std::size_t>(axis)].push_back(coordinate_in(
          geometry, layout.box(box), axis, static_cast<std::uint64_t>(3 * id + axis + snapshot.moment.step)));
    particles.attributes[0].values.push_back(core::uniform(3, 0, static_cast<std::uint64_t>(id)) - 0.5);
    particles.attributes[1].values.push_back(1.0 / static_cast<double>(id + 1));
  }
}

mesh::Particles no_particles() {
  mesh::Particles particles;
  particles.mass = 0.1;
  particles.attributes = {{"speed", "km/s", {}}, {"age", "Myr", {}}};
  return particles;
}

class ParticleTransport : public SessionTest {
 protected:
  // `snapshot` with particles in its leaves; ranks without any have a null pointer.
  mesh::Snapshot with_particles(mesh::Snapshot snapshot, const comm::Communicator& group) {
    mesh::Particles& particles = particles_.emplace_back(no_particles());
    for (const mesh::Layout& layout : snapshot.levels)
      for (const std::int32_t box : layout.boxes_of(group.rank()))
        add_particles_of_box(snapshot, layout, box, particles);
    snapshot.add_species({mesh::dark_matter, particles.size() == 0 ? nullptr : &particles});
    return snapshot;
  }
  auto snapshots(bool is_refined) {
    return [this, is_refined](const comm::Communicator& group, std::int64_t step) {
      return with_particles(is_refined ? refined_snapshot_of(group, step) : snapshot_of(group, step), group);
    };
  }
  std::vector<TaskTotals> run_with_particles(CouplingConfig config, std::int64_t steps, bool is_refined) {
    return run(std::move(config), steps, snapshots(is_refined));
  }
  static std::int64_t particles_on(const std::vector<mesh::Layout>& levels) {
    std::int64_t count = 0;
    for (const mesh::Layout& layout : levels)
      for (std::int32_t box = 0; box < layout.size(); ++box) count += particles_in(box);
    return count;
  }

  // The results of `task` are those of `here`, none of whose particles is on a wrong rank.
  void expect_equal_results(const std::string& task, std::int64_t steps,
                            const std::function<bool(std::int64_t)>& is_there) {
    if (world_.rank() == 0)
      for (std::int64_t step = 0; step < steps; ++step) {
        if (!is_there(step)) continue;
        mesh::Result here = io::read_result(folder_.result("here", step));
        const auto counts = std::get<std::vector<std::int64_t>>(here.column("counts").values);
        EXPECT_GT(counts[0], 3000);
        EXPECT_EQ(counts[2], 0) << "strays";
        here.attributes["task"] = task;
        expect_equal(here, io::read_result(folder_.result(task, step)));
      }
    world_.barrier();
  }
  void expect_equal_results(const std::string& task, std::int64_t steps) {
    expect_equal_results(task, steps, [](std::int64_t) { return true; });
  }

  std::deque<mesh::Particles> particles_;
};

TEST_F(ParticleTransport, SumsAreTheSameWhoeverAnalyses) {
  for (const bool is_refined : {false, true}) {
    constexpr std::int64_t steps = 6;
    run_with_particles(config_of({task_of("here", sums(), "in-situ")}), steps, is_refined);
    for (const Way& way : ways()) {
      run_with_particles(config_of({task_of(way.name, sums(), way.transport),
                                    task_of("fields", std::make_shared<test::Digest>(), way.transport)},
                                   way),
                         steps, is_refined);

      expect_equal_results(way.name, steps);
    }
  }
}

TEST_F(ParticleTransport, AFullQueueAndAMeshThatChangesLoseNoParticle) {
  constexpr std::int64_t steps = 8;
  run_with_particles(config_of({task_of("here", sums({"density"}), "in-situ")}), steps, true);
  for (const std::string transport : {"async", "in-transit"})
    for (const PolicyEntry& policy : policies()) {
      if (!allows(transport)) continue;
      const std::string name = transport + "-" + policy.name;
      CouplingConfig config = config_of({task_of(name, sums({"density"}), transport)}, 1);
      config.queue_bytes = 8.0 * field_bytes + 2e4 * bytes_of_particle;
      config.when_full = &policy;
      const bool waits = policy.otherwise == PolicyEntry::Otherwise::wait;
      const auto totals = waits ? run_with_particles(std::move(config), steps, true)
                                : run_behind_a_gate(std::move(config), transport, steps, snapshots(true));

      expect_equal_results(name, steps, [&](std::int64_t step) { return has_result(name, step); });
      if (world_.rank() != 0) continue;
      EXPECT_TRUE(waits || turned_away(name, totals.at(0)) > 0) << name;
      EXPECT_EQ(totals.at(0).count + totals.at(0).dropped, steps) << name;
      EXPECT_EQ(totals.at(0).failed, 0);
      if (policy.otherwise != PolicyEntry::Otherwise::leave_out) {
        EXPECT_EQ(totals.at(0).count, steps) << name;
      }
    }
}

TEST_F(ParticleTransport, TheyTravelOnceAndAreChargedToTheFirstTaskThatReadsThem) {
  if (world_.size() == 1) return;
  run_with_particles(
      config_of({task_of("fields", std::make_shared<test::Digest>(), "in-transit"),
                 task_of("first", sums(), "in-transit"), task_of("second", sums({"density"}), "in-transit")},
                1),
      1, false);
  if (world_.rank() != 0) return;

  const std::int64_t particle_bytes = bytes_of_particle * particles_on(snapshot_of(world_, 0).levels);
  const auto publishes = events("compute", "publish");
  EXPECT_EQ(publishes.at(0).at("bytes"), 2 * field_bytes);
  EXPECT_EQ(publishes.at(1).at("bytes"), particle_bytes);
  EXPECT_EQ(publishes.at(2).at("bytes"), 0);
  EXPECT_EQ(events("sidecar", "receive").at(0).at("bytes"), 2 * field_bytes + particle_bytes);
  EXPECT_EQ(publishes.at(0).at("queue_bytes"), 2 * field_bytes + particle_bytes);
}

TEST_F(ParticleTransport, ATaskThatDoesNotReadThemDoesNotCauseThemToTravel) {
  if (world_.size() == 1) return;
  bool has_particles = false;
  const auto looks = std::make_shared<test::Told>(
      [&](const auto&, const mesh::Snapshot& snapshot) { has_particles = snapshot.particles() != nullptr; });

  const auto totals = run_with_particles(config_of({task_of("looks", looks, "in-transit")}, 1), 1, false);

  EXPECT_FALSE(has_particles);
  if (world_.rank() == 0) {
    EXPECT_EQ(totals.at(0).bytes, field_bytes);
  }
}

TEST_F(ParticleTransport, ASnapshotWithoutParticlesAndOneWithAnEmptyListArriveAsTheyAre) {
  mesh::Particles none = no_particles();
  for (const Way& way : ways()) {
    const std::string& name = way.name;
    run(config_of({task_of(name, sums(), way.transport)}, way), 2,
        [&](const comm::Communicator& group, std::int64_t step) {
          mesh::Snapshot snapshot = snapshot_of(group, step);
          const bool has_list = step == 1 && group.rank() == group.size() - 1;
          snapshot.add_species({mesh::dark_matter, has_list ? &none : nullptr});
          return snapshot;
        });
    if (world_.rank() != 0) continue;

    const auto counts_of = [&](std::int64_t step) {
      return std::get<std::vector<std::int64_t>>(io::read_result(folder_.result(name, step)).column("counts").values);
    };
    EXPECT_EQ(counts_of(0), (std::vector<std::int64_t>{0, 0, 0, 0})) << name;
    EXPECT_EQ(counts_of(1), (std::vector<std::int64_t>{0, 0, 0, 1})) << name;
  }
}

TEST_F(ParticleTransport, ParticlesThatCouldNeverFitIntoTheQueueAreAnalysedByTheRanksThatCompute) {
  if (world_.size() == 1) return;
  CouplingConfig config = config_of({task_of("large", sums(), "in-transit")}, 1);
  config.queue_bytes = static_cast<double>(bytes_of_particle * particles_on(snapshot_of(world_, 0).levels) - 1);
  Session session = start(std::move(config));
  if (session.computes()) {
    session.publish(with_particles(snapshot_of(session.compute_group(), 0), session.compute_group()));
    EXPECT_EQ(session.finish().size(), world_.rank() == 0 ? 1U : 0U);
    if (world_.rank() == 0) {
      EXPECT_THAT(warnings_, testing::Contains(HasSubstr("but the queue holds")));
      EXPECT_TRUE(has_result("large", 0));
    }
  } else {
    session.serve();
  }
}

// A session with a sidecar that is given `particles` by each rank.
class BadParticles : public ParticleTransport {
 protected:
  void expect_refused(const std::function<void(const comm::Communicator&, mesh::Particles&)>& spoil,
                      const std::string& text) {
    if (world_.size() == 1) return;
    Session session = start(config_of({task_of("sums", sums(), "in-transit")}, 1));
    if (session.computes()) {
      const mesh::Snapshot snapshot = with_particles(snapshot_of(session.compute_group(), 0), session.compute_group());
      spoil(session.compute_group(), particles_.back());
      try {
        session.publish(snapshot);
        ADD_FAILURE() << "published";
      } catch (const core::Error& error) {
        EXPECT_THAT(error.message(), HasSubstr(text));
      }
      session.finish();
    } else {
      session.serve();
    }
    world_.barrier();
  }
};

TEST_F(BadParticles, OneThatIsNotInACellOfItsRankIsAnErrorOfAllRanks) {
  for (const double x : {-1.0, 1.0, std::numeric_limits<double>::quiet_NaN()})
    expect_refused(
        [x](const comm::Communicator& group, mesh::Particles& particles) {
          if (group.rank() == group.size() - 1) particles.position[0].back() = x;
        },
        "is in no cell of rank");
}

TEST_F(BadParticles, ArraysOfUnequalLengthAreAnErrorOfAllRanks) {
  expect_refused(
      [](const comm::Communicator& group, mesh::Particles& particles) {
        if (group.rank() == group.size() - 1) particles.attributes[0].values.pop_back();
      },
      "");
}

TEST_F(BadParticles, RanksThatTellOfDifferentAttributesAreAnErrorOfAll) {
  if (world_.size() < 3) return;
  expect_refused(
      [](const comm::Communicator& group, mesh::Particles& particles) {
        if (group.rank() == 1) particles.attributes[1].unit = "Gyr";
      },
      "different mass or attributes");
}

}  // namespace
}  // namespace sidestream::couple
