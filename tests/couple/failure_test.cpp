// What goes wrong in an analysis stays there.
#include "couple/session_fixture.hpp"

namespace sidestream::couple {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Failures : public SessionTest {
 protected:
  static Task throwing(Transport transport) {
    return task_of("bad", std::make_shared<test::Told>([](const auto&, const mesh::Snapshot& snapshot) {
                     if (snapshot.moment.step != 1) throw core::Error("no halo in sight", "box 3", "look elsewhere");
                   }),
                   transport);
  }
  static Task sound(Transport transport) { return task_of("good", std::make_shared<test::Digest>(), transport); }

  int any_sidecars() const { return world_.size() > 1 ? 1 : 0; }
  Transport any_transport() const { return world_.size() > 1 ? Transport::in_transit : Transport::in_situ; }
  std::string analysing_group() const { return world_.size() > 1 ? "sidecar" : "compute"; }
};

TEST_F(Failures, AnAnalysisThatThrowsIsReportedAndSkipped) {
  for (const Transport transport : {Transport::in_situ, any_transport()}) {
    const auto totals = run(config_of({throwing(transport), sound(transport)}, any_sidecars()), 3);
    if (world_.rank() != 0) continue;

    EXPECT_EQ(totals.at(0).count, 1);
    EXPECT_EQ(totals.at(0).failed, 2);
    EXPECT_EQ(totals.at(0).unwritten, 0);  // it would fail again
    EXPECT_EQ(totals.at(1).count, 3);
  }
  EXPECT_TRUE(has_result("bad", 1));
  EXPECT_FALSE(has_result("bad", 2));
}

TEST_F(Failures, TheReportSaysWhatWhereAndWhatToDo) {
  run(config_of({throwing(any_transport())}, any_sidecars()), 3);
  if (world_.rank() != 0) return;

  const auto failures = events(analysing_group(), "analysis_failed");

  ASSERT_EQ(failures.size(), 2);
  EXPECT_EQ(failures[0].at("task"), "bad");
  EXPECT_EQ(failures[0].at("step"), 0);
  EXPECT_EQ(failures[0].at("message"), "the analysis failed: no halo in sight (box 3); look elsewhere");
}

TEST_F(Failures, TheUserIsWarnedOnce) {
  run(config_of({throwing(Transport::in_situ)}), 3);

  if (world_.rank() == 0) {
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("task `bad`, step 0: the analysis failed: no halo in sight")));
  } else {
    EXPECT_THAT(warnings_, ElementsAre());
  }
}

TEST_F(Failures, AnExceptionOfOneRankCountsForAll) {
  const auto last_rank_throws = std::make_shared<test::Told>([](const comm::Communicator& group, const auto&) {
    if (group.rank() == group.size() - 1) throw std::runtime_error("out of luck");
  });

  const auto totals = run(config_of({task_of("odd", last_rank_throws, Transport::in_situ)}), 1);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).failed, 1);
  EXPECT_EQ(events("compute", "analysis_failed").at(0).at("message"), "the analysis failed: out of luck");
}

TEST_F(Failures, AMissingFieldIsAFailureOfItsTaskOnly) {
  const auto nothing = std::make_shared<test::Told>([](const auto&, const auto&) {}, std::vector<std::string>{"spin"});

  const auto totals =
      run(config_of({task_of("spins", nothing, any_transport()), sound(any_transport())}, any_sidecars()), 2);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).failed, 2);
  EXPECT_EQ(totals.at(1).count, 2);
  EXPECT_EQ(events("compute", "analysis_failed").at(0).at("message"), "the snapshot has no field `spin`");
}

TEST_F(Failures, AResultThatCannotBeWrittenDoesNotStopTheRun) {
  if (world_.rank() == 0) {
    std::filesystem::create_directories(folder_.path() + "/results");
    std::ofstream(folder_.path() + "/results/good") << "a file where a folder should be";
  }
  world_.barrier();

  const auto totals = run(config_of({sound(any_transport())}, any_sidecars()), 2);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).failed, 2);
  EXPECT_EQ(totals.at(0).unwritten, 2);
  EXPECT_THAT(events(analysing_group(), "analysis_failed").at(0).at("message"), HasSubstr("was not written"));
}

}  // namespace
}  // namespace sidestream::couple
