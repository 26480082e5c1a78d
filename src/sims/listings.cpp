#include "sidestream/sims/listings.hpp"

#include "sidestream/amr/criteria.hpp"
#include "sidestream/analysis/analysis.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/initial_file.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/sims/simulation.hpp"
#include "sims/problems/gas_problem.hpp"

namespace sidestream::sims {

const core::Registry<core::Listing>& listings() {
  static const core::Registry<core::Listing> all(
      {"kinds", "kind of names", "what can be listed"},
      {simulations().listing(), gas_problems().listing(), io::initial_formats().listing(),
       amr::criterion_kinds().listing(), analysis::analyses().listing(), couple::transports().listing(),
       couple::policies().listing(), couple::trigger_keys().listing(), couple::reductions().listing(),
       couple::variables().listing(), io::formats().listing(), io::write_methods().listing(),
       redistribute::strategies().listing()});
  return all;
}

}  // namespace sidestream::sims
