#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "io/disk/byte_order.hpp"

namespace sidestream::io {

/// The first record of a field of grafic2.
struct GraficHeader {
  std::array<std::int32_t, 3> points{};
  float spacing = 0.0F;  ///< of the points [comoving Mpc]
  float scale_factor = 0.0F, omega_m = 0.0F, omega_lambda = 0.0F;
  float hubble_constant = 0.0F;  ///< [km/s/Mpc]

  bool operator==(const GraficHeader&) const = default;
};

/// A field of grafic2: a Fortran file without format, of either byte order; a record for each slab of constant z.
/// Local.
class GraficField {
 public:
  /// Throws core::Error unless the size is what the header says.
  explicit GraficField(std::string path);

  const std::string& path() const { return path_; }
  const GraficHeader& header() const { return header_; }
  /// The numbers of the slab `k`, x fastest.
  std::vector<double> slab(std::int64_t k) const;

 private:
  std::int64_t slab_bytes() const { return std::int64_t{4} * header_.points[0] * header_.points[1]; }

  std::string path_;
  ByteOrder order_ = ByteOrder::little;
  GraficHeader header_;
};

}  // namespace sidestream::io
