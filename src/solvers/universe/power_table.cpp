#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <sstream>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/core/input_file.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/solvers/linear_power.hpp"
#include "solvers/universe/cubic_spline.hpp"

namespace sidestream::solvers {

namespace {

// The shipped file data/linear_power_planck2018.csv, made part of the library when it is built.
constexpr std::string_view shipped_table =
#include "data/linear_power_planck2018.csv.inc"
    ;

struct PowerTable {
  std::vector<double> k, power;             // h/Mpc, (Mpc/h)^3
  std::map<std::string, double> cosmology;  // what the comments state
};

// The next number of `line`, which is shortened by it and by the separators after it.
std::optional<double> take_number(std::string_view& line) {
  const auto is_separator = [](char c) { return c == ' ' || c == '\t' || c == ',' || c == ';' || c == '\r'; };
  while (!line.empty() && is_separator(line.front())) line.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return value;
}

// Reads "# name = value"; any other comment says nothing.
void read_comment(std::string_view line, std::map<std::string, double>& cosmology) {
  const auto equals = line.find(" = ");
  if (equals == std::string_view::npos || equals < 2) return;
  std::string_view value = line.substr(equals + 3);
  if (const auto number = take_number(value)) cosmology[std::string(line.substr(2, equals - 2))] = *number;
}

void read_row(std::string_view line, const std::string& where, PowerTable& table) {
  const auto k = take_number(line), power = take_number(line);
  if (!k || !power || !(*k > 0.0) || !(*power > 0.0))
    throw core::Error("this is not a wavenumber and a power, both above zero", where,
                      "a line holds k [h/Mpc] and P [(Mpc/h)^3], or is a comment that starts with #");
  if (!table.k.empty() && !(*k > table.k.back()))
    throw core::Error("the wavenumbers do not grow from line to line", where, "sort the table by k");
  table.k.push_back(*k);
  table.power.push_back(*power);
}

PowerTable parse(std::istream& text, const std::string& source) {
  PowerTable table;
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    if (line.starts_with('#')) {
      read_comment(line, table.cosmology);
    } else if (line.find_first_not_of(" \t\r") != std::string::npos) {
      read_row(line, source + ":" + std::to_string(number), table);
    }
  }
  if (table.k.size() < 4)
    throw core::Error(
        "a table of the power spectrum needs four rows or more, this one has " + std::to_string(table.k.size()), source,
        "give a table of more wave numbers, a row each: k [h/Mpc] and P [(Mpc/h)^3]");
  return table;
}

// A table made for another universe would give wrong results without a word.
void check_cosmology(const PowerTable& table, const std::string& source, const CosmologyParameters& p) {
  const std::map<std::string, double> expected{
      {"omega_m", p.omega_m}, {"omega_b", p.omega_b}, {"hubble", p.hubble}, {"ns", p.ns}};
  for (const auto& [name, value] : table.cosmology) {
    const auto found = expected.find(name);
    if (found == expected.end() || std::abs(found->second - value) <= 1e-6 * std::abs(value)) continue;
    std::ostringstream what;
    what << "the table of the linear power spectrum is for " << name << " = " << value << ", the run has "
         << found->second;
    throw core::Error(
        what.str(), source,
        "use power = \"eisenstein-hu\", which fits any cosmology, or give the path of a table made for yours");
  }
}

LinearPower interpolated(const PowerTable& table, const std::string& source, const CosmologyParameters& parameters) {
  check_cosmology(table, source, parameters);
  const double h = parameters.hubble;
  std::vector<double> ln_k, ln_power;
  for (std::size_t n = 0; n < table.k.size(); ++n) {
    ln_k.push_back(core::log(table.k[n] * h));
    ln_power.push_back(core::log(table.power[n] / (h * h * h)));
  }
  const auto spline = std::make_shared<const CubicSpline>(std::move(ln_k), std::move(ln_power));
  const auto power = [spline](double k) { return core::exp((*spline)(core::log(k))); };
  return LinearPower(power, table.k.front() * h, table.k.back() * h, parameters.ns)
      .normalized(8.0 / h, parameters.sigma8);
}

}  // namespace

LinearPower read_linear_power(const std::string& path, const CosmologyParameters& parameters) {
  std::istringstream text(
      core::read_input_file(path, {.noun = "the table of the linear power spectrum",
                                   .hint = "power is \"camb\", \"eisenstein-hu\" or the path of a table"}));
  return interpolated(parse(text, path), path, parameters);
}

LinearPower shipped_linear_power(const CosmologyParameters& parameters) {
  std::istringstream text{std::string(shipped_table)};
  const std::string source = "data/linear_power_planck2018.csv";
  return interpolated(parse(text, source), source, parameters);
}

}  // namespace sidestream::solvers
