// How often a number is written on its way from the simulation to the analysis. A cell: by the kernel, and by MPI if it
// goes to another process. This is counted: cells that kernels have filled and bytes that MPI was given. That there is
// no other copy in between is seen by where everything lies, and by the memory that was taken.
#include <algorithm>
#include <mutex>

#include "couple/session_fixture.hpp"
#include "couple/watched_traffic.hpp"

namespace sidestream::couple {
namespace {

using test::Memory;

constexpr std::int32_t cells_of_side = 32, block = 16;
constexpr std::size_t block_bytes = std::size_t{block} * block * block * sizeof(double);
constexpr std::int64_t bytes_of_field = std::int64_t{8} * block_bytes, steps = 3;

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

// Notes where what it analyses lies.
class Onlooker : public analysis::Analysis {
 public:
  std::vector<std::string> fields() const override { return {"computed", "stored"}; }
  mesh::Result run(const comm::Communicator&, const mesh::Snapshot& snapshot) const override {
    for (const std::string& name : fields()) {
      const mesh::FieldView<const double> field = snapshot.field(name);
      for (int b = 0; b < field.blocks(); ++b) seen_[name].push_back(memory_of(field.view(b), field.box(b)));
    }
    return {};
  }
  const std::vector<Memory>& seen(const std::string& name) const { return seen_[name]; }

 private:
  mutable std::map<std::string, std::vector<Memory>> seen_;
};

class Copies : public SessionTest {
 protected:
  /// One publish of a quantity that a kernel computes and of one that lies in memory.
  void publish_one(const std::string& transport, int sidecars) {
    watched_ = std::make_shared<Onlooker>();
    filled_.clear();
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
    session.finish();
  }

  // Two fields in one buffer, which may be a sixteenth larger, and no block besides.
  static void expect_one_buffer(std::int64_t bytes_of_fields, std::int64_t bytes_taken) {
    EXPECT_GE(bytes_taken, bytes_of_fields);
    EXPECT_LT(bytes_taken, bytes_of_fields + bytes_of_fields / 16 + std::int64_t{block_bytes});
  }

  std::shared_ptr<Onlooker> watched_;
  std::shared_ptr<const mesh::Field<double>> stored_;
  std::vector<Memory> filled_;  // by the kernel, in the order of its calls

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

TEST_F(Copies, ACellIsWrittenTwiceForASidecar) {
  for (int sidecars = 1; sidecars < world_.size(); ++sidecars) {
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
