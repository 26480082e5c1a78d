#include "io/pictures/pyramid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "io/pictures/pixels.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::io {

using mesh::Box;

namespace {

std::int32_t tiles_in(std::int32_t pixels) {
  return (pixels + tile_side - 1) / tile_side;
}

// `parts` nearly equal parts of `count` things: where one begins.
std::int32_t share(std::int32_t count, int part, int parts) {
  return static_cast<std::int32_t>(std::int64_t{count} * part / parts);
}

// Ranks in columns and rows. Those of a row of ranks have the same rows of tiles. `halvings` 0 is the picture itself.
class Shares {
 public:
  Shares(const mesh::Picture& picture, int ranks) : picture_(picture.pixels()), ranks_(ranks) {
    if (picture.in_rectangles)
      for (int rows = 2; rows * rows <= ranks; ++rows)
        if (ranks % rows == 0) rank_rows_ = rows;
    constexpr std::int32_t units_a_row = 4;
    const std::int32_t tile_rows = tiles_in(picture.rows);
    while (units(tile_rows, lasting_ + 1) >= units_a_row * rank_rows_) ++lasting_;
  }

  /// So many times the parts of ranks are halved and still begin at a tile.
  int lasting() const { return lasting_; }

  /// The rows of tiles of the rank that has most.
  std::int32_t strips(int halvings) const {
    std::int32_t most = 0;
    for (int row = 0; row < rank_rows_; ++row) most = std::max(most, end_of(row, halvings) - begin_of(row, halvings));
    return most;
  }

  /// A row of tiles of each rank.
  mesh::Layout strip(int halvings, std::int32_t strip) const {
    std::vector<Box> boxes;
    std::vector<std::int32_t> owners;
    for (int row = 0; row < rank_rows_; ++row) {
      const std::int32_t tile_row = begin_of(row, halvings) + strip;
      if (tile_row < end_of(row, halvings))
        add_columns(halvings, {tile_row, tile_row + 1}, row, ranks_ / rank_rows_, boxes, owners);
    }
    return {halved(picture_, halvings), {}, std::move(boxes), std::move(owners)};
  }

  /// All of the picture, in columns.
  mesh::Layout all(int halvings) const {
    std::vector<Box> boxes;
    std::vector<std::int32_t> owners;
    add_columns(halvings, {0, tiles_in(halved(picture_, halvings).hi.y)}, 0, ranks_, boxes, owners);
    return {halved(picture_, halvings), {}, std::move(boxes), std::move(owners)};
  }

 private:
  struct Range {
    std::int32_t begin, end;
  };

  static std::int32_t units(std::int32_t tile_rows, int halvings) { return ((tile_rows - 1) >> halvings) + 1; }

  // Rows of tiles are dealt in units that halve to whole ones.
  std::int32_t begin_of(int rank_row, int halvings) const {
    const std::int32_t tile_rows = tiles_in(picture_.hi.y);
    const std::int32_t unit = share(units(tile_rows, lasting_), rank_row, rank_rows_);
    return std::min(tiles_in(halved(picture_, halvings).hi.y), unit << (lasting_ - halvings));
  }
  std::int32_t end_of(int rank_row, int halvings) const { return begin_of(rank_row + 1, halvings); }

  void add_columns(int halvings, Range tile_rows, int rank_row, int rank_columns, std::vector<Box>& boxes,
                   std::vector<std::int32_t>& owners) const {
    const Box pixels = halved(picture_, halvings);
    for (int column = 0; column < rank_columns; ++column) {
      const std::int32_t first = share(tiles_in(pixels.hi.x), column, rank_columns);
      const std::int32_t last = share(tiles_in(pixels.hi.x), column + 1, rank_columns);
      if (first == last) continue;
      boxes.push_back(intersection(pixels, {{first * tile_side, tile_rows.begin * tile_side, 0},
                                            {last * tile_side, tile_rows.end * tile_side, 1}}));
      owners.push_back(rank_row * rank_columns + column);
    }
  }

  Box picture_;
  int ranks_, rank_rows_ = 1, lasting_ = 0;
};

class PyramidWriter {
 public:
  PyramidWriter(const comm::Communicator& comm, const mesh::Picture& picture, std::string folder)
      : comm_(comm),
        picture_(picture),
        folder_(std::move(folder)),
        shares_(picture, comm.size()),
        last_(pyramid_levels(picture) - 1),
        pending_(static_cast<std::size_t>(last_ + 1)) {}

  void write() {
    comm_.agree_on([&] {
      if (comm_.rank() == 0) make_folders();
    });
    for (std::int32_t strip = 0; strip < shares_.strips(0); ++strip)
      take(0, strip, picture_.paint(shares_.strip(0, strip)));
    for (int halvings = shares_.lasting() + 1; halvings <= last_; ++halvings) {
      Pixels& whole = pending_[static_cast<std::size_t>(halvings)];
      write_tiles(halvings, whole);
      if (halvings == last_) break;
      const Pixels half = halved(whole);
      pending_[static_cast<std::size_t>(halvings) + 1] = Pixels(shares_.all(halvings + 1), comm_.rank());
      move(half, pending_[static_cast<std::size_t>(halvings) + 1]);
      whole = {};
    }
  }

 private:
  void make_folders() const {
    for (int level = 0; level <= last_; ++level) make_folder(folder_of(level));
    OutputFile(folder_ + "/" + picture_.name + ".dzi", OutputFile::Open::create)
        .write(fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                           "<Image xmlns=\"http://schemas.microsoft.com/deepzoom/2008\" Format=\"png\" Overlap=\"0\" "
                           "TileSize=\"{}\">\n  <Size Width=\"{}\" Height=\"{}\"/>\n</Image>\n",
                           tile_side, picture_.columns, picture_.rows));
  }

  std::string folder_of(int level) const { return fmt::format("{}/{}_files/{}", folder_, picture_.name, level); }

  // Rows of tiles of one level come from above to below; every second completes one of the next level.
  void take(int halvings, std::int32_t strip, const Pixels& pixels) {
    write_tiles(halvings, pixels);
    if (halvings == last_) return;
    const Pixels half = halved(pixels);
    Pixels& next = pending_[static_cast<std::size_t>(halvings) + 1];
    const bool is_whole = halvings == shares_.lasting();  // parts of ranks end within tiles from here on
    const bool is_first = is_whole ? strip == 0 : strip % 2 == 0;
    if (is_first)
      next = Pixels(is_whole ? shares_.all(halvings + 1) : shares_.strip(halvings + 1, strip / 2), comm_.rank());
    move(half, next);
    if (is_whole || (strip % 2 == 0 && strip + 1 < shares_.strips(halvings))) return;
    take(halvings + 1, strip / 2, next);
  }

  void move(const Pixels& from, Pixels& to) const {
    redistribute::Redistribution(comm_, from.layout(), to.layout()).apply(from, to);
  }

  void write_tiles(int halvings, const Pixels& pixels) const {
    comm_.agree_on([&] {
      for (int b = 0; b < pixels.blocks(); ++b) {
        const Box& part = pixels.box(b);
        for (std::int32_t row = part.lo.y / tile_side; row < tiles_in(part.hi.y); ++row)
          for (std::int32_t column = part.lo.x / tile_side; column < tiles_in(part.hi.x); ++column) {
            const Box tile{{column * tile_side, row * tile_side, 0},
                           {(column + 1) * tile_side, (row + 1) * tile_side, 1}};
            const std::string path = fmt::format("{}/{}_{}.png", folder_of(last_ - halvings), column, row);
            OutputFile file(path, OutputFile::Open::create);
            file.write(png_of(pixels, b, intersection(tile, part), picture_.is_opaque));
            file.close();
          }
      }
    });
  }

  const comm::Communicator& comm_;
  const mesh::Picture& picture_;
  std::string folder_;
  Shares shares_;
  int last_;                     // halvings of level 0
  std::vector<Pixels> pending_;  // by halvings: rows of tiles of which the upper half is there; beyond `lasting`, all
};

}  // namespace

int pyramid_levels(const mesh::Picture& picture) {
  return halvings(picture.pixels(), 1) + 1;
}

void write_pyramid(const comm::Communicator& comm, const mesh::Picture& picture, const std::string& folder) {
  PyramidWriter(comm, picture, folder).write();
}

}  // namespace sidestream::io
