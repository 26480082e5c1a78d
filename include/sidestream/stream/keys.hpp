#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sidestream::stream {

/// A pair of keys of CurveZMQ (Curve25519), as ZeroMQ writes them: 40 characters each.
struct KeyPair {
  std::string public_key, secret_key;
};

/// Whether this may be a key, public or secret.
bool is_key(const std::string& text);

/// Throws core::Error where ZeroMQ was built without encryption.
KeyPair make_keys();

/// Who may talk over a socket. Without keys of its own nobody is asked who he is, and anybody on the way can read.
struct Security {
  std::optional<KeyPair> own;
  std::string server{};                ///< of a client: the public key of the server
  std::vector<std::string> allowed{};  ///< of a server: the public keys of its clients
};

/// A folder of keys, for both sides of a stream:
///
///     stream.key       the owner's pair; only the owner can read it
///     stream.pub       its public half, to be given to others
///     allowed/*.pub    public keys of others who may attach to the owner's runs
class KeyFolder {
 public:
  explicit KeyFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// Makes the folder and the pair. Throws core::Error where there is one already, or it cannot be written.
  KeyPair make() const;
  /// Throws core::Error where there is none, it is damaged, others can read it, or stream.pub is not its public half.
  KeyPair own() const;
  /// The owner's own public key and those in `allowed`. Throws core::Error naming the file of what is no key,
  /// or what others than the owner may write to.
  std::vector<std::string> allowed() const;

 private:
  std::string path_;
};

}  // namespace sidestream::stream
