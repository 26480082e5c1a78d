#include "ranks_report.hpp"
#include "sidestream/comm/communicator.hpp"

int main(int argc, char** argv) {
  const sidestream::comm::Environment environment(argc, argv);
  return sidestream::test::run_all_tests(argc, argv);
}
