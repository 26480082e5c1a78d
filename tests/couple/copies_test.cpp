// How often a number is written on its way from the simulation to the analysis. A cell: by the kernel, and by MPI if it
// goes to another node. This is counted: cells that kernels have filled and bytes that MPI was given. That there is
// no other copy in between is seen by where everything lies, and by the memory that was taken.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <set>

#include "couple/session_fixture.hpp"
#include "couple/watched_traffic.hpp"
#include "sidestream/comm/shared_memory.hpp"

namespace sidestream::couple {
namespace {

using test::Memory;

constexpr std::int32_t cells_of_side = 32, block = 16;
constexpr std::size_t block_bytes = std::size_t{block} * block * block * sizeof(double);
constexpr std::int64_t bytes_of_field = std::int64_t{8} * block_bytes;

bool is_within(Memory part, const std::vector<Memory>& whole) {
  return std::ranges::any_of(whole, [&](Memory one) {
    return one.data() <= part.data() && part.data() + part.size() <= one.data() + one.size();
  });
}

bool meet(Memory a, Memory b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

std::int64_t bytes_of(const std::vector<Memory>& all) {
  std::int64_t bytes = 0;
  for (const Memory one : all) bytes += static_cast<std::int64_t>(one.size());
  return bytes;
}

template <typename View>
Memory memory_of(const View& cells, const mesh::Box& box) {
  const mesh::Int3 last = {box.hi.x - 1, box.hi.y - 1, box.hi.z - 1};
  const auto* const first = reinterpret_cast<const std::byte*>(&cells(box.lo.z, box.lo.y, box.lo.x));
  return {first, reinterpret_cast<const std::byte*>(&cells(last.z, last.y, last.x) + 1)};
}

// The numbers of the files without a name that hold memory lent between processes, of which `all` are a part; none for
// other memory.
std::set<std::int64_t> lent_files_of(const std::vector<Memory>& all) {
  std::set<std::int64_t> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0, end = 0;
    std::int64_t number = 0;
    if (line.find("/memfd:sidestream") == std::string::npos ||
        std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %" SCNd64, &begin, &end, &number) != 3)
      continue;
    const Memory mapped(reinterpret_cast<const std::byte*>(begin), static_cast<std::size_t>(end - begin));
    for (const Memory one : all)
      if (is_within(one, {mapped})) found.insert(number);
  }
  return found;
}

// Notes where what it analyses lies.
class Onlooker : public analysis::Analysis {
 public:
  std::vector<std::string> fields() const override { return {"computed", "stored"}; }
  mesh::Result run(const comm::Communicator&, const mesh::Snapshot& snapshot) const override {
    for (const std::string& name : fields()) {
      const mesh::FieldView<const double> field = snapshot.field(name);
      for (int b = 0; b < field.blocks(); ++b) seen_[name].push_back(memory_of(field.view(b), field.box(b)));
      lent_files_.merge(lent_files_of(seen_[name]));
    }
    return {};
  }
  const std::vector<Memory>& seen(const std::string& name) const { return seen_[name]; }
  const std::set<std::int64_t>& lent_files() const { return lent_files_; }

 private:
  mutable std::set<std::int64_t> lent_files_;
  mutable std::map<std::string, std::vector<Memory>> seen_;
};

class Copies : public SessionTest {
 protected:
  /// One publish of a quantity that a kernel computes and of one that lies in memory.
  void publish_one(const std::string& transport, int sidecars) {
    watched_ = std::make_shared<Onlooker>();
    filled_.clear();
    lent_files_.clear();
    Session session = start(config_of({task_of(transport, watched_, transport)}, sidecars));
    if (!session.computes()) return serve(session);
    const comm::Communicator& group = session.compute_group();
    const mesh::Layout layout = mesh::Forest({cells_of_side, cells_of_side, cells_of_side}, block).layout(group.size());
    stored_ = std::make_shared<const mesh::Field<double>>(test::field_of_global_index(layout, group.rank()));
    mesh::Snapshot snapshot;
    snapshot.geometry = {layout.domain(), {1.0, 1.0, 1.0}, {true, true, true}};
    snapshot.levels = {layout};
    snapshot.rank = group.rank();
    snapshot.add({"stored", "1"}, [this](int) { return stored_; });
    snapshot.add_computed({"computed", "1"}, [this](int, const mesh::Box& box, const core::View4<double>& out) {
      filled_.push_back(memory_of(out, box));
      core::for_each_cell(box, [=](int k, int j, int i) { out(k, j, i) = k + j + i; });
    });
    test::watch_traffic(block_bytes);
    session.publish(snapshot);
    lent_files_ = lent_files_of(filled_);
    session.finish();
  }

  /// Of all ranks together.
  std::set<std::int64_t> together(const std::set<std::int64_t>& numbers) const {
    const std::vector<std::int64_t> own(numbers.begin(), numbers.end());
    const std::vector<std::int64_t> all = world_.all_gather(std::span(own));
    return {all.begin(), all.end()};
  }

  // Two fields in one buffer, which may be a sixteenth larger, and no block besides.
  static void expect_one_buffer(std::int64_t bytes_of_fields, std::int64_t bytes_taken) {
    EXPECT_GE(bytes_taken, bytes_of_fields);
    EXPECT_LT(bytes_taken, bytes_of_fields + bytes_of_fields / 16 + std::int64_t{block_bytes});
  }

  std::shared_ptr<Onlooker> watched_;
  std::shared_ptr<const mesh::Field<double>> stored_;
  std::vector<Memory> filled_;  // by the kernel, in the order of its calls
  std::set<std::int64_t> lent_files_;

 private:
  void serve(Session& session) {
    test::watch_traffic(block_bytes);
    session.serve();
  }
};

TEST_F(Copies, ACellIsWrittenOnceForAThread) {
  publish_one("async", 0);

  const test::Traffic traffic = test::seen_traffic();
  EXPECT_EQ(bytes_of(traffic.sent), 0);
  EXPECT_EQ(world_.sum(bytes_of(filled_)), bytes_of_field);
  EXPECT_TRUE(std::ranges::equal(watched_->seen("computed"), filled_, {}, &Memory::data, &Memory::data));
  EXPECT_EQ(world_.sum(bytes_of(watched_->seen("stored"))), bytes_of_field);
  for (const Memory seen : watched_->seen("stored"))
    for (int b = 0; b < stored_->blocks(); ++b)
      EXPECT_FALSE(meet(seen, memory_of(stored_->view(b), stored_->box(b)))) << "the simulation may change it";
  expect_one_buffer(2 * bytes_of(filled_), traffic.bytes_taken);
}

TEST_F(Copies, ACellIsWrittenOnceForASidecarOfTheSameNode) {
  for (int sidecars = 1; sidecars < world_.size(); ++sidecars) {
    publish_one("in-transit", sidecars);

    const test::Traffic traffic = test::seen_traffic();
    for (const Memory note : traffic.sent) EXPECT_EQ(note.size(), sizeof(comm::SharedMemory::Address));
    EXPECT_EQ(world_.sum(bytes_of(filled_)), bytes_of_field);
    EXPECT_EQ(traffic.bytes_taken, 0);
    for (const char* const name : {"computed", "stored"})
      EXPECT_EQ(world_.sum(bytes_of(watched_->seen(name))), bytes_of_field);
    EXPECT_FALSE(together(lent_files_).empty());
    EXPECT_EQ(together(lent_files_), together(watched_->lent_files())) << "read where it was written";
  }
}

TEST_F(Copies, ToASidecarOfAnotherNodeACellIsSentToThatOfTheSameItIsNot) {
  if (world_.size() < 3) return;
  test::pretend_nodes(2);
  publish_one("in-transit", 1);

  std::int64_t sent = 0;
  for (const Memory message : test::seen_traffic().sent)
    if (message.size() > sizeof(comm::SharedMemory::Address)) sent += static_cast<std::int64_t>(message.size());
  const bool is_apart = world_.rank() / 2 != (world_.size() - 1) / 2;
  EXPECT_EQ(sent, is_apart ? 2 * bytes_of(filled_) : 0);
  EXPECT_EQ(lent_files_.empty(), is_apart || filled_.empty());
  const std::int64_t sent_by_all = world_.sum(sent);
  if (world_.rank() != 0) return;
  const nlohmann::json event = events("sidecar", "receive").at(0);
  EXPECT_EQ(event.at("bytes"), 2 * bytes_of_field);
  EXPECT_EQ(event.at("bytes_in_place"), 2 * bytes_of_field - sent_by_all);
}

TEST_F(Copies, ACellIsWrittenTwiceForASidecarOfAnotherNode) {
  for (int sidecars = 1; sidecars < world_.size(); ++sidecars) {
    test::pretend_nodes(1);
    publish_one("in-transit", sidecars);

    const test::Traffic traffic = test::seen_traffic();
    EXPECT_EQ(world_.sum(bytes_of(filled_)), bytes_of_field);
    EXPECT_EQ(world_.sum(bytes_of(traffic.sent)), 2 * bytes_of_field);
    EXPECT_EQ(world_.sum(bytes_of(traffic.asked_for)), 2 * bytes_of_field);
    for (const Memory filled : filled_) EXPECT_TRUE(is_within(filled, traffic.sent));
    for (const char* const name : {"computed", "stored"}) {
      EXPECT_EQ(world_.sum(bytes_of(watched_->seen(name))), bytes_of_field);
      for (const Memory seen : watched_->seen(name)) EXPECT_TRUE(is_within(seen, traffic.asked_for));
    }
    expect_one_buffer(bytes_of(traffic.sent) + bytes_of(traffic.asked_for), traffic.bytes_taken);
  }
}

}  // namespace
}  // namespace sidestream::couple
