#include "sidestream/mesh/snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "mesh/named.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/registry.hpp"

namespace sidestream::mesh {

namespace {

// Copies of this many cells begin fast enough; shorter ones are faster row by row (`bench_publish`).
constexpr std::int64_t long_copy = 4096;

void copy_cells(const core::View4<const double>& from, const Box& box, const core::View4<double>& out) {
  const Int3 n = box.extent();
  const auto lies_together = [plane = std::ptrdiff_t{n.x} * n.y, n](const auto& cells) {
    return cells.stride_y() == n.x && cells.stride_z() == plane;
  };
  if (box.volume() >= long_copy && lies_together(from) && lies_together(out)) {
    std::copy_n(&from(box.lo.z, box.lo.y, box.lo.x), box.volume(), &out(box.lo.z, box.lo.y, box.lo.x));
    return;
  }
  core::for_each_row(box, [&](int k, int j) { std::copy_n(&from(k, j, box.lo.x), n.x, &out(k, j, box.lo.x)); });
}

// Of one block, without a view of all of them, which looks at each.
template <typename T>
core::View4<const T> block_of(const AnyField& cells, int b) {
  const BlockTable& table = cells.table();
  const BlockTable::Block& block = table.blocks[static_cast<std::size_t>(b)];
  core::require(block.stride_x == 1, "the cells of a block lie one after the other along x");
  return {static_cast<const T*>(block.origin), block.stride_y, block.stride_z, block.stride_component,
          table.components};
}

// Numbers that are not real are refused.
void copy_block(const AnyField& cells, int b, const core::View4<double>& out) {
  const Box& box = cells.table().box(b);
  if (cells.holds<double>()) return copy_cells(block_of<double>(cells, b), box, out);
  if (!cells.holds<float>()) return copy_cells(cells.as<double>().view(b), box, out);
  core::for_each_cell(box,
                      [=, from = block_of<float>(cells, b)](int k, int j, int i) { out(k, j, i) = from(k, j, i); });
}

}  // namespace

void Snapshot::put(Entry entry) {
  const std::string name = entry.quantity.name;
  if (quantities_.contains(name))
    *std::ranges::find(order_, name, &Quantity::name) = entry.quantity;
  else
    order_.push_back(entry.quantity);
  quantities_[name] = std::move(entry);
}

Snapshot Snapshot::frame() const {
  Snapshot frame;
  frame.moment = moment;
  frame.geometry = geometry;
  frame.length_unit = length_unit;
  frame.gamma = gamma;
  return frame;
}

void Snapshot::add_grid(const std::string& name, Snapshot on_it) {
  const auto is_fit = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  core::require(!name.empty() && std::ranges::all_of(name, is_fit) && !grids_.contains(name),
                "each grid beside that of a snapshot has a name of its own, of letters, digits, `_` and `-`");
  on_it.moment = moment;
  grids_[name] = std::make_shared<const Snapshot>(std::move(on_it));
}

const Snapshot& Snapshot::on_grid(const std::string& name) const {
  if (name.empty()) return *this;
  const auto found = grids_.find(name);
  if (found != grids_.end()) return *found->second;
  std::vector<std::string> known;
  for (const auto& grid : grids_) known.push_back(grid.first);
  throw core::unknown_name("grid", name, known);
}

void Snapshot::add(Quantity quantity, Provider provide) {
  put({.quantity = std::move(quantity), .provide = std::move(provide)});
}

void Snapshot::add_computed(Quantity quantity, Kernel fill) {
  put({.quantity = std::move(quantity), .fill = std::move(fill)});
}

std::array<std::string, 2> complex_parts(const std::string& name) {
  return {name + "_real", name + "_imag"};
}

void Snapshot::add_complex(const Quantity& quantity, const std::vector<FieldView<const std::complex<double>>>& stored) {
  const auto names = complex_parts(quantity.name);
  for (std::size_t part = 0; part < names.size(); ++part) {
    Quantity real = quantity;
    real.name = names[part];
    real.meaning = (part == 0 ? "real part: " : "imaginary part: ") + quantity.meaning;
    add_computed(std::move(real), [stored, part](int level, const Box& box, const core::View4<double>& out) {
      const auto cells = stored[static_cast<std::size_t>(level)].view_on(box);
      core::for_each_cell(box, [=](int k, int j, int i) {
        const std::complex<double> value = cells(k, j, i);
        out(k, j, i) = part == 0 ? value.real() : value.imag();
      });
    });
  }
}

void Snapshot::add_derived(Quantity quantity, std::vector<std::string> of, Derivation derive) {
  put({.quantity = std::move(quantity), .of = std::move(of), .derive = std::move(derive)});
}

void Snapshot::add(Quantity quantity, std::vector<Field<double>> fields) {
  Entry entry{.quantity = std::move(quantity)};
  for (Field<double>& field : fields)
    entry.levels.emplace_back(std::make_shared<const Field<double>>(std::move(field)));
  put(std::move(entry));
}

void Snapshot::add(Quantity quantity, Field<double> field) {
  std::vector<Field<double>> fields;
  fields.push_back(std::move(field));
  add(std::move(quantity), std::move(fields));
}

void Snapshot::add_stored(Quantity quantity, std::vector<FieldView<const double>> stored, int component,
                          double factor) {
  Entry entry{.quantity = std::move(quantity), .stored = {std::move(stored), component, factor}};
  if (factor == 1.0)
    entry.provide = [from = entry.stored](int level) {
      return AnyField(from.levels[static_cast<std::size_t>(level)].component(from.component));
    };
  else
    entry.fill = [from = entry.stored](int level, const Box& box, const core::View4<double>& out) {
      const core::View4<const double> cells = from.levels[static_cast<std::size_t>(level)].view_on(box);
      core::for_each_row(box, [&](int k, int j) {
        const double* const row = &cells(from.component, k, j, box.lo.x);
        std::transform(row, row + box.extent().x, &out(k, j, box.lo.x),
                       [factor = from.factor](double value) { return factor * value; });
      });
    };
  put(std::move(entry));
}

std::vector<std::string> names_of(const std::vector<Quantity>& quantities) {
  std::vector<std::string> all;
  for (const Quantity& quantity : quantities) all.push_back(quantity.name);
  return all;
}

void Snapshot::add_species(Species species) {
  core::require(std::ranges::find(species_, species.name(), &Species::name) == species_.end(),
                "each species of a snapshot has a name of its own");
  species_.push_back(std::move(species));
}

const Species& Snapshot::species(const std::string& name) const {
  const auto found = std::ranges::find(species_, name, &Species::name);
  if (found != species_.end()) return *found;
  if (!has_particles())
    throw core::Error(fmt::format("there are no particles, so none of the species `{}`", name), "",
                      "ask for a species that the data have, or for fields of cells");
  throw core::unknown_name("species", name, names_of(species_));
}

const Particles* Snapshot::particles(const std::string& species) const {
  if (species.empty()) return has_particles() ? species_.front().particles() : nullptr;
  return this->species(species).particles();
}

const Snapshot::Entry& Snapshot::entry(const std::string& name) const {
  return find_named(quantities_, name, "field");
}

FieldView<const double> Snapshot::field(const std::string& name, int level) const {
  const Entry& found = entry(name);
  const AnyField& cells = at_hand(found, level);
  const auto at = static_cast<std::size_t>(level);
  found.leaves.resize(levels.size());
  FieldView<const double>& view = found.leaves[at];
  if (view.table()) return view;
  if (!cells || !cells.holds<double>())
    view = std::make_shared<const Field<double>>(filled(found, level));
  else
    view = cells.table().layout == levels[at] ? cells.as<double>() : cells.as<double>().on(levels[at]);
  return view;
}

void Snapshot::read(const std::string& name, int level, Field<double>& into, int component) const {
  const Entry& found = entry(name);
  const auto at = static_cast<std::size_t>(level);
  AnyField cells;
  if (at < found.levels.size()) cells = found.levels[at];
  if (!cells && found.provide) cells = found.provide(level);
  if (!cells) prepare(name);
  for (int b = 0; b < into.blocks(); ++b) {
    const core::View4<double> out = into.view(b).component(component);
    if (cells)
      copy_block(cells, cells.table().block_on(into.box(b)), out);
    else
      make(found, level, into.box(b), out);
  }
}

void Snapshot::prepare(const std::string& name) const {
  for (int level = 0; level <= finest_level(); ++level) at_hand(entry(name), level);
}

void Snapshot::write(const std::string& name, int level, const Box& box, const core::View4<double>& out) const {
  const Entry& found = entry(name);
  const AnyField& cells = at_hand(found, level);
  if (cells) return copy_block(cells, cells.table().block_on(box), out);
  const auto at = static_cast<std::size_t>(level);
  if (at < found.leaves.size() && found.leaves[at].table() && levels[at].find(box.lo) >= 0)
    return copy_block(found.leaves[at], found.leaves[at].table()->block_on(box), out);
  make(found, level, box, out);
}

// Cells that lie in memory as doubles are taken from there.
void Snapshot::make(const Entry& entry, int level, const Box& box, const core::View4<double>& out) const {
  if (entry.fill) return entry.fill(level, box, out);
  const Int3 n = box.extent();
  std::vector<std::vector<double>> rooms;
  std::vector<core::View4<const double>> inputs;
  for (const std::string& name : entry.of) {
    if (const AnyField& cells = at_hand(this->entry(name), level); cells && cells.holds<double>()) {
      inputs.push_back(block_of<double>(cells, cells.table().block_on(box)));
      continue;
    }
    rooms.emplace_back(static_cast<std::size_t>(box.volume()));
    const core::View4<double> room(rooms.back().data(), box.lo.x, box.lo.y, box.lo.z, n.x, n.y, n.z, 1);
    write(name, level, box, room);
    inputs.emplace_back(room);
  }
  entry.derive(box, inputs, out);
}

// The cells, if they are in memory or are given by all ranks together; nothing where a kernel makes them.
AnyField& Snapshot::at_hand(const Entry& entry, int level) const {
  const auto at = static_cast<std::size_t>(level);
  core::require(at < levels.size(), "a snapshot has no such level");
  if (entry.levels.size() <= at) entry.levels.resize(at + 1);
  if (!entry.levels[at] && entry.provide) entry.levels[at] = entry.provide(level);
  for (const std::string& name : entry.of) at_hand(this->entry(name), level);
  return entry.levels[at];
}

Field<double> Snapshot::filled(const Entry& entry, int level) const {
  const auto at = static_cast<std::size_t>(level);
  Field<double> field(levels[at], rank);
  for (int b = 0; b < field.blocks(); ++b)
    if (entry.levels[at])
      copy_block(entry.levels[at], entry.levels[at].table().block_on(field.box(b)), field.view(b));
    else
      make(entry, level, field.box(b), field.view(b));
  return field;
}

}  // namespace sidestream::mesh
