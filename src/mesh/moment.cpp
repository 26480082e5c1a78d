#include "sidestream/mesh/moment.hpp"

#include "mesh/named.hpp"

namespace sidestream::mesh {

std::optional<double> Moment::redshift() const {
  if (const auto stated = attributes.find("redshift"); stated != attributes.end()) return stated->second;
  return scale_factor ? std::optional(1.0 / *scale_factor - 1.0) : std::nullopt;
}

double Moment::attribute(const std::string& name) const {
  return find_named(attributes, name, "attribute");
}

}  // namespace sidestream::mesh
