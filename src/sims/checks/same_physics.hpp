#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "sidestream/io/generations.hpp"
#include "sidestream/sims/run.hpp"

namespace sidestream::sims {

/// The name of the text in checkpoints that says what defines their run.
inline const std::string physics_text = "physics";

/// The key of what transforms the lines of a simulation (`fft::engine`), whose steps depend on its bits.
inline const std::string fft_engine_key = "fft.engine";

/// What defines a run: its simulation, and `SimulationPlan::physics`.
std::map<std::string, std::string> physics_of(const RunConfig& config);

/// What a checkpoint says of the run that wrote it; nothing where it does not tell.
std::map<std::string, std::string> physics_in(const mesh::Snapshot& checkpoint);

/// What `holder` ("the checkpoint") has and a configuration has not, or otherwise, but for the keys `allowed`; empty:
/// nothing.
std::string differences(const std::map<std::string, std::string>& kept,
                        const std::map<std::string, std::string>& wanted, std::span<const std::string> allowed,
                        const std::string& holder = "the checkpoint");

/// Throws core::Error unless the newest of `generations` that can be read is of a run of the same physics, but for the
/// keys `allowed`. A checkpoint that does not tell is taken.
void require_same_physics(const RunConfig& config, const std::vector<io::Generation>& generations,
                          std::span<const std::string> allowed);

/// The same of one that says so.
void require_same_physics(const RunConfig& config, const std::map<std::string, std::string>& kept,
                          const std::string& path, std::span<const std::string> allowed);

/// The same of what a run takes from the file that it begins with (see `SimulationPlan::physics_of_start`).
void require_fitting_start(const RunConfig& config, const io::FileDescription& file,
                           std::span<const std::string> allowed);

}  // namespace sidestream::sims
