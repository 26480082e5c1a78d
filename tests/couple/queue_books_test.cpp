// The books of a queue by themselves: who is let in, who gives way, who begins when.
#include "couple/queue/queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "couple/queue/spill_file.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {
namespace {

using testing::HasSubstr;
using Answer = Queue::Answer;

Queue queue_with(const char* policy, std::int64_t capacity = 10) {
  return {capacity, policies().named(policy)};
}

// Each of a moment of its own.
Queue::Verdict admit(Queue& queue, std::int64_t bytes) {
  static std::int64_t step = 0;
  return queue.admit(bytes, ++step);
}

TEST(QueueBooks, RoomIsGivenBackWhenAPublishIsReceivedAndItIsDoneLater) {
  Queue queue = queue_with("block");
  EXPECT_EQ(admit(queue, 6).answer, Answer::started);
  EXPECT_EQ(admit(queue, 6).answer, Answer::full);
  EXPECT_EQ(queue.sent(), 1);

  queue.receive(1);
  EXPECT_EQ(queue.done(), 0);
  EXPECT_EQ(admit(queue, 6).queue_bytes, 6);

  queue.finish(1);
  EXPECT_EQ(queue.done(), 1);
  queue.finish(2);
  EXPECT_EQ(queue.done(), 2);
  EXPECT_EQ(admit(queue, 10).answer, Answer::started);
}

TEST(QueueBooks, WhatGivesWayIsWhatNobodyHasBegunToReceive) {
  Queue queue = queue_with("drop-oldest");
  EXPECT_EQ(admit(queue, 4).answer, Answer::started);
  EXPECT_EQ(admit(queue, 3).answer, Answer::held);
  EXPECT_EQ(admit(queue, 3).answer, Answer::held);

  const Queue::Verdict verdict = admit(queue, 5);

  EXPECT_EQ(verdict.answer, Answer::held);
  EXPECT_EQ(verdict.withdrawn.first, 2);
  EXPECT_EQ(verdict.withdrawn.last, 3);
  EXPECT_EQ(verdict.queue_bytes, 9);
  EXPECT_EQ(admit(queue, 7).answer, Answer::left_out) << "the first is under way";
  EXPECT_EQ(queue.done(), 0);
  queue.finish(1);
  EXPECT_EQ(queue.done(), 4) << "those withdrawn are nothing to wait for";
}

TEST(QueueBooks, WhatMayGiveWayBeginsWhenAllBeforeItIsDone) {
  Queue queue = queue_with("latest", 100);
  EXPECT_EQ(admit(queue, 1).answer, Answer::started);
  EXPECT_EQ(admit(queue, 1).answer, Answer::held);
  EXPECT_EQ(queue.start_next(), 0);
  EXPECT_EQ(admit(queue, 1).withdrawn.last, 2);
  queue.receive(1);
  EXPECT_EQ(queue.start_next(), 0) << "it is at work";

  queue.finish(1);

  EXPECT_EQ(queue.start_next(), 3);
  EXPECT_TRUE(queue.is_started(3));
  EXPECT_TRUE(admit(queue, 1).withdrawn.is_empty());
}

// Else the last of two that are published at each moment would be all that is ever analysed.
TEST(QueueBooks, PublishesOfOneMomentBeginAndGiveWayTogether) {
  for (const char* policy : {"latest", "drop-oldest"}) {
    Queue queue = queue_with(policy, 4);
    EXPECT_EQ(queue.admit(1, 0).answer, Answer::started);
    EXPECT_EQ(queue.admit(1, 0).answer, Answer::started) << "the moment is under way";
    EXPECT_EQ(queue.admit(1, 1).answer, Answer::held);
    const Queue::Verdict second = queue.admit(1, 1);
    EXPECT_EQ(second.answer, Answer::held);
    EXPECT_TRUE(second.withdrawn.is_empty());
    queue.finish(1);
    EXPECT_EQ(queue.start_next(), 0) << "half of the first moment is at work";

    queue.finish(2);

    EXPECT_EQ(queue.start_next(), 4) << policy;
    EXPECT_TRUE(queue.is_started(3) && queue.is_started(4));
  }
  Queue queue = queue_with("latest", 10);
  for (const std::int64_t step : {0, 1, 1}) queue.admit(1, step);
  const Queue::Verdict newest = queue.admit(1, 2);
  EXPECT_EQ(newest.withdrawn.first, 2);
  EXPECT_EQ(newest.withdrawn.last, 3);
}

TEST(QueueBooks, WhatIsStoredTakesNoRoomAndNobodyOvertakesIt) {
  Queue queue = queue_with("spill");
  EXPECT_EQ(admit(queue, 8).answer, Answer::started);
  EXPECT_EQ(admit(queue, 9).answer, Answer::stored);
  const Queue::Verdict small = admit(queue, 1);
  EXPECT_EQ(small.answer, Answer::stored);
  EXPECT_EQ(small.queue_bytes, 8);
  EXPECT_EQ(queue.start_next(), 0);

  queue.receive(1);

  EXPECT_EQ(queue.start_next(), 3) << "both fit";
  EXPECT_EQ(admit(queue, 1).answer, Answer::stored);
}

TEST(QueueBooks, AtTheEndWhatIsHeldOrStoredMayBeTakenBack) {
  for (const auto& [policy, second] : {std::pair("latest", 4), std::pair("spill", 5)}) {
    Queue queue = queue_with(policy);
    admit(queue, 6);
    admit(queue, second);

    const Range left = queue.withdraw_held();

    EXPECT_EQ(left.first, 2);
    EXPECT_EQ(left.last, 2);
    queue.finish(1);
    EXPECT_EQ(queue.done(), 2);
  }
}

class Spill : public testing::Test {
 protected:
  ~Spill() override { std::filesystem::remove_all(folder); }
  std::string folder = std::filesystem::temp_directory_path() / ("sidestream_spill_test_" + std::to_string(getpid()));
};

TEST_F(Spill, WhatIsPutThereComesBackAndTheFileHasNoName) {
  SpillFile file(folder);
  const std::vector<Word> one{1, 2, 3}, two{4, 5};
  const std::int64_t first = file.put(one), second = file.put(two);
  EXPECT_TRUE(std::filesystem::is_empty(folder));

  std::vector<Word> words(3);
  file.take(first, words);
  EXPECT_EQ(words, one);
  words.resize(2);
  file.take(second, words);
  EXPECT_EQ(words, two);
  EXPECT_EQ(file.put(one), 0) << "the space is used again";
}

TEST_F(Spill, ACargoIsTheSameAfterItWasStored) {
  const auto file = std::make_shared<SpillFile>(folder);
  BufferPool pool;
  const std::vector<Cargo::Size> sizes{{0, 3, 1}, {1, 0, 0}, {2, 2, 0}, {3, 0, 5, true}};
  Cargo cargo(sizes);
  cargo.load(pool);
  Word next = 7;
  for (const Cargo::Message& message : cargo.messages())
    for (Word& word : message.words()) word = next++;

  cargo.store(file, pool);
  Cargo other(sizes);
  other.load(pool);  // takes the memory
  cargo.load(pool);

  next = 7;
  for (const Cargo::Message& message : cargo.messages())
    for (const Word word : message.words()) EXPECT_EQ(word, next++);
  EXPECT_EQ(next, 18);
}

TEST_F(Spill, AFolderThatCannotBeIsNamed) {
  try {
    SpillFile("/proc/nowhere");
    ADD_FAILURE() << "made";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.where(), HasSubstr("/proc/nowhere"));
    EXPECT_THAT(error.hint(), HasSubstr("coupling.spill"));
  }
}

}  // namespace
}  // namespace sidestream::couple
