#include "io/pictures/whole_picture.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "io/pictures/png.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

using mesh::Box;

namespace {

// What all ranks are told of a piece.
struct Note {
  std::int64_t chunk_bytes = 0, size_bytes = 0;
  std::uint64_t checksum = 1;
};

class WholePicture {
 public:
  WholePicture(const comm::Communicator& comm, const mesh::Picture& picture, int halvings, std::string path)
      : comm_(comm),
        picture_(picture),
        halvings_(halvings),
        path_(std::move(path)),
        size_(halved(picture.pixels(), halvings)) {
    constexpr std::int32_t most_rows = 64, most_pixels = 1 << 26;
    rows_a_piece_ = std::max(1, std::min(most_rows, most_pixels / picture.columns) >> halvings);
  }

  void write() {
    const std::string head = png_head(size_.hi.x, size_.hi.y, picture_.is_opaque) + png_chunk("IDAT", zlib_begin());
    create(head);
    std::int64_t end = std::ssize(head);
    std::uint64_t checksum = 1;
    const std::int32_t pieces = (size_.hi.y + rows_a_piece_ - 1) / rows_a_piece_;
    for (std::int32_t first = 0; first < pieces; first += comm_.size()) {
      ZlibPiece piece;
      const Pixels pixels = paint(first, std::min(pieces, first + comm_.size()));
      if (pixels.blocks() > 0) piece = zlib_piece(png_rows(pixels, 0, pixels.box(0), picture_.is_opaque));
      const std::string chunk = pixels.blocks() > 0 ? png_chunk("IDAT", piece.packed) : "";
      write_in_order(chunk, piece, end, checksum);
    }
    comm_.agree_on([&] {
      if (comm_.rank() == 0) write_at(end, png_chunk("IDAT", zlib_end(checksum)) + png_chunk("IEND", ""));
      file_->close();
    });
  }

 private:
  void create(const std::string& head) {
    comm_.agree_on([&] {
      if (comm_.rank() != 0) return;
      file_.emplace(path_, OutputFile::Open::create);
      write_at(0, head);
    });
    comm_.agree_on([&] {
      if (comm_.rank() != 0) file_.emplace(path_, OutputFile::Open::modify);
    });
  }

  // Pieces [first, last), one a rank, halved.
  Pixels paint(std::int32_t first, std::int32_t last) const {
    std::vector<Box> boxes;
    std::vector<std::int32_t> owners;
    for (std::int32_t piece = first; piece < last; ++piece) {
      const std::int32_t rows = rows_a_piece_ << halvings_;
      boxes.push_back({{0, piece * rows, 0}, {picture_.columns, std::min(picture_.rows, (piece + 1) * rows), 1}});
      owners.push_back(piece - first);
    }
    Pixels pixels = picture_.paint(mesh::Layout(picture_.pixels(), {}, std::move(boxes), std::move(owners)));
    for (int times = 0; times < halvings_; ++times) pixels = halved(pixels);
    return pixels;
  }

  void write_in_order(const std::string& chunk, const ZlibPiece& piece, std::int64_t& end, std::uint64_t& checksum) {
    const std::vector<Note> notes = comm_.all_gather(Note{std::ssize(chunk), piece.size_bytes, piece.checksum});
    std::int64_t mine = end;
    for (int rank = 0; rank < comm_.size(); ++rank) {
      const Note& note = notes[static_cast<std::size_t>(rank)];
      if (rank == comm_.rank()) mine = end;
      end += note.chunk_bytes;
      checksum = joined_checksum(checksum, note.checksum, note.size_bytes);
    }
    comm_.agree_on([&] { write_at(mine, chunk); });
  }

  void write_at(std::int64_t offset, const std::string& bytes) {
    file_->write_at(offset, std::as_bytes(std::span(bytes)));
  }

  const comm::Communicator& comm_;
  const mesh::Picture& picture_;
  int halvings_;
  std::string path_;
  Box size_;
  std::int32_t rows_a_piece_ = 1;
  std::optional<OutputFile> file_;
};

}  // namespace

void write_whole_picture(const comm::Communicator& comm, const mesh::Picture& picture, int halvings,
                         const std::string& path) {
  WholePicture(comm, picture, halvings, path).write();
}

}  // namespace sidestream::io
