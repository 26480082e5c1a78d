// What goes wrong in an analysis stays there.
#include <cmath>
#include <new>

#include "couple/session_fixture.hpp"

namespace sidestream::couple {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Failures : public SessionTest, public testing::WithParamInterface<std::string> {
 protected:
  static Task throwing() {
    return task_of("bad", std::make_shared<test::Told>([](const auto&, const mesh::Snapshot& snapshot) {
                     if (snapshot.moment.step != 1) throw core::Error("no halo in sight", "box 3", "look elsewhere");
                   }),
                   GetParam());
  }
  static Task sound() { return task_of("good", std::make_shared<test::Digest>(), GetParam()); }
  static std::string analysing_group() { return group_of(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(By, Failures, testing::Values("in-situ", "async", "in-transit"),
                         [](const auto& one) { return test::plain(one.param); });

TEST_P(Failures, AnAnalysisThatThrowsIsReportedAndSkipped) {
  if (!allows(GetParam())) return;
  const auto totals = run(config_of({throwing(), sound()}, 1), 3);
  if (world_.rank() == 0) {
    EXPECT_EQ(totals.at(0).count, 1);
    EXPECT_EQ(totals.at(0).failed, 2);
    EXPECT_EQ(totals.at(0).unwritten, 0);  // it would fail again
    EXPECT_EQ(totals.at(1).count, 3);
  }
  EXPECT_TRUE(has_result("bad", 1));
  EXPECT_FALSE(has_result("bad", 2));
}

TEST_P(Failures, TheReportSaysWhatWhereAndWhatToDo) {
  if (!allows(GetParam())) return;
  run(config_of({throwing()}, 1), 3);
  if (world_.rank() != 0) return;

  const auto failures = events(analysing_group(), "analysis_failed");

  ASSERT_EQ(failures.size(), 2);
  EXPECT_EQ(failures[0].at("task"), "bad");
  EXPECT_EQ(failures[0].at("step"), 0);
  EXPECT_EQ(failures[0].at("message"), "the analysis failed: no halo in sight (box 3); look elsewhere");
}

TEST_P(Failures, TheUserIsWarnedOnce) {
  if (!allows(GetParam())) return;
  run(config_of({throwing()}, 1), 3);

  if (analyses(GetParam()) && world_.rank() == (GetParam() == "in-transit" ? world_.size() - 1 : 0)) {
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("task `bad`, step 0: the analysis failed: no halo in sight")));
  } else {
    EXPECT_THAT(warnings_, ElementsAre());
  }
}

TEST_P(Failures, AnExceptionOfOneRankCountsForAll) {
  if (!allows(GetParam())) return;
  const auto last_rank_throws = std::make_shared<test::Told>([](const comm::Communicator& group, const auto&) {
    if (group.rank() == group.size() - 1) throw std::runtime_error("out of luck");
  });

  const auto totals = run(config_of({task_of("odd", last_rank_throws, GetParam())}, 1), 1);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).failed, 1);
  EXPECT_EQ(events(analysing_group(), "analysis_failed").at(0).at("message"), "the analysis failed: out of luck");
}

TEST_P(Failures, WhateverIsThrownCounts) {
  if (!allows(GetParam())) return;
  const auto no_exception = std::make_shared<test::Told>([](const auto&, const auto&) { throw 3; });
  const auto hungry = std::make_shared<test::Told>([](const auto&, const auto&) { throw std::bad_alloc(); });

  const auto totals =
      run(config_of({task_of("odd", no_exception, GetParam()), task_of("hungry", hungry, GetParam()), sound()}, 1), 1);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(2).count, 1);
  const auto failures = events(analysing_group(), "analysis_failed");
  ASSERT_EQ(failures.size(), 2);
  EXPECT_EQ(failures[0].at("message"), "the analysis failed: it threw what is no std::exception");
  EXPECT_EQ(failures[1].at("message"), "the analysis failed: there is not enough memory for it");
}

// One number a rank, of which the last one's is none.
class LastIsNaN : public analysis::Analysis {
 public:
  explicit LastIsNaN(bool has_gaps) : has_gaps_(has_gaps) {}
  std::vector<std::string> fields() const override { return {"density"}; }
  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot&) const override {
    mesh::Result result;
    result.distributed = {"rank"};
    const bool is_last = comm.rank() == comm.size() - 1;
    result.add<double>("number", "", "one", {"rank"}, {1}, {is_last ? std::nan("") : 1.0});
    result.columns.back().has_gaps = has_gaps_;
    return result;
  }

 private:
  bool has_gaps_;
};

TEST_P(Failures, NaNIsReportedUnlessItStandsForAMissingValue) {
  if (!allows(GetParam())) return;
  const auto totals = run(config_of({task_of("none", std::make_shared<LastIsNaN>(false), GetParam()),
                                     task_of("gaps", std::make_shared<LastIsNaN>(true), GetParam())},
                                    1),
                          1);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).count, 1);
  const auto analyses = events(analysing_group(), "analysis");
  ASSERT_EQ(analyses.size(), 2);
  EXPECT_EQ(analyses[0].at("not_a_number"), "column `number`");
  EXPECT_FALSE(analyses[1].contains("not_a_number"));
}

TEST_P(Failures, AMissingFieldIsAFailureOfItsTaskOnly) {
  if (!allows(GetParam())) return;
  const auto nothing = std::make_shared<test::Told>([](const auto&, const auto&) {}, std::vector<std::string>{"spin"});

  const auto totals = run(config_of({task_of("spins", nothing, GetParam()), sound()}, 1), 2);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).failed, 2);
  EXPECT_EQ(totals.at(1).count, 2);
  EXPECT_EQ(events("compute", "analysis_failed").at(0).at("message"), "the snapshot has no field `spin`");
}

TEST_P(Failures, AMissingGridIsAFailureOfItsTaskOnly) {
  if (!allows(GetParam())) return;
  const auto nothing = std::make_shared<test::Told>([](const auto&, const auto&) {}, std::vector<std::string>{});
  Task elsewhere = task_of("elsewhere", nothing, GetParam());
  elsewhere.grid = "modes";

  const auto totals = run(config_of({elsewhere, sound()}, 1), 2);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).failed, 2);
  EXPECT_EQ(totals.at(1).count, 2);
  EXPECT_EQ(events("compute", "analysis_failed").at(0).at("message"), "the snapshot has no grid `modes`");
}

TEST_P(Failures, AMissingSpeciesIsAFailureOfItsTaskOnly) {
  if (!allows(GetParam())) return;
  const auto of_stars = std::make_shared<test::ParticleSums>(std::vector<std::string>{}, "stars");

  const auto totals = run(config_of({task_of("stars", of_stars, GetParam()), sound()}, 1), 2);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).failed, 2);
  EXPECT_EQ(totals.at(1).count, 2);
  EXPECT_EQ(events("compute", "analysis_failed").at(0).at("message"), "the snapshot has no species `stars`");
}

TEST_P(Failures, AResultThatCannotBeWrittenDoesNotStopTheRun) {
  if (!allows(GetParam())) return;
  if (world_.rank() == 0) {
    std::filesystem::create_directories(folder_.path() + "/results");
    std::ofstream(folder_.path() + "/results/good") << "a file where a folder should be";
  }
  world_.barrier();

  const auto totals = run(config_of({sound()}, 1), 2);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).failed, 2);
  EXPECT_EQ(totals.at(0).unwritten, 2);
  EXPECT_THAT(events(analysing_group(), "analysis_failed").at(0).at("message"), HasSubstr("was not written"));
}

}  // namespace
}  // namespace sidestream::couple
