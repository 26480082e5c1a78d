#include <utility>

#include "couple/entries.hpp"
#include "couple/surroundings.hpp"

namespace sidestream::couple {

namespace {

constexpr const char* name = "in-situ";

/// The ranks that compute do the analysis, and wait meanwhile.
class InSitu : public Transport {
 public:
  explicit InSitu(Surroundings& around) : around_(around) {}

  Orders publish(const mesh::Snapshot& snapshot, const Orders& orders) override {
    if (orders.empty()) return {};
    ++standing_.sent;
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
    if (!standing_.first_unwritten && around_.books.unwritten() > unwritten) standing_.first_unwritten = standing_.sent;
    standing_.done = standing_.sent;
    return {};
  }
  Standing standing() override { return standing_; }
  void settle(std::int64_t) override {}
  void finish(Drain) override {}

 private:
  Surroundings& around_;
  Standing standing_;
};

}  // namespace

TransportEntry in_situ() {
  return {.name = name,
          .documentation = "on the ranks that compute, which wait",
          .make = [](Surroundings& around) { return std::make_unique<InSitu>(around); },
          .may_isolate = true};
}

}  // namespace sidestream::couple
