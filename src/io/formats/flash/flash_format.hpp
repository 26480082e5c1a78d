#pragma once

#include <memory>
#include <string>

#include "io/formats/flash/flash_rows.hpp"
#include "sidestream/io/format.hpp"

namespace sidestream::io {

/// The kinds of FLASH files: which library can open one, and how its cells lie.
struct FlashKind {
  Container container = Container::hdf5;
  FlashLayout layout = FlashLayout::standard;
};

/// Writes `content`. Collective on `comm`; see `Format::write`.
AccessStatistics write_flash(const comm::Communicator& comm, const std::string& path, const FileContent& content,
                             const WriteOptions& options, FlashKind kind);

}  // namespace sidestream::io
