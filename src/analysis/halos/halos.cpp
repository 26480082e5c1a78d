#include "sidestream/analysis/halos.hpp"

#include <algorithm>
#include <numbers>
#include <optional>

#include "analysis/entries.hpp"
#include "analysis/fields/unit_names.hpp"
#include "analysis/friends_of_friends/particle_groups.hpp"
#include "analysis/halo_measures/halo_particles.hpp"
#include "analysis/halos/halo_finder.hpp"
#include "analysis/halos/halo_table.hpp"
#include "analysis/halos/none_found.hpp"
#include "analysis/links/links.hpp"
#include "analysis/make.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/analysis/friends_of_friends.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::analysis {

namespace {

const std::string gas_name = "gas_density";
const std::array<std::string, 3> velocity_names{"velocity_x", "velocity_y", "velocity_z"};

std::optional<double> attribute_of(const mesh::Snapshot& snapshot, const std::string& name) {
  const auto found = snapshot.moment.attributes.find(name);
  return found == snapshot.moment.attributes.end() ? std::nullopt : std::optional(found->second);
}

// Omega_m at the redshift of the snapshot, if that is known. Without `omega_lambda`, space is flat.
std::optional<double> matter_share(const mesh::Snapshot& snapshot) {
  const auto omega_m = attribute_of(snapshot, "omega_m"), z = snapshot.moment.redshift();
  if (!omega_m || !z || !(*omega_m > 0.0) || !(*z > -1.0)) return std::nullopt;
  const double lambda = attribute_of(snapshot, "omega_lambda").value_or(1.0 - *omega_m), growth = 1.0 + *z;
  const double matter = *omega_m * growth * growth * growth;
  return matter / (matter + (1.0 - *omega_m - lambda) * growth * growth + lambda);
}

// The mean density within a sphere of this name, in means of the matter; nothing where that takes a cosmology.
std::optional<double> overdensity(const std::string& name, const std::optional<double>& omega_m) {
  if (name == "200m") return 200.0;
  if (!omega_m) return std::nullopt;
  if (name == "200c") return 200.0 / *omega_m;
  if (name == "500c") return 500.0 / *omega_m;
  const double x = *omega_m - 1.0;  // Bryan & Norman 1998, ApJ 495, 80, eq. 6
  return (18.0 * std::numbers::pi * std::numbers::pi + 82.0 * x - 39.0 * x * x) / *omega_m;
}

double scale_factor_of(const mesh::Snapshot& snapshot) {
  if (snapshot.moment.scale_factor) return *snapshot.moment.scale_factor;
  return 1.0 / (1.0 + snapshot.moment.redshift().value_or(0.0));
}

const std::string by_field = "by field";  // of a threshold: as the kind of field asks for

// What a threshold is where nobody gives it.
struct Standard {
  std::string in_means, in_deviations;
};
const Standard of_boundary{"81.66 mean", "2 sigma"}, of_peak{"200 mean", "3 sigma"};

// A threshold as it is given, or in the measure of the one beside it; `by_field` where that tells of none.
std::string chosen(const std::string& own, const std::string& beside, const Standard& standard) {
  if (own != by_field || beside == by_field) return own;
  const Threshold::Of of = parse_threshold(beside).of;
  if (of == Threshold::Of::value) return own;
  return of == Threshold::Of::mean ? standard.in_means : standard.in_deviations;
}

std::optional<Threshold> given_threshold(const std::string& text, const std::string& key) {
  return text == by_field ? std::nullopt : std::optional(parse_threshold(text, key));
}

// The thresholds of a halo in the field that is searched, with what they are measured by.
struct Thresholds {
  Threshold boundary, peak;
  FieldScale scale;

  bool are_of(Threshold::Of of) const { return boundary.of == of || peak.of == of; }
};

bool has_velocities(const mesh::Snapshot& snapshot) {
  return snapshot.has(velocity_names[0]) && snapshot.has(velocity_names[1]) && snapshot.has(velocity_names[2]);
}

class Halos final : public Analysis {
 public:
  struct Parameters {
    std::string finder, field, species, t_boundary, t_halo;
    double linking_length = 0.0;
    std::int64_t connectivity = 0, min_cells = 0, min_particles = 0;
    bool kinematics = false, link = false;
    std::vector<std::string> spherical_overdensity;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>(
        "Halos: connected regions above `t_boundary` whose peak reaches `t_halo`, or groups of particles");
    table.option("finder", &Parameters::finder, "iso-density")
        .one_of({"iso-density", "fof"})
        .doc("what a halo is: a region of the field, or a friends-of-friends group of particles");
    table.option("field", &Parameters::field, "total_density")
        .doc("field in which halos are sought, or that groups have their peaks and spheres in");
    table.option("species", &Parameters::species, "")
        .doc("species of the particles that are grouped, counted and followed; empty: the first");
    table.option("t_boundary", &Parameters::t_boundary, by_field)
        .doc(
            "value at the boundary of a halo: a multiple of the mean (\"81.66 mean\"), standard deviations above it "
            "(\"2 "
            "sigma\"), a value (\"4e12\"), or \"by field\": the first for densities of matter, else the "
            "second");
    table.option("t_halo", &Parameters::t_halo, by_field)
        .doc(
            "value that the highest cell of a halo reaches at least, in the same forms; \"by field\": \"200 mean\" or "
            "\"3 "
            "sigma\"");
    table.option("connectivity", &Parameters::connectivity, 14)
        .doc("neighbours of a cell: 6 (faces), 14 (Freudenthal triangulation) or 26 (faces, edges and corners)");
    table.option("min_cells", &Parameters::min_cells, 1).at_least(1).doc("smaller halos are left out");
    table.option("linking_length", &Parameters::linking_length, 0.2)
        .doc("of friends [mean separations of the particles]");
    table.option("min_particles", &Parameters::min_particles, 20).at_least(1).doc("smaller groups are left out");
    table.option("kinematics", &Parameters::kinematics, false)
        .doc("whether the particles in halos are counted, and velocities, dispersion, angular momentum and spin found");
    table.option("link", &Parameters::link, false)
        .doc("whether to find out which halo of the result before became which of these");
    table.option("spherical_overdensity", &Parameters::spherical_overdensity, {"200c", "200m", "500c", "vir"})
        .one_of({"200c", "200m", "500c", "vir"})
        .doc("masses and radii of spheres around the peaks to find; those that take a cosmology, where there is one");
    return table;
  }

  // A threshold in a message: the user may not have given it.
  static std::string with_origin(const std::string& threshold, const std::string& given) {
    return given == by_field ? threshold + ", the default" : threshold;
  }

  explicit Halos(Parameters parameters)
      : parameters_(std::move(parameters)),
        t_boundary_(given_threshold(parameters_.t_boundary, "t_boundary")),
        t_halo_(given_threshold(parameters_.t_halo, "t_halo")) {
    const std::string boundary = chosen(parameters_.t_boundary, parameters_.t_halo, of_boundary),
                      peak = chosen(parameters_.t_halo, parameters_.t_boundary, of_peak);
    t_boundary_ = given_threshold(boundary, "t_boundary");
    t_halo_ = given_threshold(peak, "t_halo");
    connectivity_of(parameters_.connectivity);
    if (!is_of_particles() && t_boundary_ && t_halo_ && t_boundary_->of == t_halo_->of &&
        t_halo_->value < t_boundary_->value)
      throw core::Error("`t_halo` (" + with_origin(peak, parameters_.t_halo) + ") is below `t_boundary` (" +
                            with_origin(boundary, parameters_.t_boundary) + ")",
                        "t_boundary", "the peak of a halo lies above its boundary: raise t_halo or lower t_boundary");
    check_linking_length(parameters_.linking_length);
    if (!parameters_.species.empty() && !reads_particles())
      throw core::Error("regions of a density have no particles of the species `" + parameters_.species + "`",
                        "species",
                        "use `finder = \"fof\"`, `kinematics = true` or `link = true`, or leave the key out");
  }

  std::vector<std::string> fields() const override {
    std::vector<std::string> names = names_for(parameters_.field);
    if (is_of_particles() || !parameters_.kinematics) return names;
    if (parameters_.field != gas_name) append_new(names, {gas_name + "?"});
    for (const std::string& name : velocity_names) append_new(names, {name + "?"});
    return names;
  }

  std::vector<std::string> species() const override {
    if (!reads_particles()) return {};
    return {parameters_.species};
  }
  bool looks_back() const override { return parameters_.link; }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    return run_after(comm, snapshot, {});
  }

  mesh::Result run_after(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                         const mesh::Result& earlier) const override {
    const LeafField density = field_or_total(snapshot, parameters_.field);
    const double average = mean(comm, density, parameters_.field);
    HaloColumns columns;
    columns.density_unit = unit_of(snapshot, parameters_.field);
    columns.length_unit = snapshot.length_unit;
    HaloMeasures measures;
    add_spheres(snapshot, average, measures, columns);
    const mesh::Particles none;
    if (reads_particles()) add_particles(comm, snapshot, none, measures, columns);
    if (parameters_.kinematics) add_motion(comm, snapshot, density, measures, columns);
    const Thresholds thresholds = thresholds_for(comm, snapshot, density, average);
    Catalogue catalogue = is_of_particles() ? groups(comm, snapshot, density, measures)
                                            : regions(comm, snapshot, density, thresholds, measures);
    mesh::Result result = spread_halo_table(comm, catalogue.found, columns);
    if (comm.sum(static_cast<std::int64_t>(catalogue.found.halos.size())) == 0) {
      std::string why = is_of_particles()
                            ? why_no_groups(parameters_.linking_length, catalogue.found.largest_group,
                                            parameters_.min_particles, parameters_.min_cells)
                            : why_none(comm, density, parameters_.field, thresholds.scale, criteria_for(thresholds));
      if (comm.rank() == 0) result.summary = std::move(why);
    }
    if (comm.rank() == 0) {
      result.attributes = std::move(catalogue.attributes);
      result.attributes["finder"] = parameters_.finder;
      result.attributes["field"] = parameters_.field;
      result.attributes["mean_density"] = average;
      for (std::size_t s = 0; s < columns.spheres.size(); ++s)
        result.attributes["density_" + columns.spheres[s]] = measures.sphere_densities[s];
    }
    if (parameters_.link) link(comm, catalogue.found.members, density, snapshot, earlier, result);
    return result;
  }

 private:
  struct Catalogue {
    FoundHalos found;
    decltype(mesh::Result::attributes) attributes;
  };

  bool is_of_particles() const { return parameters_.finder == "fof"; }
  bool reads_particles() const { return is_of_particles() || parameters_.kinematics || parameters_.link; }

  // The halos as regions of the field.
  Catalogue regions(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const LeafField& density,
                    const Thresholds& thresholds, const HaloMeasures& measures) const {
    const HaloCriteria criteria = criteria_for(thresholds);
    Catalogue catalogue;
    catalogue.attributes["connectivity"] = parameters_.connectivity;
    catalogue.attributes["t_boundary"] = criteria.t_boundary;
    catalogue.attributes["t_halo"] = criteria.t_halo;
    // A field that is the same everywhere has no halos, though it is nowhere below its mean, nor 0 below its multiples.
    if (thresholds.are_of(Threshold::Of::mean) && thresholds.scale.mean == 0.0) return catalogue;
    if (thresholds.are_of(Threshold::Of::sigma) && thresholds.scale.deviation == 0.0) return catalogue;
    catalogue.found = find_catalogue(comm, density, snapshot.geometry, criteria, measures, parameters_.link);
    return catalogue;
  }

  // The halos as groups of particles.
  Catalogue groups(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const LeafField& density,
                   const HaloMeasures& measures) const {
    const std::int64_t particles = comm.sum(static_cast<std::int64_t>(measures.particles->size()));
    const double separation =
        core::cbrt(snapshot.geometry.volume() / static_cast<double>(std::max<std::int64_t>(1, particles)));
    const GroupCriteria criteria{parameters_.linking_length * separation, parameters_.min_particles};
    Catalogue catalogue;
    catalogue.found = find_catalogue(comm, density, snapshot.geometry, criteria, measures, parameters_.link);
    drop_small(comm, catalogue.found);
    catalogue.attributes["linking_length"] = parameters_.linking_length;
    catalogue.attributes["mean_separation"] = separation;
    catalogue.attributes["min_particles"] = parameters_.min_particles;
    return catalogue;
  }

  // Groups in fewer than `min_cells` cells, with their members.
  void drop_small(const comm::Communicator& comm, FoundHalos& found) const {
    if (parameters_.min_cells == 1) return;
    std::vector<std::int64_t> dropped;
    std::erase_if(found.halos, [&](const Halo& halo) {
      if (halo.cells >= parameters_.min_cells) return false;
      dropped.push_back(halo.id);
      return true;
    });
    if (!parameters_.link) return;
    dropped = comm.all_gather(std::span<const std::int64_t>(dropped));
    std::sort(dropped.begin(), dropped.end());
    std::erase_if(found.members.particles, [&](const MemberParticle& member) {
      return std::binary_search(dropped.begin(), dropped.end(), member.of);
    });
  }

  void link(const comm::Communicator& comm, const Members& members, const LeafField& density,
            const mesh::Snapshot& snapshot, const mesh::Result& earlier, mesh::Result& result) const {
    if (is_of_particles())
      add_members_and_links(comm, members.particles, snapshot, earlier, result);
    else
      add_members_and_links(comm, linked_kind(snapshot), members, density, snapshot, earlier, result);
  }

  LinkedKind linked_kind(const mesh::Snapshot& snapshot) const {
    const std::string& length = snapshot.length_unit;
    return {"halo", unit_power(length, 3), SharedMost::matter,
            unit_of_mass(unit_of(snapshot, parameters_.field), length)};
  }

  // Collective.
  Thresholds thresholds_for(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const LeafField& field,
                            double average) const {
    if (!is_of_particles() && !(t_boundary_ && t_halo_)) check_unit_of_density(snapshot, parameters_.field);
    const bool is_matter = is_overdensity(snapshot, parameters_.field);
    const auto standard = [&](const Standard& of) {
      return parse_threshold(is_matter ? of.in_means : of.in_deviations);
    };
    Thresholds used{
        t_boundary_.value_or(standard(of_boundary)), t_halo_.value_or(standard(of_peak)), {average, std::nullopt}};
    if (!is_of_particles() && used.are_of(Threshold::Of::sigma))
      used.scale.deviation = deviation(comm, field, parameters_.field, average);
    return used;
  }

  HaloCriteria criteria_for(const Thresholds& thresholds) const {
    const FieldScale& scale = thresholds.scale;
    if (scale.mean < 0.0 && thresholds.are_of(Threshold::Of::mean))
      throw core::Error("the mean of `" + parameters_.field + "` is negative (" + std::to_string(scale.mean) +
                            "), so that its multiples are no thresholds",
                        "", "give `t_boundary` and `t_halo` as values of the field, or in its deviations: \"2 sigma\"");
    return {thresholds.boundary.in(scale.mean, scale.deviation), thresholds.peak.in(scale.mean, scale.deviation),
            connectivity_of(parameters_.connectivity), parameters_.min_cells};
  }

  void add_spheres(const mesh::Snapshot& snapshot, double average, HaloMeasures& measures, HaloColumns& columns) const {
    const mesh::Int3 cells = snapshot.geometry.domain.extent();
    if (!(average > 0.0) || cells.x == 1 || cells.y == 1 || cells.z == 1) return;
    const auto omega_m = matter_share(snapshot);
    for (const std::string& name : parameters_.spherical_overdensity)
      if (const auto times_mean = overdensity(name, omega_m)) {
        columns.spheres.push_back(name);
        measures.sphere_densities.push_back(*times_mean * average);
      }
  }

  // `none` stands for the particles of ranks that have none.
  void add_particles(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const mesh::Particles& none,
                     HaloMeasures& measures, HaloColumns& columns) const {
    measures.scale_factor = scale_factor_of(snapshot);
    columns.is_of_particles = is_of_particles();
    const mesh::Particles* const own = snapshot.particles(parameters_.species);
    columns.has_particles = comm.max(std::int64_t{own != nullptr}) > 0;
    if (columns.has_particles) measures.particles = own != nullptr ? own : &none;
    if (is_of_particles() && !columns.has_particles)
      throw core::Error("the simulation has no particles to group", "",
                        "use `finder = \"iso-density\"` for halos of `" + parameters_.field + "`");
  }

  void add_motion(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const LeafField& density,
                  HaloMeasures& measures, HaloColumns& columns) const {
    columns.velocity_unit = snapshot.length_unit == "Mpc" ? "km/s" : "";  // of particles
    if (!is_of_particles() && has_velocities(snapshot)) {
      columns.velocity_unit = snapshot.unit(velocity_names[0]);
      measures.moving_density = snapshot.has(gas_name) ? field_or_total(snapshot, gas_name) : density;
      for (std::size_t a = 0; a < 3; ++a) measures.velocity[a] = field_or_total(snapshot, velocity_names[a]);
      columns.has_motion = true;
    }
    if (columns.has_particles) columns.has_motion = have_velocities(comm, *measures.particles) || columns.has_motion;
    columns.has_spin = columns.has_motion && columns.velocity_unit == "km/s" && columns.density_unit == "Msun/Mpc^3";
  }

  Parameters parameters_;
  std::optional<Threshold> t_boundary_, t_halo_;  // empty: by the field
};

}  // namespace

AnalysisEntry halos_entry() {
  return entry_of<Halos>("halos");
}

}  // namespace sidestream::analysis
