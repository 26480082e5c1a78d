#pragma once

#include <string>
#include <utility>

#include "sidestream/core/timer.hpp"
#include "sidestream/io/run_folder.hpp"

namespace sidestream::couple {

/// Where the readers of a run come to: `stream.json` in its folder, or an address that the user gives.
struct MeetingPoint {
  std::string address;          ///< of the first rank of the run
  std::string key;              ///< its public key; empty: it asks nobody who he is
  std::string run;              ///< which run it is, restarts included; unknown with an address
  std::string configuration{};  ///< a digest of it: with another one it is another run

  bool operator==(const MeetingPoint&) const = default;
};

void write(const MeetingPoint& point, const io::RunFolder& folder);
/// That of the run in the folder `where`, or at the address `where`: "tcp://HOST:PORT", with "#KEY" where the run has
/// one. Throws core::Error where there is none.
MeetingPoint meeting_point(const std::string& where);
/// Looks, at most once a second, whether the run of `where` has another meeting point by now: one that was killed
/// leaves its own behind, where nobody answers any more.
class Relocation {
 public:
  Relocation(std::string where, MeetingPoint point) : where_(std::move(where)), point_(std::move(point)) {}

  bool has_been();
  /// Throws core::Error if so.
  void check();

 private:
  std::string where_;
  MeetingPoint point_;
  core::Stopwatch since_looked_{};
  bool has_been_ = false;
};

/// Whether `where` is an address rather than a folder.
bool is_address(const std::string& where);

/// The part of an address between `//` and the port.
std::string host_of(const std::string& address);
/// Whether only this machine can reach it: a socket of the file system, or the loopback.
bool is_local(const std::string& address);

}  // namespace sidestream::couple
