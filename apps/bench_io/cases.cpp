#include "cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "sidestream/core/timer.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/write_snapshot.hpp"

namespace sidestream::bench {

namespace {

constexpr std::size_t large_piece = std::size_t{16} << 20;

bool is_selected(const std::vector<std::string>& wanted, const std::string& name) {
  return wanted.empty() || std::ranges::find(wanted, name) != wanted.end();
}

void finish(io::OutputFile& file, bool is_durable) {
  is_durable ? file.sync_and_close() : file.close();
}

// Each rank packs its cells and writes them to a file of its own.
Case file_per_rank(const comm::Communicator& comm, const Workload& workload, const std::string& name,
                   const io::FileChoice& content, const std::string& path) {
  const std::string own_path = fmt::format("{}/{:05}", path, comm.rank());
  const auto write = [&comm, &workload, content, path, own_path](bool is_durable) {
    if (comm.rank() == 0) io::make_folder(path);
    comm.barrier();
    const core::Stopwatch watch;
    std::vector<std::byte> data(static_cast<std::size_t>(workload.own_bytes(content)));
    workload.pack(content, data);
    const double packing_s = watch.seconds();
    io::OutputFile file(own_path, io::OutputFile::Open::create);
    file.write(data);
    finish(file, is_durable);
    io::AccessStatistics statistics = file.statistics();
    statistics.exchange_s += packing_s;
    return statistics;
  };
  return {name, "plain", "file-per-rank", workload.bytes(content), path, write, [] {}};
}

// How a method is tried: its options and its name among the cases.
struct Variant {
  std::string name;
  io::WriteOptions options;
};

std::vector<Variant> variants(const io::WriteOptions& plain, const std::string& method, const Selection& selection) {
  io::WriteOptions options = plain;
  options.method = method;
  if (method != "aggregated" || (selection.buffers.empty() && selection.aggregators.empty()))
    return {{method, options}};
  const std::vector<int> as_it_is{0};
  std::vector<Variant> all;
  for (const int buffer : selection.buffers.empty() ? as_it_is : selection.buffers)
    for (const int writers : selection.aggregators.empty() ? as_it_is : selection.aggregators) {
      std::string name = method;
      if (buffer > 0) name += fmt::format(", {} MiB", buffer);
      if (writers > 0) name += fmt::format(", {} {}", writers, writers == 1 ? "writer" : "writers");
      options.buffer_bytes = buffer > 0 ? std::int64_t{buffer} << 20 : plain.buffer_bytes;
      options.aggregators = writers;
      all.push_back({name, options});
    }
  return all;
}

void add_formats(std::vector<Case>& all, const comm::Communicator& comm, const Workload& workload,
                 const std::string& folder, const std::string& name, const Selection& selection) {
  const bool is_checkpoint = name == "checkpoint";
  const io::FileChoice content = workload.choice(is_checkpoint);
  for (const io::Format& format : io::formats()) {
    const std::optional<io::StepName>& file_name = is_checkpoint ? format.checkpoint : format.plotfile;
    if (!file_name || !is_selected(selection.formats, format.name)) continue;
    const std::vector<std::string> own_way{""};
    for (const std::string& method : format.methods.empty() ? own_way : format.methods) {
      const bool is_one_of_the_others = method == "tuned" && selection.methods.empty();
      if (is_one_of_the_others || !is_selected(selection.methods, method)) continue;
      const std::string path = fmt::format("{}/{}", folder, file_name->of(workload.state().moment.step));
      const auto check = [&comm, &workload, &format, content, path] {
        comm.agree_on([&] { workload.check(content, *format.open(path)); });
      };
      for (const Variant& variant : variants(content.options, method, selection)) {
        const auto write = [&comm, &workload, &format, content, path, options = variant.options](bool is_durable) {
          io::FileChoice choice = content;
          choice.format = &format;
          choice.options = options;
          choice.options.is_durable = is_durable;
          return io::write_snapshot(comm, workload.state(), choice, path);
        };
        all.push_back({name, format.name, variant.name, workload.bytes(content), path, write, check});
      }
    }
  }
}

}  // namespace

Case sequential(const comm::Communicator& comm, const std::string& content, std::int64_t bytes,
                const std::string& path) {
  std::vector<std::byte> data(comm.rank() == 0 ? static_cast<std::size_t>(bytes) : 0, std::byte{'s'});
  const auto write = [&comm, path, data = std::move(data)](bool is_durable) {
    if (comm.rank() != 0) return io::AccessStatistics{};
    io::OutputFile file(path, io::OutputFile::Open::create);
    for (std::span<const std::byte> rest(data); !rest.empty();) {
      const std::size_t bytes_now = std::min(large_piece, rest.size());
      file.write(rest.first(bytes_now));
      rest = rest.subspan(bytes_now);
    }
    finish(file, is_durable);
    return file.statistics();
  };
  return {content, "plain", "sequential", bytes, path, write, [] {}};
}

std::vector<Case> cases(const comm::Communicator& comm, const Workload& workload, const std::string& folder,
                        const Selection& selection) {
  std::vector<Case> all;
  for (const std::string name : {"checkpoint", "plotfile"}) {
    if (!is_selected(selection.contents, name)) continue;
    const io::FileChoice content = workload.choice(name == "checkpoint");
    all.push_back(sequential(comm, name, workload.bytes(content), folder + "/sequential"));
    all.push_back(file_per_rank(comm, workload, name, content, folder + "/file_per_rank"));
    add_formats(all, comm, workload, folder, name, selection);
  }
  return all;
}

}  // namespace sidestream::bench
