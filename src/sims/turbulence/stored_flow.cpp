#include "sims/turbulence/stored_flow.hpp"

#include <algorithm>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/fft/modes.hpp"
#include "sidestream/solvers/spectral/mode_transfer.hpp"
#include "sims/turbulence/flow_views.hpp"

namespace sidestream::sims {

namespace {

using solvers::Spectrum, solvers::Wave;

constexpr double most_cells = 1 << 20;

core::Error no_flow(const mesh::Snapshot& file) {
  return core::Error("the file holds no waves of a flow", file.source,
                     "a turbulent flow begins with a checkpoint of one, of any number of cells");
}

double number_of(const mesh::Snapshot& file, const char* name) {
  const auto found = file.state_numbers.find(name);
  if (found == file.state_numbers.end()) throw no_flow(file);
  return found->second;
}

// How the waves lie in rows of a file, where they do.
std::optional<solvers::KeptWaves> kept_in(const mesh::Snapshot& file) {
  if (!file.state_numbers.contains(kept_cells[0])) return std::nullopt;
  mesh::Int3 cells;
  for (int axis = 0; axis < 3; ++axis) {
    const double number = number_of(file, kept_cells[static_cast<std::size_t>(axis)]);
    if (!(number >= 1.0 && number <= most_cells)) throw no_flow(file);
    cells[axis] = static_cast<std::int32_t>(number);
  }
  const mesh::Geometry geometry{mesh::domain_of(cells), file.geometry.length, {true, true, true}};
  const solvers::KeptWaves kept({geometry, number_of(file, kept_phase_shift) != 0.0 ? solvers::Dealiasing::phase_shift
                                                                                    : solvers::Dealiasing::two_thirds});
  if (kept.rows(1).domain() != file.levels.front().domain()) throw no_flow(file);
  return kept;
}

}  // namespace

StoredFlow::StoredFlow(const mesh::Snapshot& file)
    : file_(file), has_two_(file.has(mesh::complex_parts(independent_components[0])[0])) {
  if (file.levels.size() != 1 || (!has_two_ && !file.has(mesh::complex_parts("velocity_x")[0]))) throw no_flow(file);
  kept_ = kept_in(file);
  if (kept_) {
    waves_ = kept_->grid().waves();
    return;
  }
  const mesh::Int3 modes = file.levels.front().domain().extent();
  waves_ = {2 * modes.x - 1, modes.y, modes.z};
  if (has_two_ || waves_.y % 2 == 0 || waves_.z % 2 == 0) throw no_flow(file);
}

mesh::Layout StoredFlow::blocks(int ranks) const {
  return kept_ ? kept_->rows(ranks) : solvers::mode_planes(waves_, ranks);
}

template <typename Real>
Spectrum<Real> StoredFlow::amplitudes(const comm::Communicator& comm, const std::string& name) const {
  const mesh::Layout layout = blocks(comm.size());
  Spectrum<Real> all(layout, comm.rank());
  mesh::Field<double> numbers(layout, comm.rank());
  const auto parts = mesh::complex_parts(name);
  file_.read(parts[0], 0, numbers);
  std::ranges::transform(numbers.all(), all.all().begin(),
                         [](double real) { return Wave<Real>(static_cast<Real>(real)); });
  file_.read(parts[1], 0, numbers);
  std::ranges::transform(all.all(), numbers.all(), all.all().begin(), [](const Wave<Real>& real, double imaginary) {
    return Wave<Real>(real.real(), static_cast<Real>(imaginary));
  });
  return all;
}

template <typename Real>
Spectrum<Real> StoredFlow::read(const comm::Communicator& comm, const std::vector<std::string>& names) const {
  Spectrum<Real> state(solvers::mode_planes(waves_, comm.size()), comm.rank(), static_cast<int>(names.size()));
  std::vector<std::string> stored = names;
  if (has_two_) std::ranges::copy(independent_components, stored.begin());
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (has_two_ && c == independent_components.size()) continue;
    const Spectrum<Real> one = amplitudes<Real>(comm, stored[c]);
    if (kept_) {
      kept_->in_planes(comm, one, state, static_cast<int>(c));
      continue;
    }
    for (int b = 0; b < state.blocks(); ++b)
      core::for_each_cell(state.box(b), [=, from = one.view(b), to = state.view(b)](int k, int j, int i) {
        to(static_cast<int>(c), k, j, i) = from(k, j, i);
      });
  }
  if (has_two_) recover(state);
  return state;
}

// The first two components of `state` are the independent ones.
template <typename Real>
void StoredFlow::recover(Spectrum<Real>& state) const {
  for (int b = 0; b < state.blocks(); ++b)
    fft::for_each_mode(state.box(b), waves_, [&, u = state.view(b)](const fft::Mode& mode) {
      const auto [i, j, k] = mode.index;
      const std::array<double, 3> wave = kept_->grid().wavenumber(mode.wavenumber);
      const int left_out = solvers::dependent_axis(wave);
      std::array<Wave<double>, 3> velocity{};
      for (int n = 0; n < 2; ++n) velocity[static_cast<std::size_t>(n < left_out ? n : n + 1)] = u(n, k, j, i);
      velocity[static_cast<std::size_t>(left_out)] = mode.wavenumber == mesh::Int3{0, 0, 0}
                                                         ? Wave<double>(number_of(file_, mean_velocity_z))
                                                         : solvers::dependent_component(wave, velocity);
      for (int c = 0; c < 3; ++c) u(c, k, j, i) = Wave<Real>(velocity[static_cast<std::size_t>(c)]);
    });
}

template Spectrum<float> StoredFlow::read(const comm::Communicator&, const std::vector<std::string>&) const;
template Spectrum<double> StoredFlow::read(const comm::Communicator&, const std::vector<std::string>&) const;

}  // namespace sidestream::sims
