#include "fft/batch_transform.hpp"

#include <fftw3.h>

#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "sidestream/fft/engine.hpp"

namespace sidestream::fft {

const std::string_view engine = "fftw " SIDESTREAM_FFTW_VERSION;

namespace {

// The functions of FFTW for one type of numbers.
template <typename T>
struct Fftw;
template <>
struct Fftw<double> {
  using Plan = std::remove_pointer_t<fftw_plan>;
  static constexpr auto make = fftw_plan_guru_split_dft;
  static constexpr auto execute = fftw_execute_split_dft;
  static constexpr auto destroy = fftw_destroy_plan;
};
template <>
struct Fftw<float> {
  using Plan = std::remove_pointer_t<fftwf_plan>;
  static constexpr auto make = fftwf_plan_guru_split_dft;
  static constexpr auto execute = fftwf_execute_split_dft;
  static constexpr auto destroy = fftwf_destroy_plan;
};

// FFTW plans and forgets in one thread at a time.
std::mutex planner;

}  // namespace

template <typename T>
struct BatchTransform<T>::Steps {
  typename Fftw<T>::Plan* plan;

  // By rule and not by time, so that it is the same in every run.
  explicit Steps(int length) {
    constexpr int step = sizeof(Element<T>) / sizeof(T);
    const fftw_iodim along{length, step, step}, lanes{batch, 1, 1};
    std::vector<Element<T>> elements(static_cast<std::size_t>(length));
    T *const re = elements.front().re, *const im = elements.front().im;
    const std::lock_guard lock(planner);
    plan = Fftw<T>::make(1, &along, 1, &lanes, re, im, re, im, FFTW_ESTIMATE);
  }
  ~Steps() {
    const std::lock_guard lock(planner);
    Fftw<T>::destroy(plan);
  }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
};

template <typename T>
BatchTransform<T>::BatchTransform(int length)
    : length_(length), scratch_length_(0), steps_(std::make_shared<const Steps>(length)) {}

template <typename T>
void BatchTransform<T>::apply_in_place(Element<T>* data, Element<T>* /*scratch*/) const {
  Fftw<T>::execute(steps_->plan, data->re, data->im, data->re, data->im);
}

template class BatchTransform<double>;
template class BatchTransform<float>;

}  // namespace sidestream::fft
