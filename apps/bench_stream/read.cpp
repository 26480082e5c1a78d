#include "read.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "plane.hpp"
#include "rows.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/stream_reader.hpp"

namespace sidestream::apps {

using nlohmann::json;

namespace {

/// One technique of the library at work.
class Reader {
 public:
  Reader(const comm::Communicator& world, const ReadOrder& order, const std::string& technique)
      : world_(world), technique_(technique), reader_(world, order.folder, options_of(order, technique)) {}

  const std::string& technique() const { return technique_; }
  const std::string& ending() const { return reader_.ending(); }
  void acknowledge() { reader_.acknowledge(); }

  /// Nothing at the end.
  std::optional<mesh::Snapshot> next(json& told) {
    std::optional<mesh::Snapshot> snapshot = reader_.next();
    if (!snapshot) return snapshot;
    const couple::ReaderCounts& counts = reader_.counts();
    const std::int64_t own_bytes = counts.bytes - std::exchange(bytes_, counts.bytes);
    const std::int64_t own_messages = counts.messages - std::exchange(messages_, counts.messages);
    told = {{"seconds", counts.transfer_s},
            {"redistribute_s", world_.max(counts.redistribute_s)},
            {"bytes", world_.sum(own_bytes)},
            {"most_bytes_a_rank", world_.max(own_bytes)},
            {"messages", world_.sum(own_messages)},
            {"most_messages_a_rank", world_.max(own_messages)},
            {"connections", world_.sum(counts.connections)},
            {"most_connections_a_rank", world_.max(counts.connections)},
            {"technique", counts.technique},
            {"is_right", world_.all(are_right(*snapshot))}};
    return snapshot;
  }

 private:
  static couple::ReaderOptions options_of(const ReadOrder& order, const std::string& technique) {
    couple::ReaderOptions options;
    options.demand.quantities = {"cells"};
    options.technique = couple::techniques().named(technique).technique;
    options.layout = &couple::reader_layouts().named(order.layout);
    options.keys = order.keys;
    options.patience_s = 60.0;
    return options;
  }

  const comm::Communicator& world_;
  std::string technique_;
  couple::StreamReader reader_;
  std::int64_t bytes_ = 0, messages_ = 0;
};

json rows_of(const comm::Communicator& world, RowReader& reader, std::int64_t step) {
  const double seconds = reader.read(step);
  bool is_right = true;
  for (int b = 0; b < reader.cells().blocks(); ++b)
    is_right = is_right && are_right(step, reader.cells().box(b), reader.cells().view(b));
  return {{"seconds", seconds},
          {"redistribute_s", 0.0},
          {"bytes", world.sum(reader.bytes())},
          {"most_bytes_a_rank", world.max(reader.bytes())},
          {"messages", world.sum(reader.messages())},
          {"most_messages_a_rank", world.max(reader.messages())},
          {"connections", world.sum(reader.connections())},
          {"most_connections_a_rank", world.max(reader.connections())},
          {"technique", rows_technique},
          {"is_right", world.all(is_right)}};
}

[[noreturn]] void wait_for_the_end() {
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

}  // namespace

json read(const comm::Communicator& world, const ReadOrder& order) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (const std::string& technique : order.techniques)
    if (technique != rows_technique) readers.push_back(std::make_unique<Reader>(world, order, technique));
  const bool takes_rows = readers.size() < order.techniques.size();
  std::optional<RowReader> rows;
  json steps = json::array();
  core::Stopwatch watch;
  std::vector<double> step_s;  // from the end of the one before
  for (std::size_t step = 0;; ++step) {
    json told;
    bool is_over = false;
    for (std::size_t turn = 0; turn < readers.size() && !is_over; ++turn) {  // none is always the first
      Reader& reader = *readers[(step + turn) % readers.size()];
      const std::optional<mesh::Snapshot> snapshot = reader.next(told[reader.technique()]);
      is_over = !snapshot;
      if (is_over || !takes_rows || turn + 1 < readers.size()) continue;
      if (!rows) rows.emplace(world, order.folder, snapshot->levels.front());
      told[rows_technique] = rows_of(world, *rows, snapshot->moment.step);
    }
    if (is_over) break;
    if (order.stalls) wait_for_the_end();
    for (const std::unique_ptr<Reader>& reader : readers) reader->acknowledge();
    step_s.push_back(watch.seconds());
    watch.restart();
    steps.push_back(told);
  }
  return {{"ranks", world.size()},
          {"layout", order.layout},
          {"step_s", step_s},
          {"steps", steps},
          {"ending", readers.front()->ending()}};
}

}  // namespace sidestream::apps
