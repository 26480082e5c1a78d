#include "support/ranks_report.hpp"

// One thread only: where MPI allows several, Open MPI 4.1 chooses other ways of writing, which do not show the fault
// that the canary looks for.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int failed = sidestream::test::run_all_tests(argc, argv);
  MPI_Finalize();
  return failed;
}
