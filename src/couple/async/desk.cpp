#include "couple/async/desk.hpp"

#include <algorithm>
#include <iterator>

namespace sidestream::couple {

using Lock = std::unique_lock<std::mutex>;

void Desk::put(Job job) {
  const Lock lock(mutex_);
  put_ = job.publish.announcement.number;
  jobs_.push_back(std::move(job));
  there_is_a_job_.notify_one();
}

void Desk::start(std::int64_t number) {
  const Lock lock(mutex_);
  for (Job& job : jobs_)
    if (job.publish.announcement.number <= number) job.is_held = false;
  there_is_a_job_.notify_one();
}

void Desk::withdraw(const Range& numbers) {
  const Lock lock(mutex_);
  std::erase_if(jobs_, [&](const Job& job) { return numbers.holds(job.publish.announcement.number); });
}

std::int64_t Desk::begun() const {
  const Lock lock(mutex_);
  return begun_;
}

std::int64_t Desk::done() const {
  const Lock lock(mutex_);
  return jobs_.empty() && !is_busy_ ? put_ : done_;
}

std::optional<Found> Desk::take(std::int64_t number) {
  const Lock lock(mutex_);
  if (found_.empty() || found_.front().number > number) return std::nullopt;
  Found found = std::move(found_.front());
  found_.pop_front();
  return found;
}

std::int64_t Desk::pause() {
  const Lock lock(mutex_);
  is_paused_ = true;
  return begun_;
}

std::vector<Job> Desk::resume_until(std::int64_t number) {
  const Lock lock(mutex_);
  std::vector<Job> left;
  for (; !jobs_.empty() && jobs_.back().publish.announcement.number > number; jobs_.pop_back())
    left.push_back(std::move(jobs_.back()));
  is_paused_ = false;
  there_is_a_job_.notify_one();
  return left;
}

void Desk::close() {
  const Lock lock(mutex_);
  is_closed_ = true;
  there_is_a_job_.notify_one();
}

void Desk::check() const {
  const Lock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

std::vector<Buffer> Desk::empty_buffers() {
  const Lock lock(mutex_);
  return std::exchange(buffers_, {});
}

std::optional<Job> Desk::next() {
  Lock lock(mutex_);
  there_is_a_job_.wait(lock, [&] { return is_closed_ || (!is_paused_ && !jobs_.empty() && !jobs_.front().is_held); });
  if (is_closed_) return std::nullopt;
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  begun_ = job.publish.announcement.number;
  is_busy_ = true;
  return job;
}

void Desk::put(Found found, std::vector<Buffer> buffers) {
  const Lock lock(mutex_);
  done_ = found.number;
  is_busy_ = false;
  found_.push_back(std::move(found));
  std::ranges::move(buffers, std::back_inserter(buffers_));
}

void Desk::fail(std::exception_ptr failure) {
  const Lock lock(mutex_);
  failure_ = std::move(failure);
}

}  // namespace sidestream::couple
