#include "io/disk/atomic_folder.hpp"

#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

void write_folder_atomically(const comm::Communicator& comm, const std::string& path,
                             const std::function<void(const std::string&)>& write, bool is_durable) {
  const std::string temporary = temporary_name(path);
  const auto on_first_rank = [&](const std::function<void()>& work) {
    comm.agree_on([&] {
      if (comm.rank() == 0) work();
    });
  };
  try {
    on_first_rank([&] {
      remove_all(temporary);
      make_folder(temporary);
    });
    write(temporary);
    on_first_rank([&] { move_folder_into_place(temporary, path, is_durable); });
  } catch (...) {
    try {
      if (comm.rank() == 0) remove_all(temporary);
    } catch (const std::exception&) {
      // The first error is the one to tell.
    }
    throw;
  }
}

}  // namespace sidestream::io
