#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sidestream/core/config.hpp"

namespace sidestream::core {

/// What the entries of a registry are: "analyses", each an "analysis", and where they are chosen.
struct Kind {
  std::string plural, singular, documentation;
};

/// A registry as text: its kind and what each entry is, in a sentence.
struct Listing {
  struct Line {
    std::string name, documentation;
  };
  std::string name, documentation;
  std::vector<Line> lines;
};

/// The error of a name that is none of `names`, with the nearest of them and all there are.
Error unknown_name(const std::string& singular, std::string_view name, const std::vector<std::string>& names,
                   const std::string& where = "");

/// Throws core::Error naming what of `names` is there twice.
void require_names_once(const std::string& singular, std::vector<std::string> names);

/// What may stand in a registry: a name and a sentence; its options and what it makes are its own business.
template <typename Entry>
concept Registered = requires(const Entry& entry) {
  { entry.name } -> std::convertible_to<std::string>;
  { entry.documentation } -> std::convertible_to<std::string>;
};

/// All entries of a kind, in the order in which they were listed. Adding one is a line where the registry is made.
template <Registered Entry>
class Registry {
 public:
  /// Throws core::Error where two entries have the same name.
  Registry(Kind kind, std::vector<Entry> entries) : kind_(std::move(kind)), entries_(std::move(entries)) {
    require_names_once(kind_.singular, names());
  }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  const Entry& front() const { return entries_.front(); }

  /// The entry of this name; throws core::Error with the nearest.
  const Entry& named(std::string_view name) const { return found(name, ""); }
  /// The entry that the key `key` of `table` names; throws core::Error, with the place, when it names none or is not
  /// there.
  const Entry& chosen(const Node& table, const std::string& key) const {
    const Node* const node = table.find(key);
    if (node == nullptr)
      reject(table, "the key `" + key + "` is missing", "for example " + key + " = \"" + front().name + "\"");
    return found(node->text(), node->where());
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Entry& entry : entries_) all.emplace_back(entry.name);
    return all;
  }
  Listing listing() const {
    Listing all{kind_.plural, kind_.documentation, {}};
    for (const Entry& entry : entries_)
      all.lines.push_back({std::string(entry.name), std::string(entry.documentation)});
    return all;
  }

 private:
  const Entry& found(std::string_view name, const std::string& where) const {
    for (const Entry& entry : entries_)
      if (entry.name == name) return entry;
    throw unknown_name(kind_.singular, name, names(), where);
  }

  Kind kind_;
  std::vector<Entry> entries_;
};

}  // namespace sidestream::core
