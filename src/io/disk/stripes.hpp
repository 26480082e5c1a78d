#pragma once

#include <cstdint>
#include <string>

namespace sidestream::io {

/// How a file lies over the servers of a file system: in turns of so many bytes on each.
struct Stripes {
  int count = 0;           ///< servers; 0: not said
  std::int64_t bytes = 0;  ///< 0: not said
};

/// Whether the file system of `path` is one whose files lie in stripes over servers (Lustre). Local.
bool is_striped(const std::string& path);

/// Makes an empty file at `path`, in place of what was there, with these stripes, which a file has for its life: by
/// Lustre's tool `lfs`, if that is on the PATH and the file system takes them. False otherwise, and there may be no
/// file. Local; starts a process.
bool make_striped_file(const std::string& path, const Stripes& stripes);

/// Has each file that is made in this folder and below lie on one server, as is best for files of one writer each,
/// where the file system has stripes. Local; starts a process on such.
void have_one_stripe_a_file(const std::string& folder);

/// Those of the file or folder at `path`, as `lfs` tells them; none without it or elsewhere. Local; starts processes.
Stripes stripes_of(const std::string& path);

}  // namespace sidestream::io
