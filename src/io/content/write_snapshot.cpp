#include "sidestream/io/write_snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "io/content/chosen_species.hpp"
#include "io/content/file_content.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/io/format.hpp"

namespace sidestream::io {

namespace {

using CopiedLevels = std::vector<mesh::FieldView<const double>>;

// As the cells are stored, where they are, else as they are made; on all blocks of each level.
CopiedLevels copy_of(const mesh::Snapshot& snapshot, const std::string& name) {
  const mesh::Snapshot::Stored& stored = snapshot.stored(name);
  CopiedLevels levels;
  for (std::size_t level = 0; level < snapshot.levels.size(); ++level) {
    const auto copy = std::make_shared<mesh::Field<double>>(snapshot.blocks()[level], snapshot.rank);
    for (int b = 0; b < copy->blocks(); ++b) {
      const mesh::Box& box = copy->box(b);
      const core::View4<double> to = copy->view(b);
      if (stored.levels.empty())
        snapshot.write(name, static_cast<int>(level), box, to);
      else
        core::for_each_row(box, [&, from = stored.levels[level].view_on(box)](int k, int j) {
          std::copy_n(&from(stored.component, k, j, box.lo.x), box.extent().x, &to(k, j, box.lo.x));
        });
    }
    levels.emplace_back(copy);
  }
  return levels;
}

}  // namespace

AccessStatistics write_snapshot(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                                const FileChoice& choice, const std::string& path) {
  if (choice.options.files > 0 && !choice.format->follows("files"))
    throw core::Error(fmt::format("`files` has no effect in the format `{}`", choice.format->name), path,
                      "leave it out, or take another format");
  if (choice.kind == FileKind::checkpoint && choice.format->checkpoint && snapshot.has_particles() &&
      !choice.format->holds_particles)
    throw core::Error(fmt::format("a checkpoint has particles, which the format `{}` cannot hold", choice.format->name),
                      path, "take another format, such as \"sidestream\"");
  return choice.format->write(comm, path, content_of(comm, snapshot, choice), choice.options);
}

mesh::Snapshot copy_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const FileChoice& choice) {
  prepare(snapshot, choice);
  mesh::Snapshot copy = without_quantities(snapshot);
  for (const Variable& variable : variables_of(snapshot, choice)) {
    const std::string& name = variable.quantity->name;
    copy.add_stored(*variable.quantity, copy_of(snapshot, name), 0, snapshot.stored(name).factor);
  }
  for (mesh::Species& species : chosen_species(comm, snapshot, choice, snapshot.blocks())) {
    for (auto& level : species.stored)
      level = std::make_shared<const mesh::Particles>(sample_of(*level, species.numbers, choice.particle_share));
    copy.add_species(std::move(species));
  }
  return copy;
}

}  // namespace sidestream::io
