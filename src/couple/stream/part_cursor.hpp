#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "couple/stream/run/shelf.hpp"
#include "sidestream/core/compressor.hpp"
#include "sidestream/core/view.hpp"

namespace sidestream::couple {

/// How the cells of a transfer follow one another, the same for who sends and who receives them: field by field, in
/// each part by part, in each row by row, as doubles or floats; then the words of the particles.
struct TransferOrder {
  std::vector<std::int32_t> fields;  ///< numbers in the publish
  std::vector<Part> parts;
  bool is_single = false;  ///< floats
  bool has_particles = false;
  struct Choice {
    const core::Compressor* compressor = nullptr;
    double bound = 0.0;
  };
  std::vector<Choice> compression{};  ///< of each field; none: all travel as they are

  std::size_t element_bytes() const { return is_single ? sizeof(float) : sizeof(double); }
  std::int64_t cells() const {
    std::int64_t sum = 0;
    for (const Part& part : parts) sum += part.cells();
    return sum;
  }
  /// Of the fields.
  std::int64_t bytes() const { return std::ssize(fields) * cells() * static_cast<std::int64_t>(element_bytes()); }
};

/// Goes along the cells of a transfer where they lie in a publish.
class Outgoing {
 public:
  Outgoing(std::shared_ptr<const Shelf> shelf, TransferOrder order);

  const TransferOrder& order() const { return order_; }
  const std::shared_ptr<const Shelf>& shelf() const { return shelf_; }
  bool is_at_end() const { return bytes_left() == 0; }
  std::int64_t bytes_left() const { return field_bytes_left_ + particle_bytes_left_; }
  std::int64_t field_bytes_left() const { return field_bytes_left_; }
  /// With the particles.
  std::int64_t bytes() const { return bytes_; }

  /// The next bytes as they lie, at most `most`; fewer where something else follows in memory.
  std::span<const std::byte> in_place(std::size_t most) const;
  /// Goes past bytes that were taken in place.
  void skip(std::size_t bytes);
  /// Goes to a byte, from the start: one where an element begins.
  void skip_to(std::int64_t byte);
  /// Copies, and converts, the next bytes, as many as there is room for: a whole number of elements.
  std::size_t copy(std::span<std::byte> into);

 private:
  struct Place {
    Shelf::Block block;
    const Part* part = nullptr;
  };
  bool lies_in_one_piece(std::size_t part) const;
  const double* here(std::int64_t done) const;
  void advance(std::int64_t cells);

  std::shared_ptr<const Shelf> shelf_;
  TransferOrder order_;
  std::vector<Shelf::Block> blocks_;  // of the parts
  std::int64_t bytes_ = 0, field_bytes_left_ = 0, particle_bytes_left_ = 0;
  std::size_t field_ = 0, part_ = 0;  // where it is
  std::int64_t done_ = 0;             // cells of the part
};

/// Goes along the cells of a transfer where they are to lie. Of doubles or floats; what comes is doubles or floats too.
class Incoming {
 public:
  /// Where the cells of a part of a field are to lie.
  using Target = core::View4<double>;

  /// `targets`: for each field in turn, one for each part.
  Incoming(TransferOrder order, std::vector<Target> targets);

  bool is_at_end() const { return bytes_left_ == 0; }
  bool is_single() const { return order_.is_single; }
  std::int64_t bytes() const { return order_.bytes(); }
  std::int64_t bytes_left() const { return bytes_left_; }
  /// Takes bytes of fields, a whole number of elements; returns how many: the rest are of particles.
  std::size_t take(std::span<const std::byte> bytes);
  /// Adds the places of the next doubles to `places`, up to so many of them and some `most_bytes`.
  void add_places(std::vector<std::span<std::byte>>& places, std::size_t most_places, std::size_t most_bytes) const;
  /// Goes past bytes that were put there.
  void skip(std::size_t bytes);
  /// Forgets what is there of an element. Returns the byte from which on the rest has to come.
  std::int64_t begin_again();

 private:
  const mesh::Box& box_of(std::size_t target) const { return order_.parts[target % order_.parts.size()].box; }

  TransferOrder order_;
  std::vector<Target> targets_;
  std::int64_t bytes_left_ = 0;
  std::size_t target_ = 0;
  std::int64_t done_ = 0;        // cells of the part
  std::size_t begun_bytes_ = 0;  // of the next one
};

}  // namespace sidestream::couple
