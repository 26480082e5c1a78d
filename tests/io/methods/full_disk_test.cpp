// A disk that fills up while the rows are written. What the stock libraries make of it is theirs; ours is that such a
// file never gets its name.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "io/array_samples.hpp"
#include "io/file_size_limit.hpp"
#include "io/temporary_folder.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::test {

namespace {

struct Case {
  std::string method;
  io::Container container;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const io::WriteMethod& method : io::write_methods())
    if (method.write)
      for (const io::Container container : method.containers) all.push_back({method.name, container});
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.method + (info.param.container == io::Container::hdf5     ? "_hdf5"
                                          : info.param.container == io::Container::netcdf ? "_netcdf"
                                                                                          : "_raw");
  std::ranges::replace(name, '-', '_');
  return name;
}

class FullDisk : public testing::TestWithParam<Case> {};

// ROMIO leaves the other ranks in the exchange of HDF5's collective writes when one fails
// (docs/reference/write_methods.md).
bool hangs_in_the_library(const std::string& method) {
  const char* const component = std::getenv("OMPI_MCA_io");
  const bool is_romio = component != nullptr && std::string(component).starts_with("romio");
  return is_romio && (method == "hdf5-collective" || method == "hdf5-strided");
}

SampleGroup rows_of_doubles(const comm::Communicator& comm) {
  SampleGroup sample;
  for (int a = 0; a < 4; ++a)
    sample.group.arrays.push_back({"array" + std::to_string(a), io::ElementType::float64, {1000}});
  sample.group.rows = 8 * comm.size();
  sample.group.run_total = comm.size();
  sample.group.runs = {{comm.rank(), 8 * comm.rank(), 8}};
  sample.value = [](std::size_t a, std::int64_t row, std::int64_t e) {
    return mixed({static_cast<std::int64_t>(a), row, e});
  };
  return sample;
}

}  // namespace

TEST_P(FullDisk, IsAnErrorOfAll) {
  if (hangs_in_the_library(GetParam().method)) GTEST_SKIP() << "ROMIO does not come back from this method";
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  SampleGroup sample = rows_of_doubles(comm);
  std::optional<FileSizeLimit> limit;
  sample.group.pack = [&](std::size_t array, std::size_t run, std::span<std::byte> out) {
    if (!limit) limit.emplace(20'000);
    sample.put(array, sample.group.runs[run], out);
  };
  const auto offsets = std::make_shared<std::vector<std::int64_t>>();
  io::ArrayFile file{GetParam().container, "", {sample.group}, {}};
  file.create = file.container == io::Container::hdf5     ? decltype(file.create)(hdf5_maker(offsets))
                : file.container == io::Container::netcdf ? decltype(file.create)(netcdf_maker(offsets))
                                                          : decltype(file.create)(raw_maker(offsets, 1));
  io::WriteOptions options;
  options.method = GetParam().method;
  options.aggregators = comm.size();

  EXPECT_THROW(io::write_array_file(comm, folder / "file", file, options), core::Error);

  limit.reset();
  comm.barrier();
  EXPECT_EQ(entries_of(folder.path()), 0);
}

// There is room for the arrays, but not for what stands beside them, and HDF5 ends a process at its end that could not
// close a file.
TEST(FullFile, WithoutRoomForTablesIsToldBeforeHdf5MeetsIt) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  SampleGroup sample = rows_of_doubles(comm);
  const std::int64_t arrays = sample.group.rows * 1000 * 8 * std::ssize(sample.group.arrays);
  io::ArrayFile file{io::Container::hdf5, "", {sample.group}, {}};
  file.create = hdf5_maker(std::make_shared<std::vector<std::int64_t>>());

  for (const std::int64_t beside : {16, 512, 4096}) {
    const FileSizeLimit limit(static_cast<rlim_t>(arrays + beside));
    EXPECT_THROW(io::write_array_file(comm, folder / "file", file, {}), core::Error) << beside;
    comm.barrier();
    EXPECT_EQ(entries_of(folder.path()), 0);
    comm.barrier();
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, FullDisk, testing::ValuesIn(cases()), name_of);

}  // namespace sidestream::test
