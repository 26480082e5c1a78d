#include <gtest/gtest.h>
#include <mpi.h>

#include <mutex>
#include <set>
#include <thread>

#include "fft/fields.hpp"

// Which threads call MPI during a transform, and how many at a time: its calls of the exchanges by messages pass here.
namespace {

struct Calls {
  std::mutex guard;
  bool are_counted = false;
  int now = 0, most_at_once = 0;
  std::set<std::thread::id> threads;
};
Calls calls;

class Call {
 public:
  Call() { step(1); }
  ~Call() { step(-1); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  static void step(int change) {
    const std::scoped_lock lock(calls.guard);
    if (!calls.are_counted) return;
    calls.now += change;
    calls.most_at_once = std::max(calls.most_at_once, calls.now);
    calls.threads.insert(std::this_thread::get_id());
  }
};

}  // namespace

extern "C" {
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  const Call call;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  const Call call;
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}
int MPI_Testsome(int count, MPI_Request* requests, int* done, int* which, MPI_Status* statuses) {
  const Call call;
  return PMPI_Testsome(count, requests, done, which, statuses);
}
int MPI_Testall(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
  const Call call;
  return PMPI_Testall(count, requests, done, statuses);
}
int MPI_Waitsome(int count, MPI_Request* requests, int* done, int* which, MPI_Status* statuses) {
  const Call call;
  return PMPI_Waitsome(count, requests, done, which, statuses);
}
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  const Call call;
  return PMPI_Waitall(count, requests, statuses);
}
}

namespace sidestream::fft {
namespace {

struct Seen {
  std::size_t threads = 0;
  int at_once = 0;
  bool is_caller_alone = false;
};

Seen calls_of(const comm::Communicator& comm, const FftOptions& options) {
  const Field<double> field = noise_on(scattered_blocks({16, 16, 32}, comm.size()), comm.rank());
  const FftPlan<double> plan(comm, field.layout(), options);
  Field<std::complex<double>> modes(plan.spectral(), comm.rank());
  plan.forward(field, modes);
  {
    const std::scoped_lock lock(calls.guard);
    calls.threads.clear();
    calls.most_at_once = 0;
    calls.are_counted = true;
  }
  for (int repeat = 0; repeat < 20; ++repeat) plan.forward(field, modes);
  const std::scoped_lock lock(calls.guard);
  calls.are_counted = false;
  return {calls.threads.size(), calls.most_at_once, calls.threads == std::set{std::this_thread::get_id()}};
}

class MpiCalls : public testing::Test {
 protected:
  void SetUp() override {
    if (comm.size() == 1) GTEST_SKIP() << "there are no messages";
  }
  Seen of(ThreadMode mode) const {
    return calls_of(comm, {.decomposition = Decomposition::pencils,
                           .strategy = redistribute::Strategy::p2p,
                           .threads = 2,
                           .thread_mode = mode});
  }

  const comm::Communicator comm{MPI_COMM_WORLD};
};

TEST_F(MpiCalls, OfFunneledThreadsAreThoseOfTheOneThatTransforms) {
  EXPECT_TRUE(of(ThreadMode::funneled).is_caller_alone);
}

TEST_F(MpiCalls, OfSerializedThreadsAreOneAtATime) {
  const Seen seen = of(ThreadMode::serialized);

  EXPECT_EQ(seen.threads, 2u);
  EXPECT_EQ(seen.at_once, 1);
}

TEST_F(MpiCalls, OfMultipleThreadsAreAtOnce) {
  const Seen seen = of(ThreadMode::multiple);

  EXPECT_EQ(seen.threads, 2u);
  EXPECT_EQ(seen.at_once, 2);
}

}  // namespace
}  // namespace sidestream::fft
