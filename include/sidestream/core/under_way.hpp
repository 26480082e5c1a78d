#pragma once

#include <cstdint>
#include <string>

namespace sidestream::core {

/// What a thread is at, as long as this lives: for the message of a process that ends in the middle of it.
class UnderWay {
 public:
  struct Words {
    std::string who;    ///< "the task `halos`", who is told to have ended the process
    std::string about;  ///< where that was and what to do, with the ends of their lines: "  --> step 3\nhint: ...\n"
    std::int64_t number = 0;  ///< of this time, of all in the process, from 1 on; given when it begins
  };

  explicit UnderWay(Words words);
  /// What another thread is at, for one that helps it; nothing where that is null. The other one outlives this.
  explicit UnderWay(const Words* of_another);
  ~UnderWay();
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

  /// What this thread is at; null: nothing.
  static const Words* here();

 private:
  Words words_;
  const Words* outer_;
};

/// From now on, a process that crashes or calls `exit` in the middle of something says in the middle of what, in a
/// message on stderr. Whoever handled the signal before does so afterwards; `exit` becomes a failure, with exit code 1.
/// For programs, called once, when MPI has begun.
void tell_of_sudden_ends();

}  // namespace sidestream::core

extern "C" {
/// Who is at work in the thread that asks, with the number of this time, or null. For layers that are preloaded, which
/// find it by its name where a program exports it (`apps/memory_layer`). Never allocates.
const char* sidestream_under_way(std::int64_t* number);
}
