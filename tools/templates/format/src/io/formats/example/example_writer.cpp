// One file: an index, then for each level the cells: box by box in the order of the layout, of each box one variable
// after the other.
#include <algorithm>

#include "io/content/pack_block.hpp"
#include "io/formats/example/example_file.hpp"
#include "io/formats/format_entries.hpp"
#include "io/formats/index_text.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

// All cells of a level as one array, a cell a row: a box is a run of them.
ArrayGroup cells_of(const FileContent& content, std::size_t level, int rank) {
  const mesh::Layout& layout = content.state.levels[level];
  const auto fields = std::ssize(content.fields());
  ArrayGroup group;
  group.run_total = layout.size();
  std::vector<std::int64_t> firsts;
  for (const mesh::Box& box : layout.boxes()) {
    firsts.push_back(group.rows);
    group.rows += fields * box.volume();
  }
  for (const std::int32_t box : layout.boxes_of(rank))
    group.runs.push_back({box, firsts[static_cast<std::size_t>(box)], fields * layout.box(box).volume()});
  const bool is_double = content.precision == Precision::double_precision;
  group.arrays = {{example_cells(level), is_double ? ElementType::float64 : ElementType::float32, {}}};
  group.pack = [&content, level, own = layout.boxes_of(rank)](std::size_t, std::size_t run, std::span<std::byte> out) {
    const mesh::Box& box = content.state.levels[level].box(own[run]);
    const auto bytes = static_cast<std::size_t>(box.volume() * size_of(content.precision));
    for (std::size_t field = 0; field < content.fields().size(); ++field)
      pack_block(content, content.fields()[field].name, level, box, out.subspan(field * bytes).data());
  };
  group.checksums = example_checksums(level);
  return group;
}

// Writes the index into the file, which is there and empty; arrays begin behind it, one after the other.
std::vector<std::int64_t> create(const std::string& path, const FileContent& content, std::span<const Array> arrays,
                                 std::span<const std::int64_t> rows) {
  Index index;
  put_description(content, 0, index);
  std::vector<std::int64_t> offsets;
  std::int64_t end = 0;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    offsets.push_back(end);
    index.root["offsets"][arrays[a].name] = end;
    end += rows[a] * arrays[a].row_bytes();
  }
  const std::string text = index_text(example_magic, index);
  OutputFile file(path, OutputFile::Open::modify);
  file.write(text);
  file.close();
  for (std::int64_t& offset : offsets) offset += std::ssize(text);
  return offsets;
}

AccessStatistics write(const comm::Communicator& comm, const std::string& path, const FileContent& content,
                       const WriteOptions& options) {
  ArrayFile file;
  file.container = Container::raw;
  for (std::size_t level = 0; level < content.state.levels.size() && !content.fields().empty(); ++level)
    file.groups.push_back(cells_of(content, level, comm.rank()));
  file.create = [&](const std::string& temporary, std::span<const Array> arrays, std::span<const std::int64_t> rows) {
    return create(temporary, content, arrays, rows);
  };
  return write_array_file(comm, path, file, options);
}

}  // namespace

Format example_format() {
  Format format;
  format.name = "example";
  format.documentation = "one file of cells, box by box; without particles";
  format.plotfile = StepName{"plt", ".example", 5};
  for (const WriteMethod& method : write_methods())
    if (std::ranges::find(method.containers, Container::raw) != method.containers.end())
      format.methods.push_back(method.name);
  format.write = write;
  format.recognizes = is_example_file;
  format.open = open_example_file;
  format.holds_particles = false;
  format.holds_particles_alone = false;
  return format;
}

}  // namespace sidestream::io
