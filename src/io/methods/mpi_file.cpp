#include "io/methods/mpi_file.hpp"

#include <fmt/format.h>

#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::io {

namespace {

void check_file(int error, const char* call, const std::string& path) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(error, text, &length);
  throw core::Error(fmt::format("{} failed: {}", call, text), path);
}

}  // namespace

MpiInfo::MpiInfo(const Stripes& stripes) {
  comm::check(MPI_Info_create(&info_), "MPI_Info_create");
  const auto set = [&](const char* name, const std::string& value) {
    comm::check(MPI_Info_set(info_, name, value.c_str()), "MPI_Info_set");
  };
  set("romio_ds_write", "disable");
  if (stripes.count > 0) set("striping_factor", std::to_string(stripes.count));
  if (stripes.bytes > 0) set("striping_unit", std::to_string(stripes.bytes));
}

MpiInfo::~MpiInfo() {
  MPI_Info_free(&info_);
}

void make_file_with_hints(const std::string& path, const Stripes& stripes) {
  const MpiInfo info(stripes);
  MPI_File file = MPI_FILE_NULL;
  check_file(MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, info.raw(), &file),
             "MPI_File_open", path);
  check_file(MPI_File_close(&file), "MPI_File_close", path);
}

MpiType::MpiType(MPI_Datatype type) : type_(type) {
  comm::check(MPI_Type_commit(&type_), "MPI_Type_commit");
}

MpiType::~MpiType() {
  if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
}

MpiFile::MpiFile(const ArrayWrite& work) : path_(work.path) {
  const core::Stopwatch watch;
  const comm::Communicator plain = work.comm.split(0);
  const MpiInfo info;
  plain.agree_on([&] {
    check_file(MPI_File_open(plain.raw(), path_.c_str(), MPI_MODE_RDWR, info.raw(), &file_), "MPI_File_open", path_);
  });
  statistics_.files = 1;
  statistics_.metadata_s = watch.seconds();
}

MpiFile::~MpiFile() {
  if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
}

void MpiFile::set_view(MPI_Datatype file_type) {
  const core::Stopwatch watch;
  check_file(MPI_File_set_view(file_, 0, MPI_BYTE, file_type, "native", MPI_INFO_NULL), "MPI_File_set_view", path_);
  statistics_.metadata_s += watch.seconds();
}

void MpiFile::write_at(std::int64_t offset, const void* data, int count, MPI_Datatype type, std::int64_t bytes) {
  const core::Stopwatch watch;
  MPI_Status status;
  check_file(MPI_File_write_at(file_, offset, data, count, type, &status), "MPI_File_write_at", path_);
  statistics_.data_s += watch.seconds();
  take_note(status, bytes);
}

void MpiFile::write_all(const void* data, int count, MPI_Datatype type, std::int64_t bytes) {
  const core::Stopwatch watch;
  MPI_Status status;
  check_file(MPI_File_write_all(file_, data, count, type, &status), "MPI_File_write_all", path_);
  statistics_.data_s += watch.seconds();
  take_note(status, bytes);
}

void MpiFile::take_note(MPI_Status& status, std::int64_t bytes) {
  if (bytes == 0) return;
  MPI_Count written = 0;
  comm::check(MPI_Get_elements_x(&status, MPI_BYTE, &written), "MPI_Get_elements_x");
  if (written != bytes)
    throw core::Error(fmt::format("MPI-IO says success and wrote {} of {} bytes", written, bytes), path_,
                      "the disk may be full; the method `engine` tells");
  statistics_.add_write(bytes);
}

void MpiFile::close() {
  const core::Stopwatch watch;
  check_file(MPI_File_close(&file_), "MPI_File_close", path_);
  statistics_.metadata_s += watch.seconds();
}

}  // namespace sidestream::io
