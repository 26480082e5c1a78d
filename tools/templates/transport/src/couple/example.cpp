#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "couple/entries.hpp"
#include "couple/surroundings.hpp"

namespace sidestream::couple {

namespace {

constexpr const char* example_name = "example";

/// What the tasks read of a snapshot, with memory of its own: the simulation may go on.
mesh::Snapshot example_copy(const mesh::Snapshot& snapshot, const Orders& orders, const Surroundings& around) {
  mesh::Snapshot copy = snapshot.frame();
  copy.levels = snapshot.levels;
  copy.rank = around.roles.group().rank();
  std::set<std::string> species;
  const std::vector<std::string> known = mesh::names_of(snapshot.species());
  for (const Order& order : orders) {
    const Task& task = around.config.tasks[order.task];
    for (const std::string& one : species_to_send(task, known)) species.insert(one);
    for (const std::string& field : fields_to_send(task, snapshot.quantities())) {
      if (copy.has(field)) continue;
      std::vector<mesh::Field<double>> levels;
      for (int level = 0; level <= copy.finest_level(); ++level) {
        levels.emplace_back(copy.levels[static_cast<std::size_t>(level)], copy.rank);
        snapshot.read(field, level, levels.back());
      }
      copy.add(snapshot.quantity(field), std::move(levels));
    }
  }
  for (const mesh::Species& one : snapshot.species())
    if (species.contains(one.name()) && one.particles() != nullptr)
      copy.add_species({one.name(), mesh::Particles(*one.particles())});
  return copy;
}

/// Has what the tasks read analysed by the ranks that compute when the next snapshot comes.
class Example : public Transport {
 public:
  explicit Example(Surroundings& around) : around_(around) {}

  Orders publish(const mesh::Snapshot& snapshot, const Orders& orders) override {
    settle(standing_.sent);
    if (orders.empty()) return {};
    ++standing_.sent;
    waiting_.emplace(example_copy(snapshot, orders, around_), orders);
    return {};
  }
  Standing standing() override { return standing_; }
  void settle(std::int64_t count) override {
    if (count <= standing_.done) return;
    const std::int64_t unwritten = around_.books.unwritten();
    for (const Order& order : waiting_->second) {
      around_.books.enter(Books::Action::sent, order, waiting_->first.moment);
      around_.runner.run(around_.config.tasks[order.task], waiting_->first, {.transport = example_name},
                         around_.books.of(order.task));
    }
    waiting_.reset();
    standing_.done = standing_.sent;
    if (!standing_.first_unwritten && around_.books.unwritten() > unwritten) standing_.first_unwritten = standing_.sent;
  }
  void finish(Drain) override { settle(standing_.sent); }

 private:
  Surroundings& around_;
  Standing standing_;
  std::optional<std::pair<mesh::Snapshot, Orders>> waiting_;  // the publish that is not done
};

}  // namespace

TransportEntry example() {
  return {example_name, "on the ranks that compute, one moment later",
          [](Surroundings& around) { return std::make_unique<Example>(around); }};
}

}  // namespace sidestream::couple
