#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sidestream::analysis {

/// A fit to the mean transmitted flux that was observed in the Lyman-alpha forest.
struct MeanFluxFit {
  std::string_view name;
  double (*effective_depth)(double redshift);  ///< -ln of the mean flux
};

/// The mean flux that optical depths are to be rescaled to, from text: "simulated" for none, a number, or the name of a
/// fit.
class MeanFlux {
 public:
  /// Throws core::Error at the key `mean_flux` for any other text.
  explicit MeanFlux(const std::string& text);

  /// Nothing for none. Throws core::Error where the fit has no value between 0 and 1.
  std::optional<double> at(double redshift) const;

 private:
  const MeanFluxFit* fit_ = nullptr;
  std::optional<double> number_;
};

}  // namespace sidestream::analysis
