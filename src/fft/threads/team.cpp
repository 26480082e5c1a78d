#include "fft/threads/team.hpp"

#include <utility>

namespace sidestream::fft {

Team::Team(int size) {
  for (int thread = 1; thread < size; ++thread) helpers_.emplace_back([this, thread] { help(thread); });
}

Team::~Team() {
  {
    const std::scoped_lock lock(guard_);
    ends_ = true;
  }
  there_is_work_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Team::run_job(std::function<void(int)> job) {
  {
    const std::scoped_lock lock(guard_);
    job_ = std::move(job);
    at_work_ = static_cast<int>(helpers_.size());
    problem_ = nullptr;
    under_way_ = core::UnderWay::here();
    ++jobs_;
  }
  there_is_work_.notify_all();
  do_part(0);
  std::unique_lock lock(guard_);
  is_done_.wait(lock, [this] { return at_work_ == 0; });
  if (problem_) std::rethrow_exception(problem_);
}

void Team::do_part(int thread) {
  try {
    job_(thread);
  } catch (...) {
    const std::scoped_lock lock(guard_);
    if (!problem_) problem_ = std::current_exception();
  }
}

void Team::help(int thread) {
  for (std::uint64_t done = 0;;) {
    std::unique_lock lock(guard_);
    there_is_work_.wait(lock, [&] { return ends_ || jobs_ > done; });
    if (ends_) return;
    done = jobs_;
    lock.unlock();
    {
      const core::UnderWay same(under_way_);
      do_part(thread);
    }
    lock.lock();
    if (--at_work_ == 0) is_done_.notify_one();
  }
}

}  // namespace sidestream::fft
