#pragma once

#include <set>
#include <string>

#include "couple/books.hpp"
#include "couple/task_runner.hpp"
#include "sidestream/comm/roles.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/io/run_folder.hpp"

namespace sidestream::couple {

/// What a session has for its transports, on the ranks that compute and on sidecars alike. All of it belongs to the
/// group that the rank is in, but for the messages between the groups, which go by `roles.world()`.
struct Surroundings {
  const comm::Roles& roles;
  const CouplingConfig& config;
  const io::RunFolder& folder;
  io::EventLog& log;
  core::Bill& bill;
  Books& books;
  TaskRunner& runner;  ///< of the group: for analyses in situ, and on sidecars for all
  const Session::Warn& warn;
  std::set<std::string> told{};  ///< what is said once in a run, whichever transport meets it first
};

}  // namespace sidestream::couple
