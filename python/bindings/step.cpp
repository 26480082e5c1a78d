#include "step.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <utility>

#include "sidestream/analysis/covering_grid.hpp"
#include "sidestream/core/compact_sum.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/exact_sum.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::bindings {

namespace {

using Kept = std::shared_ptr<const mesh::Snapshot>;

nlohmann::json corners(const mesh::Int3& at) {
  return {at.x, at.y, at.z};
}

// The state is there as long as an array of it.
nb::capsule keeper_of(const Kept& snapshot) {
  auto kept = std::make_unique<Kept>(snapshot);
  const nb::capsule keeper(kept.get(), [](void* pointer) noexcept { delete static_cast<Kept*>(pointer); });
  kept.release();
  return keeper;
}

template <typename T>
nb::object column_of(const Kept& snapshot, const std::vector<T>& values) {
  return nb::cast(nb::ndarray<nb::numpy, const T>(values.data(), {values.size()}, keeper_of(snapshot)));
}

std::span<const double> span_of(const Step::Numbers& values) {
  return {values.data(), values.size()};
}

// Calls `work` with each row along the last axis.
template <typename F>
void for_each_row(const Step::Cells& cells, F work) {
  if (cells.size() == 0) return;
  const std::size_t axes = cells.ndim(), count = axes == 0 ? 1 : cells.shape(axes - 1);
  std::vector<std::size_t> at(std::max<std::size_t>(axes, 1));
  const double* row = cells.data();
  while (true) {
    work(std::span(row, count));
    std::size_t axis = std::max<std::size_t>(axes, 1) - 1;
    while (axis > 0 && ++at[axis - 1] == cells.shape(axis - 1)) {
      row -= static_cast<std::int64_t>(cells.shape(axis - 1) - 1) * cells.stride(axis - 1);
      at[--axis] = 0;
    }
    if (axis == 0) return;
    row += cells.stride(axis - 1);
  }
}

/// Finds the interval of a number between rising edges: the bits of numbers are in their order, and a table over these
/// says from which interval on to look.
class BinFinder {
 public:
  explicit BinFinder(std::span<const double> edges) : edges_(edges), first_(key(edges.front())) {
    const std::uint64_t range = key(edges.back()) - first_;
    shift_ = std::max(0, static_cast<int>(std::bit_width(range)) - slot_bits);
    before_.assign((range >> shift_) + 2, 0);
    for (std::size_t edge = 1; edge + 1 < edges.size(); ++edge) ++before_[slot(edges[edge]) + 1];
    std::partial_sum(before_.begin(), before_.end(), before_.begin());
  }

  std::size_t size() const { return edges_.size() - 1; }
  bool hold(double value) const { return value >= edges_.front() && value <= edges_.back(); }
  /// Of a number that they hold.
  std::size_t of(double value) const {
    std::size_t bin = before_[slot(value)];
    while (bin + 1 < size() && value >= edges_[bin + 1]) ++bin;
    return bin;
  }

 private:
  static constexpr int slot_bits = 12;

  static std::uint64_t key(double value) {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // minus zero is zero
    return (bits & sign) != 0 ? ~bits : bits | sign;
  }
  std::size_t slot(double value) const { return (key(value) - first_) >> shift_; }

  std::span<const double> edges_;
  std::uint64_t first_;
  int shift_ = 0;
  std::vector<std::size_t> before_;  // of each slot, the inner edges in those before it
};

}  // namespace

const mesh::Snapshot& Step::snapshot() const {
  if (!snapshot_) throw core::Error("the state is gone: its task has ended", "", "keep copies of what is wanted later");
  return *snapshot_;
}

const comm::Communicator& Step::comm() const {
  snapshot();
  return *comm_;
}

void Step::release() {
  snapshot_.reset();
  comm_.reset();
}

std::string Step::describe(const std::optional<std::vector<std::string>>& wanted) const {
  const mesh::Snapshot& state = snapshot();
  const mesh::Moment& moment = state.moment;
  const auto present = [&](const char* name) {
    const auto found = moment.attributes.find(name);
    return found == moment.attributes.end() ? 0.0 : found->second;
  };
  nlohmann::json levels = nlohmann::json::array(), fields = nlohmann::json::array(), species = nlohmann::json::array();
  for (const mesh::Layout& level : state.levels)
    levels.push_back({{"cells", corners(level.domain().extent())}, {"boxes", level.size()}});
  for (const mesh::Quantity& quantity : state.quantities())
    fields.push_back({{"name", quantity.name}, {"units", quantity.unit}});
  nlohmann::json reals = nlohmann::json::array();
  std::int64_t particles = 0;
  for (const mesh::Species& one : state.species()) {
    const bool is_first = &one == &state.species().front();
    const auto is_it = [&](const std::string& name) { return name == one.name() || (is_first && name.empty()); };
    if (wanted && std::ranges::none_of(*wanted, is_it)) continue;
    nlohmann::json numbers = nlohmann::json::array();
    for (const mesh::ParticleAttribute& attribute : one.particles()->attributes) {
      numbers.push_back(attribute.name);
      reals.push_back({{"name", attribute.name}, {"units", attribute.unit}});
    }
    const auto count = static_cast<std::int64_t>(one.particles()->size());
    particles += count;
    species.push_back(
        {{"name", one.name()}, {"particles", count}, {"numbers", numbers}, {"mass", one.particles()->mass}});
  }
  const std::string own_unit = moment.scale_factor ? "Mpc" : "";
  return nlohmann::json{{"format", "stream"},
                        {"path", state.source},
                        {"kind", kind_},
                        {"seal", "none"},
                        {"step", moment.step},
                        {"time", moment.time},
                        {"scale_factor", moment.scale_factor.value_or(1.0)},
                        {"omega_m", present("omega_m")},
                        {"omega_lambda", present("omega_lambda")},
                        {"hubble", present("hubble")},
                        {"gamma", state.gamma},
                        {"attributes", moment.attributes},
                        {"length", state.geometry.length},
                        {"length_unit", state.length_unit.empty() ? own_unit : state.length_unit},
                        {"origin", {0.0, 0.0, 0.0}},
                        {"periodic", state.geometry.periodic},
                        {"levels", levels},
                        {"fields", fields},
                        {"particles", species.empty() ? nlohmann::json() : nlohmann::json(particles)},
                        {"particle_reals", reals},
                        {"species", species}}
      .dump();
}

nb::list Step::blocks(const std::string& field, int level) const {
  const mesh::FieldView<const double> view = snapshot().field(field, level);
  nb::list all;
  for (int b = 0; b < view.blocks(); ++b) {
    const mesh::Box& box = view.box(b);
    const mesh::Int3 n = box.extent();
    const core::View4<const double> cells = view.view(b);
    const std::array<std::size_t, 3> shape{static_cast<std::size_t>(n.z), static_cast<std::size_t>(n.y),
                                           static_cast<std::size_t>(n.x)};
    const std::array<std::int64_t, 3> strides{cells.stride_z(), cells.stride_y(), 1};
    nb::ndarray<nb::numpy, const double> array(&cells(box.lo.z, box.lo.y, box.lo.x), 3, shape.data(),
                                               keeper_of(snapshot_), strides.data());
    all.append(nb::make_tuple(nb::make_tuple(box.lo.z, box.lo.y, box.lo.x), nb::cast(array)));
  }
  return all;
}

nb::object Step::boxes(int level) const {
  std::vector<std::int32_t> all;
  for (const mesh::Box& box : snapshot().levels.at(static_cast<std::size_t>(level)).boxes())
    all.insert(all.end(), {box.lo.x, box.lo.y, box.lo.z, box.hi.x, box.hi.y, box.hi.z});
  return array_of(std::move(all));
}

nb::object Step::covering_grid(const std::string& field, int level) const {
  const mesh::Snapshot& state = snapshot();
  std::unique_ptr<mesh::Field<double>> whole;
  {
    const nb::gil_scoped_release unlocked;
    const mesh::FieldView<const double> cells = analysis::covering_field(comm(), state, field, level);
    whole = std::make_unique<mesh::Field<double>>(mesh::split(cells.layout().domain(), {1, 1, 1}), 0);
    redistribute::Redistribution(comm(), cells.layout(), whole->layout()).apply(cells, *whole);
  }
  const mesh::Int3 n = whole->layout().domain().extent();
  double* const data = whole->all().data();
  return array_of(std::move(whole), data,
                  {static_cast<std::size_t>(n.z), static_cast<std::size_t>(n.y), static_cast<std::size_t>(n.x)});
}

nb::tuple Step::slab(const std::string& field, int level, bool whole) const {
  const mesh::Snapshot& state = snapshot();
  std::unique_ptr<mesh::Field<double>> cells;
  std::int32_t planes = 0;
  {
    const nb::gil_scoped_release unlocked;
    const mesh::FieldView<const double> from = analysis::covering_field(comm(), state, field, level);
    const mesh::Box domain = from.layout().domain();
    planes = domain.extent().z;
    const mesh::Layout to =
        mesh::split(domain, {1, 1, whole ? 1 : std::min(ranks(), planes)}, from.layout().periodic());
    const mesh::Ghosts above(mesh::Int3{0, 0, whole ? 0 : 1});
    cells = std::make_unique<mesh::Field<double>>(to, rank(), 1, above);
    redistribute::Redistribution(comm(), from.layout(), to, redistribute::Strategy::automatic,
                                 {.destination_ghost = above})
        .apply(from, *cells);
  }
  if (cells->blocks() == 0)
    return nb::make_tuple(0, array_of(std::make_unique<int>(), static_cast<double*>(nullptr), {0, 0, 0}));
  const mesh::Box box = cells->box(0);
  const core::View4<double> view = cells->view(0);
  double* const data = &view(box.lo.z, box.lo.y, box.lo.x);
  const auto count = static_cast<std::size_t>(box.extent().z + (!whole && box.hi.z < planes ? 1 : 0));
  return nb::make_tuple(
      box.lo.z, array_of(std::move(cells), data,
                         {count, static_cast<std::size_t>(box.extent().y), static_cast<std::size_t>(box.extent().x)}));
}

nb::dict Step::particles(const std::string& species) const {
  const mesh::Species& one = species.empty() ? snapshot().species().front() : snapshot().species(species);
  const mesh::Particles& all = *one.particles();
  nb::dict columns;
  columns["id"] = column_of(snapshot_, all.id);
  for (std::size_t axis = 0; axis < 3; ++axis)
    columns[std::string(1, "xyz"[axis]).c_str()] = column_of(snapshot_, all.position[axis]);
  for (const mesh::ParticleAttribute& attribute : all.attributes)
    columns[attribute.name.c_str()] = column_of(snapshot_, attribute.values);
  return columns;
}

void Step::agree(std::int64_t place, const std::string& problem) const {
  const nb::gil_scoped_release unlocked;
  comm().agree(problem);
  if (comm().min(place) != comm().max(place))
    throw core::Error("the ranks are not together: some call what others do not", "",
                      "every rank calls `sum`, `min`, `max`, `histogram` and `gather`, in the same order");
}

double Step::sum(const std::vector<Cells>& values) const {
  const nb::gil_scoped_release unlocked;
  core::CompactSum own;
  for (const Cells& part : values)
    for_each_row(part, [&](std::span<const double> row) {
      for (const double value : row) own.add(value);
    });
  core::ExactSum total;
  own.add_to(total);
  return comm().sum(total);
}

nb::tuple Step::histogram(const std::vector<Cells>& values, const std::vector<Numbers>& weights,
                          const Numbers& edges) const {
  const BinFinder bins(span_of(edges));
  std::vector<std::int64_t> counts(bins.size());
  std::vector<double> totals;
  {
    const nb::gil_scoped_release unlocked;
    std::vector<core::ExactSum> sums(weights.empty() ? 0 : counts.size());
    for (std::size_t part = 0; part < values.size(); ++part) {
      const double* weight = sums.empty() ? nullptr : weights[part].data();
      for_each_row(values[part], [&](std::span<const double> row) {
        for (std::size_t n = 0; n < row.size(); ++n) {
          if (!bins.hold(row[n])) continue;
          const std::size_t bin = bins.of(row[n]);
          ++counts[bin];
          if (weight != nullptr) sums[bin].add(weight[n]);
        }
        if (weight != nullptr) weight += row.size();
      });
    }
    const bool are_weighted = comm().max(static_cast<std::int64_t>(sums.size())) > 0;
    if (are_weighted) sums.resize(counts.size());
    comm().sum(std::span(counts));
    if (are_weighted) comm().sum(std::span(sums));
    for (const core::ExactSum& sum : sums) totals.push_back(sum.value());
  }
  return nb::make_tuple(array_of(std::move(counts)), array_of(std::move(totals)));
}

nb::object Step::gather(const Numbers& values) const {
  std::vector<double> all;
  {
    const nb::gil_scoped_release unlocked;
    all = comm().gather(span_of(values));
  }
  return array_of(std::move(all));
}

nb::list Step::gather_bytes(const nb::bytes& bytes) const {
  std::vector<char> all;
  std::vector<std::int64_t> lengths;
  const std::span<const char> own(bytes.c_str(), bytes.size());
  {
    const nb::gil_scoped_release unlocked;
    lengths = comm().all_gather(std::ssize(own));
    all = comm().gather(own);
  }
  nb::list parts;
  const char* next = all.data();
  for (const std::int64_t length : lengths) {
    if (all.empty()) break;
    parts.append(nb::bytes(next, static_cast<std::size_t>(length)));
    next += length;
  }
  return parts;
}

void bind_step(nb::module_& module) {
  nb::class_<Step>(module, "Step", "A state of a run that goes on, with the cells of this rank.")
      .def("describe", &Step::describe, nb::arg("species").none() = nb::none(),
           "What is in it, as JSON; of all species, or of those that are named, of which `\"\"` is the first.")
      .def("blocks", &Step::blocks, nb::arg("field"), nb::arg("level"),
           "First cell (z, y, x) and cells [z, y, x] of each block of this rank, not copied.")
      .def("boxes", &Step::boxes, nb::arg("level"), "Six numbers a box: x, y, z of its first cell and of its end.")
      .def("covering_grid", &Step::covering_grid, nb::arg("field"), nb::arg("level"),
           "A field (z, y, x) on the whole domain at the resolution of a level; of one rank.")
      .def("slab", &Step::slab, nb::arg("field"), nb::arg("level"), nb::arg("whole"),
           "First plane and cells of a slab in the resolution of a level, with the first plane of the next.")
      .def("particles", &Step::particles, nb::arg("species"),
           "Columns of the particles of a species on this rank, not copied.")
      .def("rank", &Step::rank, "The rank of this process among those that have the state.")
      .def("ranks", &Step::ranks, "How many they are.")
      .def("communicator", &Step::communicator, "The Fortran handle of their communicator.")
      .def("is_shared", &Step::is_shared, "Whether an array of the state is left.")
      .def("release", &Step::release, "Forgets the state.")
      .def("agree", &Step::agree, nb::arg("place"), nb::arg("problem"),
           "Raises on all ranks the problem of the first that has one, or that they are not all at one place.")
      .def("sum", &Step::sum, nb::arg("values"), "The exact sum of the values of all ranks.")
      .def("min", &Step::min, nb::arg("value"), "The least of the values of all ranks.")
      .def("max", &Step::max, nb::arg("value"), "The largest of the values of all ranks.")
      .def("histogram", &Step::histogram, nb::arg("values"), nb::arg("weights"), nb::arg("edges"),
           "Counts of the values of all ranks between the edges, and the exact sums of their weights.")
      .def("gather", &Step::gather, nb::arg("values"), "The values of all ranks on rank 0, elsewhere none.")
      .def("gather_bytes", &Step::gather_bytes, nb::arg("bytes"), "Those of each rank on rank 0, elsewhere none.");
}

}  // namespace sidestream::bindings
