#include "sidestream/solvers/uv_background.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "sidestream/core/error.hpp"
#include "sidestream/core/input_file.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/registry.hpp"

namespace sidestream::solvers {

namespace {

/// The files of data/uvb, made part of the library when it is built.
struct ShippedTable {
  std::string_view name, text;
};
constexpr double largest_log_1z = 3.05;  // z = 1100: light and gas part
// Far beyond that beside a quasar; a table that has more is in other units.
constexpr double largest_ionization = 1e-2, largest_heating = 1e-13;  // [1/s], [erg/s]
constexpr std::array shipped_tables{
    ShippedTable{
        "onorbe17_middle",
#include "data/uvb/onorbe17_middle.txt.inc"
    },
    ShippedTable{
        "onorbe17_early",
#include "data/uvb/onorbe17_early.txt.inc"
    },
    ShippedTable{
        "onorbe17_late",
#include "data/uvb/onorbe17_late.txt.inc"
    },
    ShippedTable{
        "hm2012",
#include "data/uvb/hm2012.txt.inc"
    },
    ShippedTable{
        "puchwein19",
#include "data/uvb/puchwein19.txt.inc"
    },
    ShippedTable{
        "fg20",
#include "data/uvb/fg20.txt.inc"
    },
};

constexpr std::array rate_members{&UvRates::ionization_hi, &UvRates::ionization_hei, &UvRates::ionization_heii,
                                  &UvRates::heating_hi,    &UvRates::heating_hei,    &UvRates::heating_heii};
constexpr std::size_t columns = 1 + rate_members.size();

/// The numbers of a line, separated by blanks.
std::vector<double> numbers_of(std::string_view line, const std::string& where) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<double> numbers;
  for (auto begin = line.find_first_not_of(blanks); begin != std::string_view::npos;
       begin = line.find_first_not_of(blanks)) {
    const std::string_view word = line.substr(begin, std::min(line.find_first_of(blanks, begin), line.size()) - begin);
    double number = 0.0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(number))
      throw core::Error("`" + std::string(word) + "` is not a finite number", where,
                        "a table of the ultraviolet background holds numbers alone; begin comments with #");
    numbers.push_back(number);
    line.remove_prefix(begin + word.size());
  }
  return numbers;
}

UvBackground::Row row_of(std::string_view line, const std::string& where) {
  const std::vector<double> numbers = numbers_of(line, where);
  if (numbers.size() != columns)
    throw core::Error("this row has " + std::to_string(numbers.size()) + " columns, not seven", where,
                      "they are log10(1 + z), the ionisation of H I, He I and He II [1/s] and their heating [erg/s]");
  if (numbers[0] > largest_log_1z)
    throw core::Error("the first column is " + std::to_string(numbers[0]) + ": no light is as old as that", where,
                      "it is log10(1 + z), not the redshift");
  UvBackground::Row row{numbers[0], {}};
  for (std::size_t n = 0; n < rate_members.size(); ++n) {
    if (numbers[n + 1] < 0.0)
      throw core::Error("the rate of column " + std::to_string(n + 2) + " is below zero", where,
                        "rates of ionisation and heating are at least zero");
    const bool is_heating = n >= rate_members.size() / 2;
    if (const double largest = is_heating ? largest_heating : largest_ionization; numbers[n + 1] > largest)
      throw core::Error(fmt::format("the rate of column {} is {:g}", n + 2, numbers[n + 1]), where,
                        fmt::format("no light is as bright: rates of {} in {} are below {:g}; look at the units",
                                    is_heating ? "heating" : "ionisation", is_heating ? "erg/s" : "1/s", largest));
    row.rates.*rate_members[n] = numbers[n + 1];
  }
  return row;
}

// Where rows are evenly spaced on both sides of a gap about twice as wide, or wider, one is missing.
void refuse_gaps(const std::vector<UvBackground::Row>& rows, const std::string& source) {
  constexpr double even = 1.2, wide = 1.7;
  for (std::size_t i = 2; i + 1 < rows.size(); ++i) {
    const double before = rows[i - 1].log_1z - rows[i - 2].log_1z, gap = rows[i].log_1z - rows[i - 1].log_1z,
                 after = rows[i + 1].log_1z - rows[i].log_1z;
    if (gap > wide * std::max(before, after) && std::max(before, after) < even * std::min(before, after))
      throw core::Error(fmt::format("a row is missing between log10(1 + z) = {} and {}: their distance is {:.2g} times "
                                    "that of the rows around them",
                                    rows[i - 1].log_1z, rows[i].log_1z, gap / std::max(before, after)),
                        source, "copy the table again, or add the row by hand");
  }
}

std::vector<UvBackground::Row> parse(std::istream& text, const std::string& source) {
  std::vector<UvBackground::Row> rows;
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    if (line.starts_with('#') || line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = source + ":" + std::to_string(number);
    if (std::ranges::any_of(line, [](unsigned char c) { return c > '~' || (c < ' ' && c != '\t' && c != '\r'); }))
      throw core::Error("the table of the ultraviolet background is no text", where,
                        "it is of the kind TREECOOL: seven columns of numbers");
    rows.push_back(row_of(line, where));
    if (rows.size() > 1 && !(rows.back().log_1z > rows[rows.size() - 2].log_1z))
      throw core::Error("the redshift does not grow from row to row", where, "sort the rows by their first column");
  }
  if (rows.empty())
    throw core::Error("the table of the ultraviolet background has no rows", source,
                      "it may have been cut off; copy it again");
  refuse_gaps(rows, source);
  return rows;
}

std::vector<UvBackground::Row> read_rows(const std::string& name) {
  for (const auto& table : shipped_tables)
    if (table.name == name) {
      std::istringstream text{std::string(table.text)};
      return parse(text, "data/uvb/" + name + ".txt");
    }
  std::error_code problem;
  if (!std::filesystem::exists(name, problem))
    throw core::unknown_name("ultraviolet background or file", name, uv_background_names());
  std::istringstream text(
      core::read_input_file(name, {.noun = "the table of the ultraviolet background",
                                   .hint = "give the path of a table, and look at its permissions"}));
  return parse(text, name);
}

}  // namespace

UvBackground::UvBackground(std::vector<Row> rows, const SuddenReionization& sudden)
    : rows_(std::move(rows)), sudden_(sudden) {
  core::require(!rows_.empty(), "an ultraviolet background has at least one row");
}

UvRates UvBackground::at(double redshift) const {
  const double log_1z = core::log10(1.0 + redshift);
  if (log_1z >= rows_.back().log_1z) return {};
  const auto above = std::ranges::upper_bound(rows_, log_1z, {}, &Row::log_1z);
  UvRates rates = above->rates;
  if (above != rows_.begin()) {
    const Row& below = *(above - 1);
    const double share = (log_1z - below.log_1z) / (above->log_1z - below.log_1z);
    for (const auto member : rate_members) rates.*member = (1.0 - share) * below.rates.*member + share * rates.*member;
  }
  if (sudden_.hydrogen && redshift > *sudden_.hydrogen)
    rates.ionization_hi = rates.heating_hi = rates.ionization_hei = rates.heating_hei = 0.0;
  if (sudden_.helium && redshift > *sudden_.helium) rates.ionization_heii = rates.heating_heii = 0.0;
  return rates;
}

// FNV-1a of the bits of all numbers.
std::string UvBackground::digest() const {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto enter = [&](double number) {
    for (std::uint64_t bits = std::bit_cast<std::uint64_t>(number), byte = 0; byte < 8; ++byte, bits >>= 8)
      hash = (hash ^ (bits & 0xff)) * 0x100000001b3;
  };
  for (const Row& row : rows_) {
    enter(row.log_1z);
    for (const auto member : rate_members) enter(row.rates.*member);
  }
  return fmt::format("{:016x}", hash);
}

std::vector<double> UvBackground::onsets() const {
  std::vector<double> redshifts{core::pow(10.0, rows_.back().log_1z) - 1.0};
  for (const std::optional<double>& sudden : {sudden_.hydrogen, sudden_.helium})
    if (sudden) redshifts.push_back(*sudden);
  return redshifts;
}

UvBackground make_uv_background(const std::string& name, const SuddenReionization& sudden) {
  return UvBackground(read_rows(name), sudden);
}

std::vector<std::string> uv_background_names() {
  std::vector<std::string> names;
  for (const auto& table : shipped_tables) names.emplace_back(table.name);
  return names;
}

}  // namespace sidestream::solvers
