#include "places.hpp"

namespace sidestream::test {

std::string source_folder() {
  return SIDESTREAM_SOURCE_DIR;
}

}  // namespace sidestream::test
