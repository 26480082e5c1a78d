#include "hierarchy_cases.hpp"

#include <algorithm>

#include "hierarchy_files.hpp"

namespace sidestream::bench {

namespace {

using SharedHierarchy = std::shared_ptr<const Hierarchy>;
using SharedPieces = std::shared_ptr<std::vector<Piece>>;

Case dump(const SharedHierarchy& hierarchy, const HierarchyMethod& method, const std::string& content,
          const std::string& path) {
  const auto work = [hierarchy, method, path](bool is_durable) { return method.write(*hierarchy, path, is_durable); };
  const auto check = [hierarchy, method, path] {
    std::vector<Piece> pieces = hierarchy->empty_pieces();
    method.read(*hierarchy, path, pieces);
    hierarchy->comm().agree_on([&] { hierarchy->compare(std::move(pieces), path); });
  };
  return {content, method.format, method.name, hierarchy->bytes(), path, work, check};
}

// Into `found`, which cases may share.
Case initial_read(const SharedHierarchy& hierarchy, const SharedPieces& found, const HierarchyMethod& method,
                  const std::string& content, const std::string& path) {
  const auto work = [hierarchy, method, path, found](bool) { return method.read(*hierarchy, path, *found); };
  const auto check = [hierarchy, path, found] {
    hierarchy->comm().agree_on([&] { hierarchy->compare(*found, path); });
  };
  const auto before = [hierarchy, method, path, found] {
    method.write(*hierarchy, path, true);
    *found = hierarchy->empty_pieces();
  };
  return {content, method.format, method.name, hierarchy->bytes(), path, work, check, before};
}

bool is_selected(const std::vector<std::string>& wanted, const std::string& name) {
  return wanted.empty() || std::ranges::find(wanted, name) != wanted.end();
}

}  // namespace

const HierarchySize* hierarchy_size(const std::string& name) {
  for (const HierarchySize& size : hierarchy_sizes())
    if (size.name == name) return &size;
  return nullptr;
}

std::vector<Case> hierarchy_cases(const comm::Communicator& comm, const std::vector<std::string>& sizes,
                                  const std::string& folder, const Selection& selection) {
  std::vector<Case> all;
  for (const std::string& name : sizes) {
    const HierarchySize& size = *hierarchy_size(name);
    const auto initial = std::make_shared<const Hierarchy>(comm, size, true);
    const auto refined = std::make_shared<const Hierarchy>(comm, size, false);
    const auto add = [&](const char* content, const auto& make) {
      for (const HierarchyMethod& method : hierarchy_methods())
        if (is_selected(selection.methods, method.name))
          all.push_back(make(method, name + " " + content, folder + "/" + method.name));
    };
    const auto found = std::make_shared<std::vector<Piece>>();
    add("read", [&](const auto&... words) { return initial_read(initial, found, words...); });
    all.push_back(sequential(comm, name + " dump", refined->bytes(), folder + "/sequential"));
    add("dump", [&](const auto&... words) { return dump(refined, words...); });
  }
  return all;
}

}  // namespace sidestream::bench
