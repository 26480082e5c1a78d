#include "sidestream/core/instruction_set.hpp"

namespace sidestream::core {

inline namespace kernels {

std::string_view instruction_set() {
  return SIDESTREAM_INSTRUCTION_SET;
}

}  // namespace kernels

}  // namespace sidestream::core
