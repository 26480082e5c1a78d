#pragma once

#include <array>
#include <string>
#include <vector>

#include "sidestream/core/for_each.hpp"
#include "support/file_state.hpp"
#include "support/levels.hpp"

namespace sidestream::test {

/// A state that every reader can check by itself: fields that are linear in the position, so that averages of fine
/// cells are the coarse values, on three levels of blocks of 4^3 cells (64, 64 and 8 of them, neighbours one level
/// apart) in a periodic cube of 16^3 cells and 16 Mpc; a particle in each leaf block. Blocks are dealt to the ranks in
/// contiguous pieces. The twin in Python is `tests/python/sample_file.py`.
class SampleContent {
 public:
  static constexpr std::int32_t cells = 16, block = 4;
  static constexpr double side = 16.0;  ///< [Mpc]
  static constexpr std::array<const char*, 7> names{"density",    "Temp",     "x_velocity",           "y_velocity",
                                                    "z_velocity", "pressure", "particle_mass_density"};
  static constexpr std::array<const char*, 7> units{"Msun/Mpc^3",          "K",         "km/s", "km/s", "km/s",
                                                    "Msun/Mpc^3 (km/s)^2", "Msun/Mpc^3"};

  /// The field `field` at a position [Mpc].
  static double value(std::size_t field, double x, double y, double z) {
    switch (field) {
      case 0:
        return 1e10 * (1.0 + 0.5 * x + 0.25 * y + 0.125 * z);
      case 1:
        return 1e4 * (1.0 + 0.1 * x + z);
      case 2:
        return 100.0 * (y - 8.0);
      case 3:
        return -50.0 * (z - 8.0);
      case 4:
        return 25.0 * (x - 8.0);
      case 5:
        return 1e12 * (2.0 + x + 3.0 * y);
      default:
        return 5e10 * (1.0 + 0.25 * z);
    }
  }

  static bool is_refined(int level, mesh::Int3 p) {
    return (level == 0 && p.x < 2 && p.y < 2 && p.z < 2) || (level == 1 && p == mesh::Int3{1, 1, 1});
  }

  SampleContent(int rank, int ranks, int level_total = 3) {
    for (mesh::Layout& layout : levels(ranks, level_total)) layouts_.push_back(std::move(layout));
    for (const mesh::Layout& layout : layouts_) {
      fields_.push_back(field_on(layout, rank));
      particles_.push_back(particles_on(fields_.back(), static_cast<int>(layouts_.size())));
    }
  }

  static std::vector<mesh::Layout> levels(int ranks, int level_total) {
    std::vector<mesh::Layout> pieces;
    for (const mesh::Layout& layout : refined_levels(cells, block, ranks, Blocks::all, [&](int level, mesh::Int3 p) {
           return level + 1 < level_total && is_refined(level, p);
         })) {
      std::vector<std::int32_t> owners;
      for (std::int32_t i = 0; i < layout.size(); ++i)
        owners.push_back(static_cast<std::int32_t>(std::int64_t{i} * ranks / layout.size()));
      pieces.emplace_back(layout.domain(), layout.periodic(),
                          std::vector<mesh::Box>(layout.boxes().begin(), layout.boxes().end()), std::move(owners),
                          layout.level());
    }
    return pieces;
  }

  /// [Msun]; ids are 10^16 + 10^6 level + block, beyond what a double holds.
  static double mass_of(std::int64_t id) { return 1e9 * (1.0 + static_cast<double>(id % 1000)); }

  /// Plot file or checkpoint: the latter is double throughout and has numbers of the state. Refers to this object.
  FileState content(bool is_checkpoint) const {
    FileState all;
    all.state.moment = {7, 0.25, 0.5, {{"omega_m", 0.3}, {"omega_lambda", 0.7}, {"hubble", 0.68}}};
    all.state.geometry = {layouts_.front().domain(), {side, side, side}, {true, true, true}};
    all.state.length_unit = "Mpc";
    set_levels(all.state, layouts_, fields_.front().rank());
    for (std::size_t f = 0; f < names.size(); ++f)
      add(all, names[f], units[f], {fields_.begin(), fields_.end()}, static_cast<int>(f));
    for (const auto& particles : particles_) all.particles.stored.push_back(kept_elsewhere(particles));
    all.particles.numbers = {{"mass", "Msun", "mass"}};
    for (const char axis : {'x', 'y', 'z'})
      all.particles.numbers.push_back({std::string(1, axis) + "vel", "km/s", std::string(1, axis) + "vel"});
    const io::Precision precision = is_checkpoint ? io::Precision::double_precision : io::Precision::single_precision;
    all.choice.precision = all.choice.particle_precision = precision;
    if (is_checkpoint) {
      all.choice.kind = io::FileKind::checkpoint;
      all.state.state_numbers = {{"time", 0.25}, {"third", 1.0 / 3.0}};
      all.choice.texts = {{"scheduler", "a \"quoted\"\nline"}, {io::config_text, "[run]\nname = \"sample\"\n"}};
    }
    return all;
  }

  const std::vector<mesh::Layout>& layouts() const { return layouts_; }
  const mesh::Field<double>& field(int level) const { return fields_[static_cast<std::size_t>(level)]; }
  const mesh::Particles& particles(int level) const { return particles_[static_cast<std::size_t>(level)]; }

 private:
  static mesh::Field<double> field_on(const mesh::Layout& layout, int rank) {
    mesh::Field<double> field(layout, rank, static_cast<int>(names.size()), 2);
    const double size = side / (cells << layout.level());
    for (int b = 0; b < field.blocks(); ++b)
      for (std::size_t f = 0; f < names.size(); ++f)
        core::for_each_cell(field.box(b), [&](int k, int j, int i) {
          field.view(b)(static_cast<int>(f), k, j, i) = value(f, (i + 0.5) * size, (j + 0.5) * size, (k + 0.5) * size);
        });
    return field;
  }

  // A particle in each leaf block, a little above its lower corner, that moves as the gas does.
  static mesh::Particles particles_on(const mesh::Field<double>& field, int level_total) {
    mesh::Particles particles;
    particles.mass = 0.0;
    particles.attributes = {{"mass", "Msun", {}}, {"xvel", "km/s", {}}, {"yvel", "km/s", {}}, {"zvel", "km/s", {}}};
    const int level = field.layout().level();
    const double size = side / (cells << level);
    for (int b = 0; b < field.blocks(); ++b) {
      const mesh::Int3 lo = field.box(b).lo;
      if (level + 1 < level_total && is_refined(level, {lo.x / block, lo.y / block, lo.z / block})) continue;
      particles.id.push_back(10'000'000'000'000'000 + 1'000'000 * level +
                             field.layout().boxes_of(field.rank())[static_cast<std::size_t>(b)]);
      std::array<double, 3> at{};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        at[axis] = (lo[static_cast<int>(axis)] + 0.25 + static_cast<double>(axis)) * size;
        particles.position[axis].push_back(at[axis]);
      }
      for (std::size_t axis = 0; axis < 3; ++axis)
        particles.attributes[1 + axis].values.push_back(value(2 + axis, at[0], at[1], at[2]));
      particles.attributes[0].values.push_back(mass_of(particles.id.back()));
    }
    return particles;
  }

  std::vector<mesh::Layout> layouts_;
  std::vector<mesh::Field<double>> fields_;
  std::vector<mesh::Particles> particles_;
};

}  // namespace sidestream::test
