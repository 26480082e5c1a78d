#include "analysis/merge_tree/tree_part.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "analysis/at.hpp"
#include "analysis/components/union_find.hpp"
#include "analysis/parallel.hpp"

namespace sidestream::analysis {

namespace {

void sort_downwards(std::vector<Edge>& edges) {
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return !(a.saddle == b.saddle) ? b.saddle < a.saddle : std::tie(a.a, a.b) < std::tie(b.a, b.b);
  });
}

// Where the branches of `peaks` end that `edges`, sorted, make (Kruskal's algorithm with the elder rule). The numbers
// of the edges count from `first` on.
void end_branches(std::span<const Peak> peaks, std::span<const Edge> edges, std::int32_t first,
                  std::span<BranchEnd> ends) {
  std::vector<std::int32_t> up(peaks.size());
  std::iota(up.begin(), up.end(), 0);
  const auto find = [&](std::int32_t m) {
    while (up[at(m)] != m) m = up[at(m)] = up[at(up[at(m)])];
    return m;
  };
  for (const Edge& edge : edges) {
    std::int32_t younger = find(edge.a - first), elder = find(edge.b - first);
    if (younger == elder) continue;
    if (peaks[at(elder)] < peaks[at(younger)]) std::swap(younger, elder);
    up[at(younger)] = elder;
    ends[at(younger)] = {edge.saddle, peaks[at(elder)]};
  }
}

// The tree of one block: ways up, maxima, ends of branches.
struct BlockTree {
  std::vector<Peak> peaks;
  std::vector<BranchEnd> ends;
};

BlockTree tree_of_block(const Runs& runs, int block, int rank, const Link& link, const CellIndex& index,
                        std::span<std::int32_t> up) {
  std::vector<Edge> edges;
  find_ascents(runs, block, link, index, up, edges);
  BlockTree tree;
  follow_ascents(runs, block, rank, index, up, tree.peaks);
  for (Edge& edge : edges) {
    edge.a = up[at(edge.a)];
    edge.b = up[at(edge.b)];
  }
  std::erase_if(edges, [](const Edge& edge) { return edge.a == edge.b; });
  sort_downwards(edges);
  tree.ends.resize(tree.peaks.size());
  end_branches(tree.peaks, edges, 0, tree.ends);
  return tree;
}

}  // namespace

std::vector<Runs> TreePart::make_runs(const LeafField& field, const TreeOptions& options) {
  std::vector<Runs> levels;
  for (const ScalarView& level : field)
    levels.emplace_back(level, options.sets, options.cut_off, levels.empty() ? RunCount{} : levels.back().end());
  return levels;
}

TreePart::TreePart(const LeafField& field, int rank, const TreeOptions& options)
    : rank_(rank), connectivity_(options.connectivity), levels_(make_runs(field, options)) {
  maximum_of_.resize(at(levels_.back().end().cells));
  for (int level = 0; level < static_cast<int>(levels_.size()); ++level)
    build_blocks(level, options.threads, options.connectivity);
  join_blocks(options.threads);
}

TreePart::TreePart(const LeafField& field, int rank, const TreeOptions& options, std::vector<std::int32_t> maximum_of,
                   std::vector<Peak> peaks, std::vector<BranchEnd> ends)
    : rank_(rank),
      connectivity_(options.connectivity),
      levels_(make_runs(field, options)),
      maximum_of_(std::move(maximum_of)),
      peaks_(std::move(peaks)),
      ends_(std::move(ends)) {}

std::string TreePart::problem() const {
  for (const Runs& runs : levels_)
    if (!runs.problem().empty()) return runs.problem();
  return "";
}

// The blocks of a level, each by one thread; then their maxima are numbered through.
void TreePart::build_blocks(int level, int threads, Connectivity connectivity) {
  const Runs& runs = levels_[static_cast<std::size_t>(level)];
  const Link& link = Link::of(connectivity);
  const CellIndex index(levels_.back().field().layout().domain(), static_cast<int>(levels_.size()) - 1 - level);
  std::vector<BlockTree> trees(static_cast<std::size_t>(runs.blocks()));
  for_each_in_parallel(runs.blocks(), threads, [&](int b) {
    if (runs.first_cell_of(b) == runs.first_cell_of(b + 1)) return;
    trees[static_cast<std::size_t>(b)] = tree_of_block(runs, b, rank_, link, index, maximum_of_);
  });
  std::size_t maxima = peaks_.size();
  for (const BlockTree& tree : trees) maxima += tree.peaks.size();
  peaks_.reserve(maxima);
  ends_.reserve(maxima);
  for (int b = 0; b < runs.blocks(); ++b) {
    BlockTree& tree = trees[static_cast<std::size_t>(b)];
    const auto first = static_cast<std::int32_t>(peaks_.size());
    for (Peak& peak : tree.peaks) peak.maximum += first;
    for (BranchEnd& end : tree.ends) end.parent.maximum += first;
    for (std::int32_t c = runs.first_cell_of(b); c < runs.first_cell_of(b + 1); ++c) maximum_of_[at(c)] += first;
    peaks_.insert(peaks_.end(), tree.peaks.begin(), tree.peaks.end());
    ends_.insert(ends_.end(), tree.ends.begin(), tree.ends.end());
    tree = {};
  }
}

void TreePart::join_blocks(int threads) {
  std::vector<Edge> edges = edges_across_blocks(levels_, connectivity_, maximum_of_, threads);
  if (edges.empty()) return;
  for (std::size_t m = 0; m < ends_.size(); ++m)
    if (ends_[m].parent.rank >= 0)
      edges.push_back({ends_[m].saddle, static_cast<std::int32_t>(m), ends_[m].parent.maximum});
  sort_downwards(edges);
  std::fill(ends_.begin(), ends_.end(), BranchEnd());
  end_branches(peaks_, edges, 0, ends_);
}

// Of the edges to other ranks only those can matter that a spanning tree of the maxima here and there would have.
void TreePart::meet(std::span<const Surface> surfaces) {
  std::vector<Peak> others;
  std::vector<Edge> edges;
  const auto here = static_cast<std::int32_t>(peaks_.size());
  for (const Surface& surface : surfaces) {
    const std::int32_t first = here + static_cast<std::int32_t>(others.size());
    for (Edge edge : edges_to(surface, levels_, connectivity_, maximum_of_)) {
      edge.b += first;
      edges.push_back(edge);
    }
    others.insert(others.end(), surface.peaks.begin(), surface.peaks.end());
  }
  if (edges.empty()) return;
  for (std::size_t m = 0; m < ends_.size(); ++m)
    if (ends_[m].parent.rank >= 0)
      edges.push_back({ends_[m].saddle, static_cast<std::int32_t>(m), ends_[m].parent.maximum});
  sort_downwards(edges);
  UnionFind sets(peaks_.size() + others.size());
  for (const Edge& edge : edges) {
    if (sets.find(edge.a) == sets.find(edge.b)) continue;
    sets.unite(edge.a, edge.b);
    if (edge.b >= here) merge({edge.saddle, peaks_[at(edge.a)], others[at(edge.b - here)]});
  }
}

// The lower of the two maxima is where something changes: either its branch has met an older one higher up, and then it
// is that one which meets the other here; or it ends here, and what it met further down is met by the other one.
void TreePart::merge(Meeting meeting) {
  while (!(meeting.a == meeting.b)) {
    if (meeting.b < meeting.a) std::swap(meeting.a, meeting.b);
    if (meeting.a.rank != rank_) return outgoing_.push_back(meeting);
    BranchEnd& end = ends_[at(meeting.a.maximum)];
    if (end.parent.rank >= 0 && !(end.saddle < meeting.saddle)) {
      meeting.a = end.parent;
      continue;
    }
    const BranchEnd before = end;
    end = {meeting.saddle, meeting.b};
    if (before.parent.rank < 0) return;
    meeting = {before.saddle, before.parent, meeting.b};
  }
}

comm::ByRank<Meeting> TreePart::take_meetings() {
  std::sort(outgoing_.begin(), outgoing_.end(), [](const Meeting& a, const Meeting& b) {
    const auto key = [](const Meeting& m) { return std::tie(m.a.cell, m.b.cell); };
    return key(a) != key(b) ? key(a) < key(b) : b.saddle < a.saddle;
  });
  const auto is_same = [](const Meeting& a, const Meeting& b) { return a.a == b.a && a.b == b.b; };
  outgoing_.erase(std::unique(outgoing_.begin(), outgoing_.end(), is_same), outgoing_.end());
  comm::ByRank<Meeting> messages;
  for (const Meeting& meeting : outgoing_) messages[meeting.a.rank].push_back(meeting);
  outgoing_.clear();
  return messages;
}

void TreePart::take(std::span<const Meeting> meetings) {
  for (const Meeting& meeting : meetings) merge(meeting);
}

Peak TreePart::climb(Peak from, const Saddle& level) const {
  while (from.rank == rank_) {
    const BranchEnd& end = ends_[at(from.maximum)];
    if (end.parent.rank < 0 || end.saddle < level) break;
    from = end.parent;
  }
  return from;
}

}  // namespace sidestream::analysis
