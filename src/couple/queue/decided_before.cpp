#include "couple/queue/decided_before.hpp"

#include "sidestream/couple/replay.hpp"

namespace sidestream::couple {

DecidedBefore decided_before(Surroundings& around, const mesh::Moment& moment, const Orders& orders) {
  DecidedBefore decided;
  for (const Order& order : orders) {
    const PublishFate fate = around.config.replay->fate(around.config.tasks[order.task].name, moment.step);
    if (fate == PublishFate::left_out)
      around.books.enter(Books::Action::dropped, order, moment);
    else
      (fate == PublishFate::done_here ? decided.here : decided.open).push_back(order);
  }
  return decided;
}

const PolicyEntry& policy_of(const CouplingConfig& config) {
  const bool loses = config.when_full->otherwise != PolicyEntry::Otherwise::store;
  return config.replay && loses ? policies().named("block") : *config.when_full;
}

}  // namespace sidestream::couple
