#include "rows.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::apps {

using nlohmann::json;

namespace {

constexpr double longest_wait_s = 60.0;

struct Request {
  std::int64_t step = 0;
  mesh::Box part;  // empty: all readers have the step
};
struct RowHead {
  std::int32_t y = 0, rows = 0;
};

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::string file_in(const std::string& folder) {
  return folder + "/rows.json";
}

std::vector<std::string> gathered(const comm::Communicator& world, const std::string& address) {
  const std::string line = address + '\n';
  const std::vector<char> texts = world.gather(std::span<const char>(line));
  std::vector<std::string> all;
  for (auto begin = texts.begin(); begin != texts.end();) {
    const auto end = std::find(begin, texts.end(), '\n');
    all.emplace_back(begin, end);
    begin = end + 1;
  }
  return all;
}

}  // namespace

RowServer::RowServer(const comm::Communicator& world, const std::string& host, const std::string& folder,
                     const Plane& plane, State state)
    : world_(world), listener_(host), state_(std::move(state)) {
  const std::vector<std::string> all = gathered(world, listener_.address());
  const json told{{"width", plane.width}, {"height", plane.height}, {"blocks", plane.blocks}, {"addresses", all}};
  world.agree_on([&] {
    if (world.rank() == 0) io::write_file_atomically(file_in(folder), told.dump());
  });
  thread_ = std::thread([this] { welcome(); });
}

RowServer::~RowServer() {
  listener_.end();
  thread_.join();
  for (Served& one : served_) {
    one.connection.end();
    one.thread.join();
  }
}

void RowServer::wait_for(std::int64_t step) const {
  const core::Stopwatch watch;
  world_.agree_on([&] {
    while (world_.rank() == 0 && done_ < step) {
      if (watch.seconds() > longest_wait_s) throw core::Error("the job that reads does not take its rows");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
}

void RowServer::welcome() {
  while (std::optional<Connection> connection = listener_.accept()) {
    Served& one = served_.emplace_back(Served{std::move(*connection)});
    one.thread = std::thread([this, &one] { serve(one.connection); });
  }
}

void RowServer::serve(const Connection& connection) try {
  Request request;
  while (connection.receive(std::as_writable_bytes(std::span(&request, 1)))) {
    if (request.part.is_empty()) done_ = request.step;
    send_rows(request.part, connection);
  }
} catch (const core::Error&) {  // it has gone
}

void RowServer::send_rows(const mesh::Box& wanted, const Connection& connection) const {
  for (int b = 0; b < state_->blocks(); ++b) {
    const mesh::Box part = intersection(wanted, state_->box(b));
    if (part.is_empty()) continue;
    const core::View4<const double> view = state_->view(b);
    const bool lies_together = part.extent().x == state_->box(b).extent().x;
    const std::int32_t rows = lies_together ? part.extent().y : 1;
    const std::size_t cells = static_cast<std::size_t>(rows) * static_cast<std::size_t>(part.extent().x);
    for (std::int32_t y = part.lo.y; y < part.hi.y; y += rows)
      connection.send(bytes_of(RowHead{y, rows}), std::as_bytes(std::span(&view(0, y, part.lo.x), cells)));
  }
}

RowReader::RowReader(const comm::Communicator& comm, const std::string& folder, const mesh::Layout& target)
    : comm_(comm), cells_(target, comm.rank()) {
  comm.agree_on([&] {
    const json told = json::parse(io::read_text(file_in(folder)));
    const std::vector<std::string> addresses = told.at("addresses");
    const Plane plane{told.at("width"), told.at("height"), told.at("blocks")};
    const mesh::Layout source = plane.slices(static_cast<int>(addresses.size()));
    if (comm.rank() == 0) first_.emplace(addresses.front());
    for (int block = 0; block < cells_.blocks(); ++block)
      source.for_each_meeting(cells_.box(block), [&](std::int32_t other) {
        const auto rank = static_cast<std::size_t>(source.owner(other));
        asked_.push_back({Connection(addresses.at(rank)), intersection(cells_.box(block), source.box(other)), block});
      });
  });
}

double RowReader::read(std::int64_t step) {
  comm_.barrier();
  const core::Stopwatch watch;
  std::vector<std::thread> threads;
  for (Asked& asked : asked_) threads.emplace_back([this, &asked, step] { fetch(asked, step); });
  for (std::thread& thread : threads) thread.join();
  comm_.agree_on([&] {
    for (const Asked& asked : asked_)
      if (!asked.problem.empty()) throw core::Error(asked.problem);
  });
  const double seconds = comm_.max(watch.seconds());
  if (first_) first_->send(bytes_of(Request{step, {}}), {});
  return seconds;
}

void RowReader::fetch(Asked& asked, std::int64_t step) try {
  asked.connection.send(bytes_of(Request{step, asked.part}), {});
  asked.messages = 0;
  const core::View4<double> view = cells_.view(asked.block);
  const auto width = static_cast<std::size_t>(asked.part.extent().x);
  for (std::int32_t y = asked.part.lo.y; y < asked.part.hi.y; ++asked.messages) {
    RowHead head;
    if (!asked.connection.receive(std::as_writable_bytes(std::span(&head, 1))))
      throw core::Error("the job that publishes has gone");
    if (head.y != y || head.rows < 1 || head.rows > asked.part.hi.y - y)
      throw core::Error("what came is no row of the part that was asked for");
    for (; y < head.y + head.rows; ++y)
      if (!asked.connection.receive(std::as_writable_bytes(std::span(&view(0, y, asked.part.lo.x), width))))
        throw core::Error("the job that publishes has gone");
  }
} catch (const core::Error& error) {
  asked.problem = error.what();
}

std::int64_t RowReader::bytes() const {
  std::int64_t sum = 0;
  for (const Asked& asked : asked_) sum += asked.part.volume() * static_cast<std::int64_t>(sizeof(double));
  return sum;
}

std::int64_t RowReader::messages() const {
  std::int64_t sum = 0;
  for (const Asked& asked : asked_) sum += asked.messages;
  return sum;
}

}  // namespace sidestream::apps
