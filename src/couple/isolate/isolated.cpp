#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "couple/entries.hpp"
#include "couple/isolate/job_channel.hpp"
#include "couple/queue/queued_transport.hpp"
#include "couple/surroundings.hpp"

namespace sidestream::couple {

namespace {

/// The way to jobs of their own. For tasks whose transport has the simulation wait, it waits for their jobs.
class Isolated : public Transport {
 public:
  explicit Isolated(Surroundings& around)
      : around_(around), queue_(around, "jobs of their own", std::make_unique<JobChannel>(around)) {}

  Orders publish(const mesh::Snapshot& snapshot, const Orders& orders) override {
    Orders waited, behind;
    std::ranges::partition_copy(
        orders, std::back_inserter(behind), std::back_inserter(waited),
        [&](const Order& order) { return around_.config.tasks[order.task].transport->has_queue; });
    Orders left = queue_.publish(snapshot, behind);
    if (waited.empty()) return left;
    wait();
    for (const Order& order : waited) {  // each finds an empty queue, whatever the policy
      std::ranges::copy(queue_.publish(snapshot, {order}), std::back_inserter(left));
      wait();
    }
    return left;
  }
  void progress() override { queue_.progress(); }
  Standing standing() override { return queue_.standing(); }
  void settle(std::int64_t count) override { queue_.settle(count); }
  void finish(Drain drain) override { queue_.finish(drain); }

 private:
  void wait() {
    const core::Bill::Part part = around_.bill.part("waiting for jobs of their own", "tasks");
    if (const std::int64_t sent = queue_.standing().sent; sent > 0) queue_.settle(sent);
  }

  Surroundings& around_;
  QueuedTransport queue_;
};

}  // namespace

const TransportEntry& isolated() {
  static const TransportEntry entry{.name = "isolated",
                                    .documentation = "by a job of its own",
                                    .make = [](Surroundings& around) { return std::make_unique<Isolated>(around); },
                                    .has_queue = true};
  return entry;
}

}  // namespace sidestream::couple
