#include "io/formats/example/example_file.hpp"

#include <fmt/format.h>

#include "io/arrays/stored_reals.hpp"
#include "io/content/pack_block.hpp"
#include "io/disk/checksum.hpp"
#include "io/formats/index_text.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

std::string example_cells(std::size_t level) {
  return fmt::format("cells/{}", level);
}

std::string example_checksums(std::size_t level) {
  return fmt::format("checksums/{}", level);
}

namespace {

IndexReader committed_index(const std::string& path) {
  if (!check_commit_record(path))
    throw core::Error("the file has no record at its end: it is not complete", path, "use an earlier file");
  return {path, example_magic};
}

class ExampleFile final : public SnapshotFile {
 public:
  explicit ExampleFile(const std::string& path) : ExampleFile(committed_index(path), path) {}

  mesh::Particles read_table(int, int) const override { return {}; }

 protected:
  std::vector<double> read_box(std::size_t field, int level, std::int32_t box) const override;

 private:
  struct Level {
    std::int64_t cells = 0, checksums = 0;  // where they begin
    std::vector<std::int64_t> starts;       // first cell of each box among those of the level
  };

  ExampleFile(IndexReader index, const std::string& path)
      : ExampleFile(take_description(index, "example", path), index) {}
  ExampleFile(IndexDescription all, IndexReader& index);
  std::int64_t offset_in(const IndexReader& index, const std::string& array) const;

  ElementType type_;
  std::vector<Level> levels_;
};

ExampleFile::ExampleFile(IndexDescription all, IndexReader& index)
    : SnapshotFile(std::move(all.description)),
      type_(all.precision == Precision::double_precision ? ElementType::float64 : ElementType::float32) {
  index.expect_end();
  description_.has_particles = false;
  description_.no_particles = {};
  if (description_.fields.empty()) return;
  for (std::size_t l = 0; l < description_.state.levels.size(); ++l) {
    Level& level = levels_.emplace_back();
    level.cells = offset_in(index, example_cells(l));
    level.checksums = offset_in(index, example_checksums(l));
    std::int64_t cells = 0;
    for (const mesh::Box& box : description_.state.levels[l].boxes()) {
      level.starts.push_back(cells);
      cells += box.volume();
    }
  }
}

std::int64_t ExampleFile::offset_in(const IndexReader& index, const std::string& array) const {
  try {
    const auto offset = index.root().at("offsets").at(array).get<std::int64_t>();
    if (offset < 0) index.fail("an array lies outside the file");
    return index.end() + offset;
  } catch (const nlohmann::json::exception& problem) {
    index.fail(problem.what());
  }
}

std::vector<double> ExampleFile::read_box(std::size_t field, int level, std::int32_t box) const {
  const auto l = static_cast<std::size_t>(level);
  const auto fields = std::ssize(description_.fields);
  const std::int64_t cells = description_.state.levels[l].box(box).volume(), bytes = cells * size_of(type_);
  const std::int64_t begin =
      levels_[l].cells + fields * levels_[l].starts[static_cast<std::size_t>(box)] * size_of(type_);
  const InputFile file(description_.state.source);
  const std::vector<std::byte> all = file.bytes(begin, fields * bytes);
  std::uint64_t checksum = 0;
  file.read(levels_[l].checksums + 8 * std::int64_t{box}, std::as_writable_bytes(std::span(&checksum, 1)));
  if (checksum_of(all) != checksum)
    throw core::Error(fmt::format("the checksum of box {} of level {} is wrong: the data are damaged", box, level),
                      fmt::format("{}, offset {}", description_.state.source, begin), "use an earlier file");
  return doubles_of(std::span(all).subspan(field * static_cast<std::size_t>(bytes), static_cast<std::size_t>(bytes)),
                    type_);
}

}  // namespace

bool is_example_file(const std::string& path) {
  return begins_with(path, example_magic);
}

std::unique_ptr<SnapshotFile> open_example_file(const std::string& path) {
  return std::make_unique<ExampleFile>(path);
}

}  // namespace sidestream::io
