#include <optional>

#include "io/formats/flash/flash_format.hpp"

#include "io/formats/flash/flash_header.hpp"
#include "io/formats/flash/flash_names.hpp"

namespace sidestream::io {

namespace {

ArrayGroup in_netcdf_words(ArrayGroup group) {
  for (Array& array : group.arrays) array.name = flash_netcdf_name(array.name);
  group.checksums = flash_netcdf_name(group.checksums);
  return group;
}

}  // namespace

AccessStatistics write_flash(const comm::Communicator& comm, const std::string& path, const FileContent& content,
                             const WriteOptions& options, FlashKind kind) {
  comm.agree_on([&] { check_flash_blocks(content); });
  const FlashContent flash = in_flash_units(content);
  const bool is_netcdf = kind.container == Container::netcdf;
  const ByteOrder order = is_netcdf ? ByteOrder::big : ByteOrder::little;
  FlashHeader header{flash.content, flash.metadata, !content.particles.levels.empty(), {}};
  ArrayFile file;
  file.container = kind.container;
  file.record = is_netcdf ? flash_netcdf_name(flash_record) : flash_record;
  const auto add = [&](ArrayGroup group) {
    file.groups.push_back(is_netcdf ? in_netcdf_words(std::move(group)) : std::move(group));
  };
  if (!content.fields().empty()) add(flash_cells(flash.content, comm.rank(), kind.layout, order));
  std::optional<FlashParticles> particles;
  if (header.has_particles) {
    particles.emplace(comm, flash);
    header.particles_of_blocks = particles->of_blocks();
    // An axis without length is an unlimited one in netCDF.
    if (particles->total() > 0 || !is_netcdf) {
      add(particles->properties(order));
      add(particles->ids(order));
    }
  }
  file.create = [&](const std::string& at, std::span<const Array> arrays, std::span<const std::int64_t> rows) {
    return is_netcdf ? create_flash_netcdf(at, header, arrays, rows) : create_flash_hdf5(at, header, arrays, rows);
  };
  return write_array_file(comm, path, file, options);
}

}  // namespace sidestream::io
