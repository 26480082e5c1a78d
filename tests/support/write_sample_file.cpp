// Writes the state of `sample_content.hpp` in any format, for tests that open files with other programs:
//   [mpirun -n N] write_sample_file FORMAT PATH plotfile|checkpoint [METHOD [LEVELS]]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "sidestream/core/error.hpp"
#include "sidestream/io/format.hpp"
#include "support/sample_content.hpp"

int main(int argc, char** argv) {
  const sidestream::comm::Environment environment(argc, argv);
  if (argc < 4 || argc > 6) {
    std::fputs("usage: write_sample_file FORMAT PATH plotfile|checkpoint [METHOD [LEVELS]]\n", stderr);
    return 2;
  }
  try {
    const sidestream::comm::Communicator comm(MPI_COMM_WORLD);
    const int levels = argc > 5 ? std::atoi(argv[5]) : 3;
    const sidestream::test::SampleContent sample(comm.rank(), comm.size(), levels);
    sidestream::io::WriteOptions options;
    if (argc > 4) options.method = argv[4];
    const bool is_checkpoint = std::string(argv[3]) == "checkpoint";
    sidestream::io::format(argv[1]).write(comm, argv[2], sample.content(is_checkpoint), options);
  } catch (const sidestream::core::Error& error) {
    if (!error.is_reported_elsewhere()) std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
