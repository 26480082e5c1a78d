// What all analyses have in common: configuration, results that do not depend on the layout, bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "analysis/run.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {
namespace {

using testing::HasSubstr;

constexpr mesh::Periodicity periodic{true, true, true};

class EveryTask : public testing::TestWithParam<const char*> {};
constexpr std::array every_task{
    "analysis = 'display'\nquantity = 'temperature'\naxis = 'y'\nscale = 'log'",
    "analysis = 'flux'\naxes = ['x', 'y']\nmean_flux = '0.7'",
    "analysis = 'flux'\noptical_depth = 'voigt'\nbins = 7\nmu_bins = 0\nslice = true",
    "analysis = 'flux'\noptical_depth = 'local'\nmean_flux = 'becker2013'\nrescale = 'each'",
    "analysis = 'flux'\ncross = ['total_density', 'gas_density']\nmean_flux = '0.6'",
    "analysis = 'flux_skewers'\naxis = 'x'\nnumber = 10",
    "analysis = 'flux_skewers'\nchoose = 'random'\nnumber = 7\noptical_depth = 'local'",
    "analysis = 'flux_skewers'\nchoose = 'positions'\npositions = [[1, 2, 3], [14, 9, 5], [1.1, 2, 9]]",
    "analysis = 'flux_skewers'\nnumber = 9\nresolution = 50\npixel = 30\nsignal_to_noise = 10",
    "analysis = 'halos'\nt_boundary = '5 mean'\nt_halo = '20 mean'",
    "analysis = 'halos'\nfield = 'gas_density'\nt_boundary = '2e10'\nt_halo = '4e10'\nconnectivity = 6",
    "analysis = 'halos'\nkinematics = true\nspherical_overdensity = ['200m']\nt_halo = '100 mean'",
    "analysis = 'pdf'",
    "analysis = 'pdf'\nfields = ['dark_matter_density']\nbins = 7",
    "analysis = 'pdf'\nfields = ['neutral_hydrogen']\nin_means = false\nlow = 1e-16\nhigh = 1.0",
    "analysis = 'phase'",
    "analysis = 'power_spectrum'",
    "analysis = 'power_spectrum'\nbinning = 'log'\nsubtract_shot_noise = true",
    "analysis = 'power_spectrum'\nmu_bins = 4\naxis = 'y'\ncross = true",
    "analysis = 'projection'\nfields = ['total_density', 'velocity_x']",
    "analysis = 'projection'\naxis = 'x'\ncombine = 'max'",
    "analysis = 'projection'\naxis = 'y'\nfields = ['temperature']\nweight = 'gas_density'",
    "analysis = 'regions'\ncondition = 'total_density > 1e11 and temperature < 1e4'\nmeasure = ['velocity_x']\nlink = "
    "false",
    "analysis = 'regions'\ncondition = 'abs(velocity_x) > 100'\nsave = ['total_density']\nlink = false",
    "analysis = 'slice'\naxis = 'x'\nposition = 0.3",
    "analysis = 'structure_functions'\npdf_bins = 11",
    "analysis = 'structure_functions'\nseparations = [1, 3]\norders = [2, 6]",
    "analysis = 'turbulence'\nviscosity = 0.1\nscalars = ['temperature', 'total_density']",
    "analysis = 'turbulence'\npdf_bins = 0"};
INSTANTIATE_TEST_SUITE_P(All, EveryTask, testing::ValuesIn(every_task));

// The rows of a merge tree are spread over the ranks: `merge_tree_test.cpp` joins them. `readers` finds nothing,
// and `python` what a function of others does.
TEST(Tasks, OfEachAnalysisAreTestedHere) {
  for (const std::string& name : analyses().names())
    EXPECT_TRUE(name == "merge_tree" || name == "readers" || name == "python" ||
                std::ranges::any_of(
                    every_task, [&](const std::string& task) { return task.starts_with("analysis = '" + name + "'"); }))
        << name;
}

TEST_P(EveryTask, GivesTheSameBitsOnAnyLayout) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const mesh::Int3 cells{16, 12, 8};
  const auto analysis = test::analysis_of(GetParam());
  const auto alone = analysis->run(self, test::cosmology_snapshot(test::one_box(cells), 0));
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const auto layout = test::random_layout(cells, periodic, world.size(), 1 + 9 * static_cast<int>(seed), seed);

    const auto together = analysis->run(world, test::cosmology_snapshot(layout, world.rank()));

    if (world.rank() == 0)
      EXPECT_TRUE(test::are_identical(together, alone)) << "seed " << seed;
    else
      EXPECT_TRUE(together.columns.empty());
  }
  EXPECT_FALSE(alone.summary.empty());
  for (const mesh::Column& column : alone.columns)
    EXPECT_FALSE(column.description.empty() || column.unit.empty()) << column.name;
}

TEST_P(EveryTask, NamesTheCellThatHoldsNoNumber) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const mesh::Int3 cells{8, 8, 8};
  const auto layout = mesh::split(mesh::domain_of(cells), {1, 1, world.size()});
  mesh::Snapshot snapshot = test::snapshot_on(layout, 10.0);
  snapshot.moment.attributes = {{"particles", 512}, {"redshift", 3.0}, {"omega_m", 0.3}, {"hubble", 0.7}};
  const auto bad = [&](const std::string& name) {
    test::Grid grid(cells, 1.0);
    grid(6, 5, 4) = std::numeric_limits<double>::quiet_NaN();
    snapshot.add({name, "1"}, grid.on(layout, world.rank()));
  };
  for (const char* name : {"gas_density", "dark_matter_density", "temperature", "velocity_x", "velocity_y",
                           "velocity_z", "neutral_hydrogen"})
    bad(name);
  const auto analysis = test::analysis_of(GetParam());
  for (const char* part : {"display", "slice", "flux_skewers"})  // show what there is
    if (std::string(GetParam()).find(part) != std::string::npos) return;

  EXPECT_THAT(test::message_of([&] { analysis->run(world, snapshot); }),
              HasSubstr("nan at the cell (z, y, x) = (6, 5, 4)"));
}

TEST(Tasks, OfAnNBodySimulationNeedOnlyItsDarkMatter) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout({8, 8, 8}, periodic, world.size(), 5, 1);
  const auto snapshot = test::cosmology_snapshot(layout, world.rank(), false);

  const auto halos = test::analysis_of("analysis = 'halos'")->run(world, snapshot);
  const auto pdf = test::analysis_of("analysis = 'pdf'")->run(world, snapshot);
  const auto power = test::analysis_of("analysis = 'power_spectrum'")->run(world, snapshot);

  if (world.rank() != 0) return;
  EXPECT_EQ(test::integers(pdf, "dark_matter_density_count"), test::integers(pdf, "total_density_count"));
  EXPECT_THROW(pdf.column("gas_density_count"), core::Error);
  EXPECT_EQ(test::numbers(power, "dark_matter_density_power"), test::numbers(power, "total_density_power"));
  EXPECT_EQ(std::get<double>(halos.attributes.at("mean_density")),
            std::get<double>(pdf.attributes.at("total_density_mean")));
}

TEST(Tasks, AskForOptionalFieldsOnlyIfTheSimulationHasThem) {
  EXPECT_THAT(test::analysis_of("analysis = 'halos'")->fields(),
              testing::UnorderedElementsAre("total_density?", "gas_density?", "dark_matter_density?"));
  EXPECT_THAT(test::analysis_of("analysis = 'halos'\nfield = 'gas_density'")->fields(),
              testing::ElementsAre("gas_density"));
  EXPECT_THAT(test::analysis_of("analysis = 'phase'")->fields(),
              testing::UnorderedElementsAre("gas_density", "temperature"));
}

TEST(Tasks, SayWhatIsWrongWithTheirConfiguration) {
  const auto complaint = [](const std::string& toml) { return test::message_of([&] { test::analysis_of(toml); }); };

  EXPECT_THAT(complaint("analysis = 'hallos'"), HasSubstr("`halos`"));
  EXPECT_THAT(complaint("every = 3"), HasSubstr("the key `analysis` is missing"));
  EXPECT_THAT(complaint("analysis = 'halos'\nt_bondary = '80 mean'"), HasSubstr("t_boundary"));
  EXPECT_THAT(complaint("analysis = 'halos'\nt_halo = '80 maen'"), HasSubstr("maen"));
  EXPECT_THAT(complaint("analysis = 'halos'\nt_halo = 'many'"), HasSubstr("does not start with a number"));
  EXPECT_THAT(complaint("analysis = 'halos'\nt_halo = 'inf mean'"), HasSubstr("not a finite number"));
  EXPECT_THAT(complaint("analysis = 'halos'\nt_halo = '80 mean'"),
              HasSubstr("below `t_boundary` (81.66 mean, the default)"));
  EXPECT_THAT(complaint("analysis = 'halos'\nt_halo = '1 sigma'"),
              HasSubstr("below `t_boundary` (2 sigma, the default)"));
  EXPECT_THAT(complaint("analysis = 'halos'\nconnectivity = 18"), HasSubstr("use 6, 14 or 26"));
  EXPECT_THAT(complaint("analysis = 'pdf'\nlow = 10.0\nhigh = 1.0"), HasSubstr("set 0 < low < high"));
  EXPECT_THAT(complaint("analysis = 'phase'\ntemperature_low = 0.0"), HasSubstr("temperature"));
  EXPECT_THAT(complaint("analysis = 'projection'\naxis = 'w'"), HasSubstr("axis"));
  EXPECT_THAT(complaint("analysis = 'projection'\ncombine = 'max'\nweight = 'gas_density'"),
              HasSubstr("leave `weight` out"));
  EXPECT_THAT(complaint("analysis = 'slice'\nposition = 1.5"), HasSubstr("position"));
  EXPECT_THAT(complaint("analysis = 'power_spectrum'\nbinning = 'cubic'"), HasSubstr("binning"));
}

TEST(Tasks, LeaveTheKeysOfTheCouplingAlone) {
  core::Node resolved;

  test::analysis_of("analysis = 'halos'\ntransport = 'in-transit'\nevery = 10", &resolved);

  ASSERT_NE(resolved.find("t_halo"), nullptr);
  EXPECT_EQ(resolved.find("t_halo")->text(), "by field");
}

TEST(Tasks, DocumentTheirOptions) {
  for (const AnalysisEntry& entry : analyses()) {
    EXPECT_FALSE(entry.documentation.empty()) << entry.name;
    for (const core::Option& option : entry.options())
      EXPECT_FALSE(option.documentation.empty()) << entry.name << "." << option.name;
  }
}

TEST(Tasks, NameTheFieldsThereAreWhenOneIsMissing) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = mesh::split(mesh::domain_of({8, 8, 8}), {1, 1, world.size()});
  const auto snapshot = test::cosmology_snapshot(layout, world.rank(), false);

  EXPECT_THAT(test::message_of([&] { test::analysis_of("analysis = 'phase'")->run(world, snapshot); }),
              HasSubstr("dark_matter_density"));
}

TEST(HalosTask, GivesAnEmptyCatalogueWhereNothingIsDense) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = mesh::split(mesh::domain_of({8, 8, 8}), {1, 1, world.size()});
  mesh::Snapshot snapshot = test::snapshot_on(layout, 10.0);
  snapshot.add({"gas_density", "Msun/Mpc^3"}, test::Grid({8, 8, 8}, 2.0).on(layout, world.rank()));

  const auto result = test::analysis_of("analysis = 'halos'")->run(world, snapshot);

  if (world.rank() != 0) return;
  EXPECT_EQ(result.dimensions.at("halo"), 0);
  EXPECT_TRUE(test::integers(result, "id").empty());
  EXPECT_EQ(result.summary, "no halos: `total_density` reaches 1 times the mean, t_halo is 200 times the mean");
}

TEST(HalosTask, TakesThresholdsAsMultiplesOfTheMeanOrAsDensities) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = mesh::split(mesh::domain_of({8, 8, 8}), {1, 1, world.size()});
  mesh::Snapshot snapshot = test::snapshot_on(layout, 4.0);
  test::Grid grid({8, 8, 8}, 1.0);
  grid(1, 2, 3) = 513.0;  // the mean is 2
  snapshot.add({"total_density", "Msun/Mpc^3"}, grid.on(layout, world.rank()));

  const auto relative = test::analysis_of("analysis = 'halos'")->run(world, snapshot);
  const auto absolute =
      test::analysis_of("analysis = 'halos'\nt_boundary = '163.32 Msun/Mpc^3'\nt_halo = '4e2'")->run(world, snapshot);

  if (world.rank() != 0) return;
  EXPECT_EQ(std::get<double>(relative.attributes.at("t_halo")), 400.0);
  EXPECT_TRUE(test::are_identical(relative, absolute));
  EXPECT_EQ(relative.summary, "1 halo");
  EXPECT_EQ(test::integers(relative, "id"), std::vector<std::int64_t>{(1 * 8 + 2) * 8 + 3});
  EXPECT_EQ(test::numbers(relative, "mass"), std::vector{513.0 * 0.125});
  EXPECT_EQ(test::numbers(relative, "x"), std::vector{1.75});
  EXPECT_EQ(test::numbers(relative, "y"), std::vector{1.25});
  EXPECT_EQ(test::numbers(relative, "z"), std::vector{0.75});
}

}  // namespace
}  // namespace sidestream::analysis
