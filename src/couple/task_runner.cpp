#include "couple/task_runner.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <utility>

#include "couple/books.hpp"
#include "couple/deadline.hpp"
#include "couple/not_numbers.hpp"
#include "couple/waiting.hpp"
#include "sidestream/analysis/painter.hpp"
#include "sidestream/comm/abandon.hpp"
#include "sidestream/comm/call_failed.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/core/under_way.hpp"
#include "sidestream/fft/engine.hpp"
#include "sidestream/io/picture_files.hpp"
#include "sidestream/io/result_file.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

// Beyond a deadline, so that a rank that waits for others in an analysis speaks first and says why; then the first.
constexpr double first_grace_s = 3.0, grace_s = 6.0;

std::string who(const Task& task) {
  return fmt::format("the task `{}` (analysis `{}`)", task.name, task.analysis_name);
}

std::string about(std::int64_t step, const comm::Communicator& group) {
  return fmt::format(
      "  --> step {}, rank {} of the {} that analyse\nhint: the run ends with it; `isolate = true` of the task makes "
      "it a "
      "job of its own; `--restart` goes on from the last checkpoint that was committed\n",
      step, group.rank(), group.size());
}

std::string text_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "there is not enough memory for it";
  const auto* ours = dynamic_cast<const core::Error*>(&error);
  if (ours == nullptr) return error.what();
  std::string text = ours->message();
  if (!ours->where().empty()) text += fmt::format(" ({})", ours->where());
  if (!ours->hint().empty()) text += fmt::format("; {}", ours->hint());
  return text;
}

io::ResultAttributes attributes_of(const Task& task, const mesh::Moment& moment) {
  io::ResultAttributes all;
  for (const auto& [name, value] : moment.attributes) all[name] = value;
  for (const auto& [name, value] : moment.words) all[name] = value;
  if (moment.scale_factor) all["scale_factor"] = *moment.scale_factor;
  all["analysis"] = task.analysis_name;
  all["task"] = task.name;
  all["step"] = moment.step;
  all["time"] = moment.time;
  all["parameters"] = task.parameters;
  all["fft_engine"] = std::string(fft::engine);
  return all;
}

}  // namespace

TaskRunner::TaskRunner(const comm::Communicator& group, io::RunFolder folder, io::EventLog& log, core::Bill& bill,
                       Session::Warn warn, double timeout_s)
    : group_(group.duplicate()),
      analysis_group_(group.duplicate()),
      folder_(std::move(folder)),
      log_(&log),
      bill_(&bill),
      warn_(std::move(warn)),
      timeout_s_(timeout_s),
      earlier_(folder_) {}

void TaskRunner::run(const Task& task, const mesh::Snapshot& snapshot, const Delivery& delivery, TaskTotals& totals) {
  const core::Bill::Part part = bill_->part("analysis", task.name);
  Finding finding = analyse(task, snapshot, delivery);
  if (settle(task, finding, totals) && task.analysis->looks_back())
    keep(task, finding.moment, std::move(finding.result));
}

Finding TaskRunner::analyse(const Task& task, const mesh::Snapshot& snapshot, const Delivery& delivery) {
  Finding finding{snapshot.moment, delivery, {}, {}, log_->seconds()};
  const core::Stopwatch watch;
  const core::Bill::Part part = bill_->part("analysis", task.name);
  const mesh::Result* earlier = task.analysis->looks_back() ? &earlier_result(task, snapshot.moment.step) : nullptr;
  log_->write("analysis_begun",
              {{"task", task.name}, {"analysis", task.analysis_name}, {"step", snapshot.moment.step}});
  bool is_in_order = true;
  try {
    const core::UnderWay under_way({who(task), about(snapshot.moment.step, group_)});
    std::optional<Deadline> deadline;
    if (task.deadline_s && !task.isolation)
      deadline.emplace(*task.deadline_s + (group_.rank() == 0 ? first_grace_s : grace_s),
                       fmt::format("error: {} takes longer than the {:.3g} s of its `deadline`\n{}", who(task),
                                   *task.deadline_s, about(snapshot.moment.step, group_)));
    finding.result = analysis::carry_out(*task.analysis, analysis_group_, snapshot, earlier);
  } catch (const std::exception& error) {
    finding.problem = "the analysis failed: " + text_of(error);
    is_in_order =
        dynamic_cast<const core::Error*>(&error) != nullptr && dynamic_cast<const comm::CallFailed*>(&error) == nullptr;
  } catch (...) {
    finding.problem = "the analysis failed: it threw what is no std::exception";
    is_in_order = false;
  }
  finding.problem = problem_of_any_rank(finding.problem, task);
  if (!finding.problem.empty() && !group_.all(is_in_order)) renew_analysis_group();
  const auto* const painter = dynamic_cast<const analysis::Painter*>(task.analysis.get());
  if (finding.problem.empty() && painter != nullptr) write_pictures(task, *painter, snapshot, finding);
  finding.compute_s = watch.seconds();
  return finding;
}

// They are too large to be kept until the result is settled, and may be made of views of the snapshot.
void TaskRunner::write_pictures(const Task& task, const analysis::Painter& painter, const mesh::Snapshot& snapshot,
                                Finding& finding) {
  const core::Bill::Part part = bill_->part("writing pictures", task.name);
  try {
    const auto picture = painter.picture(analysis_group_, snapshot, finding.result);
    io::write_pictures(analysis_group_, *picture, folder_.result(task.name, finding.moment.step));
    finding.has_pictures = true;
  } catch (const std::exception& error) {
    finding.unwritten = "its pictures were not written: " + text_of(error);
  }
}

// Whoever sees the table finds the pictures.
void TaskRunner::write(const Task& task, const std::string& path, const Finding& finding) {
  if (finding.has_pictures)
    group_.agree_on([&] {
      if (group_.rank() == 0) io::keep_pictures(path);
    });
  io::write_result(group_, path, finding.result, attributes_of(task, finding.moment));
}

bool TaskRunner::settle(const Task& task, const Finding& finding, TaskTotals& totals) {
  const core::Stopwatch watch;
  const std::int64_t step = finding.moment.step;
  const std::string path = folder_.result(task.name, step);
  const std::string not_a_number = finding.problem.empty() ? not_numbers(group_, finding.result) : "";
  std::string unwritten = finding.unwritten;
  try {
    const core::Bill::Part writing = bill_->part("writing results", task.name);
    if (finding.problem.empty() && unwritten.empty()) write(task, path, finding);
  } catch (const std::exception& error) {
    unwritten = "its result was not written: " + text_of(error);
  }
  const double compute_s = finding.compute_s + watch.seconds();
  totals.compute_s += compute_s;
  if (!finding.problem.empty()) return report_failure(task, step, finding.problem, totals), false;
  if (!unwritten.empty()) return report_unwritten(task, step, unwritten, totals), false;

  ++totals.count;
  json event = to_json(finding.moment);
  event.update({{"task", task.name},
                {"analysis", task.analysis_name},
                {"transport", finding.delivery.transport},
                {"start", finding.start},
                {"wait_s", finding.delivery.wait_s},
                {"compute_s", compute_s},
                {"bytes_in", finding.delivery.bytes},
                {"result", std::filesystem::path(path).lexically_relative(folder_.path()).string()},
                {"summary", finding.result.summary}});
  if (finding.has_pictures)
    event["pictures"] = std::filesystem::path(io::pictures_path(path)).lexically_relative(folder_.path()).string();
  if (finding.result.cut_out)
    event["cut_out"] = std::filesystem::path(io::cut_out_path(path)).lexically_relative(folder_.path()).string();
  for (const auto& [ending, bytes] : finding.result.attachments)
    event["attachments"].push_back(
        std::filesystem::path(io::attachment_path(path, ending)).lexically_relative(folder_.path()).string());
  if (!not_a_number.empty()) event["not_a_number"] = not_a_number;
  log_->write("analysis", event);
  if (!not_a_number.empty())
    warn_once(task, step, "the analysis found NaN: " + not_a_number, "the result is written as it is");
  return true;
}

void TaskRunner::keep(const Task& task, const mesh::Moment& moment, mesh::Result result) {
  result.cut_out.reset();
  result.attachments.clear();
  earlier_.keep(group_, task.name, std::move(result), attributes_of(task, moment));
}

// A run that goes on after steps in which the task was due has a result of one of them, unless somebody removed it.
const mesh::Result& TaskRunner::earlier_result(const Task& task, std::int64_t step) {
  const EarlierResults::Found found = earlier_.before(group_, task.name, step);
  const bool is_missing = found.is_first_look && found.result->columns.empty() && task.trigger.when().every > 0 &&
                          earlier_.first_step() > 0 && group_.rank() == 0;
  const std::string problem = !found.problem.empty() ? found.problem
                              : is_missing           ? "the run folder has no earlier result"
                                                     : "";
  if (problem.empty() || group_.rank() != 0) return *found.result;
  log_->write("no_earlier_result", {{"task", task.name}, {"step", step}, {"message", problem}});
  if (warn_) warn_(fmt::format("task `{}`, step {}: compares with no earlier moment: {}", task.name, step, problem));
  return *found.result;
}

void TaskRunner::report_failure(const Task& task, std::int64_t step, const std::string& message, TaskTotals& totals) {
  ++totals.failed;
  report(task, step, message, "the run goes on");
}

void TaskRunner::report_unwritten(const Task& task, std::int64_t step, const std::string& message, TaskTotals& totals) {
  ++totals.failed;
  ++totals.unwritten;
  report(task, step, message, "the run goes on, but no later checkpoint counts: a restart makes this result again");
}

void TaskRunner::report(const Task& task, std::int64_t step, const std::string& message,
                        const std::string& consequence) {
  log_->write("analysis_failed",
              {{"task", task.name}, {"analysis", task.analysis_name}, {"step", step}, {"message", message}});
  warn_once(task, step, message, consequence);
}

void TaskRunner::warn_once(const Task& task, std::int64_t step, const std::string& message,
                           const std::string& consequence) {
  if (group_.rank() == 0 && warn_ && warned_.emplace(task.name, consequence).second)
    warn_(fmt::format("task `{}`, step {}: {} (said once; {})", task.name, step, message, consequence));
}

// What failed without a word to the others, as for want of memory, may have left messages that nobody took, and that
// the next analysis would. So it has a communicator of its own, and the old one stays, lest another one get its number.
void TaskRunner::renew_analysis_group() {
  comm::abandon(std::exchange(analysis_group_, group_.duplicate()));
}

// The text of the lowest rank that has one. An analysis must fail on all ranks together; one that does not would leave
// the others waiting inside it, so this wait ends with the time-out and tells what the failing rank knows.
std::string TaskRunner::problem_of_any_rank(const std::string& mine, const Task& task) const {
  const core::Bill::Part part = bill_->part("waiting for the slowest rank's analysis", task.name);
  std::int64_t first = mine.empty() ? group_.size() : group_.rank();
  MPI_Request request = MPI_REQUEST_NULL;
  comm::check(MPI_Iallreduce(MPI_IN_PLACE, &first, 1, MPI_INT64_T, MPI_MIN, group_.raw(), &request), "MPI_Iallreduce");
  wait_for(std::span(&request, 1), timeout_s_,
           fmt::format("all ranks to end the task `{}`{}", task.name, mine.empty() ? "" : "; on this rank " + mine),
           short_pause);
  return first == group_.size() ? "" : group_.broadcast(mine, static_cast<int>(first));
}

}  // namespace sidestream::couple
