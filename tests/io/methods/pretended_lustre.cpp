#include "io/methods/pretended_lustre.hpp"

#include <mpi.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

namespace sidestream::test {

namespace {

constexpr const char* program =
    "#!/bin/sh\n"
    "here=$(dirname \"$0\")\n"
    "if [ $1 = setstripe ]; then\n"
    "  echo \"$@\" >> $here/orders; echo $3 > $here/count; echo ${5:-1048576} > $here/size\n"
    "  for file; do :; done; [ -d $file ] || : > $file; exit 0\n"
    "fi\n"
    "if [ $2 = -c ]; then cat $here/count; else cat $here/size; fi\n";

bool is_lustre = false;
std::vector<MadeByMpi> made;

std::string hint(MPI_Info info, const char* name) {
  if (info == MPI_INFO_NULL) return "";
  std::array<char, 100> value{};
  int is_set = 0;
  MPI_Info_get(info, name, value.size() - 1, value.data(), &is_set);
  return is_set != 0 ? value.data() : "";
}

}  // namespace

FakeLfs::FakeLfs(const comm::Communicator& comm, const std::string& folder) : folder_(folder), path_(::getenv("PATH")) {
  if (comm.rank() == 0) {
    std::ofstream(folder + "/lfs") << program;
    std::filesystem::permissions(folder + "/lfs", std::filesystem::perms::owner_all);
  }
  comm.barrier();
  ::setenv("PATH", (folder + ":" + path_).c_str(), 1);
}

FakeLfs::~FakeLfs() {
  ::setenv("PATH", path_.c_str(), 1);
}

std::vector<std::string> FakeLfs::orders() const {
  std::ifstream file(folder_ + "/orders");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

PretendedLustre::PretendedLustre() {
  is_lustre = true;
}

PretendedLustre::~PretendedLustre() {
  is_lustre = false;
}

std::vector<MadeByMpi> made_by_mpi() {
  return std::exchange(made, {});
}

}  // namespace sidestream::test

// These definitions come before those of the libraries.
extern "C" {

int statfs(const char* path, struct statfs* status) noexcept {
  constexpr auto lustre_magic = 0x0BD00BD0;  // statfs(2)
  const auto error = static_cast<int>(syscall(SYS_statfs, path, status));
  if (error == 0 && sidestream::test::is_lustre) status->f_type = lustre_magic;
  return error;
}

int MPI_File_open(MPI_Comm comm, const char* path, int mode, MPI_Info info, MPI_File* file) {
  using sidestream::test::hint;
  if ((mode & MPI_MODE_CREATE) != 0)
    sidestream::test::made.push_back(
        {path, hint(info, "striping_factor"), hint(info, "striping_unit"), std::filesystem::exists(path)});
  return PMPI_File_open(comm, path, mode, info, file);
}
}
