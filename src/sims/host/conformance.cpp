#include "sims/host/conformance.hpp"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sims/host/look_at_numbers.hpp"
#include "sims/host/told_apart.hpp"

namespace sidestream::sims {

namespace {

constexpr double usual_patience_s = 10.0;
constexpr std::size_t longest_call = 64;

double patience() {
  const char* const given = std::getenv("SIDESTREAM_CONFORMANCE_PATIENCE");
  const double seconds = given != nullptr ? std::strtod(given, nullptr) : 0.0;
  return seconds > 0.0 ? seconds : usual_patience_s;
}

struct Bytes {
  const char* first = nullptr;
  std::ptrdiff_t count = 0;
};

// From the lowest to the highest of a block.
Bytes bytes_of(const HostField& field, const HostMemory& memory, mesh::Int3 n) {
  const auto size = static_cast<std::ptrdiff_t>(size_bytes(field.type));
  std::ptrdiff_t lowest = 0, highest = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const std::ptrdiff_t reach = memory.strides[static_cast<std::size_t>(axis)] * (n[axis] - 1);
    (reach < 0 ? lowest : highest) += reach;
  }
  return {static_cast<const char*>(memory.first) + size * lowest, size * (highest - lowest + 1)};
}

// Asks the system, which says no where reading would end the process. Where it does not answer, nothing is known.
bool can_be_read(const Bytes& bytes) {
  const long page = ::sysconf(_SC_PAGESIZE);
  for (std::ptrdiff_t at = 0; at < bytes.count; at += page) {
    char one = 0;
    iovec here{&one, 1}, there{const_cast<char*>(bytes.first + std::min(at, bytes.count - 1)), 1};
    if (::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) < 0) return errno != EFAULT;
  }
  char one = 0;
  iovec here{&one, 1}, there{const_cast<char*>(bytes.first + bytes.count - 1), 1};
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) >= 0 || errno != EFAULT;
}

}  // namespace

std::unique_ptr<Conformance> Conformance::wanted(const comm::Communicator& world, const comm::Communicator& compute) {
  const char* const folder = std::getenv("SIDESTREAM_CONFORMANCE");
  if (folder == nullptr || *folder == '\0') return nullptr;
  return std::unique_ptr<Conformance>(new Conformance(world, compute, folder));
}

Conformance::Conformance(const comm::Communicator& world, const comm::Communicator& compute, const std::string& folder)
    : compute_(compute),
      rank_(world.rank()),
      path_(fmt::format("{}/rank{}.jsonl", folder, world.rank())),
      patience_s_(patience()) {
  comm::check(MPI_Comm_dup(compute.raw(), &roll_), "MPI_Comm_dup");
  write(nlohmann::json{{"kind", "rank"}, {"rank", rank_}, {"of", world.size()}}.dump());
}

Conformance::~Conformance() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0 && !is_alone_) MPI_Comm_free(&roll_);
}

void Conformance::call(const std::string& name) {
  if (is_alone_) throw core::Error("the other ranks did not come to an earlier call", name, "end the program");
  write(nlohmann::json{{"kind", "call"}, {"rank", rank_}, {"number", ++calls_}, {"call", name}}.dump());
  std::array<char, longest_call> own{};
  name.copy(own.data(), own.size() - 1);
  std::vector<char> all(longest_call * static_cast<std::size_t>(compute_.size()));
  MPI_Request request = MPI_REQUEST_NULL;
  comm::check(MPI_Iallgather(own.data(), longest_call, MPI_CHAR, all.data(), longest_call, MPI_CHAR, roll_, &request),
              "MPI_Iallgather");
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s_);
  for (int is_done = 0;;) {
    comm::check(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), "MPI_Test");
    if (is_done != 0) break;
    if (std::chrono::steady_clock::now() > end) {
      is_alone_ = true;
      // What comes later goes where the call waits for it.
      (void)new std::vector<char>(std::move(all));
      write(nlohmann::json{
          {"kind", "waits"}, {"rank", rank_}, {"number", calls_}, {"call", name}, {"seconds", patience_s_}}
                .dump());
      throw core::Error(fmt::format("other ranks have not come for {:.3g} s", patience_s_), name,
                        "let all ranks that compute make the same calls");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (int rank = 0; rank < compute_.size(); ++rank) {
    const std::string other = &all[longest_call * static_cast<std::size_t>(rank)], first = all.data();
    if (other == first) continue;
    const core::Error error(fmt::format("rank {} calls {}, and rank 0 {}", rank, other, first),
                            fmt::format("call {} of the run", calls_),
                            "let all ranks that compute make the same calls");
    refused("calls", error);
    throw error;
  }
}

void Conformance::refused(const char* check, const core::Error& error) {
  HostFinding finding{check, "wrong", "", error.message()};
  if (!error.where().empty()) finding.message += "; " + error.where();
  tell(finding);
}

void Conformance::before(const HostState& state) {
  step_ = state.moment.step;
  tell_fields(state);
  look_at_memory(state);
  for (const HostFinding& finding : rims_.look(compute_, state)) tell(finding);
  for (const HostFinding& finding : look_at_cells(state)) tell(finding);
  for (const HostFinding& finding : look_at_particles(compute_, state)) tell(finding);
  copies_.clear();
  for (const HostField& field : state.fields())
    for (std::size_t n = 0; n < field.blocks.size(); ++n)
      copies_[field.quantity.name].push_back(numbers_of(state, field, n));
}

void Conformance::after(const HostState& state) {
  for (const HostField& field : state.fields()) {
    const auto& copies = copies_[field.quantity.name];
    HostFinding finding{"memory", "good", field.quantity.name, "read where it lies, and left as it was"};
    for (std::size_t n = 0; n < copies.size() && finding.verdict == "good"; ++n) {
      const std::vector<double> now = numbers_of(state, field, n);
      const auto differs = [](double one, double other) {
        return std::bit_cast<std::uint64_t>(one) != std::bit_cast<std::uint64_t>(other);
      };
      const auto [was, is] = std::ranges::mismatch(copies[n], now, std::not_fn(differs));
      if (was == copies[n].end()) continue;
      const mesh::Box all = state.mesh().blocks[n].box.grown(state.mesh().ghosts.layers);
      const auto at = std::distance(copies[n].begin(), was);
      const std::ptrdiff_t row = all.extent().x, plane = row * all.extent().y;
      const auto [before, now_is] = told_apart(*was, *is);
      finding = {"memory",
                 "wrong",
                 field.quantity.name,
                 fmt::format("it changed from {} to {} while the run read it: another thread writes", before, now_is),
                 static_cast<std::int64_t>(n),
                 fmt::format("{} {} {}", all.lo.x + at % row, all.lo.y + at % plane / row, all.lo.z + at / plane)};
    }
    tell(finding);
  }
}

void Conformance::look_at_memory(const HostState& state) {
  compute_.agree_on([&] {
    for (const HostField& field : state.fields())
      for (std::size_t n = 0; n < field.blocks.size(); ++n) {
        const mesh::Int3 extent = state.mesh().blocks[n].box.grown(state.mesh().ghosts.layers).extent();
        if (can_be_read(bytes_of(field, field.blocks[n], extent))) continue;
        HostFinding finding{"memory", "wrong", field.quantity.name,
                            "its memory is not there, or shorter than its block with ghost cells",
                            static_cast<std::int64_t>(n)};
        tell(finding);
        throw core::Error("the memory of a field is not there", fmt::format("field `{}`, block {}", finding.field, n),
                          "give it anew where it moves, and keep it while steps are told");
      }
  });
}

void Conformance::tell_fields(const HostState& state) {
  if (!told_.insert("fields").second) return;
  nlohmann::json fields = nlohmann::json::array();
  for (const HostField& field : state.fields())
    fields.push_back({{"name", field.quantity.name}, {"unit", field.quantity.unit}});
  write(nlohmann::json{{"kind", "fields"},
                       {"rank", rank_},
                       {"fields", fields},
                       {"length_unit", state.mesh().length_unit},
                       {"blocks", state.mesh().blocks.size()}}
            .dump());
}

void Conformance::tell(const HostFinding& finding) {
  if (!told_.insert(finding.check + '\n' + finding.field + finding.species + '\n' + finding.verdict).second) return;
  nlohmann::json line{{"kind", "finding"},
                      {"rank", rank_},
                      {"step", step_},
                      {"check", finding.check},
                      {"verdict", finding.verdict},
                      {"field", finding.field},
                      {"message", finding.message}};
  if (finding.block >= 0) line["block"] = finding.block;
  if (!finding.cell.empty()) line["cell"] = finding.cell;
  if (!finding.species.empty()) line["species"] = finding.species;
  if (finding.particle >= 0) line["particle"] = finding.particle;
  write(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void Conformance::write(const std::string& line) const {
  std::ofstream(path_, std::ios::app) << line << '\n';
}

}  // namespace sidestream::sims
