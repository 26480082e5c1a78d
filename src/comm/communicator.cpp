#include "sidestream/comm/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <utility>

#include "comm/abandoned_memory.hpp"
#include "comm/gathered.hpp"
#include "comm/luggage.hpp"
#include "sidestream/comm/call_failed.hpp"
#include "sidestream/comm/launcher_watch.hpp"
#include "sidestream/comm/lone_ranks.hpp"
#include "sidestream/comm/progress.hpp"
#include "sidestream/comm/sparse_exchange.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/memory.hpp"

namespace sidestream::comm {

namespace {

constexpr char separator = '\x1f';
constexpr std::size_t largest_message = std::size_t{1} << 30;

// A file that would grow beyond what the user allows (`ulimit -f`) is one that cannot be written, as on a full disk.
// The signal would end the process before whoever writes gets the error. A handler that the program has set stays.
void take_file_size_limit_as_error() {
  struct sigaction action {};
  if (::sigaction(SIGXFSZ, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) std::signal(SIGXFSZ, SIG_IGN);
}

// One rank of a node cleans it; where no launcher numbers them, each does.
bool is_first_of_node() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char* number = std::getenv(name)) return std::string_view(number) == "0";
  return true;
}

template <typename T>
T reduce(T value, MPI_Op op, MPI_Comm comm) {
  check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, datatype<T>(), op, comm), "MPI_Allreduce");
  return value;
}

}  // namespace

// Where a large message goes by a buffer that two processes share, Open MPI (4 and 5) puts so many pieces of 32 KiB
// there before it waits for the other side. With the 3 of its default, 6 MiB take 64 turns of both, which last as long
// as both compute between them. What the user has set stays; other MPIs know nothing of it.
Environment::Environment(int& argc, char**& argv) {
  core::return_large_memory();  // here, because every program of ours begins with it
  setenv("OMPI_MCA_pml_ob1_send_pipeline_depth", "32", 0);
  take_file_size_limit_as_error();
  end_with_the_launcher();
  if (is_first_of_node()) remove_abandoned_memory();
  int provided = 0;
  check(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
  end_where_ranks_do_not_meet();
}

Environment::~Environment() {
  MPI_Finalize();
}

void check(int mpi_error, std::string_view call) {
  if (mpi_error == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(mpi_error, text.data(), &length);
  throw CallFailed(fmt::format("{} failed: {}", call, std::string_view(text.data(), static_cast<std::size_t>(length))));
}

// A call that fails, as where there is no memory, is an error of ours rather than the end of the process; parts of this
// communicator do the same.
Communicator::Communicator(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL)
    throw core::Error("the communicator is MPI_COMM_NULL", "", "give it on the ranks that belong to it alone");
  check(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

Communicator::~Communicator() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (comm_ != MPI_COMM_NULL && finalized == 0) MPI_Comm_free(&comm_);
}

Communicator::Communicator(Communicator&& other) noexcept
    : comm_(std::exchange(other.comm_, MPI_COMM_NULL)), rank_(other.rank_), size_(other.size_) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  std::swap(comm_, other.comm_);
  std::swap(rank_, other.rank_);
  std::swap(size_, other.size_);
  return *this;
}

Communicator Communicator::split(int color, int key) const {
  Communicator part;
  check(MPI_Comm_split(comm_, color < 0 ? MPI_UNDEFINED : color, key, &part.comm_), "MPI_Comm_split");
  if (part.comm_ == MPI_COMM_NULL) return part;
  inherit_luggage(comm_, part.comm_);
  MPI_Comm_rank(part.comm_, &part.rank_);
  MPI_Comm_size(part.comm_, &part.size_);
  return part;
}

Communicator Communicator::split_by_node() const {
  Communicator node;
  check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node.comm_), "MPI_Comm_split_type");
  inherit_luggage(comm_, node.comm_);
  MPI_Comm_rank(node.comm_, &node.rank_);
  MPI_Comm_size(node.comm_, &node.size_);
  return node;
}

void Communicator::barrier() const {
  progress(*this);
  check(MPI_Barrier(comm_), "MPI_Barrier");
}

std::int64_t Communicator::sum(std::int64_t value) const {
  progress(*this);
  return reduce(value, MPI_SUM, comm_);
}
double Communicator::min(double value) const {
  progress(*this);
  return reduce(value, MPI_MIN, comm_);
}
double Communicator::max(double value) const {
  progress(*this);
  return reduce(value, MPI_MAX, comm_);
}
std::int64_t Communicator::min(std::int64_t value) const {
  progress(*this);
  return reduce(value, MPI_MIN, comm_);
}
std::int64_t Communicator::max(std::int64_t value) const {
  progress(*this);
  return reduce(value, MPI_MAX, comm_);
}
bool Communicator::all(bool value) const {
  return min(std::int64_t{value}) != 0;
}

void Communicator::sum(std::span<std::int64_t> values) const {
  progress(*this);
  for (std::size_t done = 0; done < values.size();) {
    const std::size_t count = std::min(values.size() - done, largest_message / sizeof(std::int64_t));
    check(MPI_Allreduce(MPI_IN_PLACE, values.data() + done, static_cast<int>(count), MPI_INT64_T, MPI_SUM, comm_),
          "MPI_Allreduce");
    done += count;
  }
}

void Communicator::sum(std::span<core::ExactSum> sums) const {
  std::vector<std::int64_t> states;
  states.reserve(sums.size() * core::ExactSum::chunks);
  for (auto& partial : sums) {
    partial.normalize();
    states.insert(states.end(), partial.state().begin(), partial.state().end());
  }
  sum(states);
  auto next = states.begin();
  for (auto& total : sums) {
    std::copy_n(next, core::ExactSum::chunks, total.state().begin());
    total.normalize();
    next += core::ExactSum::chunks;
  }
}

double Communicator::sum(core::ExactSum partial) const {
  sum(std::span(&partial, 1));
  return partial.value();
}

std::string Communicator::broadcast(std::string text, int root) const {
  const auto size = broadcast(static_cast<std::int64_t>(text.size()), root);
  text.resize(static_cast<std::size_t>(size));
  broadcast_bytes(std::as_writable_bytes(std::span(text)), root);
  return text;
}

void Communicator::broadcast_bytes(std::span<std::byte> bytes, int root) const {
  comm::broadcast(*this, bytes, root);
}

std::vector<std::byte> Communicator::gather_bytes(std::span<const std::byte> bytes, int root) const {
  return gathered(*this, bytes, root);
}

std::vector<std::byte> Communicator::all_gather_bytes(std::span<const std::byte> bytes) const {
  return gathered_by_all(*this, bytes);
}

std::vector<std::vector<std::byte>> Communicator::exchange_bytes(
    std::span<const std::span<const std::byte>> outgoing) const {
  core::require(outgoing.size() == static_cast<std::size_t>(size_), "exchange takes one message for each rank");
  std::vector<Packet> packets;
  for (int to = 0; to < size_; ++to) packets.push_back({to, outgoing[static_cast<std::size_t>(to)]});
  std::vector<std::vector<std::byte>> incoming(outgoing.size());
  std::int64_t messages = 0;
  for (Parcel& parcel : deliver_bytes(*this, packets, messages))
    incoming[static_cast<std::size_t>(parcel.rank)] = std::move(parcel.bytes);
  return incoming;
}

void Communicator::agree(const std::string& problem) const {
  throw_packed_together(problem.empty() ? problem : problem + separator + separator);
}

std::string Communicator::pack_error(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const core::Error*>(&error))
    return ours->message() + separator + ours->where() + separator + ours->hint();
  return std::string(error.what()) + separator + separator;
}

void Communicator::throw_packed_together(const std::string& packed) const {
  const auto first = min(static_cast<std::int64_t>(packed.empty() ? size_ : rank_));
  if (first == size_) return;
  const std::string text = broadcast(packed, static_cast<int>(first));
  const auto one = text.find(separator), two = text.find(separator, one + 1);
  std::string where = text.substr(one + 1, two - one - 1);
  if (where.empty()) where = fmt::format("rank {} of {}", first, size_);
  core::Error error(text.substr(0, one), where, text.substr(two + 1));
  if (rank_ != 0) error.report_elsewhere();
  throw error;
}

}  // namespace sidestream::comm
