#include "io/formats/flash/flash_units.hpp"

#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "io/formats/metadata.hpp"

#include "sidestream/core/math.hpp"

namespace sidestream::io {

namespace {

// unit := power {(' ' | '*' | '/') power}; power := (word | '1' | '(' unit ')') ['^' integer]. Words are replaced in
// `text` as they are read.
class UnitReader {
 public:
  UnitReader(std::string_view unit, double a) : rest_(unit), a_(a) {}

  std::optional<ConvertedUnit> operator()() {
    const double factor = product();
    if (is_unknown_ || !rest_.empty()) return std::nullopt;
    return ConvertedUnit{factor, text_};
  }

 private:
  double product() {
    double factor = power();
    while (!is_unknown_ && !rest_.empty() && rest_.front() != ')') {
      const char sign = take();
      if (sign == '/')
        factor /= power();
      else if (sign == ' ' || sign == '*')
        factor *= power();
      else
        is_unknown_ = true;
    }
    return factor;
  }

  double power() {
    const double base = rest_.starts_with('(') ? bracket() : word();
    if (is_unknown_ || !rest_.starts_with('^')) return base;
    take();
    const bool is_negative = rest_.starts_with('-');
    if (is_negative) take();
    if (rest_.empty() || std::isdigit(static_cast<unsigned char>(rest_.front())) == 0) is_unknown_ = true;
    int exponent = 0;
    while (!rest_.empty() && std::isdigit(static_cast<unsigned char>(rest_.front())) != 0 && exponent < 100)
      exponent = 10 * exponent + (take() - '0');
    return core::pow(base, is_negative ? -exponent : exponent);
  }

  double bracket() {
    take();
    const double inside = product();
    if (rest_.starts_with(')'))
      take();
    else
      is_unknown_ = true;
    return inside;
  }

  double word() {
    std::size_t length = 0;
    while (length < rest_.size() && std::isalnum(static_cast<unsigned char>(rest_[length])) != 0) ++length;
    const std::string_view name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    const auto converted = [&](std::string_view to, double factor) {
      text_ += to;
      return factor;
    };
    if (name == "Msun") return converted("g", grams_per_msun);
    if (name == "Mpc") return converted("cm", cm_per_mpc);
    if (name == "kpc") return converted("cm", 1e-3 * cm_per_mpc);
    if (name == "km") return converted("cm", 1e5 / a_);
    if (name == "K") return converted("K", 1.0 / (a_ * a_));
    if (name == "cm" || name == "g" || name == "s" || name == "1") return converted(name, 1.0);
    is_unknown_ = true;
    return 1.0;
  }

  char take() {
    const char first = rest_.front();
    text_ += first;
    rest_.remove_prefix(1);
    return first;
  }

  std::string_view rest_;
  double a_;
  std::string text_;
  bool is_unknown_ = false;
};

// The mass that all particles have in common stands with them, and not in `content`.
std::string with_particle_mass_in_grams(const std::string& metadata) {
  nlohmann::json all = nlohmann::json::parse(metadata);
  const auto convert = [](nlohmann::json& of, const char* name) {
    if (of.contains(name) && of[name].is_number()) of[name] = of[name].get<double>() * grams_per_msun;
  };
  convert(all, "particle_mass");
  if (all.contains("species"))
    for (nlohmann::json& species : all["species"]) convert(species, "mass");
  return all.dump();
}

}  // namespace

ConvertedUnit flash_unit(const std::string& unit, double a) {
  constexpr std::size_t longest = 256;  // so that no text exhausts the stack
  if (unit.size() > longest) return {1.0, unit};
  return UnitReader(unit, a)().value_or(ConvertedUnit{1.0, unit});
}

namespace {

// A field of `content`, which outlives `in_file`, in another unit; returns its factor.
double add_converted(const FileContent& content, const mesh::Quantity& field, FileContent& in_file) {
  const mesh::Snapshot& from = content.state;
  const ConvertedUnit converted = flash_unit(field.unit, from.moment.scale_factor.value_or(1.0));
  const mesh::Quantity own{field.name, converted.unit};
  if (const mesh::Snapshot::Stored& stored = from.stored(field.name); !stored.levels.empty()) {
    in_file.state.add_stored(own, stored.levels, stored.component, stored.factor * converted.factor);
    return converted.factor;
  }
  in_file.state.add_computed(
      own, [&from, name = field.name](int level, const mesh::Box& box, const core::View4<double>& out) {
        from.write(name, level, box, out);
      });
  in_file.factors.try_emplace(field.name, 1.0).first->second *= converted.factor;
  return converted.factor;
}

}  // namespace

FlashContent in_flash_units(const FileContent& content) {
  const mesh::Snapshot& state = content.state;
  if (content.kind != FileKind::plot_file || state.length_unit != "Mpc")
    return {content, state.geometry, 1.0, std::vector(content.particles.numbers.size(), 1.0), metadata_text(content)};
  FlashContent flash{content, state.geometry, cm_per_mpc, {}, ""};
  mesh::Snapshot& in_file = flash.content.state;
  for (double& length : in_file.geometry.length) length *= cm_per_mpc;
  in_file.length_unit = "cm";
  in_file.moment.time *= cm_per_mpc / 1e5;
  for (std::size_t v = 0; v < content.fields().size(); ++v) {
    const double factor = add_converted(content, content.fields()[v], flash.content);
    if (!content.compression.empty()) flash.content.compression[v].bound *= factor;
  }
  for (mesh::ParticleNumber& number : flash.content.particles.numbers) {
    const ConvertedUnit converted = flash_unit(number.unit, state.moment.scale_factor.value_or(1.0));
    flash.real_factors.push_back(converted.factor);
    number.unit = converted.unit;
  }
  flash.metadata = with_particle_mass_in_grams(metadata_text(flash.content));
  return flash;
}

}  // namespace sidestream::io
