#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "analysis/halo_measures/halo_properties.hpp"
#include "sidestream/comm/sparse_exchange.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Int3;

// The peaks of halos in a grid of buckets, about one in each.
class PeakGrid {
 public:
  PeakGrid(const mesh::Geometry& geometry, std::span<const Halo> halos)
      : geometry_(geometry),
        halos_(halos),
        buckets_(std::max(1, static_cast<std::int32_t>(core::cbrt(static_cast<double>(halos.size()))))),
        in_bucket_(static_cast<std::size_t>(buckets_) * static_cast<std::size_t>(buckets_) *
                   static_cast<std::size_t>(buckets_)) {
    for (std::size_t h = 0; h < halos.size(); ++h) {
      Int3 at;
      for (int axis = 0; axis < 3; ++axis) at[axis] = inside(bucket(axis, position(h, axis)));
      in_bucket_[index(at)].push_back(h);
    }
  }

  // Calls `f(h)` for each peak that is less than `radius` away from `center`.
  template <typename F>
  void for_each_within(const std::array<double, 3>& center, double radius, F f) const {
    Int3 low, high;
    for (int axis = 0; axis < 3; ++axis) {
      low[axis] = bucket(axis, center[static_cast<std::size_t>(axis)] - radius);
      high[axis] = bucket(axis, center[static_cast<std::size_t>(axis)] + radius);
      const bool all = high[axis] - low[axis] >= buckets_;
      if (all || !is_periodic(axis)) {
        low[axis] = all ? 0 : inside(low[axis]);
        high[axis] = all ? buckets_ - 1 : inside(high[axis]);
      }
    }
    Int3 at;
    for (at.z = low.z; at.z <= high.z; ++at.z)
      for (at.y = low.y; at.y <= high.y; ++at.y)
        for (at.x = low.x; at.x <= high.x; ++at.x)
          for (const std::size_t h : in_bucket_[index(wrapped(at))])
            if (distance(center, h) < radius) f(h);
  }

 private:
  bool is_periodic(int axis) const { return geometry_.periodic[static_cast<std::size_t>(axis)]; }
  double length(int axis) const { return geometry_.length[static_cast<std::size_t>(axis)]; }
  double position(std::size_t h, int axis) const { return halos_[h].peak_position[static_cast<std::size_t>(axis)]; }
  std::int32_t bucket(int axis, double at) const {
    return static_cast<std::int32_t>(std::floor(at / length(axis) * buckets_));
  }
  std::int32_t inside(std::int32_t bucket) const { return std::clamp(bucket, 0, buckets_ - 1); }
  Int3 wrapped(Int3 at) const {
    return {mesh::wrapped(at.x, buckets_), mesh::wrapped(at.y, buckets_), mesh::wrapped(at.z, buckets_)};
  }
  std::size_t index(Int3 at) const {
    return static_cast<std::size_t>((std::int64_t{at.z} * buckets_ + at.y) * buckets_ + at.x);
  }
  double distance(const std::array<double, 3>& from, std::size_t h) const {
    double square = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
      double d = std::abs(from[static_cast<std::size_t>(axis)] - position(h, axis));
      if (is_periodic(axis)) d = std::min(d, length(axis) - d);
      square += d * d;
    }
    return std::sqrt(square);
  }

  const mesh::Geometry& geometry_;
  std::span<const Halo> halos_;
  std::int32_t buckets_;
  std::vector<std::vector<std::size_t>> in_bucket_;
};

double largest_radius(const Halo& halo) {
  double radius = 0.0;
  for (const Sphere& sphere : halo.spheres) radius = std::max(radius, sphere.radius);
  return radius;
}

// A halo whose largest sphere may hold peaks of others.
struct Holder {
  std::array<double, 3> position{};
  double radius = 0.0, peak = 0.0;
  std::int64_t id = 0;

  explicit Holder(const Halo& halo)
      : position(halo.peak_position), radius(largest_radius(halo)), peak(halo.peak), id(halo.id) {}
  Holder() = default;
};

// The order in which halos are taken.
template <typename A, typename B>
bool is_taken_before(const A& a, const B& b) {
  return a.peak != b.peak ? a.peak > b.peak : a.id < b.id;
}

// Halos of all ranks that find out together which of them lie inside others.
class SharedSearch {
 public:
  SharedSearch(const comm::Communicator& comm, const mesh::Geometry& geometry, std::span<Halo> halos)
      : comm_(comm), geometry_(geometry), halos_(halos), states_(halos.size(), State::unknown) {
    order_.resize(halos.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t a, std::size_t b) { return is_taken_before(halos[a], halos[b]); });
    share_holders();
    find_candidates();
  }

  void run() {
    while (true) {
      comm::ByRank<Decision> outgoing;
      std::erase_if(order_, [&](std::size_t h) { return has_decided(h, outgoing); });
      const auto decided = comm::deliver(comm_, outgoing);
      if (decided.messages == 0) return;
      for (const auto& [rank, decisions] : decided.incoming)
        for (const Decision& decision : decisions)
          states_[far_.at(decision.id)] = decision.is_inside != 0 ? State::inside : State::free;
    }
  }

 private:
  enum class State : std::uint8_t { unknown, free, inside };
  struct Decision {
    std::int64_t id = 0, is_inside = 0;
  };
  struct Slab {
    double low = 0.0, high = -1.0;  // along z, of the peaks of a rank; none where high < low
  };

  // Sends each halo with a sphere to the ranks that it may reach to, and keeps what comes behind the own ones.
  void share_holders() {
    Slab own;
    if (!halos_.empty()) own = {halos_.front().peak_position[2], halos_.back().peak_position[2]};
    const std::vector<Slab> slabs = comm_.all_gather(own);
    comm::ByRank<Holder> outgoing;
    told_.resize(halos_.size());
    for (std::size_t h = 0; h < halos_.size(); ++h) {
      holders_.emplace_back(halos_[h]);
      if (holders_[h].radius == 0.0) continue;
      for (int rank = 0; rank < comm_.size(); ++rank) {
        if (rank == comm_.rank() || !may_reach(holders_[h], slabs[static_cast<std::size_t>(rank)])) continue;
        outgoing[rank].push_back(holders_[h]);
        told_[h].push_back(rank);
      }
    }
    for (const auto& [rank, far] : comm::deliver(comm_, outgoing).incoming)
      for (const Holder& holder : far) {
        far_[holder.id] = holders_.size();
        holders_.push_back(holder);
      }
    states_.resize(holders_.size(), State::unknown);
  }

  bool may_reach(const Holder& holder, const Slab& slab) const {
    const double length = geometry_.length[2], reach = holder.radius + 1e-9 * length;
    const auto meets = [&](double z) { return z + reach >= slab.low && z - reach <= slab.high; };
    const double z = holder.position[2];
    return slab.low <= slab.high && (meets(z) || (geometry_.periodic[2] && (meets(z - length) || meets(z + length))));
  }

  // For each halo those whose sphere holds its peak, in the order in which halos are taken.
  void find_candidates() {
    candidates_.resize(halos_.size());
    const PeakGrid grid(geometry_, halos_);
    for (std::size_t holder = 0; holder < holders_.size(); ++holder) {
      if (holders_[holder].radius == 0.0) continue;
      grid.for_each_within(holders_[holder].position, holders_[holder].radius, [&](std::size_t h) {
        if (is_taken_before(holders_[holder], halos_[h])) candidates_[h].push_back(holder);
      });
    }
    for (auto& of_halo : candidates_)
      std::sort(of_halo.begin(), of_halo.end(),
                [&](std::size_t a, std::size_t b) { return is_taken_before(holders_[a], holders_[b]); });
  }

  // Whether it is known now if the halo lies in another one; then those that wait for it are to be told.
  bool has_decided(std::size_t h, comm::ByRank<Decision>& outgoing) {
    const auto holder =
        std::ranges::find_if(candidates_[h], [&](std::size_t c) { return states_[c] != State::inside; });
    const bool is_inside = holder != candidates_[h].end();
    if (is_inside && states_[*holder] == State::unknown) return false;
    states_[h] = is_inside ? State::inside : State::free;
    if (is_inside) halos_[h].inside = holders_[*holder].id;
    for (const int rank : told_[h]) outgoing[rank].push_back({halos_[h].id, is_inside ? 1 : 0});
    return true;
  }

  const comm::Communicator& comm_;
  const mesh::Geometry& geometry_;
  std::span<Halo> halos_;
  std::vector<std::size_t> order_;                     // of those that are not decided, as they are taken
  std::vector<Holder> holders_;                        // those of this rank, then those of others
  std::vector<State> states_;                          // of holders
  std::vector<std::vector<int>> told_;                 // ranks that wait for each halo
  std::unordered_map<std::int64_t, std::size_t> far_;  // holders of other ranks by id
  std::vector<std::vector<std::size_t>> candidates_;
};

}  // namespace

void mark_inside(const mesh::Geometry& geometry, std::span<Halo> halos) {
  std::vector<std::size_t> order(halos.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto is_before = [&](std::size_t a, std::size_t b) { return is_taken_before(halos[a], halos[b]); };
  std::sort(order.begin(), order.end(), is_before);
  const PeakGrid grid(geometry, halos);
  for (const std::size_t holder : order) {
    const double radius = largest_radius(halos[holder]);
    if (halos[holder].inside >= 0 || radius == 0.0) continue;
    grid.for_each_within(halos[holder].peak_position, radius, [&](std::size_t h) {
      if (is_before(holder, h) && halos[h].inside < 0) halos[h].inside = halos[holder].id;
    });
  }
}

void mark_inside(const comm::Communicator& comm, const mesh::Geometry& geometry, std::span<Halo> halos) {
  SharedSearch(comm, geometry, halos).run();
}

}  // namespace sidestream::analysis
