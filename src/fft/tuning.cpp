#include "sidestream/fft/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "fft/pencils.hpp"
#include "fft/threads/threads.hpp"
#include "sidestream/mesh/any_field.hpp"
#include "sidestream/redistribute/exchange_choice.hpp"
#include "sidestream/redistribute/tuner.hpp"

namespace sidestream::fft {

using mesh::Int3;
using mesh::Layout;
using redistribute::Strategy;

namespace {

// Of a plan that may serve a run of days; the first way is measured whatever it takes.
constexpr double budget_s = 5.0;

std::string text_of(Int3 n) {
  return fmt::format("{} x {} x {}", n.x, n.y, n.z);
}

Int3 largest_box(const Layout& layout) {
  Int3 largest;
  for (const mesh::Box& box : layout.boxes())
    for (int axis = 0; axis < 3; ++axis) largest[axis] = std::max(largest[axis], box.extent()[axis]);
  return largest;
}

/// A transform that is tried, on fields of zeros, which stay zeros.
template <typename Cell>
class TriedTransform {
 public:
  TriedTransform(const comm::Communicator& comm, const Layout& layout, const FftOptions& options)
      : plan_(comm, layout, options),
        cells_(layout, comm.rank(), options.components, options.ghost),
        modes_(plan_.spectral(), comm.rank(), options.components) {}

  void run() {
    plan_.forward(cells_, modes_);
    plan_.backward(modes_, cells_);
  }

 private:
  FftPlan<Cell> plan_;
  mesh::Field<Cell> cells_;
  mesh::Field<typename FftPlan<Cell>::Mode> modes_;
};

// The grids there are to choose from, first the one that would be taken without.
std::vector<ProcessGrid> grids_for(const Layout& given, int ranks, bool is_real, const FftOptions& options) {
  const ProcessGrid usual = pencils_of(given, ranks, is_real, options).grid;
  std::vector<ProcessGrid> grids{usual};
  if (options.grid || options.decomposition != Decomposition::automatic) return grids;
  for (const ProcessGrid& grid : process_grids(ranks))
    if (grid.rows != usual.rows || grid.columns != usual.columns) grids.push_back(grid);
  return grids;
}

std::vector<Way> ways_for(const comm::Communicator& comm, const std::vector<ProcessGrid>& grids,
                          const FftOptions& options) {
  const int threads = options.threads == 1 ? 1 : std::min(options.threads, comm::cores_of_rank(comm));
  if (comm.size() == 1) {
    std::vector<Way> all = ways(grids, std::array{Strategy::p2p}, 1, threads);
    for (Way& way : all) {
      way.depth = std::max(options.depth, 1);
      way.pieces = options.pieces;
    }
    return all;
  }
  std::vector<Way> all = ways(grids, ways_to_travel(comm), options.components, threads);
  if (options.depth == 0) return all;
  std::erase_if(all, [](const Way& way) { return way.depth != 1; });
  for (Way& way : all) {
    way.depth = options.depth;
    way.pieces = options.pieces;
  }
  return all;
}

template <typename Cell>
FftOptions tuned_in(const comm::Communicator& comm, Int3 cells, const std::optional<Layout>& given,
                    const FftOptions& options) {
  constexpr bool is_real = !std::is_same_v<Cell, typename ModeOf<Cell>::Type>;
  const auto layout_for = [&](ProcessGrid grid) { return given ? *given : x_pencils(cells, grid); };
  const std::vector<ProcessGrid> grids = grids_for(layout_for({1, 1}), comm.size(), is_real, options);
  const std::vector<Way> all = ways_for(comm, grids, options);
  if (all.size() == 1) return all.front().of(options);
  std::vector<redistribute::Candidate> candidates;
  for (const Way& way : all)
    candidates.push_back({way.name(), [&] {
                            FftOptions tried = way.of(options);
                            tried.times = nullptr;
                            const auto transform =
                                std::make_shared<TriedTransform<Cell>>(comm, layout_for(way.grid), tried);
                            return [transform] { transform->run(); };
                          }});
  const redistribute::Tuning tuning =
      tune(comm, redistribute::Wisdom(redistribute::exchange_of(comm).wisdom),
           tuning_key<Cell>(comm, cells, given, options), candidates, {.budget_s = budget_s});
  return all[tuning.chosen].of(options);
}

}  // namespace

std::string Way::name() const {
  std::string text = fmt::format("{} x {}, {}", grid.rows, grid.columns, redistribute::entry_of(strategy).name);
  if (pieces == Pieces::components)
    text += fmt::format(", {} components under way", depth);
  else if (depth > 1)
    text += fmt::format(", {} under way", depth);
  return threads == 1 ? text : text + fmt::format(", {} threads", threads);
}

FftOptions Way::of(FftOptions options) const {
  options.grid = grid;
  options.strategy = strategy;
  options.depth = depth;
  options.pieces = pieces;
  options.threads = threads;
  return options;
}

std::vector<ProcessGrid> process_grids(int ranks) {
  std::vector<ProcessGrid> grids;
  for (const int working : {ranks, ranks / 2})
    for (int rows = 1; rows <= working; ++rows)
      if (working % rows == 0) grids.push_back({rows, working / rows});
  return grids;
}

std::vector<Way> ways(std::span<const ProcessGrid> grids, std::span<const Strategy> strategies, int components,
                      int threads) {
  struct Pipe {
    int depth;
    Pieces pieces;
  };
  std::vector<Pipe> pipes{{1, Pieces::planes}, {2, Pieces::planes}};
  if (components > 1) pipes.push_back({2, Pieces::components});
  std::vector<Way> all;
  for (int number = threads; number > 0; number /= 2)
    for (const Pipe& pipe : pipes)
      for (const ProcessGrid& grid : grids)
        for (const Strategy strategy : strategies)
          if (grid.ranks() > 1 || pipe.depth == 1) all.push_back({grid, strategy, pipe.depth, pipe.pieces, number});
  return all;
}

std::vector<Strategy> ways_to_travel(const comm::Communicator& comm) {
  constexpr int most_for_alltoallw = 64;
  std::vector<Strategy> strategies;
  for (const redistribute::StrategyEntry& entry : redistribute::strategies())
    if (entry.make != nullptr) strategies.push_back(entry.strategy);
  const Strategy usual = comm.size() <= most_for_alltoallw ? Strategy::alltoallw : Strategy::p2p;
  std::ranges::stable_partition(strategies, [usual](Strategy one) { return one == usual; });
  return strategies;
}

Layout x_pencils(Int3 cells, ProcessGrid grid) {
  return split(mesh::domain_of(cells), {1, grid.rows, grid.columns});
}

template <typename Cell>
std::string tuning_key(const comm::Communicator& comm, Int3 cells, const std::optional<Layout>& given,
                       const FftOptions& options) {
  std::string key = fmt::format("{}; transform of {} {} from {}", redistribute::machine_key(comm), text_of(cells),
                                to_string(mesh::ElementTypeOf<Cell>::value),
                                given ? "boxes of " + text_of(largest_box(*given)) : "pencils");
  if (options.components > 1) key += fmt::format(", {} components", options.components);
  if (options.kept) key += fmt::format(", kept to {}", text_of(*options.kept));
  if (options.spectral) key += fmt::format(", to boxes of {}", text_of(largest_box(*options.spectral)));
  if (options.grid) key += fmt::format(", on {} x {}", options.grid->rows, options.grid->columns);
  if (options.decomposition != Decomposition::automatic)
    key += options.decomposition == Decomposition::slabs ? ", as slabs" : ", as pencils";
  if (options.depth > 0) key += fmt::format(", depth {}", options.depth);
  if (options.threads > 1) key += fmt::format(", {} threads {}", options.threads, entry_of(options.thread_mode).name);
  if (options.in_place) key += ", in place";
  return key;
}

bool is_to_be_tuned(const comm::Communicator& comm, const FftOptions& options) {
  const Strategy asked =
      options.strategy == Strategy::automatic ? redistribute::exchange_of(comm).strategy : options.strategy;
  return asked == Strategy::tuned;
}

template <typename Cell>
FftOptions tuned(const comm::Communicator& comm, const Layout& cells, const FftOptions& options) {
  return tuned_in<Cell>(comm, cells.domain().hi, cells, options);
}

template <typename Cell>
FftOptions tuned(const comm::Communicator& comm, Int3 cells, const FftOptions& options) {
  return tuned_in<Cell>(comm, cells, std::nullopt, options);
}

template std::string tuning_key<double>(const comm::Communicator&, Int3, const std::optional<Layout>&,
                                        const FftOptions&);
template FftOptions tuned<double>(const comm::Communicator&, const Layout&, const FftOptions&);
template FftOptions tuned<double>(const comm::Communicator&, Int3, const FftOptions&);
template std::string tuning_key<float>(const comm::Communicator&, Int3, const std::optional<Layout>&,
                                       const FftOptions&);
template FftOptions tuned<float>(const comm::Communicator&, const Layout&, const FftOptions&);
template FftOptions tuned<float>(const comm::Communicator&, Int3, const FftOptions&);
template std::string tuning_key<std::complex<double>>(const comm::Communicator&, Int3, const std::optional<Layout>&,
                                                      const FftOptions&);
template FftOptions tuned<std::complex<double>>(const comm::Communicator&, const Layout&, const FftOptions&);
template FftOptions tuned<std::complex<double>>(const comm::Communicator&, Int3, const FftOptions&);
template std::string tuning_key<std::complex<float>>(const comm::Communicator&, Int3, const std::optional<Layout>&,
                                                     const FftOptions&);
template FftOptions tuned<std::complex<float>>(const comm::Communicator&, const Layout&, const FftOptions&);
template FftOptions tuned<std::complex<float>>(const comm::Communicator&, Int3, const FftOptions&);

}  // namespace sidestream::fft
