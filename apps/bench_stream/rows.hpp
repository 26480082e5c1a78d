#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "plane.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/layout.hpp"
#include "tcp.hpp"

namespace sidestream::apps {

/// The bounding box as it is where nobody packs: each reader asks every writer for the part of its box, and gets each
/// run of numbers that lie together in memory as a message of its own, by a socket of TCP with a thread at both ends.

/// The side of a rank that has slices.
class RowServer {
 public:
  using State = std::shared_ptr<const mesh::Field<double>>;

  /// Takes a port of `host`, and tells readers of all ranks by a file in `folder`. Collective on `world`, which
  /// outlives it.
  RowServer(const comm::Communicator& world, const std::string& host, const std::string& folder, const Plane& plane,
            State state);
  ~RowServer();
  RowServer(const RowServer&) = delete;
  RowServer& operator=(const RowServer&) = delete;

  /// Until all readers have step `step`, so that the state may change. Collective.
  void wait_for(std::int64_t step) const;

 private:
  struct Served {
    Connection connection;
    std::thread thread{};
  };
  void welcome();
  void serve(const Connection& connection);
  void send_rows(const mesh::Box& part, const Connection& connection) const;

  const comm::Communicator& world_;
  Listener listener_;
  State state_;
  std::atomic<std::int64_t> done_ = -1;  // step, of the first rank
  std::list<Served> served_;             // of the thread that welcomes
  std::thread thread_;
};

/// The side of a rank that reads.
class RowReader {
 public:
  /// `target`: the layout of the readers. Collective on `comm`, which outlives it.
  RowReader(const comm::Communicator& comm, const std::string& folder, const mesh::Layout& target);

  /// Brings a step; returns the seconds of the slowest rank. Collective.
  double read(std::int64_t step);

  const mesh::Field<double>& cells() const { return cells_; }
  std::int64_t bytes() const;     ///< of a step, to this rank
  std::int64_t messages() const;  ///< of the last step, to this rank
  std::int64_t connections() const { return static_cast<std::int64_t>(asked_.size()); }

 private:
  struct Asked {
    Connection connection;
    mesh::Box part;
    int block = 0;              ///< of mine
    std::int64_t messages = 0;  ///< of the last step
    std::string problem{};
  };
  void fetch(Asked& asked, std::int64_t step);

  const comm::Communicator& comm_;
  mesh::Field<double> cells_;
  std::vector<Asked> asked_;
  std::optional<Connection> first_;  // to the first rank of the run, which is told when all have a step
};

}  // namespace sidestream::apps
