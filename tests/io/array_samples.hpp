#pragma once

#ifndef SIDESTREAM_WITHOUT_PNETCDF
#include <pnetcdf.h>
#endif
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::test {

/// The same numbers on all ranks.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// In [low, high].
  std::int64_t of(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  template <typename T>
  const T& one_of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(of(0, static_cast<std::int64_t>(all.size()) - 1))];
  }
  template <typename T>
  void shuffle(std::vector<T>& all) {
    for (std::size_t i = all.size(); i > 1; --i)
      std::swap(all[i - 1], all[static_cast<std::size_t>(of(0, static_cast<std::int64_t>(i) - 1))]);
  }

 private:
  std::mt19937_64 engine_;
};

inline std::uint64_t mixed(std::initializer_list<std::int64_t> numbers) {
  return XXH3_64bits(std::data(numbers), numbers.size() * sizeof(std::int64_t));
}

/// A group of arrays with values that any rank can tell.
struct SampleGroup {
  io::ArrayGroup group;
  std::vector<io::RowRun> all_runs;
  std::function<std::uint64_t(std::size_t array, std::int64_t row, std::int64_t element)> value;
  std::shared_ptr<mesh::Field<double>> field;  // of groups in place

  void put(std::size_t array, const io::RowRun& run, std::span<std::byte> out) const {
    const io::Array& of = group.arrays[array];
    const auto size = static_cast<std::size_t>(io::size_of(of.type));
    std::byte* next = out.data();
    for (std::int64_t row = run.first; row < run.first + run.count; ++row)
      for (std::int64_t e = 0; e < of.row_elements(); ++e, next += size) {
        const std::uint64_t bits = value(array, row, e);
        std::memcpy(next, &bits, size);
      }
  }
  std::vector<std::byte> bytes(std::size_t array) const {
    std::vector<std::byte> all(static_cast<std::size_t>(group.rows * group.arrays[array].row_bytes()));
    put(array, {0, 0, group.rows}, all);
    return all;
  }
};

/// Rows cut into runs, of which each rank of `owners` has some and others none.
inline void deal_runs(SampleGroup& sample, const std::vector<std::int64_t>& counts, const std::vector<int>& owners,
                      int rank, Dice& dice) {
  for (const std::int64_t count : counts) {
    const io::RowRun run{static_cast<std::int64_t>(sample.all_runs.size()), sample.group.rows, count};
    sample.all_runs.push_back(run);
    sample.group.rows += count;
    if (dice.one_of(owners) == rank) sample.group.runs.push_back(run);
  }
  sample.group.run_total = static_cast<std::int64_t>(sample.all_runs.size());
}

/// Makes `file` with one of the tiny makers below at its end; remembers the places of the arrays.
using Offsets = std::shared_ptr<std::vector<std::int64_t>>;

inline auto hdf5_maker(Offsets offsets) {
  return [offsets](const std::string& path, std::span<const io::Array> arrays, std::span<const std::int64_t> rows) {
    const io::QuietHdf5 quiet;
    const io::FileHandle file = io::create_hdf5_file(path);
    io::put_text_dataset(file, "before", "a small table");
    offsets->clear();
    for (std::size_t a = 0; a < arrays.size(); ++a)
      offsets->push_back(io::offset_of(io::create_array(file, arrays[a], rows[a])));
    io::put_text_dataset(file, "behind", std::string(300, 'b'));
    return *offsets;
  };
}

#ifndef SIDESTREAM_WITHOUT_PNETCDF
inline auto netcdf_maker(Offsets offsets) {
  return [offsets](const std::string& path, std::span<const io::Array> arrays, std::span<const std::int64_t> rows) {
    const auto check = [](int status) {
      if (status != NC_NOERR) throw core::Error(ncmpi_strerror(status));
    };
    int file = -1;
    check(ncmpi_create(MPI_COMM_SELF, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
    std::vector<int> variables(arrays.size());
    for (std::size_t a = 0; a < arrays.size(); ++a) {
      std::vector<std::int64_t> shape = arrays[a].row_shape;
      shape.insert(shape.begin(), rows[a]);
      std::vector<int> axes(shape.size());
      for (std::size_t k = 0; k < shape.size(); ++k)
        check(ncmpi_def_dim(file, (arrays[a].name + "_" + std::to_string(k)).c_str(), shape[k], &axes[k]));
      constexpr nc_type types[] = {NC_FLOAT, NC_DOUBLE, NC_INT, NC_INT64};
      check(ncmpi_def_var(file, arrays[a].name.c_str(), types[static_cast<int>(arrays[a].type)],
                          static_cast<int>(axes.size()), axes.data(), &variables[a]));
    }
    check(ncmpi_enddef(file));
    offsets->clear();
    for (const int variable : variables) {
      MPI_Offset offset = 0;
      check(ncmpi_inq_varoffset(file, variable, &offset));
      offsets->push_back(offset);
    }
    check(ncmpi_close(file));
    return *offsets;
  };
}
#endif

/// Arrays in any order, with gaps.
inline auto raw_maker(Offsets offsets, std::uint64_t seed) {
  return
      [offsets, seed](const std::string& path, std::span<const io::Array> arrays, std::span<const std::int64_t> rows) {
        Dice dice(seed);
        std::vector<std::size_t> order(arrays.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        dice.shuffle(order);
        std::int64_t end = dice.of(0, 200);
        io::OutputFile file(path, io::OutputFile::Open::modify);
        file.write(std::string(static_cast<std::size_t>(end), 'h'));
        file.close();
        offsets->assign(arrays.size(), 0);
        for (const std::size_t a : order) {
          (*offsets)[a] = end;
          end += rows[a] * arrays[a].row_bytes() + (dice.of(0, 2) == 0 ? dice.of(0, 100) : 0);
        }
        return *offsets;
      };
}

/// Bytes of the file at `path` from `offset` on that are not `expected`; all where the file is too short.
inline std::int64_t bytes_that_differ(const std::string& path, std::int64_t offset,
                                      std::span<const std::byte> expected) {
  const io::InputFile file(path);
  const auto size = static_cast<std::int64_t>(expected.size());
  if (offset < 0 || file.size_bytes() < offset + size) return size;
  const std::vector<std::byte> found = file.bytes(offset, size);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < found.size(); ++i) count += found[i] != expected[i] ? 1 : 0;
  return count;
}

}  // namespace sidestream::test
