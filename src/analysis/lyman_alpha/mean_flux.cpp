#include "analysis/lyman_alpha/mean_flux.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::analysis {

namespace {

constexpr const char* key = "mean_flux";
constexpr double least_number = 1e-6;  // the precision of the mean flux of scaled depths

// Becker et al. 2013, MNRAS 430, 2067; Faucher-Giguere et al. 2008, ApJ 681, 831; Kim et al. 2007, MNRAS 382, 1657.
constexpr std::array fits{
    MeanFluxFit{"becker2013", [](double z) { return 0.751 * core::pow((1.0 + z) / 4.5, 2.90) - 0.132; }},
    MeanFluxFit{"faucher-giguere2008", [](double z) { return 0.0018 * core::pow(1.0 + z, 3.92); }},
    MeanFluxFit{"kim2007", [](double z) { return 0.0023 * core::pow(1.0 + z, 3.65); }}};

[[noreturn]] void refuse(const std::string& problem) {
  throw core::Error(problem, key,
                    "write \"simulated\", a number between 0 and 1 such as \"0.669\", or \"becker2013\", "
                    "\"faucher-giguere2008\" or \"kim2007\"");
}

}  // namespace

MeanFlux::MeanFlux(const std::string& text) {
  if (text == "simulated") return;
  const auto named = std::ranges::find(fits, text, &MeanFluxFit::name);
  if (named != fits.end()) {
    fit_ = &*named;
    return;
  }
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0')
    refuse(fmt::format("the mean flux \"{}\" is neither a number nor a known fit", text));
  if (!(number > 0.0 && number < 1.0)) refuse(fmt::format("a mean flux of {} cannot be", text));
  if (number < least_number)
    refuse(fmt::format("a mean flux of {} is too dark to be found: {:g} is the least", text, least_number));
  number_ = number;
}

std::optional<double> MeanFlux::at(double redshift) const {
  if (fit_ == nullptr) return number_;
  const double depth = fit_->effective_depth(redshift);
  if (!(depth > 0.0))
    refuse(fmt::format("the fit `{}` has no mean flux below 1 at redshift {:.3f}", fit_->name, redshift));
  return core::exp(-depth);
}

}  // namespace sidestream::analysis
