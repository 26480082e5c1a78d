#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sidestream/core/error.hpp"
#include "sidestream/sims/run.hpp"
#include "support/folder.hpp"
#include "support/run_error.hpp"

namespace sidestream::sims {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

// `more` belongs to `[cosmology]`.
std::string box(const std::string& more) {
  return "simulation = \"cosmology\"\n[mesh]\ncells = [16, 16, 16]\nblock = 8\n[cosmology]\nbox = \"10 Mpc\"\nz_start "
         "= 20\nz_end = 2\n" +
         more;
}

class HeatingTables : public testing::Test {
 protected:
  // A run heated by a table of these rows of log10(1 + z); all rates are 1e-13 / s and 1e-25 erg / s.
  core::Error error_of_rows(const std::vector<double>& log_1z, const std::string& more = "") {
    std::ofstream file(folder / "rates.txt");
    for (const double row : log_1z) file << row << " 1e-13 1e-13 1e-13 1e-25 1e-25 1e-25\n";
    file << more;
    file.close();
    return error_of(box("[heating]\nuv_background = \"" + folder / "rates.txt" + "\"\n"));
  }

  comm::Communicator self{MPI_COMM_SELF};
  test::SharedFolder folder{self};
};

TEST_F(HeatingTables, OfTheUserAreTaken) {
  EXPECT_EQ(error_of_rows({0.0, 0.5, 0.9}).message(), "no error");
}

TEST_F(HeatingTables, AreKeptByTheirWholePath) {
  std::ofstream(folder / "rates.txt") << "0.0 1e-13 1e-13 1e-13 1e-25 1e-25 1e-25\n0.9 0 0 0 0 0 0\n";
  const std::string text = box("[heating]\nuv_background = \"rates.txt\"\n");

  EXPECT_THAT(read_run(core::parse_toml(text, folder / "run.toml")).resolved, HasSubstr(folder / "rates.txt"));
}

TEST_F(HeatingTables, HaveToReachTheRun) {
  EXPECT_THAT(error_of_rows({0.0, 0.2, 0.4}).message(),
              HasSubstr("the background ends at z = 1.512, and the run ends at z = 2"));
  const core::Error late = error_of_rows({0.6, 0.9});
  EXPECT_THAT(late.message(), HasSubstr("known from z = 2.981 on, and the run ends at z = 2"));
  EXPECT_THAT(late.where(), HasSubstr("uv_background"));
}

TEST_F(HeatingTables, ThatAreDamagedAreRefusedWithFileAndLine) {
  EXPECT_THAT(error_of_rows({0.0, 0.5}, "0.6 1e-13 1e-13\n").where(), HasSubstr("rates.txt:3"));
  EXPECT_THAT(error_of_rows({0.0, 0.5, 0.4}).where(), HasSubstr("rates.txt:3"));
  EXPECT_THAT(error_of_rows({0.0, 0.5, 6.0}).hint(), HasSubstr("log10(1 + z), not the redshift"));
  EXPECT_THAT(error_of(box("[heating]\nuv_background = \"" + folder / "" + "\"\n")).message(), HasSubstr("a folder"));
  EXPECT_THAT(error_of_rows({0.0, 0.5}, "0.6 1e-13 nan 1e-13 1e-25 1e-25 1e-25\n").where(), HasSubstr("rates.txt:3"));
}

TEST_F(HeatingTables, OfOtherUnitsAreRefused) {
  const core::Error ionization = error_of_rows({0.0, 0.5}, "0.9 1e-13 1e300 1e-13 1e-25 1e-25 1e-25\n"),
                    heating = error_of_rows({0.0, 0.5}, "0.9 1e-13 1e-13 1e-13 1e-25 1e-25 6.2\n");

  EXPECT_THAT(ionization.message(), HasSubstr("the rate of column 3 is 1e+300"));
  EXPECT_THAT(ionization.where(), HasSubstr("rates.txt:3"));
  EXPECT_THAT(heating.message(), HasSubstr("the rate of column 7 is 6.2"));
  EXPECT_THAT(heating.hint(), HasSubstr("erg/s"));
}

// Rows may lie wherever they are needed; one between others that are even is missing.
TEST_F(HeatingTables, WithAMissingRowAreRefused) {
  const core::Error missing = error_of_rows({0.0, 0.1, 0.2, 0.4, 0.5, 0.6});

  EXPECT_THAT(missing.message(), HasSubstr("a row is missing between log10(1 + z) = 0.2 and 0.4"));
  EXPECT_EQ(error_of_rows({0.0, 0.1, 0.2, 0.3, 0.5, 0.7}).message(), "no error");
  EXPECT_EQ(error_of_rows({0.0, 0.05, 0.1, 0.3, 0.6}).message(), "no error");
}

TEST_F(HeatingTables, ThatCannotBeReadAreTold) {
  const auto error_of_file = [&](const std::string& name) {
    return error_of(box("[heating]\nuv_background = \"" + folder / name + "\"\n"));
  };
  std::ofstream(folder / "binary.dat") << "\x89HDF\r\n\x1a\n" << std::string(64, '\0');
  std::ofstream(folder / "secret.txt") << "0.0 1e-13 1e-13 1e-13 1e-25 1e-25 1e-25\n";
  std::filesystem::permissions(folder / "secret.txt", std::filesystem::perms::none);

  const core::Error binary = error_of_file("binary.dat");
  EXPECT_THAT(binary.message(), HasSubstr("is no text"));
  EXPECT_THAT(binary.where(), HasSubstr("binary.dat:1"));
  EXPECT_THAT(error_of_file("absent.txt").message(), HasSubstr("absent.txt"));
  EXPECT_THAT(error_of_file("secret.txt/rates.txt").message(), HasSubstr("secret.txt/rates.txt"));
  if (!std::ifstream(folder / "secret.txt")) {  // the superuser reads everything
    EXPECT_THAT(error_of_file("secret.txt").hint(), HasSubstr("permissions"));
  }
  EXPECT_THAT(error_of(box("[heating]\nuv_background = \"/dev/null\"\n")).message(),
              HasSubstr("is a device and no regular file"));
}

// The most that is taken heats gas beyond all measure.
TEST_F(HeatingTables, AreNamedWhereTheGasIsLost) {
  std::ofstream(folder / "rates.txt")
      << "0.0 1e-13 1e-13 1e-13 1e-15 1e-15 1e-15\n1.5 1e-13 1e-13 1e-13 1e-15 1e-15 1e-15\n";
  test::SharedFolder out(self);
  std::string text = box("[heating]\nheating_factor = 1e6\nuv_background = \"" + folder / "rates.txt" + "\"\n");
  text.replace(text.find("[16, 16, 16]"), 12, "[8, 8, 8]");
  try {
    run(self, read_run(core::parse_toml(text, "run.toml")), out / "run", {}, {});
    ADD_FAILURE() << "the run went on";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.hint(), AllOf(HasSubstr("heating.uv_background"), testing::Not(HasSubstr("hydro.cfl"))));
  }
}

TEST(HeatingConfig, NamesWhatCannotBe) {
  EXPECT_THAT(error_of(box("[heating]\nuv_background = \"onorbe\"\n")).message(), HasSubstr("onorbe"));
  EXPECT_THAT(error_of(box("[heating]\nuv_background = \"hm2012\"\nheating_factor = -1.0\n")).where(),
              HasSubstr("heating_factor"));
  EXPECT_THAT(error_of(box("[heating]\ntemperature_floor = 10.0\n")).message(), HasSubstr("temperature_floor"));
  EXPECT_THAT(error_of(box("[hydro]\ngamma = 1.4\n[heating]\nuv_background = \"hm2012\"\n")).where(),
              HasSubstr("gamma"));
  EXPECT_THAT(error_of(box("molecular_weight = 0.6\n[heating]\nuv_background = \"hm2012\"\n")).where(),
              HasSubstr("molecular_weight"));
  std::string nbody = box("[heating]\nuv_background = \"hm2012\"\n");
  nbody.replace(nbody.find("\"cosmology\""), 11, "\"nbody\"");
  EXPECT_THAT(error_of(nbody).message(), HasSubstr("heating"));
}

TEST(HeatingConfig, TakesNoBackgroundThatNobodyNamed) {
  for (const char* const more : {"", "rates = \"katz1996\"\n", "self_shielding = true\n"})
    EXPECT_THAT(error_of(box(std::string("[heating]\n") + more)).message(), HasSubstr("`uv_background` is missing"));
}

TEST(HeatingConfig, TheResolvedTextReadsBackToItself) {
  const RunConfig config = read_run(core::parse_toml(box("[heating]\nuv_background = \"hm2012\"\n"), "run.toml"));

  EXPECT_EQ(read_run(core::parse_toml(config.resolved, "config.toml")).resolved, config.resolved);
}

TEST(HeatingConfig, HeatedGasHasElectronsAtomsAndIons) {
  const auto names = [](const std::string& text) {
    std::vector<std::string> of;
    for (const mesh::Quantity& quantity : read_run(core::parse_toml(text, "run.toml")).plan->quantities())
      of.push_back(quantity.name);
    return of;
  };

  EXPECT_THAT(names(box("[heating]\nuv_background = \"hm2012\"\n")),
              AllOf(Contains("electron_fraction"), Contains("neutral_hydrogen"), Contains("singly_ionized_helium"),
                    Contains("temperature")));
  EXPECT_THAT(names(box("")), testing::Not(Contains("neutral_hydrogen")));
}

}  // namespace
}  // namespace sidestream::sims
