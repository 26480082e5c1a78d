#include "sidestream/sims/listings.hpp"

#include <algorithm>

#include "sidestream/amr/criteria.hpp"
#include "sidestream/analysis/analysis.hpp"
#include "sidestream/core/compressor.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/couple/steering_desk.hpp"
#include "sidestream/couple/stream_reader.hpp"
#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/event_kinds.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/initial_file.hpp"
#include "sidestream/mesh/derived.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/sims/simulation.hpp"
#include "sidestream/solvers/spectral/forcing.hpp"
#include "sidestream/solvers/spectral/initial_flow.hpp"
#include "sims/config/output_kinds.hpp"
#include "sims/problems/gas_problem.hpp"
#include "sims/quantities/common_quantities.hpp"

namespace sidestream::sims {

namespace {

// Of all simulations, each once.
core::Listing quantities() {
  core::Listing all{"quantities", "of a cell, by simulation; more are declared as `[quantity.NAME]`", {}};
  for (const SimulationEntry& simulation : simulations())
    for (const mesh::Quantity& quantity : with_common_quantities(simulation.quantities())) {
      const auto known = std::ranges::find(all.lines, quantity.name, &core::Listing::Line::name);
      if (known == all.lines.end())
        all.lines.push_back({quantity.name, quantity.meaning + ": " + simulation.name});
      else
        known->documentation += ", " + simulation.name;
    }
  return all;
}

}  // namespace

const core::Registry<core::Listing>& listings() {
  static const core::Registry<core::Listing> all({"kinds", "kind of names", "what can be listed"},
                                                 {simulations().listing(),
                                                  gas_problems().listing(),
                                                  io::initial_formats().listing(),
                                                  amr::criterion_kinds().listing(),
                                                  analysis::analyses().listing(),
                                                  analysis::suites().listing(),
                                                  couple::transports().listing(),
                                                  couple::policies().listing(),
                                                  couple::techniques().listing(),
                                                  couple::reader_layouts().listing(),
                                                  couple::trigger_keys().listing(),
                                                  couple::reductions().listing(),
                                                  couple::variables().listing(),
                                                  couple::steering_verbs().listing(),
                                                  couple::edit_operations().listing(),
                                                  mesh::cell_functions().listing(),
                                                  io::formats().listing(),
                                                  io::write_methods().listing(),
                                                  core::compressors().listing(),
                                                  output_kinds().listing(),
                                                  io::event_kinds().listing(),
                                                  redistribute::strategies().listing(),
                                                  fft::thread_modes().listing(),
                                                  solvers::initial_flows().listing(),
                                                  solvers::forcings().listing(),
                                                  quantities()});
  return all;
}

}  // namespace sidestream::sims
