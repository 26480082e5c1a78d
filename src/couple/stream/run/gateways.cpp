#include "couple/stream/run/gateways.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "couple/stream/shares.hpp"
#include "sidestream/comm/sparse_exchange.hpp"

namespace sidestream::couple {

Gateways::Gateways(const comm::Communicator& group, int count)
    : group_(group),
      count_(count),
      ranks_(gateways_of(count, group.size())),
      number_for_(gateway_for(ranks_, group.size())) {
  for (const std::int32_t number : number_for_) rank_for_.push_back(ranks_[static_cast<std::size_t>(number)]);
}

void Gateways::make_way(const std::vector<mesh::Layout>& levels) {
  levels_.clear();
  plans_.clear();
  if (!are_any()) return;
  for (const mesh::Layout& level : levels) {
    levels_.push_back(level.renumbered(rank_for_));
    plans_.emplace_back(group_, level, levels_.back());
  }
  route_ = Route(levels_, group_.rank());
}

// Cells by the plans of their levels, particles as messages one behind the other.
Cargo Gateways::brought(const Route& route, Cargo own, std::size_t fields, BufferPool& pool) const {
  const auto from = std::make_shared<Cargo>(std::move(own));
  comm::ByRank<Word> outgoing;
  for (const Cargo::Message& message : from->messages())
    if (!message.particles.empty())
      outgoing[rank_for_[static_cast<std::size_t>(group_.rank())]].assign(message.particles.begin(),
                                                                          message.particles.end());
  std::vector<Word> particles;
  for (const auto& [rank, words] : comm::deliver(group_, outgoing).incoming)
    particles.insert(particles.end(), words.begin(), words.end());
  const bool has_blocks = !route_.peers().empty();
  Cargo to =
      route_.cargo(fields, has_blocks ? std::vector<std::int64_t>{std::ssize(particles)} : std::vector<std::int64_t>{});
  to.load(pool);
  if (has_blocks) std::ranges::copy(particles, to.messages().front().particles.begin());
  for (std::size_t f = 0; f < fields; ++f) {
    const std::vector<mesh::FieldView<const double>> source = route.views(from, f);
    const std::vector<mesh::FieldView<double>> target = route_.writable_views(to, f);
    for (std::size_t level = 0; level < plans_.size(); ++level) plans_[level].apply(source[level], target[level]);
  }
  pool.give_back(std::move(*from).release());
  return to;
}

std::vector<mesh::Layout> Gateways::told(const std::vector<mesh::Layout>& levels) const {
  if (!are_any()) return levels;
  std::vector<mesh::Layout> all;
  for (const mesh::Layout& level : levels) all.push_back(level.renumbered(number_for_));
  return all;
}

}  // namespace sidestream::couple
