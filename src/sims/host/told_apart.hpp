#pragma once

#include <string>
#include <utility>

namespace sidestream::sims {

/// Two different numbers, in as few digits (at least six) as tell one from the other. Of a NaN there is one word.
std::pair<std::string, std::string> told_apart(double one, double other);

}  // namespace sidestream::sims
