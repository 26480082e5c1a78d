// Lines through our kernels against FFTW's plans for the same batches: complex lines side by side, as along y and z,
// and real rows, as along x. FFTW is planned ten times for each, with FFTW_MEASURE and FFTW_PATIENT in turns, and its
// best plan counts. CPU time, the least of many repeats, in turns with ours. Usage: bench_fft_lines [length]...
#include <fftw3.h>

#include <algorithm>
#include <complex>
#include <cstdio>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fft/lines.hpp"
#include "fft/rows.hpp"
#include "report.hpp"

namespace {

using namespace sidestream;
using Complex = std::complex<double>;
using nlohmann::json;

constexpr int plannings = 10;
constexpr int lines = 128;

// The least time of one call, of blocks of calls long enough to be timed.
double least_seconds(const std::function<void()>& work, double least) {
  constexpr int blocks = 5;
  constexpr double block_s = 0.002;
  const double before_first = bench::cpu_seconds();
  work();
  const double once = std::max(bench::cpu_seconds() - before_first, 1e-7);
  const int calls = std::max(1, static_cast<int>(block_s / once));
  for (int block = 0; block < blocks; ++block) {
    const double before = bench::cpu_seconds();
    for (int call = 0; call < calls; ++call) work();
    least = std::min(least, (bench::cpu_seconds() - before) / calls);
  }
  return least;
}

struct Pair {
  double ours = std::numeric_limits<double>::infinity(), fftw = ours;
  json summary() const { return {{"ours_us", 1e6 * ours}, {"fftw_us", 1e6 * fftw}, {"ratio", ours / fftw}}; }
};

// `plan` makes a plan of FFTW with these flags.
Pair compare(const std::function<void()>& ours, const std::function<fftw_plan(unsigned)>& plan) {
  Pair best;
  for (int planning = 0; planning < plannings; ++planning) {
    fftw_forget_wisdom();
    const fftw_plan its = plan(planning % 2 == 0 ? FFTW_MEASURE : FFTW_PATIENT);
    best.fftw = least_seconds([&] { fftw_execute(its); }, best.fftw);
    best.ours = least_seconds(ours, best.ours);
    fftw_destroy_plan(its);
  }
  return best;
}

// Element i of line l at [i * lines + l], in place.
Pair side_by_side(int n) {
  std::vector<Complex> data(static_cast<std::size_t>(n) * lines);
  fft::ComplexLines<double> kernel(n, n);
  auto* const numbers = reinterpret_cast<fftw_complex*>(data.data());
  return compare([&] { kernel.forward(data.data(), lines, data.data(), lines, lines); },
                 [&](unsigned flags) {
                   return fftw_plan_many_dft(1, &n, lines, numbers, nullptr, lines, 1, numbers, nullptr, lines, 1,
                                             FFTW_FORWARD, flags);
                 });
}

// Rows one after the other, in place as FFTW pads them.
Pair real_rows(int n) {
  const int modes = n / 2 + 1;
  std::vector<Complex> data(static_cast<std::size_t>(modes) * lines);
  fft::RealRows<double> kernel(n, modes);
  auto* const cells = reinterpret_cast<double*>(data.data());
  auto* const numbers = reinterpret_cast<fftw_complex*>(data.data());
  return compare([&] { kernel.forward(cells, 2 * modes, data.data(), modes, lines); },
                 [&](unsigned flags) {
                   return fftw_plan_many_dft_r2c(1, &n, lines, cells, nullptr, 1, 2 * modes, numbers, nullptr, 1, modes,
                                                 flags);
                 });
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> lengths;
  for (int i = 1; i < argc; ++i) lengths.push_back(std::stoi(argv[i]));
  if (lengths.empty())
    lengths = {64, 96, 100, 120, 128, 192, 256, 360, 384, 512, 17, 31, 34, 47, 97, 101, 127, 251, 509};
  json report{{"bench", "fft_lines"}, {"lines", lines}, {"compiler", "g++ " __VERSION__}, {"lengths", json::array()}};
  for (const int n : lengths)
    report["lengths"].push_back(
        {{"length", n}, {"side_by_side", side_by_side(n).summary()}, {"real_rows", real_rows(n).summary()}});
  std::printf("%s\n", report.dump(2).c_str());
}
