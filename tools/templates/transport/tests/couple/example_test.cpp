#include "couple/session_fixture.hpp"

namespace sidestream::couple {
namespace {

using Example = SessionTest;

TEST_F(Example, GivesTheResultsOfInSitu) {
  constexpr std::int64_t steps = 5;
  const auto digest = std::make_shared<test::Digest>();
  run(config_of({task_of("here", digest, "in-situ")}), steps, refined_snapshot_of);

  const auto totals = run(config_of({task_of("there", digest, "example")}), steps, refined_snapshot_of);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).count, steps);
  EXPECT_EQ(totals.at(0).dropped, 0);
  for (std::int64_t step = 0; step < steps; ++step) {
    mesh::Result here = io::read_result(folder_.result("here", step));
    here.attributes["task"] = "there";
    expect_equal(here, io::read_result(folder_.result("there", step)));
  }
}

TEST_F(Example, IsDoneWhereItsPublishesAreSettled) {
  Session session = start(config_of({task_of("sums", std::make_shared<test::Digest>(), "example")}));
  session.publish(snapshot_of(session.compute_group(), 0));

  session.finish();

  EXPECT_TRUE(session.outlook(session.mark()).is_done);
  world_.barrier();
  EXPECT_TRUE(has_result("sums", 0));
}

}  // namespace
}  // namespace sidestream::couple
