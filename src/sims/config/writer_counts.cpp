#include "sims/config/writer_counts.hpp"

#include <fmt/format.h>

#include <utility>

namespace sidestream::sims {

namespace {

constexpr const char* aggregators = "aggregators";

// The methods of libraries choose their own.
bool takes_aggregators(const std::string& method) {
  return method.empty() || method == "engine" || method == "aggregated" || method == "tuned";
}

}  // namespace

std::vector<core::Error> more_than_ranks(const RunConfig& config, int compute, int sidecars) {
  std::vector<core::Error> all;
  const auto look_at = [&](const OutputConfig& output) {
    const int ranks = output.carried ? sidecars : compute;
    for (const auto& [name, wanted] :
         {std::pair("files", output.file.options.files), std::pair(aggregators, output.file.options.aggregators)})
      if (wanted > ranks && (name != aggregators || takes_aggregators(output.file.options.method)))
        all.emplace_back(fmt::format("`{} = {}` is more than the ranks that write: {} {} used", name, wanted, ranks,
                                     ranks == 1 ? "is" : "are"),
                         output.where, fmt::format("ask for {} or fewer, or start on more ranks", ranks));
  };
  for (const OutputConfig& plotfile : config.plotfiles) look_at(plotfile);
  if (config.checkpoint) look_at(*config.checkpoint);
  return all;
}

}  // namespace sidestream::sims
