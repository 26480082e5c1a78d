#pragma once

#include <string>

#include "sidestream/io/run_folder.hpp"

namespace sidestream::couple {

/// Where the readers of a run come to: `stream.json` in its folder, or an address that the user gives.
struct MeetingPoint {
  std::string address;          ///< of the first rank of the run
  std::string key;              ///< its public key; empty: it asks nobody who he is
  std::string run;              ///< which run it is, restarts included; unknown with an address
  std::string configuration{};  ///< a digest of it: with another one it is another run
};

void write(const MeetingPoint& point, const io::RunFolder& folder);
/// That of the run in the folder `where`, or at the address `where`: "tcp://HOST:PORT", with "#KEY" where the run has
/// one. Throws core::Error where there is none.
MeetingPoint meeting_point(const std::string& where);
/// Whether `where` is an address rather than a folder.
bool is_address(const std::string& where);

/// The part of an address between `//` and the port.
std::string host_of(const std::string& address);
/// Whether only this machine can reach it: a socket of the file system, or the loopback.
bool is_local(const std::string& address);

}  // namespace sidestream::couple
