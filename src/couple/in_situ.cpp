#include <utility>

#include "couple/direct_transport.hpp"
#include "couple/entries.hpp"
#include "couple/surroundings.hpp"

namespace sidestream::couple {

namespace {

constexpr const char* name = "in-situ";

/// The ranks that compute do the analysis, and wait meanwhile.
class InSitu : public DirectTransport {
 public:
  explicit InSitu(Surroundings& around) : around_(around) {}

  Orders publish(const mesh::Snapshot& snapshot, const Orders& orders) override {
    if (orders.empty()) return {};
    publish_begins();
    const std::int64_t unwritten = around_.books.unwritten();
    for (const Order& order : orders)
      around_.books.enter(order.refusal.empty() ? Books::Action::in_situ : Books::Action::refused, order,
                          snapshot.moment);
    for (const auto& [task, charge, refusal] : orders) {
      const Task& own = around_.config.tasks[task];
      if (refusal.empty())
        around_.runner.run(own, snapshot, {.transport = name}, around_.books.of(task));
      else
        around_.runner.report_unwritten(own, snapshot.moment.step, refusal, around_.books.of(task));
    }
    publish_is_done(around_.books.unwritten() > unwritten);
    return {};
  }

 private:
  Surroundings& around_;
};

}  // namespace

TransportEntry in_situ() {
  return {.name = name,
          .documentation = "on the ranks that compute, which wait",
          .make = [](Surroundings& around) { return std::make_unique<InSitu>(around); },
          .may_isolate = true};
}

}  // namespace sidestream::couple
