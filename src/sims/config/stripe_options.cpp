#include "sims/config/stripe_options.hpp"

#include <cmath>

namespace sidestream::sims {

void check_stripes(const core::Node& output, std::int32_t stripes, double stripe_bytes) {
  constexpr double unit_bytes = 0x1p16, most_bytes = 0x1p32 - unit_bytes;  // those of Lustre
  if (stripe_bytes == 0.0) return;
  const core::Node& key = *output.find("stripe_size");
  if (stripes == 0) core::reject(key, "a size of stripes without their number", "set `stripes` too");
  if (stripe_bytes > most_bytes || std::fmod(stripe_bytes, unit_bytes) != 0.0)
    core::reject(key, "stripes have a multiple of 64 KiB, less than 4 GiB", "for example \"4 MiB\"");
}

}  // namespace sidestream::sims
