#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "atomic_folder.hpp"
#include "fab.hpp"
#include "nyx_ids.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/io/nyx_plotfile.hpp"
#include "turns.hpp"

namespace sidestream::io {

namespace {

using comm::Communicator;
using mesh::Box;
using mesh::Layout;

// Where a box went; gathered on the first rank, which writes the tables.
struct BoxRecord {
  std::int32_t box = 0, file = 0;
  std::int64_t offset = 0;
};
struct ParticleRecord {
  std::int32_t box = 0, file = 0;
  std::int64_t count = 0, offset = 0;
};

// What a rank learns while it writes its boxes; `minima` and `maxima` have one entry a box and field.
struct CellTable {
  std::vector<BoxRecord> boxes;
  std::vector<double> minima, maxima;
};

std::size_t level_count(const PlotfileContent& content) {
  return content.fields.front().levels.size();
}

const mesh::Field<double>& first_field(const PlotfileContent& content, std::size_t level) {
  return *content.fields.front().levels[level];
}

const Layout& layout_of(const PlotfileContent& content, std::size_t level) {
  return first_field(content, level).layout();
}

mesh::Geometry geometry_of(const PlotfileContent& content, std::size_t level) {
  return content.geometry.refined(static_cast<int>(level));
}

void check_field(const PlotfileField& field, const PlotfileContent& content) {
  core::require(!field.levels.empty() && field.levels.size() == level_count(content),
                "the fields of a plot file have the same levels, one at least");
  for (std::size_t level = 0; level < field.levels.size(); ++level) {
    core::require(field.levels[level] != nullptr, "a field of a plot file is missing");
    const mesh::Field<double>& values = *field.levels[level];
    core::require(field.component >= 0 && field.component < values.components(),
                  "a field of a plot file lacks this component");
    core::require(values.layout() == layout_of(content, level),
                  "the fields of a plot file share the layout of a level");
  }
}

void check_particles(const PlotfileContent& content) {
  if (content.particles.empty()) return;
  core::require(content.particles.size() == level_count(content),
                "a plot file takes a set of particles for each level");
  for (const PlotfileParticleReal& real : content.particle_reals)
    core::require(real.levels.empty() || real.levels.size() == content.particles.size(),
                  "a number of the particles of a plot file is given for each level");
  for (std::size_t level = 0; level < content.particles.size(); ++level) {
    core::require(content.particles[level] != nullptr, "particles of a plot file are missing");
    check(*content.particles[level]);
    for (const PlotfileParticleReal& real : content.particle_reals)
      core::require(real.levels.empty() || real.levels[level]->size() == content.particles[level]->size(),
                    "a number of the particles of a plot file takes one value a particle");
  }
}

void check_content(const PlotfileContent& content) {
  core::require(!content.fields.empty(), "a plot file takes at least one field");
  for (const PlotfileField& field : content.fields) check_field(field, content);
  for (std::size_t level = 0; level < level_count(content); ++level) {
    core::require(layout_of(content, level).size() > 0, "each level of a plot file has a box");
    core::require(geometry_of(content, level).domain == layout_of(content, level).domain(),
                  "the geometry of a plot file, twice as fine on each level, has the domains of its fields");
  }
  check_particles(content);
}

std::string level_folder(std::size_t level) {
  return fmt::format("Level_{}", level);
}

template <typename Real>
void append_bytes(std::vector<std::byte>& buffer, const Real* values, std::size_t count) {
  const auto* bytes = reinterpret_cast<const std::byte*>(values);
  buffer.insert(buffer.end(), bytes, bytes + count * sizeof(Real));
}

// --- cells
// ----------------------------------------------------------------------------------------------------------------------

// Appends the owned cells of a field's block in file order and notes their extremes.
template <typename Real>
void append_block(const PlotfileField& entry, std::size_t level, int b, std::vector<std::byte>& buffer,
                  CellTable& table) {
  const auto view = entry.levels[level]->view(b);
  const Box box = entry.levels[level]->box(b);
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  std::vector<Real> row(static_cast<std::size_t>(box.extent().x));
  core::for_each_row(box, [&](int k, int j) {
    const double* from = &view(entry.component, k, j, box.lo.x);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double value = entry.factor * from[i];
      lowest = std::min(lowest, value);
      highest = std::max(highest, value);
      row[i] = static_cast<Real>(value);
    }
    append_bytes(buffer, row.data(), row.size());
  });
  table.minima.push_back(lowest);
  table.maxima.push_back(highest);
}

// `folder` is that of the level.
CellTable write_boxes(const std::string& folder, const Turn& turn, const PlotfileContent& content, std::size_t level) {
  CellTable table;
  const mesh::Field<double>& first = first_field(content, level);
  const auto components = static_cast<int>(content.fields.size());
  OutputFile file(fmt::format("{}/Cell_D_{:05}", folder, turn.file),
                  turn.is_first ? OutputFile::Open::create : OutputFile::Open::append);
  std::vector<std::byte> buffer;
  for (int b = 0; b < first.blocks(); ++b) {
    const std::string line = fab_line(first.box(b), components, content.precision);
    buffer.clear();
    append_bytes(buffer, line.data(), line.size());
    for (const PlotfileField& entry : content.fields) {
      if (content.precision == Precision::double_precision)
        append_block<double>(entry, level, b, buffer, table);
      else
        append_block<float>(entry, level, b, buffer, table);
    }
    const std::int32_t index = first.layout().boxes_of(first.rank())[static_cast<std::size_t>(b)];
    table.boxes.push_back({index, turn.file, file.position()});
    file.write(buffer);
  }
  file.sync_and_close();
  return table;
}

std::string box_list(const Layout& layout) {
  std::string text = fmt::format("({} 0\n", layout.size());
  for (const Box& box : layout.boxes()) text += fab_box(box) + "\n";
  return text + ")\n";
}

// One line a box, in the order of the layout.
std::string extremes_text(const std::vector<double>& values, const std::vector<std::size_t>& place,
                          std::size_t components) {
  std::string text = fmt::format("\n{},{}\n", place.size(), components);
  for (const std::size_t record : place) {
    for (std::size_t c = 0; c < components; ++c) text += fmt::format("{:.16e},", values[record * components + c]);
    text += "\n";
  }
  return text;
}

std::string cell_header(const Layout& layout, const CellTable& all, std::size_t components) {
  std::vector<std::size_t> place(all.boxes.size());  // of box i among the records
  for (std::size_t r = 0; r < all.boxes.size(); ++r) place[static_cast<std::size_t>(all.boxes[r].box)] = r;
  std::string text = fmt::format("1\n1\n{}\n0\n{}{}\n", components, box_list(layout), layout.size());
  for (const std::size_t r : place)
    text += fmt::format("FabOnDisk: Cell_D_{:05} {}\n", all.boxes[r].file, all.boxes[r].offset);
  return text + extremes_text(all.minima, place, components) + extremes_text(all.maxima, place, components);
}

void write_text(const std::string& path, const std::string& text) {
  OutputFile file(path, OutputFile::Open::create);
  file.write(text);
  file.sync_and_close();
}

void write_cells(const Communicator& comm, const std::string& folder, const PlotfileContent& content,
                 std::size_t level) {
  CellTable own;
  take_turns(comm, content.files, [&](const Turn& turn) { own = write_boxes(folder, turn, content, level); });
  const CellTable all{comm.gather(std::span<const BoxRecord>(own.boxes)),
                      comm.gather(std::span<const double>(own.minima)),
                      comm.gather(std::span<const double>(own.maxima))};
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    const Layout& layout = layout_of(content, level);
    if (static_cast<std::int32_t>(all.boxes.size()) != layout.size())
      throw core::Error("a rank beyond this communicator owns boxes of the plot file's layout");
    write_text(folder + "/Cell_H", cell_header(layout, all, content.fields.size()));
  });
}

// --- particles
// ------------------------------------------------------------------------------------------------------------------

// The particles of this rank sorted by the box they are in: those of block b are order[start[b]] to order[start[b + 1]
// - 1].
struct SortedParticles {
  std::vector<std::size_t> order, start;
};

SortedParticles sort_by_block(const PlotfileContent& content, std::size_t level) {
  const mesh::Particles& particles = *content.particles[level];
  const mesh::Geometry geometry = geometry_of(content, level);
  const Layout& layout = layout_of(content, level);
  const auto own = layout.boxes_of(first_field(content, level).rank());
  std::vector<std::size_t> block(particles.size());
  SortedParticles sorted;
  sorted.start.assign(own.size() + 1, 0);
  for (std::size_t p = 0; p < particles.size(); ++p) {
    const std::int32_t box =
        layout.find(cell_of(geometry, {particles.position[0][p], particles.position[1][p], particles.position[2][p]}));
    const auto found = std::lower_bound(own.begin(), own.end(), box);
    if (found == own.end() || *found != box)
      throw core::Error(fmt::format("particle {} is not in a box of its rank", particles.id[p]), "",
                        "migrate the particles before they are written");
    block[p] = static_cast<std::size_t>(found - own.begin());
    ++sorted.start[block[p] + 1];
  }
  std::partial_sum(sorted.start.begin(), sorted.start.end(), sorted.start.begin());
  std::vector<std::size_t> next(sorted.start.begin(), sorted.start.end() - 1);
  sorted.order.resize(particles.size());
  for (std::size_t p = 0; p < particles.size(); ++p) sorted.order[next[block[p]]++] = p;
  return sorted;
}

// First the two integers of every particle, then positions and reals of every particle.
template <typename Real>
void append_particles(const PlotfileContent& content, std::size_t level, std::span<const std::size_t> which,
                      std::vector<std::byte>& buffer) {
  const mesh::Particles& particles = *content.particles[level];
  for (const std::size_t p : which) {
    const NyxId id = nyx_id(particles.id[p]);
    append_bytes(buffer, &id, 1);
  }
  for (const std::size_t p : which) {
    const auto append = [&](double value) {
      const auto real = static_cast<Real>(value);
      append_bytes(buffer, &real, 1);
    };
    for (const auto& coordinate : particles.position) append(coordinate[p]);
    for (const auto& real : content.particle_reals)
      append(real.levels.empty() ? real.factor : real.factor * (*real.levels[level])[p]);
  }
}

// `folder` is that of the level.
std::vector<ParticleRecord> write_particle_data(const std::string& folder, const Turn& turn,
                                                const PlotfileContent& content, std::size_t level) {
  const SortedParticles sorted = sort_by_block(content, level);
  const mesh::Field<double>& first = first_field(content, level);
  const auto own = first.layout().boxes_of(first.rank());
  OutputFile file(fmt::format("{}/DATA_{:05}", folder, turn.file),
                  turn.is_first ? OutputFile::Open::create : OutputFile::Open::append);
  std::vector<ParticleRecord> records;
  std::vector<std::byte> buffer;
  for (std::size_t b = 0; b < own.size(); ++b) {
    const auto which = std::span(sorted.order).subspan(sorted.start[b], sorted.start[b + 1] - sorted.start[b]);
    buffer.clear();
    if (content.particle_precision == Precision::double_precision)
      append_particles<double>(content, level, which, buffer);
    else
      append_particles<float>(content, level, which, buffer);
    records.push_back({own[b], turn.file, static_cast<std::int64_t>(which.size()), file.position()});
    file.write(buffer);
  }
  file.sync_and_close();
  return records;
}

using LevelRecords = std::vector<std::vector<ParticleRecord>>;

std::string particle_header(const PlotfileContent& content, const LevelRecords& levels, std::int64_t largest_id) {
  std::int64_t total = 0;
  std::string table;
  for (const auto& records : levels)
    for (const ParticleRecord& record : records) {
      total += record.count;
      table += fmt::format("{} {} {}\n", record.file, record.count, record.offset);
    }
  std::string text = fmt::format("Version_Two_Dot_Zero_{}\n3\n{}\n",
                                 content.particle_precision == Precision::double_precision ? "double" : "single",
                                 content.particle_reals.size());
  for (const auto& real : content.particle_reals) text += real.name + "\n";
  text += fmt::format("0\n1\n{}\n{}\n{}\n", total, nyx_id(largest_id).id + 1, levels.size() - 1);
  for (const auto& records : levels) text += fmt::format("{}\n", records.size());
  return text + table;
}

std::int64_t largest_id_here(const PlotfileContent& content) {
  std::int64_t largest = 0;
  for (const mesh::Particles* particles : content.particles)
    for (const std::int64_t id : particles->id) largest = std::max(largest, id);
  return largest;
}

void write_particles(const Communicator& comm, const std::string& folder, const PlotfileContent& content) {
  LevelRecords levels;
  for (std::size_t level = 0; level < level_count(content); ++level) {
    std::vector<ParticleRecord> own;
    take_turns(comm, content.files, [&](const Turn& turn) {
      own = write_particle_data(folder + "/" + level_folder(level), turn, content, level);
    });
    levels.push_back(comm.gather(std::span<const ParticleRecord>(own)));
    std::ranges::sort(levels.back(), {}, &ParticleRecord::box);
  }
  const std::int64_t largest_id = comm.max(largest_id_here(content));
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    write_text(folder + "/Header", particle_header(content, levels, largest_id));
    write_text(folder + "/precision", "NATIVE\n");
    for (std::size_t level = 0; level < level_count(content); ++level)
      write_text(folder + "/" + level_folder(level) + "/Particle_H", box_list(layout_of(content, level)));
  });
}

// --- the texts
// ------------------------------------------------------------------------------------------------------------------

std::string three_numbers(double x, double y, double z) {
  return fmt::format("{:.17g} {:.17g} {:.17g} \n", x, y, z);
}

std::string level_text(const PlotfileContent& content, std::size_t level) {
  const mesh::Geometry geometry = geometry_of(content, level);
  const Layout& layout = layout_of(content, level);
  std::string text = fmt::format("{} {} {:.17g}\n{}\n", level, layout.size(), content.time, content.step);
  for (const Box& box : layout.boxes())
    for (int axis = 0; axis < 3; ++axis) {
      const auto edge = [&](std::int32_t index) {
        const double offset = static_cast<double>(index - geometry.domain.lo[axis]);
        return geometry.length[static_cast<std::size_t>(axis)] * (offset / geometry.domain.extent()[axis]);
      };
      text += fmt::format("{:.17g} {:.17g}\n", edge(box.lo[axis]), edge(box.hi[axis]));
    }
  return text + level_folder(level) + "/Cell\n";
}

std::string header_text(const PlotfileContent& content) {
  const std::size_t levels = level_count(content);
  const auto& length = content.geometry.length;
  std::string text = fmt::format("HyperCLaw-V1.1\n{}\n", content.fields.size());
  for (const PlotfileField& field : content.fields) text += field.name + "\n";
  text += fmt::format("3\n{:.17g}\n{}\n0 0 0 \n", content.time, levels - 1);
  text += three_numbers(length[0], length[1], length[2]);
  for (std::size_t level = 1; level < levels; ++level) text += "2 ";
  text += "\n";
  for (std::size_t level = 0; level < levels; ++level) text += fab_box(geometry_of(content, level).domain) + " ";
  text += "\n";
  for (std::size_t level = 0; level < levels; ++level) text += fmt::format("{} ", content.step);
  text += "\n";
  for (std::size_t level = 0; level < levels; ++level) {
    const mesh::Geometry geometry = geometry_of(content, level);
    text += three_numbers(geometry.cell_size(0), geometry.cell_size(1), geometry.cell_size(2));
  }
  text += "0\n0\n";
  for (std::size_t level = 0; level < levels; ++level) text += level_text(content, level);
  return text;
}

// What yt recognises a Nyx file by, and where it takes the cosmology from. The name of the library that Nyx is built on
// must not occur in it, nor those of its other codes: yt would find the file ambiguous.
std::string job_info(const PlotfileContent& content) {
  const std::string rule(78, '=');
  std::string text =
      fmt::format("{0}\n Nyx-compatible plot file, written by Sidestream\n{0}\nstep: {1}\n\n", rule, content.step);
  if (content.omega_m == 0.0 && content.omega_lambda == 0.0 && content.hubble == 0.0) return text;
  return text +
         fmt::format(
             "{0}\n Cosmology Information\n{0}\nOmega_m (comoving):      {1:.17g}\nOmega_lambda (comoving): {2:.17g}\n"
             "h (comoving):            {3:.17g}\n",
             rule, content.omega_m, content.omega_lambda, content.hubble);
}

void write_texts(const Communicator& comm, const std::string& folder, const PlotfileContent& content) {
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    write_text(folder + "/Header", header_text(content));
    write_text(folder + "/comoving_a", fmt::format("{:.17g}\n", content.scale_factor));
    write_text(folder + "/job_info", job_info(content));
  });
}

}  // namespace

void write_nyx_plotfile(const Communicator& comm, const std::string& path, const PlotfileContent& content) {
  comm.agree_on([&] { check_content(content); });
  const bool has_particles = comm.max(std::int64_t{!content.particles.empty()}) > 0;
  comm.agree(has_particles == content.particles.empty() ? "some ranks give particles to a plot file, others none" : "");
  const auto for_each_folder = [&](const std::string& folder, auto work) {
    comm.agree_on([&] {
      if (comm.rank() != 0) return;
      for (std::size_t level = 0; level < level_count(content); ++level) {
        work(folder + "/" + level_folder(level));
        if (has_particles) work(folder + "/DM/" + level_folder(level));
      }
      if (has_particles) work(folder + "/DM");
      work(folder);
    });
  };
  write_folder_atomically(comm, path, [&](const std::string& folder) {
    for_each_folder(folder, make_folder);
    for (std::size_t level = 0; level < level_count(content); ++level)
      write_cells(comm, folder + "/" + level_folder(level), content, level);
    if (has_particles) write_particles(comm, folder + "/DM", content);
    write_texts(comm, folder, content);
    for_each_folder(folder, sync_folder);
  });
}

}  // namespace sidestream::io
