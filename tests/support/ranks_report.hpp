#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

namespace sidestream::test {

/// Runs every test on all ranks. Only rank 0 reports what passes; any rank reports what fails; all return alike.
inline int run_all_tests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    struct FailuresOnly : testing::EmptyTestEventListener {
      void OnTestPartResult(const testing::TestPartResult& part) override {
        if (part.failed()) printf("rank>0: %s:%d: %s\n", part.file_name(), part.line_number(), part.message());
      }
    };
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return failed;
}

}  // namespace sidestream::test
