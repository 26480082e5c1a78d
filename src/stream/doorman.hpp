#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sidestream::stream {

/// Says who may come in at the servers of this process that have keys: the authenticator of ZeroMQ (RFC 27, ZAP), a
/// thread from the first such server to the end of the process.
class Doorman {
 public:
  using Refused = std::function<void(const std::string& peer, const std::string& key)>;

  static Doorman& instance();

  /// Lets in who has one of the keys `allowed`. Returns the name of what is guarded.
  std::string guard(const std::vector<std::string>& allowed, Refused refused);
  void leave(const std::string& domain);

 private:
  struct Door {
    std::vector<std::string> allowed;
    Refused refused;
  };
  Doorman() = default;
  void work(void* socket);
  void answer(void* socket);
  bool may_enter(const std::string& domain, const std::string& peer, const std::string& key);

  std::mutex mutex_;
  std::map<std::string, Door> doors_;
  int number_ = 0;
};

}  // namespace sidestream::stream
