#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "io/arrays/piece_writer.hpp"
#include "io/content/pack_block.hpp"
#include "io/disk/atomic_folder.hpp"
#include "io/disk/checksum.hpp"
#include "io/disk/stripes.hpp"
#include "io/formats/file_shares.hpp"
#include "io/formats/folder_seal.hpp"
#include "io/formats/format_entries.hpp"
#include "io/formats/nyx/fab.hpp"
#include "io/formats/nyx/nyx_file.hpp"
#include "io/formats/nyx/nyx_ids.hpp"
#include "io/formats/nyx/nyx_texts.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::io {

namespace {

using comm::Communicator;
using mesh::Layout;

// The data files of one rank and the tables of what it wrote, in the order of its boxes.
class NyxDataWriter {
 public:
  // `syncs`: no later rank of this node writes to the same file, so that this one brings it to the disk.
  NyxDataWriter(const Turn& turn, const FileContent& content, std::size_t level, int rank, bool is_durable, bool syncs)
      : turn_(turn),
        content_(content),
        level_(level),
        own_(content.state.levels[level].boxes_of(rank)),
        is_durable_(is_durable),
        syncs_(syncs) {}

  void write_cells(const std::string& folder) {
    OutputFile file = open(fmt::format("{}/Cell_D_{:05}", folder, turn_.file));
    std::vector<std::string> lines;
    std::int64_t bytes = 0;
    for (const std::int32_t box : own_) {
      lines.push_back(fab_line(layout().box(box), static_cast<int>(content_.fields().size()), content_.precision));
      bytes += static_cast<std::int64_t>(lines.back().size()) + field_bytes(box) * field_count();
    }
    file.reserve(bytes);
    PieceWriter pieces(file, is_durable_);
    for (std::size_t b = 0; b < own_.size(); ++b) {
      const core::Stopwatch watch;
      const double waited_s = seconds_of(file);
      table_.boxes.push_back({own_[b], turn_.file, pieces.position(), 0});
      std::ranges::copy(std::as_bytes(std::span(lines[b])), pieces.room(lines[b].size()).begin());
      for (const mesh::Quantity& entry : content_.fields()) write_field(entry, b, pieces);
      statistics_.copy_s += watch.seconds() - (seconds_of(file) - waited_s);
    }
    pieces.flush();
    finish(file);
  }

  void write_particles(const std::string& folder) {
    sort_by_box();
    OutputFile file = open(fmt::format("{}/DATA_{:05}", folder, turn_.file));
    file.reserve(static_cast<std::int64_t>(order_.size() * particle_bytes()));
    PieceWriter pieces(file, is_durable_);
    for (std::size_t b = 0; b < own_.size(); ++b) {
      const auto which = std::span(order_).subspan(start_[b], start_[b + 1] - start_[b]);
      table_.particles.push_back({own_[b], turn_.file, pieces.position(), static_cast<std::int64_t>(which.size())});
      const std::span<std::byte> room = pieces.room(which.size() * particle_bytes());
      if (content_.particle_precision == Precision::double_precision)
        pack_particles<double>(which, room.data());
      else
        pack_particles<float>(which, room.data());
      table_.particle_checksums.push_back(checksum_of(room));
    }
    pieces.flush();
    finish(file);
  }

  const NyxLevelTable& table() const { return table_; }
  const AccessStatistics& statistics() const { return statistics_; }

 private:
  const Layout& layout() const { return content_.state.levels[level_]; }
  std::int64_t field_bytes(std::int32_t box) const { return layout().box(box).volume() * size_of(content_.precision); }
  std::int64_t field_count() const { return static_cast<std::int64_t>(content_.fields().size()); }
  std::size_t particle_bytes() const {
    return sizeof(NyxId) +
           (3 + content_.particles.numbers.size()) * static_cast<std::size_t>(size_of(content_.particle_precision));
  }

  static double seconds_of(const OutputFile& file) { return file.statistics().data_s + file.statistics().sync_s; }
  OutputFile open(const std::string& path) const {
    return {path, turn_.is_first ? OutputFile::Open::create : OutputFile::Open::append};
  }
  void finish(OutputFile& file) {
    if (syncs_)
      file.sync_and_close();
    else
      file.close();
    statistics_ += file.statistics();
  }

  void write_field(const mesh::Quantity& entry, std::size_t b, PieceWriter& pieces) {
    const std::span<std::byte> room = pieces.room(static_cast<std::size_t>(field_bytes(own_[b])));
    const Extremes extremes = pack_block(content_, entry.name, level_, layout().box(own_[b]), room.data());
    table_.fields.push_back({extremes.lowest, extremes.highest, checksum_of(room)});
  }

  // The particles of this rank sorted by the box they are in: those of its b-th box are order_[start_[b]] to
  // order_[start_[b + 1] - 1].
  void sort_by_box() {
    const mesh::Particles& particles = *content_.particles.levels[level_];
    const mesh::Geometry geometry = content_.state.geometry.refined(static_cast<int>(level_));
    std::vector<std::size_t> box_of(particles.size());
    start_.assign(own_.size() + 1, 0);
    for (std::size_t p = 0; p < particles.size(); ++p) {
      const std::int32_t box = layout().find(
          cell_of(geometry, {particles.position[0][p], particles.position[1][p], particles.position[2][p]}));
      const auto found = std::ranges::lower_bound(own_, box);
      if (found == own_.end() || *found != box)
        throw core::Error(fmt::format("particle {} is not in a box of its rank", particles.id[p]), "",
                          "migrate the particles before they are written");
      box_of[p] = static_cast<std::size_t>(found - own_.begin());
      ++start_[box_of[p] + 1];
    }
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
    order_.resize(particles.size());
    for (std::size_t p = 0; p < particles.size(); ++p) order_[next[box_of[p]]++] = p;
  }

  // First the two integers of every particle, then positions and reals of every particle.
  template <typename Real>
  void pack_particles(std::span<const std::size_t> which, std::byte* out) const {
    const mesh::Particles& particles = *content_.particles.levels[level_];
    const std::vector<mesh::ParticleNumber>& numbers = content_.particles.numbers;
    std::vector<const std::vector<double>*> values;
    for (const mesh::ParticleNumber& number : numbers) values.push_back(content_.values(number, level_));
    const auto put = [&](const auto& value) {
      std::memcpy(out, &value, sizeof value);
      out += sizeof value;
    };
    for (const std::size_t p : which) put(nyx_id(particles.id[p]));
    for (const std::size_t p : which) {
      for (const auto& coordinate : particles.position) put(static_cast<Real>(coordinate[p]));
      for (std::size_t n = 0; n < numbers.size(); ++n)
        put(static_cast<Real>(values[n] == nullptr ? numbers[n].factor : numbers[n].factor * (*values[n])[p]));
    }
  }

  const Turn& turn_;
  const FileContent& content_;
  std::size_t level_;
  std::span<const std::int32_t> own_;
  bool is_durable_, syncs_;
  std::vector<std::size_t> order_, start_;
  NyxLevelTable table_;
  AccessStatistics statistics_;
};

// Whether this rank is the last one of its node that writes to its file.
bool is_last_of_node(const Communicator& comm, int files) {
  const int leader = comm.split_by_node().broadcast(comm.rank());
  const std::vector<int> leaders = comm.all_gather(leader);
  const int rank = comm.rank();
  return turn_of(rank, comm.size(), files).is_last || leaders[static_cast<std::size_t>(rank) + 1] != leader;
}

// Brings `values`, of which each record has as many, into the order of the records' boxes.
template <typename T>
std::vector<T> in_order_of_boxes(const std::vector<NyxBoxRecord>& records, const std::vector<T>& values) {
  std::vector<T> ordered(values.size());
  const std::size_t each = records.empty() ? 0 : values.size() / records.size();
  for (std::size_t r = 0; r < records.size(); ++r)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(r * each), each,
                ordered.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(records[r].box) * each));
  return ordered;
}

class NyxWriter {
 public:
  NyxWriter(const Communicator& comm, const FileContent& content, const WriteOptions& options)
      : comm_(comm),
        content_(content),
        options_(options),
        syncs_(is_last_of_node(comm, options.files_at_once()) && options.is_durable) {}

  AccessStatistics operator()(const std::string& folder) {
    comm_.agree_on([&] {
      if (comm_.rank() == 0) have_one_stripe_a_file(folder);
    });
    for_each_folder(folder, make_folder);
    for (std::size_t level = 0; level < content_.state.levels.size(); ++level) write_level(folder, level);
    const std::int64_t largest_id = comm_.max(largest_id_here());
    comm_.agree_on([&] {
      if (comm_.rank() == 0)
        statistics_ +=
            write_sealed_texts(folder, content_, nyx_texts(content_, levels_, largest_id), options_.is_durable);
    });
    if (options_.is_durable) for_each_folder(folder, sync_folder);
    return statistics_;
  }

 private:
  // Those within others first.
  void for_each_folder(const std::string& folder, const std::function<void(const std::string&)>& work) {
    comm_.agree_on([&] {
      if (comm_.rank() != 0) return;
      const core::Stopwatch watch;
      for (std::size_t level = 0; level < content_.state.levels.size(); ++level) {
        work(folder + "/" + nyx_level_folder(level));
        if (has_particles()) work(folder + "/DM/" + nyx_level_folder(level));
      }
      if (has_particles()) work(folder + "/DM");
      work(folder);
      statistics_.metadata_s += watch.seconds();
    });
  }

  void write_level(const std::string& folder, std::size_t level) {
    NyxLevelTable own;
    take_turns(comm_, options_.files_at_once(), [&](const Turn& turn) {
      NyxDataWriter writer(turn, content_, level, comm_.rank(), options_.is_durable, syncs_);
      writer.write_cells(folder + "/" + nyx_level_folder(level));
      if (has_particles()) writer.write_particles(folder + "/DM/" + nyx_level_folder(level));
      statistics_ += writer.statistics();
      own = writer.table();
    });
    levels_.push_back(gathered(own, level));
  }

  NyxLevelTable gathered(const NyxLevelTable& own, std::size_t level) const {
    const auto gather = [&]<typename T>(const std::vector<T>& part) { return comm_.gather(std::span<const T>(part)); };
    NyxLevelTable all{gather(own.boxes), gather(own.fields), gather(own.particles), gather(own.particle_checksums)};
    comm_.agree_on([&] {
      if (comm_.rank() == 0 && std::ssize(all.boxes) != content_.state.levels[level].size())
        throw core::Error("a rank beyond this communicator owns boxes of the file's layouts");
    });
    return {in_order_of_boxes(all.boxes, all.boxes), in_order_of_boxes(all.boxes, all.fields),
            in_order_of_boxes(all.particles, all.particles), in_order_of_boxes(all.particles, all.particle_checksums)};
  }

  bool has_particles() const { return !content_.particles.levels.empty(); }

  std::int64_t largest_id_here() const {
    std::int64_t largest = 0;
    for (const auto& particles : content_.particles.levels)
      for (const std::int64_t id : particles->id) largest = std::max(largest, id);
    return largest;
  }

  const Communicator& comm_;
  const FileContent& content_;
  const WriteOptions& options_;
  bool syncs_;
  std::vector<NyxLevelTable> levels_;  // on the first rank
  AccessStatistics statistics_;
};

void check_nyx(const FileContent& content) {
  core::require(!content.fields().empty(), "a file in the format `nyx` takes at least one field");
  for (const auto& particles : content.particles.levels)
    for (const std::int64_t id : particles->id)
      if (id < 0 || id > largest_particle_id)
        throw core::Error(fmt::format("the id {} of a particle does not fit into the format `nyx`", id), "",
                          "ids from 0 to about 2^63 can be kept");
}

AccessStatistics write_nyx(const Communicator& comm, const std::string& path, const FileContent& content,
                           const WriteOptions& options) {
  comm.agree_on([&] { check_nyx(content); });
  AccessStatistics statistics;
  write_folder_atomically(
      comm, path, [&](const std::string& folder) { statistics = NyxWriter(comm, content, options)(folder); },
      options.is_durable);
  return statistics;
}

}  // namespace

Format nyx_format() {
  return {"nyx",
          "a folder as Nyx and other AMReX codes write it, read by yt, ParaView and VisIt",
          StepName{"plt", "", 5},
          StepName{"chk", "", 5},
          {},
          {},
          write_nyx,
          is_nyx_folder,
          open_nyx_folder,
          {},
          false,
          {"files"},
          false,
          true,
          [](double ranks, const WriteOptions& options) {
            return std::min(ranks, static_cast<double>(options.files_at_once()));
          }};
}

}  // namespace sidestream::io
