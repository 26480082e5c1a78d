#include "analysis/halo_measures/spherical_overdensity.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sidestream/core/compact_sum.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Box;
using mesh::Int3;

constexpr int shells = 128;
constexpr std::size_t batch = 256;  // searches of one rank at a time: bounds memory
constexpr double growth = 1.5;
constexpr int volume_unit = 64;  // volumes are counted in cells of the finest level over this

// Into how many cubes along each axis a cell is divided whose middle is so many cells away from the centre.
int divisions(double distance_in_cells) {
  return distance_in_cells < 2.0 ? 4 : distance_in_cells < 8.0 ? 2 : 1;
}

struct Query {
  std::array<std::int64_t, 3> center{};
  double radius = 0.0;
  std::int32_t number = 0;  // of the batch of the rank that asks
};

struct Shell {
  core::CompactSum mass;
  core::Int128 volume = 0;
};
using Profile = std::array<Shell, shells>;

// What a rank has of a shell; further portions of the mass come without volume.
struct Answer {
  std::int32_t number = 0, index = 0;
  core::SumPortion mass;
  core::Int128 volume = 0;
};

// The cells of each level in a sphere.
class Ball {
 public:
  Ball(const HaloFrame& frame, const Query& query) : frame_(frame), query_(query) {}

  // The box of the cells of a level that may meet it; it may reach beyond the domain.
  Box region(int level) const {
    Box region;
    for (int axis = 0; axis < 3; ++axis) {
      const double center = static_cast<double>(query_.center[static_cast<std::size_t>(axis)]);
      const double reach = query_.radius / (0.5 * frame_.finest().cell_size(axis));
      const double cell = 2.0 * (1 << frame_.bits(level)[axis]);
      region.lo[axis] = static_cast<std::int32_t>(std::floor((center - reach) / cell));
      region.hi[axis] = static_cast<std::int32_t>(std::floor((center + reach) / cell)) + 1;
    }
    return region;
  }

  // Calls `f(index, shift)` for each image of a box of a level that may have cells in it.
  template <typename F>
  void for_each_box(int level, F f) const {
    const mesh::Layout& layout = frame_.field()[static_cast<std::size_t>(level)].layout();
    if (layout.size() > 0) layout.for_each_image_meeting(region(level), f);
  }

 private:
  const HaloFrame& frame_;
  Query query_;
};

// Adds up the cells of this rank in one sphere.
class Counter {
 public:
  Counter(const HaloFrame& frame, const Query& query) : frame_(frame), query_(query) {}

  const Profile& count(int rank) {
    const Ball ball(frame_, query_);
    for (int level = 0; level < frame_.levels(); ++level) {
      set_level(level);
      const mesh::Layout& layout = frame_.field()[static_cast<std::size_t>(level)].layout();
      const auto own = layout.boxes_of(rank);
      ball.for_each_box(level, [&](std::int32_t index, Int3 shift) {
        if (layout.owner(index) != rank) return;
        const auto block = static_cast<int>(std::lower_bound(own.begin(), own.end(), index) - own.begin());
        count_block(block, shift, intersection(layout.box(index).shifted(shift), ball.region(level)));
      });
    }
    return profile_;
  }

 private:
  void set_level(int level) {
    level_ = level;
    const Int3 bits = frame_.bits(level);
    double square = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      size_[a] = frame_.finest().cell_size(axis) * (1 << bits[axis]);
      square += size_[a] * size_[a];
    }
    half_diagonal_ = 0.5 * std::sqrt(square);
    largest_size_ = *std::max_element(size_.begin(), size_.end());
  }
  // From the centre to the middle of a cell.
  double distance(int axis, std::int32_t cell) const {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t twice = (2 * std::int64_t{cell} + 1) << frame_.bits(level_)[axis];
    return static_cast<double>(twice - query_.center[a]) * (0.5 * frame_.finest().cell_size(axis));
  }

  void count_block(int block, Int3 shift, const Box& cells) {
    const auto view = frame_.field()[static_cast<std::size_t>(level_)].view(block);
    const double reach = query_.radius + half_diagonal_;
    for (std::int32_t z = cells.lo.z; z < cells.hi.z; ++z)
      for (std::int32_t y = cells.lo.y; y < cells.hi.y; ++y) {
        const std::array<double, 2> across{distance(1, y), distance(2, z)};
        const double square = across[0] * across[0] + across[1] * across[1];
        if (square >= reach * reach) continue;
        for (std::int32_t x = cells.lo.x; x < cells.hi.x; ++x) {
          const std::array<double, 3> middle{distance(0, x), across[0], across[1]};
          const double r2 = middle[0] * middle[0] + square;
          if (r2 < reach * reach) count_cell(middle, r2, view(z - shift.z, y - shift.y, x - shift.x));
        }
      }
  }
  void count_cell(const std::array<double, 3>& middle, double r2, double density) {
    const int n = divisions(std::sqrt(r2) / largest_size_);
    const double share = 1.0 / (n * n * n);
    const Piece piece{std::max(density, 0.0) * frame_.root_volume(level_) * share,
                      core::Int128{frame_.volume(level_)} * (volume_unit / (n * n * n))};
    if (n == 1) return count_cube(r2, piece);
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
          const auto along = [&](std::size_t a, int number) {
            const double at = middle[a] + ((number + 0.5) / n - 0.5) * size_[a];
            return at * at;
          };
          count_cube(along(0, i) + along(1, j) + along(2, k), piece);
        }
  }
  struct Piece {
    double mass;
    core::Int128 volume;
  };
  void count_cube(double r2, const Piece& piece) {
    const double shell = std::sqrt(r2) * (shells / query_.radius);
    if (!(shell < shells)) return;
    Shell& to = profile_[static_cast<std::size_t>(shell)];
    to.mass.add(piece.mass);
    to.volume += piece.volume;
  }

  const HaloFrame& frame_;
  Query query_;
  int level_ = 0;
  std::array<double, 3> size_{};
  double half_diagonal_ = 0.0, largest_size_ = 0.0;
  Profile profile_{};
};

// The mass and volume inside a radius, in the units of densities and of the geometry.
struct Inside {
  double mass = 0.0, volume = 0.0;
  double mean() const { return mass / volume; }
};

// A search around one seed.
struct Search {
  std::size_t seed = 0;
  double radius = 0.0;
  Profile profile{};
};

class Searcher {
 public:
  Searcher(const comm::Communicator& comm, const HaloFrame& frame, std::span<const SphereSeed> seeds,
           std::span<const double> densities)
      : comm_(comm), frame_(frame), seeds_(seeds), densities_(densities), spheres_(seeds.size()) {
    const auto& length = frame.root().length;
    widest_ = 0.5 * *std::min_element(length.begin(), length.end());
    for (std::size_t s = seeds.size(); s-- > 0;) open_.push_back({s, std::min(seeds[s].radius, widest_)});
  }

  std::vector<Spheres> run() {
    while (comm_.max(static_cast<std::int64_t>(open_.size())) > 0) run_batch();
    return std::move(spheres_);
  }

 private:
  struct Open {
    std::size_t seed = 0;
    double radius = 0.0;
  };

  void run_batch() {
    std::vector<Search> searches;
    while (!open_.empty() && searches.size() < batch) {
      searches.push_back({open_.back().seed, open_.back().radius});
      open_.pop_back();
    }
    const auto queries = comm_.exchange(queries_for(searches));
    const auto answers = comm_.exchange(answers_to(queries));
    for (const auto& of_rank : answers)
      for (const Answer& answer : of_rank) {
        Shell& shell =
            searches[static_cast<std::size_t>(answer.number)].profile[static_cast<std::size_t>(answer.index)];
        shell.mass.add(answer.mass);
        shell.volume += answer.volume;
      }
    for (const Search& search : searches) finish(search);
  }

  std::vector<std::vector<Query>> queries_for(const std::vector<Search>& searches) const {
    std::vector<std::vector<Query>> outgoing(static_cast<std::size_t>(comm_.size()));
    std::vector<std::int32_t> ranks;
    for (std::size_t number = 0; number < searches.size(); ++number) {
      const Query query{seeds_[searches[number].seed].center, searches[number].radius,
                        static_cast<std::int32_t>(number)};
      ranks.clear();
      for (int level = 0; level < frame_.levels(); ++level) {
        const mesh::Layout& layout = frame_.field()[static_cast<std::size_t>(level)].layout();
        Ball(frame_, query).for_each_box(level, [&](std::int32_t index, Int3) {
          ranks.push_back(layout.owner(index));
        });
      }
      std::sort(ranks.begin(), ranks.end());
      ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
      for (const std::int32_t rank : ranks) outgoing[static_cast<std::size_t>(rank)].push_back(query);
    }
    return outgoing;
  }

  std::vector<std::vector<Answer>> answers_to(const std::vector<std::vector<Query>>& queries) const {
    std::vector<std::vector<Answer>> outgoing(queries.size());
    for (std::size_t rank = 0; rank < queries.size(); ++rank)
      for (const Query& query : queries[rank]) {
        Counter counter(frame_, query);
        const Profile& profile = counter.count(comm_.rank());
        for (std::size_t index = 0; index < profile.size(); ++index) {
          Answer answer{query.number, static_cast<std::int32_t>(index), {}, profile[index].volume};
          profile[index].mass.for_each_portion([&](const core::SumPortion& portion) {
            answer.mass = portion;
            outgoing[rank].push_back(answer);
            answer.volume = 0;
          });
          if (answer.volume > 0) outgoing[rank].push_back({answer.number, answer.index, {}, answer.volume});
        }
      }
    return outgoing;
  }

  // Keeps the spheres that were found; searches on where the lowest density was not reached.
  void finish(const Search& search) {
    std::vector<Inside> inside;
    Shell sum;
    const double volume_factor = frame_.finest().cell_volume() / volume_unit;
    for (const Shell& shell : search.profile) {
      if (shell.volume == 0) continue;
      sum.mass.add(shell.mass);
      sum.volume += shell.volume;
      inside.push_back(
          {sum.mass.value() * frame_.root().cell_volume(), static_cast<double>(sum.volume) * volume_factor});
    }
    const double lowest = *std::min_element(densities_.begin(), densities_.end());
    const bool reaches = std::any_of(inside.begin(), inside.end(), [&](const Inside& i) { return i.mean() < lowest; });
    if (!reaches && search.radius < widest_)
      open_.push_back({search.seed, std::min(growth * search.radius, widest_)});
    else
      for (std::size_t d = 0; d < densities_.size(); ++d) spheres_[search.seed][d] = sphere_in(inside, densities_[d]);
  }

  static Sphere sphere_in(std::span<const Inside> inside, double density) {
    const auto outer = std::find_if(inside.begin(), inside.end(), [&](const Inside& i) { return i.mean() < density; });
    if (outer == inside.begin() || outer == inside.end()) return {};
    const Inside& inner = *(outer - 1);
    const double part = core::log(inner.mean() / density) / core::log(inner.mean() / outer->mean());
    const double volume = inner.volume * core::pow(outer->volume / inner.volume, part);
    return {core::cbrt(0.75 * std::numbers::inv_pi * volume), density * volume};
  }

  const comm::Communicator& comm_;
  const HaloFrame& frame_;
  std::span<const SphereSeed> seeds_;
  std::span<const double> densities_;
  double widest_ = 0.0;
  std::vector<Spheres> spheres_;
  std::vector<Open> open_;
};

}  // namespace

std::vector<Spheres> spherical_overdensities(const comm::Communicator& comm, const HaloFrame& frame,
                                             std::span<const SphereSeed> seeds, std::span<const double> densities) {
  return Searcher(comm, frame, seeds, densities).run();
}

}  // namespace sidestream::analysis
