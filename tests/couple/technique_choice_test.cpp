#include "couple/stream/reader/technique_choice.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace {

using namespace sidestream::couple;

/// A reader that chooses for so many steps.
struct Reader {
  TechniqueTimes boxes{}, blocks{};
  double total_s = 0.0;

  // `seconds_of`: of the n-th step by a technique
  void read(int steps, const std::function<double(Technique, int)>& seconds_of) {
    for (int step = 0; step < steps; ++step) {
      const Technique technique = choose_technique(boxes, blocks);
      TechniqueTimes& times = technique == Technique::bounding_box ? boxes : blocks;
      const double seconds = seconds_of(technique, times.steps());
      times.add(seconds);
      total_s += seconds;
    }
  }
};

double seconds_of(Technique technique, Technique faster, double ratio) {
  return technique == faster ? 1.0 : ratio;
}

class TechniqueChoice : public testing::TestWithParam<Technique> {};

TEST_P(TechniqueChoice, TakesEachByTurnsAtFirst) {
  Reader reader;

  reader.read(8, [](Technique technique, int) { return seconds_of(technique, GetParam(), 10.0); });

  EXPECT_EQ(reader.boxes.steps(), 4);
  EXPECT_EQ(reader.blocks.steps(), 4);
}

TEST_P(TechniqueChoice, LosesThreePerCentToTheSlowerOneAfterThat) {
  for (const double ratio : {1.001, 1.1, 1.5, 4.0}) {
    Reader reader;
    reader.read(8, [&](Technique technique, int) { return seconds_of(technique, GetParam(), ratio); });
    reader.total_s = 0.0;

    reader.read(1000, [&](Technique technique, int) { return seconds_of(technique, GetParam(), ratio); });

    EXPECT_LE(reader.total_s, 1000.0 * 1.031) << ratio;
  }
}

TEST_P(TechniqueChoice, FindsTheFasterOneLaterWhereTheMachineWasBusyAtFirst) {
  Reader reader;

  reader.read(400, [](Technique technique, int step) {
    const bool is_disturbed = technique == GetParam() && step < 4;
    return seconds_of(technique, GetParam(), 1.3) * (is_disturbed ? 2.0 : 1.0);
  });

  const TechniqueTimes& faster = GetParam() == Technique::bounding_box ? reader.boxes : reader.blocks;
  EXPECT_GT(faster.steps(), 300);
}

// As on a link where the one has to wait for others at times: its fastest step is the faster.
TEST_P(TechniqueChoice, IsNotLedAstrayByASingleFastStep) {
  Reader reader;

  reader.read(400, [](Technique technique, int step) {
    const bool is_lucky = technique != GetParam() && step % 4 == 1;
    return is_lucky ? 0.9 : seconds_of(technique, GetParam(), 1.2);
  });

  const TechniqueTimes& faster = GetParam() == Technique::bounding_box ? reader.boxes : reader.blocks;
  EXPECT_GT(faster.steps(), 300);
}

INSTANTIATE_TEST_SUITE_P(Techniques, TechniqueChoice, testing::Values(Technique::bounding_box, Technique::write_block));

}  // namespace
