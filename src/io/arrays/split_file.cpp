#include "io/arrays/split_file.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/disk/file_parts.hpp"
#include "sidestream/comm/sparse_exchange.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

using Ranges = std::vector<RowRange>;

// Ranges that touch become one.
void append(Ranges& ranges, std::int64_t first, std::int64_t count) {
  if (count == 0) return;
  if (!ranges.empty() && ranges.back().first + ranges.back().count == first)
    ranges.back().count += count;
  else
    ranges.push_back({first, count});
}

// A part has no groups, which HDF5 would give the time of their making.
std::string name_in_part(std::string name) {
  std::ranges::replace(name, '/', '.');
  return name;
}

// What of a group lies in a part: rows and runs of the whole, ascending.
struct Share {
  Ranges rows, runs;
};

struct PartFile {
  ArrayFile file;
  std::vector<Share> shares;  // of each group
};

// The group with the runs of these ranks alone, counted anew.
ArrayGroup part_of(const comm::Communicator& ranks, const ArrayGroup& whole, Share& share) {
  std::vector<RowRun> runs = ranks.all_gather(std::span(whole.runs));
  std::ranges::sort(runs, {}, &RowRun::number);
  ArrayGroup part = whole;
  part.rows = 0;
  part.run_total = std::ssize(runs);
  std::vector<std::int64_t> numbers;
  auto own = part.runs.begin();
  for (const RowRun& run : runs) {
    if (own != part.runs.end() && own->number == run.number) *own++ = {std::ssize(numbers), part.rows, run.count};
    part.rows += run.count;
    numbers.push_back(run.number);
    append(share.rows, run.first, run.count);
    append(share.runs, run.number, 1);
  }
  for (Array& array : part.arrays) array.name = name_in_part(array.name);
  part.checksums = name_in_part(part.checksums);
  if (runs.empty()) part.compression.clear();
  if (whole.form)
    part.form = [form = whole.form, numbers = std::move(numbers)](std::int64_t number) {
      return form(numbers[static_cast<std::size_t>(number)]);
    };
  return part;
}

PartFile part_file(const comm::Communicator& ranks, const ArrayFile& whole) {
  PartFile part;
  part.file.container = whole.container;
  part.file.record = name_in_part(whole.record);
  part.shares.resize(whole.groups.size());
  for (std::size_t g = 0; g < whole.groups.size(); ++g)
    part.file.groups.push_back(part_of(ranks, whole.groups[g], part.shares[g]));
  return part;
}

// Arrays and nothing else, first what is small: record and checksums. `head_bytes` is what lies before all others.
auto maker_of_part(const ArrayFile& part, std::int64_t& head_bytes) {
  std::set<std::string> small{part.record};
  for (const ArrayGroup& group : part.groups) small.insert(group.checksums);
  return
      [small, &head_bytes](const std::string& path, std::span<const Array> arrays, std::span<const std::int64_t> rows) {
        const QuietHdf5 quiet;
        FileHandle file = create_hdf5_file(path, 0, arrays);
        std::vector<std::int64_t> offsets(arrays.size());
        head_bytes = std::numeric_limits<std::int64_t>::max();
        for (const bool are_small : {true, false})
          for (std::size_t a = 0; a < arrays.size(); ++a) {
            if (small.contains(arrays[a].name) != are_small) continue;
            offsets[a] = place_array(file, arrays[a], rows[a]);
            if (!are_small && rows[a] > 0) head_bytes = std::min(head_bytes, offsets[a]);
          }
        file.close("H5Fclose");
        return offsets;
      };
}

// --- what the first rank of a part tells the first of all
// ----------------------------------------------------------------------------------------------------

using Numbers = std::vector<std::int64_t>;

void put(const Ranges& ranges, Numbers& message) {
  message.push_back(std::ssize(ranges));
  for (const RowRange& range : ranges) message.insert(message.end(), {range.first, range.count});
}

Ranges taken(std::span<const std::int64_t>& message) {
  Ranges ranges(static_cast<std::size_t>(message[0]));
  for (std::size_t r = 0; r < ranges.size(); ++r) ranges[r] = {message[1 + 2 * r], message[2 + 2 * r]};
  message = message.subspan(1 + 2 * ranges.size());
  return ranges;
}

struct Told {
  PartSeal seal;
  std::vector<Share> shares;
};

Numbers message_of(const Told& told) {
  Numbers message{told.seal.bytes, told.seal.head_bytes, told.seal.head_checksum};
  for (const Share& share : told.shares) {
    put(share.rows, message);
    put(share.runs, message);
  }
  return message;
}

Told told_by(std::span<const std::int64_t> message) {
  Told told{{message[0], message[1], message[2]}, {}};
  for (message = message.subspan(3); !message.empty();) {
    Share& share = told.shares.emplace_back();
    share.rows = taken(message);
    share.runs = taken(message);
  }
  return told;
}

// In the order of the parts, on the first rank.
std::vector<Told> told_by_parts(const comm::Communicator& comm, bool is_first_of_part, const Told& own) {
  comm::ByRank<std::int64_t> outgoing;
  if (is_first_of_part) outgoing[0] = message_of(own);
  std::vector<Told> all;
  for (const auto& [rank, message] : comm::deliver(comm, outgoing).incoming) all.push_back(told_by(message));
  return all;
}

// --- the master
// ----------------------------------------------------------------------------------------------------

// An array of the whole that lies in the parts.
Array spread_over(Array array, std::size_t group, Ranges Share::*which, const std::vector<Told>& parts) {
  const auto spread = std::make_shared<Spread>();
  for (std::size_t p = 0; p < parts.size(); ++p)
    spread->push_back(
        {part_name(static_cast<std::int64_t>(p)), name_in_part(array.name), parts[p].shares[group].*which});
  array.spread = spread;
  return array;
}

// The seals of the parts, a row each, from the first rank.
ArrayGroup group_of_seals(int parts, const std::vector<Told>& told) {
  ArrayGroup group;
  group.rows = parts;
  group.run_total = 1;
  group.arrays = {{part_seals_name, ElementType::int64, {3}}};
  if (!told.empty()) group.runs = {{0, 0, parts}};
  Numbers numbers;
  for (const auto& [seal, shares] : told)
    numbers.insert(numbers.end(), {seal.bytes, seal.head_bytes, seal.head_checksum});
  group.pack = [numbers](std::size_t, std::size_t, std::span<std::byte> out) {
    std::ranges::copy(std::as_bytes(std::span(numbers)), out.begin());
  };
  return group;
}

// The whole as its format makes it, but for the arrays, which are shown.
ArrayFile master_file(const ArrayFile& whole, int parts, const std::vector<Told>& told) {
  ArrayFile master;
  master.container = whole.container;
  master.record = whole.record;
  master.groups = {group_of_seals(parts, told)};
  master.create = [&whole, &told](const std::string& path, std::span<const Array> own,
                                  std::span<const std::int64_t> own_rows) {
    std::vector<Array> arrays(own.begin(), own.end());
    Numbers rows(own_rows.begin(), own_rows.end());
    for (std::size_t g = 0; g < whole.groups.size(); ++g) {
      const ArrayGroup& group = whole.groups[g];
      if (group.checksums.empty()) continue;
      arrays.push_back(
          spread_over({group.checksums, ElementType::int64, {std::ssize(group.arrays)}}, g, &Share::runs, told));
      rows.push_back(group.run_total);
    }
    for (std::size_t g = 0; g < whole.groups.size(); ++g)
      for (const Array& array : whole.groups[g].arrays) {
        arrays.push_back(spread_over(array, g, &Share::rows, told));
        rows.push_back(whole.groups[g].rows);
      }
    std::vector<std::int64_t> offsets = whole.create(path, arrays, rows);
    offsets.resize(own.size());
    return offsets;
  };
  return master;
}

}  // namespace

AccessStatistics write_split_file(const comm::Communicator& comm, const std::string& folder, const ArrayFile& file,
                                  int parts, const WriteOptions& options) {
  const int part = static_cast<int>(std::int64_t{comm.rank()} * parts / comm.size());
  const comm::Communicator ranks = comm.split(part);
  const std::string path = folder + "/" + part_name(part);
  PartFile own = part_file(ranks, file);
  std::int64_t head_bytes = 0;
  own.file.create = maker_of_part(own.file, head_bytes);
  AccessStatistics statistics;
  comm.agree_on([&] { statistics = write_array_file_in_place(ranks, path, own.file, options); });
  Told told{{}, std::move(own.shares)};
  comm.agree_on([&] {
    if (ranks.rank() != 0) return;
    told.seal = seal_of(path, std::min(head_bytes, InputFile(path).size_bytes()));
  });
  const std::vector<Told> all = told_by_parts(comm, ranks.rank() == 0, told);
  WriteOptions plain;
  plain.is_durable = options.is_durable;
  statistics += write_array_file_in_place(comm, folder + "/" + master_name, master_file(file, parts, all), plain);
  comm.agree_on([&] {
    if (comm.rank() == 0 && options.is_durable) sync_folder(folder);
  });
  return statistics;
}

}  // namespace sidestream::io
