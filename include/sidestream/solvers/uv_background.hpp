#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sidestream::solvers {

/// Photoionisation and photoheating of one atom or ion, by kind.
struct UvRates {
  double ionization_hi = 0.0, ionization_hei = 0.0, ionization_heii = 0.0;  ///< [1/s]
  double heating_hi = 0.0, heating_hei = 0.0, heating_heii = 0.0;           ///< [erg/s]
};

/// When the background begins, beyond what its table says: all rates of hydrogen and He I are zero above the first
/// redshift, those of He II above the second.
struct SuddenReionization {
  std::optional<double> hydrogen = {}, helium = {};
};

/// A homogeneous background of ionising radiation as a function of redshift.
class UvBackground {
 public:
  /// One row of a table.
  struct Row {
    double log_1z;  ///< log10(1 + z)
    UvRates rates;
  };

  /// At least one row, ascending in redshift.
  explicit UvBackground(std::vector<Row> rows, const SuddenReionization& sudden = {});

  /// Linear in log10(1 + z) between rows; below the first the first, from the last on nothing.
  UvRates at(double redshift) const;

  const std::vector<Row>& rows() const { return rows_; }
  /// Sixteen digits that tell its rows from others, to the bit.
  std::string digest() const;
  /// The redshifts at which rates set in at once: that of the last row and the sudden ones.
  std::vector<double> onsets() const;

 private:
  std::vector<Row> rows_;
  SuddenReionization sudden_;
};

/// By name one of the shipped tables (`uv_background_names`; `data/uvb/ORIGIN.md` says whose they are), or the path of
/// a file of the kind "TREECOOL": seven columns separated by blanks, log10(1 + z), the rates of ionisation of H I, He I
/// and He II [1/s] and those of heating [erg/s], rows ascending in redshift; empty lines and those that begin with #
/// are left out. Throws core::Error with file and line for anything else.
UvBackground make_uv_background(const std::string& name, const SuddenReionization& sudden = {});
std::vector<std::string> uv_background_names();

}  // namespace sidestream::solvers
