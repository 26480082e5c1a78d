#include "couple/stream/meeting_point.hpp"

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/stream/keys.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

constexpr std::int64_t most_bytes = 1 << 20;

}  // namespace

void write(const MeetingPoint& point, const io::RunFolder& folder) {
  io::write_file_atomically(folder.stream(), json{{"address", point.address},
                                                  {"key", point.key},
                                                  {"run", point.run},
                                                  {"configuration", point.configuration},
                                                  {"process", ::getpid()}}
                                                     .dump(2) +
                                                 "\n");
}

MeetingPoint meeting_point(const std::string& where) {
  if (is_address(where)) {
    const std::size_t hash = where.find('#');
    const std::string key = hash == std::string::npos ? "" : where.substr(hash + 1);
    if (!key.empty() && !stream::is_key(key))
      throw core::Error("what stands after the # is no public key", where,
                        "it has 40 characters; a shell needs quotes around it");
    return {where.substr(0, hash), key, "", ""};
  }
  const std::string path = io::RunFolder(where).stream();
  if (!std::filesystem::exists(path))
    throw core::Error("there is no stream of this run", where,
                      "a run streams while it goes on, if a task of its configuration has transport = \"stream\"");
  try {
    const json written = json::parse(io::read_text(path, most_bytes));
    return {written.at("address"), written.at("key"), written.at("run"), written.at("configuration")};
  } catch (const json::exception&) {
    throw core::Error("the file does not say where the run can be reached", path, "is it of Sidestream, and whole?");
  }
}

bool Relocation::has_been() {
  constexpr double look_every_s = 1.0;
  if (has_been_ || since_looked_.seconds() < look_every_s) return has_been_;
  since_looked_.restart();
  try {
    has_been_ = meeting_point(where_) != point_;
  } catch (const core::Error&) {  // it is gone for now
  }
  return has_been_;
}

void Relocation::check() {
  if (has_been()) throw core::Error("the run has begun anew meanwhile", where_, "ask once more");
}

bool is_address(const std::string& where) {
  return where.starts_with("tcp://") || where.starts_with("ipc://");
}

std::string host_of(const std::string& address) {
  const std::size_t begin = address.find("//") + 2;
  return address.substr(begin, address.rfind(':') - begin);
}

bool is_local(const std::string& address) {
  if (address.starts_with("ipc://")) return true;
  const std::string host = host_of(address);
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

}  // namespace sidestream::couple
