// A data file a rank, or one for some of them, so many at the same time, in sub-folders of about as many files as there
// are sub-folders, and an index by which any number of ranks finds the parts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/arrays/piece_writer.hpp"
#include "io/content/pack_block.hpp"
#include "io/content/particle_pieces.hpp"
#include "io/disk/atomic_folder.hpp"
#include "io/disk/checksum.hpp"
#include "io/disk/stripes.hpp"
#include "io/formats/file_shares.hpp"
#include "io/formats/files/files_file.hpp"
#include "io/formats/format_entries.hpp"
#include "io/formats/index_text.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::io {

namespace {

using comm::Communicator;

// What a rank wrote: its boxes, level by level, with a checksum a field, and pieces of particles.
struct Written {
  std::vector<std::int64_t> boxes;  // their numbers among those of all levels
  std::vector<FilesPlace> places;
  std::vector<std::uint64_t> checksums;
  std::vector<FilesPiece> pieces;
};

// Where a rank writes: behind what others wrote there.
struct FilesShare {
  std::string path;
  FilesPlace place;
  std::int64_t bytes = 0;
};

class FilesDataWriter {
 public:
  FilesDataWriter(const FileContent& content, int rank, const FilesShare& share, bool is_durable)
      : content_(content),
        rank_(rank),
        share_(share),
        file_(share.path, share.place.offset == 0 ? OutputFile::Open::create : OutputFile::Open::append),
        is_durable_(is_durable),
        out_(file_, is_durable) {}

  Written write() {
    if (file_.position() != share_.place.offset)
      throw core::Error(fmt::format("a data file has {} bytes instead of {}", file_.position(), share_.place.offset),
                        share_.path, "does the file system show each rank what the others have written?");
    const core::Stopwatch watch;
    file_.reserve(share_.bytes);
    const std::vector<std::int64_t> starts = block_starts(content_);
    for (std::size_t level = 0; level < content_.state.levels.size(); ++level) {
      for (const std::int32_t box : content_.state.levels[level].boxes_of(rank_)) {
        written_.boxes.push_back(starts[level] + box);
        write_box(level, content_.state.levels[level].box(box));
      }
    }
    for (const ParticlePiece& piece : particle_pieces(content_)) write_piece(piece);
    out_.flush();
    const AccessStatistics& so_far = file_.statistics();
    pack_s_ = watch.seconds() - so_far.data_s - so_far.sync_s - so_far.metadata_s;
    if (is_durable_)
      file_.sync_and_close();
    else
      file_.close();
    return std::move(written_);
  }
  AccessStatistics statistics() const {
    AccessStatistics all = file_.statistics();
    all.copy_s += pack_s_;
    return all;
  }

 private:
  void write_box(std::size_t level, const mesh::Box& box) {
    written_.places.push_back({share_.place.file, out_.position()});
    for (const mesh::Quantity& field : content_.fields()) {
      const std::span<std::byte> room = out_.room(static_cast<std::size_t>(box.volume() * size_of(content_.precision)));
      pack_block(content_, field.name, level, box, room.data());
      written_.checksums.push_back(checksum_of(room));
    }
  }

  // All ids, then all x, y, z, then each real.
  void write_piece(const ParticlePiece& piece) {
    const std::int64_t offset = out_.position();
    const std::size_t ids = piece.count * sizeof(std::int64_t),
                      numbers = piece.count * static_cast<std::size_t>(size_of(content_.particle_precision));
    const std::span<std::byte> room = out_.room(ids + numbers * particle_numbers(content_));
    pack_ids(content_, piece, room.data());
    for (std::size_t n = 0; n < particle_numbers(content_); ++n)
      pack_numbers(content_, piece, n, room.data() + ids + n * numbers);
    written_.pieces.push_back({static_cast<std::int64_t>(piece.count), {share_.place.file, offset}, checksum_of(room)});
  }

  const FileContent& content_;
  int rank_;
  const FilesShare& share_;
  OutputFile file_;
  bool is_durable_;
  PieceWriter out_;
  Written written_;
  double pack_s_ = 0.0;
};

// Of the data of this rank.
std::int64_t data_bytes(const FileContent& content, int rank) {
  std::int64_t cells = 0, particles = 0;
  for (const mesh::Layout& level : content.state.levels)
    for (const std::int32_t box : level.boxes_of(rank)) cells += level.box(box).volume();
  for (const auto& level : content.particles.levels) particles += static_cast<std::int64_t>(level->size());
  return cells * size_of(content.precision) * std::ssize(content.fields()) +
         particles * (8 + size_of(content.particle_precision) * static_cast<std::int64_t>(particle_numbers(content)));
}

// The tables of all ranks, on the first one, with the boxes in the order of the levels.
Written gathered(const Communicator& comm, const FileContent& content, const Written& own) {
  const auto gather = [&]<typename T>(const std::vector<T>& part) { return comm.gather(std::span<const T>(part)); };
  Written all{gather(own.boxes), gather(own.places), gather(own.checksums), gather(own.pieces)};
  const std::size_t fields = content.fields().size();
  Written ordered = all;
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    if (std::ssize(all.boxes) != block_starts(content).back())
      throw core::Error("a rank beyond this communicator owns boxes of the file's layouts");
    for (std::size_t i = 0; i < all.boxes.size(); ++i) {
      const auto box = static_cast<std::size_t>(all.boxes[i]);
      ordered.places[box] = all.places[i];
      std::copy_n(all.checksums.begin() + static_cast<std::ptrdiff_t>(i * fields), fields,
                  ordered.checksums.begin() + static_cast<std::ptrdiff_t>(box * fields));
    }
  });
  return ordered;
}

FilesNames names_for(int ranks, int ranks_per_file) {
  const int together = std::clamp(ranks_per_file == 0 ? files_folders(ranks) : ranks_per_file, 1, ranks);
  return {files_folders((ranks + together - 1) / together), together};
}

class FilesWriter {
 public:
  FilesWriter(const Communicator& comm, const FileContent& content, const WriteOptions& options)
      : comm_(comm),
        content_(content),
        options_(options),
        names_(names_for(comm.size(), options.ranks_per_file)),
        file_bytes_(static_cast<std::size_t>(names_.file_of(comm.size() - 1) + 1)) {
    const std::vector<std::int64_t> bytes = comm.all_gather(data_bytes(content, comm.rank()));
    for (int rank = 0; rank < comm.size(); ++rank) {
      std::int64_t& of_file = file_bytes_[static_cast<std::size_t>(names_.file_of(rank))];
      if (rank == comm.rank()) share_.place.offset = of_file;
      of_file += bytes[static_cast<std::size_t>(rank)];
    }
    share_.bytes = bytes[static_cast<std::size_t>(comm.rank())];
    share_.place.file = names_.file_of(comm.rank());
  }

  AccessStatistics operator()(const std::string& folder) {
    on_first_rank([&] {
      have_one_stripe_a_file(folder);
      for (int i = 0; i < names_.folders; ++i) make_folder(folder + "/" + files_folder(i));
    });
    share_.path = folder + "/" + names_.of(share_.place.file);
    Written own;
    take_turns(
        comm_, options_.files_at_once(),
        [&](const Turn&) {
          if (share_.bytes == 0) return;
          FilesDataWriter writer(content_, comm_.rank(), share_, options_.is_durable);
          own = writer.write();
          statistics_ += writer.statistics();
        },
        names_.ranks_per_file);
    write_index(folder, own);
    return statistics_;
  }

 private:
  void on_first_rank(const std::function<void()>& work) {
    comm_.agree_on([&] {
      const core::Stopwatch watch;
      if (comm_.rank() == 0) work();
      statistics_.metadata_s += watch.seconds();
    });
  }

  void write_index(const std::string& folder, const Written& own) {
    const Written all = gathered(comm_, content_, own);
    on_first_rank([&] {
      std::int64_t particles = 0;
      for (const FilesPiece& piece : all.pieces) particles += piece.count;
      Index index;
      put_description(content_, particles, index);
      index.root["files"] = file_bytes_.size();
      index.root["folders"] = names_.folders;
      if (names_.ranks_per_file > 1) index.root["ranks_per_file"] = names_.ranks_per_file;
      index.root["pieces"] = all.pieces.size();
      index.append(file_bytes_);
      index.append(all.places);
      index.append(all.checksums);
      index.append(all.pieces);
      OutputFile file(folder + "/Header", OutputFile::Open::create);
      file.write(index_text(files_magic, index));
      if (options_.is_durable)
        file.sync_and_close();
      else
        file.close();
      statistics_ += file.statistics();
      if (!options_.is_durable) return;
      for (int i = 0; i < names_.folders; ++i) sync_folder(folder + "/" + files_folder(i));
      sync_folder(folder);
    });
  }

  const Communicator& comm_;
  const FileContent& content_;
  const WriteOptions& options_;
  FilesNames names_;
  FilesShare share_;
  std::vector<std::int64_t> file_bytes_;  // of all data files
  AccessStatistics statistics_;
};

AccessStatistics write_files(const Communicator& comm, const std::string& path, const FileContent& content,
                             const WriteOptions& options) {
  AccessStatistics statistics;
  write_folder_atomically(
      comm, path, [&](const std::string& folder) { statistics = FilesWriter(comm, content, options)(folder); },
      options.is_durable);
  return statistics;
}

}  // namespace

Format files_format() {
  return {"files",
          "a folder with a data file for each rank, read by any number of ranks",
          StepName{"plt", ".files", 5},
          StepName{"chk", ".files", 5},
          {},
          {},
          write_files,
          is_files_folder,
          open_files_folder,
          {},
          true,
          {"files", "ranks_per_file"},
          false,
          true,
          [](double ranks, const WriteOptions& options) {
            const double each = options.ranks_per_file > 0 ? options.ranks_per_file : std::ceil(std::sqrt(ranks));
            return std::ceil(ranks / each);
          }};
}

}  // namespace sidestream::io
