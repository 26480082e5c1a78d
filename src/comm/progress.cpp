#include "sidestream/comm/progress.hpp"

#include <memory>
#include <utility>

#include "comm/luggage.hpp"

namespace sidestream::comm {

namespace {

Communicator with_work(const Communicator& comm, std::shared_ptr<const std::function<void()>> work) {
  Communicator copy = comm.duplicate();
  const Luggage* const carried = luggage_of(copy.raw());
  Luggage luggage = carried != nullptr ? *carried : Luggage{};
  luggage.work = std::move(work);
  set_luggage(copy.raw(), std::move(luggage));
  return copy;
}

}  // namespace

Communicator with_progress(const Communicator& comm, std::function<void()> work) {
  return with_work(comm, std::make_shared<const std::function<void()>>(std::move(work)));
}

Communicator without_progress(const Communicator& comm) {
  return with_work(comm, nullptr);
}

void progress(const Communicator& comm) {
  const Luggage* const luggage = luggage_of(comm.raw());
  if (luggage != nullptr && luggage->work != nullptr) (*luggage->work)();
}

}  // namespace sidestream::comm
