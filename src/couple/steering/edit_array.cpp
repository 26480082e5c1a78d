#include "sidestream/couple/edit_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <span>
#include <string_view>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::couple {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view folder_of_arrays = "steering/", ending = ".npy";
constexpr std::size_t header_bytes = 128;
constexpr auto value_bytes = static_cast<std::int64_t>(sizeof(double));

// Of version 1.0 of the format of NumPy (numpy.lib.format).
std::string header_of(const mesh::Box& box) {
  const mesh::Int3 n = box.extent();
  std::string text("\x93NUMPY\x01\x00", 8);
  constexpr std::size_t rest = header_bytes - 10;
  text += static_cast<char>(rest % 256);
  text += static_cast<char>(rest / 256);
  text += fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {}, {}), }}", n.z, n.y, n.x);
  text.resize(header_bytes - 1, ' ');
  return text + '\n';
}

std::int64_t index_in(const mesh::Box& box, int k, int j, int i) {
  const mesh::Int3 n = box.extent();
  return ((std::int64_t{k} - box.lo.z) * n.y + (j - box.lo.y)) * n.x + (i - box.lo.x);
}
std::int64_t offset_in(const mesh::Box& box, int k, int j, int i) {
  return static_cast<std::int64_t>(header_bytes) + value_bytes * index_in(box, k, j, i);
}

// splitmix64 (Steele, Lea & Flood 2014): each bit of what comes out depends on all of what goes in.
std::uint64_t mixed(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

// Modulo 2^64, which no sum of signed numbers is.
std::uint64_t sum_of_all(const comm::Communicator& comm, std::uint64_t own) {
  constexpr std::uint64_t half = 32, low = 0xffffffffU;
  const auto lows = static_cast<std::uint64_t>(comm.sum(static_cast<std::int64_t>(own & low)));
  const auto highs = static_cast<std::uint64_t>(comm.sum(static_cast<std::int64_t>(own >> half)));
  return lows + (highs << half);
}

bool is_name(const std::string& name) {
  if (!name.starts_with(folder_of_arrays) || !name.ends_with(ending)) return false;
  const std::string_view number =
      std::string_view(name).substr(folder_of_arrays.size(), name.size() - folder_of_arrays.size() - ending.size());
  return !number.empty() && std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
}

// Events tell of it, which somebody may have changed.
std::string path_of(const std::string& folder, const RegionEdit& edit) {
  if (!is_name(edit.array.name))
    throw core::Error(fmt::format("`{}` is no array of an edit", edit.array.name), folder,
                      fmt::format("they are called {} and so on", edit_array_name(1)));
  return folder + "/" + edit.array.name;
}

io::InputFile opened(const std::string& folder, const RegionEdit& edit) {
  io::InputFile file(path_of(folder, edit));
  const std::string header = header_of(edit.cells);
  const std::int64_t size = offset_in(edit.cells, edit.cells.hi.z, edit.cells.lo.y, edit.cells.lo.x);
  if (file.size_bytes() != size || !std::ranges::equal(file.bytes(0, header_bytes), std::as_bytes(std::span(header))))
    throw core::Error(fmt::format("the file holds no array on {}", mesh::to_string(edit.cells)), file.path(),
                      "it is that of another edit, or damaged");
  return file;
}

// Along z or, where the box is flat, along y: a slab lies in one piece.
mesh::Layout slabs(const mesh::Box& box, int ranks) {
  const int axis = box.extent().z > 1 ? 2 : 1;
  mesh::Int3 parts{1, 1, 1};
  parts[axis] = std::min(ranks, box.extent()[axis]);
  return mesh::split(box, parts, {false, false, false});
}

// Of the slabs of a rank.
std::uint64_t read_slabs(const io::InputFile& file, const mesh::Box& box, mesh::Field<double>& values) {
  std::uint64_t checksum = 0;
  for (int b = 0; b < values.blocks(); ++b) {
    const mesh::Box& slab = values.box(b);
    double* const first = &values.view(b)(slab.lo.z, slab.lo.y, slab.lo.x);
    file.read(offset_in(box, slab.lo.z, slab.lo.y, slab.lo.x),
              std::as_writable_bytes(std::span(first, static_cast<std::size_t>(slab.volume()))));
    checksum += edit_checksum(box, slab, values.view(b));
  }
  return checksum;
}

void require_checksum(std::uint64_t checksum, const std::string& folder, const RegionEdit& edit) {
  if (checksum_text(checksum) != edit.array.checksum)
    throw core::Error("the array of an edit is damaged", path_of(folder, edit),
                      fmt::format("its checksum is {}, and was {}", checksum_text(checksum), edit.array.checksum));
}

}  // namespace

std::string edit_array_name(std::int64_t number) {
  return fmt::format("{}{:05}{}", folder_of_arrays, number, ending);
}

std::string checksum_text(std::uint64_t checksum) {
  return fmt::format("{:016x}", checksum);
}

std::uint64_t edit_checksum(const mesh::Box& box, const mesh::Box& cells, core::View4<const double> values) {
  std::uint64_t sum = 0;
  core::for_each_cell(cells, [&](int k, int j, int i) {
    const auto index = static_cast<std::uint64_t>(index_in(box, k, j, i));
    sum += mixed(std::bit_cast<std::uint64_t>(values(k, j, i)) ^ mixed(index));
  });
  return sum;
}

io::OutputFile new_edit_array(const std::string& path, const mesh::Box& box) {
  io::OutputFile file(path, io::OutputFile::Open::create);
  file.reserve(offset_in(box, box.hi.z, box.lo.y, box.lo.x));
  file.write(header_of(box));
  return file;
}

void write_part(io::OutputFile& file, const mesh::Box& box, const mesh::Box& cells, core::View4<const double> values) {
  core::for_each_row(cells, [&](int k, int j) {
    const std::span row(&values(k, j, cells.lo.x), static_cast<std::size_t>(cells.extent().x));
    file.write_at(offset_in(box, k, j, cells.lo.x), std::as_bytes(row));
  });
}

mesh::Field<double> read_edit_array(const comm::Communicator& comm, const std::string& folder, const RegionEdit& edit) {
  mesh::Field<double> values(slabs(edit.cells, comm.size()), comm.rank());
  std::uint64_t checksum = 0;
  comm.agree_on([&] { checksum = read_slabs(opened(folder, edit), edit.cells, values); });
  require_checksum(sum_of_all(comm, checksum), folder, edit);
  return values;
}

void check_edit_array(const std::string& folder, const RegionEdit& edit) {
  const io::InputFile file = opened(folder, edit);
  std::uint64_t checksum = 0;
  for (std::int32_t z = edit.cells.lo.z; z < edit.cells.hi.z; ++z) {
    mesh::Box plane = edit.cells;
    plane.lo.z = z;
    plane.hi.z = z + 1;
    mesh::Field<double> values(mesh::split(plane, {1, 1, 1}, {false, false, false}), 0);
    checksum += read_slabs(file, edit.cells, values);
  }
  require_checksum(checksum, folder, edit);
}

void copy_edit_array(const std::string& from, const std::string& to, const RegionEdit& edit) {
  const std::string source = path_of(from, edit), target = path_of(to, edit);
  try {
    fs::create_directories(fs::path(target).parent_path());
    if (fs::exists(target) && fs::equivalent(source, target)) return;
    fs::copy_file(source, target, fs::copy_options::overwrite_existing);
  } catch (const fs::filesystem_error& error) {
    throw core::Error(fmt::format("the array of an edit cannot be copied: {}", error.code().message()), source);
  }
}

}  // namespace sidestream::couple
