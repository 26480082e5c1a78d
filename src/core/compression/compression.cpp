#include "sidestream/core/compression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <sstream>

namespace sidestream::core {

namespace {

constexpr std::string_view all_others = "*", relative = "relative";

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

double bound_of(const Node& node, const std::string& word) {
  double bound = 0.0;
  const char* const end = word.data() + word.size();
  const auto [stop, status] = std::from_chars(word.data(), end, bound);
  if (status != std::errc{} || stop != end || !std::isfinite(bound) || bound <= 0.0)
    reject(node, fmt::format("`{}` is no largest error of a cell", word), "write a number above 0, such as 1e-3");
  return bound;
}

const Compressor& compressor_of(const Node& node, const std::string& name) {
  for (const Compressor& compressor : compressors())
    if (compressor.name == name) return compressor;
  throw unknown_name("compressor", name, compressors().names(), node.where());
}

CompressionChoice choice_of(const Node& node) {
  const std::vector<std::string> words = words_of(node.text());
  if (words.empty()) reject(node, "the compressor is missing", "for example \"zstd\"");
  CompressionChoice choice{&compressor_of(node, words[0])};
  const std::string& name = choice.compressor->name;
  if (!choice.compressor->missing.empty())
    reject(node, fmt::format("this build has no `{}`", name), choice.compressor->missing);
  if (!choice.compressor->is_lossy) {
    if (words.size() > 1) reject(node, fmt::format("`{}` loses nothing and takes no bound", name), "write it alone");
    return choice;
  }
  if (words.size() < 2)
    reject(node, fmt::format("`{}` takes the largest error that a cell may have", name),
           fmt::format("for example \"{0} 1e-3\", in the unit of the quantity, or \"{0} 1e-3 relative\"", name));
  choice.bound = bound_of(node, words[1]);
  choice.is_relative = words.size() > 2 && words[2] == relative;
  if (words.size() > (choice.is_relative ? 3U : 2U))
    reject(node, fmt::format("`{}` means nothing behind a bound", words[choice.is_relative ? 3 : 2]),
           "`relative` alone may follow: the bound is a part of the largest magnitude of the quantity");
  return choice;
}

}  // namespace

std::string CompressionChoice::text() const {
  if (!compressor->is_lossy) return compressor->name;
  return fmt::format("{} {}{}", compressor->name, bound, is_relative ? " relative" : "");
}

const CompressionChoice& Compression::of(std::string_view quantity) const {
  static const CompressionChoice none;
  const auto named = std::ranges::find(entries_, quantity, &Entry::quantity);
  if (named != entries_.end()) return named->choice;
  const auto others = std::ranges::find(entries_, all_others, &Entry::quantity);
  return others == entries_.end() ? none : others->choice;
}

bool Compression::is_none() const {
  return std::ranges::all_of(entries_,
                             [](const Entry& entry) { return entry.choice.compressor == &compressors().front(); });
}

void Compression::check_names(std::span<const std::string> quantities) const {
  for (const Entry& entry : entries_)
    if (entry.quantity != all_others && std::ranges::find(quantities, entry.quantity) == quantities.end())
      throw unknown_name("quantity", entry.quantity, {quantities.begin(), quantities.end()}, entry.where);
}

void Compression::refuse_lossy(const std::string& reason) const {
  for (const Entry& entry : entries_)
    if (entry.choice.compressor->is_lossy)
      throw Error(reason, entry.where, "compress with `zstd`, which loses nothing");
}

void Compression::refuse_all(const std::string& reason) const {
  for (const Entry& entry : entries_)
    if (entry.choice.compressor != &compressors().front()) throw Error(reason, entry.where, "leave `compress` out");
}

Compression read_compression(const Node& node) {
  Compression all;
  if (node.is_text()) {
    all.entries_.push_back({std::string(all_others), choice_of(node), node.where()});
    return all;
  }
  if (!node.is_table())
    reject(node, fmt::format("`{}` is {}, but must be a string or a table", node.key(), node.kind()),
           "for example \"zstd\", or { density = \"zfp 1e-3\", \"*\" = \"zstd\" }");
  for (const auto& [quantity, choice] : node.members())
    all.entries_.push_back({quantity, choice_of(choice), choice.where()});
  return all;
}

}  // namespace sidestream::core
