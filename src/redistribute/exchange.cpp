#include "redistribute/exchange.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace sidestream::redistribute {

namespace {

constexpr std::size_t alignment = 64;

struct Region {
  mesh::Box box;  // in the indices of the destination
  RowShape shape;
};

Region region_of(const Tables& tables, const Job& job, const Piece& piece) {
  const mesh::Box box = tables.region(piece);
  return {box, shape_of(box, job.components, job.element_bytes())};
}

Rows<const std::byte> source_rows(const Job& job, const Piece& piece, const mesh::Box& region) {
  return rows_of(job.from, piece.source_block, region.shifted(mesh::Int3{} - piece.shift));
}

Rows<std::byte> destination_rows(const Job& job, const Piece& piece, const mesh::Box& region) {
  return rows_of(job.to, piece.destination_block, region);
}

// Calls f(piece, region, first row, last row, bytes) for each piece of a chunk.
template <typename F>
void for_each_part(const Tables& tables, const Traffic& traffic, const Job& job, const Chunk& chunk, F f) {
  std::size_t done = 0, index = chunk.piece;
  for (std::int64_t row = chunk.row; done < chunk.size_bytes; row = 0, ++index) {
    const Piece& piece = traffic.pieces[index];
    const Region region = region_of(tables, job, piece);
    const auto left = static_cast<std::int64_t>((chunk.size_bytes - done) / region.shape.row_bytes);
    const std::int64_t end = std::min(region.shape.rows(), row + left);
    const std::size_t bytes = static_cast<std::size_t>(end - row) * region.shape.row_bytes;
    f(piece, region, row, end, done);
    done += bytes;
  }
}

// The packed rows of a piece of which `at` holds row `row`.
template <typename Byte>
Rows<Byte> packed_from(Byte* at, std::int64_t row, const RowShape& shape) {
  return packed_rows(at - row * static_cast<std::ptrdiff_t>(shape.row_bytes), shape);
}

auto order_of(const Piece& p) {
  return std::tuple(p.destination, p.source, p.shift.z, p.shift.y, p.shift.x);
}

}  // namespace

const Cut& Cuts::for_job(const Job& job) {
  for (const auto& cut : cuts_)
    if (cut->components == job.components && cut->element_bytes == job.element_bytes()) return *cut;
  cuts_.push_back(std::make_unique<Cut>(
      Cut{job.components, job.element_bytes(), chunks_of(tables_.outgoing, job), chunks_of(tables_.incoming, job)}));
  return *cuts_.back();
}

std::vector<Chunk> Cuts::chunks_of(const Traffic& traffic, const Job& job) const {
  std::vector<Chunk> chunks;
  std::size_t offset = 0;
  for (std::size_t m = 0; m < traffic.messages.size(); ++m) {
    const Message& message = traffic.messages[m];
    if (!serves_(message.peer)) continue;
    offset = (offset + alignment - 1) / alignment * alignment;
    Chunk chunk{m, message.first, 0, offset, 0};
    for (std::size_t p = message.first; p < message.last; ++p) {
      const RowShape shape = region_of(tables_, job, traffic.pieces[p]).shape;
      for (std::int64_t row = 0; row < shape.rows();) {
        const std::size_t room = target_bytes_ > chunk.size_bytes ? target_bytes_ - chunk.size_bytes : 0;
        const auto fitting = std::max<std::int64_t>(1, static_cast<std::int64_t>(room / shape.row_bytes));
        const std::int64_t count = std::min(fitting, shape.rows() - row);
        chunk.size_bytes += static_cast<std::size_t>(count) * shape.row_bytes;
        row += count;
        if (chunk.size_bytes < target_bytes_ && row == shape.rows()) continue;
        chunks.push_back(chunk);
        offset += chunk.size_bytes;
        const bool piece_is_done = row == shape.rows();
        chunk = {m, piece_is_done ? p + 1 : p, piece_is_done ? 0 : row, offset, 0};
      }
    }
    if (chunk.size_bytes > 0) chunks.push_back(chunk);
    offset += chunk.size_bytes;
  }
  return chunks;
}

std::size_t buffer_bytes(std::span<const Chunk> chunks) {
  return chunks.empty() ? 0 : chunks.back().offset + chunks.back().size_bytes;
}

ChunkRange chunks_of_message(std::span<const Chunk> chunks, std::size_t message) {
  const auto found = std::ranges::equal_range(chunks, message, {}, &Chunk::message);
  return {static_cast<std::size_t>(found.begin() - chunks.begin()),
          static_cast<std::size_t>(found.end() - chunks.begin())};
}

core::Error refused(const std::string& strategy, const core::Error& refusal) {
  return core::Error("the strategy `" + strategy + "` cannot be used here: " + refusal.message(), refusal.where(),
                     "choose another one, such as \"p2p\" or \"automatic\"");
}

int mpi_count(const Chunk& chunk) {
  core::require(chunk.size_bytes < (std::size_t{1} << 31), "one row of cells holds over 2 GiB");
  return static_cast<int>(chunk.size_bytes);
}

void pack(const Tables& tables, const Job& job, const Chunk& chunk, std::byte* buffer) {
  const auto timed = job.timed_pack();
  for_each_part(tables, tables.outgoing, job, chunk,
                [&](const Piece& piece, const Region& region, std::int64_t begin, std::int64_t end, std::size_t at) {
                  move_rows(nullptr, packed_from(buffer + chunk.offset + at, begin, region.shape),
                            source_rows(job, piece, region.box), region.shape, begin, end);
                });
}

void unpack(const Tables& tables, const Job& job, const Chunk& chunk, const std::byte* buffer) {
  const auto timed = job.timed_unpack();
  for_each_part(tables, tables.incoming, job, chunk,
                [&](const Piece& piece, const Region& region, std::int64_t begin, std::int64_t end, std::size_t at) {
                  move_rows(job.kernel, destination_rows(job, piece, region.box),
                            packed_from(buffer + chunk.offset + at, begin, region.shape), region.shape, begin, end);
                });
}

void pack_all(const Tables& tables, const Job& job, std::byte* buffer) {
  const auto timed = job.timed_pack();
  for (const Piece& piece : tables.outgoing.pieces) {
    const Region region = region_of(tables, job, piece);
    move_rows(nullptr, packed_rows(buffer, region.shape), source_rows(job, piece, region.box), region.shape, 0,
              region.shape.rows());
    buffer += static_cast<std::size_t>(region.shape.rows()) * region.shape.row_bytes;
  }
}

void copy_local(const Tables& tables, const Job& job) {
  const auto timed = job.timed_pack();
  struct Copy {
    Rows<std::byte> to;
    Rows<const std::byte> from;
    RowShape shape;
  };
  const auto copy_of = [&](const Piece& piece) {
    const Region region = region_of(tables, job, piece);
    return Copy{destination_rows(job, piece, region.box), source_rows(job, piece, region.box), region.shape};
  };
  const auto run = [&job](const Copy& copy, std::int64_t component) {
    const std::int64_t rows = copy.shape.ny * copy.shape.nz;
    if (copy.from.first != copy.to.first)
      move_rows(job.kernel, copy.to, copy.from, copy.shape, component * rows, (component + 1) * rows);
  };
  // Component by component over a group of neighboring pieces, which touch the same lines of memory.
  std::array<Copy, 64> group;
  const auto lower_box = [](const Piece& piece) { return std::min(piece.source, piece.destination); };
  for (std::size_t p = 0; p < tables.local.size();) {
    std::size_t size = 0;
    for (const auto box = lower_box(tables.local[p]);
         size < group.size() && p < tables.local.size() && lower_box(tables.local[p]) == box; ++p)
      group[size++] = copy_of(tables.local[p]);
    for (int component = 0; component < job.components; ++component)
      for (std::size_t n = 0; n < size; ++n) run(group[n], component);
  }
}

void unpack_all(const Tables& tables, const Job& job, std::span<const std::byte* const> payloads) {
  const auto timed = job.timed_unpack();
  for (std::size_t m = 0; m < tables.incoming.messages.size(); ++m) {
    const Message& message = tables.incoming.messages[m];
    const std::byte* packed = payloads[m];
    for (std::size_t p = message.first; p < message.last; ++p) {
      const Piece& piece = tables.incoming.pieces[p];
      const Region region = region_of(tables, job, piece);
      move_rows(job.kernel, destination_rows(job, piece, region.box), packed_rows(packed, region.shape), region.shape,
                0, region.shape.rows());
      packed += static_cast<std::size_t>(region.shape.rows()) * region.shape.row_bytes;
    }
  }
}

void combine_all(const Tables& tables, const Job& job, std::span<const std::byte* const> payloads) {
  const auto timed = job.timed_unpack();
  // One cursor into the local pieces and one into each message, all ordered alike: the earliest of them comes next.
  struct Cursor {
    const Piece* next;
    const Piece* end;
    const std::byte* packed;  // null: local
  };
  std::vector<Cursor> cursors;
  const auto later = [](const Cursor& a, const Cursor& b) { return order_of(*a.next) > order_of(*b.next); };
  if (!tables.local.empty())
    cursors.push_back({tables.local.data(), tables.local.data() + tables.local.size(), nullptr});
  for (std::size_t m = 0; m < tables.incoming.messages.size(); ++m) {
    const Message& message = tables.incoming.messages[m];
    const Piece* pieces = tables.incoming.pieces.data();
    cursors.push_back({pieces + message.first, pieces + message.last, payloads[m]});
  }
  std::make_heap(cursors.begin(), cursors.end(), later);
  while (!cursors.empty()) {
    std::pop_heap(cursors.begin(), cursors.end(), later);
    Cursor& cursor = cursors.back();
    const Piece& piece = *cursor.next++;
    const Region region = region_of(tables, job, piece);
    const auto from = cursor.packed ? packed_rows(cursor.packed, region.shape) : source_rows(job, piece, region.box);
    move_rows(job.kernel, destination_rows(job, piece, region.box), from, region.shape, 0, region.shape.rows());
    if (cursor.packed) cursor.packed += static_cast<std::size_t>(region.shape.rows()) * region.shape.row_bytes;
    if (cursor.next == cursor.end)
      cursors.pop_back();
    else
      std::push_heap(cursors.begin(), cursors.end(), later);
  }
}

}  // namespace sidestream::redistribute
