// Cells of any type, wherever they lie: the same results by every transport, and the same files in every format, as of
// a packed copy in double precision.
#include "couple/session_fixture.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/open_snapshot.hpp"
#include "sidestream/io/write_snapshot.hpp"

namespace sidestream::couple {
namespace {

double value(mesh::Int3 cell, int quantity, std::int64_t step) {
  const double exact = 0.25 * (cell.x + 16 * (cell.y + 16 * cell.z)) + static_cast<double>(step);
  return quantity == 0 ? exact : exact / (2.0 + quantity);  // floats hold the first one only
}

// Several blocks a rank, and no redshift.
mesh::Snapshot without_cells(const comm::Communicator& group, std::int64_t step) {
  mesh::Snapshot snapshot;
  snapshot.moment = {.step = step, .time = 0.5 * static_cast<double>(step)};
  snapshot.geometry = {mesh::domain_of({16, 16, 16}), {1.0, 1.0, 1.0}, {true, true, true}};
  snapshot.levels = {mesh::Forest({16, 16, 16}, 4).layout(group.size())};
  snapshot.rank = group.rank();
  return snapshot;
}

const std::vector<std::string> names{"density", "temperature", "metals"};

template <typename T>
void fill(mesh::Field<T>& field, int component, int quantity, std::int64_t step) {
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&, cells = field.view(b)](int k, int j, int i) {
      cells(component, k, j, i) = static_cast<T>(value({i, j, k}, quantity, step));
    });
}

mesh::Snapshot packed(const comm::Communicator& group, std::int64_t step) {
  mesh::Snapshot snapshot = without_cells(group, step);
  for (int q = 0; q < 3; ++q) {
    mesh::Field<double> field(snapshot.levels[0], group.rank());
    fill(field, 0, q, step);
    snapshot.add({names[static_cast<std::size_t>(q)], "1"}, std::move(field));
  }
  return snapshot;
}

// Blocks that are cut out of larger arrays of another code: rows lie 11 numbers apart, planes 11 * 9.
mesh::FieldView<const double> strided(const mesh::Layout& layout, int rank, int quantity, std::int64_t step) {
  const auto memory = std::make_shared<std::vector<std::vector<double>>>();
  std::vector<core::View4<const double>> blocks;
  for (const std::int32_t b : layout.boxes_of(rank)) {
    const mesh::Box& box = layout.box(b);
    std::vector<double>& array = memory->emplace_back(11 * 9 * 7, -1.0);
    double* const origin = array.data() + 3 - box.lo.x - 11 * (box.lo.y - 2) - 11 * 9 * (box.lo.z - 1);
    const core::View4<double> cells(origin, 11, 11 * 9, 0, 1);
    core::for_each_cell(box, [&](int k, int j, int i) { cells(k, j, i) = value({i, j, k}, quantity, step); });
    blocks.emplace_back(cells);
  }
  return {layout, rank, blocks, memory};
}

// Floats with ghost cells, strided memory, and one of three components with ghost cells.
mesh::Snapshot of_any_kind(const comm::Communicator& group, std::int64_t step) {
  mesh::Snapshot snapshot = without_cells(group, step);
  const mesh::Layout layout = snapshot.levels[0];
  const int rank = group.rank();
  const auto floats = std::make_shared<mesh::Field<float>>(layout, rank, 1, 2);
  fill(*floats, 0, 0, step);
  snapshot.add({names[0], "1"}, [floats](int) { return mesh::AnyField(floats); });
  snapshot.add({names[1], "1"}, [=](int) { return mesh::AnyField(strided(layout, rank, 1, step)); });
  const auto all = std::make_shared<mesh::Field<double>>(layout, rank, 3, 1);
  fill(*all, 1, 2, step);
  snapshot.add({names[2], "1"},
               [view = mesh::FieldView<const double>(all).component(1)](int) { return mesh::AnyField(view); });
  return snapshot;
}

class AnyCells : public SessionTest {
 protected:
  void expect_results_of_here(const std::string& name) const {
    for (std::int64_t step = 0; world_.rank() == 0 && step < steps; ++step) {
      ASSERT_TRUE(has_result(name, step)) << name;
      mesh::Result here = io::read_result(folder_.result("here", step));
      here.attributes["task"] = name;
      expect_equal(here, io::read_result(folder_.result(name, step)));
    }
  }

  static constexpr std::int64_t steps = 3;
};

TEST_F(AnyCells, GiveTheSameResultsByEveryTransport) {
  const auto digest = std::make_shared<test::Digest>();
  run(config_of({task_of("here", digest, "in-situ")}), steps, packed);

  run(config_of({task_of("in-place", digest, "in-situ")}), steps, of_any_kind);
  expect_results_of_here("in-place");
  for (const Way& way : ways()) {
    run(config_of({task_of(way.name, digest, way.transport)}, way), steps, of_any_kind);
    expect_results_of_here(way.name);
  }
  const CouplingConfig later = config_of({task_of("later", digest, "file")});
  run(later, steps, of_any_kind);
  analyze_stored(later, world_.size());
  expect_results_of_here("later");
}

// What a file of either kind gives back, by the names that its format has.
std::map<std::string, std::vector<double>> read_back(const comm::Communicator& comm, const std::string& path) {
  const mesh::Snapshot state = io::open_snapshot(comm, path);
  std::map<std::string, std::vector<double>> all;
  for (const mesh::Quantity& quantity : state.quantities()) {
    const mesh::FieldView<const double> field = state.field(quantity.name);
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [&, cells = field.view(b)](int k, int j, int i) {
        all[quantity.name].push_back(cells(k, j, i));
      });
  }
  return all;
}

TEST_F(AnyCells, GiveTheSameFilesInEveryFormat) {
  if (world_.rank() == 0) std::filesystem::create_directories(folder_.path());
  world_.barrier();
  int formats = 0;
  for (const io::Format& format : io::formats()) {
    if (!format.plotfile) continue;
    const io::FileChoice choice{.format = &format, .quantities = names};
    const auto read = [&](const mesh::Snapshot& snapshot, std::int64_t step) {
      const std::string path = folder_.path() + "/" + format.plotfile->of(step);
      io::write_snapshot(world_, snapshot, choice, path);
      return read_back(world_, path);
    };
    const auto expected = read(packed(world_, 1), 1), found = read(of_any_kind(world_, 1), 2);
    EXPECT_EQ(found, expected) << format.name;
    EXPECT_GE(expected.size(), 3u) << format.name;
    const auto* cells = expected.empty() ? nullptr : &expected.begin()->second;
    EXPECT_EQ(world_.sum(cells == nullptr ? std::int64_t{0} : static_cast<std::int64_t>(cells->size())), test_cells)
        << format.name;
    ++formats;
  }
  EXPECT_GE(formats, 5);
}

}  // namespace
}  // namespace sidestream::couple
