#include "sidestream/io/nyx_plotfile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "file_size_limit.hpp"
#include "io/nyx_ids.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/mesh/forest.hpp"
#include "support/fields.hpp"
#include "temporary_folder.hpp"

namespace sidestream {
namespace {

using testing::HasSubstr;
using testing::Not;

// --- a file of Nyx itself; the values were read with yt 4.4.3
// ---------------------------------------------------------------------

const std::string genuine = SIDESTREAM_TEST_DATA "/nyx_plt00002";

mesh::Layout whole(mesh::Int3 cells) {
  return mesh::split(mesh::domain_of(cells), {1, 1, 1});
}

TEST(GenuineNyxPlotfile, HasItsHeaderReadRight) {
  const io::NyxPlotfile file(genuine);

  EXPECT_THAT(file.fields(), testing::ElementsAre("density", "xmom", "ymom", "zmom", "rho_e", "Temp", "phi_grav",
                                                  "particle_count", "particle_mass_density"));
  EXPECT_EQ(file.step(), 2);
  EXPECT_EQ(file.time(), 2.71032165558811e-07);
  EXPECT_NEAR(file.redshift(), 155.84850940126282, 1e-9);
  EXPECT_EQ(file.cosmology().at("omega_m"), 0.275);
  EXPECT_EQ(file.cosmology().at("omega_lambda"), 0.725);
  EXPECT_EQ(file.cosmology().at("hubble"), 0.702);
  EXPECT_EQ(file.geometry().domain, mesh::domain_of({32, 32, 32}));
  EXPECT_EQ(file.geometry().length[2], 28.49002849);
  ASSERT_EQ(file.levels().size(), 1U);
  EXPECT_EQ(file.levels()[0].layout.size(), 8);
  EXPECT_EQ(file.levels()[0].maxima.at(7).at(0), 7.0838783869569645e+09);
}

TEST(GenuineNyxPlotfile, HoldsTheCellsThatOthersReadFromIt) {
  const io::NyxPlotfile file(genuine);
  const auto density = file.read_field("density", whole({32, 32, 32}), 0),
             temperature = file.read_field("Temp", whole({32, 32, 32}), 0);
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

TEST(GenuineNyxPlotfile, GivesEveryRankOfAnyLayoutItsCells) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const io::NyxPlotfile file(genuine);
  const auto all = file.read_field("xmom", whole({32, 32, 32}), 0);
  const auto layout = mesh::split(mesh::domain_of({32, 32, 32}), {3, comm.size(), 2});

  std::int64_t differ = 0;
  for (int rank = comm.rank(); rank < 6 * comm.size(); rank += comm.size()) {
    const auto part = file.read_field("xmom", layout, rank);
    core::for_each_cell(part.box(0),
                        [&](int k, int j, int i) { differ += part.view(0)(k, j, i) != all.view(0)(k, j, i); });
  }

  EXPECT_EQ(comm.sum(differ), 0);
}

TEST(GenuineNyxPlotfile, HoldsTheParticlesThatOthersReadFromIt) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const io::NyxPlotfile file(genuine);
  ASSERT_EQ(file.particle_count(), 32768);
  EXPECT_THAT(file.particle_reals(), testing::ElementsAre("mass", "xvel", "yvel", "zvel"));

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

TEST(GenuineNyxPlotfile, WhatItDoesNotHoldIsNamed) {
  const io::NyxPlotfile file(genuine);

  try {
    file.read_field("rho", whole({32, 32, 32}), 0);
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.hint(), HasSubstr("phi_grav"));
  }
  EXPECT_THROW(file.read_field("density", whole({16, 16, 16}), 0), core::Error);
  EXPECT_THROW(file.read_field("density", whole({32, 32, 32}), 0, 1), core::Error);
  EXPECT_THROW(io::NyxPlotfile("/nowhere"), core::Error);
}

// --- our own
// ----------------------------------------------------------------------------------------------------------------------

class NyxPlotfileTest : public testing::Test {
 protected:
  NyxPlotfileTest()
      : layout_(mesh::Forest({16, 8, 8}, 4).layout(comm_.size())),
        state_(test::field_of_global_index(layout_, comm_.rank(), 2, 1)),
        particles_(particles_here()) {}

  // One particle in the middle of each owned cell, with large ids.
  mesh::Particles particles_here() const {
    mesh::Particles particles;
    particles.attributes = {{"vx", "km/s", {}}};
    for (int b = 0; b < state_.blocks(); ++b)
      core::for_each_cell(state_.box(b), [&](int k, int j, int i) {
        particles.id.push_back((std::int64_t{1} << 40) + linear_index(layout_.domain(), {i, j, k}));
        particles.position[0].push_back(i + 0.5);
        particles.position[1].push_back(j + 0.5);
        particles.position[2].push_back(k + 0.5);
        particles.attributes[0].values.push_back(i / 3.0);
      });
    return particles;
  }

  io::PlotfileContent content() const {
    io::PlotfileContent all;
    all.step = 42;
    all.time = 1.0 / 3.0;
    all.scale_factor = 0.25;
    all.omega_m = 0.3;
    all.omega_lambda = 0.7;
    all.hubble = 0.68;
    all.geometry = {layout_.domain(), {16.0, 8.0, 8.0}, {true, true, true}};
    all.fields = {{"density", {&state_}, 0, 1.0}, {"xmom", {&state_}, 1, 2.0}};
    all.particles = {&particles_};
    all.particle_reals = {{"mass", {}, 5e9}, {"xvel", {&particles_.attributes[0].values}, 4.0}};
    return all;
  }
  std::string write(const io::PlotfileContent& all) const {
    io::write_nyx_plotfile(comm_, folder_ / "plt00042", all);
    comm_.barrier();
    return folder_ / "plt00042";
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
  mesh::Layout layout_;
  mesh::Field<double> state_;
  mesh::Particles particles_;
};

TEST_F(NyxPlotfileTest, ComesBackBitForBitOnAnotherLayout) {
  const io::NyxPlotfile file(write(content()));
  const auto layout = mesh::split(layout_.domain(), {comm_.size(), 1, 1});

  const auto density = file.read_field("density", layout, comm_.rank());
  const auto momentum = file.read_field("xmom", layout, comm_.rank());

  EXPECT_EQ(test::cells_that_differ(density), 0);
  core::for_each_cell(momentum.box(0), [&](int k, int j, int i) {
    EXPECT_EQ(momentum.view(0)(k, j, i), 2.0 * static_cast<double>(8 * linear_index(layout_.domain(), {i, j, k}) + 1));
  });
}

TEST_F(NyxPlotfileTest, TellsTimeStepAndCosmology) {
  const io::NyxPlotfile file(write(content()));

  EXPECT_EQ(file.step(), 42);
  EXPECT_EQ(file.time(), 1.0 / 3.0);
  EXPECT_EQ(file.redshift(), 3.0);
  EXPECT_EQ(file.cosmology().at("hubble"), 0.68);
  EXPECT_EQ(file.geometry().length[0], 16.0);
  EXPECT_EQ(file.levels()[0].minima.at(0).at(0), 0.0);
}

TEST_F(NyxPlotfileTest, SinglePrecisionRoundsAndNothingElse) {
  auto all = content();
  all.precision = io::Precision::single_precision;
  all.fields[0].factor = 1.0 / 3.0;
  const io::NyxPlotfile file(write(all));

  const auto density = file.read_field("density", layout_, comm_.rank());

  for (int b = 0; b < density.blocks(); ++b)
    core::for_each_cell(density.box(b), [&](int k, int j, int i) {
      EXPECT_EQ(density.view(b)(k, j, i),
                static_cast<double>(static_cast<float>(1.0 / 3.0 * state_.view(b)(0, k, j, i))));
    });
}

TEST_F(NyxPlotfileTest, ParticlesComeBackWithTheirIds) {
  for (const auto precision : {io::Precision::single_precision, io::Precision::double_precision}) {
    auto all = content();
    all.particle_precision = precision;
    const io::NyxPlotfile file(write(all));

    const mesh::Particles particles = file.read_particles(comm_.rank(), comm_.size());

    EXPECT_EQ(comm_.sum(static_cast<std::int64_t>(particles.size())), layout_.domain().volume());
    for (std::size_t p = 0; p < particles.size(); ++p) {
      const auto cell =
          cell_of(all.geometry, {particles.position[0][p], particles.position[1][p], particles.position[2][p]});
      EXPECT_EQ(particles.id[p], (std::int64_t{1} << 40) + linear_index(layout_.domain(), cell));
      EXPECT_EQ(particles.attribute("mass")[p], 5e9);
      EXPECT_NEAR(particles.attribute("xvel")[p], 4.0 * cell.x / 3.0,
                  precision == io::Precision::single_precision ? 2e-6 : 0.0);
    }
    comm_.barrier();
  }
}

TEST_F(NyxPlotfileTest, TakesAtMostAsManyFilesAsAsked) {
  for (const int files : {1, 2, 100}) {
    auto all = content();
    all.files = files;
    const std::string path = write(all);

    EXPECT_EQ(test::entries_of(path + "/Level_0"), std::min(files, comm_.size()) + 1);
    EXPECT_EQ(test::cells_that_differ(io::NyxPlotfile(path).read_field("density", layout_, comm_.rank())), 0);
    comm_.barrier();
  }
}

TEST_F(NyxPlotfileTest, NamesNyxAndNoCodeThatMakesOtherToolsUnsure) {
  std::string text = test::content_of(write(content()) + "/job_info");
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });

  EXPECT_THAT(text, HasSubstr("nyx"));
  for (const char* other : {"amrex", "castro", "maestro", "warpx", "boxlib", "quokka"})
    EXPECT_THAT(text, Not(HasSubstr(other)));
}

TEST_F(NyxPlotfileTest, WorksWithoutParticlesAndCosmology) {
  auto all = content();
  all.particles.clear();
  all.omega_m = all.omega_lambda = all.hubble = 0.0;
  const io::NyxPlotfile file(write(all));

  EXPECT_FALSE(file.has_particles());
  EXPECT_TRUE(file.cosmology().empty());
  EXPECT_EQ(file.read_particles(0, 1).size(), 0U);
}

TEST_F(NyxPlotfileTest, ReplacesOneOfTheSameNameWhole) {
  write(content());
  auto all = content();
  all.particles.clear();

  const std::string path = write(all);

  EXPECT_FALSE(std::filesystem::exists(path + "/DM"));
  EXPECT_EQ(test::entries_of(folder_.path()), 1);
}

TEST_F(NyxPlotfileTest, ADiskThatFillsUpOnOneRankStopsAllAndLeavesNothing) {
  for (const int files : {1, 64}) {
    auto all = content();
    all.files = files;
    {
      const std::unique_ptr<test::FileSizeLimit> limit(
          comm_.rank() == comm_.size() - 1 ? std::make_unique<test::FileSizeLimit>(500) : nullptr);
      EXPECT_THROW(io::write_nyx_plotfile(comm_, folder_ / "plt00042", all), core::Error);
    }
    comm_.barrier();
    EXPECT_EQ(test::entries_of(folder_.path()), 0);
    comm_.barrier();
  }
}

TEST_F(NyxPlotfileTest, AParticleOnTheWrongRankIsRefusedByAll) {
  if (comm_.rank() == 0) {
    particles_.position[0][0] = 15.5;
    particles_.position[1][0] = 7.5;
    particles_.position[2][0] = 7.5;
  }
  if (comm_.size() == 1) particles_.position[0][0] = -100.0;

  EXPECT_THROW(io::write_nyx_plotfile(comm_, folder_ / "plt00042", content()), core::Error);
  comm_.barrier();
  EXPECT_EQ(test::entries_of(folder_.path()), 0);
}

TEST(NyxIds, KeepOur64Bits) {
  for (const std::int64_t id :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{0x7ffffffe}, std::int64_t{0x7fffffff}, std::int64_t{1} << 61}) {
    EXPECT_EQ(io::particle_id(io::nyx_id(id)), id);
    EXPECT_GT(io::nyx_id(id).id, 0);
  }
}

TEST(PlotfileFormat, IsFoundByNameAndTheNearestIsNamed) {
  EXPECT_EQ(io::plotfile_format("nyx").name, "nyx");
  EXPECT_THROW(io::plotfile_format("nix"), core::Error);
}

// --- damage
// -----------------------------------------------------------------------------------------------------------------------

// A file of eight boxes that this rank alone damages and reads.
class DamagedPlotfileTest : public NyxPlotfileTest {
 protected:
  DamagedPlotfileTest() {
    const comm::Communicator self(MPI_COMM_SELF);
    const auto layout = mesh::Forest({8, 8, 8}, 4).layout(1);
    const auto field = test::field_of_global_index(layout, 0);
    path_ = folder_ / ("mine" + std::to_string(comm_.rank()));
    io::PlotfileContent all;
    all.geometry = {layout.domain(), {8.0, 8.0, 8.0}, {true, true, true}};
    all.fields = {{"density", {&field}, 0, 1.0}};
    mesh::Particles particles;
    particles.id = {1, 2};
    for (auto& coordinate : particles.position) coordinate = {1.5, 6.5};
    all.particles = {&particles};
    io::write_nyx_plotfile(self, path_, all);
  }

  // Reads everything; whatever happens but a core::Error is a failure of the test (or its end).
  bool reads() const {
    try {
      const io::NyxPlotfile file(path_);
      file.read_field(file.fields()[0], whole(file.geometry().domain.extent()), 0);
      file.read_particles();
      return true;
    } catch (const core::Error& error) {
      EXPECT_FALSE(error.where().empty()) << error.what();
      return false;
    }
  }

  std::string path_;
};

constexpr const char* texts[] = {"/Header", "/Level_0/Cell_H", "/DM/Header"};

TEST_F(DamagedPlotfileTest, IsSoundBefore) {
  EXPECT_TRUE(reads());
}

TEST_F(DamagedPlotfileTest, ATextCutAnywhereIsFoundOut) {
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

TEST_F(DamagedPlotfileTest, DataCutAnywhereAreFoundOut) {
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

TEST_F(DamagedPlotfileTest, AnyByteChangedIsReadOrRefusedButNeverACrash) {
  std::mt19937 random(static_cast<unsigned>(comm_.rank()) + 1);
  for (const std::string text :
       {"/Header", "/Level_0/Cell_H", "/DM/Header", "/comoving_a", "/job_info", "/Level_0/Cell_D_00000"}) {
    const std::string good = test::content_of(path_ + text);
    for (int i = 0; i < 300; ++i) {
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
}

TEST_F(DamagedPlotfileTest, AbsurdNumbersAreRefusedWithoutTakingMemory) {
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

// --- variants that other machines and versions write; made by hand from our own file
// ------------------------------------------------

class VariantPlotfileTest : public DamagedPlotfileTest {
 protected:
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = test::content_of(path_ + file);
    for (auto place = text.find(from); place != std::string::npos; place = text.find(from, place + to.size()))
      text.replace(place, from.size(), to);
    test::overwrite(path_ + file, text);
  }
};

TEST_F(VariantPlotfileTest, DataOfTheOtherByteOrderAreRead) {
  const std::string data = path_ + "/Level_0/Cell_D_00000";
  replace("/Level_0/Cell_D_00000", "(8 7 6 5 4 3 2 1)", "(1 2 3 4 5 6 7 8)");
  std::string bytes = test::content_of(data);
  for (auto line = bytes.find("FAB "); line != std::string::npos;) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(bytes.find('\n', line) + 1);
    for (int cell = 0; cell < 64; ++cell) std::reverse(begin + 8 * cell, begin + 8 * cell + 8);
    line = bytes.find("FAB ", static_cast<std::size_t>(begin - bytes.begin()) + 512);
  }
  test::overwrite(data, bytes);

  EXPECT_EQ(test::cells_that_differ(io::NyxPlotfile(path_).read_field("density", whole({8, 8, 8}), 0)), 0);
}

TEST_F(VariantPlotfileTest, CellsAroundTheBoxesAreLeftOut) {
  const comm::Communicator self(MPI_COMM_SELF);
  const auto field = test::field_of_global_index(whole({4, 4, 4}), 0);
  io::PlotfileContent all;
  all.geometry = {mesh::domain_of({4, 4, 4}), {4.0, 4.0, 4.0}, {true, true, true}};
  all.fields = {{"density", {&field}, 0, 1.0}};
  io::write_nyx_plotfile(self, path_, all);
  for (const char* text : {"/Header", "/Level_0/Cell_H"}) replace(text, "((0,0,0) (3,3,3)", "((1,1,1) (2,2,2)");
  replace("/Level_0/Cell_H", "1\n1\n1\n0\n", "1\n1\n1\n1\n");

  const mesh::Box inner{{1, 1, 1}, {3, 3, 3}};
  const auto read = io::NyxPlotfile(path_).read_field("density", mesh::split(inner, {1, 1, 1}), 0);

  core::for_each_cell(inner, [&](int k, int j, int i) { EXPECT_EQ(read.view(0)(k, j, i), field.view(0)(k, j, i)); });
}

TEST_F(VariantPlotfileTest, IdsPackedInOneWordAreRead) {
  replace("/DM/Header", "Version_Two_Dot_Zero", "Version_Two_Dot_One");
  const std::string data = path_ + "/DM/Level_0/DATA_00000";
  std::string bytes = test::content_of(data);
  const std::uint64_t word = (std::uint64_t{1} << 63) | (std::uint64_t{77} << 24) | 3;
  bytes.replace(0, sizeof word, reinterpret_cast<const char*>(&word), sizeof word);
  test::overwrite(data, bytes);

  EXPECT_EQ(io::NyxPlotfile(path_).read_particles().id.at(0), (std::int64_t{3} << 39) + 76);
}

TEST_F(VariantPlotfileTest, DataWithoutAHeaderForEachBoxAreRefusedWithAHint) {
  replace("/Level_0/Cell_H", "1\n1\n1\n0\n", "2\n1\n1\n0\n");

  try {
    const io::NyxPlotfile file(path_);
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("headerversion"));
  }
}

}  // namespace
}  // namespace sidestream
