#include "layer.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "../layer_process.hpp"

namespace sidestream::io_layer {

namespace {

constexpr std::array<std::pair<std::string_view, Fault>, 7> fault_names{{{"kill", Fault::kill},
                                                                         {"torn", Fault::torn},
                                                                         {"enospc", Fault::enospc},
                                                                         {"eio", Fault::eio},
                                                                         {"edquot", Fault::edquot},
                                                                         {"eintr", Fault::eintr},
                                                                         {"short", Fault::short_write}}};
constexpr std::array<std::int64_t, 9> bin_ends{100,     1 << 10,  10 << 10,  100 << 10, 1 << 20,
                                               4 << 20, 10 << 20, 100 << 20, 1 << 30};
constexpr std::array<std::string_view, 10> bin_names{"<100",  "100-1K", "1K-10K",   "10K-100K", "100K-1M",
                                                     "1M-4M", "4M-10M", "10M-100M", "100M-1G",  ">1G"};
// The counts of a file that are added up over all of them.
using Counts = sidestream_io_counts;
constexpr std::array summed{
    &Counts::writes,      &Counts::bytes,      &Counts::sequential, &Counts::consecutive,     &Counts::unaligned,
    &Counts::reads,       &Counts::read_bytes, &Counts::read_opens, &Counts::read_sequential, &Counts::read_consecutive,
    &Counts::ahead_bytes, &Counts::write_ns,   &Counts::read_ns};

constexpr unsigned bit(Call call) {
  return 1U << static_cast<unsigned>(call);
}
constexpr unsigned all_calls = (1U << call_kinds) - 1, most_calls = all_calls & ~bit(Call::remove);

// The calls named in "write,sync"; none when one is unknown.
std::optional<unsigned> calls_of(std::string_view names) {
  if (names.empty()) return most_calls;
  if (names == "all") return all_calls;
  unsigned calls = 0;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    const auto found = std::ranges::find(call_names, name);
    if (found == call_names.end()) return std::nullopt;
    calls |= 1U << static_cast<unsigned>(found - call_names.begin());
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  return calls;
}

std::string target_of(const std::string& link) {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  return length < 0 ? "" : std::string(path.data(), static_cast<std::size_t>(length));
}

// What the system answers to a call that a signal has interrupted; others it does not interrupt.
bool can_be_interrupted(Call call) {
  return call != Call::make && call != Call::rename && call != Call::remove;
}

void print_bins(std::FILE* out, const char* name, const std::int64_t (&sizes)[10]) {
  std::fprintf(out, ", \"%s\": {", name);
  const char* separator = "";
  for (std::size_t bin = 0; bin < bin_names.size(); ++bin) {
    if (sizes[bin] == 0) continue;
    std::fprintf(out, "%s\"%s\": %ld", separator, bin_names[bin].data(), sizes[bin]);
    separator = ", ";
  }
  std::fprintf(out, "}");
}

void print(std::FILE* out, const sidestream_io_counts& counts) {
  std::fprintf(out, "\"writes\": %ld, \"bytes\": %ld, \"sequential\": %ld, \"consecutive\": %ld, \"largest\": %ld",
               counts.writes, counts.bytes, counts.sequential, counts.consecutive, counts.largest);
  std::fprintf(out, ", \"unaligned\": %ld", counts.unaligned);
  std::fprintf(out, ", \"opens_for_reading\": %ld, \"reads\": %ld, \"bytes_read\": %ld", counts.read_opens,
               counts.reads, counts.read_bytes);
  std::fprintf(out, ", \"sequential_reads\": %ld, \"consecutive_reads\": %ld", counts.read_sequential,
               counts.read_consecutive);
  std::fprintf(out, ", \"bytes_ahead\": %ld", counts.ahead_bytes);
  print_bins(out, "sizes", counts.sizes);
  print_bins(out, "read_sizes", counts.read_sizes);
}

}  // namespace

int error_of(Fault fault) {
  switch (fault) {
    case Fault::enospc:
      return ENOSPC;
    case Fault::eio:
      return EIO;
    case Fault::edquot:
      return EDQUOT;
    case Fault::eintr:
      return EINTR;
    default:
      return 0;
  }
}

std::string whole_path(int folder, const char* path) {
  if (*path == '/') return path;
  return target_of(folder < 0 ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(folder)) + "/" + path;
}

void kill_process() {
  ::kill(::getpid(), SIGKILL);
  std::abort();
}

Layer::Layer() : rank_(rank_of_process()) {
  const std::string rank = environment("SIDESTREAM_IO_RANK");
  is_rank_watched_ = rank.empty() || std::atoi(rank.c_str()) == rank_;
  if (const char* part = ::getenv("SIDESTREAM_IO_PATH")) part_ = part;
  const std::string at = environment("SIDESTREAM_IO_FAULT_AT");
  const std::int64_t first = std::atoll(at.c_str());
  const std::string fault = environment("SIDESTREAM_IO_FAULT"), calls = environment("SIDESTREAM_IO_CALLS");
  if (!set_fault(fault.c_str(), first, at.ends_with('+') ? INT64_MAX : first, calls.c_str()))
    std::fprintf(stderr, "warning: the I/O layer does not know the fault `%s` or the calls `%s`\n", fault.c_str(),
                 calls.c_str());
  if (const std::string prefix = environment("SIDESTREAM_IO_RECORD"); !prefix.empty()) record_.emplace(prefix);
  const std::string model = environment("SIDESTREAM_IO_MODEL");
  if (!model.empty() && !set_model(model.c_str()))
    std::fprintf(stderr, "warning: the I/O layer cannot open the table of its model, %s\n", model.c_str());
}

bool Layer::watches_anything() const {
  const std::scoped_lock lock(mutex_);
  return is_rank_watched_ && part_;
}

bool Layer::is_watched(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  return part_ && !path.empty() && path.find(*part_) != std::string::npos;
}

std::optional<std::string> Layer::watched(int descriptor) const {
  if (!watches_anything()) return std::nullopt;
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) return std::nullopt;
  std::string path = target_of("/proc/self/fd/" + std::to_string(descriptor));
  return is_watched(path) ? std::optional(std::move(path)) : std::nullopt;
}

std::optional<std::string> Layer::watched(int folder, const char* path) const {
  if (path == nullptr || !watches_anything()) return std::nullopt;
  return watched(whole_path(folder, path));
}

std::optional<std::string> Layer::watched(const std::string& path) const {
  return watches_anything() && is_watched(path) ? std::optional(path) : std::nullopt;
}

Fault Layer::next(Call call) {
  Fault fault = Fault::none;
  {
    const std::scoped_lock lock(mutex_);
    ++calls_[static_cast<std::size_t>(call)];
    if ((fault_calls_ & bit(call)) != 0) {
      ++matching_;
      if (first_ <= matching_ && matching_ <= last_) fault = fault_;
    }
  }
  if (fault == Fault::kill || (fault == Fault::torn && call != Call::write)) kill_process();
  const bool is_possible =
      (fault != Fault::short_write || call == Call::write) && (fault != Fault::eintr || can_be_interrupted(call));
  return is_possible ? fault : Fault::none;
}

namespace {

std::size_t bin_of(std::int64_t bytes) {
  return static_cast<std::size_t>(std::lower_bound(bin_ends.begin(), bin_ends.end(), bytes) - bin_ends.begin());
}

}  // namespace

void Layer::opened(const std::string& path, bool is_for_writing) {
  const std::scoped_lock lock(mutex_);
  File& file = files_[path];
  (is_for_writing ? file.last_written : file.last_read) = 0;
  file.counts.read_opens += is_for_writing ? 0 : 1;
}

void Layer::wrote(const std::string& path, const Access& access) {
  const std::scoped_lock lock(mutex_);
  File& file = files_[path];
  ++file.counts.writes;
  file.counts.bytes += access.bytes;
  file.counts.largest = std::max(file.counts.largest, access.bytes);
  file.counts.sequential += access.offset > file.last_written ? 1 : 0;
  file.counts.consecutive += access.offset == file.last_written + 1 ? 1 : 0;
  file.counts.unaligned += access.offset % access.unit_bytes != 0 ? 1 : 0;
  file.counts.write_ns += access.ns;
  file.last_written = access.offset + access.bytes - 1;
  ++file.counts.sizes[bin_of(access.bytes)];
}

void Layer::was_read(const std::string& path, const Access& access) {
  const std::scoped_lock lock(mutex_);
  File& file = files_[path];
  ++file.counts.reads;
  file.counts.read_bytes += access.bytes;
  file.counts.read_sequential += access.offset > file.last_read ? 1 : 0;
  file.counts.read_consecutive += access.offset == file.last_read + 1 ? 1 : 0;
  file.counts.unaligned += access.offset % access.unit_bytes != 0 ? 1 : 0;
  file.counts.read_ns += access.ns;
  file.last_read = access.offset + access.bytes - 1;
  ++file.counts.read_sizes[bin_of(access.bytes)];
}

void Layer::asked_ahead(const std::string& path, std::int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  files_[path].counts.ahead_bytes += bytes;
}

void Layer::synced(std::int64_t ns) {
  const std::scoped_lock lock(mutex_);
  sync_ns_ += ns;
}

void Layer::begun(const void* request, std::int64_t start_ns) {
  const std::scoped_lock lock(mutex_);
  if (behind_.empty()) behind_since_ns_ = start_ns;
  behind_.insert(request);
}

void Layer::ended(const void* request, std::int64_t end_ns) {
  const std::scoped_lock lock(mutex_);
  if (behind_.erase(request) > 0 && behind_.empty()) behind_ns_ += end_ns - behind_since_ns_;
}

void Layer::watch(const char* part) {
  const std::scoped_lock lock(mutex_);
  part_ = part == nullptr ? std::nullopt : std::optional<std::string>(part);
}

void Layer::reset() {
  const std::scoped_lock lock(mutex_);
  files_.clear();
  calls_ = {};
  sync_ns_ = behind_ns_ = 0;
}

sidestream_io_counts Layer::counts() const {
  const std::scoped_lock lock(mutex_);
  sidestream_io_counts all{};
  for (const auto& [path, file] : files_) {
    for (auto count : summed) all.*count += file.counts.*count;
    all.largest = std::max(all.largest, file.counts.largest);
    for (std::size_t bin = 0; bin < bin_names.size(); ++bin) {
      all.sizes[bin] += file.counts.sizes[bin];
      all.read_sizes[bin] += file.counts.read_sizes[bin];
    }
  }
  const auto calls = [&](Call call) { return calls_[static_cast<std::size_t>(call)]; };
  all.opens = calls(Call::open);
  all.makes = calls(Call::make);
  all.reserves = calls(Call::reserve);
  all.truncates = calls(Call::truncate);
  all.syncs = calls(Call::sync);
  all.sync_ns = sync_ns_;
  all.write_ns += behind_ns_;
  all.renames = calls(Call::rename);
  all.removes = calls(Call::remove);
  return all;
}

bool Layer::set_fault(const char* kind, std::int64_t first, std::int64_t last, const char* calls) {
  const std::string_view name = kind == nullptr ? "" : kind;
  const auto* found = std::ranges::find(fault_names, name, &std::pair<std::string_view, Fault>::first);
  const std::optional<unsigned> matching = calls_of(calls == nullptr ? "" : calls);
  const std::scoped_lock lock(mutex_);
  matching_ = 0;
  fault_ = Fault::none;
  if (matching) fault_calls_ = *matching;
  if (!matching || (found == fault_names.end() && !name.empty())) return false;
  if (found != fault_names.end()) fault_ = found->second;
  first_ = first;
  last_ = last;
  return true;
}

std::int64_t Layer::matching_calls() const {
  const std::scoped_lock lock(mutex_);
  return matching_;
}

bool Layer::set_model(const char* table) {
  model_.reset();
  if (table == nullptr) return true;
  model_ = Model::open(table, Model::costs_of_environment());
  return model_.has_value();
}

void Layer::report() {
  const std::string prefix = environment("SIDESTREAM_IO_COUNT");
  const bool is_idle = files_.empty() && std::ranges::all_of(calls_, [](std::int64_t calls) { return calls == 0; });
  if (prefix.empty() || is_idle) return;
  watch(nullptr);
  std::FILE* out = std::fopen((prefix + "." + std::to_string(rank_) + ".json").c_str(), "w");
  if (out == nullptr) return;
  std::fprintf(out, "{\"rank\": %d, \"matching_calls\": %ld, \"calls\": {", rank_, matching_calls());
  for (std::size_t call = 0; call < call_kinds; ++call)
    std::fprintf(out, "%s\"%s\": %ld", call == 0 ? "" : ", ", call_names[call].data(), calls_[call]);
  std::fprintf(out, "}, \"files\": [");
  const char* separator = "";
  for (const auto& [path, file] : files_) {
    std::fprintf(out, "%s\n  {\"path\": \"%s\", ", separator, escaped(path).c_str());
    print(out, file.counts);
    std::fprintf(out, "}");
    separator = ",";
  }
  std::fprintf(out, "\n]}\n");
  std::fclose(out);
}

}  // namespace sidestream::io_layer
