#include "io/formats/enzo/enzo_species.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sidestream/mesh/species.hpp"

namespace sidestream::io {

namespace {

struct Type {
  std::int32_t number;
  std::string_view species;
};

constexpr std::array types{Type{1, mesh::dark_matter},    Type{2, "stars"},       Type{3, "tracers"},
                           Type{5, "single_stars"},       Type{6, "black_holes"}, Type{7, "star_clusters"},
                           Type{8, "massive_black_holes"}};
constexpr std::int32_t first_of_others = 101;

}  // namespace

std::int32_t enzo_type_of(const std::string& species, std::size_t place) {
  const auto known = std::ranges::find(types, species, &Type::species);
  return known != types.end() ? known->number : first_of_others + static_cast<std::int32_t>(place);
}

std::int64_t species_number_of_enzo(std::int64_t type) {
  constexpr std::int64_t ordinary = 1, must_refine = 4;
  return type == must_refine ? ordinary : type;
}

std::string species_of_enzo(std::int64_t type) {
  const auto known = std::ranges::find(types, type, &Type::number);
  return known != types.end() ? std::string(known->species) : fmt::format("type_{}", type);
}

bool is_enzo_star_attribute(const std::string& dataset) {
  constexpr std::array<std::string_view, 4> all{"creation_time", "dynamical_time", "metallicity_fraction",
                                                "typeia_fraction"};
  return std::ranges::find(all, dataset) != all.end();
}

}  // namespace sidestream::io
