#include "sidestream/solvers/particle_mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "sidestream/comm/progress.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/largest_magnitude.hpp"
#include "sidestream/solvers/momentum.hpp"
#include "solvers/particles/particle_rows.hpp"

namespace sidestream::solvers {

namespace {

// So many particles are a piece of work after which something else may go on.
constexpr std::size_t piece_size = 1024 * batch_size;

// A power of two such that the masses of all particles together stay below 2^62, and each below 2^48, so that shares
// are exact doubles.
std::int64_t unit_for(std::int64_t total_particles) {
  const auto total = static_cast<std::uint64_t>(std::max<std::int64_t>(total_particles, 1));
  const int bits = static_cast<int>(std::bit_width(total));
  if (bits > 56) throw core::Error("there are too many particles for a deposit in 64-bit integers");
  return std::int64_t{1} << std::min(48, 62 - bits);
}

// The least mass of a particle in integers: its shares, which are rounded to them, are right to so small a part of it.
constexpr double least_mass = 4096.0;

// The masses in integers of particles of these fractions of the unit.
void weigh(std::span<const double> fractions, double unit, std::array<double, batch_size>& masses) {
  int is_out_of_range = 0;
  for (std::size_t n = 0; n < fractions.size(); ++n) {
    masses[n] = std::rint(unit * fractions[n]);
    is_out_of_range |= static_cast<int>(!(masses[n] >= least_mass && masses[n] <= unit));
  }
  if (is_out_of_range == 0) return;
  const auto bad = std::find_if(fractions.begin(), fractions.end(), [&](double fraction) {
    return !(std::rint(unit * fraction) >= least_mass && fraction <= 1.0);
  });
  throw core::Error(fmt::format("a particle has {} times the mass of the heaviest: among so many particles, masses go "
                                "from {} to 1 of it",
                                *bad, least_mass / unit),
                    "deposit of particles", "begin with particles whose masses differ less");
}

// The cell that holds a particle.
mesh::Int3 owner(const ParticleBatch& batch, std::size_t n) {
  return {batch.axes[0].owner[n], batch.axes[1].owner[n], batch.axes[2].owner[n]};
}

// Puts the cloud of a particle at `place` = first + fraction, up to one cell beyond `box`.
void put(AxisBatch& along, std::size_t n, double place, const mesh::Box& box, int axis) {
  const double within = std::min(std::max(box.lo[axis] - 1.5, place), box.hi[axis] + 0.5);
  along.first[n] = static_cast<std::int32_t>(std::floor(within));
  along.fraction[n] = within - std::floor(within);
}

// Asks for the numbers of the batch behind the one that starts at `start`: the processor by itself looks no further
// than the end of a page, and each of the many arrays of particles has another.
void prefetch(const double* numbers, std::size_t start, std::size_t size) {
  constexpr std::size_t line = 64 / sizeof(double);
  const std::size_t end = std::min(start + 2 * batch_size, size);
  for (std::size_t n = start + batch_size; n < end; n += line) __builtin_prefetch(numbers + n);
}

}  // namespace

ParticleMesh::ParticleMesh(const comm::Communicator& comm, const mesh::Layout& layout, const mesh::Geometry& geometry,
                           std::int64_t total_particles, std::int32_t reach, std::shared_ptr<core::Workroom> room)
    : comm_(comm.duplicate()),
      layout_(layout),
      geometry_(geometry),
      mass_unit_(unit_for(total_particles)),
      reach_(reach),
      room_(room ? std::move(room) : std::make_shared<core::Workroom>()),
      mass_(field_in_room()),
      fold_(comm, layout, 1 + reach),
      own_(layout, comm.rank()) {}

mesh::Field<std::int64_t> ParticleMesh::field_in_room() const {
  using Mass = mesh::Field<std::int64_t>;
  return {layout_, comm_.rank(), 1, ghost(), room_->bytes(Mass::size_bytes(layout_, comm_.rank(), 1, ghost()))};
}

template <typename T>
std::vector<ParticlePlacement> ParticleMesh::placements(const mesh::Field<T>& field) const {
  std::vector<ParticlePlacement> all;
  for (int b = 0; b < field.blocks(); ++b) {
    const auto view = field.view(b);
    all.push_back({view.origin() - field.all().data(), view.stride_y(), view.stride_z(), view.stride_component()});
  }
  return all;
}

void ParticleMesh::locate(const mesh::Particles& particles, std::size_t start, int count, ParticleBatch& batch) const {
  bool is_inside = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int32_t cells = geometry_.domain.hi[static_cast<int>(axis)];
    const double length = geometry_.length[axis];
    prefetch(particles.position[axis].data(), start, particles.size());
    is_inside &= locate_on_axis({cells / length, length, cells}, particles.position[axis].data() + start, count,
                                batch.axes[axis]);
  }
  if (!is_inside) throw core::Error("a particle is outside the domain", "", "migrate the particles after each drift");
  std::int32_t lowest = 0;
  for (std::size_t n = 0; n < static_cast<std::size_t>(count); ++n) {
    batch.block[n] = own_.block_of(owner(batch, n));
    lowest = std::min(lowest, batch.block[n]);
  }
  if (lowest < 0) locate_beyond_edges(count, batch);
}

// Gives the particles that no block of this rank holds to the one beside them that keeps them, in whose frame their
// cells are then counted.
void ParticleMesh::locate_beyond_edges(int count, ParticleBatch& batch) const {
  for (std::size_t n = 0; n < static_cast<std::size_t>(count); ++n) {
    if (batch.block[n] >= 0) continue;
    const mesh::Int3 cell = owner(batch, n);
    const redistribute::Home home = redistribute::home_of(layout_, cell);
    if (home.box < 0 || layout_.owner(home.box) != comm_.rank() || reach_ == 0)
      throw core::Error("a particle is not on the rank that owns its cell", "rank " + std::to_string(comm_.rank()),
                        "migrate the particles after each drift");
    const auto own = layout_.boxes_of(comm_.rank());
    batch.block[n] = static_cast<std::int32_t>(std::lower_bound(own.begin(), own.end(), home.box) - own.begin());
    for (int axis = 0; axis < 3; ++axis) {
      AxisBatch& along = batch.axes[static_cast<std::size_t>(axis)];
      const mesh::Box within_reach = layout_.box(home.box).grown(reach_);
      along.owner[n] = std::clamp(home.cell[axis], within_reach.lo[axis], within_reach.hi[axis] - 1);
      put(along, n, along.first[n] + (home.cell[axis] - cell[axis]) + along.fraction[n], layout_.box(home.box), axis);
    }
  }
}

// Moves the clouds of located particles by `ahead` * w, up to one cell beyond their blocks.
void ParticleMesh::displace(const mesh::Particles& particles, std::size_t start, int count, double ahead,
                            ParticleBatch& batch) const {
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const double* const momentum = particles.attribute(momentum_names[a]).data() + start;
    const double cells = ahead / geometry_.cell_size(axis);
    AxisBatch& along = batch.axes[a];
    for (std::size_t n = 0; n < static_cast<std::size_t>(count); ++n) {
      put(along, n, along.first[n] + along.fraction[n] + cells * momentum[n], mass_.box(batch.block[n]), axis);
    }
  }
}

void ParticleMesh::deposit(const mesh::Particles& particles, mesh::Field<double>& density) {
  deposit_mass(particles);
  convert_to_density(particles.mass, density);
}

void ParticleMesh::deposit_mass(const mesh::Particles& particles, double ahead) {
  core::require(ahead == 0.0 || reach_ > 0, "positions are predicted on a mesh with reach");
  mass_ = field_in_room();
  std::fill(mass_.all().begin(), mass_.all().end(), 0);
  comm_.agree_on([&] { deposit_locally(particles, ahead); });
  fold_.fold(mass_);
}

void ParticleMesh::deposit_locally(const mesh::Particles& particles, double ahead) {
  const auto at = placements(mass_);
  const double* const fractions =
      has_mass_fractions(particles) ? particles.attribute(mass_fraction_name).data() : nullptr;
  std::array<double, batch_size> masses;
  masses.fill(static_cast<double>(mass_unit_));
  ParticleBatch batch;
  for (std::size_t start = 0; start < particles.size(); start += batch_size) {
    if (start % piece_size == 0) comm::progress(comm_);
    const int count = static_cast<int>(std::min<std::size_t>(batch_size, particles.size() - start));
    locate(particles, start, count, batch);
    if (ahead != 0.0) displace(particles, start, count, ahead, batch);
    if (fractions != nullptr)
      weigh({fractions + start, static_cast<std::size_t>(count)}, static_cast<double>(mass_unit_), masses);
    add_shares(batch, count, masses.data(), at.data(), mass_.all().data());
  }
}

void ParticleMesh::convert_to_density(double particle_mass, mesh::Field<double>& density) const {
  core::require(density.layout() == layout_ && density.components() == 1,
                "the density is a scalar on the layout of the mesh");
  const double scale = particle_mass / static_cast<double>(mass_unit_) / geometry_.cell_volume();
  for (int b = 0; b < density.blocks(); ++b) {
    const core::View4<const std::int64_t> mass = mass_.view(b);
    const core::View4<double> rho = density.view(b);
    core::for_each_cell(density.box(b),
                        [=](int k, int j, int i) { rho(k, j, i) = scale * static_cast<double>(mass(k, j, i)); });
  }
}

double ParticleMesh::kick(const mesh::Field<double>& acceleration, double factor, mesh::Particles& particles,
                          double drift) const {
  const bool is_vector = acceleration.components() == 3;
  core::require(acceleration.layout() == layout_ && (is_vector || acceleration.components() == 1) &&
                    acceleration.ghost() > (is_vector ? reach_ : reach_ + 1),
                "particles are pulled by a vector or a potential with ghost cells on the layout of the mesh");
  const std::array<double, 3> over_two_dx{0.5 / geometry_.cell_size(0), 0.5 / geometry_.cell_size(1),
                                          0.5 / geometry_.cell_size(2)};
  const auto at = placements(acceleration);
  const PlacedField field{acceleration.all().data(), at.data()};
  std::array<double*, 3> momentum;
  for (std::size_t axis = 0; axis < 3; ++axis) momentum[axis] = particles.attribute(momentum_names[axis]).data();
  const double unit = static_cast<double>(mass_unit_), scale = factor / unit;
  core::LargestMagnitude largest;
  ParticleBatch batch;
  PullBatch sums;
  for (std::size_t start = 0; start < particles.size(); start += batch_size) {
    if (start % piece_size == 0) comm::progress(comm_);
    const auto count = static_cast<int>(std::min<std::size_t>(batch_size, particles.size() - start));
    for (const double* const w : momentum) prefetch(w, start, particles.size());
    locate(particles, start, count, batch);
    if (is_vector)
      pull_by_acceleration(batch, count, unit, field, sums);
    else
      pull_by_potential(batch, count, unit, field, over_two_dx, sums);
    for (std::size_t axis = 0; axis < 3; ++axis)
      kick_and_drift(count, scale, sums[axis].data(), drift, momentum[axis] + start,
                     particles.position[axis].data() + start, largest);
  }
  return largest.value();
}

// Calls `f(n, place)` for each particle and the place of the owning cell in the mass field.
template <typename F>
void ParticleMesh::for_each_place(const mesh::Particles& particles, F f) const {
  const auto at = placements(mass_);
  ParticleBatch batch;
  for (std::size_t first = 0; first < particles.size(); first += batch_size) {
    if (first % piece_size == 0) comm::progress(comm_);
    const int count = static_cast<int>(std::min<std::size_t>(batch_size, particles.size() - first));
    locate(particles, first, count, batch);
    for (std::size_t n = 0; n < static_cast<std::size_t>(count); ++n) {
      const ParticlePlacement& here = at[static_cast<std::size_t>(batch.block[n])];
      f(first + n, static_cast<std::size_t>(here.origin + batch.axes[2].owner[n] * here.stride_z +
                                            batch.axes[1].owner[n] * here.stride_y + batch.axes[0].owner[n]));
    }
  }
}

// Counting sort by the place of the owning cell in the mass field; the result is kept in the room. Places are found
// twice rather than held, for memory's sake.
std::span<const std::uint32_t> ParticleMesh::order_of_cells(const mesh::Particles& particles) {
  core::require(particles.size() < std::numeric_limits<std::uint32_t>::max(), "a rank holds fewer than 2^32 particles");
  const std::size_t places = mass_.all().size() + 1;
  const auto bytes = room_->bytes((particles.size() + places) * sizeof(std::uint32_t));
  mass_ = field_in_room();
  auto* const order = reinterpret_cast<std::uint32_t*>(bytes.data());
  const std::span start(order + particles.size(), places);
  std::fill(start.begin(), start.end(), 0);
  for_each_place(particles, [&](std::size_t, std::size_t place) { ++start[place + 1]; });
  for (std::size_t n = 1; n < start.size(); ++n) start[n] += start[n - 1];
  for_each_place(particles,
                 [&](std::size_t n, std::size_t place) { order[start[place]++] = static_cast<std::uint32_t>(n); });
  return {order, particles.size()};
}

namespace {

// Puts the particle `order[n]` in the place n, for all n: cycle by cycle, so that only one has to be laid aside.
void reorder(std::span<const std::uint32_t> order, mesh::Particles& particles) {
  std::vector<double*> numbers;
  for (auto& coordinate : particles.position) numbers.push_back(coordinate.data());
  for (auto& attribute : particles.attributes) numbers.push_back(attribute.values.data());
  std::vector<double> aside(numbers.size());
  std::vector<bool> is_placed(order.size());
  for (std::size_t first = 0; first < order.size(); ++first) {
    if (is_placed[first] || order[first] == first) continue;
    const std::int64_t id_aside = particles.id[first];
    for (std::size_t a = 0; a < numbers.size(); ++a) aside[a] = numbers[a][first];
    std::size_t n = first;
    for (std::size_t from = order[n]; from != first; n = from, from = order[n]) {
      is_placed[n] = true;
      particles.id[n] = particles.id[from];
      for (double* const array : numbers) array[n] = array[from];
    }
    is_placed[n] = true;
    particles.id[n] = id_aside;
    for (std::size_t a = 0; a < numbers.size(); ++a) numbers[a][n] = aside[a];
  }
}

}  // namespace

void ParticleMesh::sort(mesh::Particles& particles) {
  reorder(order_of_cells(particles), particles);
}

bool has_mass_fractions(const mesh::Particles& particles) {
  return std::ranges::any_of(particles.attributes,
                             [](const auto& attribute) { return attribute.name == mass_fraction_name; });
}

double largest_momentum(const mesh::Particles& particles) {
  core::LargestMagnitude largest;
  for (const auto& name : momentum_names)
    for (const double w : particles.attribute(name)) largest.add(w);
  return largest.value();
}

double longest_drift(const mesh::Geometry& geometry, double largest, double fraction) {
  const double cell = std::min({geometry.cell_size(0), geometry.cell_size(1), geometry.cell_size(2)});
  if (!std::isfinite(largest)) return 0.0;
  return largest > 0.0 ? fraction * cell / largest : std::numeric_limits<double>::infinity();
}

}  // namespace sidestream::solvers
