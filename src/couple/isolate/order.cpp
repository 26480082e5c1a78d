#include "couple/isolate/order.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>

#include "couple/publish/protocol.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using comm::SharedMemory;
using nlohmann::json;

namespace {

constexpr std::size_t answer_bytes = 64 * 1024;

json to_message(const Loan& loan) {
  const SharedMemory::Address& at = loan.address;
  return {at.process, at.file, at.key, at.size_bytes, loan.words, loan.particle_words};
}

Loan loan_from(const json& message) {
  return {{message.at(0), message.at(1), message.at(2), message.at(3)}, message.at(4), message.at(5)};
}

}  // namespace

std::string packed(const JobOrder& order) {
  json loans = json::array();
  for (const Loan& loan : order.loans) loans.push_back(to_message(loan));
  return packed(json{{"task", order.task},
                     {"publish", to_message(order.announcement, order.head)},
                     {"levels", to_message(order.head.levels, {})},
                     {"loans", loans},
                     {"newest_result", order.newest_result},
                     {"bytes", order.bytes},
                     {"clock_s", order.clock_s}});
}

JobOrder order_from(const std::string& bytes, std::size_t tasks, int ranks) {
  const json message = unpacked(bytes);
  JobOrder order;
  order.task = message.at("task");
  order.announcement = announcement_from(message.at("publish"), tasks);
  order.head = snapshot_from(message.at("publish"));
  order.head.levels = levels_from(message.at("levels"), {}, ranks);
  for (const json& loan : message.at("loans")) order.loans.push_back(loan_from(loan));
  order.newest_result = message.at("newest_result");
  order.bytes = message.at("bytes");
  order.clock_s = message.at("clock_s");
  return order;
}

struct JobMemory::Head {
  std::uint64_t order_bytes;
  std::atomic<std::uint64_t> answer_bytes;
};

JobMemory::Head& JobMemory::head() const {
  return *reinterpret_cast<Head*>(memory_.bytes().data());
}

char* JobMemory::text() const {
  return reinterpret_cast<char*>(memory_.bytes().data()) + sizeof(Head);
}

std::optional<JobMemory> JobMemory::make(const std::string& order) {
  const std::size_t size = sizeof(Head) + order.size() + answer_bytes;
  std::optional<SharedMemory> memory = SharedMemory::make(size);
  if (!memory || !memory->reserve(size)) return std::nullopt;
  JobMemory made(std::move(*memory), order.size());
  new (&made.head()) Head{order.size(), 0};
  std::memcpy(made.text(), order.data(), order.size());
  return made;
}

JobMemory JobMemory::borrow(const std::string& address) {
  SharedMemory::Address at;
  std::istringstream words(address);
  words >> at.process >> at.file >> at.key >> at.size_bytes;
  std::optional<SharedMemory> memory = words ? SharedMemory::borrow(at) : std::nullopt;
  if (!memory)
    throw core::Error("the run that started this job does not answer", "memory " + address,
                      "it has ended: start it again, and the job starts with it");
  const auto order_bytes = *reinterpret_cast<const std::uint64_t*>(memory->bytes().data());
  return JobMemory(std::move(*memory), order_bytes);
}

std::string JobMemory::address() const {
  const SharedMemory::Address at = memory_.lend();
  return fmt::format("{} {} {} {}", at.process, at.file, at.key, at.size_bytes);
}

std::string JobMemory::order() const {
  return {text(), order_bytes_};
}

void JobMemory::answer(const std::string& text_of_it) {
  if (text_of_it.size() > answer_bytes) return;
  std::memcpy(text() + order_bytes_, text_of_it.data(), text_of_it.size());
  head().answer_bytes.store(text_of_it.size(), std::memory_order_release);
}

std::string JobMemory::answer() const {
  const std::uint64_t size = head().answer_bytes.load(std::memory_order_acquire);
  return size > answer_bytes ? "" : std::string(text() + order_bytes_, size);
}

}  // namespace sidestream::couple
