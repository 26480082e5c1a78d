#include "couple/async/worker.hpp"

#include <chrono>
#include <memory>

#include "couple/async/cores.hpp"
#include "couple/publish/particle_cargo.hpp"
#include "sidestream/comm/progress.hpp"

namespace sidestream::couple {

namespace {

// On the clock of the other logs.
io::EventLog open_log(const Surroundings& around) {
  const std::chrono::duration<double> since(around.log.seconds());
  const auto start = io::EventLog::Clock::now() - std::chrono::duration_cast<io::EventLog::Clock::duration>(since);
  io::EventLog log("", start);
  around.roles.group().agree_on([&] {
    if (around.roles.group().rank() == 0) log = io::EventLog(around.folder.events("async"), start);
  });
  return log;
}

}  // namespace

Worker::Worker(const Surroundings& around)
    : tasks_(around.config.tasks),
      cores_(around.config.cores),
      rank_(around.roles.group().rank()),
      log_(open_log(around)),
      runner_(comm::without_progress(around.roles.group()), around.folder, log_, bill_, {}, around.config.timeout_s) {
  bill_.begin_rest();
}

void Worker::work() try {
  run_on(cores_);
  while (std::optional<Job> job = next()) do_job(std::move(*job));
} catch (...) {
  desk_.fail(std::current_exception());
}

std::optional<Job> Worker::next() {
  const core::Bill::Part part = bill_.part("idle: waiting for a publish", "simulation");
  return desk_.next();
}

// The fields are views of the buffer into which they were computed, the only copy.
void Worker::do_job(Job job) {
  BufferPool none;
  job.publish.cargo.load(none);
  const auto cargo = std::make_shared<Cargo>(std::move(job.publish.cargo));
  Found found;
  {
    const Announcement& announcement = job.publish.announcement;
    mesh::Snapshot snapshot = std::move(job.publish.head);
    snapshot.rank = rank_;
    const Route route(snapshot.levels, rank_);
    for (std::size_t f = 0; f < announcement.fields.size(); ++f)
      snapshot.add({announcement.fields[f].name, announcement.fields[f].unit},
                   [views = route.views(cargo, f)](int level) { return views[static_cast<std::size_t>(level)]; });
    add_particles(announcement.particles, *cargo, snapshot);
    found = analyse(job, snapshot);
  }
  const bool is_free = cargo.use_count() == 1;  // no analysis has kept a view
  desk_.put(std::move(found), is_free ? std::move(*cargo).release() : std::vector<Buffer>{});
}

Found Worker::analyse(Job& job, const mesh::Snapshot& snapshot) {
  const Announcement& announcement = job.publish.announcement;
  Found found{announcement.number, {}};
  for (auto& [task, result] : job.earlier) runner_.keep_read(tasks_[task], std::move(result));
  for (std::size_t t = 0; t < announcement.tasks.size(); ++t) {
    const Task& task = tasks_[announcement.tasks[t]];
    Finding finding = runner_.analyse(task, snapshot, {task.transport->name, announcement.bytes[t]});
    if (task.analysis->looks_back() && finding.problem.empty()) runner_.keep(task, finding.moment, finding.result);
    found.findings.emplace_back(announcement.tasks[t], std::move(finding));
  }
  return found;
}

}  // namespace sidestream::couple
