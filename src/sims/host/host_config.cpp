#include "sims/host/host_config.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "sidestream/core/error.hpp"
#include "sims/config/mesh_config.hpp"
#include "sims/host/host_simulation.hpp"
#include "sims/registry.hpp"

namespace sidestream::sims {

namespace {

using core::Node;

core::Table<HostDescription> host_table() {
  core::Table<HostDescription> table("What a program that takes its own steps has told of itself");
  table.option("program", &HostDescription::program, "host").doc("its name");
  table.option("cells", &HostDescription::cells, {1, 1, 1}).at_least(1).doc("of level 0 along x, y and z");
  table.option("lengths", &HostDescription::lengths, {1.0, 1.0, 1.0}).at_least(0.0).doc("of the domain");
  table.option("expands", &HostDescription::expands, false).doc("whether its moments have redshifts");
  table.option("equal_blocks", &HostDescription::has_equal_blocks, true).doc("whether its blocks are all as large");
  table.ignore("quantity");
  table.ignore("species");
  return table;
}

struct OfQuantity {
  std::string unit, meaning;
  bool is_state = false;
};

core::Table<OfQuantity> quantity_table() {
  core::Table<OfQuantity> table("A quantity that it gives");
  table.option("unit", &OfQuantity::unit, "").doc("of its numbers");
  table.option("meaning", &OfQuantity::meaning, "").doc("in a line");
  table.option("state", &OfQuantity::is_state, false).doc("whether a restart goes on from it");
  return table;
}

struct OfSpecies {
  std::vector<std::string> numbers;
};

core::Table<OfSpecies> species_table() {
  core::Table<OfSpecies> table("A kind of particles that it gives");
  table.option("numbers", &OfSpecies::numbers, {}).doc("of each particle beside its place");
  return table;
}

HostDescription read_description(const Node& root, Node& resolved) {
  const Node host = table_or_empty(root, "host");
  Node full;
  HostDescription description = host_table().read(host, &full);
  if (description.lengths.size() != 3) core::reject(host, "`lengths` are of three axes", "give three numbers");
  if (const Node* const quantities = host.find("quantity"))
    for (const auto& [name, node] : quantities->members()) {
      const OfQuantity read = quantity_table().read(node);
      description.quantities.push_back({name, read.unit, read.meaning, read.is_state});
    }
  if (const Node* const species = host.find("species"))
    for (const auto& [name, node] : species->members())
      description.species.push_back({name, species_table().read(node).numbers});
  resolved.set("host", node_of(description));
  return description;
}

Node array_of(const auto& numbers) {
  Node::Array all;
  for (const auto number : numbers) {
    if constexpr (std::is_floating_point_v<std::remove_const_t<decltype(number)>>)
      all.emplace_back(Node::Value(double{number}));
    else
      all.emplace_back(Node::Value(std::int64_t{number}));
  }
  return Node(Node::Value(std::move(all)));
}

}  // namespace

namespace {

bool are_equal(const mesh::LevelLayouts& layouts) {
  const mesh::Int3 first = layouts.blocks.front().box(0).extent();
  return std::ranges::all_of(layouts.blocks, [&](const mesh::Layout& level) {
    return std::ranges::all_of(level.boxes(), [&](const mesh::Box& box) {
      return box.extent() == first && box.lo.x % first.x == 0 && box.lo.y % first.y == 0 && box.lo.z % first.z == 0;
    });
  });
}

}  // namespace

HostDescription description_of(const std::string& program, const HostState& state) {
  const mesh::Geometry& geometry = state.mesh().geometry;
  const mesh::Int3 n = geometry.domain.extent();
  HostDescription description{.program = program,
                              .cells = {n.x, n.y, n.z},
                              .lengths = {geometry.length.begin(), geometry.length.end()},
                              .expands = state.moment.scale_factor.has_value(),
                              .has_equal_blocks = are_equal(state.layouts())};
  for (const HostField& field : state.fields()) description.quantities.push_back(field.quantity);
  for (const HostSpecies& species : state.species()) {
    couple::ExpectedSpecies expected{.name = species.name, .numbers = {}};
    for (const HostSpecies::Attribute& attribute : species.attributes) expected.numbers.push_back(attribute.name);
    description.species.push_back(std::move(expected));
  }
  return description;
}

Node node_of(const HostDescription& description) {
  Node host(Node::Members{});
  host.set("program", Node(description.program));
  host.set("cells", array_of(description.cells));
  host.set("lengths", array_of(description.lengths));
  host.set("expands", Node(description.expands));
  host.set("equal_blocks", Node(description.has_equal_blocks));
  Node species(Node::Members{});
  Node::Members quantities;
  for (const mesh::Quantity& quantity : description.quantities) {
    Node one(Node::Members{});
    one.set("unit", Node(quantity.unit));
    one.set("meaning", Node(quantity.meaning));
    one.set("state", Node(quantity.is_state));
    quantities.emplace_back(quantity.name, std::move(one));
  }
  for (const couple::ExpectedSpecies& of : description.species) {
    Node::Array numbers;
    for (const std::string& name : of.numbers) numbers.emplace_back(Node::Value(name));
    Node one(Node::Members{});
    one.set("numbers", Node(Node::Value(std::move(numbers))));
    species.set(of.name, one);
  }
  host.set("quantity", Node(std::move(quantities)));
  host.set("species", species);
  return host;
}

nlohmann::json HostPlan::description() const {
  return {{"cells", description_.cells}, {"block", description_.cells.front()}, {"program", description_.program}};
}

std::map<std::string, std::string> HostPlan::physics() const {
  return {{"host.program", description_.program}};
}

std::unique_ptr<Simulation> HostPlan::make(const comm::Communicator&, const couple::Landings& landings,
                                           core::Bill&) const {
  if (state_ == nullptr)
    throw core::Error("this is the configuration of a run of another program", "key `simulation`",
                      "start that program, `" + description_.program +
                          "`: it takes the steps; `sidestream analyze` and `attach` go without it");
  return std::make_unique<HostSimulation>(*state_, *knobs_, landings);
}

SimulationEntry host_entry() {
  return {"host",
          "another program, which takes its own steps and tells Sidestream where its numbers lie",
          {"host"},
          [](const Node& root, Node& resolved) { return std::make_unique<HostPlan>(read_description(root, resolved)); },
          [] {
            return std::map<std::string, std::vector<core::Option>>{{"host", host_table().options()},
                                                                    {"host.quantity.NAME", quantity_table().options()},
                                                                    {"host.species.NAME", species_table().options()}};
          },
          [] { return std::vector<mesh::Quantity>(); }};
}

}  // namespace sidestream::sims
