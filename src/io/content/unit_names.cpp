#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

#include "sidestream/io/common_units.hpp"

namespace sidestream::io {

namespace {

using Spelling = std::pair<std::string_view, std::string_view>;

constexpr std::array own_names{"Mpc", "kpc", "pc", "km", "m", "cm", "Msun", "kg", "g", "K", "eV", "keV", "s"};
constexpr std::array other_names{
    Spelling{"M_sun", "Msun"},      Spelling{"M_Sun", "Msun"},
    Spelling{"MSun", "Msun"},       Spelling{"msun", "Msun"},
    Spelling{"Msol", "Msun"},       Spelling{"M_sol", "Msun"},
    Spelling{"Msolar", "Msun"},     Spelling{"solMass", "Msun"},
    Spelling{"solar_mass", "Msun"}, Spelling{"M☉", "Msun"},
    Spelling{"M_☉", "Msun"},        Spelling{"M⊙", "Msun"},
    Spelling{"M_⊙", "Msun"},        Spelling{"gr", "g"},
    Spelling{"gram", "g"},          Spelling{"grams", "g"},
    Spelling{"kilogram", "kg"},     Spelling{"kilograms", "kg"},
    Spelling{"centimeter", "cm"},   Spelling{"centimeters", "cm"},
    Spelling{"meter", "m"},         Spelling{"meters", "m"},
    Spelling{"kilometer", "km"},    Spelling{"kilometers", "km"},
    Spelling{"parsec", "pc"},       Spelling{"parsecs", "pc"},
    Spelling{"Kpc", "kpc"},         Spelling{"kiloparsec", "kpc"},
    Spelling{"kiloparsecs", "kpc"}, Spelling{"megaparsec", "Mpc"},
    Spelling{"megaparsecs", "Mpc"}, Spelling{"sec", "s"},
    Spelling{"second", "s"},        Spelling{"seconds", "s"},
    Spelling{"kelvin", "K"},        Spelling{"Kelvin", "K"},
};
constexpr std::array signs{Spelling{"**", "^"}, Spelling{"*", " "}, Spelling{"⁻", "-"}, Spelling{"−", "-"},
                           Spelling{"·", " "},  Spelling{"⋅", " "}, Spelling{"⁰", "0"}, Spelling{"¹", "1"},
                           Spelling{"²", "2"},  Spelling{"³", "3"}, Spelling{"⁴", "4"}, Spelling{"⁵", "5"},
                           Spelling{"⁶", "6"},  Spelling{"⁷", "7"}, Spelling{"⁸", "8"}, Spelling{"⁹", "9"}};
constexpr std::size_t longest = 200;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}
bool is_of_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || c == '_' || std::isalpha(byte) != 0;
}

// In ASCII, without blanks around powers.
std::string plain(std::string text) {
  for (const auto& [sign, own] : signs)
    for (std::size_t at = 0; (at = text.find(sign, at)) != std::string::npos; at += own.size())
      text.replace(at, sign.size(), own);
  std::string without;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_space(text[at])) {
      const std::size_t next = static_cast<std::size_t>(
          std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_space) - text.begin());
      const bool is_beside_power = (next < text.size() && text[next] == '^') || without.ends_with('^');
      if (!is_beside_power) without += ' ';
      at = next - 1;
    } else {
      without += text[at];
    }
  }
  return without;
}

// `1/(g/cm^3)`, not `g/(cm^3)/K`.
bool has_inner_quotient(std::string_view text) {
  int depth = 0;
  char before = ' ';
  for (const char c : text) {
    if (c == '/' && depth > 0) return true;
    if (c == '(' && (depth > 0 || before == '/')) ++depth;
    if (c == ')' && depth > 0) --depth;
    if (!is_space(c)) before = c;
  }
  return false;
}

// Slashes, and what stands between them and blanks.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '/' ? at + 1 : std::min(text.find_first_of(" /", at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = std::max(end, at + 1);
  }
  return parts;
}

bool take(std::string_view& text, std::string_view any_of) {
  const bool is_there = !text.empty() && any_of.find(text.front()) != std::string_view::npos;
  if (is_there) text.remove_prefix(1);
  return is_there;
}

std::optional<std::string_view> own_name(std::string_view name) {
  if (const auto own = std::ranges::find(own_names, name); own != own_names.end()) return *own;
  const auto other = std::ranges::find(other_names, name, &Spelling::first);
  return other != other_names.end() ? std::optional(other->second) : std::nullopt;
}

// `cm^-3`, `cm-3`, `cm^(-3)`, `(cm^3)`, `s^{-1}`, `s^-1.0`.
std::optional<std::pair<std::string_view, int>> factor(std::string_view part) {
  take(part, "(");
  const auto end = std::ranges::find_if_not(part, is_of_name);
  const auto name = own_name(part.substr(0, static_cast<std::size_t>(end - part.begin())));
  if (!name) return std::nullopt;
  part.remove_prefix(static_cast<std::size_t>(end - part.begin()));
  int power = 1;
  if (part.find_first_of("0123456789") != std::string_view::npos) {
    take(part, "^");
    take(part, "({");
    const int sign = part.starts_with('-') ? -1 : 1;
    take(part, "+-");
    const auto [after, problem] = std::from_chars(part.data(), part.data() + part.size(), power);
    if (problem != std::errc{} || power > 100 || power < 0) return std::nullopt;
    part.remove_prefix(static_cast<std::size_t>(after - part.data()));
    power *= sign;
    if (take(part, "."))
      while (take(part, "0")) continue;
    take(part, ")}");
  }
  take(part, ")");
  return part.empty() ? std::optional(std::pair(*name, power)) : std::nullopt;
}

}  // namespace

std::optional<UnitPowers> unit_powers(const std::string& unit) {
  if (unit.size() > longest) return std::nullopt;
  const std::string text = plain(unit);
  if (has_inner_quotient(text)) return std::nullopt;
  UnitPowers powers;
  bool is_quotient = false;
  std::string_view before;
  for (const std::string_view part : parts_of(text)) {
    const bool is_below = before == "/", is_first = before.empty();
    before = part;
    is_quotient = is_quotient || part == "/";
    if (part == "/" || (part == "1" && is_first)) continue;
    const auto found = factor(part);
    if (!found || (is_quotient && !is_below)) return std::nullopt;
    const auto known = std::ranges::find(powers, found->first, &UnitPowers::value_type::first);
    auto& power = known != powers.end() ? known->second : powers.emplace_back(found->first, 0).second;
    power += is_below ? -found->second : found->second;
  }
  std::erase_if(powers, [](const auto& one) { return one.second == 0; });
  return powers;
}

std::string canonical_unit(const std::string& unit) {
  const auto powers = unit_powers(unit);
  if (!powers || powers->empty()) return unit;
  const auto spelled = [](const std::string& name, int power) {
    return power == 1 ? name : name + "^" + std::to_string(power);
  };
  std::string above, below;
  for (const auto& [name, power] : *powers)
    if (power > 0)
      above += (above.empty() ? "" : " ") + spelled(name, power);
    else
      below += "/" + spelled(name, -power);
  return (above.empty() ? "1" : above) + below;
}

}  // namespace sidestream::io
