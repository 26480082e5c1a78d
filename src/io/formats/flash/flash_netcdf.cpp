// FLASH files in CDF-5, with the names of FLASH's PnetCDF output.
#include <fmt/format.h>

#include <map>

#include "io/containers/netcdf/netcdf_handle.hpp"
#include "io/disk/commit_record.hpp"
#include "io/formats/flash/flash_header.hpp"
#include "io/formats/flash/flash_names.hpp"
#include "io/formats/flash/flash_rows.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

// A variable that is written by whoever makes the file.
struct Table {
  int variable;
  const std::vector<std::int32_t>* integers;
  const std::vector<double>* reals;
};

class FlashNetcdfMaker {
 public:
  FlashNetcdfMaker(const std::string& path, const FlashHeader& header)
      : header_(header), tables_(flash_tables(header.content, header.particles_of_blocks)), file_(path) {}

  std::vector<std::int64_t> make(std::span<const Array> arrays, std::span<const std::int64_t> rows) {
    std::vector<int> variables{define(arrays[0].name, NC_INT64, {dimension("dim_record", rows[0])})};
    put_attributes();
    define_tables();
    for (std::size_t a = 1; a < arrays.size(); ++a) variables.push_back(define_array(arrays[a], rows[a]));
    end_definitions();
    for (const Table& table : written_) put(table);
    std::vector<std::int64_t> offsets;
    for (const int variable : variables) {
      MPI_Offset offset = 0;
      file_.check(ncmpi_inq_varoffset(file_.id(), variable, &offset), "ncmpi_inq_varoffset");
      offsets.push_back(offset);
    }
    file_.close();
    return offsets;
  }

 private:
  // Leaves as much room behind the header as brings the first variable, the record, to where it is looked for.
  void end_definitions() const {
    constexpr MPI_Offset alignment = 8;
    MPI_Offset header = 0;
    file_.check(ncmpi_enddef(file_.id()), "ncmpi_enddef");
    file_.check(ncmpi_inq_header_size(file_.id(), &header), "ncmpi_inq_header_size");
    file_.check(ncmpi_redef(file_.id()), "ncmpi_redef");
    file_.check(ncmpi__enddef(file_.id(), record_place(header) - header, alignment, 0, alignment), "ncmpi__enddef");
  }

  void put_text(int variable, const std::string& name, const std::string& text) const {
    file_.check(
        ncmpi_put_att_text(file_.id(), variable, name.c_str(), static_cast<MPI_Offset>(text.size()), text.data()),
        "ncmpi_put_att_text", name);
  }
  void put_number(int variable, const std::string& name, std::int32_t value) const {
    file_.check(ncmpi_put_att_int(file_.id(), variable, name.c_str(), NC_INT, 1, &value), "ncmpi_put_att_int", name);
  }
  void put_number(int variable, const std::string& name, double value) const {
    file_.check(ncmpi_put_att_double(file_.id(), variable, name.c_str(), NC_DOUBLE, 1, &value), "ncmpi_put_att_double",
                name);
  }

  // Scalars and runtime parameters are attributes of two variables that hold nothing else.
  void put_attributes() {
    put_text(NC_GLOBAL, "sidestream", header_.metadata);
    put_text(NC_GLOBAL, "flash_version", "Sidestream " SIDESTREAM_VERSION);
    put_number(NC_GLOBAL, "file_format_version", 9);
    int number = 0;
    for (const std::string& name : flash_variables(header_.content))
      put_text(NC_GLOBAL, fmt::format("unknown_{}", number++), name);
    number = 0;
    if (header_.has_particles)
      for (const std::string& name : flash_particle_properties(header_.content))
        put_text(NC_GLOBAL, fmt::format("particle_props_name_{}", number++), name);
    const int scalars = define("scalars", NC_INT, {}), parameters = define("runtime_parameters", NC_INT, {});
    for (const auto& [name, value] : tables_.integer_scalars) put_number(scalars, name, value);
    for (const auto& [name, value] : tables_.real_scalars) put_number(scalars, name, value);
    for (const auto& [name, value] : tables_.integer_parameters) put_number(parameters, name, value);
    for (const auto& [name, value] : tables_.logical_parameters) put_number(parameters, name, value);
    for (const auto& [name, value] : tables_.real_parameters) put_number(parameters, name, value);
    for (const auto& [name, value] : tables_.string_parameters) put_text(parameters, name, value);
  }

  int dimension(const std::string& name, std::int64_t length) {
    if (const auto found = dimensions_.find(name); found != dimensions_.end()) return found->second;
    int id = -1;
    file_.check(ncmpi_def_dim(file_.id(), name.c_str(), length, &id), "ncmpi_def_dim", name);
    return dimensions_[name] = id;
  }
  int define(const std::string& name, nc_type type, const std::vector<int>& axes) const {
    int id = -1;
    file_.check(ncmpi_def_var(file_.id(), name.c_str(), type, static_cast<int>(axes.size()), axes.data(), &id),
                "ncmpi_def_var", name);
    return id;
  }
  void define_table(const std::string& name, std::vector<int> axes, const std::vector<std::int32_t>* integers,
                    const std::vector<double>* reals) {
    axes.insert(axes.begin(), dimension("dim_tot_blocks", tables_.blocks));
    const int id = define(flash_netcdf_name(name), integers != nullptr ? NC_INT : NC_DOUBLE, axes);
    written_.push_back({id, integers, reals});
  }

  void define_tables() {
    const int axes = dimension("dim_MDIM", 3), two = dimension("dim_2", 2);
    define_table("refine level", {}, &tables_.refine_level, nullptr);
    define_table("node type", {}, &tables_.node_type, nullptr);
    define_table("gid", {dimension("dim_NGID", tables_.gid_width)}, &tables_.gid, nullptr);
    define_table("processor number", {}, &tables_.processor, nullptr);
    define_table("coordinates", {axes}, nullptr, &tables_.coordinates);
    define_table("block size", {axes}, nullptr, &tables_.block_size);
    define_table("bounding box", {axes, two}, nullptr, &tables_.bounding_box);
    if (header_.has_particles) define_table("localnp", {}, &tables_.particles_of_blocks, nullptr);
  }

  int define_array(const Array& array, std::int64_t rows) {
    const bool is_of_particles = array.name == "particles" || array.name == "particle_ids";
    std::vector<int> axes{is_of_particles ? dimension("dim_particles", rows)
                                          : dimension("dim_tot_blocks", tables_.blocks)};
    const std::vector<std::int64_t>& shape = array.row_shape;
    if (shape.size() == 1)
      axes.push_back(is_of_particles ? dimension("dim_npart_props", shape[0])
                                     : dimension("dim_" + array.name, shape[0]));
    if (shape.size() == 4) axes.push_back(dimension("dim_nvar", shape[0]));
    if (shape.size() >= 3)
      for (std::size_t axis = 0; axis < 3; ++axis)
        axes.push_back(dimension(fmt::format("dim_n{}b", "zyx"[axis]), shape[shape.size() - 3 + axis]));
    return define(array.name, netcdf_type(array.type), axes);
  }

  void put(const Table& table) const {
    if (table.integers != nullptr)
      file_.check(ncmpi_put_var_int_all(file_.id(), table.variable, table.integers->data()), "ncmpi_put_var_int_all");
    else
      file_.check(ncmpi_put_var_double_all(file_.id(), table.variable, table.reals->data()),
                  "ncmpi_put_var_double_all");
  }

  const FlashHeader& header_;
  FlashTables tables_;
  NetcdfHandle file_;
  std::map<std::string, int> dimensions_;
  std::vector<Table> written_;
};

}  // namespace

std::vector<std::int64_t> create_flash_netcdf(const std::string& path, const FlashHeader& header,
                                              std::span<const Array> arrays, std::span<const std::int64_t> rows) {
  return FlashNetcdfMaker(path, header).make(arrays, rows);
}

}  // namespace sidestream::io
