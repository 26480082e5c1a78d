#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sidestream/core/error.hpp"

namespace sidestream::core {

/// A TOML value that remembers where it was written, so that whatever is wrong with it can be said with file, line,
/// column and key.
class Node {
 public:
  using Array = std::vector<Node>;
  using Members = std::vector<std::pair<std::string, Node>>;  ///< in the order of the file
  using Value = std::variant<Members, Array, std::string, std::int64_t, double, bool>;

  Node() = default;
  Node(Value value, std::string key = "", std::string place = "")
      : value_(std::move(value)), key_(std::move(key)), place_(std::move(place)) {}

  bool is_table() const { return std::holds_alternative<Members>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_text() const { return std::holds_alternative<std::string>(value_); }
  const Value& value() const { return value_; }
  Value& value() { return value_; }

  /// The members of a table (an error that names this key otherwise); the elements of an array.
  const Members& members() const;
  const Array& elements() const;
  /// The member `name` of a table, or null.
  const Node* find(std::string_view name) const;
  /// Sets the member `name` of a table.
  void set(std::string_view name, Node value);

  /// The value as a type; throws an error naming place, key and the expected type otherwise.
  double number() const;
  std::int64_t integer() const;
  bool boolean() const;
  const std::string& text() const;

  const std::string& key() const { return key_; }
  /// "run.toml:7:9, key `mesh.cells`"
  std::string where() const;
  /// "a table", "a string", ...
  std::string kind() const;

 private:
  Value value_ = Members{};
  std::string key_, place_;
};

/// Parses a TOML file or text; throws an Error with line and column for what is not TOML.
Node load_toml(const std::string& path);
Node parse_toml(const std::string& text, const std::string& source);

/// Overrides the key of `assignment` ("task.halos.every=5"; a value that is not TOML is taken as a string), making
/// tables on the way.
void override_key(Node& root, const std::string& assignment);

/// TOML text of a table.
std::string to_toml(const Node& root);

/// The name of `candidates` nearest to `name` by edit distance when it is near enough to be a slip, else the one that
/// begins with it, else "".
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

/// Throws an Error about the value of `node`.
[[noreturn]] void reject(const Node& node, const std::string& what, const std::string& hint = "");

/// Reads "14.2 Mpc": a number and one of `units` (each with its factor to the unit wanted). A bare number is an error
/// unless units has "".
using Units = std::map<std::string, double, std::less<>>;
double quantity(const Node& node, const Units& units);

/// Units of time in seconds ("s", "min", "h") and of memory in bytes ("B", "KiB", "MiB", "GiB", "TiB").
const Units& wall_time_units();
const Units& size_units();

/// One option of a `Table`: all that is known of it, said once.
struct Option {
  std::string name, documentation, default_text, type;
  bool is_required = false;
  std::optional<double> minimum, maximum;
  std::vector<std::string> choices;
  const Units* units = nullptr;

  Option& doc(std::string text) {
    documentation = std::move(text);
    return *this;
  }
  /// Inclusive bounds of a number (or of each number of an array).
  Option& range(double lo, double hi) {
    minimum = lo;
    maximum = hi;
    return *this;
  }
  Option& at_least(double lo) {
    minimum = lo;
    return *this;
  }
  Option& one_of(std::vector<std::string> names) {
    choices = std::move(names);
    return *this;
  }
  /// The value is a string of a number and a unit; it is stored times the unit's factor.
  Option& in(const Units& table) {
    units = &table;
    return *this;
  }
  Option& required() {
    is_required = true;
    return *this;
  }
};

/// Reads `node` into `out` under the rules of `option`. The types an option may have.
void read_value(const Node& node, const Option& option, double& out);
void read_value(const Node& node, const Option& option, std::int64_t& out);
void read_value(const Node& node, const Option& option, std::int32_t& out);
void read_value(const Node& node, const Option& option, bool& out);
void read_value(const Node& node, const Option& option, std::string& out);
void read_value(const Node& node, const Option& option, std::vector<double>& out);
void read_value(const Node& node, const Option& option, std::vector<std::string>& out);
void read_value(const Node& node, const Option& option, std::array<std::int32_t, 3>& out);
template <typename V>
void read_value(const Node& node, const Option& option, std::optional<V>& out) {
  V value{};
  read_value(node, option, value);
  out = std::move(value);
}

/// A default as a TOML value; for an optional without value, nothing.
std::optional<Node> to_node(double value, const Option& option);
std::optional<Node> to_node(std::int64_t value, const Option& option);
std::optional<Node> to_node(std::int32_t value, const Option& option);
std::optional<Node> to_node(bool value, const Option& option);
std::optional<Node> to_node(const std::string& value, const Option& option);
std::optional<Node> to_node(const std::vector<double>& value, const Option& option);
std::optional<Node> to_node(const std::vector<std::string>& value, const Option& option);
std::optional<Node> to_node(const std::array<std::int32_t, 3>& value, const Option& option);
template <typename V>
std::optional<Node> to_node(const std::optional<V>& value, const Option& option) {
  return value ? to_node(*value, option) : std::nullopt;
}

/// The options of one table of the configuration, each declared once and bound to a member of the plain struct `T`:
///
///     Table<HydroConfig> table("Gas dynamics");
///     table.option("cfl", &HydroConfig::cfl, 0.4).range(0.0, 1.0).doc("Courant number of the hydrodynamic step");
///     const HydroConfig config = table.read(node);
template <typename T>
class Table {
 public:
  explicit Table(std::string documentation) : documentation_(std::move(documentation)) {}

  /// The reference is valid until the next call.
  template <typename V>
  Option& option(std::string name, V T::*member, std::type_identity_t<V> initial) {
    Entry entry;
    entry.option.name = std::move(name);
    entry.read = [member](const Node& node, const Option& option, T& out) { read_value(node, option, out.*member); };
    entry.apply_default = [member, initial](T& out) { out.*member = initial; };
    entry.default_node = [initial](const Option& option) { return to_node(initial, option); };
    entries_.push_back(std::move(entry));
    return entries_.back().option;
  }
  /// A member that `parse` makes from the node, for values with a grammar of their own. Without the key, `initial`
  /// stands.
  template <typename V>
  Option& parsed(std::string name, V T::*member, V initial, std::function<V(const Node&)> parse) {
    Entry entry;
    entry.option.name = std::move(name);
    entry.read = [member, parse](const Node& node, const Option&, T& out) { out.*member = parse(node); };
    entry.apply_default = [member, initial](T& out) { out.*member = initial; };
    entry.default_node = [](const Option&) { return std::optional<Node>(); };
    entries_.push_back(std::move(entry));
    return entries_.back().option;
  }
  /// Takes an option out that has no meaning for the reader: an error like any unknown key.
  void leave_out(std::string_view name) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.option.name == name; });
  }
  /// A key that somebody else reads: known, not looked at.
  void ignore(std::string name) { ignored_.push_back(std::move(name)); }

  /// Checks and reads the table `node`; keys that are no option are errors naming the nearest. With `resolved`, stores
  /// there the table with every default filled in.
  T read(const Node& node, Node* resolved = nullptr) const {
    T out{};
    check_keys(node, names());
    Node full = node;
    for (const Entry& entry : entries_) {
      entry.apply_default(out);
      if (const Node* value = node.find(entry.option.name)) {
        entry.read(*value, entry.option, out);
      } else if (entry.option.is_required) {
        reject(node, "the key `" + entry.option.name + "` is missing", entry.option.documentation);
      } else if (const auto standard = entry.default_node(entry.option)) {
        full.set(entry.option.name, *standard);
      }
    }
    if (resolved != nullptr) *resolved = std::move(full);
    return out;
  }

  const std::string& documentation() const { return documentation_; }
  /// Every option with its default as text, for `--help` and the reference.
  std::vector<Option> options() const {
    std::vector<Option> all;
    for (const Entry& entry : entries_) {
      all.push_back(entry.option);
      if (const auto standard = entry.default_node(entry.option)) all.back().default_text = value_text(*standard);
    }
    return all;
  }

 private:
  struct Entry {
    Option option;
    std::function<void(const Node&, const Option&, T&)> read;
    std::function<void(T&)> apply_default;
    std::function<std::optional<Node>(const Option&)> default_node;
  };
  std::vector<std::string> names() const {
    std::vector<std::string> all = ignored_;
    for (const Entry& entry : entries_) all.push_back(entry.option.name);
    return all;
  }
  static void check_keys(const Node& node, const std::vector<std::string>& known);
  static std::string value_text(const Node& node);

  std::string documentation_;
  std::vector<Entry> entries_;
  std::vector<std::string> ignored_;
};

/// Throws for the first member of `table` that is not among `known`, naming the nearest.
void check_known_keys(const Node& table, std::span<const std::string> known);
/// One value as TOML text.
std::string value_to_toml(const Node& node);

template <typename T>
void Table<T>::check_keys(const Node& node, const std::vector<std::string>& known) {
  check_known_keys(node, known);
}
template <typename T>
std::string Table<T>::value_text(const Node& node) {
  return value_to_toml(node);
}

}  // namespace sidestream::core
