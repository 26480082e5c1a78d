#include "sidestream/io/background_writer.hpp"

#include <chrono>
#include <exception>

#include "sidestream/comm/progress.hpp"
#include "sidestream/comm/threads.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::io {

namespace {

std::launch launch_policy() {
  return comm::allows_threads() ? std::launch::async : std::launch::deferred;
}

}  // namespace

BackgroundWriter::BackgroundWriter(const comm::Communicator& comm)
    : comm_(comm::without_progress(comm)), main_(comm.duplicate()) {}

BackgroundWriter::~BackgroundWriter() {
  if (writing_.valid()) writing_.wait();
}

void BackgroundWriter::start(std::function<AccessStatistics(const comm::Communicator& comm)> write) {
  core::require(!is_busy(), "one file is written in the background at a time");
  writing_ = std::async(launch_policy(), [this, write = std::move(write)] {
    const core::Stopwatch watch;
    Outcome outcome;
    try {
      outcome.statistics = write(comm_);
    } catch (const std::exception& error) {
      outcome.error = error.what();
    }
    outcome.seconds = watch.seconds();
    return outcome;
  });
  if (launch_policy() == std::launch::deferred) writing_.wait();
}

std::optional<BackgroundWriter::Outcome> BackgroundWriter::finish(bool wait) {
  if (!is_busy()) return std::nullopt;
  const auto is_done_within = [&](std::chrono::milliseconds time) {
    return writing_.wait_for(time) != std::future_status::timeout;
  };
  if (!wait && !main_.all(is_done_within(std::chrono::milliseconds(0)))) return std::nullopt;
  while (!is_done_within(std::chrono::milliseconds(1))) comm::progress(main_);
  return writing_.get();
}

}  // namespace sidestream::io
