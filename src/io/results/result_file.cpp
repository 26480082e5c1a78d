#include "sidestream/io/result_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "io/disk/commit_record.hpp"
#include "io/results/result_reader.hpp"
#include "io/results/result_rows.hpp"
#include "io/results/result_writer.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/sparse.hpp"
#include "sidestream/io/write_snapshot.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {

namespace {

using mesh::Column;
using mesh::Result;
using nlohmann::json;

void check_distributed(const Result& result) {
  for (const std::string& name : result.distributed)
    if (!result.dimensions.contains(name))
      throw core::Error(fmt::format("the distributed dimension `{}` has no length", name));
  for (const Column& column : result.columns)
    if (is_spread(result, column) && column.dimensions.size() != 1)
      throw core::Error(fmt::format("the distributed column `{}` has a second dimension", column.name));
}

void check_consistent(const Result& result) {
  std::set<std::string> names;
  for (const Column& column : result.columns) {
    std::int64_t count = 1;
    for (const std::string& dimension : column.dimensions) {
      if (!result.dimensions.contains(dimension))
        throw core::Error(fmt::format("column `{}` has the unknown dimension `{}`", column.name, dimension));
      count *= result.dimensions.at(dimension);
    }
    const auto size = std::visit([](const auto& values) { return values.size(); }, column.values);
    if (static_cast<std::int64_t>(size) != count)
      throw core::Error(fmt::format("column `{}` has {} values, its dimensions {}", column.name, size, count));
    if (!names.insert(column.name).second) throw core::Error(fmt::format("there are two columns `{}`", column.name));
  }
  check_distributed(result);
}

// Runs `work`, whose errors are to name the file.
template <typename F>
auto naming(const std::string& path, F work) {
  try {
    return work();
  } catch (const core::Error& error) {
    throw core::Error(error.message(), error.where().empty() ? path : error.where(), error.hint());
  }
}

// `bytes` of a whole file with the record behind them.
std::string with_record(std::string bytes) {
  const std::vector<std::byte> record =
      commit_record({}, std::ssize(bytes), [&](std::int64_t offset, std::span<std::byte> out) {
        std::memcpy(out.data(), bytes.data() + offset, out.size());
      });
  return bytes.append(reinterpret_cast<const char*>(record.data()), record.size());
}

void make_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty()) make_lasting_folder(folder);
}

// Before the table, so that whoever sees the table finds it.
void write_cut_out(const comm::Communicator& comm, const std::string& path, const mesh::Snapshot& cut_out) {
  comm.agree_on([&] {
    if (comm.rank() == 0) make_folder_of(path);
  });
  FileChoice choice;
  choice.format = &formats().named("vtkhdf");
  choice.quantities = mesh::names_of(cut_out.quantities());
  choice.texts[sparse_text] = "regions";
  write_snapshot(comm, cut_out, choice, cut_out_path(path));
}

// --- writing rows
// -------------------------------------------------------------------------------------------------------------------

std::vector<const Column*> spread_columns_of(const Result& result) {
  std::vector<const Column*> columns;
  for (const Column& column : result.columns)
    if (is_spread(result, column)) columns.push_back(&column);
  return columns;
}

// What all ranks must say alike of a result.
std::string words_for(const Result& result) {
  if (result.distributed.empty()) return "";
  json words = {{"distributed", result.distributed}};
  for (const Column* column : spread_columns_of(result))
    words["columns"].push_back(
        {column->name, column->unit, column->description, column->dimensions[0], column->values.index()});
  std::string bytes;
  json::to_cbor(words, bytes);
  return bytes;
}

void check_alike(const comm::Communicator& comm, const std::string& path, const Result& result) {
  const std::string own = words_for(result), first = comm.broadcast(own);
  comm.agree_on([&] {
    if (own != first)
      throw core::Error(fmt::format("rank {} and the first have different distributed columns", comm.rank()), path);
  });
}

// The rows of all ranks on their way to a file. Collective.
class SpreadWriter {
 public:
  SpreadWriter(const comm::Communicator& comm, const std::string& path, const Result& result,
               const ResultAttributes& extra)
      : comm_(comm), path_(path), result_(result), extra_(extra), columns_(spread_columns_of(result)) {
    find_rows();
    describe_columns();
  }

  void write() {
    ArrayFile file;
    for (const auto& [name, rows] : rows_)
      for (const bool are_doubles : {false, true}) add_group(file, name, are_doubles);
    file.create = [&](const std::string& where, std::span<const Array> arrays, std::span<const std::int64_t>) {
      return naming(path_, [&] { return create(where, arrays); });
    };
    write_array_file(comm_, path_, file, {});
  }

 private:
  void find_rows() {
    lengths_ = result_.dimensions;
    for (const std::string& name : result_.distributed) {
      RowRange& rows = rows_[name];
      rows.count = result_.dimensions.at(name);
      comm::check(MPI_Exscan(&rows.count, &rows.first, 1, MPI_INT64_T, MPI_SUM, comm_.raw()), "MPI_Exscan");
      if (comm_.rank() == 0) rows.first = 0;
      lengths_[name] = comm_.sum(rows.count);
    }
  }

  void describe_columns() {
    std::vector<std::uint64_t> checksums;
    for (const Column* column : columns_)
      checksums.push_back(checksum_of_rows(rows_.at(column->dimensions[0]).first, bytes_of(*column)));
    add_checksums(comm_, checksums);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = *columns_[c];
      const std::string& dimension = column.dimensions[0];
      spread_.push_back({column.name, column.unit, column.description, dimension,
                         std::holds_alternative<std::vector<double>>(column.values), lengths_.at(dimension), 0,
                         static_cast<std::int64_t>(checksums[c])});
    }
  }

  // The columns of one type over a dimension; none where there are no rows.
  void add_group(ArrayFile& file, const std::string& dimension, bool are_doubles) const {
    ArrayGroup group;
    std::vector<const Column*> members;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (spread_[c].dimension != dimension || spread_[c].is_double != are_doubles) continue;
      members.push_back(columns_[c]);
      group.arrays.push_back({columns_[c]->name, are_doubles ? ElementType::float64 : ElementType::int64, {}});
    }
    group.rows = lengths_.at(dimension);
    if (members.empty() || group.rows == 0) return;
    group.run_total = comm_.size();
    group.runs = {{comm_.rank(), rows_.at(dimension).first, rows_.at(dimension).count}};
    group.pack = [members = std::move(members)](std::size_t array, std::size_t, std::span<std::byte> out) {
      std::ranges::copy(bytes_of(*members[array]), out.begin());
    };
    file.groups.push_back(std::move(group));
  }

  std::vector<std::int64_t> create(const std::string& where, std::span<const Array> arrays) const {
    const QuietHdf5 quiet;
    ResultWriter writer(create_result_at(where), result_, spread_, lengths_);
    writer.write_all(extra_);
    std::vector<std::int64_t> offsets;
    for (const Array& array : arrays) offsets.push_back(writer.offset(array.name));
    writer.close();
    return offsets;
  }

  const comm::Communicator& comm_;
  const std::string& path_;
  const Result& result_;
  const ResultAttributes& extra_;
  std::vector<const Column*> columns_;
  std::vector<SpreadColumn> spread_;
  std::map<std::string, RowRange> rows_;         // of this rank, by dimension
  std::map<std::string, std::int64_t> lengths_;  // of all dimensions, over all ranks
};

// --- reading rows
// -------------------------------------------------------------------------------------------------------------------

// Puts the rows `mine(rows of all)` of each column in its place in `result`, and returns a checksum of them for each.
template <typename Mine>
std::vector<std::uint64_t> read_rows(const std::string& path, const std::vector<SpreadColumn>& spread, Mine mine,
                                     Result& result) {
  std::vector<std::uint64_t> checksums;
  if (spread.empty()) return checksums;
  const InputFile file(path);
  for (const SpreadColumn& column : spread) {
    const RowRange rows = mine(column.rows);
    const auto place = std::ranges::find(result.columns, column.name, &Column::name);
    std::visit(
        [&](auto& values) {
          values.resize(static_cast<std::size_t>(rows.count));
          file.read(column.offset + 8 * rows.first, std::as_writable_bytes(std::span(values)));
        },
        place->values);
    checksums.push_back(checksum_of_rows(rows.first, bytes_of(*place)));
  }
  return checksums;
}

void check_rows(const std::string& path, const std::vector<SpreadColumn>& spread,
                const std::vector<std::uint64_t>& checksums) {
  for (std::size_t c = 0; c < spread.size(); ++c)
    if (checksums[c] != static_cast<std::uint64_t>(spread[c].checksum))
      throw core::Error(fmt::format("the checksum of the column `{}` is wrong", spread[c].name), path,
                        "the file is damaged; use another copy");
}

// What ranks other than the first are told of a result.
std::string packed_spread(const StoredResult& stored) {
  json message = {{"columns", to_message(stored.spread)}, {"lengths", json::object()}};
  for (const std::string& name : stored.result.distributed)
    message["lengths"][name] = stored.result.dimensions.at(name);
  std::string bytes;
  json::to_cbor(message, bytes);
  return bytes;
}

StoredResult unpacked_spread(const std::string& bytes) {
  const json message = json::from_cbor(bytes);
  StoredResult stored;
  stored.spread = spread_columns_from(message.at("columns"));
  message.at("lengths").get_to(stored.result.dimensions);
  for (const auto& [name, length] : stored.result.dimensions) stored.result.distributed.insert(name);
  for (const SpreadColumn& column : stored.spread) {
    Column& own = stored.result.columns.emplace_back(
        Column{column.name, column.unit, column.description, {column.dimension}, std::vector<double>()});
    if (!column.is_double) own.values = std::vector<std::int64_t>();
  }
  return stored;
}

}  // namespace

void write_result(const std::string& path, const Result& result, const ResultAttributes& extra) {
  const std::string bytes = naming(path, [&] {
    const QuietHdf5 quiet;
    core::require(result.distributed.empty(), "a result with rows of many ranks is written by all of them");
    check_consistent(result);
    const std::vector<SpreadColumn> none;
    ResultWriter writer(create_result_in_memory(), result, none, result.dimensions);
    writer.write_all(extra);
    return with_record(writer.bytes());
  });
  make_folder_of(path);
  write_file_atomically(path, bytes);
}

std::string cut_out_path(const std::string& path) {
  return std::filesystem::path(path).replace_extension(".vtkhdf").string();
}

std::string attachment_path(const std::string& path, const std::string& ending) {
  return std::filesystem::path(path).replace_extension(ending).string();
}

void write_result(const comm::Communicator& comm, const std::string& path, const Result& result,
                  const ResultAttributes& extra) {
  comm.agree_on([&] { naming(path, [&] { check_consistent(result); }); });
  check_alike(comm, path, result);
  if (result.cut_out) write_cut_out(comm, path, *result.cut_out);
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    make_folder_of(path);
    for (const auto& [ending, bytes] : result.attachments) write_file_atomically(attachment_path(path, ending), bytes);
    if (result.distributed.empty()) write_result(path, result, extra);
  });
  if (!result.distributed.empty()) SpreadWriter(comm, path, result, extra).write();
}

Result read_result(const std::string& path) {
  StoredResult stored = read_stored_result(path);
  const auto all = [](std::int64_t rows) { return RowRange{0, rows}; };
  check_rows(path, stored.spread, read_rows(path, stored.spread, all, stored.result));
  return std::move(stored.result);
}

Result read_result(const comm::Communicator& comm, const std::string& path) {
  StoredResult stored;
  comm.agree_on([&] {
    if (comm.rank() == 0) stored = read_stored_result(path);
  });
  const std::string told = comm.broadcast(comm.rank() == 0 ? packed_spread(stored) : "");
  if (comm.rank() != 0) stored = unpacked_spread(told);
  const auto mine = [&](std::int64_t rows) { return dealt_rows(rows, comm.rank(), comm.size()); };
  for (const std::string& name : stored.result.distributed)
    stored.result.dimensions[name] = mine(stored.result.dimensions[name]).count;
  std::vector<std::uint64_t> checksums;
  comm.agree_on([&] { checksums = read_rows(path, stored.spread, mine, stored.result); });
  add_checksums(comm, checksums);
  comm.agree_on([&] { check_rows(path, stored.spread, checksums); });
  return std::move(stored.result);
}

std::int64_t checksum_of_all_rows(std::span<const std::byte> rows) {
  return static_cast<std::int64_t>(checksum_of_rows(0, rows));
}

}  // namespace sidestream::io
