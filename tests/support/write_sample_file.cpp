// Writes the state of `sample_content.hpp` in any format, for tests that open files with other programs:
//   [mpirun -n N] write_sample_file FORMAT PATH plotfile|checkpoint|species [METHOD [LEVELS [FILES]]]
//   [mpirun -n N] write_sample_file result PATH ROWS
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/result_file.hpp"
#include "support/sample_content.hpp"
#include "support/species.hpp"

namespace {

// A table of `rows` rows spread over the ranks, of which the last one holds most, and small columns beside it.
void write_result(const sidestream::comm::Communicator& comm, const std::string& path, std::int64_t rows) {
  const std::int64_t first = rows / 2 * comm.rank() / comm.size();
  const std::int64_t end = comm.rank() + 1 == comm.size() ? rows : rows / 2 * (comm.rank() + 1) / comm.size();
  std::vector<std::int64_t> id;
  std::vector<double> mass;
  for (std::int64_t row = first; row < end; ++row) {
    id.push_back((std::int64_t{1} << 60) + row);
    mass.push_back(1e10 / static_cast<double>(row + 1));
  }
  sidestream::mesh::Result result;
  result.distributed = {"halo"};
  result.add("id", "", "number of the halo", {"halo"}, {end - first}, id);
  result.add("mass", "Msun", "mass of the halo", {"halo"}, {end - first}, mass);
  if (comm.rank() == 0) {
    result.add<double>("k", "1/Mpc", "wavenumber", {"k"}, {2}, {0.5, 1.5});
    result.attributes["redshift"] = 2.5;
  }
  sidestream::io::write_result(comm, path, result);
}

}  // namespace

int main(int argc, char** argv) {
  const sidestream::comm::Environment environment(argc, argv);
  if (argc < 4 || argc > 7) {
    std::fputs(
        "usage: write_sample_file FORMAT PATH plotfile|checkpoint|species [METHOD [LEVELS [FILES]]], or result PATH "
        "ROWS\n",
        stderr);
    return 2;
  }
  try {
    const sidestream::comm::Communicator comm(MPI_COMM_WORLD);
    if (std::string(argv[1]) == "result") {
      write_result(comm, argv[2], std::atoll(argv[3]));
      return 0;
    }
    const int levels = argc > 5 ? std::atoi(argv[5]) : 3;
    const sidestream::test::SampleContent sample(comm.rank(), comm.size(), levels);
    sidestream::io::WriteOptions options;
    if (argc > 4) options.method = argv[4];
    if (argc > 6) options.files = std::atoi(argv[6]);
    const std::string kind = argv[3];
    sidestream::test::FileState file = sample.content(kind != "plotfile");
    if (kind == "species") {
      file.particles.stored.clear();
      sidestream::test::add_species_samples(file.state, comm.rank());
    }
    sidestream::test::write(comm, sidestream::io::formats().named(argv[1]), argv[2], file, options);
  } catch (const sidestream::core::Error& error) {
    if (!error.is_reported_elsewhere()) std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
