#include "sims/lbm/lbm_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sidestream/core/config_path.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::sims {

namespace {

using solvers::CollisionKind, solvers::EdgeKind, solvers::LatticeEdge;

constexpr std::int32_t least_tile = 1;  // no rank has ghost cells of tiles
constexpr double usual_magic = 3.0 / 16.0;
const double sound_speed = 1.0 / std::numbers::sqrt3;
constexpr const char* mach_hint =
    "lower all speeds and the viscosity alike and take more steps: the flow is the same, with smaller errors of "
    "compressibility";

/// Rates at which collisions of a kind are known to stay stable in flows with some structure.
struct Model {
  const char* name;
  CollisionKind kind;
  double most_omega;
};
constexpr std::array models{Model{"trt", CollisionKind::trt, 1.998}, Model{"bgk", CollisionKind::bgk, 1.99},
                            Model{"regularised", CollisionKind::regularised, 1.9999}};

const Model& model_of(const std::string& name) {
  return *std::ranges::find(models, name, [](const Model& model) { return std::string(model.name); });
}

core::Table<LbmConfig> lbm_table() {
  core::Table<LbmConfig> table("Flow by the lattice Boltzmann method, in cells and steps");
  table.option("viscosity", &LbmConfig::viscosity, 0.02).range(1e-9, 10.0).doc("kinematic");
  table.option("collision", &LbmConfig::collision, "trt")
      .one_of({"trt", "bgk", "regularised"})
      .doc("two relaxation times, one, or recursive regularisation for high Reynolds numbers");
  table.option("magic", &LbmConfig::magic, usual_magic)
      .range(1e-6, 10.0)
      .doc("of two relaxation times; at 3/16 straight walls are exactly half a cell beyond the last one");
  table.option("force", &LbmConfig::force, {0.0, 0.0, 0.0}).range(-0.1, 0.1).doc("on a volume, along x, y and z");
  table.option("oscillation", &LbmConfig::oscillation, {0.0, 0.0, 0.0})
      .range(-0.1, 0.1)
      .doc("a force beside it, times cos(2 pi (t + 1) / period) in the step from t to t + 1");
  table.option("period", &LbmConfig::period, 0.0).range(0.0, 1e12).doc("of that, in steps");
  table.option("end", &LbmConfig::end, 1000.0).range(0.0, 1e12).doc("steps after which the run ends");
  table.option("precision", &LbmConfig::precision, "double")
      .one_of({"double", "single"})
      .doc("of the populations, and of what is done with them");
  table.option("decomposition", &LbmConfig::decomposition, "slices")
      .one_of({"slices", "rectangles"})
      .doc("what a rank has of the domain: whole along all axes but the last, or but the last two");
  table.parsed<std::string>("barrier", &LbmConfig::barrier, "", core::path_of)
      .doc("PNG file of barriers, a pixel a cell: what is dark is solid");
  table.option("speed", &LbmConfig::speed, std::nullopt)
      .range(1e-9, 1.0)
      .doc("of which coefficients of forces are made; without it, that of the inflow or of the start");
  return table;
}

core::Table<LbmConfig> initial_table() {
  core::Table<LbmConfig> table("What the flow begins with");
  table.option("flow", &LbmConfig::flow, "uniform").one_of({"uniform", "taylor-green"}).doc("its name");
  table.option("velocity", &LbmConfig::velocity, {0.0, 0.0, 0.0})
      .range(-1.0, 1.0)
      .doc("of all of it, along x, y and z");
  table.option("speed", &LbmConfig::vortices, 0.0).range(0.0, 1.0).doc("of the vortices of Taylor and Green");
  return table;
}

/// The table `[edge.NAME]`.
struct EdgeConfig {
  std::string kind, profile;
  std::optional<std::vector<double>> velocity;
  std::optional<double> density;
};

core::Table<EdgeConfig> edge_table() {
  core::Table<EdgeConfig> table("What is beyond a face of the domain");
  table.option("kind", &EdgeConfig::kind, "periodic")
      .one_of({"periodic", "wall", "inflow", "outflow", "equilibrium"})
      .doc("what it is");
  table.option("velocity", &EdgeConfig::velocity, std::nullopt)
      .range(-1.0, 1.0)
      .doc("of a wall, along itself; of an inflow; of fluid in equilibrium: along x, y and z");
  table.option("profile", &EdgeConfig::profile, "uniform")
      .one_of({"uniform", "parabolic"})
      .doc("of an inflow between walls: `velocity` is that in the middle");
  table.option("density", &EdgeConfig::density, std::nullopt)
      .range(0.5, 2.0)
      .doc("that an outflow tends to; without it, it has any");
  return table;
}

EdgeKind kind_of(const std::string& name) {
  if (name == "wall") return EdgeKind::wall;
  if (name == "inflow") return EdgeKind::inflow;
  if (name == "outflow") return EdgeKind::outflow;
  return name == "equilibrium" ? EdgeKind::equilibrium : EdgeKind::periodic;
}

double length_of(std::span<const double> u) {
  return std::sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
}

// Three numbers of the table `node`.
std::array<double, 3> vector_in(const core::Node& node, const char* key, const std::vector<double>& numbers,
                                bool is_plane) {
  const core::Node* const given = node.find(key);
  return vector_of(given != nullptr ? *given : node, key, numbers, is_plane);
}

void check_speed(const core::Node& place, double speed) {
  if (speed > most_mach * sound_speed)
    core::reject(place,
                 fmt::format("a speed of {:g} is a Mach number of {:.3g}, and {:g} is the most", speed,
                             speed / sound_speed, most_mach),
                 mach_hint);
}

// A configuration with its defaults filled in is read again: what is not used may be there as it is by default.
void refuse_if(bool is_set, const core::Node& node, const char* key, const std::string& kind) {
  if (const core::Node* const given = node.find(key); is_set && given != nullptr)
    core::reject(*given, fmt::format("`{}` has no effect on an edge of the kind \"{}\"", key, kind), "leave it out");
}

LatticeEdge edge_in(const core::Node& node, const Face& face, bool is_plane, core::Node& part) {
  const EdgeConfig read = edge_table().read(node, &part);
  LatticeEdge edge{.kind = kind_of(read.kind)};
  const bool has_velocity =
      edge.kind == EdgeKind::wall || edge.kind == EdgeKind::inflow || edge.kind == EdgeKind::equilibrium;
  edge.density = read.density;
  edge.is_parabolic = read.profile == "parabolic";
  refuse_if(!has_velocity, node, "velocity", read.kind);
  refuse_if(edge.is_parabolic && edge.kind != EdgeKind::inflow, node, "profile", read.kind);
  refuse_if(edge.kind != EdgeKind::outflow, node, "density", read.kind);
  if (!has_velocity) return edge;
  if (!read.velocity && edge.kind != EdgeKind::wall)
    core::reject(node, "the key `velocity` is missing", "of what comes in, along x, y and z, in cells a step");
  if (!read.velocity) return edge;
  edge.velocity = edge_velocity_of(*node.find("velocity"), face, edge.kind, *read.velocity, is_plane);
  return edge;
}

const core::Node& edge_node(const core::Node& root, const Face& face) {
  return *root.find("edge")->find(face.name);
}

// Two axes whose cells would have to follow from two faces at once.
void check_corners(const core::Node& root, const LbmConfig& config) {
  const Face* first = nullptr;
  for (const Face& face : faces) {
    const LatticeEdge& edge = config.lattice.edges[face.axis][face.high];
    if (edge.kind != EdgeKind::inflow) continue;
    if (first != nullptr && first->axis != face.axis)
      core::reject(
          edge_node(root, face),
          fmt::format("`{}` and `{}` meet: what comes in at both has no one velocity there", first->name, face.name),
          "let one of them be of the kind \"equilibrium\"");
    if (first == nullptr) first = &face;
  }
}

void check_edges(const core::Node& root, const LbmConfig& config) {
  const auto& edges = config.lattice.edges;
  const auto is_between_walls = [&](std::size_t axis) {
    return edges[axis][0].kind == EdgeKind::wall && edges[axis][1].kind == EdgeKind::wall;
  };
  for (const Face& face : faces) {
    const LatticeEdge& edge = edges[face.axis][face.high];
    if (edge.kind != EdgeKind::periodic && face.axis == 2 && config.is_plane())
      core::reject(edge_node(root, face), fmt::format("a flow in a plane has no face `{}`", face.name),
                   "take more than 1 cell along z, or leave it out");
    const bool is_alone = edge.kind != EdgeKind::periodic && edges[face.axis][!face.high].kind == EdgeKind::periodic;
    if (is_alone)
      core::reject(edge_node(root, face),
                   fmt::format("`{}` is not periodic, and the face opposite to it is", face.name),
                   fmt::format("say what `edge.{}` is", faces[2 * face.axis + !face.high].name));
    bool has_walls = false;
    for (std::size_t axis = 0; axis < 3; ++axis) has_walls = has_walls || (axis != face.axis && is_between_walls(axis));
    if (edge.is_parabolic && !has_walls)
      core::reject(*edge_node(root, face).find("profile"), "a parabolic profile needs walls on both sides",
                   "let both faces along another axis be of the kind \"wall\"");
  }
  check_corners(root, config);
}

void read_edges(const core::Node& root, core::Node& resolved, LbmConfig& config) {
  const core::Node* const tables = root.find("edge");
  if (tables == nullptr) return;
  std::vector<std::string> names;
  for (const Face& face : faces) names.emplace_back(face.name);
  core::check_known_keys(*tables, names);
  core::Node all(core::Node::Members{});
  for (const Face& face : faces) {
    const core::Node* const node = tables->find(face.name);
    if (node == nullptr) continue;
    core::Node part;
    config.lattice.edges[face.axis][face.high] = edge_in(*node, face, config.is_plane(), part);
    all.set(face.name, part);
  }
  resolved.set("edge", all);
  check_edges(root, config);
}

void check_initial(const core::Node& initial, LbmConfig& config) {
  const std::array<double, 3> mean = vector_in(initial, "velocity", config.velocity, config.is_plane());
  const bool has_vortices = config.flow == "taylor-green";
  if (const core::Node* const speed = initial.find("speed"); config.vortices != 0.0 && !has_vortices)
    core::reject(*speed, "`initial.speed` has no effect on a uniform flow", "set `initial.velocity`");
  if (has_vortices && config.vortices == 0.0)
    core::reject(initial, "the vortices of Taylor and Green need `speed`", "0.02 is usual");
  const core::Node* const place = initial.find(has_vortices ? "speed" : "velocity");
  const double elongation = double(config.mesh.cells[1]) / config.mesh.cells[0];  // fluid is faster along a longer axis
  check_speed(place != nullptr ? *place : initial, length_of(mean) + config.vortices * std::max(1.0, elongation));
  if (!has_vortices) return;
  for (const auto& axis : config.lattice.edges)
    if (axis[0].kind != EdgeKind::periodic)
      core::reject(*initial.find("flow"), "the vortices of Taylor and Green are those of a periodic box",
                   "leave the edges out, or begin with a uniform flow");
}

void check_numbers(const core::Node& node, LbmConfig& config) {
  const auto at = [&](const char* key) -> const core::Node& {
    const core::Node* const given = node.find(key);
    return given != nullptr ? *given : node;
  };
  const Model& model = model_of(config.collision);
  if (const std::string problem = problem_of_viscosity(config.viscosity, config.collision); !problem.empty())
    core::reject(
        at("viscosity"), problem,
        model.kind == CollisionKind::regularised
            ? "raise the speed and the cells across the flow together with it, or take a larger one"
            : "take a larger one, more cells at the same Reynolds number, or `lbm.collision` = \"regularised\"");
  if (config.magic != usual_magic && model.kind != CollisionKind::trt)
    core::reject(at("magic"), fmt::format("`lbm.magic` has no effect on the collision \"{}\"", config.collision),
                 "leave it out");
  if (config.end != std::floor(config.end))
    core::reject(at("end"), fmt::format("{} is no whole number of steps", config.end), "a step has a time of 1");
  config.lattice.collision = model.kind;
  config.lattice.viscosity = config.viscosity;
  config.lattice.magic = config.magic;
  config.lattice.force = vector_in(node, "force", config.force, config.is_plane());
  const double oscillation = length_of(vector_in(node, "oscillation", config.oscillation, config.is_plane()));
  if (oscillation > 0.0 && config.period == 0.0)
    core::reject(at("oscillation"), "a force that oscillates needs `lbm.period`", "in steps");
  if (oscillation == 0.0 && config.period > 0.0)
    core::reject(at("period"), "`lbm.period` has no effect without `lbm.oscillation`", "leave it out");
}

// Files of many formats take tiles of one size.
void check_tiles(const core::Node& root, const LbmConfig& config) {
  const int last = config.is_plane() ? 1 : 2;
  for (int axis = config.decomposition == "rectangles" ? last - 1 : last; axis <= last; ++axis) {
    const std::int32_t cells = config.mesh.extent()[axis], tile = std::min(cells, config.mesh.block);
    if (cells % tile == 0) continue;
    const core::Node mesh = table_or_empty(root, "mesh");
    const core::Node* const block = mesh.find("block");
    core::reject(block != nullptr ? *block : mesh,
                 fmt::format("tiles of {} cells do not divide {} cells along {}", tile, cells, "xyz"[axis]),
                 "choose a `mesh.block` that does: ranks have whole tiles, so let there be several for each");
  }
}

}  // namespace

std::array<double, 3> vector_of(const core::Node& place, const std::string& key, const std::vector<double>& numbers,
                                bool is_plane) {
  if (numbers.size() != 3)
    core::reject(place, fmt::format("`{}` has {} numbers", key, numbers.size()), "give three, along x, y and z");
  if (is_plane && numbers[2] != 0.0)
    core::reject(place, fmt::format("`{}` leaves the plane", key), "a flow with 1 cell along z has nothing along it");
  return {numbers[0], numbers[1], numbers[2]};
}

std::array<double, 3> edge_velocity_of(const core::Node& place, const Face& face, EdgeKind kind,
                                       const std::vector<double>& numbers, bool is_plane) {
  const std::array<double, 3> velocity = vector_of(place, "velocity", numbers, is_plane);
  check_speed(place, length_of(velocity));
  const double inward = (face.high ? -1.0 : 1.0) * velocity[face.axis];
  if (kind == EdgeKind::wall && inward != 0.0)
    core::reject(place, fmt::format("the wall `{}` moves out of its place", face.name), "a wall moves along itself");
  if (kind == EdgeKind::inflow && inward <= 0.0)
    core::reject(place, fmt::format("nothing comes in at `{}` with this velocity", face.name),
                 "an inflow has a velocity into the domain; an \"outflow\" has none");
  return velocity;
}

std::string problem_of_viscosity(double viscosity, const std::string& collision) {
  const double omega = 1.0 / (3.0 * viscosity + 0.5), most = model_of(collision).most_omega;
  if (omega <= most) return {};
  return fmt::format(
      "a viscosity of {:g} cannot be stable with the collision \"{}\": its rate of {:.6g} is too near to 2, and the "
      "least viscosity is {:.2g}",
      viscosity, collision, omega, (1.0 / most - 0.5) / 3.0);
}

mesh::Geometry LbmConfig::geometry() const {
  const mesh::Int3 n = mesh.extent();
  mesh::Geometry all{mesh::domain_of(n), {1.0 * n.x, 1.0 * n.y, 1.0 * n.z}, {}};
  for (std::size_t axis = 0; axis < 3; ++axis) all.periodic[axis] = lattice.edges[axis][0].kind == EdgeKind::periodic;
  return all;
}

double LbmConfig::reference_speed() const {
  if (speed) return *speed;
  for (const EdgeKind wanted : {EdgeKind::inflow, EdgeKind::equilibrium})
    for (const Face& face : faces) {
      const LatticeEdge& edge = lattice.edges[face.axis][face.high];
      if (edge.kind != wanted) continue;
      double mean = length_of(edge.velocity);
      for (std::size_t axis = 0; axis < 3 && edge.is_parabolic; ++axis)
        if (axis != face.axis && lattice.edges[axis][0].kind == EdgeKind::wall &&
            lattice.edges[axis][1].kind == EdgeKind::wall)
          mean *= 2.0 / 3.0;
      return mean;
    }
  return length_of(velocity);
}

solvers::LatticeConfig LbmConfig::lattice_at(double time) const {
  solvers::LatticeConfig now = lattice;
  now.viscosity = viscosity;
  if (period == 0.0) return now;
  const double turn = std::fmod(time, period) / period;
  const double share = core::cos(2.0 * std::numbers::pi * turn);
  for (std::size_t axis = 0; axis < 3; ++axis) now.force[axis] += share * oscillation[axis];
  return now;
}

std::map<std::string, std::vector<core::Option>> lbm_options() {
  return {{"mesh", mesh_table(least_tile).options()},
          {"lbm", lbm_table().options()},
          {"initial", initial_table().options()},
          {"edge.NAME", edge_table().options()},
          {"barrier.NAME", barrier_table().options()}};
}

LbmConfig read_lbm(const core::Node& root, core::Node& resolved) {
  const core::Node node = table_or_empty(root, "lbm"), initial = table_or_empty(root, "initial");
  core::Node part;
  LbmConfig config = lbm_table().read(node, &part);
  if (!config.barrier.empty()) part.set("barrier", core::Node(config.barrier));  // read again from another folder
  resolved.set("lbm", part);
  const LbmConfig begins = initial_table().read(initial, &part);
  resolved.set("initial", part);
  config.flow = begins.flow;
  config.velocity = begins.velocity;
  config.vortices = begins.vortices;
  config.mesh = read_tiles(root, resolved, least_tile);
  if (config.mesh.cells[0] < 2 || config.mesh.cells[1] < 2)
    core::reject(*root.find("mesh"), "the box is flat along x or y", "a flow in a plane has 1 cell along z");
  check_tiles(root, config);
  check_numbers(node, config);
  read_edges(root, resolved, config);
  check_initial(initial, config);
  config.barriers = read_barriers(root, config.barrier, node.find("barrier"), config.geometry().domain, resolved);
  return config;
}

}  // namespace sidestream::sims
