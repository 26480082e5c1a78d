#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "programs.hpp"
#include "sidestream/analysis/python.hpp"
#include "sidestream/core/error.hpp"
#include "step.hpp"

namespace sidestream::bindings {

namespace {

using Strings = std::vector<std::string>;

/// A column as Python gives it: name, unit, meaning, dimensions and their lengths, and values one after the other.
void add_column(const nb::handle& given, mesh::Result& result) {
  const auto text = [&](int n) { return nb::cast<std::string>(given[n]); };
  const auto dimensions = nb::cast<Strings>(given[3]);
  const auto lengths = nb::cast<std::vector<std::int64_t>>(given[4]);
  if (nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> whole;
      nb::try_cast(given[5], whole, false)) {
    result.add(text(0), text(1), text(2), dimensions, lengths,
               std::vector<std::int64_t>(whole.data(), whole.data() + whole.size()));
  } else {
    const auto real = nb::cast<Step::Numbers>(given[5]);
    result.add(text(0), text(1), text(2), dimensions, lengths,
               std::vector<double>(real.data(), real.data() + real.size()));
    result.columns.back().has_gaps = nb::cast<bool>(given[6]);
  }
}

mesh::Result result_of(const nb::dict& given) {
  mesh::Result result;
  for (const nb::handle column : nb::cast<nb::list>(given["columns"])) add_column(column, result);
  for (const auto& [name, value] : nb::cast<nb::dict>(given["attributes"])) {
    auto& attribute = result.attributes[nb::cast<std::string>(name)];
    if (nb::isinstance<nb::str>(value))
      attribute = nb::cast<std::string>(value);
    else if (nb::isinstance<nb::int_>(value))
      attribute = nb::cast<std::int64_t>(value);
    else
      attribute = nb::cast<double>(value);
  }
  for (const auto& [ending, bytes] : nb::cast<nb::dict>(given["attachments"])) {
    const auto content = nb::cast<nb::bytes>(bytes);
    result.attachments[nb::cast<std::string>(ending)] = std::string(content.c_str(), content.size());
  }
  result.summary = nb::cast<std::string>(given["summary"]);
  return result;
}

// What Python raised, which knows the three parts of our own errors.
core::Error error_of(const nb::python_error& raised) {
  const auto part = [&](const char* name) {
    return nb::hasattr(raised.value(), name) ? nb::cast<std::string>(nb::str(raised.value().attr(name))) : "";
  };
  const std::string what = part("what");
  return core::Error(what.empty() ? nb::cast<std::string>(nb::str(raised.value())) : what, part("where"), part("hint"));
}

/// A function in Python, by the object that `sidestream.tasks` makes of it.
class PythonAnalysis final : public analysis::Analysis {
 public:
  explicit PythonAnalysis(nb::object task) : task_(std::move(task)) {}
  ~PythonAnalysis() override {
    const nb::gil_scoped_acquire locked;
    task_.reset();
  }
  PythonAnalysis(const PythonAnalysis&) = delete;
  PythonAnalysis& operator=(const PythonAnalysis&) = delete;

  Strings fields() const override { return names("fields"); }
  Strings species() const override { return names("species"); }

  // The state stays whose it is, and the function has it as long as it runs.
  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const nb::gil_scoped_acquire locked;
    try {
      Step step({&snapshot, [](const mesh::Snapshot*) {}}, {&comm, [](const comm::Communicator*) {}}, "state of a run");
      return result_of(nb::cast<nb::dict>(task_.attr("run")(nb::cast(std::move(step)))));
    } catch (const nb::python_error& raised) {
      throw error_of(raised);
    }
  }

 private:
  Strings names(const char* attribute) const {
    const nb::gil_scoped_acquire locked;
    return nb::cast<Strings>(task_.attr(attribute));
  }

  nb::object task_;
};

std::unique_ptr<analysis::Analysis> load(const analysis::PythonCall& call) {
  const nb::gil_scoped_acquire locked;
  try {
    const nb::object tasks = nb::module_::import_("sidestream.tasks");
    return std::make_unique<PythonAnalysis>(
        tasks.attr("load")(call.file, call.function, call.parameters, call.fields, call.species));
  } catch (const nb::python_error& raised) {
    throw error_of(raised);
  }
}

// The program without an interpreter, beside the one with it.
std::string plain(const std::string& path) {
  const std::string ending = analysis::with_python;
  return path.ends_with(ending) ? path.substr(0, path.size() - ending.size()) : path;
}

int program(Strings words, const std::function<int(int, char**)>& run) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const nb::gil_scoped_release unlocked;
  return run(static_cast<int>(words.size()), pointers.data());
}

}  // namespace

void bind_program(nb::module_& module) {
  analysis::set_python(load);
  module.def(
      "run_program",
      [](const Strings& words) {
        return program(words,
                       [&](int count, char** all) { return apps::run_program(count, all, plain(words.front())); });
      },
      nb::arg("words"), "Does what the program `sidestream-run` does with these arguments; returns its exit code.");
  module.def(
      "attach_program", [](const Strings& words) { return program(words, apps::attach_program); }, nb::arg("words"),
      "Does what the program `sidestream-attach` does with these arguments; returns its exit code.");
}

}  // namespace sidestream::bindings
