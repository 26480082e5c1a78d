#include "workload.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::bench {

namespace {

constexpr std::array<const char*, 10> names{"density", "xmom",     "ymom",  "zmom",     "rho_E",
                                            "Temp",    "pressure", "rho_e", "phi_grav", "particle_mass_density"};

constexpr double particle_bytes = 8.0 * 7;  // id, position, velocity

// Positive numbers with no zeros at their ends.
double value(std::int64_t cell, int variable) {
  return 1.0 + std::sqrt(static_cast<double>(cell) + 0.37 * (variable + 1));
}

// `blocks` as a box of blocks, as near to a cube as it goes.
mesh::Int3 arranged(int blocks) {
  mesh::Int3 best{blocks, 1, 1};
  for (int z = 1; z * z * z <= blocks; ++z)
    for (int y = z; z * y * y <= blocks; ++y)
      if (blocks % (z * y) == 0) best = {blocks / (z * y), y, z};
  return best;
}

mesh::Layout layout_of(const comm::Communicator& comm, const WorkloadSize& size) {
  const mesh::Int3 blocks = arranged(size.blocks * comm.size());
  return mesh::Forest({size.block * blocks.x, size.block * blocks.y, size.block * blocks.z}, size.block)
      .layout(comm.size());
}

template <typename T>
void pack_component(const mesh::Field<double>& field, int component, std::span<std::byte>& out) {
  for (int b = 0; b < field.blocks(); ++b) {
    const auto view = field.view(b);
    auto* to = reinterpret_cast<T*>(out.data());
    core::for_each_cell(field.box(b), [&](int k, int j, int i) { *to++ = static_cast<T>(view(component, k, j, i)); });
    out = out.subspan(static_cast<std::size_t>(field.box(b).volume()) * sizeof(T));
  }
}

// One in the middle of each cell.
mesh::Particles particles_of(const mesh::Snapshot& snapshot, const mesh::Layout& layout) {
  mesh::Particles particles;
  particles.mass = 1e8;
  for (const char* name : {"velocity_x", "velocity_y", "velocity_z"})
    particles.attributes.push_back({name, "km/s", {}});
  for (const std::int32_t b : layout.boxes_of(snapshot.rank))
    core::for_each_cell(layout.box(b), [&](int k, int j, int i) {
      const std::int64_t id = linear_index(layout.domain(), {i, j, k});
      particles.id.push_back(id);
      const std::array<int, 3> cell{i, j, k};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        particles.position[axis].push_back((cell[axis] + 0.5) * snapshot.geometry.cell_size(static_cast<int>(axis)));
        particles.attributes[axis].values.push_back(value(id, static_cast<int>(axis)));
      }
    });
  return particles;
}

std::int64_t width_of(const io::FileChoice& choice) {
  return choice.precision == io::Precision::single_precision ? 4 : 8;
}

}  // namespace

double WorkloadSize::state_bytes() const {
  const double side = block + 2.0 * ghost, cell = 8.0 * variables;
  return side * side * side * cell + (has_particles ? particle_bytes : 0.0) * core::pow(block, 3);
}

double WorkloadSize::file_bytes() const {
  return core::pow(block, 3) * (8.0 * variables + (has_particles ? particle_bytes : 0.0));
}

Workload::Workload(const comm::Communicator& comm, const WorkloadSize& size)
    : layout_(layout_of(comm, size)), state_(layout_, comm.rank(), size.variables, size.ghost) {
  core::require(size.variables >= 7 && size.variables <= static_cast<int>(names.size()),
                "the benchmark has 7 to 10 variables");
  for (int b = 0; b < state_.blocks(); ++b) {
    const auto view = state_.view(b);
    core::for_each_cell(state_.box(b), [&](int k, int j, int i) {
      for (int c = 0; c < size.variables; ++c) view(c, k, j, i) = value(linear_index(layout_.domain(), {i, j, k}), c);
    });
  }
  snapshot_.moment = {1, 0.25};
  const mesh::Int3 cells = layout_.domain().extent();
  snapshot_.geometry.domain = layout_.domain();
  for (int axis = 0; axis < 3; ++axis) snapshot_.geometry.length[static_cast<std::size_t>(axis)] = cells[axis] / 64.0;
  snapshot_.levels = {layout_};
  snapshot_.rank = comm.rank();
  snapshot_.state_numbers = {{"time", 0.25}};
  for (int c = 0; c < size.variables; ++c) snapshot_.add_stored({names[static_cast<std::size_t>(c)], "1"}, {state_}, c);
  if (size.has_particles) snapshot_.add_species({mesh::dark_matter, particles_of(snapshot_, layout_)});
}

std::int64_t Workload::particles() const {
  return snapshot_.has_particles() ? layout_.domain().volume() : 0;
}

io::FileChoice Workload::choice(const std::string& content) const {
  io::FileChoice choice;
  if (content == "checkpoint") {
    choice.kind = io::FileKind::checkpoint;
    choice.quantities = mesh::names_of(snapshot_.quantities());
    return choice;
  }
  choice.quantities = {names[0], names[5], names[6]};
  choice.precision = content == "plotfile" ? io::Precision::single_precision : io::Precision::double_precision;
  return choice;
}

std::int64_t Workload::own_bytes(const io::FileChoice& choice) const {
  std::int64_t cells = 0;
  for (int b = 0; b < state_.blocks(); ++b) cells += state_.box(b).volume();
  return cells * width_of(choice) * std::ssize(choice.quantities);
}

std::int64_t Workload::bytes(const io::FileChoice& choice) const {
  return layout_.domain().volume() * width_of(choice) * std::ssize(choice.quantities);
}

void Workload::pack(const io::FileChoice& choice, std::span<std::byte> out) const {
  for (const std::string& name : choice.quantities) {
    const int component = snapshot_.stored(name).component;
    choice.precision == io::Precision::single_precision ? pack_component<float>(state_, component, out)
                                                        : pack_component<double>(state_, component, out);
  }
}

void Workload::check(const io::FileChoice& choice, const io::SnapshotFile& file) const {
  const bool is_single = choice.precision == io::Precision::single_precision;
  for (const std::string& name : choice.quantities) {
    const int component = snapshot_.stored(name).component;
    mesh::Field<double> read(layout_, state_.rank());
    file.read_field(name, read);
    std::int64_t wrong = 0;
    for (int b = 0; b < read.blocks(); ++b) {
      const auto found = std::as_const(read).view(b);
      const auto written = state_.view(b);
      core::for_each_cell(read.box(b), [&](int k, int j, int i) {
        const double expected = written(component, k, j, i);
        const double stored = is_single ? static_cast<double>(static_cast<float>(expected)) : expected;
        wrong += found(0, k, j, i) != stored ? 1 : 0;
      });
    }
    if (wrong > 0)
      throw core::Error(fmt::format("{} cells of `{}` came back wrong", wrong, name), file.description().state.source);
  }
}

void Workload::check(const std::string& name, const mesh::Field<double>& read, const std::string& path) const {
  const int component = snapshot_.stored(name).component;
  std::int64_t wrong = 0;
  for (int b = 0; b < read.blocks(); ++b) {
    const auto found = read.view(b);
    core::for_each_cell(read.box(b), [&](int k, int j, int i) {
      wrong += found(0, k, j, i) != value(linear_index(layout_.domain(), {i, j, k}), component) ? 1 : 0;
    });
  }
  if (wrong > 0) throw core::Error(fmt::format("{} cells of `{}` came back wrong", wrong, name), path);
}

}  // namespace sidestream::bench
