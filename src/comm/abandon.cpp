#include "sidestream/comm/abandon.hpp"

#include <memory>
#include <utility>

namespace sidestream::comm {

namespace {

union Kept {
  Kept() {}
  ~Kept() {}  // leaves it as it is
  Communicator comm;
};

}  // namespace

void abandon(Communicator comm) noexcept {
  Kept kept;
  std::construct_at(&kept.comm, std::move(comm));
}

}  // namespace sidestream::comm
