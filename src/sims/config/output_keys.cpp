#include "sims/config/output_keys.hpp"

#include <functional>

#include "sidestream/io/write_snapshot.hpp"
#include "sims/config/stripe_options.hpp"

namespace sidestream::sims {

namespace {

// How the file reaches the disk.
void add_ways(core::Table<OutputKeys>& table) {
  const io::WriteOptions standard;
  std::vector<std::string> methods = io::write_methods().names();
  methods.insert(methods.begin(), "automatic");
  table.option("method", &OutputKeys::method, "automatic")
      .one_of(methods)
      .doc("how the data reach the disk, in formats that leave a choice");
  table.option("aggregators", &OutputKeys::aggregators, standard.aggregators)
      .at_least(0)
      .doc("ranks that write in aggregated methods; 0: chosen");
  add_stripe_options(table, &OutputKeys::stripes, &OutputKeys::stripe_bytes);
  table.option("files", &OutputKeys::files, standard.files)
      .at_least(0)
      .doc(
          "in formats of many files: so many are written at the same time, 0: 128; in those of one HDF5 file: so many "
          "parts of it, at most one a rank");
  table.option("ranks_per_file", &OutputKeys::ranks_per_file, standard.ranks_per_file)
      .at_least(0)
      .doc("in the format `files`: so many write to a data file, in turn; 0: a row of a square of them");
  table.option("transport", &OutputKeys::transport, "in-situ")
      .one_of({"in-situ", carried_by})
      .doc("who writes it: in-situ: the ranks that compute; in-transit: sidecars, while the simulation goes on");
  table.option("stage", &OutputKeys::stage, "")
      .doc(
          "folder on a disk of each node, such as \"/local\" or \"$TMPDIR\", where the file is written first, with a "
          "copy on another node, and from there behind the running simulation; empty: none");
  table.option("asynchronous", &OutputKeys::is_asynchronous, false).doc("write a copy behind the running simulation");
  table.option("on_failure", &OutputKeys::on_failure, "continue")
      .one_of({"continue", "stop"})
      .doc("what the run does when the file cannot be written");
}

void add_field_keys(core::Table<OutputKeys>& table, bool is_single) {
  table.option("precision", &OutputKeys::precision, is_single ? "single" : "double")
      .one_of({"double", "single"})
      .doc("of the fields");
  table
      .parsed("compress", &OutputKeys::compression, core::Compression(),
              std::function<core::Compression(const core::Node&)>(core::read_compression))
      .doc(
          "\"zstd\", without loss; \"zfp 1e-3\", no cell off by more, in the unit of the quantity, or \"zfp 1e-3 "
          "relative\" to its largest magnitude; or a table { QUANTITY = ..., \"*\" = ... }");
}

void add_particle_keys(core::Table<OutputKeys>& table) {
  table.option("species", &OutputKeys::species, {}).doc("species of particles to write; empty: all");
  table.option("particle_share", &OutputKeys::particle_share, 1.0)
      .range(0.0, 1.0)
      .doc("so many of the particles, always the same ones; 0: none");
  table.option("particle_numbers", &OutputKeys::particle_numbers, {})
      .doc("what to write of them beside id and position; empty: all there is");
  table.option("particle_precision", &OutputKeys::particle_precision, "single")
      .one_of({"double", "single"})
      .doc("of their positions and numbers");
}

}  // namespace

std::vector<std::string> formats_for(const OutputKind& kind) {
  std::vector<std::string> names;
  for (const io::Format& format : io::formats())
    if (kind.fits(format)) names.push_back(format.name);
  return names;
}

core::Table<OutputKeys> output_table(const OutputKind& kind, const couple::TimeKeeping& times, io::Precision precision,
                                     const std::string& checkpoint_format) {
  const bool is_plotfile = kind.has_fields && !kind.is_checkpoint;
  core::Table<OutputKeys> table("When and how a kind of file is written");
  table.option("format", &OutputKeys::format, is_plotfile ? "nyx" : checkpoint_format)
      .one_of(formats_for(kind))
      .doc("format of the file");
  couple::add_trigger_options(table, times);
  add_ways(table);
  if (kind.has_fields) add_field_keys(table, kind.is_checkpoint && precision == io::Precision::single_precision);
  if (kind.is_checkpoint) {
    table.option("keep", &OutputKeys::keep, 2).at_least(0).doc("newest checkpoints that stay; 0: all");
    table.option("state", &OutputKeys::grid, "").doc("form of the state that is written; empty: to the bit");
    return table;
  }
  if (is_plotfile) {
    table.option("grid", &OutputKeys::grid, "")
        .doc("grid of the simulation that is written; empty: the one of its state");
    table.option("variables", &OutputKeys::variables, {})
        .doc("quantities to write; empty: what readers of the format look for, or all where there is none of it");
  }
  add_particle_keys(table);
  return table;
}

}  // namespace sidestream::sims
