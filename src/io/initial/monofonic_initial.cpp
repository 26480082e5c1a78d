#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>

#include "io/containers/hdf5/hdf5_attributes.hpp"
#include "io/initial/gadget_header.hpp"
#include "io/initial/initial_entries.hpp"
#include "io/initial/initial_particles.hpp"
#include "io/initial/lattice.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

// monofonIC's "generic" output: arrays (x, y, z), z fastest, of the dark matter (DM) and of the gas (BA): displacements
// _dx, _dy, _dz in units of the box, velocities _vx, _vy, _vz (proper, peculiar) in km/s over the box in Mpc/h, density
// contrasts _delta and, with two fluids, masses in units of the critical density (names that end with the underscore).
// The header has box and scale factor; versions before 2020 say nothing of Omega.
constexpr std::array<const char*, 3> displacement_names{"_dx", "_dy", "_dz"}, velocity_names{"_vx", "_vy", "_vz"};

std::optional<double> in_header(const Hdf5Reader& file, const char* name) {
  const auto numbers = numbers_of_attribute(file, "Header", name);
  return numbers ? std::optional(numbers->front()) : std::nullopt;
}

double required(const Hdf5Reader& file, const char* name) {
  const auto number = in_header(file, name);
  if (!number)
    throw core::Error(fmt::format("the group `Header` has no attribute `{}`", name), file.path(),
                      "monofonIC writes it: the file was changed, or is of another program");
  return *number;
}

bool is_displaced(const Hdf5Reader& file, const std::string& fluid) {
  return file.has(fluid + displacement_names[0]);
}

struct Content {
  Lattice lattice;
  double box_mpc_per_h = 0.0;
  bool has_gas = false, is_gas_displaced = false;
};

Lattice lattice_of(const Hdf5Reader& file, double box_mpc) {
  const std::vector<std::int64_t> shape = file.shape("DM_vx");
  if (shape.size() != 3)
    throw core::Error("`DM_vx` has not three axes", file.path(), "the file is damaged, or of another program");
  Lattice lattice{{}, {box_mpc, box_mpc, box_mpc}, SlowestAxis::x};
  for (std::size_t axis = 0; axis < 3; ++axis)
    lattice.points[static_cast<int>(axis)] =
        static_cast<std::int32_t>(std::min<std::int64_t>(shape[axis], std::int64_t{1} << 30));
  check_lattice(lattice, file.path());
  return lattice;
}

void check_fields(const Hdf5Reader& file, const std::vector<std::string>& names) {
  const std::vector<std::int64_t> shape = file.shape("DM_vx");
  for (const std::string& name : names) {
    if (!file.has(name))
      throw core::Error(fmt::format("there is no field `{}`", name), file.path(),
                        "the file is damaged, or of another program");
    if (file.shape(name) != shape)
      throw core::Error(fmt::format("the field `{}` is on another lattice than `DM_vx`", name), file.path(),
                        "the file is damaged, or of another program");
  }
}

Content read_content(const Hdf5Reader& file, const InitialAssumptions& assumptions) {
  Content content;
  content.box_mpc_per_h = required(file, "Boxsize");
  if (!(content.box_mpc_per_h > 0.0))
    throw core::Error("the box has no size: `Boxsize` is not above zero", file.path(), "the file is damaged");
  if (!file.has("DM_vx"))
    throw core::Error("there is no field `DM_vx`", file.path(), "let monofonIC write velocities of the dark matter");
  if (!is_displaced(file, "DM"))
    throw core::Error("there are no displacements of the dark matter, only its density", file.path(),
                      "let monofonIC write them: generic_out_eulerian = no");
  content.lattice = lattice_of(file, content.box_mpc_per_h / assumptions.hubble);
  content.has_gas = file.has("BA_vx");
  content.is_gas_displaced = content.has_gas && is_displaced(file, "BA");
  std::vector<std::string> names;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const char* const end : {displacement_names[axis], velocity_names[axis]})
      names.push_back(std::string("DM") + end);
    if (content.has_gas) names.push_back(std::string("BA") + velocity_names[axis]);
    if (content.is_gas_displaced) names.push_back(std::string("BA") + displacement_names[axis]);
  }
  if (content.has_gas && !content.is_gas_displaced) names.emplace_back("BA_delta");
  for (const char* const masses : {"DM_", "BA_"}) {
    if (!file.has(masses)) continue;
    names.emplace_back(masses);
    for (const char* const omega : {"Omega_m", "Omega_b"}) required(file, omega);
  }
  check_fields(file, names);
  return content;
}

InitialDescription describe(const Hdf5Reader& file, const Content& content) {
  InitialDescription description;
  description.path = file.path();
  description.format = "monofonic";
  description.particles = content.lattice.points.product();
  description.masses_are_parts = true;
  if (content.has_gas) description.gas_parcels = description.particles;
  if (content.has_gas && !content.is_gas_displaced) description.gas_lattice = content.lattice.points;
  description.redshift = 1.0 / required(file, "astart") - 1.0;
  description.omega_m = in_header(file, "Omega_m");
  description.omega_lambda = in_header(file, "Omega_L");
  description.omega_b = in_header(file, "Omega_b");
  for (std::size_t axis = 0; axis < 3; ++axis) description.box_mpc[axis] = content.lattice.box_mpc[axis];
  return description;
}

class MonofonicInitialFile : public InitialFile {
 public:
  MonofonicInitialFile(const Hdf5Reader& file, const Content& content)
      : InitialFile(describe(file, content)), content_(content) {}

  mesh::Particles particles(int rank, int ranks) const override { return fluid("DM", true, rank, ranks); }
  mesh::Particles gas(int rank, int ranks) const override {
    if (!content_.has_gas) return empty_initial_particles(0, true);
    return fluid("BA", content_.is_gas_displaced, rank, ranks);
  }

 private:
  mesh::Particles fluid(const std::string& name, bool is_moved, int rank, int ranks) const {
    const Hdf5Reader file(description().path);
    const Lattice& lattice = content_.lattice;
    const Share slabs = share_of(lattice.slabs(), rank, ranks);
    const bool is_gas = name == "BA";
    mesh::Particles parcels = parcels_on(lattice, slabs, is_gas);
    const auto field = [&](const std::string& dataset) {
      return [&file, dataset](std::int64_t slab) { return file.double_rows(dataset, slab, 1); };
    };
    const double box = lattice.box_mpc[0], velocity_unit = content_.box_mpc_per_h;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      change_by(field(name + velocity_names[axis]), lattice, slabs, parcels.attributes[axis].values,
                [=](double, double velocity) { return velocity_unit * velocity; });
      if (is_moved)
        change_by(field(name + displacement_names[axis]), lattice, slabs, parcels.position[axis],
                  [=](double x, double displacement) { return x + box * displacement; });
    }
    std::vector<double>& mass = parcels.attributes[3].values;
    if (is_moved && file.has(name + "_")) {
      const double omega_b = *description().omega_b, omega = is_gas ? omega_b : *description().omega_m - omega_b;
      change_by(field(name + "_"), lattice, slabs, mass,
                [=](double part, double value) { return part * value / omega; });
    }
    if (!is_moved)
      change_by(field(name + "_delta"), lattice, slabs, mass,
                [](double part, double contrast) { return part * (1.0 + contrast); });
    check_initial_particles(parcels, description().path);
    return parcels;
  }

  Content content_;
};

}  // namespace

InitialFormat monofonic_initial_format() {
  return {"monofonic", "generic HDF5 output of monofonIC",
          [](const std::string& path) {
            if (!is_hdf5(path)) return false;
            const Hdf5Reader file(path);
            return file.has("DM_vx") || numbers_of_attribute(file, "Header", "astart").has_value();
          },
          [](const std::string& path, const InitialAssumptions& assumptions) -> std::unique_ptr<InitialFile> {
            const Hdf5Reader file(path);
            return std::make_unique<MonofonicInitialFile>(file, read_content(file, assumptions));
          }};
}

}  // namespace sidestream::io
