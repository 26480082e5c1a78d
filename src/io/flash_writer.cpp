#include "flash_format.hpp"
#include "flash_hdf5.hpp"

namespace sidestream::io {

AccessStatistics write_flash(const comm::Communicator& comm, const std::string& path, const FileContent& content,
                             const WriteOptions& options, FlashKind kind) {
  comm.agree_on([&] {
    check(content);
    check_flash_blocks(content);
  });
  const FlashContent flash = in_flash_units(content);
  const ByteOrder order = kind.container == Container::netcdf ? ByteOrder::big : ByteOrder::little;
  ArrayFile file;
  file.container = kind.container;
  FlashHeader header{flash.content, flash.metadata, !content.particles.empty(), {}};
  if (!content.fields.empty()) file.groups.push_back(flash_cells(flash.content, comm.rank(), kind.layout, order));
  std::optional<FlashParticles> particles;
  if (header.has_particles) {
    particles.emplace(comm, flash);
    header.particles_of_blocks = particles->of_blocks();
    file.groups.push_back(particles->properties(order));
    file.groups.push_back(particles->ids(order));
  }
  file.create = [&](const std::string& at, std::span<const Array> arrays, std::span<const std::int64_t> rows) {
    return create_flash_hdf5(at, header, arrays, rows);
  };
  return write_array_file(comm, path, file, options);
}

}  // namespace sidestream::io
