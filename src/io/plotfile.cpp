#include "sidestream/io/plotfile.hpp"

#include "named_entry.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/nyx_plotfile.hpp"

namespace sidestream::io {

void write_nyx_plotfile(const comm::Communicator& comm, const std::string& path, const PlotfileContent& content) {
  FileContent all;
  all.step = content.step;
  all.time = content.time;
  all.scale_factor = content.scale_factor;
  all.omega_m = content.omega_m;
  all.omega_lambda = content.omega_lambda;
  all.hubble = content.hubble;
  all.geometry = content.geometry;
  for (const mesh::Field<double>* level : content.fields.front().levels) all.levels.push_back(level->layout());
  for (const PlotfileField& field : content.fields)
    all.fields.push_back({field.name, "", field.levels, field.component, field.factor});
  all.particles = content.particles;
  for (const PlotfileParticleReal& real : content.particle_reals)
    all.particle_reals.push_back({real.name, "", real.levels, real.factor});
  all.precision = content.precision;
  all.particle_precision = content.particle_precision;
  WriteOptions options;
  options.files = content.files;
  format("nyx").write(comm, path, all, options);
}

std::span<const PlotfileFormat> plotfile_formats() {
  static const std::vector<PlotfileFormat> formats = {
      {"nyx", "a folder as Nyx writes it, read by yt, ParaView and VisIt", write_nyx_plotfile},
  };
  return formats;
}

const PlotfileFormat& plotfile_format(std::string_view name) {
  return entry_named(plotfile_formats(), name, "format of plot files");
}

}  // namespace sidestream::io
