// What ranks send each other to build one distributed merge tree: all messages, bytes and rounds for 8 to 4096 ranks of
// equal blocks, all of them driven in this one process. Messages are those of `comm::deliver`: of values, receipts of
// these, and those by which ranks learn that a round is over. Usage: bench_merge_tree_traffic [CELLS a side of a block
// [RANKS at most [RANKS at least]]], where RANKS are powers of 2.

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "analysis/merge_tree/representatives.hpp"
#include "analysis/merge_tree/tree_part.hpp"
#include "lognormal.hpp"
#include "report.hpp"

namespace {

using namespace sidestream;
using analysis::TreePart;
using nlohmann::json;

// Messages that ranks send in rounds, and what they add up to.
template <typename T>
class Post {
 public:
  explicit Post(int ranks) : inbox_(static_cast<std::size_t>(ranks)), sent_(inbox_.size()) {}

  void send(std::size_t from, const comm::ByRank<T>& outgoing) {
    for (const auto& [rank, values] : outgoing) {
      const auto to = static_cast<std::size_t>(rank);
      inbox_[to].insert(inbox_[to].end(), values.begin(), values.end());
      const auto bytes = static_cast<double>(values.size() * sizeof(T));
      sent_[from].messages += 1.0;
      sent_[from].bytes += bytes;
      sent_[to].receipts += 1.0;
      sent_[to].received_bytes += bytes;
      is_silent_ = false;
    }
  }
  // The messages of the round that ends; empty when nobody sent any.
  std::vector<std::vector<T>> deliver() {
    ++rounds_;
    if (is_silent_) return {};
    is_silent_ = true;
    return std::exchange(inbox_, std::vector<std::vector<T>>(inbox_.size()));
  }
  json report() const {
    const double agreed = static_cast<double>(rounds_ * comm::consensus_messages(static_cast<int>(sent_.size())));
    const auto all_messages = [=](const Sent& sent) { return sent.messages + sent.receipts + agreed; };
    const auto all_bytes = [=](const Sent& sent) { return sent.bytes + 8.0 * agreed; };
    return {{"rounds", rounds_},
            {"consensus_messages_a_rank", agreed},
            {"values", {{"messages", of_ranks(&Sent::messages)}, {"bytes", of_ranks(&Sent::bytes)}}},
            {"receipts", of_ranks(&Sent::receipts)},
            {"received_bytes", of_ranks(&Sent::received_bytes)},
            {"all", {{"messages", of_ranks(all_messages)}, {"bytes", of_ranks(all_bytes)}}},
            {"bytes_with_counts_from_all", {{"mean", mean(&Sent::bytes) + rounds_ * 8.0 * size()}}}};
  }

 private:
  struct Sent {
    double messages = 0.0, bytes = 0.0, receipts = 0.0, received_bytes = 0.0;
  };
  template <typename F>
  double mean(F count) const {
    double sum = 0.0;
    for (const Sent& sent : sent_) sum += std::invoke(count, sent);
    return sum / size();
  }
  template <typename F>
  json of_ranks(F count) const {
    double most = 0.0;
    for (const Sent& sent : sent_) most = std::max<double>(most, std::invoke(count, sent));
    return {{"mean", mean(count)}, {"max", most}};
  }
  double size() const { return static_cast<double>(sent_.size()); }

  std::vector<std::vector<T>> inbox_;
  std::vector<Sent> sent_;
  int rounds_ = 0;
  bool is_silent_ = true;
};

// The part of `whole`, which one rank holds, that virtual rank `rank` owns.
mesh::Field<double> part_of(const analysis::ScalarView& whole, const mesh::Layout& layout, int rank) {
  mesh::Field<double> field(layout, rank);
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(
        field.box(b), [to = field.view(b), from = whole.view(0)](int k, int j, int i) { to(k, j, i) = from(k, j, i); });
  return field;
}

// What it takes to name the elder of each branch, which only a list of branches needs.
json elder_traffic(const std::vector<TreePart>& parts) {
  const auto ranks = static_cast<int>(parts.size());
  std::vector<analysis::ElderSearch> searches;
  for (int rank = 0; rank < ranks; ++rank) searches.emplace_back(parts[static_cast<std::size_t>(rank)], rank);
  Post<std::int32_t> questions(ranks);
  Post<analysis::BranchEnd> answers(ranks);
  for (bool is_done = false; !is_done;) {
    is_done = true;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      const auto asked = searches[rank].questions();
      questions.send(rank, asked);
      for (const auto& [to, maxima] : asked) {
        is_done = false;
        const auto answer = searches[static_cast<std::size_t>(to)].answers(maxima);
        answers.send(static_cast<std::size_t>(to), {{static_cast<int>(rank), answer}});
        searches[rank].take(to, answer);
      }
    }
    questions.deliver();
    if (!is_done) answers.deliver();
  }
  return {{"questions", questions.report()}, {"answers", answers.report()}};
}

// As many ranks along each axis as the next, or twice as many.
mesh::Int3 ranks_along(int ranks) {
  mesh::Int3 along{1, 1, 1};
  for (int axis = 0; along.x * along.y * along.z < ranks; axis = (axis + 1) % 3) along[axis] *= 2;
  return along;
}

json traffic(const analysis::ScalarView& whole, mesh::Int3 along, const analysis::TreeOptions& options) {
  const int ranks = along.x * along.y * along.z;
  const mesh::Layout layout = mesh::split(whole.layout().domain(), along);
  std::vector<mesh::Field<double>> fields;
  std::vector<TreePart> parts;
  fields.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    fields.push_back(part_of(whole, layout, rank));
    parts.emplace_back(analysis::LeafField{fields.back()}, rank, options);
  }
  json report{{"ranks", ranks}};

  Post<std::byte> surfaces(ranks);
  std::vector<std::vector<analysis::Surface>> seen(parts.size());
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    comm::ByRank<std::byte> outgoing;
    for (auto& [to, surface] : parts[rank].surfaces()) {
      outgoing[to] = analysis::packed(surface);
      seen[static_cast<std::size_t>(to)].push_back(surface);
    }
    surfaces.send(rank, outgoing);
  }
  surfaces.deliver();
  report["surfaces"] = surfaces.report();

  Post<analysis::Meeting> meetings(ranks);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    parts[rank].meet(seen[rank]);
    seen[rank] = {};
    meetings.send(rank, parts[rank].take_meetings());
  }
  for (auto round = meetings.deliver(); !round.empty(); round = meetings.deliver())
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      parts[rank].take(round[rank]);
      meetings.send(rank, parts[rank].take_meetings());
    }
  report["meetings"] = meetings.report();

  report["listing_branches"] = elder_traffic(parts);
  std::int64_t branches = 0;
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    for (std::size_t m = 0; m < parts[rank].peaks().size(); ++m)
      branches += parts[rank].ends()[m].saddle.cell != parts[rank].peaks()[m].cell;
  report["branches"] = branches;
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator self(MPI_COMM_SELF);
  const int block = argc > 1 ? std::stoi(argv[1]) : 16;
  json report = bench::header(self, "merge_tree_traffic");
  report["block"] = block;
  report["surface_cells"] = 6 * block * block;
  const int most = argc > 2 ? std::stoi(argv[2]) : 4096, least = argc > 3 ? std::stoi(argv[3]) : 8;
  for (int ranks = least; ranks <= most; ranks *= argc > 3 ? 2 : 8) {
    const mesh::Int3 along = ranks_along(ranks);
    const mesh::Int3 cells{along.x * block, along.y * block, along.z * block};
    const mesh::Field<double> whole = bench::lognormal(self, mesh::split(mesh::domain_of(cells), {1, 1, 1}));
    double mean = 0.0;
    for (const double value : whole.all()) mean += value / static_cast<double>(whole.all().size());
    analysis::TreeOptions halos;
    halos.cut_off = 81.66 * mean;
    report["full_tree"].push_back(traffic(whole, along, {}));
    report["halos"].push_back(traffic(whole, along, halos));
  }
  std::printf("%s\n", report.dump(2).c_str());
}
