// The functions of sidestream.h of sessions: handles and structures of C around sims::HostRun.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "sidestream/comm/before_finalize.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/sims/host_run.hpp"
#include "structures.hpp"
#include "types.hpp"

using namespace sidestream;
using c::BadArgument, c::known, c::require_mpi, c::status_of, c::taken, c::type_of;

struct sidestream_session {
  std::unique_ptr<comm::Communicator> world;
  std::unique_ptr<sims::HostRun> run;
  MPI_Comm compute = MPI_COMM_NULL;
  std::size_t blocks = 0;                            // of the mesh
  std::vector<std::array<std::int64_t, 3>> extents;  // of each, with ghosts
  struct Restored {
    std::vector<const char*> attributes, units;
    std::vector<const double*> values;
  };
  std::map<std::string, Restored> restored;         // lists that the program was given, by the kind of particles
  std::unique_ptr<comm::BeforeFinalize> forgotten;  // where the run is to be ended if nobody does
};

namespace {

// Those that are open, so that a handle of a session that was closed is refused instead of being followed.
std::mutex open_mutex;
std::set<const sidestream_session*> open_sessions;

bool is_open(const sidestream_session* session) {
  const std::lock_guard lock(open_mutex);
  return open_sessions.contains(session);
}

std::string text_of(const char* given, const char* otherwise = "") {
  return given != nullptr ? given : otherwise;
}

std::string job_program(const char* given) {
  if (given != nullptr) return given;
  if (const char* const named = std::getenv("SIDESTREAM_RUN")) return named;
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&sidestream_open), &here) == 0 || here.dli_fname == nullptr) return "";
  const std::filesystem::path folder = std::filesystem::absolute(here.dli_fname).parent_path();
  for (const char* const place : {"sidestream-run", "../bin/sidestream-run"})
    if (std::filesystem::exists(folder / place)) return std::filesystem::weakly_canonical(folder / place).string();
  return "";
}

io::ExistingRun existing_of(int number) {
  switch (number) {
    case SIDESTREAM_REFUSE:
      return io::ExistingRun::refuse;
    case SIDESTREAM_OVERWRITE:
      return io::ExistingRun::overwrite;
    case SIDESTREAM_RESUME:
      return io::ExistingRun::resume;
    default:
      throw BadArgument(fmt::format("`existing` is {}", number), "",
                        "give SIDESTREAM_REFUSE, SIDESTREAM_OVERWRITE or SIDESTREAM_RESUME");
  }
}

sims::HostOptions options_of(const sidestream_options& given) {
  if (text_of(given.folder).empty())
    throw BadArgument("`folder` is NULL or empty", "sidestream_options", "say where the run writes");
  sims::HostOptions options{.name = text_of(given.name, "host"),
                            .config = text_of(given.config),
                            .overrides = {},
                            .folder = given.folder,
                            .existing = existing_of(given.existing),
                            .job_program = job_program(given.job_program),
                            .catches_signals = given.catches_signals != 0,
                            .tells_steps = given.is_quiet == 0};
  if (given.override_count > 0) known(given.overrides, "overrides");
  for (std::size_t n = 0; n < given.override_count; ++n)
    options.overrides.emplace_back(known(given.overrides[n], "overrides[n]") == '\0' ? "" : given.overrides[n]);
  return options;
}

sims::HostRun::Tell tell_of(const sidestream_options& given) {
  if (given.tell == nullptr) return [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  return [tell = given.tell, context = given.context](const std::string& line) { tell(line.c_str(), context); };
}

constexpr const char* open_at_the_end =
    "warning: MPI ends with a session open, which is closed here\n  --> {}\nhint: call sidestream_close before\n";

// Its sidecars would wait for ever, and what is still in work would be lost.
void close_forgotten(const sidestream_session& session, const std::string& folder) {
  sims::HostRun& run = *session.run;
  if (run.compute().rank() == 0) fmt::print(stderr, open_at_the_end, folder);
  const bool has_sidecars = run.compute().size() < session.world->size();
  if (!has_sidecars || !run.has_begun() || run.is_whole()) return void(run.end());
  fmt::print(stderr, "error: a call of the session has failed half-way, and its sidecars wait: the job ends\n");
  MPI_Abort(session.world->raw(), 1);
}

// What a rank gives wrongly is heard of on all.
void open(MPI_Comm comm, const sidestream_options* given, sidestream_session** session, MPI_Comm* compute) {
  require_mpi();
  auto made = std::make_unique<sidestream_session>();
  made->world = std::make_unique<comm::Communicator>(comm);
  sims::HostOptions options;
  sims::HostRun::Tell tell;
  made->world->agree_on([&] {
    known(session, "session") = nullptr;
    known(compute, "compute") = MPI_COMM_NULL;
    const auto own = taken<sidestream_options>(given, "sidestream_options", "SIDESTREAM_OPTIONS", SIDESTREAM_OPTIONS,
                                               offsetof(sidestream_options, tell));
    options = options_of(own);
    tell = tell_of(own);
  });
  const std::string folder = options.folder;
  made->run = std::make_unique<sims::HostRun>(*made->world, std::move(options), std::move(tell));
  if (made->run->computes()) {
    made->forgotten =
        std::make_unique<comm::BeforeFinalize>([one = made.get(), folder] { close_forgotten(*one, folder); });
    comm::check(MPI_Comm_dup(made->run->compute().raw(), &made->compute), "MPI_Comm_dup");
    *compute = made->compute;
  } else {
    made->run->serve();
  }
  const std::lock_guard lock(open_mutex);
  open_sessions.insert(made.get());
  *session = made.release();
}

template <typename Session>
Session& open_one(Session* session) {
  if (!is_open(&known(session, "session")))
    throw BadArgument("there is no such session", "", "call nothing but sidestream_open with one that was closed");
  return *session;
}

sidestream_session& computing(sidestream_session* session) {
  sidestream_session& one = open_one(session);
  if (!one.run->computes())
    throw BadArgument("this rank does not compute", "", "leave it out where sidestream_open gives MPI_COMM_NULL");
  return one;
}

std::int32_t index_of(std::int64_t number, const char* what) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  if (number < -most || number > most)
    throw core::Error(fmt::format("{} is {}", what, number), "", "there may be 2^30 along an axis");
  return static_cast<std::int32_t>(number);
}

mesh::Int3 triple(const std::int64_t* numbers, const char* what) {
  return {index_of(numbers[0], what), index_of(numbers[1], what), index_of(numbers[2], what)};
}

sims::HostMesh mesh_of(const sidestream_mesh& given) {
  sims::HostMesh mesh;
  const mesh::Int3 cells = triple(given.cells, "a number of cells");
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    mesh.geometry.length[a] = given.lengths[axis];
    mesh.geometry.periodic[a] = given.periodic[axis] != 0;
  }
  mesh.geometry.domain = {{0, 0, 0}, cells};
  mesh.length_unit = text_of(given.length_unit);
  mesh.ghosts = mesh::Ghosts(triple(given.ghosts, "a number of ghost cells"));
  if (given.count > 0 && (given.offsets == nullptr || given.extents == nullptr))
    throw BadArgument(fmt::format("there are {} blocks without `offsets` or without `extents`", given.count),
                      "sidestream_mesh", "give 3 numbers of each block");
  for (std::size_t n = 0; n < given.count; ++n) {
    const mesh::Int3 first = triple(given.offsets + 3 * n, "the offset of a block"),
                     extent = triple(given.extents + 3 * n, "a number of cells");
    mesh.blocks.push_back({given.levels != nullptr ? given.levels[n] : 0, {first, first + extent}});
  }
  return mesh;
}

void set_mesh(sidestream_session& one, const sidestream_mesh* given) {
  sims::HostMesh mesh;
  one.run->compute().agree_on(
      [&] { mesh = mesh_of(taken<sidestream_mesh>(given, "sidestream_mesh", "SIDESTREAM_MESH", SIDESTREAM_MESH)); });
  one.run->set_mesh(mesh);
  one.extents.clear();
  for (const sims::HostBlock& block : mesh.blocks) {
    const mesh::Int3 n = block.box.grown(mesh.ghosts.layers).extent();
    one.extents.push_back({n.x, n.y, n.z});
  }
}

void require_shape(const std::int64_t* shape, const std::array<std::int64_t, 3>& wanted, const std::string& name) {
  if (std::equal(wanted.begin(), wanted.end(), shape)) return;
  throw core::Error(fmt::format("an array has {} x {} x {} elements, its block with ghost cells {} x {} x {}", shape[0],
                                shape[1], shape[2], wanted[0], wanted[1], wanted[2]),
                    fmt::format("field `{}`", name), "give the array of the block as the mesh says it, axis 0 first");
}

void set_field(sidestream_session& one, const sidestream_field& given) {
  sims::HostField field;
  field.quantity = {text_of(given.name), text_of(given.unit), text_of(given.meaning), given.is_state != 0};
  field.type = type_of(given.type);
  if (given.count != one.extents.size())
    throw core::Error(fmt::format("{} pieces of memory for {} blocks", given.count, one.extents.size()),
                      fmt::format("field `{}`", field.quantity.name),
                      "give one for each block of this rank, in the order of the mesh");
  if (given.count > 0) known(given.blocks, "blocks");
  for (std::size_t n = 0; n < given.count; ++n) {
    if (given.shapes != nullptr) require_shape(given.shapes + 3 * n, one.extents[n], field.quantity.name);
    sims::HostMemory memory{given.blocks[n], {1, one.extents[n][0], one.extents[n][0] * one.extents[n][1]}};
    if (given.strides != nullptr) std::copy_n(given.strides + 3 * n, 3, memory.strides.begin());
    field.blocks.push_back(memory);
  }
  one.run->set_field(std::move(field));
}

void set_particles(sidestream_session& one, const sidestream_particles& given) {
  sims::HostSpecies species;
  species.name = text_of(given.name);
  species.count = given.count;
  species.id = given.ids;
  std::copy_n(given.positions, 3, species.position.begin());
  species.mass = given.mass;
  if (given.attribute_count > 0) known(given.attributes, "attributes");
  if (given.attribute_count > 0 && given.count > 0) known(given.values, "values");
  for (std::size_t n = 0; n < given.attribute_count; ++n)
    species.attributes.push_back({text_of(given.attributes[n]), given.units != nullptr ? text_of(given.units[n]) : "",
                                  given.values != nullptr ? given.values[n] : nullptr});
  one.run->set_species(std::move(species));
}

// As much of them as the caller's header knows.
void give_restored(sidestream_session& one, const char* name, sidestream_particles* given) {
  auto out = taken<sidestream_particles>(given, "sidestream_particles", "SIDESTREAM_PARTICLES", SIDESTREAM_PARTICLES);
  const mesh::Particles& particles = one.run->restored(text_of(name));
  const auto [found, is_new] = one.restored.try_emplace(text_of(name));
  auto& [kind, lists] = *found;
  if (is_new)
    for (const mesh::ParticleAttribute& attribute : particles.attributes) {
      lists.attributes.push_back(attribute.name.c_str());
      lists.units.push_back(attribute.unit.c_str());
      lists.values.push_back(attribute.values.data());
    }
  out.name = kind.c_str();
  out.count = particles.size();
  out.ids = particles.id.data();
  for (std::size_t axis = 0; axis < 3; ++axis) out.positions[axis] = particles.position[axis].data();
  out.attribute_count = particles.attributes.size();
  out.attributes = lists.attributes.data();
  out.units = lists.units.data();
  out.values = lists.values.data();
  out.mass = particles.mass;
  out.size = given->size;
  std::memcpy(given, &out, std::min(out.size, sizeof out));
}

core::Option knob_option(const char* name, const char* meaning, double minimum, double maximum) {
  core::Option option;
  if (text_of(name).empty()) throw BadArgument("a knob has no name", "", "name what it changes: \"viscosity\"");
  option.name = "host." + text_of(name);
  option.type = "number";
  option.documentation = text_of(meaning);
  if (!(minimum <= maximum))
    throw core::Error(fmt::format("a knob may be from {} to {}", minimum, maximum), option.name,
                      "give the smaller number first");
  option.range(minimum, maximum);
  return option;
}

}  // namespace

extern "C" {

int sidestream_open(MPI_Comm comm, const sidestream_options* options, sidestream_session** session, MPI_Comm* compute) {
  return status_of([&] { open(comm, options, session, compute); });
}

int sidestream_open_f(MPI_Fint comm, const sidestream_options* options, sidestream_session** session,
                      MPI_Fint* compute) {
  return status_of([&] {
    MPI_Comm own = MPI_COMM_NULL;
    open(MPI_Comm_f2c(comm), options, session, &own);
    known(compute, "compute") = MPI_Comm_c2f(own);
  });
}

int sidestream_is_sidecar(const sidestream_session* session) {
  return is_open(session) && !session->run->computes() ? 1 : 0;
}

int sidestream_set_mesh(sidestream_session* session, const sidestream_mesh* mesh) {
  return status_of([&] {
    require_mpi();
    set_mesh(computing(session), mesh);
  });
}

int sidestream_set_field(sidestream_session* session, const sidestream_field* field) {
  return status_of([&] {
    set_field(computing(session), taken<sidestream_field>(field, "sidestream_field", "SIDESTREAM_FIELD",
                                                          SIDESTREAM_FIELD, offsetof(sidestream_field, shapes)));
  });
}

int sidestream_set_array(sidestream_session* session, const char* name, const char* unit, sidestream_type type,
                         void* array) {
  return status_of([&] {
    sidestream_field field = SIDESTREAM_FIELD;
    field.name = name;
    field.unit = unit;
    field.type = type;
    field.count = 1;
    field.blocks = &array;
    set_field(computing(session), field);
  });
}

int sidestream_set_particles(sidestream_session* session, const sidestream_particles* particles) {
  return status_of([&] {
    set_particles(computing(session), taken<sidestream_particles>(particles, "sidestream_particles",
                                                                  "SIDESTREAM_PARTICLES", SIDESTREAM_PARTICLES));
  });
}

int sidestream_restored_particles(sidestream_session* session, const char* name, sidestream_particles* particles) {
  return status_of([&] { give_restored(computing(session), name, particles); });
}

int sidestream_set_number(sidestream_session* session, const char* name, double value) {
  return status_of([&] { computing(session).run->set_number(text_of(&known(name, "name")), value); });
}

int sidestream_set_scale_factor(sidestream_session* session, double scale_factor) {
  return status_of([&] { computing(session).run->set_scale_factor(scale_factor); });
}

int sidestream_set_progress(sidestream_session* session, double progress) {
  return status_of([&] { computing(session).run->set_progress(progress); });
}

int sidestream_add_knob(sidestream_session* session, const char* name, const char* meaning, double minimum,
                        double maximum, double* value) {
  return status_of(
      [&] { computing(session).run->add_knob(knob_option(name, meaning, minimum, maximum), known(value, "value")); });
}

int sidestream_begin(sidestream_session* session, int64_t* step, double* time) {
  return status_of([&] {
    require_mpi();
    sidestream_session& one = computing(session);
    std::int64_t at_step = 0;
    double at_time = 0.0;
    one.run->compute().agree_on([&] {
      at_step = known(step, "step");
      at_time = known(time, "time");
    });
    one.run->begin(at_step, at_time);
    *step = at_step;
    *time = at_time;
  });
}

int sidestream_is_restarted(const sidestream_session* session) {
  return is_open(session) && session->run->computes() && session->run->is_restarted() ? 1 : 0;
}

int sidestream_goes_on(const sidestream_session* session) {
  return is_open(session) && session->run->is_whole() && session->run->goes_on() ? 1 : 0;
}

int sidestream_wants(const sidestream_session* session, const char* name, int* is_wanted) {
  return status_of(
      [&] { known(is_wanted, "is_wanted") = open_one(session).run->foresees(text_of(&known(name, "name"))) ? 1 : 0; });
}

int sidestream_next_time(const sidestream_session* session, double time, double* next) {
  return status_of([&] {
    known(next, "next") = open_one(session).run->next_time(time).value_or(std::numeric_limits<double>::infinity());
  });
}

int sidestream_step(sidestream_session* session, int64_t step, double time) {
  return status_of([&] {
    require_mpi();
    computing(session).run->step_taken(step, time);
  });
}

int sidestream_progress(sidestream_session* session) {
  return status_of([&] { computing(session).run->progress(); });
}

int sidestream_close(sidestream_session* session) {
  if (session == nullptr) return SIDESTREAM_OK;
  bool is_whole = true;
  sims::RunStatus ended = sims::RunStatus::finished;
  const int status = status_of([&] {
    require_mpi();
    {
      const std::lock_guard lock(open_mutex);
      if (open_sessions.erase(session) == 0)
        throw BadArgument("there is no such session", "", "close each session once");
    }
    const std::unique_ptr<sidestream_session> own(session);
    is_whole = own->run->is_whole() || !own->run->has_begun();
    if (own->run->computes()) ended = own->run->end();
    if (own->compute != MPI_COMM_NULL) MPI_Comm_free(&own->compute);
  });
  if (status != SIDESTREAM_OK || (is_whole && ended != sims::RunStatus::incomplete)) return status;
  c::keep_message(is_whole
                      ? "results or files could not be made: what was told and the events of the run say which"
                      : "the run could not be ended, as a call before failed: its last results and files are missing");
  return SIDESTREAM_INCOMPLETE;
}

}  // extern "C"
