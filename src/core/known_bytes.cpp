#include "sidestream/core/known_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace sidestream::core {

void KnownBytes::add(const std::string& path, std::int64_t size_bytes) {
  files_[path].size_bytes = size_bytes;
}

void KnownBytes::add(const std::string& path, std::int64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty() || total_bytes_ + std::ssize(bytes) > most_bytes) return;
  total_bytes_ += std::ssize(bytes);
  auto& pieces = files_.at(path).pieces;
  auto piece = pieces.upper_bound(offset);
  const auto end_of = [](const auto& of) { return of->first + std::ssize(of->second); };
  if (piece == pieces.begin() || end_of(std::prev(piece)) < offset)
    piece = pieces.emplace_hint(piece, offset, std::vector<std::byte>());
  else
    --piece;
  const auto place = static_cast<std::size_t>(offset - piece->first);
  if (piece->second.size() < place + bytes.size()) piece->second.resize(place + bytes.size());
  std::ranges::copy(bytes, piece->second.begin() + static_cast<std::ptrdiff_t>(place));
  for (auto next = std::next(piece); next != pieces.end() && next->first <= end_of(piece); next = pieces.erase(next)) {
    const auto known = static_cast<std::size_t>(end_of(piece) - next->first);
    if (known < next->second.size())
      piece->second.insert(piece->second.end(), next->second.begin() + static_cast<std::ptrdiff_t>(known),
                           next->second.end());
  }
}

bool KnownBytes::copy(const std::string& path, std::int64_t offset, std::span<std::byte> out) const {
  const auto file = files_.find(path);
  if (file == files_.end()) return false;
  auto piece = file->second.pieces.upper_bound(offset);
  if (piece == file->second.pieces.begin()) return out.empty();
  --piece;
  const std::int64_t place = offset - piece->first;
  if (place + std::ssize(out) > std::ssize(piece->second)) return out.empty();
  std::copy_n(piece->second.begin() + place, out.size(), out.begin());
  return true;
}

namespace {

void put(std::vector<std::byte>& out, std::int64_t number) {
  const auto bytes = std::as_bytes(std::span(&number, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void put(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  put(out, std::ssize(bytes));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::int64_t taken_number(std::span<const std::byte>& from) {
  std::int64_t number = 0;
  std::memcpy(&number, from.data(), sizeof number);
  from = from.subspan(sizeof number);
  return number;
}

std::span<const std::byte> taken_bytes(std::span<const std::byte>& from) {
  const auto count = static_cast<std::size_t>(taken_number(from));
  const std::span<const std::byte> bytes = from.first(count);
  from = from.subspan(count);
  return bytes;
}

}  // namespace

std::vector<std::byte> KnownBytes::packed() const {
  std::vector<std::byte> all;
  for (const auto& [path, file] : files_) {
    put(all, std::as_bytes(std::span(path)));
    put(all, file.size_bytes);
    put(all, std::ssize(file.pieces));
    for (const auto& [offset, bytes] : file.pieces) {
      put(all, offset);
      put(all, bytes);
    }
  }
  return all;
}

KnownBytes KnownBytes::unpacked(std::span<const std::byte> bytes) {
  KnownBytes known;
  while (!bytes.empty()) {
    const std::span<const std::byte> name = taken_bytes(bytes);
    const std::string path(reinterpret_cast<const char*>(name.data()), name.size());
    known.add(path, taken_number(bytes));
    for (std::int64_t pieces = taken_number(bytes); pieces > 0; --pieces) {
      const std::int64_t offset = taken_number(bytes);
      known.add(path, offset, taken_bytes(bytes));
    }
  }
  return known;
}

namespace {

thread_local KnownBytes* kept = nullptr;
thread_local std::shared_ptr<const KnownBytes> answered;

}  // namespace

KeepingReads::KeepingReads(KnownBytes& into) {
  kept = &into;
}

KeepingReads::~KeepingReads() {
  kept = nullptr;
}

AnsweringReads::AnsweringReads(std::shared_ptr<const KnownBytes> known)
    : before_(std::exchange(answered, std::move(known))) {}

AnsweringReads::~AnsweringReads() {
  answered = std::move(before_);
}

KnownBytes* kept_reads() {
  return kept;
}

const std::shared_ptr<const KnownBytes>& answered_reads() {
  return answered;
}

}  // namespace sidestream::core
