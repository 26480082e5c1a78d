// Faults at every call of a checkpoint, in every format that can be one, by our own methods: every rank hears of an
// error, the earlier generation stays as it was, and nothing with a final name is incomplete.
#include <algorithm>

#include "refined_content.hpp"
#include "sweep.hpp"

namespace sidestream {
namespace {

struct Case {
  std::string format, method;
  int files = 0;  // parts; 0: one file
};

// Where not all calls are tried: of formats that one writer makes, the first stands for the others; those of many files
// have one method each.
bool is_for_another(const Case& other) {
  const auto& [format, method, files] = other;
  return !test::tries_all() &&
         (format == "flash" || format == "flash-5d" || format == "flash-netcdf-5d" ||
          (format == "enzo" && method == "aggregated") || (format == "enzo-hdf5" && method == "engine"));
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const io::Format& format : io::formats()) {
    if (!format.checkpoint) continue;
    if (format.methods.empty()) all.push_back({format.name, ""});
    for (const char* own : {"engine", "aggregated"})
      if (std::ranges::find(format.methods, own) != format.methods.end()) all.push_back({format.name, own});
  }
  std::erase_if(all, is_for_another);
  all.push_back({"sidestream", "engine", 2});
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.format + "_" + info.param.method;
  if (info.param.files > 0) name += "_in_parts";
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class CheckpointFaultsTest : public testing::TestWithParam<Case> {
 protected:
  std::string path(int generation) const { return folder_ / format_.checkpoint->of(generation); }
  const test::RefinedContent& content(int generation) const { return generation == 1 ? first_ : second_; }
  test::Sweep sweep() {
    io::WriteOptions options;
    options.method = GetParam().method;
    options.files = GetParam().files;
    return {comm_,
            folder_,
            {[this](int generation) { return path(generation); },
             [this, options](int generation) {
               test::write(comm_, format_, path(generation), content(generation).content(), options);
             },
             [this](int generation) { return content(generation).is_in(path(generation)); }},
            comm_.size() > 1 || format_.name.starts_with("enzo") ? 2 : 3};
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
  const io::Format& format_ = io::formats().named(GetParam().format);
  test::RefinedContent first_{comm_, 1}, second_{comm_, 2};
};

TEST_P(CheckpointFaultsTest, AFullDiskAtAnyCallLosesNothing) {
  sweep().expect_no_loss_by("enospc");
}

TEST_P(CheckpointFaultsTest, ADiskThatStaysFullLosesNothing) {
  sweep().expect_no_loss_by_lasting("enospc");
}

TEST_P(CheckpointFaultsTest, AnErrorOfTheDiskAtAnyCallLosesNothing) {
  sweep().expect_no_loss_by("eio");
}

TEST_P(CheckpointFaultsTest, AFullDiskThatIsToldByAnFsyncLosesNothing) {
  sweep().expect_no_loss_by("enospc", "sync");
}

TEST_P(CheckpointFaultsTest, AFullDiskThatIsToldByACloseLosesNothing) {
  sweep().expect_no_loss_by("enospc", "close");
}

TEST_P(CheckpointFaultsTest, AnErrorOfTheDiskThatIsToldByAnFsyncLosesNothing) {
  sweep().expect_no_loss_by("eio", "sync");
}

TEST_P(CheckpointFaultsTest, ShortWritesAreCompleted) {
  sweep().expect_no_harm_by("short", "write");
}

TEST_P(CheckpointFaultsTest, CallsThatSignalsInterruptAreMadeAgain) {
  test::Sweep sweep = this->sweep();

  for (const char* calls : {"open,close", "reserve,write,truncate", "sync"}) sweep.expect_no_harm_by("eintr", calls);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CheckpointFaultsTest);
INSTANTIATE_TEST_SUITE_P(Formats, CheckpointFaultsTest, testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace sidestream
