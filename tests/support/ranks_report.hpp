#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <string>

namespace sidestream::test {

/// Leaves out the tests of the folders `alone`: what they look at needs one rank and is the same on each of more.
inline void leave_out_alone() {
  const auto& tests = *testing::UnitTest::GetInstance();
  std::string& filter = testing::GTEST_FLAG(filter);
  char separator = filter.find('-') == std::string::npos ? '-' : ':';
  for (int s = 0; s < tests.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *tests.GetTestSuite(s);
    if (std::string(suite.GetTestInfo(0)->file()).find("/alone/") == std::string::npos) continue;
    filter += separator + std::string(suite.name()) + ".*";
    separator = ':';
  }
}

/// Runs every test on all ranks. Only rank 0 reports what passes; any rank reports what fails; all return alike.
inline int run_all_tests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 1) leave_out_alone();
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
