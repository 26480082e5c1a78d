#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/io/format.hpp"
#include "support/sample_content.hpp"
#include "temporary_folder.hpp"

namespace sidestream {

/// Files of the sample state in the format that is the test's parameter.
class FlashTest : public testing::TestWithParam<std::string> {
 protected:
  const io::Format& format() const { return io::formats().named(GetParam()); }
  std::string path(bool is_checkpoint = true) const {
    return folder_ / (is_checkpoint ? format().checkpoint : format().plotfile)->of(7);
  }
  std::string write(const test::FileState& content, const std::string& method = "") const {
    io::WriteOptions options;
    options.method = method;
    options.is_durable = false;
    const std::string at = path(content.choice.kind == io::FileKind::checkpoint);
    test::write(comm_, format(), at, content, options);
    return at;
  }

  // Cells of the sample that are not as they were, in a layout of its own; each value once through `in_file`.
  template <typename InFile>
  int cells_that_differ(const io::SnapshotFile& file, int level, std::size_t field, InFile in_file) const {
    const mesh::Layout& in_the_file = file.description().state.levels[static_cast<std::size_t>(level)];
    // Blocks of the file dealt to the ranks in another way than they were written.
    std::vector<std::int32_t> owners;
    for (std::int32_t i = 0; i < in_the_file.size(); ++i) owners.push_back((i + 1) % comm_.size());
    mesh::Field<double> cells(mesh::Layout(in_the_file.domain(), in_the_file.periodic(),
                                           {in_the_file.boxes().begin(), in_the_file.boxes().end()}, owners, level),
                              comm_.rank(), 2, 1);
    file.read_field(file.description().fields[field].name, cells, level, 1);
    const double size = test::SampleContent::side / (test::SampleContent::cells << level);
    int count = 0;
    for (int b = 0; b < cells.blocks(); ++b)
      core::for_each_cell(cells.box(b), [&](int k, int j, int i) {
        const double value = test::SampleContent::value(field, (i + 0.5) * size, (j + 0.5) * size, (k + 0.5) * size);
        count += cells.view(b)(1, k, j, i) != in_file(value);
      });
    return count;
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
  test::SampleContent sample_{comm_.rank(), comm_.size()};
};

/// A test's parameter as part of its name.
inline std::string test_name(const testing::TestParamInfo<std::string>& each) {
  std::string name = each.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace sidestream
