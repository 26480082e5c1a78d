// Does a task of a run that goes on, by another job, with what its stream brings.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "command_line.hpp"
#include "in_parallel.hpp"
#include "programs.hpp"
#include "sidestream/analysis/python.hpp"
#include "sidestream/comm/launcher_watch.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/couple/attach.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/sims/run.hpp"

namespace {

using namespace sidestream;

constexpr int done = 0, failed = 1;

struct Arguments {
  std::string where, folder, keys, technique = "auto", stream;
  std::string task, request, compress = "none";
  std::vector<std::string> overrides;
  bool once = false, single = false;
  std::int32_t timeout_s = 30, patience_s = 0, gateways = 0;
};

void tell(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
}

bool is_address(const std::string& where) {
  return where.find("://") != std::string::npos;
}

// Tasks in Python are loaded where they are read: another one is not wanted here, and a run that may be anybody's does
// not say what is executed.
void leave_out_python(const Arguments& arguments, core::Node& root) {
  const core::Node* const tasks = root.find("task");
  if (tasks == nullptr) return;
  const std::string own = fmt::format("task.{}.file=", arguments.task);
  core::Node::Members kept;
  for (const auto& [name, task] : tasks->members()) {
    const core::Node* const analysis = task.find("analysis");
    const bool is_python = analysis != nullptr && analysis->is_text() && analysis->text() == analysis::python_analysis;
    if (!is_python || name == arguments.task) kept.emplace_back(name, task);
    if (is_python && name == arguments.task && is_address(arguments.where) &&
        std::ranges::none_of(arguments.overrides, [&](const std::string& given) { return given.starts_with(own); }))
      throw core::Error("the run names code in Python, and comes from an address", arguments.where,
                        fmt::format("say what is to be executed here: --set {}mine.py", own));
  }
  root.set("task", core::Node(std::move(kept), tasks->key()));
}

// The task of the run's own configuration, which it tells.
couple::Task task_of(const Arguments& arguments, const std::string& configuration) {
  core::Node root = core::parse_toml(configuration, "configuration of the run");
  for (const std::string& assignment : arguments.overrides) core::override_key(root, assignment);
  leave_out_python(arguments, root);
  const sims::RunConfig config = sims::read_run(root, false);
  std::vector<std::string> names;
  for (const couple::Task& task : config.coupling.tasks) {
    if (task.name == arguments.task) return task;
    names.push_back(task.name);
  }
  throw core::unknown_name("task", arguments.task, names, arguments.where);
}

// Where results go: the folder of the run, or one that is named. Collective.
io::RunFolder folder_of(const comm::Communicator& world, const Arguments& arguments, const std::string& configuration) {
  if (arguments.folder.empty()) return io::RunFolder(arguments.where);
  const io::RunFolder folder(arguments.folder);
  world.agree_on([&] {
    if (world.rank() != 0) return;
    io::make_folder(arguments.folder);
    if (!std::filesystem::exists(folder.config())) io::write_file_atomically(folder.config(), configuration);
  });
  return folder;
}

int do_task(const comm::Communicator& world, const Arguments& arguments) {
  core::Bill bill;
  world.agree_on([&] {
    if (is_address(arguments.where) && arguments.folder.empty())
      throw core::Error("the results need a folder", "", "name one with --out: the run is at an address");
  });
  const std::string configuration =
      couple::configuration_of_run(world, arguments.where, arguments.keys, arguments.timeout_s, arguments.patience_s);
  std::optional<couple::Task> task;
  world.agree_on([&] {
    task = task_of(arguments, configuration);
    if (task->transport->name != "stream" && arguments.folder.empty())
      throw core::Error(fmt::format("the run itself does the task `{}`, and its results are there", task->name), "",
                        "name another folder for these, with --out");
  });
  couple::ReaderOptions options;
  options.task = arguments.stream.empty() && task->transport->name == "stream" ? task->name : arguments.stream;
  for (const std::string& name : task->analysis->fields()) options.demand.quantities.push_back(name);
  options.demand.species = task->analysis->species();
  options.demand.single_precision = arguments.single;
  options.technique = couple::techniques().named(arguments.technique).technique;
  options.keys = arguments.keys;
  options.gateways = arguments.gateways;
  world.agree_on([&] { options.compression = core::read_compression(core::Node(arguments.compress, "--compress")); });
  options.timeout_s = arguments.timeout_s;
  options.patience_s = arguments.patience_s;
  options.does_task = task->transport->name == "stream";
  if (arguments.once) options.once_as = task->name;
  couple::StreamReader reader(world, arguments.where, options);
  const io::RunFolder folder = folder_of(world, arguments, configuration);
  if (world.rank() == 0) tell(fmt::format("attached to {}, task {}", arguments.where, task->name));
  couple::TaskTotals totals;
  try {
    totals = couple::attach(world, reader, *task, folder, bill, tell);
  } catch (const core::Error& error) {
    if (!error.is_reported_elsewhere()) tell(error.what());
    return failed;
  }
  const auto code = [&] { return world.broadcast(totals.failed) == 0 && reader.lost().empty() ? done : failed; };
  if (world.rank() != 0) return code();
  tell(fmt::format("{} results; {}; {} steps dropped by the run, {} lost", totals.count, reader.ending(),
                   reader.counts().dropped, reader.lost().size()));
  return code();
}

int ask(const Arguments& arguments) {
  try {
    nlohmann::json request;
    try {
      request = nlohmann::json::parse(arguments.request);
    } catch (const nlohmann::json::exception& problem) {
      throw core::Error(std::string("the request is no JSON: ") + problem.what());
    }
    fmt::print("{}\n", couple::ask_run(arguments.where, arguments.keys, request, arguments.timeout_s).dump());
    return done;
  } catch (const core::Error& error) {
    tell(error.what());
    return failed;
  }
}

}  // namespace

int sidestream::apps::attach_program(int argc, char** argv) {
  std::signal(SIGUSR1, SIG_IGN);  // queues tell all of a job that its time is over: a reader ends with the run
  Arguments arguments;
  apps::CommandLine line(
      "Does a task of a run that goes on, by another job, with what its stream brings.\n"
      "Example: mpirun -n 2 sidestream-attach runs/demo --task halos",
      SIDESTREAM_VERSION);
  line.word("run", arguments.where, "folder of the run, or its address: tcp://HOST:PORT#KEY", {.is_required = true});
  line.word("--task", arguments.task, "task of the run's configuration");
  line.word("--stream", arguments.stream,
            "task of the transport `stream` at whose moments steps come, where it is another");
  line.words("--set", arguments.overrides, "override a key of the run's configuration: task.halos.t_halo=300 mean");
  line.word("--out", arguments.folder, "folder for results and events (default: that of the run)");
  line.word("--keys", arguments.keys, "folder of keys (`sidestream keys`), for a run that asks who reads it");
  line.word("--technique", arguments.technique, "how cells come: auto, bounding-box or write-block",
            {.one_of = couple::techniques().names()});
  line.flag("--once", arguments.once, "be given each step until its result is there, also after this job was killed");
  line.word("--compress", arguments.compress,
            "how cells travel: none, zstd, or zfp with the largest error: \"zfp 1e-3\"");
  line.flag("--single", arguments.single, "cells travel in single precision");
  line.number("--gateways", arguments.gateways, "ranks of this job that can reach the run (0: all)", 0);
  line.number("--timeout", arguments.timeout_s, "longest silence of the run [s]", 1);
  line.number("--patience", arguments.patience_s, "how long to look for a run that is not there, or has gone [s]", 0);
  line.word("--ask", arguments.request, "ask the run instead, in JSON, and print its answer: {\"kind\": \"status\"}");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (!arguments.request.empty()) return ask(arguments);
  if (arguments.task.empty()) return line.refuse("--task is required");
  comm::end_with_the_launcher();
  return apps::in_parallel(argc, argv, apps::used_wrongly,
                           [&](const comm::Communicator& world) { return do_task(world, arguments); });
}
