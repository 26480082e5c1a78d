#include "fft/batch_transform.hpp"

#include <fftw3.h>

#include <complex>
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
  using Complex = fftw_complex;
  static constexpr auto make = fftw_plan_many_dft;
  static constexpr auto execute = fftw_execute_dft;
  static constexpr auto destroy = fftw_destroy_plan;
};
template <>
struct Fftw<float> {
  using Plan = std::remove_pointer_t<fftwf_plan>;
  using Complex = fftwf_complex;
  static constexpr auto make = fftwf_plan_many_dft;
  static constexpr auto execute = fftwf_execute_dft;
  static constexpr auto destroy = fftwf_destroy_plan;
};

template <typename T>
typename Fftw<T>::Complex* for_fftw(Element<T>* elements) {
  return reinterpret_cast<typename Fftw<T>::Complex*>(elements);
}

// FFTW plans and forgets in one thread at a time.
std::mutex planner;

}  // namespace

template <typename T>
struct BatchTransform<T>::Steps {
  typename Fftw<T>::Plan* plan;

  // By rule and not by time, so that it is the same in every run; of lines whose complex numbers lie side by side, for
  // which FFTW has the faster code.
  explicit Steps(int length) {
    std::vector<Element<T>> elements(static_cast<std::size_t>(length));
    auto* const numbers = for_fftw<T>(elements.data());
    const std::lock_guard lock(planner);
    plan = Fftw<T>::make(1, &length, batch, numbers, nullptr, batch, 1, numbers, nullptr, batch, 1, FFTW_FORWARD,
                         FFTW_ESTIMATE);
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
    : length_(length),
      scratch_length_(static_cast<std::size_t>(length)),
      steps_(std::make_shared<const Steps>(length)) {}

template <typename T>
void BatchTransform<T>::apply_in_place(Element<T>* data, Element<T>* scratch) const {
  auto* const numbers = reinterpret_cast<std::complex<T>*>(scratch);
  for (int i = 0; i < length_; ++i)
    for_each_part<T>([&](int lane) { store_interleaved(part_of(data[i], lane), numbers + i * batch + lane); });
  Fftw<T>::execute(steps_->plan, for_fftw<T>(scratch), for_fftw<T>(scratch));
  for (int i = 0; i < length_; ++i)
    for_each_part<T>([&](int lane) { put(load_interleaved(numbers + i * batch + lane), data[i], lane); });
}

template class BatchTransform<double>;
template class BatchTransform<float>;

}  // namespace sidestream::fft
