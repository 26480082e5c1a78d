#include "sidestream/analysis/python.hpp"

#include <nlohmann/json.hpp>

#include <utility>
#include <variant>

#include "analysis/entries.hpp"
#include "analysis/make.hpp"
#include "sidestream/core/config_path.hpp"

namespace sidestream::analysis {

namespace {

PythonLoader& loader() {
  static PythonLoader load;
  return load;
}

nlohmann::json to_json(const core::Node& node) {
  return std::visit(
      [](const auto& value) -> nlohmann::json {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, core::Node::Members>) {
          nlohmann::json members = nlohmann::json::object();
          for (const auto& [name, member] : value) members[name] = to_json(member);
          return members;
        } else if constexpr (std::is_same_v<Value, core::Node::Array>) {
          nlohmann::json elements = nlohmann::json::array();
          for (const core::Node& element : value) elements.push_back(to_json(element));
          return elements;
        } else {
          return value;
        }
      },
      node.value());
}

struct Parameters {
  std::string file, function;
  core::Node parameters;
  std::vector<std::string> fields, species;
};

core::Table<Parameters> parameters_table() {
  auto table = task_table<Parameters>("A function of your own in Python, with the cells where they lie");
  table.option("file", &Parameters::file, "").required().doc("the file it is in, from the folder of the configuration");
  table.option("function", &Parameters::function, "")
      .doc("its name; empty: the only one in the file that `@sidestream.analysis` marks");
  table
      .parsed<core::Node>("parameters", &Parameters::parameters, core::Node(),
                          [](const core::Node& node) {
                            node.members();
                            return node;
                          })
      .doc("a table of what it is called with beside the snapshot: parameters = { above = 3.0 }");
  table.option("fields", &Parameters::fields, {})
      .doc("quantities that it reads; empty: those that the mark of the function names");
  table.option("species", &Parameters::species, {})
      .doc("species whose particles it reads; empty: those that the mark of the function names");
  return table;
}

/// A task in a program without an interpreter, which has it done by a job that has one.
class Elsewhere final : public Analysis {
 public:
  explicit Elsewhere(Parameters parameters) : parameters_(std::move(parameters)) {}

  std::vector<std::string> fields() const override { return parameters_.fields; }
  std::vector<std::string> species() const override { return parameters_.species; }
  mesh::Result run(const comm::Communicator&, const mesh::Snapshot&) const override {
    throw core::Error("this program has no Python to call", parameters_.file);
  }

 private:
  Parameters parameters_;
};

std::unique_ptr<Analysis> left_to_others(const core::Node& table, Parameters parameters) {
  const core::Node* const isolate = table.find("isolate");
  if (isolate == nullptr || !std::holds_alternative<bool>(isolate->value()) || !isolate->boolean())
    core::reject(*table.find("analysis"), "this program has no Python to call",
                 "start the run with `sidestream run` or `mpirun sidestream-run-python`; a task of a program of your "
                 "own needs `isolate = true`");
  if (parameters.fields.empty() && parameters.species.empty())
    core::reject(table, "this program has no Python that could say what the function reads",
                 "name them in the task: fields = [\"density\"]");
  return std::make_unique<Elsewhere>(std::move(parameters));
}

std::unique_ptr<Analysis> make(const core::Node& table, core::Node* resolved) {
  Parameters parameters = parameters_table().read(table, resolved);
  const core::Node& file = *table.find("file");
  parameters.file = core::path_of(file);
  if (resolved != nullptr) resolved->set("file", core::Node(parameters.file, file.key()));
  if (!loader()) return left_to_others(table, std::move(parameters));
  try {
    return loader()({parameters.file, parameters.function, to_json(parameters.parameters).dump(), parameters.fields,
                     parameters.species});
  } catch (const core::Error& error) {
    const core::Node* const key = table.find(error.where());
    core::reject(key != nullptr ? *key : file, error.message(), error.hint());
  }
}

}  // namespace

void set_python(PythonLoader load) {
  loader() = std::move(load);
}

bool has_python() {
  return static_cast<bool>(loader());
}

AnalysisEntry python_entry() {
  return {python_analysis, parameters_table().documentation(), make, [] { return parameters_table().options(); }};
}

}  // namespace sidestream::analysis
