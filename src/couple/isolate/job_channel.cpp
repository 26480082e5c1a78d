#include "couple/isolate/job_channel.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "couple/publish/block_messages.hpp"
#include "sidestream/analysis/python.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/couple/replay.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

// What Python is needed for is done by the program that has it, beside the other.
std::string program_of(const CouplingConfig& config, std::size_t task) {
  const bool is_python = config.tasks[task].analysis_name == analysis::python_analysis;
  return config.job_program + (is_python ? analysis::with_python : "");
}

constexpr double look_every_s = 5e-3;

// What a job tells when it has done its task; null for anything else, which a process that went astray may have left.
json told_in(const std::string& answer) {
  json told = json::parse(answer, nullptr, false);
  const auto is_number = [&](const char* key) { return told.contains(key) && told[key].is_number(); };
  if (!told.is_object() || !is_number("count") || !is_number("failed") || !is_number("unwritten") ||
      !is_number("compute_s") || !told.contains("warnings") || !told["warnings"].is_array())
    return {};
  return std::ranges::all_of(told["warnings"], [](const json& warning) { return warning.is_string(); }) ? told : json();
}

// What a warning of a job says comes of it: what jobs say once each, a run says once.
std::string consequence_in(const std::string& warning) {
  const std::size_t begin = warning.rfind(" (said once; ");
  return begin == std::string::npos ? "" : warning.substr(begin);
}

}  // namespace

JobChannel::JobChannel(Surroundings& around)
    : around_(around),
      group_(around.roles.group().duplicate()),
      is_near_((around.config.shares_memory && comm::sharers_of_memory(group_).front()) || group_.rank() == 0),
      are_all_near_(group_.min(std::int64_t{is_near_}) == 1) {}

// A rank of a job holds what the rank of its number in the run does.
Route JobChannel::route_for(const std::vector<mesh::Layout>& levels) const {
  return {levels, group_.rank(), levels, 0, std::vector<bool>(static_cast<std::size_t>(group_.size()), true)};
}

void JobChannel::send(Publish publish, bool is_held) {
  kept_.push_back({publish.announcement.number,
                   std::move(publish.announcement),
                   std::move(publish.head),
                   std::make_unique<Cargo>(std::move(publish.cargo)),
                   false,
                   {}});
  if (!is_held) start(kept_.back().number);
}

void JobChannel::start(std::int64_t number) {
  for (Kept& kept : kept_)
    if (kept.number <= number && !std::exchange(kept.is_offered, true)) offer(kept);
}

void JobChannel::offer(Kept& kept) {
  Loan loan;
  comm::ByRank<Word> to_first;
  kept.cargo->load(pool());
  for (const Cargo::Message& message : kept.cargo->messages()) {
    if (message.is_empty()) continue;
    loan.words = std::ssize(message.words());
    loan.particle_words = std::ssize(message.particles);
    if (!is_near_)
      to_first[0].assign(message.words().begin(), message.words().end());
    else
      for (std::size_t job = 0; job < kept.announcement.tasks.size(); ++job) loan.address = kept.cargo->lend(0);
  }
  std::vector<Loan> loans = group_.gather(std::span<const Loan>(&loan, 1));
  if (!are_all_near_) lend_from_afar(kept, comm::deliver(group_, to_first).incoming, loans);
  if (is_first()) offers_.push_back({std::move(kept.announcement), std::move(kept.head), std::move(loans)});
}

// What finds no room here is lent by nobody.
void JobChannel::lend_from_afar(Kept& kept, const comm::ByRank<Word>& sent, std::vector<Loan>& loans) {
  for (const auto& [rank, words] : sent) {
    const auto bytes = std::as_bytes(std::span(words));
    std::optional<comm::SharedMemory> memory = comm::SharedMemory::make(bytes.size());
    if (!memory || !memory->reserve(bytes.size())) continue;
    std::ranges::copy(bytes, memory->bytes().begin());
    for (std::size_t job = 0; job < kept.announcement.tasks.size(); ++job)
      loans[static_cast<std::size_t>(rank)].address = memory->lend();
    kept.from_afar.push_back(std::move(*memory));
  }
}

void JobChannel::withdraw(const Range& numbers) {
  kept_.remove_if([&](Kept& kept) {
    if (!numbers.holds(kept.number)) return false;
    pool().give_back(std::move(*kept.cargo).release());
    return true;
  });
}

bool JobChannel::is_time_to_progress() const {
  return is_first() && !offers_.empty() && since_look_.seconds() > look_every_s;
}

void JobChannel::progress() {
  advance();
}

void JobChannel::move() {
  if (is_time_to_progress()) advance();
}

// A job under way is never silent: its keeper ends it in time.
Heard JobChannel::hear() {
  const std::int64_t before = heard_.analysed;
  advance();
  heard_.is_new = heard_.analysed > before || job_ != nullptr;
  return heard_;
}

void JobChannel::advance() {
  if (around_.config.is_interrupted && around_.config.is_interrupted()) give_up();
  for (; !offers_.empty(); offers_.pop_front()) {
    Offer& offer = offers_.front();
    for (; offer.next < offer.announcement.tasks.size(); ++offer.next) {
      if (!job_ && !start_job(offer)) continue;
      since_look_.restart();
      if (!job_->has_ended()) return;
      if (job_->was_ended_late()) tell_of_end(offer, job_->problem(), false);
      conclude(offer, job_->answer(), job_->problem(), false);
      job_.reset();
    }
    heard_.received = heard_.analysed = offer.announcement.number;
  }
}

// Whoever interrupts a run does not wait for jobs: they are ended, or not begun, and a restart does them again.
void JobChannel::give_up() {
  for (; !offers_.empty(); offers_.pop_front()) {
    Offer& offer = offers_.front();
    for (; offer.next < offer.announcement.tasks.size(); ++offer.next) {
      const char* const problem =
          job_ ? "its job was ended: the run is interrupted" : "its job was left out: the run is interrupted";
      tell_of_end(offer, problem, true);
      conclude(offer, "", problem, true);
      job_.reset();
    }
    heard_.received = heard_.analysed = offer.announcement.number;
  }
}

// Returns whether there is one now.
bool JobChannel::start_job(const Offer& offer) {
  const std::size_t task = offer.announcement.tasks[offer.next];
  if (around_.config.replay)
    if (const auto end = around_.config.replay->end_of_job(around_.config.tasks[task].name, offer.head.moment.step))
      return conclude(offer, "", end->message, end->is_unwritten), false;
  const bool is_lent =
      std::ranges::all_of(offer.loans, [](const Loan& loan) { return loan.words == 0 || loan.address.key != 0; });
  const double clock_s =
      std::chrono::duration<double>(io::EventLog::Clock::now().time_since_epoch()).count() - around_.log.seconds();
  std::optional<JobMemory> memory;
  if (is_lent)
    memory = JobMemory::make(packed(JobOrder{task, offer.announcement, offer.head, offer.loans, newest_result_of(task),
                                             offer.announcement.bytes[offer.next], clock_s}));
  if (!memory) return conclude(offer, "", "there is no memory that its job could read", true), false;
  try {
    job_ =
        std::make_unique<KeptJob>(program_of(around_.config, task), around_.folder,
                                  around_.config.tasks[task].isolation->deadline_s, group_.size(), std::move(*memory));
  } catch (const core::Error& error) {
    conclude(offer, "", error.message(), true);
  }
  return job_ != nullptr;
}

// Of a job that would have gone on.
void JobChannel::tell_of_end(const Offer& offer, const std::string& problem, bool is_unwritten) {
  around_.log.write("job_ended", {{"task", around_.config.tasks[offer.announcement.tasks[offer.next]].name},
                                  {"step", offer.head.moment.step},
                                  {"message", problem},
                                  {"is_unwritten", is_unwritten}});
}

std::int64_t JobChannel::newest_result_of(std::size_t task) const {
  const auto found = newest_result_.find(task);
  return found != newest_result_.end() ? found->second : around_.runner.first_step();
}

void JobChannel::conclude(const Offer& offer, std::string answer, std::string problem, bool is_unwritten) {
  const std::size_t task = offer.announcement.tasks[offer.next];
  const std::int64_t step = offer.head.moment.step;
  const json told = told_in(answer);
  if (told.is_null()) answer.clear();
  if (answer.empty())  // what it was writing
    io::remove_all(io::temporary_name(around_.folder.result(around_.config.tasks[task].name, step)));
  else if (told.at("count") > 0)
    newest_result_[task] = step;
  ends_.push_back({offer.announcement.number, task, step, std::move(answer), std::move(problem), is_unwritten});
}

// Whoever borrowed the data is gone.
void JobChannel::release(std::int64_t number) {
  for (; !kept_.empty() && kept_.front().number <= number; kept_.pop_front()) {
    kept_.front().cargo->take_back();
    pool().give_back(std::move(*kept_.front().cargo).release());
  }
}

void JobChannel::settle(std::int64_t number) {
  for (; !ends_.empty() && ends_.front().number <= number; ends_.pop_front()) book(ends_.front());
}

void JobChannel::book(const End& end) {
  const Task& task = around_.config.tasks[end.task];
  TaskTotals& totals = around_.books.of(end.task);
  const std::int64_t unwritten = totals.unwritten;
  if (!end.answer.empty()) {
    const json told = told_in(end.answer);
    totals.count += told.at("count").get<std::int64_t>();
    totals.failed += told.at("failed").get<std::int64_t>();
    totals.unwritten += told.at("unwritten").get<std::int64_t>();
    totals.compute_s += told.at("compute_s").get<double>();
    for (const std::string warning : told.at("warnings"))
      if (around_.warn && around_.told.insert("job of " + task.name + consequence_in(warning)).second)
        around_.warn(warning);
  } else if (end.is_unwritten) {
    around_.runner.report_unwritten(task, end.step, end.problem, totals);
  } else {
    around_.runner.report_failure(task, end.step, end.problem, totals);
  }
  if (!first_unwritten_ && totals.unwritten > unwritten) first_unwritten_ = end.number;
}

// What is under way ends in time; what waits is left out.
void JobChannel::stop() {
  advance();
  for (Offer& offer : offers_) {
    const std::size_t begun = job_ && &offer == &offers_.front() ? offer.next + 1 : offer.next;
    for (std::size_t t = begun; t < offer.announcement.tasks.size(); ++t)
      around_.books.withdraw(offer.announcement.tasks[t], offer.head.moment);
    offer.announcement.tasks.resize(begun);
  }
}

}  // namespace sidestream::couple
