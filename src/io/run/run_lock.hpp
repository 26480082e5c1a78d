#pragma once

#include <string>

namespace sidestream::io {

/// The hold of a job on its run folder: a lock on the file `.lock` in it, which ends with the process that has it. The
/// file tells who that is: `host`, `pid` and `since` in JSON; a job that ended as it should leaves it empty. Readers
/// look at the lock and never take it.
class RunLock {
 public:
  /// Takes the folder for the life of the object; throws core::Error that names who has it. Local: for one rank of a
  /// job.
  explicit RunLock(const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  class File {
   public:
    explicit File(int descriptor) : descriptor_(descriptor) {}
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    bool is_open() const { return descriptor_ >= 0; }
    int descriptor() const { return descriptor_; }

   private:
    int descriptor_;
  };
  friend void require_no_job_in(const std::string& folder);

  File file_;
};

/// Throws core::Error as the constructor does where a job has the folder; takes nothing. Local.
void require_no_job_in(const std::string& folder);

}  // namespace sidestream::io
