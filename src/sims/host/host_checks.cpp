#include "sims/host/host_checks.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "sidestream/core/input_file.hpp"

namespace sidestream::sims {

namespace {

constexpr std::size_t longest_name = 200;
constexpr std::int32_t most_cells = std::int32_t{1} << 29, most_ghosts = 1024;  // cells: as in files
constexpr double most_volume = 4e18;                                            // of integers of 64 bits
constexpr double most_addresses = 0x1p57;                                       // of processors of 64 bits
constexpr double longest = 1e60;                                                // that files may have

// FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv
std::uint64_t mixed(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return (hash ^ 0xffU) * 0x100000001b3U;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// Formats of files know no other letters.
bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return ' ' <= c && c <= '~'; });
}

constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

// Without a digest nothing is alike.
bool are_alike(const comm::Communicator& comm, const std::optional<Digest>& digest) {
  std::array<std::int64_t, 4> least{~none, ~none, none, none};
  if (digest) {
    const std::int64_t all = digest->of_all, types = digest->of_types.value_or(none);
    least = {all, ~all, types, digest->of_types ? ~types : none};
  }
  comm::check(MPI_Allreduce(MPI_IN_PLACE, least.data(), 4, MPI_INT64_T, MPI_MIN, comm.raw()), "MPI_Allreduce");
  return least[0] == ~least[1] && (least[2] == none || least[2] == ~least[3]);
}

constexpr char between = '\x1f', after = '\x1e';

std::string joined(const std::vector<Saying>& sayings) {
  std::string all;
  for (const Saying& one : sayings) all += one.of + between + one.said + after;
  return all;
}

std::vector<Saying> parted(std::string_view text) {
  std::vector<Saying> sayings;
  while (!text.empty()) {
    const std::size_t middle = text.find(between), end = text.find(after, middle);
    sayings.push_back({std::string(text.substr(0, middle)), std::string(text.substr(middle + 1, end - middle - 1))});
    text.remove_prefix(end + 1);
  }
  return sayings;
}

constexpr const char* nothing = "nothing";

std::string said_of(const std::vector<Saying>& all, const std::string& of) {
  const auto found = std::ranges::find(all, of, &Saying::of);
  return found != all.end() ? found->said : nothing;
}

void compare(const std::vector<Saying>& first, const std::vector<Saying>& own, const comm::Communicator& comm) {
  for (const std::vector<Saying>* const all : {&own, &first})
    for (const Saying& one : *all) {
      const std::string here = said_of(own, one.of), there = said_of(first, one.of);
      const bool is_type = one.of.starts_with(of_type) && (here == nothing || there == nothing);
      if (here != there && !is_type)
        throw core::Error(fmt::format("{} is {} on rank {}, and {} on rank 0", one.of, here, comm.rank(), there),
                          fmt::format("rank {} of {}", comm.rank(), comm.size()),
                          "all ranks that compute say the same, in the same order");
    }
}

}  // namespace

std::int64_t digest_of(const std::vector<Saying>& sayings, std::int64_t before) {
  std::uint64_t hash = 0xcbf29ce484222325U ^ static_cast<std::uint64_t>(before);
  for (const Saying& one : sayings) hash = mixed(mixed(hash, one.of), one.said);
  return static_cast<std::int64_t>(hash);
}

void require_alike(const comm::Communicator& comm, const Digest& digest,
                   const std::function<std::vector<Saying>()>& sayings) {
  if (are_alike(comm, digest)) return;
  const std::vector<Saying> own = sayings();
  const std::vector<Saying> first = parted(comm.broadcast(joined(own)));
  comm.agree_on([&] { compare(first, own, comm); });
  throw core::Error("ranks give arrays of different types for a field", "", "give the same type on all ranks");
}

void refuse_to_say(const comm::Communicator& comm, const core::Error& problem) {
  are_alike(comm, std::nullopt);
  comm.broadcast(std::string());
  comm.agree_on([&] { throw core::Error(problem); });
}

void require_name(const std::string& name, const std::string& what, const std::string& example) {
  const std::string hint = "name what it is: \"" + example + "\"";
  if (name.empty()) throw core::Error(what + " has no name", "", hint);
  if (name.size() > longest_name)
    throw core::Error(fmt::format("{} has a name of {} characters", what, name.size()), name.substr(0, 40) + "...",
                      hint);
  if (!core::is_utf8(name)) throw core::Error(what + " has a name that is no text in UTF-8", "`" + name + "`", hint);
  if (name.find('/') != std::string::npos || !is_printable(name) || name.front() == ' ' || name.back() == ' ') {
    std::string shown = name;
    std::ranges::replace_if(shown, is_control, '?');
    throw core::Error(what + " has a name that files cannot hold", "`" + shown + "`",
                      "write it in ASCII, without slashes, control characters, and blanks around it");
  }
}

void require_unit(const std::string& unit, const std::string& what) {
  if (unit.size() <= longest_name && is_printable(unit)) return;
  std::string shown = unit.substr(0, 40);
  std::ranges::replace_if(shown, is_control, '?');
  if (!core::is_utf8(shown)) shown = "...";
  throw core::Error(what + " has a unit that files cannot hold", "`" + shown + "`",
                    "write it in a line of ASCII, such as \"um\"");
}

void require_reach(const HostMemory& memory, mesh::Int3 elements, std::size_t size, const std::string& where) {
  double reach = static_cast<double>(size);
  for (int axis = 0; axis < 3; ++axis)
    reach += static_cast<double>(size) * (elements[axis] - 1.0) *
             std::abs(static_cast<double>(memory.strides[static_cast<std::size_t>(axis)]));
  if (reach <= most_addresses) return;
  throw core::Error(
      fmt::format("a block of {} x {} x {} elements with the strides {}, {}, {} would reach over {:.3g} "
                  "bytes, more than there are addresses",
                  elements.x, elements.y, elements.z, memory.strides[0], memory.strides[1], memory.strides[2], reach),
      where, "give strides in elements: how many lie between neighbours along each axis");
}

void require_domain(const HostMesh& mesh) {
  const mesh::Int3 cells = mesh.geometry.domain.extent();
  int finest = 0;
  for (const HostBlock& block : mesh.blocks) finest = std::max(finest, std::clamp(block.level, 0, 30));
  double volume = 1.0;
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const std::string where = fmt::format("axis {}", axis);
    if (cells[axis] < 1)
      throw core::Error(fmt::format("the domain has {} cells", cells[axis]), where,
                        "give 1 along axes that there are not");
    if (const double length = mesh.geometry.length[a]; !(length >= 1.0 / longest && length <= longest))
      throw core::Error(fmt::format("the domain has the length {}", length), where,
                        fmt::format("give a number above 0, from {:g} to {:g}", 1.0 / longest, longest));
    if (const auto layers = mesh.ghosts.layers[axis]; layers < 0 || layers > most_ghosts)
      throw core::Error(fmt::format("there are {} layers of ghost cells", layers), where,
                        fmt::format("give a number from 0 to {}", most_ghosts));
    const double refined = cells[axis] > 1 ? std::ldexp(double{static_cast<double>(cells[axis])}, finest) : 1.0;
    if (refined > most_cells)
      throw core::Error(fmt::format("the domain has {:.0f} cells on level {}", refined, finest), where,
                        "there may be 2^29 along an axis");
    volume *= refined;
  }
  if (volume > most_volume)
    throw core::Error(fmt::format("the domain has {:.3g} cells on level {}", volume, finest), "",
                      "there may be 4e18 in all");
}

}  // namespace sidestream::sims
