#include "io/formats/flash/flash_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/content/pack_block.hpp"
#include "io/formats/flash/flash_tables.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::io {

using mesh::Box;
using mesh::Int3;

std::vector<OwnBlock> own_blocks(const FileContent& content, int rank) {
  const std::vector<std::int64_t> starts = block_starts(content);
  std::vector<OwnBlock> blocks;
  for (std::size_t level = 0; level < content.state.levels.size(); ++level) {
    for (const std::int32_t index : content.state.levels[level].boxes_of(rank))
      blocks.push_back({level, content.state.levels[level].box(index), starts[level] + index});
  }
  return blocks;
}

namespace {

void put_cells(const FileContent& content, const std::string& field, const OwnBlock& block, ElementType type,
               ByteWriter& out) {
  const Box& box = block.box;
  std::vector<double> room;
  const auto [view, factor] = cells_of(content, field, block.level, box, room);
  const std::int32_t width = box.extent().x;
  core::for_each_row(box, [&, from = view, by = factor](int k, int j) {
    const double* row = &from(k, j, box.lo.x);
    if (type == ElementType::float32)
      out.put_scaled<float>(row, width, by);
    else
      out.put_scaled<double>(row, width, by);
  });
}

// The field that all variables are unconverted components of, as long as there is one.
mesh::FieldView<const double> field_in_place(const FileContent& content) {
  if (content.state.levels.size() != 1 || content.precision != Precision::double_precision || content.fields().empty())
    return {};
  const std::vector<mesh::FieldView<const double>>& first = content.state.stored(content.fields().front().name).levels;
  for (const mesh::Quantity& field : content.fields()) {
    const mesh::Snapshot::Stored& stored = content.state.stored(field.name);
    if (stored.levels.empty() || stored.levels.front().table() != first.front().table() || stored.factor != 1.0)
      return {};
  }
  return first.front();
}

void set_in_place(const FileContent& content, FlashLayout layout, ArrayGroup& group) {
  const mesh::FieldView<const double> field = field_in_place(content);
  if (!field.table()) return;
  InPlace all{field, {}};
  for (const mesh::Quantity& variable : content.fields()) {
    all.components.push_back(content.state.stored(variable.name).component);
    if (layout == FlashLayout::standard) group.in_place.push_back({field, {all.components.back()}});
  }
  if (layout == FlashLayout::combined) group.in_place.push_back(all);
}

}  // namespace

ArrayGroup flash_cells(const FileContent& content, int rank, FlashLayout layout, ByteOrder order) {
  const Int3 block = check_flash_blocks(content);
  const ElementType type =
      content.precision == Precision::single_precision ? ElementType::float32 : ElementType::float64;
  const std::vector<OwnBlock> blocks = own_blocks(content, rank);
  ArrayGroup group;
  group.rows = group.run_total = block_starts(content).back();
  for (const OwnBlock& own : blocks) group.runs.push_back({own.row, own.row, 1});
  const std::vector<std::string> names = flash_variables(content);
  if (layout == FlashLayout::combined) {
    const auto variables = static_cast<std::int64_t>(names.size());
    group.arrays.push_back({combined_name, type, {variables, block.z, block.y, block.x}});
  } else {
    for (const std::string& name : names) group.arrays.push_back({name, type, {block.z, block.y, block.x}});
  }
  group.pack = [&content, blocks, layout, type, order](std::size_t array, std::size_t run, std::span<std::byte> out) {
    ByteWriter writer(out, order);
    if (layout == FlashLayout::standard) {
      put_cells(content, content.fields()[array].name, blocks[run], type, writer);
      return;
    }
    for (const mesh::Quantity& field : content.fields()) put_cells(content, field.name, blocks[run], type, writer);
  };
  if (order == ByteOrder::little) set_in_place(content, layout, group);
  group.compression = content.compression;
  group.form = [block, type](std::int64_t) { return form_of(block, type); };
  group.checksums = "checksum";
  return group;
}

// --- particles
// ----------------------------------------------------------------------------------------------------------------------

FlashParticles::FlashParticles(const comm::Communicator& comm, const FlashContent& flash)
    : rank_(comm.rank()), flash_(flash), blocks_(own_blocks(flash.content, comm.rank())) {
  for (const mesh::Layout& level : flash.content.state.levels)
    first_own_.push_back((first_own_.empty() ? 0 : first_own_.back()) +
                         static_cast<std::int64_t>(level.boxes_of(rank_).size()));
  comm.agree_on([&] { find_places(); });
  of_blocks_.assign(static_cast<std::size_t>(block_starts(flash.content).back()), 0);
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    of_blocks_[static_cast<std::size_t>(blocks_[b].row)] = static_cast<std::int64_t>(starts_[b + 1] - starts_[b]);
  comm.sum(of_blocks_);
  std::vector<std::int64_t> first{0};
  for (const std::int64_t count : of_blocks_) first.push_back(first.back() + count);
  total_ = first.back();
  for (const OwnBlock& block : blocks_)
    runs_.push_back(
        {block.row, first[static_cast<std::size_t>(block.row)], of_blocks_[static_cast<std::size_t>(block.row)]});
}

std::int64_t FlashParticles::block_of(std::size_t level, std::size_t index) const {
  const mesh::Particles& particles = *flash_.content.particles.levels[level];
  const mesh::Layout& layout = flash_.content.state.levels[level];
  const Int3 cell = cell_of(flash_.geometry.refined(static_cast<int>(level)),
                            {particles.position[0][index], particles.position[1][index], particles.position[2][index]});
  const std::int32_t box = layout.find(cell);
  if (box < 0 || layout.owner(box) != rank_)
    throw core::Error(
        fmt::format("the particle {} of level {} is in no block of its rank", particles.id[index], level));
  const auto own = layout.boxes_of(rank_);
  const std::int64_t before = level == 0 ? 0 : first_own_[level - 1];
  return before + (std::ranges::lower_bound(own, box) - own.begin());
}

void FlashParticles::find_places() {
  for (std::size_t level = 0; level < flash_.content.particles.levels.size(); ++level) {
    const mesh::Particles& particles = *flash_.content.particles.levels[level];
    for (std::size_t p = 0; p < particles.size(); ++p)
      places_.push_back({block_of(level, p), particles.id[p], level, p});
  }
  std::ranges::sort(places_, [this](const Place& a, const Place& b) { return is_before(a, b); });
  starts_.assign(blocks_.size() + 1, 0);
  for (const Place& place : places_) ++starts_[static_cast<std::size_t>(place.block) + 1];
  for (std::size_t b = 0; b < blocks_.size(); ++b) starts_[b + 1] += starts_[b];
}

// Of particles with equal ids the position decides, then their order here, which is that of their species.
bool FlashParticles::is_before(const Place& a, const Place& b) const {
  if (a.block != b.block) return a.block < b.block;
  if (a.id != b.id) return a.id < b.id;
  const mesh::Particles& particles = *flash_.content.particles.levels[a.level];
  for (const auto& coordinate : particles.position)
    if (coordinate[a.index] != coordinate[b.index]) return coordinate[a.index] < coordinate[b.index];
  return a.index < b.index;
}

ArrayGroup FlashParticles::rows() const {
  ArrayGroup group;
  group.rows = total_;
  group.run_total = static_cast<std::int64_t>(of_blocks_.size());
  group.runs = runs_;
  return group;
}

// The processor of a particle is left open, so that files do not depend on the number of ranks. Positions keep all
// bits, so that each stays in its block.
void FlashParticles::put_properties(const Place& place, ByteWriter& out) const {
  const mesh::Particles& particles = *flash_.content.particles.levels[place.level];
  out.put(static_cast<double>(blocks_[static_cast<std::size_t>(place.block)].row + 1));
  for (const auto& coordinate : particles.position) out.put(flash_.position_factor * coordinate[place.index]);
  out.put(-1.0);
  out.put(static_cast<double>(place.id));
  const bool is_single = flash_.content.particle_precision == Precision::single_precision;
  for (std::size_t r = 0; r < flash_.real_factors.size(); ++r) {
    const mesh::ParticleNumber& real = flash_.content.particles.numbers[r];
    const std::vector<double>* const values = flash_.content.values(real, place.level);
    const double value = values == nullptr ? real.factor : real.factor * (*values)[place.index];
    out.put(flash_.real_factors[r] * (is_single ? static_cast<double>(static_cast<float>(value)) : value));
  }
}

ArrayGroup FlashParticles::properties(ByteOrder order) const {
  ArrayGroup group = rows();
  const auto width = flash_own_properties + flash_.content.particles.numbers.size();
  group.arrays = {{"tracer particles", ElementType::float64, {static_cast<std::int64_t>(width)}}};
  group.pack = [this, order](std::size_t, std::size_t run, std::span<std::byte> out) {
    ByteWriter writer(out, order);
    for (std::size_t p = starts_[run]; p < starts_[run + 1]; ++p) put_properties(places_[p], writer);
  };
  group.checksums = "particle checksum";
  return group;
}

ArrayGroup FlashParticles::ids(ByteOrder order) const {
  ArrayGroup group = rows();
  group.arrays = {{"particle ids", ElementType::int64, {}}};
  group.pack = [this, order](std::size_t, std::size_t run, std::span<std::byte> out) {
    ByteWriter writer(out, order);
    for (std::size_t p = starts_[run]; p < starts_[run + 1]; ++p) writer.put(places_[p].id);
  };
  group.checksums = "particle id checksum";
  return group;
}

}  // namespace sidestream::io
