#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "places.hpp"

namespace sidestream::test {

/// The numbers of a table in tests/data, row by row; lines that start with # are left out.
inline std::vector<std::vector<double>> read_csv(const std::string& name) {
  std::ifstream file(test_data(name));
  if (!file) throw std::runtime_error("no test data " + name);
  std::vector<std::vector<double>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(std::stod(cell));
  }
  return rows;
}

}  // namespace sidestream::test
