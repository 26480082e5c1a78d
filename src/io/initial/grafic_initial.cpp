#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <filesystem>

#include "grafic_field.hpp"
#include "initial_entries.hpp"
#include "initial_particles.hpp"
#include "lattice.hpp"
#include "paths.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

// grafic2's folder of fields (Bertschinger 2001, ApJS 137, 1), as MUSIC and monofonIC write and RAMSES reads it:
// velocities ic_velc[xyz] of the dark matter and ic_velb[xyz] of the gas [proper peculiar km/s], displacements
// ic_posc[xyz] [comoving Mpc/h] and the density contrast ic_deltab of the gas.
struct Fields {
  std::vector<GraficField> velocity, displacement, gas_velocity;
  std::vector<GraficField> gas_contrast;  ///< one or none
};

std::vector<GraficField> open_axes(const std::string& folder, const std::string& name, bool is_required) {
  std::vector<GraficField> fields;
  for (const char axis : {'x', 'y', 'z'}) {
    const std::string path = (std::filesystem::path(folder) / (name + axis)).string();
    if (has_entry(path))
      fields.emplace_back(path);
    else if (is_required || !fields.empty())
      throw core::Error(
          "a field of the initial conditions is missing", path,
          "a folder of grafic2 has ic_velcx, ic_velcy, ic_velcz and, for displacements, ic_poscx and so on");
  }
  if (!fields.empty() && fields.size() < 3)
    throw core::Error(fmt::format("the field `{}` does not have all three axes", name), folder,
                      "add the missing files, or take the others away");
  return fields;
}

Fields open_fields(const std::string& folder) {
  Fields fields{
      open_axes(folder, "ic_velc", true), open_axes(folder, "ic_posc", false), open_axes(folder, "ic_velb", false), {}};
  const std::string contrast = (std::filesystem::path(folder) / "ic_deltab").string();
  if (has_entry(contrast)) fields.gas_contrast.emplace_back(contrast);
  const GraficHeader& first = fields.velocity.front().header();
  for (const auto* group : {&fields.velocity, &fields.displacement, &fields.gas_velocity, &fields.gas_contrast})
    for (const GraficField& field : *group)
      if (!(field.header() == first))
        throw core::Error("the header differs from that of ic_velcx", field.path(),
                          "all fields must be of the same lattice and universe");
  return fields;
}

Lattice lattice_of(const Fields& fields) {
  const GraficHeader& header = fields.velocity.front().header();
  Lattice lattice{{header.points[0], header.points[1], header.points[2]}, {}, SlowestAxis::z};
  for (std::size_t axis = 0; axis < 3; ++axis) lattice.box_mpc[axis] = double{header.spacing} * header.points[axis];
  return lattice;
}

InitialDescription describe(const std::string& path, const Fields& fields) {
  const GraficHeader& header = fields.velocity.front().header();
  const Lattice lattice = lattice_of(fields);
  InitialDescription description;
  description.path = path;
  description.format = "grafic";
  description.particles = lattice.points.product();
  description.masses_are_parts = true;
  description.is_displaced = !fields.displacement.empty();
  if (!fields.gas_contrast.empty()) {
    description.gas_parcels = description.particles;
    description.gas_lattice = lattice.points;
  }
  description.redshift = 1.0 / double{header.scale_factor} - 1.0;
  description.omega_m = header.omega_m;
  description.omega_lambda = header.omega_lambda;
  description.hubble = double{header.hubble_constant} / 100.0;
  for (std::size_t axis = 0; axis < 3; ++axis) description.box_mpc[axis] = lattice.box_mpc[axis];
  return description;
}

class GraficInitialFile : public InitialFile {
 public:
  GraficInitialFile(const std::string& path, Fields fields)
      : InitialFile(describe(path, fields)), fields_(std::move(fields)), lattice_(lattice_of(fields_)) {}

  mesh::Particles particles(int rank, int ranks) const override {
    const Share slabs = share_of(lattice_.slabs(), rank, ranks);
    mesh::Particles particles = parcels_on(lattice_, slabs, false);
    set_velocities(fields_.velocity, slabs, particles);
    const double hubble = *description().hubble;
    for (std::size_t axis = 0; axis < fields_.displacement.size(); ++axis)
      change_by(slabs_of(fields_.displacement[axis]), lattice_, slabs, particles.position[axis],
                [hubble](double x, double displacement) { return x + displacement / hubble; });
    check_initial_particles(particles, description().path);
    return particles;
  }

  mesh::Particles gas(int rank, int ranks) const override {
    if (fields_.gas_contrast.empty()) return empty_initial_particles(0, true);
    const Share slabs = share_of(lattice_.slabs(), rank, ranks);
    mesh::Particles gas = parcels_on(lattice_, slabs, true);
    change_by(slabs_of(fields_.gas_contrast.front()), lattice_, slabs, gas.attributes[3].values,
              [](double mass, double contrast) { return mass * (1.0 + contrast); });
    set_velocities(fields_.gas_velocity.empty() ? fields_.velocity : fields_.gas_velocity, slabs, gas);
    check_initial_particles(gas, description().path);
    return gas;
  }

 private:
  static Slab slabs_of(const GraficField& field) {
    return [&field](std::int64_t slab) { return field.slab(slab); };
  }
  void set_velocities(const std::vector<GraficField>& from, const Share& slabs, mesh::Particles& to) const {
    for (std::size_t axis = 0; axis < 3; ++axis)
      change_by(slabs_of(from[axis]), lattice_, slabs, to.attributes[axis].values,
                [](double, double velocity) { return velocity; });
  }

  Fields fields_;
  Lattice lattice_;
};

}  // namespace

InitialFormat grafic_initial_format() {
  return {"grafic", "folder of fields of grafic2, as RAMSES reads it",
          [](const std::string& path) { return has_entry(std::filesystem::path(path) / "ic_velcx"); },
          [](const std::string& path, const InitialAssumptions&) -> std::unique_ptr<InitialFile> {
            return std::make_unique<GraficInitialFile>(path, open_fields(path));
          }};
}

}  // namespace sidestream::io
