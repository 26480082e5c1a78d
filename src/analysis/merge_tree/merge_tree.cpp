#include "sidestream/analysis/merge_tree.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/fields/levels.hpp"
#include "analysis/merge_tree/merge_tree_impl.hpp"
#include "analysis/merge_tree/representatives.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

void require_countable(const mesh::Box& finest_domain) {
  const mesh::Int3 cells = finest_domain.extent();
  const double count = static_cast<double>(cells.x) * cells.y * cells.z;
  core::require(count < 0x1p63, "the finest level has more cells than 64 bits can count, so they cannot name maxima");
}

void exchange_surfaces(const comm::Communicator& comm, TreePart& part) {
  comm::ByRank<std::byte> outgoing;
  for (const auto& [rank, surface] : part.surfaces()) outgoing[rank] = packed(surface);
  std::vector<Surface> seen;
  for (const auto& [rank, message] : comm::deliver(comm, outgoing).incoming) seen.push_back(surface_from(message));
  part.meet(seen);
}

void exchange_meetings(const comm::Communicator& comm, TreePart& part) {
  while (true) {
    const auto delivery = comm::deliver(comm, part.take_meetings());
    if (delivery.messages == 0) return;
    for (const auto& [rank, meetings] : delivery.incoming) part.take(meetings);
  }
}

bool comes_before(const Branch& a, const Branch& b, double sign) {
  return a.birth != b.birth ? sign * a.birth > sign * b.birth : a.maximum < b.maximum;
}

}  // namespace

MergeTree::Impl::Impl(const comm::Communicator& comm_, LeafField field_, const TreeOptions& options_)
    : comm(comm_.duplicate()), field(std::move(field_)), options(options_), part(make_part()) {
  comm.agree(part.problem());
  if (comm.size() > 1) {
    exchange_surfaces(comm, part);
    exchange_meetings(comm, part);
  }
}

MergeTree::Impl::Impl(const comm::Communicator& comm_, LeafField field_, const TreeOptions& options_, TreePart part_)
    : comm(comm_.duplicate()), field(std::move(field_)), options(options_), part(std::move(part_)) {}

TreePart MergeTree::Impl::make_part() const {
  require_countable(field.back().layout().domain());
  if (std::isnan(options.cut_off)) throw core::Error("the cut-off of the merge tree is not a number");
  return {field, comm.rank(), options};
}

MergeTree::MergeTree(const comm::Communicator& comm, LeafField field, const TreeOptions& options)
    : impl_(std::make_unique<Impl>(comm, std::move(field), options)) {}
MergeTree::MergeTree(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MergeTree::~MergeTree() = default;
MergeTree::MergeTree(MergeTree&&) noexcept = default;
MergeTree& MergeTree::operator=(MergeTree&&) noexcept = default;

const TreeOptions& MergeTree::options() const {
  return impl_->options;
}

const LeafField& MergeTree::field() const {
  return impl_->field;
}

std::vector<Branch> MergeTree::branches() const {
  const auto peaks = impl_->part.peaks();
  const auto ends = impl_->part.ends();
  const auto parents = elders(impl_->comm, impl_->part);
  std::vector<Branch> branches;
  for (std::size_t m = 0; m < peaks.size(); ++m) {
    if (ends[m].saddle.cell == peaks[m].cell) continue;
    branches.push_back({peaks[m].cell, impl_->sign() * peaks[m].height, ends[m].saddle.cell,
                        impl_->sign() * ends[m].saddle.height, parents[m].rank < 0 ? -1 : parents[m].cell});
  }
  std::sort(branches.begin(), branches.end(),
            [this](const Branch& a, const Branch& b) { return comes_before(a, b, impl_->sign()); });
  return branches;
}

std::int64_t MergeTree::count_branches() const {
  std::int64_t count = 0;
  for (std::size_t m = 0; m < impl_->part.peaks().size(); ++m)
    count += impl_->part.ends()[m].saddle.cell != impl_->part.peaks()[m].cell;
  return impl_->comm.sum(count);
}

std::vector<Branch> MergeTree::all_branches() const {
  const std::vector<Branch> mine = branches();
  std::vector<Branch> all = impl_->comm.gather(std::span<const Branch>(mine));
  std::sort(all.begin(), all.end(),
            [this](const Branch& a, const Branch& b) { return comes_before(a, b, impl_->sign()); });
  return all;
}

std::int64_t MergeTree::components(double threshold) const {
  return components(threshold, threshold);
}

std::int64_t MergeTree::components(double threshold, double t_halo) const {
  const double level = impl_->level_of(threshold), least = std::max(level, impl_->sign() * t_halo);
  const auto peaks = impl_->part.peaks();
  const auto ends = impl_->part.ends();
  std::int64_t count = 0;
  for (std::size_t m = 0; m < peaks.size(); ++m) count += peaks[m].height >= least && ends[m].saddle.height < level;
  return impl_->comm.sum(count);
}

std::int64_t MergeTree::component_of(std::int64_t cell, double threshold) const {
  const double level = impl_->level_of(threshold);
  const auto found = representatives(impl_->comm, impl_->part, level);
  std::int64_t component = -1;
  const auto& levels = impl_->part.levels();
  for (int l = 0; l < static_cast<int>(levels.size()); ++l) {
    const Runs& runs = levels[static_cast<std::size_t>(l)];
    const mesh::Layout& layout = runs.field().layout();
    const mesh::Box& finest = levels.back().field().layout().domain();
    const mesh::Int3 bits = bits_between(finest, static_cast<int>(levels.size()) - 1 - l);
    const mesh::Int3 at = coarsened(cell_at(finest, cell), bits);
    const std::int32_t box = layout.find(at);
    if (box < 0 || layout.owner(box) != impl_->comm.rank()) continue;
    const auto mine = layout.boxes_of(impl_->comm.rank());
    const auto block = static_cast<int>(std::lower_bound(mine.begin(), mine.end(), box) - mine.begin());
    const std::int32_t number = runs.cell(block, at);
    if (number < 0 || !(runs.height(runs.field().view(block)(at.z, at.y, at.x)) >= level)) continue;
    component = found[static_cast<std::size_t>(impl_->part.maximum_of()[static_cast<std::size_t>(number)])].cell;
  }
  return impl_->comm.max(component);
}

bool MergeTree::connected(std::int64_t a, std::int64_t b, double threshold) const {
  const std::int64_t component = component_of(a, threshold);
  return component >= 0 && component == component_of(b, threshold);
}

double MergeTree::Impl::level_of(double threshold) const {
  const double level = sign() * threshold;
  if (std::isnan(level)) throw core::Error("the threshold is not a number");
  if (level < options.cut_off)
    throw core::Error("the threshold " + std::to_string(threshold) + " lies beyond " +
                          std::to_string(sign() * options.cut_off) + ", where the merge tree was cut off",
                      "", "build the tree with another cut-off, or ask within it");
  return level;
}

std::vector<Branch> simplified(std::span<const Branch> branches, double least) {
  std::vector<Branch> kept;
  std::copy_if(branches.begin(), branches.end(), std::back_inserter(kept),
               [=](const Branch& branch) { return branch.persistence() >= least; });
  return kept;
}

}  // namespace sidestream::analysis
