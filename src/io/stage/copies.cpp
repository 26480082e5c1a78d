#include "io/stage/copies.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "sidestream/comm/sparse_exchange.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

constexpr std::int64_t piece_bytes = std::int64_t{8} << 20;

// What a rank is given, under temporary names until all is there.
class Receiver {
 public:
  explicit Receiver(std::function<std::string(int rank)> path_of) : path_of_(std::move(path_of)) {}

  void take(const comm::ByRank<std::byte>& pieces) {
    for (const auto& [rank, bytes] : pieces) {
      auto& file = files_[rank];
      if (!file) file = std::make_unique<OutputFile>(temporary_name(path_of_(rank)), OutputFile::Open::create);
      file->write(bytes);
    }
  }

  void finish() {
    for (const auto& [rank, file] : files_) {
      file->sync_and_close();
      move_file_into_place(temporary_name(path_of_(rank)), path_of_(rank));
    }
  }

 private:
  std::function<std::string(int rank)> path_of_;
  std::map<int, std::unique_ptr<OutputFile>> files_;
};

}  // namespace

void write_copies(const comm::Communicator& comm, const std::string& own, int partner,
                  const std::function<std::string(int rank)>& path_of) {
  std::optional<InputFile> file;
  comm.agree_on([&] {
    if (!own.empty()) file.emplace(own);
  });
  const std::int64_t size = file ? file->size_bytes() : 0;
  const std::int64_t rounds = comm.max((size + piece_bytes - 1) / piece_bytes);
  Receiver receiver(path_of);
  for (std::int64_t round = 0; round < rounds; ++round) {
    comm::ByRank<std::byte> outgoing;
    comm.agree_on([&] {
      const std::int64_t offset = round * piece_bytes;
      if (offset < size) outgoing[partner] = file->bytes(offset, std::min(piece_bytes, size - offset));
    });
    const auto delivery = comm::deliver(comm, outgoing);
    comm.agree_on([&] { receiver.take(delivery.incoming); });
  }
  comm.agree_on([&] { receiver.finish(); });
}

}  // namespace sidestream::io
