#include "io/formats/nyx/nyx_texts.hpp"

#include <fmt/format.h>

#include <cstring>

#include "io/formats/nyx/fab.hpp"
#include "io/formats/nyx/nyx_ids.hpp"

namespace sidestream::io {

using mesh::Box;
using mesh::Layout;

std::string nyx_level_folder(std::size_t level) {
  return fmt::format("Level_{}", level);
}

namespace {

mesh::Geometry geometry_of(const FileContent& content, std::size_t level) {
  return content.state.geometry.refined(static_cast<int>(level));
}

std::string box_list(const Layout& layout) {
  std::string text = fmt::format("({} 0\n", layout.size());
  for (const Box& box : layout.boxes()) text += fab_box(box) + "\n";
  return text + ")\n";
}

// One line a box.
std::string extremes_text(const NyxLevelTable& table, double NyxFieldRecord::*extreme) {
  const std::size_t components = table.fields.size() / table.boxes.size();
  std::string text = fmt::format("\n{},{}\n", table.boxes.size(), components);
  for (std::size_t box = 0; box < table.boxes.size(); ++box) {
    for (std::size_t c = 0; c < components; ++c)
      fmt::format_to(std::back_inserter(text), "{:.16e},", table.fields[box * components + c].*extreme);
    text += "\n";
  }
  return text;
}

std::string cell_header(const Layout& layout, const NyxLevelTable& table, std::size_t components) {
  std::string text = fmt::format("1\n1\n{}\n0\n{}{}\n", components, box_list(layout), layout.size());
  for (const NyxBoxRecord& box : table.boxes)
    fmt::format_to(std::back_inserter(text), "FabOnDisk: Cell_D_{:05} {}\n", box.file, box.offset);
  return text + extremes_text(table, &NyxFieldRecord::lowest) + extremes_text(table, &NyxFieldRecord::highest);
}

// For each box the checksum of each field, then for each box that of its particles, 64-bit little-endian.
std::string checksums_text(const NyxLevelTable& table) {
  std::vector<std::uint64_t> all;
  for (const NyxFieldRecord& field : table.fields) all.push_back(field.checksum);
  all.insert(all.end(), table.particle_checksums.begin(), table.particle_checksums.end());
  std::string bytes(all.size() * sizeof(std::uint64_t), '\0');
  std::memcpy(bytes.data(), all.data(), bytes.size());
  return bytes;
}

std::string particle_header(const FileContent& content, std::span<const NyxLevelTable> levels,
                            std::int64_t largest_id) {
  std::int64_t total = 0;
  std::string table;
  for (const NyxLevelTable& level : levels)
    for (const NyxBoxRecord& record : level.particles) {
      total += record.count;
      fmt::format_to(std::back_inserter(table), "{} {} {}\n", record.file, record.count, record.offset);
    }
  std::string text = fmt::format("Version_Two_Dot_Zero_{}\n3\n{}\n",
                                 content.particle_precision == Precision::double_precision ? "double" : "single",
                                 content.particles.numbers.size());
  for (const auto& real : content.particles.numbers) text += real.name + "\n";
  text += fmt::format("0\n1\n{}\n{}\n{}\n", total, nyx_id(largest_id).id + 1, levels.size() - 1);
  for (const NyxLevelTable& level : levels) text += fmt::format("{}\n", level.particles.size());
  return text + table;
}

std::string three_numbers(double x, double y, double z) {
  return fmt::format("{:.17g} {:.17g} {:.17g} \n", x, y, z);
}

std::string level_text(const FileContent& content, std::size_t level) {
  const mesh::Geometry geometry = geometry_of(content, level);
  const Layout& layout = content.state.levels[level];
  std::string text =
      fmt::format("{} {} {:.17g}\n{}\n", level, layout.size(), content.state.moment.time, content.state.moment.step);
  for (const Box& box : layout.boxes())
    for (int axis = 0; axis < 3; ++axis) {
      const auto edge = [&](std::int32_t index) {
        const double offset = static_cast<double>(index - geometry.domain.lo[axis]);
        return geometry.length[static_cast<std::size_t>(axis)] * (offset / geometry.domain.extent()[axis]);
      };
      fmt::format_to(std::back_inserter(text), "{:.17g} {:.17g}\n", edge(box.lo[axis]), edge(box.hi[axis]));
    }
  return text + nyx_level_folder(level) + "/Cell\n";
}

std::string header_text(const FileContent& content) {
  const std::size_t levels = content.state.levels.size();
  const auto& length = content.state.geometry.length;
  std::string text = fmt::format("HyperCLaw-V1.1\n{}\n", content.fields().size());
  for (const mesh::Quantity& field : content.fields()) text += field.name + "\n";
  text += fmt::format("3\n{:.17g}\n{}\n0 0 0 \n", content.state.moment.time, levels - 1);
  text += three_numbers(length[0], length[1], length[2]);
  for (std::size_t level = 1; level < levels; ++level) text += "2 ";
  text += "\n";
  for (std::size_t level = 0; level < levels; ++level) text += fab_box(geometry_of(content, level).domain) + " ";
  text += "\n";
  for (std::size_t level = 0; level < levels; ++level) text += fmt::format("{} ", content.state.moment.step);
  text += "\n";
  for (std::size_t level = 0; level < levels; ++level) {
    const mesh::Geometry geometry = geometry_of(content, level);
    text += three_numbers(geometry.cell_size(0), geometry.cell_size(1), geometry.cell_size(2));
  }
  text += "0\n0\n";
  for (std::size_t level = 0; level < levels; ++level) text += level_text(content, level);
  return text;
}

// What yt recognises a Nyx file by, and where it takes the cosmology from, and which axes are periodic. The name of the
// library that Nyx is built on must not occur in it, nor those of its other codes: yt would find the file ambiguous.
std::string job_info(const FileContent& content) {
  const std::string rule(78, '=');
  const auto& periodic = content.state.geometry.periodic;
  std::string text = fmt::format("{0}\n {2}\n{0}\nstep: {1}\nProb.lo_bc = {3:d} {4:d} {5:d}\n\n", rule,
                                 content.state.moment.step, nyx_of_ours, periodic[0], periodic[1], periodic[2]);
  if (content.attribute("omega_m") == 0.0 && content.attribute("omega_lambda") == 0.0 &&
      content.attribute("hubble") == 0.0)
    return text;
  return text +
         fmt::format(
             "{0}\n Cosmology Information\n{0}\nOmega_m (comoving):      {1:.17g}\nOmega_lambda (comoving): {2:.17g}\n"
             "h (comoving):            {3:.17g}\n",
             rule, content.attribute("omega_m"), content.attribute("omega_lambda"), content.attribute("hubble"));
}

}  // namespace

std::map<std::string, std::string> nyx_texts(const FileContent& content, std::span<const NyxLevelTable> levels,
                                             std::int64_t largest_id) {
  std::map<std::string, std::string> texts{
      {"Header", header_text(content)},
      {"comoving_a", fmt::format("{:.17g}\n", content.state.moment.scale_factor.value_or(1.0))},
      {"job_info", job_info(content)}};
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const std::string folder = nyx_level_folder(level);
    texts[folder + "/Cell_H"] = cell_header(content.state.levels[level], levels[level], content.fields().size());
    texts[folder + "/checksums"] = checksums_text(levels[level]);
    if (!content.particles.levels.empty())
      texts["DM/" + folder + "/Particle_H"] = box_list(content.state.levels[level]);
  }
  if (!content.particles.levels.empty()) {
    texts["DM/Header"] = particle_header(content, levels, largest_id);
    texts["DM/precision"] = "NATIVE\n";
  }
  return texts;
}

}  // namespace sidestream::io
