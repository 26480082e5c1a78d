#pragma once

#include <algorithm>
#include <list>
#include <string>

#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

/// The files of a folder that were read last, kept open. For one thread at a time.
class OpenFiles {
 public:
  /// Valid until the next call.
  const InputFile& of(const std::string& path) {
    const auto found = std::ranges::find(files_, path, &InputFile::path);
    if (found != files_.end()) {
      files_.splice(files_.begin(), files_, found);
    } else {
      files_.emplace_front(path);
      if (files_.size() > most) files_.pop_back();
    }
    return files_.front();
  }

 private:
  static constexpr std::size_t most = 4;
  std::list<InputFile> files_;
};

}  // namespace sidestream::io
