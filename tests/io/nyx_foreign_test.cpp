// Folders in the format of Nyx that others wrote: a genuine one, and variants made by hand from our own.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "format_fixture.hpp"
#include "io/formats/nyx/nyx_file.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/mesh/forest.hpp"
#include "support/fields.hpp"
#include "support/places.hpp"

namespace sidestream {
namespace {

using testing::HasSubstr;

mesh::Layout whole(mesh::Int3 cells) {
  return mesh::split(mesh::domain_of(cells), {1, 1, 1});
}

mesh::Field<double> read(const io::SnapshotFile& file, const std::string& name, const mesh::Layout& layout, int rank,
                         int level = 0) {
  mesh::Field<double> field(layout, rank);
  file.read_field(name, field, level);
  return field;
}

// --- a file of Nyx itself; the values were read with yt 4.4.3
// ---------------------------------------------------------------------

const std::string genuine = test::test_data("nyx_plt00002");

TEST(GenuineNyxFolder, HasItsHeaderReadRight) {
  const io::NyxFile file(genuine);

  EXPECT_THAT(mesh::names_of(file.description().fields),
              testing::ElementsAre("density", "xmom", "ymom", "zmom", "rho_e", "Temp", "phi_grav", "particle_count",
                                   "particle_mass_density"));
  EXPECT_EQ(file.description().state.moment.step, 2);
  EXPECT_EQ(file.description().state.moment.time, 2.71032165558811e-07);
  EXPECT_NEAR(file.description().state.moment.redshift().value(), 155.84850940126282, 1e-9);
  EXPECT_EQ(file.description().state.moment.attribute("omega_m"), 0.275);
  EXPECT_EQ(file.description().state.moment.attribute("omega_lambda"), 0.725);
  EXPECT_EQ(file.description().state.moment.attribute("hubble"), 0.702);
  EXPECT_EQ(file.description().state.geometry.domain, mesh::domain_of({32, 32, 32}));
  EXPECT_EQ(file.description().state.geometry.length[2], 28.49002849);
  ASSERT_EQ(file.description().state.levels.size(), 1U);
  EXPECT_EQ(file.description().state.levels[0].size(), 8);
  EXPECT_EQ(file.tables().levels[0].maxima.at(7).at(0), 7.0838783869569645e+09);
}

TEST(GenuineNyxFolder, HoldsTheCellsThatOthersReadFromIt) {
  const io::NyxFile file(genuine);
  const auto density = read(file, "density", whole({32, 32, 32}), 0),
             temperature = read(file, "Temp", whole({32, 32, 32}), 0);
  const auto rho = density.view(0), t = temperature.view(0);

  EXPECT_EQ(rho(0, 0, 0), 6123448101.390975);
  EXPECT_EQ(rho(0, 0, 31), 6251125425.877819);
  EXPECT_EQ(rho(30, 17, 5), 6275628913.593294);
  EXPECT_EQ(rho(31, 15, 16), 6400602580.321159);
  EXPECT_EQ(t(30, 17, 5), 517.096097059727);
  double sum = 0.0;
  for (const double value : density.all()) sum += value;
  EXPECT_NEAR(sum, 206161502064555.8, 1e-13 * sum * 32);
  const double critical = 2.77536627e11 * 0.702 * 0.702;
  EXPECT_NEAR(sum / 32768 / critical, 0.046, 0.046 * 1e-3) << "the mean is Omega_b of its inputs";
}

TEST(GenuineNyxFolder, GivesEveryRankOfAnyLayoutItsCells) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const io::NyxFile file(genuine);
  const auto all = read(file, "xmom", whole({32, 32, 32}), 0);
  const auto layout = mesh::split(mesh::domain_of({32, 32, 32}), {3, comm.size(), 2});

  std::int64_t differ = 0;
  for (int rank = comm.rank(); rank < 6 * comm.size(); rank += comm.size()) {
    const auto part = read(file, "xmom", layout, rank);
    core::for_each_cell(part.box(0),
                        [&](int k, int j, int i) { differ += part.view(0)(k, j, i) != all.view(0)(k, j, i); });
  }

  EXPECT_EQ(comm.sum(differ), 0);
}

TEST(GenuineNyxFolder, HoldsTheParticlesThatOthersReadFromIt) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const io::NyxFile file(genuine);
  ASSERT_EQ(file.description().particles, 32768);
  std::vector<std::string> names;
  for (const auto& number : file.description().no_particles.attributes) names.push_back(number.name);
  EXPECT_THAT(names, testing::ElementsAre("mass", "xvel", "yvel", "zvel"));

  const mesh::Particles own = file.read_particles(comm.rank(), comm.size());

  double mass = 0.0, x = 0.0, speed = 0.0;
  for (std::size_t p = 0; p < own.size(); ++p) {
    mass += own.attribute("mass")[p];
    x += own.position[0][p];
    speed += own.attribute("xvel")[p] * own.attribute("xvel")[p];
    if (own.id[p] != 0) continue;
    EXPECT_EQ(own.position[0][p], 0.4271289110183716);
    EXPECT_EQ(own.position[1][p], 0.3780372440814972);
    EXPECT_EQ(own.position[2][p], 0.4196700155735016);
    EXPECT_EQ(own.attribute("xvel")[p], -8.266548156738281);
  }
  const auto masses = comm.all_gather(mass), xs = comm.all_gather(x), speeds = comm.all_gather(speed);
  const auto total = [](const std::vector<double>& parts) { return std::accumulate(parts.begin(), parts.end(), 0.0); };
  EXPECT_NEAR(total(masses), 724292413161472.0, 1.0);
  EXPECT_NEAR(total(xs), 466780.6268737614, 1e-6);
  EXPECT_NEAR(total(speeds), 3139817.918266318, 1e-5);
  const auto ids = comm.gather(std::span<const std::int64_t>(own.id));
  EXPECT_EQ(std::set<std::int64_t>(ids.begin(), ids.end()).size(), comm.rank() == 0 ? 32768U : 0U);
}

TEST(GenuineNyxFolder, WhatItDoesNotHoldIsNamed) {
  const io::NyxFile file(genuine);

  try {
    read(file, "rho", whole({32, 32, 32}), 0);
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.hint(), HasSubstr("phi_grav"));
  }
  EXPECT_THROW(read(file, "density", whole({16, 16, 16}), 0), core::Error);
  EXPECT_THROW(read(file, "density", whole({32, 32, 32}), 0, 1), core::Error);
  EXPECT_THROW(io::NyxFile("/nowhere"), core::Error);
}

// --- from here on made by hand from our own, without its seal
// ------------------------------------------------------------------------------------------------

// A folder of this rank alone, as another code would have written it.
class ForeignNyxTest : public testing::Test {
 protected:
  ForeignNyxTest() { write(fields_on(mesh::Forest({8, 8, 8}, 4).layout(1))); }

  static std::vector<mesh::Field<double>> fields_on(const mesh::Layout& layout) {
    std::vector<mesh::Field<double>> fields;
    fields.push_back(test::field_of_global_index(layout, 0));
    return fields;
  }

  // A field, on each level, in a cube, with particles in two corners.
  void write(const std::vector<mesh::Field<double>>& fields) const {
    const mesh::Box domain = fields.front().layout().domain();
    const double side = domain.extent().x;
    test::FileState all;
    all.state.geometry = {domain, {side, side, side}, {true, true, true}};
    mesh::Particles two, none;
    two.id = {1, 2};
    for (auto& coordinate : two.position) coordinate = {1.5, side - 1.5};
    std::vector<mesh::Layout> levels;
    for (const auto& field : fields) {
      all.particles.stored.push_back(test::kept_elsewhere(levels.empty() ? two : none));
      levels.push_back(field.layout());
    }
    test::set_levels(all.state, levels, 0);
    test::add(all, "density", "", {fields.begin(), fields.end()});
    all.choice.particle_precision = io::Precision::single_precision;
    test::write(comm::Communicator(MPI_COMM_SELF), io::formats().named("nyx"), path_, all);
    std::filesystem::remove(path_ + "/sidestream.json");
    std::filesystem::remove(path_ + "/sidestream.commit");
  }

  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = test::content_of(path_ + file);
    auto place = text.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    for (; place != std::string::npos; place = text.find(from, place + to.size())) text.replace(place, from.size(), to);
    test::overwrite(path_ + file, text);
  }

  // Reads everything; whatever happens but a core::Error is a failure of the test (or its end).
  bool reads() const {
    try {
      const io::NyxFile file(path_);
      const int finest = static_cast<int>(file.description().state.levels.size()) - 1;
      mesh::Field<double> into(
          mesh::split(file.description().state.levels[static_cast<std::size_t>(finest)].domain(), {1, 1, 1}), 0);
      file.read_covering(file.description().fields[0].name, into, finest);
      file.read_particles();
      return true;
    } catch (const core::Error& error) {
      EXPECT_FALSE(error.where().empty()) << error.what();
      return false;
    }
  }

  void change_bytes_of(const std::string& text, int times) const {
    std::mt19937 random(static_cast<unsigned>(comm_.rank()) + 1);
    const std::string good = test::content_of(path_ + text);
    for (int i = 0; i < times; ++i) {
      std::string bad = good;
      for (unsigned n = 0; n <= random() % 3; ++n) {
        static constexpr std::string_view nasty = "0123456789-.,() \n/enaif\0\xff";
        bad[random() % std::min<std::size_t>(bad.size(), 2000)] = nasty[random() % nasty.size()];
      }
      test::overwrite(path_ + text, bad);
      reads();
    }
    test::overwrite(path_ + text, good);
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
  std::string path_ = folder_ / ("plt0000" + std::to_string(comm_.rank()));
};

TEST_F(ForeignNyxTest, IsSoundBeforeAndRecognised) {
  EXPECT_TRUE(reads());
  EXPECT_EQ(io::format_of(path_).name, "nyx");
  EXPECT_EQ(io::NyxFile(path_).description().kind, io::FileKind::plot_file);
}

constexpr const char* texts[] = {"/Header", "/Level_0/Cell_H", "/DM/Header"};

TEST_F(ForeignNyxTest, ATextCutAnywhereIsFoundOut) {
  for (const std::string text : texts) {
    const std::string good = test::content_of(path_ + text);
    const auto needed = text == "/Level_0/Cell_H" ? good.find("\n\n") : good.size() - 1;  // extremes may be missing
    for (std::size_t size = 0; size + 1 < needed; ++size) {
      // A cut inside the last number of the last line leaves another sound file.
      if (good.find('\n', size) >= needed) break;
      test::overwrite(path_ + text, good.substr(0, size));
      EXPECT_FALSE(reads()) << text << " cut at " << size;
    }
    test::overwrite(path_ + text, good);
  }
}

TEST_F(ForeignNyxTest, DataCutAnywhereAreFoundOut) {
  for (const std::string data : {"/Level_0/Cell_D_00000", "/DM/Level_0/DATA_00000"}) {
    const std::string good = test::content_of(path_ + data);
    for (std::size_t i = 0; i < 50; ++i) {
      test::overwrite(path_ + data, good.substr(0, good.size() * i / 50));
      EXPECT_FALSE(reads()) << data << " cut at " << i << "/50";
    }
    std::filesystem::remove(path_ + data);
    EXPECT_FALSE(reads());
    test::overwrite(path_ + data, good);
  }
}

TEST_F(ForeignNyxTest, AnyByteChangedIsReadOrRefusedButNeverACrash) {
  for (const char* text :
       {"/Header", "/Level_0/Cell_H", "/DM/Header", "/comoving_a", "/job_info", "/Level_0/Cell_D_00000"})
    change_bytes_of(text, 300);
}

TEST_F(ForeignNyxTest, AbsurdNumbersAreRefusedWithoutTakingMemory) {
  const std::pair<std::string, std::pair<std::string, std::string>> changes[] = {
      {"/Header", {"((0,0,0) (7,7,7)", "((0,0,0) (999999999,999999999,999999999)"}},
      {"/Header", {"0 8 0\n", "0 2000000000 0\n"}},
      {"/Level_0/Cell_H", {"((0,0,0) (3,3,3)", "((0,0,0) (7,7,7)"}},
      {"/Level_0/Cell_H", {"Cell_D_00000 0", "Cell_D_00000 9000000000000000000"}},
      {"/Level_0/Cell_H", {"Cell_D_00000 0", "../../../etc/passwd 0"}},
      {"/DM/Header", {"0 1 0\n", "0 9000000000000000000 0\n"}},
      {"/DM/Header", {"0 1 0\n", "0 1 9000000000000000000\n"}},
      {"/Level_0/Cell_D_00000", {"(3,3,3)", "(9,9,9)"}},
  };
  for (const auto& [file, change] : changes) {
    const std::string good = test::content_of(path_ + file);
    std::string bad = good;
    const auto place = bad.find(change.first);
    ASSERT_NE(place, std::string::npos) << file << ": " << change.first;
    test::overwrite(path_ + file, bad.replace(place, change.first.size(), change.second));

    EXPECT_FALSE(reads()) << file << ": " << change.second;

    test::overwrite(path_ + file, good);
  }
}

// --- numbers that cannot be
// ------------------------------------------------------------------------------------------------------------------

TEST_F(ForeignNyxTest, NumbersThatCannotBeAreRefusedWithTheirEntry) {
  test::overwrite(path_ + "/job_info", "Omega_m (comoving): 0.3\nOmega_lambda (comoving): 0.7\nh (comoving): 0.7\n");
  const std::vector<std::array<const char*, 5>> changes{
      {"/job_info", "comoving): 0.3", "comoving): 40", "Omega of matter is 40", "job_info"},
      {"/job_info", "comoving): 0.3", "comoving): -0.3", "Omega of matter is -0.3", "job_info"},
      {"/Header", "8 8 8", "1e300 8 8", "the side of the domain along x is 1e+300", "Header"},
      {"/Header", "8 8 8", "1e-300 8 8", "the side of the domain along x is 1e-300", "Header"},
      {"/comoving_a", "1", "1e9", "the scale factor is 1000000000", "comoving_a"}};
  EXPECT_TRUE(reads());
  for (const auto& [file, from, to, what, where] : changes) {
    const std::string good = test::content_of(path_ + file);
    std::string bad = good;
    const auto place = bad.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    test::overwrite(path_ + file, bad.replace(place, std::string(from).size(), to));
    try {
      io::open_snapshot_file(path_);
      ADD_FAILURE() << to;
    } catch (const core::Error& error) {
      EXPECT_THAT(error.message(), HasSubstr(what));
      EXPECT_THAT(error.where(), testing::AllOf(HasSubstr(path_), HasSubstr(where)));
    }
    test::overwrite(path_ + file, good);
  }
}

TEST_F(ForeignNyxTest, ATimeThatIsNoNumberIsRefused) {
  std::string header = test::content_of(path_ + "/Header");
  const std::string before = "density\n3\n";
  const auto line = header.find(before) + before.size();
  test::overwrite(path_ + "/Header", header.replace(line, header.find('\n', line) - line, "nan"));

  try {
    io::open_snapshot_file(path_);
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("the time is nan"));
  }
}

TEST_F(ForeignNyxTest, CellsThatCannotBeAreRefusedWithTheirPlace) {
  const mesh::Layout layout = whole({4, 4, 4});
  for (const double bad : {-2.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    auto fields = fields_on(layout);
    fields[0].view(0)(1, 2, 3) = bad;
    write(fields);
    try {
      io::open_snapshot_file(path_)->verify();
      ADD_FAILURE() << bad;
    } catch (const core::Error& error) {
      EXPECT_THAT(error.message(), HasSubstr(fmt::format("`density` is {}", bad)));
      EXPECT_THAT(error.where(), HasSubstr("level 0, cell (3, 2, 1)"));
    }
  }
}

TEST_F(ForeignNyxTest, BoxesThatLeaveHolesAreRefused) {
  replace("/Level_0/Cell_H", "((0,0,0) (3,3,3)", "((0,0,0) (3,3,2)");

  try {
    io::open_snapshot_file(path_);
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("leave holes: they have 496 of its 512 cells"));
  }
}

TEST_F(ForeignNyxTest, NamesThatCannotBePrintedAreRefused) {
  replace("/Header", "density", "den\x1b[2Jsity");
  EXPECT_THROW(io::open_snapshot_file(path_), core::Error);
  replace("/Header", "den\x1b[2Jsity", std::string(100'000, 'd'));
  EXPECT_THROW(io::open_snapshot_file(path_), core::Error);
}

TEST_F(ForeignNyxTest, AFolderOfOursThatHasLostItsSealSaysSo) {
  EXPECT_EQ(io::open_snapshot_file(path_)->description().seal, io::Seal::lost);
  EXPECT_EQ(io::open_snapshot_file(genuine)->description().seal, io::Seal::none);
}

TEST_F(ForeignNyxTest, ParticlesWithoutIdsAreNumberedThroughTheFile) {
  replace("/DM/Header", "\n1\n2\n", "\n0\n2\n");
  for (const char* grid : {"/DM/Level_0/DATA_00000"}) {
    const std::string bytes = test::content_of(path_ + grid);
    const std::size_t half = bytes.size() / 2;  // of each particle: two integers, then its reals
    test::overwrite(path_ + grid, bytes.substr(8, half - 8) + bytes.substr(half + 8));
  }
  replace("/DM/Header", fmt::format("0 1 {}\n", 8 + 4 * 3), fmt::format("0 1 {}\n", 4 * 3));

  const auto file = io::open_snapshot_file(path_);

  EXPECT_EQ(file->read_particles(0, 2).id, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(file->read_particles(1, 2).id, (std::vector<std::int64_t>{1}));
}

// --- variants that other machines and versions write
// ---------

TEST_F(ForeignNyxTest, DataOfTheOtherByteOrderAreRead) {
  const std::string data = path_ + "/Level_0/Cell_D_00000";
  replace("/Level_0/Cell_D_00000", "(8 7 6 5 4 3 2 1)", "(1 2 3 4 5 6 7 8)");
  std::string bytes = test::content_of(data);
  for (auto line = bytes.find("FAB "); line != std::string::npos;) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(bytes.find('\n', line) + 1);
    for (int cell = 0; cell < 64; ++cell) std::reverse(begin + 8 * cell, begin + 8 * cell + 8);
    line = bytes.find("FAB ", static_cast<std::size_t>(begin - bytes.begin()) + 512);
  }
  test::overwrite(data, bytes);

  EXPECT_EQ(test::cells_that_differ(read(io::NyxFile(path_), "density", whole({8, 8, 8}), 0)), 0);
}

TEST_F(ForeignNyxTest, CellsAroundTheBoxesAreLeftOut) {
  const auto fields = fields_on(whole({4, 4, 4}));
  write(fields);
  for (const char* text : {"/Header", "/Level_0/Cell_H"}) replace(text, "((0,0,0) (3,3,3)", "((1,1,1) (2,2,2)");
  replace("/Level_0/Cell_H", "1\n1\n1\n0\n", "1\n1\n1\n1\n");

  const mesh::Box inner{{1, 1, 1}, {3, 3, 3}};
  const auto found = read(io::NyxFile(path_), "density", mesh::split(inner, {1, 1, 1}), 0);

  core::for_each_cell(inner,
                      [&](int k, int j, int i) { EXPECT_EQ(found.view(0)(k, j, i), fields[0].view(0)(k, j, i)); });
}

TEST_F(ForeignNyxTest, IdsPackedInOneWordAreRead) {
  replace("/DM/Header", "Version_Two_Dot_Zero", "Version_Two_Dot_One");
  const std::string data = path_ + "/DM/Level_0/DATA_00000";
  std::string bytes = test::content_of(data);
  const std::uint64_t word = (std::uint64_t{1} << 63) | (std::uint64_t{77} << 24) | 3;
  bytes.replace(0, sizeof word, reinterpret_cast<const char*>(&word), sizeof word);
  test::overwrite(data, bytes);

  EXPECT_EQ(io::NyxFile(path_).read_particles().id.at(0), (std::int64_t{3} << 39) + 76);
}

TEST_F(ForeignNyxTest, DataWithoutAHeaderForEachBoxAreRefusedWithAHint) {
  replace("/Level_0/Cell_H", "1\n1\n1\n0\n", "2\n1\n1\n0\n");

  try {
    const io::NyxFile file(path_);
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("headerversion"));
  }
}

// --- boxes of any size and place, any ratio
// ------------------------------------------------------------------------------------------------------------------

class RefinedForeignNyxTest : public ForeignNyxTest {
 protected:
  // Three levels of 8, 16 and 8 blocks.
  RefinedForeignNyxTest() {
    std::vector<mesh::Field<double>> fields;
    for (const mesh::Layout& layout : test::refined_levels(8, 4, 1, test::Blocks::all, is_refined)) {
      fields.emplace_back(layout, 0);
      const double size = 1.0 / (1 << layout.level());
      for (int b = 0; b < fields.back().blocks(); ++b)
        core::for_each_cell(fields.back().box(b), [&](int k, int j, int i) {
          fields.back().view(b)(k, j, i) = density_at((i + 0.5) * size, (j + 0.5) * size, (k + 0.5) * size);
        });
    }
    write(fields);
  }
  static bool is_refined(int level, mesh::Int3 p) {
    return (level == 0 && (p == mesh::Int3{0, 0, 0} || p == mesh::Int3{1, 0, 0})) ||
           (level == 1 && p == mesh::Int3{1, 1, 0});
  }
  // At a position in cells of the coarsest level; trilinear, so that averages of fine cells are the coarse values.
  static double density_at(double x, double y, double z) { return 1.0 + 0.5 * x + 0.25 * y * z; }
};

TEST_F(RefinedForeignNyxTest, ARatioOfFourIsFoundFromTheDomains) {
  const std::string finer = "((0,0,0) (31,31,31) (0,0,0))";
  replace("/Header", "((0,0,0) (15,15,15) (0,0,0))", finer);
  const std::string domains = finer + " " + finer;
  replace("/Header", domains, finer + " ((0,0,0) (127,127,127) (0,0,0))");

  const io::NyxFile file(path_);

  EXPECT_EQ(file.description().ratios[1], (mesh::Int3{4, 4, 4}));
  EXPECT_EQ(file.description().ratios[2], (mesh::Int3{4, 4, 4}));
}

TEST_F(RefinedForeignNyxTest, BoxesNeedNotBeAlignedWithCoarserCells) {
  replace("/Level_1/Cell_H", "((4,4,0) (7,7,3)", "((5,4,0) (7,7,3)");
  replace("/Level_1/Cell_H", "((8,0,0) (11,3,3)", "((9,0,0) (11,3,3)");
  std::string data = test::content_of(path_ + "/Level_1/Cell_D_00000");
  for (const auto& [from, to] :
       {std::pair("((4,4,0) (7,7,3)", "((5,4,0) (7,7,3)"), std::pair("((8,0,0) (11,3,3)", "((9,0,0) (11,3,3)")})
    data.replace(data.find(from), std::string(from).size(), to);
  test::overwrite(path_ + "/Level_1/Cell_D_00000", data);

  mesh::Field<double> covering(whole({16, 16, 16}), 0);
  io::NyxFile(path_).read_covering("density", covering, 1);

  const auto view = covering.view(0);
  EXPECT_EQ(view(0, 4, 4), density_at(2.5, 2.5, 0.5)) << "cell 4 lost its fine box: the coarse cell 2 shows";
  EXPECT_EQ(view(0, 4, 3), density_at(1.75, 2.25, 0.25));
}

TEST_F(RefinedForeignNyxTest, BoxesOutsideTheNextCoarserLevelAreRefused) {
  // The boxes of level 2 lie in cells [4, 8) of level 1 along x, of which the first box loses a half.
  replace("/Level_1/Cell_H", "((4,4,0) (7,7,3)", "((6,4,0) (7,7,3)");

  try {
    io::open_snapshot_file(path_);
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("of level 2 does not lie within the boxes of level 1"));
  }
}

TEST_F(RefinedForeignNyxTest, DomainsThatAreNoMultiplesAreRefused) {
  replace("/Header", "((0,0,0) (15,15,15)", "((0,0,0) (14,15,15)");

  EXPECT_THROW(io::NyxFile{path_}, core::Error);
}

TEST_F(RefinedForeignNyxTest, AnyByteChangedIsReadOrRefusedButNeverACrash) {
  for (const char* text : {"/Header", "/Level_1/Cell_H", "/Level_2/Cell_H", "/Level_1/Cell_D_00000"})
    change_bytes_of(text, 150);
}

}  // namespace
}  // namespace sidestream
