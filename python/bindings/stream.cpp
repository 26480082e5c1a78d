#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "blocks.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/couple/attach.hpp"
#include "sidestream/couple/edit_request.hpp"
#include "sidestream/couple/stream_reader.hpp"
#include "sidestream/stream/keys.hpp"
#include "step.hpp"

namespace sidestream::bindings {

namespace {

using Triple = std::array<std::int32_t, 3>;  // x, y, z
using Region = std::tuple<Triple, Triple>;   // first cell, end

core::Compression compression_of(const std::map<std::string, std::string>& choices) {
  if (choices.empty()) return {};
  core::Node table(core::Node::Members{}, "compress");
  for (const auto& [name, choice] : choices) table.set(name, core::Node(choice, name));
  return core::read_compression(table);
}

class Stream {
 public:
  Stream(const std::string& where, const std::string& task, const std::vector<std::string>& quantities,
         const std::vector<std::string>& species, const std::optional<Region>& region, std::optional<int> level,
         bool single, const std::string& technique, const std::string& layout, const std::string& once_as,
         const std::string& keys, const std::map<std::string, std::string>& compress, int gateways, double timeout_s,
         double patience_s, std::optional<int> comm) {
    ensure_mpi();
    couple::ReaderOptions options;
    options.task = task;
    options.demand = {quantities, species, {}, level, single};
    if (region) {
      const auto& [lo, hi] = *region;
      options.demand.region = mesh::Box{{lo[0], lo[1], lo[2]}, {hi[0], hi[1], hi[2]}};
    }
    options.technique = couple::techniques().named(technique).technique;
    options.layout = &couple::reader_layouts().named(layout);
    options.once_as = once_as;
    options.keys = keys;
    options.compression = compression_of(compress);
    options.gateways = gateways;
    options.timeout_s = timeout_s;
    options.patience_s = patience_s;
    options.is_interrupted = [] {
      const nb::gil_scoped_acquire locked;
      return PyErr_CheckSignals() != 0;
    };
    const nb::gil_scoped_release unlocked;
    comm_ = std::make_shared<comm::Communicator>(comm ? MPI_Comm_f2c(static_cast<MPI_Fint>(*comm)) : MPI_COMM_SELF);
    reader_ = std::make_unique<couple::StreamReader>(*comm_, where, std::move(options));
  }

  std::unique_ptr<Step> next() try {
    const nb::gil_scoped_release unlocked;
    std::optional<mesh::Snapshot> snapshot = reader().next();
    if (!snapshot) return nullptr;
    return std::make_unique<Step>(std::make_shared<const mesh::Snapshot>(std::move(*snapshot)), comm_,
                                  "step of a stream");
  } catch (const core::Error&) {
    if (PyErr_Occurred() != nullptr) throw nb::python_error();  // Ctrl-C
    throw;
  }
  void acknowledge() { reader().acknowledge(); }
  void close() {
    const nb::gil_scoped_release unlocked;
    reader_.reset();
  }
  // What it knows and has had, as JSON.
  std::string state() {
    const couple::ReaderCounts& counts = reader().counts();
    return nlohmann::json{{"configuration", reader().configuration()},
                          {"run", reader().run()},
                          {"task", reader().task()},
                          {"ending", reader().ending()},
                          {"lost", reader().lost()},
                          {"has_next", reader().has_next()},
                          {"steps", counts.steps},
                          {"dropped", counts.dropped},
                          {"bytes", counts.bytes},
                          {"messages", counts.messages},
                          {"connections", counts.connections},
                          {"transfer_s", counts.transfer_s},
                          {"redistribute_s", counts.redistribute_s},
                          {"technique", counts.technique}}
        .dump();
  }

 private:
  couple::StreamReader& reader() {
    if (!reader_) throw core::Error("the stream is closed");
    return *reader_;
  }

  std::shared_ptr<comm::Communicator> comm_;
  std::unique_ptr<couple::StreamReader> reader_;
};

std::string ask_run(const std::string& where, const std::string& keys, const std::string& request, double timeout_s) {
  const nb::gil_scoped_release unlocked;
  return couple::ask_run(where, keys, nlohmann::json::parse(request), timeout_s).dump();
}

// An edit of a run by an array, of which each rank has parts with their first cells (z, y, x).
std::string send_edit(const std::string& where, const std::string& keys, const std::string& request,
                      const Region& region, const std::vector<FieldArray<double>>& arrays,
                      const std::vector<Triple>& origins, double timeout_s, std::optional<int> comm) {
  ensure_mpi();
  std::vector<couple::ArrayPart> parts;
  for (std::size_t n = 0; n < arrays.size(); ++n) {
    const auto [z, y, x] = origins.at(n);
    const auto size = [&](std::size_t axis) { return static_cast<std::int32_t>(arrays[n].shape(axis)); };
    const mesh::Box cells{{x, y, z}, {x + size(2), y + size(1), z + size(0)}};
    const std::ptrdiff_t stride_y = arrays[n].stride(1), stride_z = arrays[n].stride(0);
    parts.push_back({cells, {arrays[n].data() - x - y * stride_y - z * stride_z, stride_y, stride_z, 0, 1}});
  }
  const auto& [lo, hi] = region;
  const mesh::Box box{{lo[0], lo[1], lo[2]}, {hi[0], hi[1], hi[2]}};
  const nb::gil_scoped_release unlocked;
  return couple::ask_for_edit(communicator(comm), where, keys, nlohmann::json::parse(request), box, parts, timeout_s)
      .dump();
}

std::string make_keys(const std::string& folder) {
  return stream::KeyFolder(folder).make().public_key;
}

}  // namespace

void bind_stream(nb::module_& module) {
  nb::class_<Stream>(module, "Stream", "A run seen from another job, step by step.")
      .def(nb::init<const std::string&, const std::string&, const std::vector<std::string>&,
                    const std::vector<std::string>&, const std::optional<Region>&, std::optional<int>, bool,
                    const std::string&, const std::string&, const std::string&, const std::string&,
                    const std::map<std::string, std::string>&, int, double, double, std::optional<int>>(),
           nb::arg("where"), nb::arg("task"), nb::arg("quantities"), nb::arg("species"), nb::arg("region").none(),
           nb::arg("level").none(), nb::arg("single"), nb::arg("technique"), nb::arg("layout"), nb::arg("once_as"),
           nb::arg("keys"), nb::arg("compress"), nb::arg("gateways"), nb::arg("timeout_s"), nb::arg("patience_s"),
           nb::arg("comm").none())
      .def("next", &Stream::next, "The next step; None when the run has ended.")
      .def("acknowledge", &Stream::acknowledge, "The last step is done with.")
      .def("close", &Stream::close, "Leaves the run.")
      .def("state", &Stream::state, "What it knows of the run and has had so far, as JSON.");
  module.def("ask_run", &ask_run, nb::arg("where"), nb::arg("keys"), nb::arg("request"), nb::arg("timeout_s"),
             "The answer of a run to a request, both as JSON.");
  module.def("send_edit", &send_edit, nb::arg("where"), nb::arg("keys"), nb::arg("request"), nb::arg("region"),
             nb::arg("arrays"), nb::arg("origins"), nb::arg("timeout_s"), nb::arg("comm").none(),
             "The answer of a run to an edit by an array, of which each rank of a communicator has parts (z, y, x).");
  module.def("make_keys", &make_keys, nb::arg("folder"), "Makes a pair of keys in a folder; returns the public one.");
}

}  // namespace sidestream::bindings
