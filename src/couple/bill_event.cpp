#include "couple/bill_event.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "couple/publish/protocol.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

// The lines of the first rank, on every rank: it does whatever the others do, and more.
std::vector<core::Bill::Line> lines_of_first_rank(const comm::Communicator& group,
                                                  const std::map<core::Bill::Line, double>& own) {
  json names = json::array();
  for (const auto& [line, seconds] : own) names.push_back({line.first, line.second});
  std::vector<core::Bill::Line> lines;
  for (const json& name : unpacked(group.broadcast(packed(names)))) lines.emplace_back(name.at(0), name.at(1));
  return lines;
}

}  // namespace

json summed(const comm::Communicator& group, core::Bill& bill) {
  std::map<core::Bill::Line, double> own = bill.lines();
  double wall_s = bill.wall_s();  // not the sum of the lines, which is to be compared with it
  const std::vector<core::Bill::Line> lines = lines_of_first_rank(group, own);
  std::vector<double> seconds;
  for (const core::Bill::Line& line : lines) seconds.push_back(std::exchange(own[line], 0.0));
  // A line that only this rank has does not get lost.
  const auto rest = std::ranges::find(lines, "everything else", &core::Bill::Line::first);
  if (rest != lines.end())
    for (const auto& [line, left] : own) seconds[static_cast<std::size_t>(rest - lines.begin())] += left;

  std::vector<double> means = seconds, largest = seconds;
  const int count = static_cast<int>(lines.size());
  comm::check(MPI_Allreduce(MPI_IN_PLACE, means.data(), count, MPI_DOUBLE, MPI_SUM, group.raw()), "MPI_Allreduce");
  comm::check(MPI_Allreduce(MPI_IN_PLACE, largest.data(), count, MPI_DOUBLE, MPI_MAX, group.raw()), "MPI_Allreduce");
  for (double& mean : means) mean /= group.size();
  comm::check(MPI_Allreduce(MPI_IN_PLACE, &wall_s, 1, MPI_DOUBLE, MPI_SUM, group.raw()), "MPI_Allreduce");

  json entries = json::array();
  for (std::size_t l = 0; l < lines.size(); ++l)
    if (largest[l] > 0.0)
      entries.push_back(
          {{"line", lines[l].first}, {"for", lines[l].second}, {"mean_s", means[l]}, {"max_s", largest[l]}});
  return {{"ranks", group.size()}, {"wall_s", wall_s / group.size()}, {"lines", entries}};
}

void divide(core::Bill& bill, const std::string& what, const CouplingConfig& config, const Announcement& announcement) {
  std::vector<std::pair<std::string, double>> weights;
  if (announcement.file) weights.emplace_back(config.files[announcement.file->file].kind, 1.0);
  for (std::size_t t = 0; t < announcement.tasks.size(); ++t)
    weights.emplace_back(config.tasks[announcement.tasks[t]].name, static_cast<double>(announcement.bytes[t]));
  bill.divide(what, weights);
}

}  // namespace sidestream::couple
