#pragma once

#include <fftw3.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <type_traits>

#include "sidestream/core/error.hpp"

namespace sidestream::fft {

struct DestroyPlan {
  void operator()(fftw_plan plan) const { fftw_destroy_plan(plan); }
};
using Plan1d = std::unique_ptr<std::remove_pointer_t<fftw_plan>, DestroyPlan>;

/// By rule and not by timing, and without vector instructions, which FFTW chooses by the processor and rounds
/// differently with.
constexpr unsigned plan_flags = FFTW_ESTIMATE | FFTW_NO_SIMD;

/// The plan that `make` asks FFTW for, as if this process had never planned before: wisdom that others gathered by
/// timing would change the plan, and with it the last bits, from run to run. FFTW's planner serves one thread at a
/// time.
template <typename Make>
Plan1d make_plan(Make make) {
  static std::mutex planner;
  const std::lock_guard<std::mutex> lock(planner);
  const std::unique_ptr<char, decltype(&std::free)> wisdom(fftw_export_wisdom_to_string(), &std::free);
  fftw_forget_wisdom();
  Plan1d plan(make());
  fftw_forget_wisdom();
  if (wisdom) fftw_import_wisdom_from_string(wisdom.get());
  if (!plan) throw core::Error("FFTW cannot plan this transform");
  return plan;
}

}  // namespace sidestream::fft
