#include "solvers/spectral/forced_band.hpp"

#include <algorithm>
#include <bit>

namespace sidestream::solvers {

LocalBand::LocalBand(const ForcedBand& band, const ModeRows* rows) {
  if (rows == nullptr) return;
  const mesh::Box& box = rows->box();
  for (int k = box.lo.z; k < box.hi.z; ++k)
    for (int j = box.lo.y; j < box.hi.y; ++j) {
      const mesh::Int3 first = rows->wave(k, j);
      for (std::size_t n = 0; n < band.waves.size(); ++n) {
        const mesh::Int3 wave = band.waves[n].wave;
        if (wave.y == first.y && wave.z == first.z && wave.x >= first.x && wave.x - first.x < rows->kept(k, j))
          rows_[{k, j}].push_back({n, wave.x - first.x});
      }
    }
}

const std::vector<LocalBand::Place>& LocalBand::in_row(int k, int j) const {
  static const std::vector<Place> none;
  const auto found = rows_.find({k, j});
  return found == rows_.end() ? none : found->second;
}

DrivenBand::DrivenBand(const WaveGrid& grid, const FlowConfig& config, const ModeRows* rows)
    : band_(grid, config.forcing.highest),
      local_(band_, rows),
      forcing_(forcings().named(config.forcing.kind).make(band_, config.forcing, config.seed)),
      velocity_(band_.waves.size()),
      force_(band_.waves.size()) {}

void DrivenBand::clear() {
  std::ranges::fill(velocity_, std::array<std::complex<double>, 3>{});
}

// Each wave was entered by one rank: the bits of the others are zero, and the sum of all is exact.
void DrivenBand::share(const comm::Communicator& comm) {
  std::vector<std::int64_t> bits;
  for (const auto& wave : velocity_)
    for (const auto& component : wave) {
      bits.push_back(std::bit_cast<std::int64_t>(component.real()));
      bits.push_back(std::bit_cast<std::int64_t>(component.imag()));
    }
  comm.sum(bits);
  for (std::size_t n = 0; n < velocity_.size(); ++n)
    for (std::size_t c = 0; c < 3; ++c)
      velocity_[n][c] = {std::bit_cast<double>(bits[6 * n + 2 * c]), std::bit_cast<double>(bits[6 * n + 2 * c + 1])};
}

double DrivenBand::make_force() {
  forcing_->force(velocity_, force_);
  return power(band_, velocity_, force_);
}

}  // namespace sidestream::solvers
