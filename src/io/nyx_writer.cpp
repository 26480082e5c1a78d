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

const Layout& layout_of(const PlotfileContent& content) {
  return content.fields.front().field->layout();
}

void check_content(const PlotfileContent& content) {
  core::require(!content.fields.empty(), "a plot file takes at least one field");
  for (const PlotfileField& field : content.fields) {
    core::require(field.field != nullptr, "a field of a plot file is missing");
    core::require(field.component >= 0 && field.component < field.field->components(),
                  "a field of a plot file lacks this component");
    core::require(field.field->layout() == layout_of(content), "the fields of a plot file share one layout");
  }
  core::require(content.geometry.domain == layout_of(content).domain(),
                "the geometry of a plot file has the domain of its fields");
  if (content.particles == nullptr) return;
  check(*content.particles);
  for (const PlotfileParticleReal& real : content.particle_reals)
    core::require(real.values == nullptr || real.values->size() == content.particles->size(),
                  "a number of the particles of a plot file takes one value a particle");
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
void append_block(const PlotfileField& entry, int b, std::vector<std::byte>& buffer, CellTable& table) {
  const auto view = entry.field->view(b);
  const Box box = entry.field->box(b);
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

CellTable write_boxes(const std::string& folder, const Turn& turn, const PlotfileContent& content) {
  CellTable table;
  const mesh::Field<double>& first = *content.fields.front().field;
  const auto components = static_cast<int>(content.fields.size());
  OutputFile file(fmt::format("{}/Level_0/Cell_D_{:05}", folder, turn.file),
                  turn.is_first ? OutputFile::Open::create : OutputFile::Open::append);
  std::vector<std::byte> buffer;
  for (int b = 0; b < first.blocks(); ++b) {
    const std::string line = fab_line(first.box(b), components, content.precision);
    buffer.clear();
    append_bytes(buffer, line.data(), line.size());
    for (const PlotfileField& entry : content.fields) {
      if (content.precision == Precision::double_precision)
        append_block<double>(entry, b, buffer, table);
      else
        append_block<float>(entry, b, buffer, table);
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

void write_cells(const Communicator& comm, const std::string& folder, const PlotfileContent& content) {
  CellTable own;
  take_turns(comm, content.files, [&](const Turn& turn) { own = write_boxes(folder, turn, content); });
  const CellTable all{comm.gather(std::span<const BoxRecord>(own.boxes)),
                      comm.gather(std::span<const double>(own.minima)),
                      comm.gather(std::span<const double>(own.maxima))};
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    if (static_cast<std::int32_t>(all.boxes.size()) != layout_of(content).size())
      throw core::Error("a rank beyond this communicator owns boxes of the plot file's layout");
    write_text(folder + "/Level_0/Cell_H", cell_header(layout_of(content), all, content.fields.size()));
  });
}

// --- particles
// ------------------------------------------------------------------------------------------------------------------

// The particles of this rank sorted by the box they are in: those of block b are order[start[b]] to order[start[b + 1]
// - 1].
struct SortedParticles {
  std::vector<std::size_t> order, start;
};

SortedParticles sort_by_block(const mesh::Particles& particles, const PlotfileContent& content) {
  const Layout& layout = layout_of(content);
  const auto own = layout.boxes_of(content.fields.front().field->rank());
  std::vector<std::size_t> block(particles.size());
  SortedParticles sorted;
  sorted.start.assign(own.size() + 1, 0);
  for (std::size_t p = 0; p < particles.size(); ++p) {
    const auto cell =
        cell_of(content.geometry, {particles.position[0][p], particles.position[1][p], particles.position[2][p]});
    const auto found = std::lower_bound(own.begin(), own.end(), layout.find(cell));
    if (found == own.end() || *found != layout.find(cell))
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
void append_particles(const PlotfileContent& content, std::span<const std::size_t> which,
                      std::vector<std::byte>& buffer) {
  const mesh::Particles& particles = *content.particles;
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
      append(real.values == nullptr ? real.factor : real.factor * (*real.values)[p]);
  }
}

std::vector<ParticleRecord> write_particle_data(const std::string& folder, const Turn& turn,
                                                const PlotfileContent& content) {
  const SortedParticles sorted = sort_by_block(*content.particles, content);
  const auto own = layout_of(content).boxes_of(content.fields.front().field->rank());
  OutputFile file(fmt::format("{}/DM/Level_0/DATA_{:05}", folder, turn.file),
                  turn.is_first ? OutputFile::Open::create : OutputFile::Open::append);
  std::vector<ParticleRecord> records;
  std::vector<std::byte> buffer;
  for (std::size_t b = 0; b < own.size(); ++b) {
    const auto which = std::span(sorted.order).subspan(sorted.start[b], sorted.start[b + 1] - sorted.start[b]);
    buffer.clear();
    if (content.particle_precision == Precision::double_precision)
      append_particles<double>(content, which, buffer);
    else
      append_particles<float>(content, which, buffer);
    records.push_back({own[b], turn.file, static_cast<std::int64_t>(which.size()), file.position()});
    file.write(buffer);
  }
  file.sync_and_close();
  return records;
}

std::string particle_header(const PlotfileContent& content, std::vector<ParticleRecord> records,
                            std::int64_t largest_id) {
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.box < b.box; });
  std::int64_t total = 0;
  for (const ParticleRecord& record : records) total += record.count;
  std::string text = fmt::format("Version_Two_Dot_Zero_{}\n3\n{}\n",
                                 content.particle_precision == Precision::double_precision ? "double" : "single",
                                 content.particle_reals.size());
  for (const auto& real : content.particle_reals) text += real.name + "\n";
  text += fmt::format("0\n1\n{}\n{}\n0\n{}\n", total, nyx_id(largest_id).id + 1, records.size());
  for (const ParticleRecord& record : records)
    text += fmt::format("{} {} {}\n", record.file, record.count, record.offset);
  return text;
}

// Ranks without particles take part with none.
void write_particles(const Communicator& comm, const std::string& folder, PlotfileContent content) {
  const mesh::Particles none;
  if (content.particles == nullptr) {
    content.particles = &none;
    for (auto& real : content.particle_reals) real.values = nullptr;
  }
  std::vector<ParticleRecord> own;
  take_turns(comm, content.files, [&](const Turn& turn) { own = write_particle_data(folder, turn, content); });
  const auto records = comm.gather(std::span<const ParticleRecord>(own));
  const auto& ids = content.particles->id;
  const std::int64_t largest_id = comm.max(ids.empty() ? std::int64_t{0} : *std::max_element(ids.begin(), ids.end()));
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    write_text(folder + "/DM/Header", particle_header(content, records, largest_id));
    write_text(folder + "/DM/precision", "NATIVE\n");
    write_text(folder + "/DM/Level_0/Particle_H", box_list(layout_of(content)));
  });
}

// --- the texts
// ------------------------------------------------------------------------------------------------------------------

std::string header_text(const PlotfileContent& content) {
  const mesh::Geometry& geometry = content.geometry;
  std::string text = fmt::format("HyperCLaw-V1.1\n{}\n", content.fields.size());
  for (const PlotfileField& field : content.fields) text += field.name + "\n";
  text += fmt::format("3\n{:.17g}\n0\n0 0 0 \n", content.time);
  text += fmt::format("{:.17g} {:.17g} {:.17g} \n\n", geometry.length[0], geometry.length[1], geometry.length[2]);
  text += fmt::format("{} \n{} \n", fab_box(geometry.domain), content.step);
  text += fmt::format("{:.17g} {:.17g} {:.17g} \n0\n0\n", geometry.cell_size(0), geometry.cell_size(1),
                      geometry.cell_size(2));
  text += fmt::format("0 {} {:.17g}\n{}\n", layout_of(content).size(), content.time, content.step);
  for (const Box& box : layout_of(content).boxes())
    for (int axis = 0; axis < 3; ++axis) {
      const auto edge = [&](std::int32_t index) {
        const double offset = static_cast<double>(index - geometry.domain.lo[axis]);
        return geometry.length[static_cast<std::size_t>(axis)] * (offset / geometry.domain.extent()[axis]);
      };
      text += fmt::format("{:.17g} {:.17g}\n", edge(box.lo[axis]), edge(box.hi[axis]));
    }
  return text + "Level_0/Cell\n";
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
  const bool has_particles = comm.max(std::int64_t{content.particles != nullptr}) > 0;
  const auto on_first_rank = [&](auto work) {
    comm.agree_on([&] {
      if (comm.rank() == 0) work();
    });
  };
  write_folder_atomically(comm, path, [&](const std::string& folder) {
    on_first_rank([&] {
      make_folder(folder + "/Level_0");
      if (has_particles) make_folder(folder + "/DM/Level_0");
    });
    write_cells(comm, folder, content);
    if (has_particles) write_particles(comm, folder, content);
    write_texts(comm, folder, content);
    on_first_rank([&] {
      sync_folder(folder + "/Level_0");
      if (has_particles) sync_folder(folder + "/DM/Level_0");
      if (has_particles) sync_folder(folder + "/DM");
      sync_folder(folder);
    });
  });
}

}  // namespace sidestream::io
