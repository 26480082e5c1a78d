#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/couple/region_edit.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::couple {

/// Where a run takes arrays of edits, by one thread at a time. Whoever sends one begins it, sends its parts, in any
/// order and from any process, and names it in an edit. What is not whole and of which nothing has come for a minute is
/// let go.
///
/// Requests are `{"kind": "array", "cells": [[x, y, z], [x, y, z]]}`, answered with the number of the `array`, then
/// `{"kind": "array", "array": N, "cells": ..., "values": bytes}`: doubles of the machine, x fastest.
class ArrayInbox {
 public:
  ArrayInbox() = default;
  /// Arrays lie inside of `domain`, cells of level 0; their files in `folder`. Without a folder it takes none.
  ArrayInbox(std::string folder, const mesh::Box& domain) : folder_(std::move(folder)), domain_(domain) {}
  ArrayInbox(ArrayInbox&&) = default;
  ArrayInbox& operator=(ArrayInbox&&) = default;
  /// What is not whole is removed.
  ~ArrayInbox();

  /// Throws core::Error, and nlohmann::json::exception, for what makes no sense, before any memory or room on a disk is
  /// taken for it.
  nlohmann::json answer(const nlohmann::json& request);
  /// Of an array that was begun.
  const mesh::Box& box_of(std::int64_t array);
  /// Gives an array of which all is there its name. Throws core::Error where something is not, and lets it go where
  /// parts overlap.
  EditArrayName finish(std::int64_t array);
  /// Lets an array go all of which has come, if there is one.
  void drop_whole(std::int64_t array);

 private:
  struct UnderWay {
    mesh::Box box;
    std::string name;
    io::OutputFile file;
    std::vector<mesh::Box> parts{};
    std::int64_t missing = 0;
    std::uint64_t checksum = 0;
    std::chrono::steady_clock::time_point heard = std::chrono::steady_clock::now();
  };

  std::int64_t begin(const mesh::Box& box);
  static void take(UnderWay& array, const mesh::Box& cells, std::span<const std::uint8_t> bytes);
  UnderWay& numbered(std::int64_t array);
  void drop(std::int64_t array);
  void drop_silent();
  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
  mesh::Box domain_;
  std::int64_t last_ = 0;
  std::map<std::int64_t, UnderWay> under_way_;
};

}  // namespace sidestream::couple
