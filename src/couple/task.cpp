#include "sidestream/couple/task.hpp"

namespace sidestream::couple {

std::vector<FieldRequest> requested_fields(const Task& task) {
  std::vector<FieldRequest> all;
  for (const std::string& name : task.analysis->fields())
    all.push_back(name.ends_with('?') ? FieldRequest{name.substr(0, name.size() - 1), true}
                                      : FieldRequest{name, false});
  return all;
}

}  // namespace sidestream::couple
