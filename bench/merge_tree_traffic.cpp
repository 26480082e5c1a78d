// What ranks send each other to build one distributed merge tree: messages, bytes and rounds for 8 to 4096 ranks of
// equal blocks, all of them driven in this one process. Usage: bench_merge_tree_traffic [CELLS a side of a block [RANKS
// a side]]

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
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

  void send(std::size_t from, const std::vector<std::vector<T>>& outgoing) {
    for (std::size_t to = 0; to < outgoing.size(); ++to) {
      if (outgoing[to].empty()) continue;
      auto& box = inbox_[to];
      box.insert(box.end(), outgoing[to].begin(), outgoing[to].end());
      const auto bytes = static_cast<double>(outgoing[to].size() * sizeof(T));
      sent_[from] += {1.0, bytes, 0.0};
      sent_[to].received_bytes += bytes;
      is_silent_ = false;
    }
  }
  // The messages of the round that ends; empty when nobody sent any.
  std::vector<std::vector<T>> deliver() {
    if (is_silent_) return {};
    is_silent_ = true;
    ++rounds_;
    return std::exchange(inbox_, std::vector<std::vector<T>>(inbox_.size()));
  }
  json report() const {
    Sent mean, most;
    for (const Sent& sent : sent_) {
      mean += {sent.messages / size(), sent.bytes / size(), 0.0};
      most.messages = std::max(most.messages, sent.messages);
      most.bytes = std::max(most.bytes, sent.bytes);
      most.received_bytes = std::max(most.received_bytes, sent.received_bytes);
    }
    return {{"rounds", rounds_},
            {"messages_a_rank", {{"mean", mean.messages}, {"max", most.messages}}},
            {"bytes_a_rank", {{"mean", mean.bytes}, {"max", most.bytes}, {"max_received", most.received_bytes}}}};
  }

 private:
  struct Sent {
    double messages = 0.0, bytes = 0.0, received_bytes = 0.0;
    void operator+=(const Sent& other) {
      messages += other.messages;
      bytes += other.bytes;
    }
  };
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
  for (int rank = 0; rank < ranks; ++rank) searches.emplace_back(parts[static_cast<std::size_t>(rank)], rank, ranks);
  Post<std::int32_t> questions(ranks);
  Post<analysis::BranchEnd> answers(ranks);
  for (bool is_done = false; !is_done;) {
    is_done = true;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      const auto asked = searches[rank].questions();
      questions.send(rank, asked);
      for (std::size_t to = 0; to < asked.size(); ++to) {
        if (asked[to].empty()) continue;
        is_done = false;
        std::vector<std::vector<analysis::BranchEnd>> answer(parts.size());
        answer[rank] = searches[to].answers(asked[to]);
        answers.send(to, answer);
        searches[rank].take(static_cast<int>(to), answer[rank]);
      }
    }
    questions.deliver();
    answers.deliver();
  }
  return {{"questions", questions.report()}, {"answers", answers.report()}};
}

json traffic(const analysis::ScalarView& whole, int side, const analysis::TreeOptions& options) {
  const int ranks = side * side * side;
  const mesh::Layout layout = mesh::split(whole.layout().domain(), {side, side, side});
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
    const auto mine = parts[rank].surfaces(ranks);
    std::vector<std::vector<std::byte>> outgoing(parts.size());
    for (std::size_t to = 0; to < mine.size(); ++to)
      if (!mine[to].runs.empty()) {
        outgoing[to] = analysis::packed(mine[to]);
        seen[to].push_back(mine[to]);
      }
    surfaces.send(rank, outgoing);
  }
  surfaces.deliver();
  report["surfaces"] = surfaces.report();

  Post<analysis::Meeting> meetings(ranks);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    parts[rank].meet(seen[rank]);
    seen[rank] = {};
    meetings.send(rank, parts[rank].take_meetings(ranks));
  }
  for (auto round = meetings.deliver(); !round.empty(); round = meetings.deliver())
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      parts[rank].take(round[rank]);
      meetings.send(rank, parts[rank].take_meetings(ranks));
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
  const int largest = argc > 2 ? std::stoi(argv[2]) : 16;
  for (int side = 2; side <= largest; side *= 2) {
    const int n = side * block;
    const mesh::Field<double> whole = bench::lognormal(self, mesh::split(mesh::domain_of({n, n, n}), {1, 1, 1}));
    double mean = 0.0;
    for (const double value : whole.all()) mean += value / static_cast<double>(whole.all().size());
    analysis::TreeOptions halos;
    halos.cut_off = 81.66 * mean;
    report["full_tree"].push_back(traffic(whole, side, {}));
    report["halos"].push_back(traffic(whole, side, halos));
  }
  std::printf("%s\n", report.dump(2).c_str());
}
