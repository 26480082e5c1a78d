// The optical depth of one line of sight, against plain sums over cells and images.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <numeric>

#include "analysis/lyman_alpha/sightline_rows.hpp"
#include "analysis/lyman_alpha/spectral_line.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/random.hpp"
#include "support/csv.hpp"

namespace sidestream::analysis {
namespace {

using std::numbers::pi;
using Numbers = std::vector<double>;

const SpectralLine& hydrogen = lyman_alpha("H I");
constexpr double hubble_at_3 = 11.7386766130 * 64 / 10 * 4;  // Omega_m = 0.275, h = 0.702 [km/s/Mpc]

struct Line {
  Numbers density, velocity, temperature;
  Sightline cells() const { return {density, velocity, temperature}; }
  std::size_t size() const { return density.size(); }
};

double sum(const Numbers& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

Numbers thermal(const Line& line, const LineScales& scales) {
  Numbers depth(line.size());
  SharedRoom work;
  thermal_optical_depth(line.cells(), scales, work, depth);
  return depth;
}
Numbers voigt(const Line& line, const LineScales& scales) {
  Numbers depth(line.size());
  SharedRoom work;
  voigt_optical_depth(line.cells(), scales, work, depth);
  return depth;
}
Numbers local(const Line& line, const LineScales& scales) {
  Numbers depth(line.size());
  local_optical_depth(line.cells(), scales, depth);
  return depth;
}

// The plain twin: for each pixel the sum over cells and `images` periodic images to either side of what `share(offset
// of the pixel, in pixels, Doppler parameter)` says.
Numbers plain(const Line& line, const LineScales& scales, int images,
              const std::function<double(double, double)>& share) {
  const auto pixels = static_cast<int>(line.size());
  Numbers depth(line.size());
  for (int j = 0; j < pixels; ++j)
    for (int i = 0; i < pixels; ++i)
      for (int image = -images; image <= images; ++image) {
        const auto c = static_cast<std::size_t>(i);
        const double offset = j - i - line.velocity[c] * scales.pixels_per_velocity + image * pixels;
        const double width = scales.width_per_root_kelvin * std::sqrt(line.temperature[c]);
        depth[static_cast<std::size_t>(j)] += scales.depth_per_density * line.density[c] * share(offset, width);
      }
  return depth;
}
Numbers plain_thermal(const Line& line, const LineScales& scales, int images) {
  return plain(line, scales, images, [](double offset, double width) {
    return 0.5 * (std::erf((offset + 0.5) / width) - std::erf((offset - 0.5) / width));
  });
}

// w(z) = exp(-z^2) erfc(-iz) for Im z >= 0 (Weideman 1994, SIAM J. Numer. Anal. 31, 1497), to 1e-12 with 32 terms.
std::complex<double> faddeeva(std::complex<double> z) {
  constexpr int terms = 32, points = 4 * terms;
  const double scale = std::sqrt(terms / std::sqrt(2.0));
  static const Numbers coefficients = [&] {
    Numbers a(terms);
    for (int n = 1; n <= terms; ++n)
      for (int k = -points / 2 + 1; k < points / 2; ++k) {
        const double theta = 2 * pi * k / points, t = scale * std::tan(theta / 2);
        a[static_cast<std::size_t>(n - 1)] += std::exp(-t * t) * (scale * scale + t * t) * std::cos(n * theta) / points;
      }
    return a;
  }();
  const std::complex<double> i(0, 1), ratio = (scale + i * z) / (scale - i * z);
  std::complex<double> sum = 0;
  for (int n = terms; n-- > 0;) sum = sum * ratio + coefficients[static_cast<std::size_t>(n)];
  return 2.0 * sum / ((scale - i * z) * (scale - i * z)) + 1 / std::sqrt(pi) / (scale - i * z);
}

Line random_line(int cells, std::uint64_t seed) {
  Line line;
  for (int i = 0; i < cells; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    line.density.push_back(1e-10 * std::exp(1.5 * core::normal(seed, 1, n)));
    line.velocity.push_back(150 * core::normal(seed, 2, n));
    line.temperature.push_back(1e4 * std::exp(1.5 * core::normal(seed, 3, n)));
  }
  return line;
}

// The line of the table and what its author found.
struct Reference {
  Line line;
  Numbers local, thermal, voigt;
  LineScales scales;
};
Reference reference() {
  Reference known;
  for (const auto& row : test::read_csv("lya_skewer64.csv")) {
    known.line.density.push_back(row[1]);
    known.line.velocity.push_back(row[2]);
    known.line.temperature.push_back(row[3]);
    known.local.push_back(row[4]);
    known.thermal.push_back(row[5]);
    known.voigt.push_back(row[6]);
  }
  known.scales = scales_of(hydrogen, {3.0, hubble_at_3}, 10.0 / 64);
  known.scales.depth_per_density = 1.3794954332e10;
  return known;
}

TEST(SpectralLine, HasTheConstantsOfLymanAlpha) {
  EXPECT_NEAR(line_strength(hydrogen), 1.343473e-7, 1e-5 * 1.343473e-7);
  for (const auto& [kelvin, doppler] : {std::pair(1e4, 12.84507), {5e3, 9.08283}, {2e4, 18.16567}})
    EXPECT_NEAR(doppler_parameter(hydrogen, kelvin), doppler, 1e-5 * doppler);
  EXPECT_NEAR(voigt_parameter(hydrogen, doppler_parameter(hydrogen, 1e4)), 4.71836e-4, 1e-5 * 4.71836e-4);
  // Cross-section in the centre of the line: strength / (sqrt(pi) b).
  EXPECT_NEAR(line_strength(hydrogen) / (std::sqrt(pi) * doppler_parameter(hydrogen, 1e4) * 1e5), 5.90089e-14,
              1e-5 * 5.90089e-14);
  // A helium ion has four times the energy levels of hydrogen, and four times its mass (but for 2e-3 in all).
  const SpectralLine& helium = lyman_alpha("He II");
  EXPECT_NEAR(hydrogen.wavelength / helium.wavelength, 4.0, 0.01);
  EXPECT_NEAR(doppler_parameter(hydrogen, 1e4) / doppler_parameter(helium, 1e4), 2.0, 0.02);
  EXPECT_NEAR(helium.damping / hydrogen.damping, 16.0, 0.1);
  EXPECT_THROW(lyman_alpha("C IV"), core::Error);
}

TEST(HubbleFlow, IsThatOfTheMoment) {
  mesh::Moment moment;
  moment.attributes = {{"redshift", 3.0}, {"omega_m", 0.275}, {"hubble", 0.702}};
  const HubbleFlow flat(moment);
  moment.attributes["omega_lambda"] = 0.0;
  const HubbleFlow open(moment);
  moment.attributes.erase("omega_m");

  EXPECT_NEAR(flat.hubble, 300.5101, 1e-4);
  EXPECT_NEAR(flat.velocity_of(1.0 / 0.702), 107.0193, 1e-4);
  EXPECT_NEAR(open.hubble, 70.2 * std::sqrt(0.275 * 64 + 0.725 * 16), 1e-10);
  EXPECT_THROW(HubbleFlow{moment}, core::Error);
}

TEST(SpectralLine, GivesTheGunnPetersonDepthOfTheMeanUniverse) {
  const struct {
    double redshift, hubble, hydrogen, neutral, depth;
  } known[] = {{2, 200.4084, 5.22380e-6, 2.11370e-6, .22840},
               {3, 300.5101, 1.23823e-5, 6.56776e-6, 1.12186},
               {4, 415.9017, 2.41843e-5, 1.47719e-5, 3.56088}};
  for (const auto& at : known)
    EXPECT_NEAR(gunn_peterson_depth(hydrogen, {at.redshift, at.hubble}) * at.hydrogen * at.neutral, at.depth,
                1e-5 * at.depth);
}

TEST(ProfileFunctions, AreThoseOfTheLibraryAndOfTheFaddeevaFunction) {
  for (int n = -9000; n <= 9000; ++n) {
    const double x = n * 7.7e-4 + 1e-7;

    EXPECT_NEAR(half_error_function(x), 0.5 * std::erf(x), 4e-15);
    // D(x) = sqrt(pi) / 2 Im w(x)
    const double dawson = std::sqrt(pi) / 2 * faddeeva(x).imag();
    EXPECT_NEAR(dawson_integral(x), dawson, std::fabs(x) < profile_reach ? 1e-12 : 3e-8 * std::fabs(dawson)) << x;
  }
  EXPECT_EQ(half_error_function(profile_reach), 0.5);
  EXPECT_EQ(half_error_function(0.0), 0.0);
}

TEST(ProfileFunctions, OfTheTwinHaveKnownValues) {
  const struct {
    double a, u, h;
  } known[] = {{4.7e-4, 0, .999469883},      {4.7e-4, 1, .367919750},    {4.7e-4, 2, 1.84245216e-2},
               {4.7e-4, 3, 1.60334764e-4},   {4.7e-4, 5, 1.13178258e-5}, {4.7e-4, 10, 2.69249725e-6},
               {4.7e-4, 100, 2.65208890e-8}, {.1, .5, .717587742}};
  for (const auto& [a, u, h] : known) EXPECT_NEAR(faddeeva({u, a}).real(), h, 1e-8 * h) << a << " " << u;
}

TEST(TransmittedFlux, IsTheExponentialOfTheOpticalDepth) {
  Numbers depth{0.0, 1e-300, 1e-17, 708.5, 1e4, 1e300}, flux(1000);
  for (int i = 0; depth.size() < flux.size(); ++i) depth.push_back(std::exp(0.02 * i - 12));

  transmitted_flux(depth, 0.75, flux);

  for (std::size_t i = 0; i < flux.size(); ++i)
    EXPECT_NEAR(flux[i], std::exp(-0.75 * depth[i]), 4.5e-16 * flux[i] + 1e-300) << depth[i];
}

TEST(Sightline, OfAUniformUniverseHasTheSameDepthEverywhereAtAnyTemperature) {
  for (const double velocity : {0.0, 321.77, -4000.1})
    for (const double kelvin : {0.0, 10.0, 1e4, 1e6, 1e8}) {
      const Line line{Numbers(48, 3e-10), Numbers(48, velocity), Numbers(48, kelvin)};
      const LineScales scales = scales_of(hydrogen, {3.0, hubble_at_3}, 0.2);
      const double expected = scales.depth_per_density * 3e-10;

      for (const double depth : thermal(line, scales)) EXPECT_NEAR(depth, expected, 1e-12 * expected) << kelvin;
      for (const double depth : local(line, scales)) EXPECT_EQ(depth, expected);
    }
}

TEST(Sightline, WithOneCellOfGasHasTheProfileOfTheLine) {
  Line line{Numbers(400, 0.0), Numbers(400, 0.0), Numbers(400, 1e4)};
  line.density[123] = 2e-9;
  const LineScales scales = scales_of(hydrogen, {0.0, 100.0}, 0.01);  // pixels of 1 km/s

  const Numbers depth = thermal(line, scales);

  const double whole = scales.depth_per_density * 2e-9;
  EXPECT_NEAR(depth[123], 0.0439005 * whole, 1e-6 * whole);
  EXPECT_NEAR(sum(depth), whole, 1e-12 * whole);
  EXPECT_NEAR(depth[123 + 20], depth[123 - 20], 1e-14 * whole);
}

TEST(Sightline, IsThatOfTheReference) {
  const Reference known = reference();

  const Numbers by_cells = local(known.line, known.scales), broadened = thermal(known.line, known.scales),
                damped = voigt(known.line, known.scales);

  EXPECT_NEAR(sum(by_cells), 178.1855000230, 1e-8);
  EXPECT_NEAR(sum(broadened), 178.1855000230, 1e-8);
  EXPECT_NEAR(sum(damped), 178.1848659, 1e-3 * 178.1848659);
  EXPECT_NEAR(*std::ranges::max_element(broadened), 23.536974, 1e-6);
  EXPECT_NEAR(*std::ranges::max_element(damped), 23.532996, 1e-3 * 23.532996);
  for (std::size_t j = 0; j < known.line.size(); ++j) {
    EXPECT_NEAR(by_cells[j], known.local[j], 1e-8);
    EXPECT_NEAR(broadened[j], known.thermal[j], 1e-8);
    // Its 16 samples a cell are good to 3e-4, and wings of further images add 5e-5 at most.
    EXPECT_NEAR(damped[j], known.voigt[j], 1e-3 * known.voigt[j] + 5e-5);
  }
  const auto mean_flux = [](const Numbers& depth) {
    Numbers flux(depth.size());
    transmitted_flux(depth, 1.0, flux);
    return sum(flux) / static_cast<double>(flux.size());
  };
  EXPECT_NEAR(mean_flux(broadened), .559768450, 1e-8);
  EXPECT_NEAR(mean_flux(by_cells), .426214300, 1e-8);
  EXPECT_NEAR(mean_flux(damped), .559694309, 1e-5);
}

TEST(Sightline, IsThatOfAPlainSumOverCellsAndImages) {
  for (const int cells : {1, 2, 7, 16, 61}) {
    const Line line = random_line(cells, static_cast<std::uint64_t>(cells));
    for (const double size : {0.02, 0.13, 1.7}) {
      const LineScales scales = scales_of(hydrogen, {2.5, 250.0}, size);
      // The widest profiles and fastest cells reach over so many images.
      const int images = 2 + static_cast<int>(1500.0 * scales.pixels_per_velocity / cells);

      const Numbers found = thermal(line, scales), expected = plain_thermal(line, scales, images);

      const double whole = scales.depth_per_density * sum(line.density);
      for (std::size_t j = 0; j < line.size(); ++j) EXPECT_NEAR(found[j], expected[j], 1e-13 * whole) << cells;
    }
  }
}

// First order in the Voigt parameter a: what is left out is below a^2 / 2 of the depth of a cell.
TEST(Sightline, WithVoigtProfilesIsThatOfTheFaddeevaFunction) {
  Line line{Numbers(64, 0.0), Numbers(64, 0.0), Numbers(64, 1e4)};
  line.density[20] = 1e-9;
  for (const double kelvin : {30.0, 1e3, 1e4, 1e5}) {
    line.temperature[20] = kelvin;
    const LineScales scales = scales_of(hydrogen, {3.0, hubble_at_3}, 10.0 / 64);
    const double damping = voigt_parameter(hydrogen, doppler_parameter(hydrogen, kelvin));
    const auto share = [&](double offset, double width) {
      if (std::fabs(offset) > 31) return 0.0;
      const int samples = 2 * static_cast<int>(10 + 20 / width);  // Simpson's rule
      double integral = 0;
      for (int s = 0; s <= samples; ++s) {
        const double u = (offset - 0.5 + s / static_cast<double>(samples)) / width;
        integral += (s == 0 || s == samples ? 1 : s % 2 ? 4 : 2) * faddeeva({std::fabs(u), damping}).real();
      }
      return integral / (3 * samples) / (std::sqrt(pi) * width);
    };

    const Numbers found = voigt(line, scales), expected = plain(line, scales, 1, share);

    const double whole = scales.depth_per_density * 1e-9;
    for (std::size_t j = 0; j < 64; ++j) {
      if (std::abs((static_cast<int>(j) - 20 + 96) % 64 - 32) > 30) continue;
      EXPECT_NEAR(found[j], expected[j], (0.5 * damping * damping + 1e-9) * whole) << kelvin << " " << j;
    }
  }
}

// The terms of neighbouring cells cancel on the edge between them, so what is uniform may be cut anywhere. With cells
// cut in an even number, the old pixels are centred on edges of the new: half a new pixel of velocity puts that right.
TEST(Sightline, DoesNotDependOnHowUniformGasIsCutIntoCells) {
  const Reference known = reference();
  const Numbers whole = thermal(known.line, known.scales);
  for (const int parts : {2, 3, 4}) {
    const double shift = parts % 2 == 0 ? 0.5 / parts / known.scales.pixels_per_velocity : 0.0;
    Line cut;
    for (std::size_t i = 0; i < known.line.size(); ++i)
      for (int part = 0; part < parts; ++part) {
        cut.density.push_back(known.line.density[i]);
        cut.velocity.push_back(known.line.velocity[i] + shift);
        cut.temperature.push_back(known.line.temperature[i]);
      }
    LineScales scales = known.scales;
    scales.pixels_per_velocity *= parts;
    scales.width_per_root_kelvin *= parts;

    const Numbers depth = thermal(cut, scales);

    for (std::size_t j = 0; j < whole.size(); ++j)
      EXPECT_NEAR(depth[j * static_cast<std::size_t>(parts) + static_cast<std::size_t>(parts / 2)], whole[j], 1e-12)
          << parts << " " << j;
  }
}

TEST(Sightline, RefusesWhatIsNotPhysical) {
  const LineScales scales = scales_of(hydrogen, {3.0, hubble_at_3}, 0.2);
  const Line good = random_line(21, 5);
  const double most = 3e5 * scales.pixels_per_velocity, nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(is_physical(good.cells(), scales, most));
  for (const double bad : {nan, infinity, -1e-30}) {
    Line line = good;
    line.density[20] = bad;
    EXPECT_FALSE(is_physical(line.cells(), scales, most)) << bad;
  }
  for (const double bad : {nan, infinity, -1.0, 1e13}) {
    Line line = good;
    line.temperature[3] = bad;
    EXPECT_FALSE(is_physical(line.cells(), scales, most)) << bad;
  }
  for (const double bad : {nan, infinity, -infinity, 3.1e5}) {
    Line line = good;
    line.velocity[0] = bad;
    EXPECT_FALSE(is_physical(line.cells(), scales, most)) << bad;
  }
}

}  // namespace
}  // namespace sidestream::analysis
