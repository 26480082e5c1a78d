// The kept plot file in the format of Nyx, which other readers are tried on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "sidestream/core/for_each.hpp"
#include "sidestream/io/format.hpp"
#include "support/file_state.hpp"
#include "support/levels.hpp"
#include "support/places.hpp"
#include "temporary_folder.hpp"

namespace sidestream {
namespace {

constexpr std::int32_t cells = 8, block = 4;

bool is_refined(int level, mesh::Int3 p) {
  return (level == 0 && (p == mesh::Int3{0, 0, 0} || p == mesh::Int3{1, 0, 0})) ||
         (level == 1 && p == mesh::Int3{1, 1, 0});
}

// Three levels of 8, 16 and 8 blocks.
std::vector<mesh::Layout> layouts(int ranks) {
  return test::refined_levels(cells, block, ranks, test::Blocks::all, is_refined);
}

// At a position in cells of the coarsest level; trilinear, so that averages of fine cells are the coarse values.
double density_at(double x, double y, double z) {
  return 1.0 + 0.5 * x + 0.25 * y * z;
}

// Dealt as contiguous pieces, so that one data file is the same for any number of ranks.
mesh::Layout in_pieces(const mesh::Layout& layout, int ranks) {
  std::vector<std::int32_t> owners;
  for (std::int32_t i = 0; i < layout.size(); ++i)
    owners.push_back(static_cast<std::int32_t>(std::int64_t{i} * ranks / layout.size()));
  return {layout.domain(),
          layout.periodic(),
          {layout.boxes().begin(), layout.boxes().end()},
          std::move(owners),
          layout.level()};
}

class NyxBytesTest : public testing::Test {
 protected:
  NyxBytesTest() {
    for (const mesh::Layout& layout : layouts(comm_.size())) {
      const int level = layout.level();
      fields_.push_back(field_on(in_pieces(layout, comm_.size()), comm_.rank()));
      particles_.push_back(particles_on(level));
    }
  }

  static mesh::Field<double> field_on(const mesh::Layout& layout, int rank) {
    mesh::Field<double> field(layout, rank, 2, 1);
    const double size = 1.0 / (1 << layout.level());
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [&](int k, int j, int i) {
        field.view(b)(0, k, j, i) = density_at((i + 0.5) * size, (j + 0.5) * size, (k + 0.5) * size);
        field.view(b)(1, k, j, i) = level_value(layout.level());
      });
    return field;
  }
  static double level_value(int level) { return 100.0 * (1 + level); }

  // One particle in the middle of each leaf block of the level.
  mesh::Particles particles_on(int level) const {
    mesh::Particles particles;
    particles.attributes = {{"vx", "km/s", {}}};
    const mesh::Field<double>& field = fields_.back();
    for (int b = 0; b < field.blocks(); ++b) {
      const mesh::Int3 lo = field.box(b).lo;
      if (is_refined(level, {lo.x / block, lo.y / block, lo.z / block})) continue;
      particles.id.push_back(1'000'000 * level + linear_index(field.layout().domain(), lo));
      for (std::size_t axis = 0; axis < 3; ++axis)
        particles.position[axis].push_back((lo[static_cast<int>(axis)] + 2.25) / (1 << level));
      particles.attributes[0].values.push_back(level + 0.5);
    }
    return particles;
  }

  test::FileState content() const {
    test::FileState all;
    all.state.moment = {7, 0.5, 0.5, {{"omega_m", 0.3}, {"omega_lambda", 0.7}, {"hubble", 0.68}}};
    all.state.geometry = {mesh::domain_of({cells, cells, cells}), {8.0, 8.0, 8.0}, {true, true, true}};
    std::vector<mesh::Layout> levels;
    for (const auto& level : fields_) levels.push_back(level.layout());
    test::set_levels(all.state, levels, comm_.rank());
    test::add(all, "density", "", {fields_.begin(), fields_.end()}, 0, 2.0);
    test::add(all, "Temp", "", {fields_.begin(), fields_.end()}, 1);
    for (const auto& level : particles_) all.particles.stored.push_back(test::kept_elsewhere(level));
    all.particles.numbers = {{"mass", "", "", 3.0}, {"xvel", "", "vx", 2.0}};
    all.choice.particle_precision = io::Precision::single_precision;
    return all;
  }
  std::string write(const test::FileState& all) const {
    io::WriteOptions options;
    options.files = 1;
    test::write(comm_, io::formats().named("nyx"), folder_ / "plt00007", all, options);
    comm_.barrier();
    return folder_ / "plt00007";
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
  std::vector<mesh::Field<double>> fields_;
  std::vector<mesh::Particles> particles_;
};

// The file that tests/python reads with yt. Run on one rank with SIDESTREAM_UPDATE_SNAPSHOTS=1 to write it anew.
TEST_F(NyxBytesTest, TheBytesAreThoseOfTheKeptFileForAnyNumberOfRanks) {
  namespace fs = std::filesystem;
  const std::string written = write(content()), kept = test::test_data("refined_plt00007");
  if (std::getenv("SIDESTREAM_UPDATE_SNAPSHOTS") != nullptr && comm_.size() == 1)
    fs::copy(written, kept, fs::copy_options::recursive | fs::copy_options::overwrite_existing);

  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(written)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), written).string();
    EXPECT_TRUE(test::content_of(entry.path().string()) == test::content_of(kept + "/" + name)) << name;
    ++files;
  }
  EXPECT_EQ(files, 5 + 3 * 3 + 2 + 3 * 2) << "texts, levels, texts and levels of the particles";
}

}  // namespace
}  // namespace sidestream
