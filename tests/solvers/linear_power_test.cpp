#include "sidestream/solvers/linear_power.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "support/cosmologies.hpp"
#include "support/csv.hpp"

namespace sidestream::solvers {
namespace {

// Relative tolerances: the fit against an independent implementation; CAMB against the fit, which is good to a few per
// cent.
constexpr double same_formula = 1e-4, fit_to_camb = 0.06;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const core::Error& error) {
    return error.message() + " | " + error.where() + " | " + error.hint();
  }
  return "no error";
}

// A file of this rank alone that is removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("power_" + std::to_string(getpid()) + ".csv")) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(EisensteinHu, AgreesWithAnIndependentImplementation) {
  const CosmologyParameters parameters = test::cosmology_a();
  const double h = parameters.hubble;
  const LinearPower power = eisenstein_hu(parameters);

  for (const auto& row : test::read_csv("eh98_check_A.csv")) {
    EXPECT_NEAR(eisenstein_hu_transfer(parameters, row[0] * h) / row[1], 1.0, same_formula) << "k = " << row[0];
    EXPECT_NEAR(power(row[0] * h) * h * h * h / row[5], 1.0, same_formula) << "k = " << row[0];
  }
}

TEST(LinearPower, IsNormalisedToSigma8) {
  const CosmologyParameters a = test::cosmology_a(), planck;

  EXPECT_NEAR(eisenstein_hu(a).sigma(8.0 / a.hubble), a.sigma8, 1e-9);
  EXPECT_NEAR(shipped_linear_power(planck).sigma(8.0 / planck.hubble), planck.sigma8, 1e-9);
}

TEST(LinearPower, ShippedTableIsNearTheFit) {
  const CosmologyParameters planck;
  const LinearPower table = shipped_linear_power(planck), fit = eisenstein_hu(planck);

  for (double k = 2e-3; k < 50.0; k *= 1.1) EXPECT_NEAR(table(k) / fit(k), 1.0, fit_to_camb) << "k = " << k;
}

TEST(LinearPower, ShippedTableHasItsOwnSigma8) {
  // The rows, not rescaled, give the sigma8 that the header names.
  const auto rows = test::read_csv("../../data/linear_power_planck2018.csv");
  const LinearPower scaled = shipped_linear_power(CosmologyParameters{});
  const double h = CosmologyParameters{}.hubble;

  for (const auto& row : rows) EXPECT_NEAR(scaled(row[0] * h) * h * h * h / row[1], 1.0, 1e-4);
}

TEST(LinearPower, SplineFollowsTheFitBetweenTheRows) {
  const CosmologyParameters parameters = test::cosmology_a();
  const LinearPower fit = eisenstein_hu(parameters);
  const double h = parameters.hubble;
  std::string text = "# made from a fit\n# omega_m = 0.3\n";
  for (int row = 0; row <= 500; ++row) {
    const double k = 1e-4 * std::pow(10.0, row / 80.0);
    text += std::to_string(k * 1e6) + "e-6, " + std::to_string(fit(k * h) * h * h * h * 1e12) + "e-12\n";
  }
  const TemporaryFile file(text);

  const LinearPower table = read_linear_power(file.path(), parameters);

  for (double k = 1e-3; k < 20.0; k *= 1.037) EXPECT_NEAR(table(k) / fit(k), 1.0, 2e-4) << "k = " << k;
}

TEST(LinearPower, BelowTheTableItIsThePrimordialPowerLaw) {
  const CosmologyParameters planck;
  const LinearPower power = shipped_linear_power(planck);
  const double k = power.k_min();

  EXPECT_NEAR(power(k / 16.0) * std::pow(16.0, planck.ns) / power(k), 1.0, 1e-12);
  EXPECT_EQ(power(0.0), 0.0);
}

TEST(LinearPower, BeyondTheTableIsAnErrorThatNamesTheEnd) {
  const LinearPower power = shipped_linear_power(CosmologyParameters{});

  EXPECT_THAT(message_of([&] { power(1e4); }), testing::HasSubstr("ends at 338"));
}

TEST(LinearPower, TableOfAnotherUniverseIsRefused) {
  EXPECT_THAT(message_of([] { shipped_linear_power(test::cosmology_a()); }), testing::HasSubstr("hubble = 0.6766"));
}

TEST(LinearPower, DamagedTablesAreRefusedWithTheLine) {
  const CosmologyParameters parameters;
  const TemporaryFile words("0.1, 2\n0.2, two\n0.3, 3\n0.4, 3\n");

  EXPECT_THAT(message_of([&] { read_linear_power(words.path(), parameters); }), testing::HasSubstr(":2"));
}

TEST(LinearPower, TablesOutOfOrderOrTooShortOrAbsentAreRefused) {
  const CosmologyParameters parameters;
  {
    const TemporaryFile disorder("0.1 2\n0.3 2\n0.2 3\n0.4 3\n");
    EXPECT_THAT(message_of([&] { read_linear_power(disorder.path(), parameters); }), testing::HasSubstr("do not grow"));
  }
  const TemporaryFile brief("# nothing\n0.1 2\n");

  EXPECT_THAT(message_of([&] { read_linear_power(brief.path(), parameters); }), testing::HasSubstr("four rows"));
  EXPECT_THAT(message_of([&] { read_linear_power("/no/such/table", parameters); }),
              testing::HasSubstr("cannot be opened"));
}

// [1 + (alpha k)^2.24]^(-5/1.12) with alpha = 0.049 m^-1.11 Mpc/h, which the fit gives for Omega = 0.25 and h = 0.7,
// computed in Python.
TEST(WarmTransfer, AgreesWithAnIndependentEvaluation) {
  struct Row {
    double mass_kev, k, transfer;  // k in h/Mpc
  };
  CosmologyParameters parameters = test::cosmology_a();  // 0.30 - 0.05 of dark matter
  const double h = parameters.hubble;

  for (const Row& row : {Row{2.1, 0.5, 0.9998261111500838}, Row{2.1, 5.0, 0.9703292816669675},
                         Row{2.1, 20.0, 0.5336090061962068}, Row{0.85, 1.0, 0.9922515016641779},
                         Row{0.85, 10.0, 0.30673440977645944}, Row{0.85, 50.0, 1.4399475880254052e-05}})
    EXPECT_NEAR(warm_transfer(parameters, row.mass_kev, row.k * h) / row.transfer, 1.0, 1e-12) << "k = " << row.k;
}

// alpha = 0.049 m^-1.11 (0.26063 / 0.25)^0.11 (0.6766 / 0.7)^1.22 Mpc/h at 2.1 keV.
TEST(WarmTransfer, ScalesWithTheDensityAndTheHubbleConstant) {
  const CosmologyParameters planck;
  const double alpha = 0.02072561228641501 / planck.hubble;

  EXPECT_NEAR(warm_transfer(planck, 2.1, 1.0 / alpha), std::pow(2.0, -5.0 / 1.12), 1e-12);
}

TEST(LinearPower, WarmPowerIsTheColdOneTimesTheTransferSquared) {
  const CosmologyParameters planck;
  const LinearPower cold = shipped_linear_power(planck), warmer = warm(cold, planck, 0.85);

  for (double k = 1e-3; k < 300.0; k *= 3.0) {
    const double transfer = warm_transfer(planck, 0.85, k);
    EXPECT_NEAR(warmer(k) / (cold(k) * transfer * transfer), 1.0, 1e-12) << "k = " << k;
  }
  EXPECT_EQ(warmer.k_max(), cold.k_max());
}

TEST(LinearPower, BaryonsAloneCannotBeWarm) {
  CosmologyParameters baryons = test::cosmology_a();
  baryons.omega_b = baryons.omega_m;

  EXPECT_THAT(message_of([&] { warm(eisenstein_hu(test::cosmology_a()), baryons, 1.0); }),
              testing::HasSubstr("no dark matter"));
}

TEST(LinearPower, NamesChooseTheSource) {
  const CosmologyParameters planck;

  EXPECT_EQ(make_linear_power("camb", planck)(0.1), shipped_linear_power(planck)(0.1));
  EXPECT_EQ(make_linear_power("eisenstein-hu", planck)(0.1), eisenstein_hu(planck)(0.1));
}

}  // namespace
}  // namespace sidestream::solvers
