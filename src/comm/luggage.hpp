#pragma once

#include <mpi.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace sidestream::comm {

/// What a communicator carries along, as an attribute of MPI's; duplicates and what is split off have the same.
struct Luggage {
  std::shared_ptr<const std::function<void()>> work;  ///< of `with_progress`
  std::map<std::string, std::string> words;           ///< of `with_word`
};

/// Null where there is none.
const Luggage* luggage_of(MPI_Comm comm);
void set_luggage(MPI_Comm comm, Luggage luggage);

/// MPI hands attributes on to duplicates, but not to what is split off.
void inherit_luggage(MPI_Comm from, MPI_Comm part);

}  // namespace sidestream::comm
