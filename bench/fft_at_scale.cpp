// The exchanges of distributed transforms on up to 262,144 ranks, as the planner of the library plans them, for
// bench/fft_at_scale.py. Runs in one process and moves nothing: tables of a rank are made without the others.
// Usage: bench_fft_at_scale [--every-rank] CELLS,ROWS,COLUMNS[,KEPT_X,KEPT_Y]...
// Without --every-rank only one rank of each shape is planned; without a case, 2048^3 on 32 x 128.
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>

#include "sidestream/core/error.hpp"
#include "transpose_schedule.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

struct Case {
  mesh::Int3 cells;
  fft::ProcessGrid grid;
  bench::KeptModes kept;
};

Case read_case(const std::string& text) {
  std::vector<int> numbers;
  std::istringstream stream(text);
  for (int number = 0; stream >> number; stream.ignore(1, ',')) numbers.push_back(number);
  core::require(numbers.size() == 3 || numbers.size() == 5,
                "a case is CELLS,ROWS,COLUMNS or CELLS,ROWS,COLUMNS,KEPT_X,KEPT_Y");
  const mesh::Int3 cells{numbers[0], numbers[0], numbers[0]};
  const bench::KeptModes kept =
      numbers.size() == 5 ? bench::KeptModes{numbers[3], numbers[4]} : bench::all_modes(cells);
  return {cells, {numbers[1], numbers[2]}, kept};
}

bench::Kinds each_its_own_kind(int ranks) {
  bench::Kinds kinds;
  kinds.kind_of_rank.resize(static_cast<std::size_t>(ranks));
  std::iota(kinds.kind_of_rank.begin(), kinds.kind_of_rank.end(), 0);
  kinds.first_rank = kinds.kind_of_rank;
  return kinds;
}

json transpose_of_kind(const bench::Transpose& transpose, int rank) {
  const bench::RankTraffic traffic = bench::traffic_of(transpose, rank);
  json runs = json::array();
  for (const bench::MessageRun& run : traffic.sent) runs.push_back({run.first_peer, run.step, run.messages, run.cells});
  return {{"sent", runs}, {"cells_received", traffic.cells_received}, {"cells_that_stay", traffic.cells_that_stay}};
}

json kind_runs(const std::vector<int>& kind_of_rank) {
  json runs = json::array();
  for (const int kind : kind_of_rank)
    if (!runs.empty() && runs.back()[0] == kind)
      runs.back()[1] = runs.back()[1].get<int>() + 1;
    else
      runs.push_back({kind, 1});
  return runs;
}

json schedule_of(const Case& c, bool every_rank) {
  const auto transposes = bench::transposes_of(c.cells, c.grid, c.kept);
  const bench::Kinds kinds =
      every_rank ? each_its_own_kind(c.grid.ranks()) : bench::kinds_of(transposes, c.grid.ranks());
  json report{{"cells", {c.cells.x, c.cells.y, c.cells.z}},
              {"rows", c.grid.rows},
              {"columns", c.grid.columns},
              {"kept", {c.kept.x, c.kept.y}},
              {"kind_runs", kind_runs(kinds.kind_of_rank)},
              {"kinds", json::array()}};
  for (const int rank : kinds.first_rank) {
    json kind{{"rank", rank}};
    for (const bench::Transpose& transpose : transposes)
      kind["transposes"][transpose.name] = transpose_of_kind(transpose, rank);
    report["kinds"].push_back(kind);
  }
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    bool every_rank = false;
    json schedules = json::array();
    for (int i = 1; i < argc; ++i)
      if (std::string(argv[i]) == "--every-rank")
        every_rank = true;
      else
        schedules.push_back(schedule_of(read_case(argv[i]), every_rank));
    if (schedules.empty()) schedules.push_back(schedule_of(read_case("2048,32,128"), every_rank));
    std::printf("%s\n", schedules.dump().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
