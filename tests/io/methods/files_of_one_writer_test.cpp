// Formats of many files, each of one writer, where the file system has stripes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "io/methods/pretended_lustre.hpp"
#include "io/temporary_folder.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/write_snapshot.hpp"
#include "support/file_state.hpp"
#include "support/sample_content.hpp"

namespace sidestream::test {

namespace {

class FilesOfOneWriter : public testing::TestWithParam<const char*> {
 protected:
  void write() {
    FileState file = sample_.content(true);
    file.choice.format = &io::formats().named(GetParam());
    io::write_snapshot(comm_, file.snapshot(), file.choice, folder_ / "file");
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  TemporaryFolder folder_{comm_}, tools_{comm_};
  SampleContent sample_{comm_.rank(), comm_.size()};
};

}  // namespace

TEST_P(FilesOfOneWriter, HaveAStripeEach) {
  const FakeLfs lfs(comm_, tools_.path());
  const PretendedLustre lustre;

  write();

  if (comm_.rank() == 0) {
    const std::vector<std::string> orders = lfs.orders();
    ASSERT_EQ(orders.size(), 1u) << "of the folder of them all, before they are made";
    EXPECT_THAT(orders.front(), testing::StartsWith("setstripe -c 1 " + folder_.path()));
  }
  comm_.barrier();
}

TEST_P(FilesOfOneWriter, HaveNobodyAskedElsewhere) {
  const FakeLfs lfs(comm_, tools_.path());

  write();

  EXPECT_THAT(lfs.orders(), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Formats, FilesOfOneWriter, testing::Values("files", "nyx"));

}  // namespace sidestream::test
