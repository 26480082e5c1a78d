#include "io/containers/hdf5/hdf5_filters.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#ifndef SIDESTREAM_WITHOUT_ZSTD
#include <zstd.h>
#endif
#ifndef SIDESTREAM_WITHOUT_ZFP
#include <zfp.h>
#endif

#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 32;  // chunks of HDF5 are smaller

struct Freed {
  void operator()(void* memory) const { H5free_memory(memory); }
};
using Room = std::unique_ptr<void, Freed>;

// Puts what a filter made in the place of what it was given; returns its bytes.
[[maybe_unused]] std::size_t hand_over(Room room, std::size_t bytes, std::size_t* room_bytes, void** buffer) {
  H5free_memory(*buffer);
  *buffer = room.release();
  *room_bytes = bytes;
  return bytes;
}

// Nothing where `compressed` bytes cannot be so many, whatever they say.
[[maybe_unused]] Room room_for(std::size_t bytes, std::size_t compressed) {
  const bool is_absurd = bytes >= most_bytes || bytes / core::most_compression > compressed;
  return Room(bytes == 0 || is_absurd ? nullptr : H5allocate_memory(bytes, false));
}

#ifndef SIDESTREAM_WITHOUT_ZSTD
// Only reads: what is written is compressed by `core::compressors()` before HDF5 hears of it.
std::size_t read_zstd(unsigned flags, std::size_t, const unsigned*, std::size_t bytes, std::size_t* room_bytes,
                      void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;
  const auto content = ZSTD_getFrameContentSize(*buffer, bytes);
  if (content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN) return 0;
  Room room = room_for(content, bytes);
  if (!room || ZSTD_decompress(room.get(), content, *buffer, bytes) != content) return 0;
  return hand_over(std::move(room), content, room_bytes, buffer);
}
#endif

#ifndef SIDESTREAM_WITHOUT_ZFP
using Field = std::unique_ptr<zfp_field, decltype(&zfp_field_free)>;
using Stream = std::unique_ptr<zfp_stream, decltype(&zfp_stream_close)>;
using Bits = std::unique_ptr<bitstream, decltype(&stream_close)>;

constexpr std::size_t word = 8;
// H5Z-ZFP keeps the versions of zfp and its codec and its own beside the header of zfp: 1.0.0, 5, 1.1.1.
constexpr unsigned versions = (0x1000U << 16) | (5U << 12) | 0x0111U;

std::vector<unsigned> header_of(const core::BlockForm& form, double bound) {
  std::vector<std::size_t> lengths;
  for (const std::int64_t length : form.cells)
    if (length > 1) lengths.push_back(static_cast<std::size_t>(length));
  lengths.resize(std::max<std::size_t>(1, lengths.size()), 1);
  const zfp_type type = form.real == core::Real::float32 ? zfp_type_float : zfp_type_double;
  const Field field(lengths.size() == 3   ? zfp_field_3d(nullptr, type, lengths[2], lengths[1], lengths[0])
                    : lengths.size() == 2 ? zfp_field_2d(nullptr, type, lengths[1], lengths[0])
                                          : zfp_field_1d(nullptr, type, lengths[0]),
                    zfp_field_free);
  std::array<unsigned, 8> header{};
  const Bits bits(stream_open(header.data(), sizeof header), stream_close);
  const Stream stream(zfp_stream_open(bits.get()), zfp_stream_close);
  zfp_stream_set_accuracy(stream.get(), bound);
  const std::size_t used = zfp_write_header(stream.get(), field.get(), ZFP_HEADER_FULL);
  core::require(used > 0, "zfp has a header for every block");
  zfp_stream_flush(stream.get());
  std::vector<unsigned> values{versions};
  values.insert(values.end(), header.begin(), header.begin() + static_cast<std::ptrdiff_t>((used + 31) / 32));
  return values;
}

// What the header says that a chunk is, in the mode that it says; false where it is none.
bool read_header(std::size_t count, const unsigned* values, zfp_stream* stream, zfp_field* field) {
  std::array<unsigned, 16> header{};
  if (count < 2 || count > header.size() / 2) return false;
  std::memcpy(header.data(), values + 1, (count - 1) * sizeof(unsigned));
  const Bits bits(stream_open(header.data(), sizeof header), stream_close);
  zfp_stream_set_bit_stream(stream, bits.get());
  zfp_stream_rewind(stream);
  return zfp_read_header(stream, field, ZFP_HEADER_FULL) != 0;
}

// As much as a zfp of any mode makes of `field`; nothing where that is more than HDF5 would take.
std::size_t bytes_of(const zfp_field* field) {
  std::size_t bytes = field->type == zfp_type_float || field->type == zfp_type_int32 ? 4 : 8;
  for (const std::size_t length : {field->nx, field->ny, field->nz, field->nw}) {
    const std::size_t cells = std::max<std::size_t>(1, length);
    if (cells >= most_bytes / bytes) return 0;
    bytes *= cells;
  }
  return bytes;
}

std::size_t read_zfp(unsigned flags, std::size_t count, const unsigned* values, std::size_t bytes,
                     std::size_t* room_bytes, void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;
  const Field field(zfp_field_alloc(), zfp_field_free);
  const Stream stream(zfp_stream_open(nullptr), zfp_stream_close);
  if (!read_header(count, values, stream.get(), field.get())) return 0;
  const std::size_t made = bytes_of(field.get()), most = zfp_stream_maximum_size(stream.get(), field.get());
  Room room = room_for(made, bytes);
  if (!room || most == 0 || most > 2 * most_bytes || bytes > most) return 0;
  const std::unique_ptr<std::byte, decltype(&std::free)> padded(static_cast<std::byte*>(std::calloc(most + word, 1)),
                                                                std::free);
  if (!padded) return 0;
  std::memcpy(padded.get(), *buffer, bytes);
  const Bits bits(stream_open(padded.get(), most + word), stream_close);
  zfp_stream_set_bit_stream(stream.get(), bits.get());
  zfp_stream_rewind(stream.get());
  zfp_field_set_pointer(field.get(), room.get());
  const std::size_t read = zfp_decompress(stream.get(), field.get());
  if (read == 0 || read >= bytes + word) return 0;
  return hand_over(std::move(room), made, room_bytes, buffer);
}
#endif

template <H5Z_func_t Read>
bool register_filter(H5Z_filter_t number, const char* name) {
  const H5Z_class2_t filter{H5Z_CLASS_T_VERS, number, 1, 1, name, nullptr, nullptr, Read};
  check_hdf5(H5Zregister(&filter), "H5Zregister");
  return true;
}

}  // namespace

void register_filters() {
#ifndef SIDESTREAM_WITHOUT_ZSTD
  [[maybe_unused]] static const bool has_zstd = register_filter<read_zstd>(zstd_filter, "zstd");
#endif
#ifndef SIDESTREAM_WITHOUT_ZFP
  [[maybe_unused]] static const bool has_zfp = register_filter<read_zfp>(zfp_filter, "zfp");
#endif
}

namespace {

bool is_none(const core::Compressor& compressor) {
  return &compressor == &core::compressors().front();
}

void add_zstd(hid_t creation) {
  const unsigned level = 1;
  check_hdf5(H5Pset_shuffle(creation), "H5Pset_shuffle");
  check_hdf5(H5Pset_filter(creation, zstd_filter, H5Z_FLAG_MANDATORY, 1, &level), "H5Pset_filter");
}

}  // namespace

void set_filters(hid_t creation, const Chunks& chunks) {
  register_filters();
  const core::Compressor& compressor = *chunks.choice.compressor;
  const core::Compressor& exact = compressor.is_lossy ? core::lossless_compressor() : compressor;
#ifndef SIDESTREAM_WITHOUT_ZFP
  if (compressor.is_lossy && chunks.choice.bound > 0.0) {
    const std::vector<unsigned> header = header_of(chunks.form, chunks.choice.bound);
    check_hdf5(H5Pset_filter(creation, zfp_filter, H5Z_FLAG_MANDATORY, header.size(), header.data()), "H5Pset_filter");
  }
#endif
  if (!is_none(exact)) add_zstd(creation);
}

std::uint32_t left_out_filters(const Chunks& chunks, std::size_t chunk) {
  constexpr std::uint32_t first = 1, those_behind = 6;
  const core::Compressor& compressor = *chunks.choice.compressor;
  if (!compressor.is_lossy || !(chunks.choice.bound > 0.0)) return 0;
  if (chunks.are_exact[chunk]) return first;
  return is_none(core::lossless_compressor()) ? 0 : those_behind;
}

}  // namespace sidestream::io
