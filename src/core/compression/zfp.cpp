#include <zfp.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/compression/entries.hpp"

namespace sidestream::core {

namespace {

using Field = std::unique_ptr<zfp_field, decltype(&zfp_field_free)>;

// The cells as zfp sees them: along one to three axes, without those that are one cell wide.
Field field_of(const BlockForm& form, const std::byte* cells) {
  auto* const data = const_cast<std::byte*>(cells);  // zfp has one type for what it reads and writes
  const zfp_type type = form.real == Real::float32 ? zfp_type_float : zfp_type_double;
  std::vector<std::size_t> lengths;
  for (const std::int64_t length : form.cells)
    if (length > 1) lengths.push_back(static_cast<std::size_t>(length));
  if (lengths.size() == 3) return {zfp_field_3d(data, type, lengths[2], lengths[1], lengths[0]), zfp_field_free};
  if (lengths.size() == 2) return {zfp_field_2d(data, type, lengths[1], lengths[0]), zfp_field_free};
  return {zfp_field_1d(data, type, lengths.empty() ? 1 : lengths[0]), zfp_field_free};
}

/// A stream of zfp over bytes that are there, in the mode of fixed accuracy.
class Stream {
 public:
  explicit Stream(double bound) : stream_(zfp_stream_open(nullptr), zfp_stream_close) {
    zfp_stream_set_accuracy(stream_.get(), bound);
  }
  std::size_t most_bytes(const Field& field) const { return zfp_stream_maximum_size(stream_.get(), field.get()); }
  void over(std::vector<std::byte>& bytes) {
    bits_.reset(stream_open(bytes.data(), bytes.size()));
    zfp_stream_set_bit_stream(stream_.get(), bits_.get());
    zfp_stream_rewind(stream_.get());
  }
  zfp_stream* get() { return stream_.get(); }

 private:
  std::unique_ptr<zfp_stream, decltype(&zfp_stream_close)> stream_;
  std::unique_ptr<bitstream, decltype(&stream_close)> bits_{nullptr, stream_close};
};

constexpr std::size_t word = 8;  // bytes of zfp end with those of a word, or before, as it was built

bool is_bound(double bound) {
  return std::isfinite(bound) && bound > 0.0;
}

void check_cells(const BlockForm& form, std::span<const std::byte> cells) {
  require(cells.size() == form.bytes(), "a block has the bytes of its form");
  require(reinterpret_cast<std::uintptr_t>(cells.data()) % form.real_bytes() == 0, "a block is aligned as its reals");
}

template <typename R>
std::span<const R> reals_of(std::span<const std::byte> cells) {
  return {reinterpret_cast<const R*>(cells.data()), cells.size() / sizeof(R)};
}

template <typename R>
bool are_finite(std::span<const R> reals) {
  return std::ranges::all_of(reals, [](R real) { return std::isfinite(real); });
}
template <typename R>
bool are_within(double bound, std::span<const R> a, std::span<const R> b) {
  return std::ranges::equal(
      a, b, [bound](R x, R y) { return std::abs(static_cast<double>(x) - static_cast<double>(y)) <= bound; });
}

void decompress_with_zfp(const BlockForm& form, std::span<const std::byte> bytes, double bound,
                         std::span<std::byte> cells) {
  check_cells(form, cells);
  if (!is_bound(bound)) refuse_compressed("the bound of zfp is no positive number");
  if (cells.empty()) return;
  const Field field = field_of(form, cells.data());
  Stream stream(bound);
  const std::size_t most = stream.most_bytes(field);
  if (bytes.size() > most) refuse_compressed("zfp never makes so many bytes of these cells");
  // zfp reads as many bits as the bits themselves ask for, wherever the bytes end: at most these.
  std::vector<std::byte> padded(most + word);
  std::ranges::copy(bytes, padded.begin());
  stream.over(padded);
  const std::size_t read = zfp_decompress(stream.get(), field.get());
  if (read == 0 || read > bytes.size() || bytes.size() - read >= word) refuse_compressed("zfp cannot read them");
}

template <typename R>
std::optional<std::vector<std::byte>> compress_reals(const BlockForm& form, std::span<const std::byte> cells,
                                                     double bound) {
  if (!are_finite(reals_of<R>(cells))) return {};
  const Field field = field_of(form, cells.data());
  Stream stream(bound);
  std::vector<std::byte> bytes(stream.most_bytes(field));
  stream.over(bytes);
  const std::size_t size = zfp_compress(stream.get(), field.get());
  if (size == 0) return {};
  bytes.resize(size);
  // Numbers that differ by more than the bits of zfp's integers have larger errors than the bound that it was given.
  std::vector<R> again(form.cell_count());
  decompress_with_zfp(form, bytes, bound, std::as_writable_bytes(std::span(again)));
  if (!are_within<R>(bound, reals_of<R>(cells), again)) return {};
  return bytes;
}

std::optional<std::vector<std::byte>> compress_with_zfp(const BlockForm& form, std::span<const std::byte> cells,
                                                        double bound) {
  check_cells(form, cells);
  if (!is_bound(bound) || cells.empty()) return {};
  return form.real == Real::float32 ? compress_reals<float>(form, cells, bound)
                                    : compress_reals<double>(form, cells, bound);
}

}  // namespace

Compressor zfp_compressor() {
  return {"zfp",
          "lossy, no cell by more than a bound: \"zfp 1e-3\", or \"zfp 1e-3 relative\" to the largest magnitude",
          2,
          true,
          compress_with_zfp,
          decompress_with_zfp};
}

}  // namespace sidestream::core
