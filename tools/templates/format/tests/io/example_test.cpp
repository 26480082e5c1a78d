// What holds for every format is in format_test.cpp; here is what this one alone promises.
#include <gtest/gtest.h>

#include "format_fixture.hpp"

namespace sidestream {
namespace {

class Example : public test::FormatTest {
 protected:
  const io::Format& format() const override { return io::formats().named("example"); }
};

TEST_F(Example, APlotFileComesBackInItsPrecision) {
  const test::SampleState state(comm_, 3);
  auto content = state.plotfile();
  content.state.length_unit = "";

  const auto file = io::open_snapshot_file(write(content, format().plotfile->of(7)));

  EXPECT_EQ(file->description().format, "example");
  EXPECT_FALSE(file->description().has_particles);
  file->verify();
  const std::vector<mesh::Layout> layouts = test::SampleState::layouts(3);
  for (int level = 0; level < 3; ++level) {
    mesh::Field<double> density(layouts[static_cast<std::size_t>(level)], 0);
    file->read_field("density", density, level);
    EXPECT_EQ(test::cells_off_sample(density, 0, 1.0, true), 0) << "level " << level;
  }
}

}  // namespace
}  // namespace sidestream
