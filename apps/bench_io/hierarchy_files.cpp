#include "hierarchy_files.hpp"

#include "sidestream/io/atomic_file.hpp"

namespace sidestream::bench {

std::vector<HierarchyMethod> hierarchy_methods() {
  return {gathered_method(), two_phase_method(), parallel_hdf5_method(), hierarchy_method_by("engine"),
          hierarchy_method_by("aggregated")};
}

void bring_to_disk(const std::string& path) {
  io::OutputFile(path, io::OutputFile::Open::modify).sync_and_close();
}

}  // namespace sidestream::bench
