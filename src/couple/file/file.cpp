#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "couple/direct_transport.hpp"
#include "couple/entries.hpp"
#include "couple/file/stored_tasks.hpp"
#include "couple/surroundings.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/write_snapshot.hpp"

namespace sidestream::couple {

namespace {

/// Stores what the tasks read, for `analyse_stored`: one file a moment for all of them.
class File : public DirectTransport {
 public:
  explicit File(Surroundings& around) : around_(around), comm_(around.roles.group().duplicate()) {}

  Orders publish(const mesh::Snapshot& snapshot, const Orders& orders) override {
    if (orders.empty()) return {};
    publish_begins();
    const core::Stopwatch watch;
    const core::Bill::Part part = around_.bill.part("storing snapshots", "tasks");
    const std::string path = around_.folder.snapshot(snapshot.moment.step, grid_of(orders));
    io::AccessStatistics statistics;
    std::string problem;
    try {
      statistics = store(snapshot, orders, path);
    } catch (const std::exception& error) {
      problem = error.what();
    }
    book(snapshot.moment, orders, watch.seconds());
    if (problem.empty()) {
      const auto relative = std::filesystem::path(path).lexically_relative(around_.folder.path()).string();
      around_.log.write("snapshot", {{"step", snapshot.moment.step},
                                     {"path", relative},
                                     {"write_s", watch.seconds()},
                                     {"io", io::to_json(io::total(comm_, statistics))}});
    } else {
      for (const Order& order : orders)
        around_.runner.report_unwritten(around_.config.tasks[order.task], snapshot.moment.step,
                                        "the snapshot was not stored: " + problem, around_.books.of(order.task));
    }
    publish_is_done(!problem.empty());
    return {};
  }

 private:
  io::AccessStatistics store(const mesh::Snapshot& snapshot, const Orders& orders, const std::string& path) {
    std::vector<std::string> tasks, quantities, species;
    for (const Order& order : orders) {
      const Task& task = around_.config.tasks[order.task];
      tasks.push_back(task.name);
      for (const std::string& name : species_to_send(task, mesh::names_of(snapshot.species())))
        if (std::ranges::find(species, name) == species.end()) species.push_back(name);
      for (const std::string& field : fields_to_send(task, snapshot.quantities()))
        if (std::ranges::find(quantities, field) == quantities.end()) quantities.push_back(field);
    }
    comm_.agree_on([&] {
      if (comm_.rank() == 0) io::make_lasting_folder(std::filesystem::path(path).parent_path().string());
    });
    std::map<std::string, std::string> texts{{stored_tasks_text, nlohmann::json(tasks).dump()}};
    if (const std::string& grid = grid_of(orders); !grid.empty()) texts[io::grid_text] = grid;
    return io::write_snapshot(comm_, snapshot,
                              {.format = &io::formats().named("raw"),
                               .kind = io::FileKind::stored_snapshot,
                               .quantities = quantities,
                               .species = species,
                               .particle_share = species.empty() ? 0.0 : 1.0,
                               .compression = around_.config.compression,
                               .texts = texts},
                              path);
  }

  // Orders of one publish are on one grid.
  const std::string& grid_of(const Orders& orders) const { return around_.config.tasks[orders.front().task].grid; }

  // The time is lost to all tasks alike.
  void book(const mesh::Moment& moment, const Orders& orders, double seconds) {
    for (Order order : orders) {
      order.charge.wait_s = seconds / static_cast<double>(orders.size());
      around_.books.enter(Books::Action::stored, order, moment);
    }
  }

  Surroundings& around_;
  comm::Communicator comm_;
};

}  // namespace

TransportEntry file() {
  return {"file", "later: what it reads is stored, and `sidestream analyze` does it",
          [](Surroundings& around) { return std::make_unique<File>(around); }};
}

}  // namespace sidestream::couple
