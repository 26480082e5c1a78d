#include <fmt/color.h>
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <thread>

#include "command_line.hpp"
#include "options.hpp"
#include "programs.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/comm/launcher_watch.hpp"
#include "sidestream/comm/read_together.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/instruction_set.hpp"
#include "sidestream/core/machine.hpp"
#include "sidestream/core/under_way.hpp"
#include "sidestream/couple/isolated_job.hpp"
#include "sidestream/couple/stored.hpp"
#include "sidestream/sims/listings.hpp"
#include "sidestream/sims/run.hpp"

namespace {

using namespace sidestream;

using apps::used_wrongly;
constexpr int done = 0, failed = 1;

struct Arguments {
  std::string config, folder, file, job, replay;
  std::optional<std::string> kind;  // of names to list, or empty: all
  std::vector<std::string> overrides, allowed_changes, tasks, more_files;
  int ranks = 1;
  bool check = false, check_each = false, analyze = false, json = false, restart = false, overwrite = false;
  bool quiet = false, options = false;
};

core::Node load_configuration(const Arguments& arguments) {
  core::Node root = core::load_toml(arguments.config);
  for (const std::string& assignment : arguments.overrides) core::override_key(root, assignment);
  return root;
}

// Rather than a part of one that goes on or is over.
bool is_run(const Arguments& arguments) {
  return !arguments.analyze && arguments.job.empty();
}

// Rather than with a state that a file holds.
bool begins_anew(const Arguments& arguments) {
  return is_run(arguments) && !arguments.restart && arguments.file.empty();
}

sims::RunStart start_of(const Arguments& arguments, core::Bill::Clock::time_point began) {
  const auto existing = arguments.restart     ? io::ExistingRun::resume
                        : arguments.overwrite ? io::ExistingRun::overwrite
                                              : io::ExistingRun::refuse;
  return {.existing = existing,
          .file = arguments.file,
          .began = began,
          .tells_steps = !arguments.quiet,
          .replay = arguments.replay,
          .allowed_changes = arguments.allowed_changes};
}

std::string folder_of(const Arguments& arguments) {
  if (!arguments.folder.empty()) return arguments.folder;
  return (std::filesystem::path("runs") / std::filesystem::path(arguments.config).stem()).string();
}

// `--overwrite` would take away what `--from` or `--replay` names.
bool overwrites(const Arguments& arguments, const std::string& path) {
  if (!arguments.overwrite || arguments.analyze || path.empty()) return false;
  const auto folder = std::filesystem::weakly_canonical(folder_of(arguments));
  const auto source = std::filesystem::weakly_canonical(path);
  return std::ranges::mismatch(folder, source).in1 == folder.end();
}

void print_description(const nlohmann::json& description) {
  const auto& cells = description.at("cells");
  fmt::print("{}: {} x {} x {} cells, blocks of {}\n", description.at("simulation").get<std::string>(),
             cells[0].get<int>(), cells[1].get<int>(), cells[2].get<int>(), description.at("block").get<int>());
  fmt::print("ranks: {} ({} compute, {} sidecars)\n", description.at("ranks").get<int>(),
             description.at("compute").get<int>(), description.at("sidecars").get<int>());
  fmt::print("memory: {:.0f} MiB for the simulation, at most {:.0f} MiB in the queue\n",
             description.at("memory_bytes").get<double>() / 0x1p20,
             description.at("queue_bytes").get<double>() / 0x1p20);
  if (const auto carried = description.at("sidecar_bytes").get<double>(); carried > 0.0)
    fmt::print("sidecars: {:.0f} MiB in all while they write a file, of level 0\n", carried / 0x1p20);
  const double memory = description.at("memory_bytes").get<double>(), free = core::available_memory_bytes();
  if (memory > free)
    fmt::print("machines: {:.0f} like this one, of which {:.1f} GiB are free, have that memory\nin all: {}\n",
               std::ceil(memory / free), free / 0x1p30, description.at("size").get<std::string>());
  if (const double share = description.at("least_memory_bytes").get<double>() / description.at("compute").get<double>();
      share > free)
    fmt::print("warning: a rank takes at least {:.1f} GiB, more than this machine has free\n", share / 0x1p30);
  if (const double blocks = description.at("blocks"), ranks = description.at("compute");
      blocks > 0.0 && ranks > blocks) {
    constexpr int least_block = 8;  // cells a side
    const int block = description.at("block").get<int>();
    const double most = blocks + description.at("sidecars").get<double>();
    fmt::print(
        "warning: {:.0f} of {:.0f} ranks that compute have no cells, since there {} {:.0f} block{} of {} cells a side\n"
        "hint: {}at most {:.0f} rank{} (`-n`)\n",
        ranks - blocks, ranks, blocks == 1.0 ? "is" : "are", blocks, blocks == 1.0 ? "" : "s", block,
        block > least_block ? "smaller blocks (`mesh.block`), or " : "", most, most == 1.0 ? "" : "s");
  }
  for (const auto& warning : description.at("warnings"))
    fmt::print("warning: {}\n  --> {}\nhint: {}\n", warning.at("message").get<std::string>(),
               warning.at("where").get<std::string>(), warning.at("hint").get<std::string>());
  const bool is_refined = description.value("max_level", 0) > 0;
  for (const auto& file : description.at("files"))
    fmt::print("{}: about {:.3g} MiB{} of format {}, {}\n", file.at("kind").get<std::string>(),
               file.at("bytes").get<double>() / 0x1p20, is_refined ? " without refinement" : "",
               file.at("format").get<std::string>(), file.at("due").get<std::string>());
  for (const auto& task : description.at("tasks"))
    fmt::print("task {}: {}, {}, {}\n", task.at("name").get<std::string>(), task.at("analysis").get<std::string>(),
               task.at("transport").get<std::string>(), task.at("due").get<std::string>());
}

struct Verdict {
  int code = done;
  nlohmann::json description;  // where the code is that
  std::string message;         // where it is not
};

std::string size_note(const core::Node& refused, bool begins_anew) {
  const std::string size = sims::size_of_refused(refused, begins_anew);
  return size.empty() ? "" : "\nnote: such a run takes about " + size;
}

Verdict verdict_on(const Arguments& arguments) {
  core::Node root;
  try {
    root = load_configuration(arguments);
    const sims::RunConfig config = sims::read_run(root, begins_anew(arguments));
    if (begins_anew(arguments)) config.plan->check_start(true);
    sims::check_start(config, folder_of(arguments), start_of(arguments, {}));
    return {done, sims::describe(config, arguments.ranks), ""};
  } catch (const core::Error& error) {
    return {used_wrongly, {}, error.what() + size_note(root, begins_anew(arguments))};
  } catch (const std::exception& error) {
    return {failed, {}, fmt::format("error: {}", error.what())};
  }
}

int check_configuration(const Arguments& arguments) {
  comm::end_with_the_launcher();
  const Verdict verdict = verdict_on(arguments);
  if (verdict.code != done)
    fmt::print(stderr, "{}\n", verdict.message);
  else if (arguments.json)
    fmt::print("{}\n", verdict.description.dump());
  else
    print_description(verdict.description);
  return verdict.code;
}

// Those whose paths come on standard input, each answered with a line of JSON before the next is read.
int check_each(Arguments arguments) {
  comm::end_with_the_launcher();
  while (std::getline(std::cin, arguments.config)) {
    const Verdict verdict = verdict_on(arguments);
    const nlohmann::json answer = {
        {"code", verdict.code}, {"description", verdict.description}, {"message", verdict.message}};
    fmt::print("{}\n", answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    std::fflush(stdout);
  }
  return done;
}

// The names of one kind, or of all.
int list_names(const std::string& kind, bool as_json) {
  try {
    nlohmann::json kinds;
    if (!kind.empty()) sims::listings().named(kind);
    for (const core::Listing& listing : sims::listings()) {
      if (!kind.empty() && listing.name != kind) continue;
      if (!as_json) fmt::print("{}: {}\n", listing.name, listing.documentation);
      for (const auto& [name, documentation] : listing.lines) {
        if (!as_json) fmt::print("  {:<20} {}\n", name, documentation);
        kinds[listing.name][name] = documentation;
      }
    }
    if (as_json) fmt::print("{}\n", kinds.dump());
    return done;
  } catch (const core::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return used_wrongly;
  }
}

// A rank that fails alone ends the whole job: the others wait for it in some exchange. Where all failed together, one
// speaks.
[[noreturn]] void abort_job(const std::string& message, bool is_reported_elsewhere) {
  if (is_reported_elsewhere) std::this_thread::sleep_for(std::chrono::seconds(5));
  if (!is_reported_elsewhere) fmt::print(stderr, "{}\n", message);
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, failed);
  std::_Exit(failed);
}

std::optional<sims::RunConfig> read_together(const comm::Communicator& world, const Arguments& arguments,
                                             const sims::RunStart& start) {
  try {
    std::optional<sims::RunConfig> config;
    const std::vector<int> ranks_here = world.split_by_node().all_gather(world.rank());
    const auto read = comm::read_together(
        world, [&] { config = sims::read_run(load_configuration(arguments), begins_anew(arguments)); });
    config->read = read;
    world.agree_on([&] {
      if (is_run(arguments)) {
        const int computing = std::max(1, world.size() - config->coupling.sidecars_used());
        const auto here = std::ranges::count_if(ranks_here, [&](int rank) { return rank < computing; });
        sims::require_memory(*config, computing, static_cast<int>(here));
      }
      if (world.rank() != 0) return;
      if (begins_anew(arguments)) config->plan->check_start(false);
      if (is_run(arguments)) sims::check_start(*config, folder_of(arguments), start);
    });
    return config;
  } catch (const core::Error& error) {
    if (world.rank() == 0) fmt::print(stderr, "{}\n", error.what());
    return std::nullopt;
  }
}

void tell(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
}

int failures(const comm::Communicator& world, std::int64_t failed_results, const std::string& folder) {
  if (failed_results > 0)
    tell(core::Error(fmt::format("{} results could not be made", failed_results), folder,
                     "the warnings above and the events `analysis_failed` say why")
             .what());
  return world.broadcast(failed_results) == 0 ? done : failed;
}

// The tasks of a configuration, with the states in files.
int analyze_files(const comm::Communicator& world, const Arguments& arguments, core::Bill::Clock::time_point began) {
  core::Bill bill(began);
  try {
    sims::FilesToAnalyze what{{arguments.file}, arguments.tasks, folder_of(arguments), arguments.overwrite};
    what.files.insert(what.files.end(), arguments.more_files.begin(), arguments.more_files.end());
    core::Node root;
    comm::read_together(world, [&] { root = load_configuration(arguments); });
    return failures(world, sims::analyze_files(world, root, what, bill, tell), what.folder);
  } catch (const core::Error& error) {
    if (!error.is_reported_elsewhere()) tell(error.what());
    return used_wrongly;
  }
}

// A task of a run that goes on: by this job, whatever becomes of it.
int do_job(const comm::Communicator& world, const Arguments& arguments, const couple::CouplingConfig& config,
           core::Bill::Clock::time_point began) {
  core::Bill bill(began);
  couple::do_job(world, config, io::RunFolder(arguments.folder), bill, arguments.job);
  return done;
}

// The tasks that a run left for later.
int analyze_stored(const comm::Communicator& world, const Arguments& arguments, const couple::CouplingConfig& config,
                   core::Bill::Clock::time_point began) {
  core::Bill bill(began);
  std::int64_t failed_results = 0;
  for (const couple::TaskTotals& task :
       couple::analyze_stored(world, config, io::RunFolder(folder_of(arguments)), bill, tell))
    failed_results += task.failed;
  return failures(world, failed_results, folder_of(arguments));
}

int run_configuration(const Arguments& arguments, core::Bill::Clock::time_point began, int argc, char** argv,
                      const std::string& program) {
  const comm::Environment environment(argc, argv);
  core::tell_of_sudden_ends();
  const comm::Communicator world(MPI_COMM_WORLD);
  if (arguments.analyze && !arguments.file.empty()) return analyze_files(world, arguments, began);
  const sims::RunStart start = start_of(arguments, began);
  std::optional<sims::RunConfig> config = read_together(world, arguments, start);
  if (!config) return used_wrongly;
  std::optional<sims::StopSignals> signals;
  if (is_run(arguments)) signals.emplace();
  try {
    if (!arguments.job.empty()) return do_job(world, arguments, config->coupling, began);
    if (arguments.analyze) return analyze_stored(world, arguments, config->coupling, began);
    config->coupling.job_program = program;
    const auto status = sims::run(world, std::move(*config), folder_of(arguments), start, tell);
    return status == sims::RunStatus::finished ? done : failed;
  } catch (const core::Error& error) {
    abort_job(error.what(), error.is_reported_elsewhere());
  } catch (const std::bad_alloc&) {
    abort_job(core::Error("there is not enough memory", fmt::format("rank {} of {}", world.rank(), world.size()),
                          "`sidestream check` tells how much the simulation takes over all ranks")
                  .what(),
              false);
  } catch (const std::exception& error) {
    abort_job(fmt::format("error: {}\n  --> rank {} of {}", error.what(), world.rank(), world.size()), false);
  }
}

}  // namespace

int sidestream::apps::run_program(int argc, char** argv, const std::string& program) {
  const auto began = core::Bill::Clock::now();
  if (argc > 1 && std::string_view(argv[1]) == "--keep-job") return couple::keep_job({argv + 2, argv + argc});
  Arguments arguments;
  apps::CommandLine line(
      "Runs a simulation and the analyses of its configuration, on as many ranks as it was started with.\n"
      "Examples: mpirun -n 4 sidestream-run examples/cosmology.toml --out runs/cosmology\n"
      "          mpirun -n 4 sidestream-run runs/cosmology/config.toml --analyze --out runs/cosmology",
      fmt::format("{} ({})", SIDESTREAM_VERSION, core::instruction_set()));
  line.word("config", arguments.config, "configuration (TOML)");
  line.words("--set", arguments.overrides, "override a key: task.halos.every=5");
  line.word("--out", arguments.folder, "folder of the run (default: runs/NAME of the configuration)");
  line.flag("--restart", arguments.restart, "go on from the newest good checkpoint in the folder");
  line.words("--allow-change", arguments.allowed_changes,
             "with --restart or --from: this key of the physics may differ from that of the file: cosmology.omega_m");
  line.word("--from", arguments.file,
            "begin with the state in this file: a checkpoint or plot file of any format that is known");
  line.word("--replay", arguments.replay,
            "make the decisions by clock, load and hand of an earlier run again: its events.jsonl");
  line.flag("--analyze", arguments.analyze,
            "do what tasks of the transport `file` left for later in the folder of the run, whose configuration is "
            "config.toml there; with --from: do the tasks of the configuration with that file");
  line.words("--and", arguments.more_files, "with --analyze and --from: another file, of another step");
  line.words("--task", arguments.tasks, "with --analyze and --from: do this task of the configuration rather than all");
  line.word("--job", arguments.job, "do a task of the run in the folder, which starts this as a job of its own");
  line.flag("--overwrite", arguments.overwrite, "replace an earlier run in the folder");
  line.flag("--quiet", arguments.quiet, "no line for each step");
  line.flag("--check", arguments.check, "check the configuration, say what it would take, and stop");
  line.flag("--check-each", arguments.check_each,
            "check every configuration whose path comes on standard input, and answer each with a line of JSON");
  line.number("--ranks", arguments.ranks, "with --check: the ranks to be asked for", 1);
  line.flag("--json", arguments.json, "with --check, --list or --options: answer in JSON");
  line.flag("--options", arguments.options, "list every option of the configuration and stop");
  line.word_or_none("--list", arguments.kind, "list all names of a KIND, or of every kind, and stop", "[KIND]");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (arguments.options) return apps::print_options(arguments.json), done;
  if (arguments.kind) return list_names(*arguments.kind, arguments.json);
  if (arguments.check_each) return check_each(arguments);
  if (arguments.config.empty()) return line.refuse("config is required");
  if (arguments.restart && arguments.overwrite) return line.refuse("--restart and --overwrite exclude each other");
  if (arguments.analyze && (arguments.restart || (arguments.overwrite && arguments.file.empty())))
    return line.refuse("--analyze goes with --out, and with --from and --overwrite: nothing is run");
  if ((!arguments.tasks.empty() || !arguments.more_files.empty()) && (!arguments.analyze || arguments.file.empty()))
    return line.refuse("--and and --task go with --analyze and --from");
  if (!arguments.allowed_changes.empty() && (arguments.analyze || begins_anew(arguments)))
    return line.refuse("--allow-change goes with --restart or --from");
  if (arguments.restart && !arguments.file.empty()) return line.refuse("--restart and --from exclude each other");
  if (arguments.analyze && !arguments.replay.empty())
    return line.refuse("--replay goes with a run: --analyze runs nothing");
  if (overwrites(arguments, arguments.file))
    return line.refuse("--overwrite would remove the file of --from: choose another folder with --out");
  if (overwrites(arguments, arguments.replay))
    return line.refuse("--overwrite would remove the events of --replay: choose another folder with --out");
  if (arguments.check) return check_configuration(arguments);
  return run_configuration(arguments, began, argc, argv, program);
}
