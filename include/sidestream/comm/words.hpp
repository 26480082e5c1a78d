#pragma once

#include <string>

#include "sidestream/comm/communicator.hpp"

// Settings of a run that concern a module far below, such as how cells travel, are carried along by the communicator:
// what lies between need not know of them.
namespace sidestream::comm {

/// A duplicate of `comm` that carries `word` under `name`, and so does all that is duplicated or split from it. Alike
/// on all ranks. Collective.
Communicator with_word(const Communicator& comm, const std::string& name, std::string word);

/// What `comm` carries under `name`; empty: nothing. Local.
std::string word_of(const Communicator& comm, const std::string& name);

}  // namespace sidestream::comm
