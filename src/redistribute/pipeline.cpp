#include "sidestream/redistribute/pipeline.hpp"

#include <algorithm>

#include "sidestream/core/error.hpp"

namespace sidestream::redistribute {

Pipeline::Pipeline(const comm::Communicator& comm, const mesh::Layout& from, const mesh::Layout& to, int axis,
                   int slices, Strategy strategy) {
  core::require(slices > 0, "a pipeline has one slice or more");
  const mesh::Box& domain = to.domain();
  const std::int64_t cells = domain.extent()[axis],
                     count = std::clamp<std::int64_t>(slices, 1, std::max<std::int64_t>(cells, 1));
  const auto edge = [&](std::int64_t number) {
    return domain.lo[axis] + static_cast<std::int32_t>(number * cells / count);
  };
  for (std::int64_t number = 0; number < count; ++number) {
    mesh::Box box = domain;
    box.lo[axis] = edge(number);
    box.hi[axis] = edge(number + 1);
    boxes_.push_back(box);
    plans_.emplace_back(comm, from, to, strategy, Coverage{.within = box});
  }
}

}  // namespace sidestream::redistribute
