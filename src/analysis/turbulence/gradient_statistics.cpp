#include "analysis/turbulence/gradient_statistics.hpp"

#include <cmath>

#include "analysis/at.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

template <typename F>
void for_each_value(const mesh::Field<double>& field, F f) {
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) { f(view(k, j, i)); });
}

std::vector<double> means_of(const comm::Communicator& comm, const mesh::Field<double>& field) {
  PowerSums sums(4);
  for_each_value(field, [&](double value) { sums.add(value); });
  return sums.means(comm);
}

void count(const mesh::Field<double>& field, double variance, DeviationCounts& counts) {
  const double deviation = std::sqrt(variance);
  for_each_value(field, [&](double value) { counts.add(value / deviation); });
}

}  // namespace

GradientStatistics gradient_statistics(const comm::Communicator& comm, const Flow& flow, const DeviationBins& bins,
                                       double least) {
  GradientStatistics result;
  DeviationCounts longitudinal(bins), transverse(bins), vorticity(bins);
  for (int component = 0; component < 3; ++component)
    for (int axis = 0; axis < 3; ++axis) {
      const mesh::Field<double> gradient = flow.derivative(component, axis);
      const std::vector<double> means = means_of(comm, gradient);
      const std::size_t place = at(3 * component + axis);
      result.variance[place] = means[1];
      if (!(means[1] > least)) continue;
      result.skewness[place] = skewness(means);
      result.flatness[place] = flatness(means);
      if (bins.count > 0) count(gradient, means[1], component == axis ? longitudinal : transverse);
    }
  if (bins.count == 0) return result;
  for (int axis = 0; axis < 3; ++axis) {
    const mesh::Field<double> along = flow.vorticity(axis);
    const double variance = means_of(comm, along)[1];
    if (variance > least) count(along, variance, vorticity);
  }
  result.longitudinal_pdf = longitudinal.density(comm);
  result.transverse_pdf = transverse.density(comm);
  result.vorticity_pdf = vorticity.density(comm);
  return result;
}

}  // namespace sidestream::analysis
