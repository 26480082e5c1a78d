#include "record.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "model.hpp"

namespace sidestream::io_layer {

std::string escaped(const std::string& text) {
  std::string json;
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    json += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  }
  return json;
}

void Record::add(std::int64_t begin_ns, const Entry& entry) {
  const std::int64_t end_ns = Model::now_ns();
  const std::string line =
      "{\"begin\": " + std::to_string(begin_ns) + ", \"end\": " + std::to_string(end_ns) + ", \"call\": \"" +
      std::string(call_names[static_cast<std::size_t>(entry.call)]) + "\", \"path\": \"" + escaped(entry.path) +
      "\", \"other\": \"" + escaped(entry.other) + "\", \"is_exchange\": " + (entry.is_exchange ? "true" : "false") +
      ", \"offset\": " + std::to_string(entry.offset) + ", \"bytes\": " + std::to_string(entry.bytes) + "}\n";
  const std::scoped_lock lock(mutex_);
  if (descriptor_ < 0)
    descriptor_ =
        ::open((prefix_ + "." + std::to_string(::getpid())).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  append(line.data(), line.size());
  auto left = static_cast<std::size_t>(entry.call == Call::write ? entry.bytes : 0);
  for (const iovec& part : entry.parts) {
    append(part.iov_base, std::min(left, part.iov_len));
    left -= std::min(left, part.iov_len);
  }
}

// A record with a hole would prove nothing.
void Record::append(const void* data, std::size_t bytes) const {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::write(descriptor_, next, bytes);
    if (count <= 0) {
      std::fprintf(stderr, "error: the I/O layer cannot record what is written\n  --> %s\n", prefix_.c_str());
      std::abort();
    }
    next += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

}  // namespace sidestream::io_layer
