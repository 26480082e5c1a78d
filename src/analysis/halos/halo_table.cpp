#include "analysis/halos/halo_table.hpp"

#include <utility>

#include "analysis/fields/unit_names.hpp"
#include "sidestream/analysis/friends_of_friends.hpp"

namespace sidestream::analysis {

namespace {

class Table {
 public:
  explicit Table(const std::vector<Halo>& halos) : halos_(halos) {}

  template <typename T, typename F>
  void add(std::string name, std::string unit, std::string text, F value) {
    std::vector<T> values;
    values.reserve(halos_.size());
    for (const Halo& halo : halos_) values.push_back(static_cast<T>(value(halo)));
    result_.add(std::move(name), std::move(unit), std::move(text), {"halo"}, {static_cast<std::int64_t>(halos_.size())},
                std::move(values));
  }
  template <typename T>
  void add(std::string name, std::string unit, std::string text, T Halo::*member) {
    add<T>(std::move(name), std::move(unit), std::move(text), [=](const Halo& halo) { return halo.*member; });
  }
  // One column each for x, y, z.
  void add(const std::string& prefix, const std::string& unit, const std::string& what,
           std::array<double, 3> Halo::*member) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::string name(1, "xyz"[axis]);
      add<double>(prefix + name, unit, name + " of the " + what,
                  [=](const Halo& halo) { return (halo.*member)[axis]; });
    }
  }
  mesh::Result take() { return std::move(result_); }

 private:
  const std::vector<Halo>& halos_;
  mesh::Result result_;
};

// The units of columns.
struct Units {
  std::string length, mass, velocity;

  explicit Units(const HaloColumns& columns)
      : length(columns.length_unit),
        mass(unit_of_mass(columns.density_unit, columns.length_unit)),
        velocity(columns.velocity_unit) {}
};

void add_shape(Table& table, const Units& unit) {
  const char* const names[] = {"longest", "middle", "shortest"};
  for (std::size_t axis = 0; axis < 3; ++axis)
    table.add<double>(std::string("axis_") + "abc"[axis], unit.length,
                      std::string(names[axis]) + " semi-axis of the homogeneous ellipsoid with its tensor of inertia",
                      [=](const Halo& halo) { return halo.axes[axis]; });
}

void add_motion(Table& table, const Units& unit, bool has_spin) {
  table.add("velocity_", unit.velocity, "velocity of its matter", &Halo::velocity);
  table.add("velocity_dispersion", unit.velocity, "rms along one axis of velocities about the mean, by mass",
            &Halo::velocity_dispersion);
  table.add("angular_momentum_", unit_product(unit_product(unit.mass, unit.length), unit.velocity),
            "angular momentum about the centre of mass, of proper distances and velocities", &Halo::angular_momentum);
  if (has_spin) table.add("spin", "1", "specific angular momentum over sqrt(2) V R (Bullock et al. 2001)", &Halo::spin);
}

void add_spheres(Table& table, const Units& unit, const std::vector<std::string>& names) {
  for (std::size_t s = 0; s < names.size(); ++s) {
    const std::string& name = names[s];
    table.add<double>("m" + name, unit.mass, "mass within r" + name, [=](const Halo& h) { return h.spheres[s].mass; });
    table.add<double>("r" + name, unit.length,
                      "comoving radius of the sphere around the peak with the mean density " + name,
                      [=](const Halo& h) { return h.spheres[s].radius; });
  }
  if (!names.empty())
    table.add("inside", "1", "id of the halo with a denser peak whose largest sphere holds the peak of this one, or -1",
              &Halo::inside);
}

}  // namespace

mesh::Result halo_table(const std::vector<Halo>& halos, const HaloColumns& columns) {
  Table table(halos);
  const Units unit(columns);
  const bool is_group = columns.is_of_particles;
  const std::string cells = is_group ? "cells that hold its particles" : "cells";
  table.add("id", "1", is_group ? "smallest id of its particles" : "linear index (z, y, x order) of the densest cell",
            &Halo::id);
  table.add("", unit.length, "centroid (mean position of the " + cells + ")", &Halo::centroid);
  table.add("mass", unit.mass, is_group ? "mass of the particles" : "mass of the cells", &Halo::mass);
  table.add("cells", "1", "number of " + cells, &Halo::cells);
  table.add("volume", unit_power(unit.length, 3), "comoving volume of the " + cells, &Halo::volume);
  table.add("peak", columns.density_unit, "density of the densest cell", &Halo::peak);
  table.add("peak_", unit.length, "densest cell", &Halo::peak_position);
  table.add("center_", unit.length, "centre of mass", &Halo::center);
  table.add<std::int64_t>("spans_box", "1",
                          "1 where it reaches across half of the box, so that its centroid is ambiguous",
                          [](const Halo& halo) { return halo.spans_box; });
  add_shape(table, unit);
  if (columns.has_particles) {
    const std::string where = is_group ? "" : " in the cells";
    table.add("particles", "1", "number of particles" + where, &Halo::particles);
    table.add("particle_mass", unit.mass, "mass of the particles" + where, &Halo::particle_mass);
  }
  if (is_group)
    table.add<double>("mass_warren", unit.mass, "mass times 1 - particles^-0.6 (Warren et al. 2006)",
                      [](const Halo& halo) { return warren_mass(halo.mass, halo.particles); });
  if (columns.has_motion) add_motion(table, unit, columns.has_spin);
  add_spheres(table, unit, columns.spheres);
  return table.take();
}

mesh::Result spread_halo_table(const comm::Communicator& comm, const FoundHalos& found, const HaloColumns& columns) {
  const std::int64_t count = comm.sum(static_cast<std::int64_t>(found.halos.size()));
  mesh::Result result;
  if (found.is_spread || comm.rank() == 0) result = halo_table(found.halos, columns);
  if (found.is_spread) result.distributed.insert("halo");
  if (comm.rank() == 0) result.summary = std::to_string(count) + (count == 1 ? " halo" : " halos");
  return result;
}

}  // namespace sidestream::analysis
