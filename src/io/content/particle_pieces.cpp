#include "io/content/particle_pieces.hpp"

#include <algorithm>
#include <cstring>

namespace sidestream::io {

namespace {

constexpr std::size_t particles_a_piece = 65536;

template <typename Real>
void pack(const std::vector<double>* values, double factor, const ParticlePiece& piece, std::byte* out) {
  for (std::size_t p = 0; p < piece.count; ++p, out += sizeof(Real)) {
    const auto real = static_cast<Real>(values == nullptr ? factor
                                        : factor == 1.0   ? (*values)[piece.first + p]
                                                          : factor * (*values)[piece.first + p]);
    std::memcpy(out, &real, sizeof real);
  }
}

}  // namespace

std::vector<ParticlePiece> particle_pieces(const FileContent& content) {
  std::vector<ParticlePiece> pieces;
  for (std::size_t level = 0; level < content.particles.levels.size(); ++level) {
    const std::size_t size = content.particles.levels[level]->size();
    for (std::size_t first = 0; first < size; first += particles_a_piece)
      pieces.push_back({level, first, std::min(particles_a_piece, size - first)});
  }
  return pieces;
}

std::size_t particle_numbers(const FileContent& content) {
  return 3 + content.particles.numbers.size();
}

void pack_ids(const FileContent& content, const ParticlePiece& piece, std::byte* out) {
  std::memcpy(out, content.particles.levels[piece.level]->id.data() + piece.first, piece.count * sizeof(std::int64_t));
}

void pack_numbers(const FileContent& content, const ParticlePiece& piece, std::size_t number, std::byte* out) {
  const std::vector<double>* values = nullptr;
  double factor = 1.0;
  if (number < 3) {
    values = &content.particles.levels[piece.level]->position[number];
  } else {
    const mesh::ParticleNumber& real = content.particles.numbers[number - 3];
    factor = real.factor;
    values = content.values(real, piece.level);
  }
  if (content.particle_precision == Precision::double_precision)
    pack<double>(values, factor, piece, out);
  else
    pack<float>(values, factor, piece, out);
}

}  // namespace sidestream::io
