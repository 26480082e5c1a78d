#include <array>
#include <cstring>

#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/formats/flash/flash_header.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

// Texts are padded with blanks to their full length and have no closing zero, though their type is the one that C
// programs use: readers of FLASH files count on both.
TypeHandle text_type(std::size_t length) {
  TypeHandle type(H5Tcopy(H5T_C_S1), "H5Tcopy");
  check_hdf5(H5Tset_size(type, length), "H5Tset_size");
  return type;
}

void append_padded(const std::string& text, std::size_t length, std::string& bytes) {
  bytes += text.substr(0, length);
  bytes.append(length - std::min(length, text.size()), ' ');
}

void put_texts(hid_t file, const std::string& name, const std::vector<std::string>& texts, std::size_t length) {
  std::string bytes;
  for (const std::string& text : texts) append_padded(text, length, bytes);
  put_dataset(file, name, text_type(length), {static_cast<std::int64_t>(texts.size()), 1}, bytes.data());
}

constexpr std::size_t name_length = 80;

// A table of names and values.
void put_pairs(hid_t file, const std::string& name, hid_t value_type, std::int64_t rows, const std::string& bytes) {
  const TypeHandle name_type = text_type(name_length),
                   pair(H5Tcreate(H5T_COMPOUND, name_length + H5Tget_size(value_type)), "H5Tcreate");
  check_hdf5(H5Tinsert(pair, "name", 0, name_type), "H5Tinsert");
  check_hdf5(H5Tinsert(pair, "value", name_length, value_type), "H5Tinsert");
  put_dataset(file, name, pair, {rows}, bytes.data());
}

template <typename T>
void put_scalars(hid_t file, const std::string& name, hid_t type, const Scalars<T>& scalars) {
  std::string bytes;
  for (const auto& [key, value] : scalars) {
    append_padded(key, name_length, bytes);
    if constexpr (std::is_same_v<T, std::string>)
      append_padded(value, name_length, bytes);
    else
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  if (!scalars.empty()) put_pairs(file, name, type, static_cast<std::int64_t>(scalars.size()), bytes);
}

void put_all_scalars(hid_t file, const FlashTables& tables) {
  const TypeHandle text = text_type(name_length);
  put_scalars(file, "integer scalars", H5T_STD_I32LE, tables.integer_scalars);
  put_scalars(file, "integer runtime parameters", H5T_STD_I32LE, tables.integer_parameters);
  put_scalars(file, "real scalars", H5T_IEEE_F64LE, tables.real_scalars);
  put_scalars(file, "real runtime parameters", H5T_IEEE_F64LE, tables.real_parameters);
  put_scalars(file, "string scalars", text, tables.string_scalars);
  put_scalars(file, "string runtime parameters", text, tables.string_parameters);
  put_scalars(file, "logical scalars", H5T_STD_I32LE, tables.logical_scalars);
  put_scalars(file, "logical runtime parameters", H5T_STD_I32LE, tables.logical_parameters);
}

// Times and machines stay blank: a file depends on the state alone.
void put_sim_info(hid_t file) {
  constexpr std::array<std::pair<const char*, std::size_t>, 10> members{{{"setup call", 400},
                                                                         {"file creation time", 80},
                                                                         {"flash version", 80},
                                                                         {"build date", 80},
                                                                         {"build dir", 80},
                                                                         {"build machine", 80},
                                                                         {"cflags", 400},
                                                                         {"fflags", 400},
                                                                         {"setup time stamp", 80},
                                                                         {"build time stamp", 80}}};
  const std::int32_t version = 9;
  std::string bytes(reinterpret_cast<const char*>(&version), sizeof version);
  for (const auto& [name, length] : members)
    append_padded(std::string_view(name) == "flash version" ? "Sidestream " SIDESTREAM_VERSION : "", length, bytes);
  const TypeHandle info(H5Tcreate(H5T_COMPOUND, bytes.size()), "H5Tcreate");
  check_hdf5(H5Tinsert(info, "file format version", 0, H5T_STD_I32LE), "H5Tinsert");
  std::size_t offset = sizeof version;
  for (const auto& [name, length] : members) {
    check_hdf5(H5Tinsert(info, name, offset, text_type(length)), "H5Tinsert");
    offset += length;
  }
  put_dataset(file, "sim info", info, {1}, bytes.data());
}

void put_tree(hid_t file, const FlashTables& tables) {
  const std::int64_t n = tables.blocks;
  put_dataset(file, "bounding box", H5T_IEEE_F64LE, {n, 3, 2}, tables.bounding_box.data());
  put_dataset(file, "coordinates", H5T_IEEE_F64LE, {n, 3}, tables.coordinates.data());
  put_dataset(file, "block size", H5T_IEEE_F64LE, {n, 3}, tables.block_size.data());
  put_dataset(file, "refine level", H5T_STD_I32LE, {n}, tables.refine_level.data());
  put_dataset(file, "node type", H5T_STD_I32LE, {n}, tables.node_type.data());
  put_dataset(file, "gid", H5T_STD_I32LE, {n, tables.gid_width}, tables.gid.data());
  put_dataset(file, "processor number", H5T_STD_I32LE, {n}, tables.processor.data());
}

}  // namespace

std::vector<std::int64_t> create_flash_hdf5(const std::string& path, const FlashHeader& header,
                                            std::span<const Array> arrays, std::span<const std::int64_t> rows) {
  const FlashTables tables = flash_tables(header.content, header.particles_of_blocks);
  const QuietHdf5 quiet;
  FileHandle file = create_hdf5_file(path, 0, arrays);
  std::vector<std::int64_t> offsets{place_array(file, arrays[0], rows[0])};
  put_text_dataset(file, "sidestream", header.metadata);
  put_sim_info(file);
  put_all_scalars(file, tables);
  put_texts(file, "unknown names", flash_variables(header.content), 4);
  put_tree(file, tables);
  if (header.has_particles) {
    put_texts(file, "particle names", flash_particle_properties(header.content), 24);
    put_dataset(file, "localnp", H5T_STD_I32LE, {tables.blocks}, tables.particles_of_blocks.data());
  }
  for (std::size_t a = 1; a < arrays.size(); ++a) offsets.push_back(place_array(file, arrays[a], rows[a]));
  file.close("H5Fclose");
  return offsets;
}

}  // namespace sidestream::io
