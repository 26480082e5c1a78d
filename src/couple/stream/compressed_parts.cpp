#include "couple/stream/compressed_parts.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sidestream/core/compressed_block.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace {

constexpr std::size_t length_bytes = 8;

std::uint64_t length_of(const std::vector<std::byte>& blob) {
  std::uint64_t length = 0;
  std::memcpy(&length, blob.data(), length_bytes);
  return length;
}

core::BlockForm form_of(const Part& part, bool is_single) {
  const mesh::Int3 n = part.box.extent();
  return {{n.z, n.y, n.x}, is_single ? core::Real::float32 : core::Real::float64};
}

}  // namespace

OutgoingCompressed::OutgoingCompressed(std::shared_ptr<const Shelf> shelf, TransferOrder order)
    : shelf_(std::move(shelf)), order_(std::move(order)) {
  core::require(order_.compression.size() == order_.fields.size(), "each field has its compression");
}

std::vector<std::byte> OutgoingCompressed::take(std::size_t most) {
  std::vector<std::byte> bytes;
  while (bytes.size() < most && !is_at_end()) {
    if (place_ == blob_.size()) make_next();
    const std::size_t count = std::min(most - bytes.size(), blob_.size() - place_);
    const auto begin = blob_.begin() + static_cast<std::ptrdiff_t>(place_);
    bytes.insert(bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
    place_ += count;
  }
  bytes_done_ += std::ssize(bytes);
  return bytes;
}

void OutgoingCompressed::make_next() {
  const std::size_t item = next_++;
  std::vector<std::byte> made;
  if (item < order_.fields.size() * order_.parts.size()) {
    const std::size_t field = item / order_.parts.size();
    const Part& part = order_.parts[item % order_.parts.size()];
    const core::BlockForm form = form_of(part, order_.is_single);
    std::vector<double> cells((form.bytes() + sizeof(double) - 1) / sizeof(double));
    const auto bytes = std::as_writable_bytes(std::span(cells)).first(form.bytes());
    Outgoing(shelf_, {{order_.fields[field]}, {part}, order_.is_single, false, {}}).copy(bytes);
    const TransferOrder::Choice& choice = order_.compression[field];
    made = core::compress_block(*choice.compressor, choice.bound, form, bytes);
  } else {
    const auto words = std::as_bytes(shelf_->particles());
    made.assign(words.begin(), words.end());
  }
  const auto length = static_cast<std::uint64_t>(made.size());
  blob_.resize(length_bytes);
  std::memcpy(blob_.data(), &length, length_bytes);
  blob_.insert(blob_.end(), made.begin(), made.end());
  place_ = 0;
}

IncomingCompressed::IncomingCompressed(TransferOrder order, std::vector<Incoming::Target> targets,
                                       std::int64_t most_particle_bytes)
    : order_(std::move(order)), targets_(std::move(targets)), most_particle_bytes_(most_particle_bytes) {}

bool IncomingCompressed::is_at_end() const {
  return item_ == cell_items() + (order_.has_particles ? 1 : 0);
}

// What a compressor makes is not much longer than the cells.
std::int64_t IncomingCompressed::most_bytes() const {
  if (item_ >= cell_items()) return most_particle_bytes_;
  const auto cells =
      static_cast<std::int64_t>(form_of(order_.parts[item_ % order_.parts.size()], order_.is_single).bytes());
  return cells + cells / 8 + 4096;
}

void IncomingCompressed::take(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (is_at_end()) throw core::Error("more bytes came than belong to the cells");
    std::size_t wanted = length_bytes;
    if (blob_.size() >= length_bytes) {
      const std::uint64_t length = length_of(blob_);
      if (length > static_cast<std::uint64_t>(most_bytes()))
        throw core::Error("compressed cells are longer than the cells");
      wanted += length;
    }
    const std::size_t count = std::min(bytes.size(), wanted - blob_.size());
    blob_.insert(blob_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    bytes = bytes.subspan(count);
    if (blob_.size() == wanted && wanted > length_bytes)
      finish_item();
    else if (blob_.size() == length_bytes && length_of(blob_) == 0)
      finish_item();
  }
}

void IncomingCompressed::finish_item() {
  const auto body = std::span<const std::byte>(blob_).subspan(length_bytes);
  if (item_ >= cell_items()) {
    particles_.assign(body.begin(), body.end());
  } else {
    const Part& part = order_.parts[item_ % order_.parts.size()];
    const core::BlockForm form = form_of(part, order_.is_single);
    std::vector<double> cells((form.bytes() + sizeof(double) - 1) / sizeof(double));
    const auto bytes = std::as_writable_bytes(std::span(cells)).first(form.bytes());
    core::decompress_block(form, body, bytes);
    Incoming({{0}, {part}, order_.is_single, false, {}}, {targets_[item_]}).take(bytes);
  }
  ++item_;
  blob_.clear();
}

}  // namespace sidestream::couple
