#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/content/file_content.hpp"
#include "io/formats/enzo/enzo_hierarchy.hpp"
#include "io/formats/enzo/enzo_units.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

/// A field of an Enzo file: dataset and what its values are times ours.
struct EnzoField {
  std::string dataset;
  ElementType type = ElementType::float64;
  double factor = 1.0;
};

/// A dataset of the particles of a grid.
struct EnzoColumn {
  enum class Holds : std::uint8_t { position, real, mass_density, id, kind };
  std::string dataset;
  ElementType type = ElementType::float64;
  Holds holds = Holds::real;
  std::size_t number = 0;  ///< axis of a position, index of a real
  double factor = 1.0;
};

/// How a number of the particles (`FileContent::particle_reals`) comes back from a file.
struct EnzoReal {
  std::string dataset;           ///< empty: all are `value`
  double factor = 1.0;           ///< of the dataset's values to ours
  bool is_mass_density = false;  ///< the dataset holds mass per volume of a cell
  double value = 0.0;
};

/// The datasets of each grid of a file.
struct EnzoTables {
  std::vector<EnzoField> fields;
  std::vector<EnzoColumn> columns;
  std::vector<EnzoReal> reals;  ///< one for each of the content's
  ElementType particle_type = ElementType::float64;
  double length_factor = 1.0;
};

/// The dataset of a number of the particles. VTK takes for cells what is not called particle_..., which Enzo does
/// without for stars.
std::string enzo_particle_name(const std::string& name);
EnzoTables enzo_tables(const FileContent& content, const EnzoUnits& units);
nlohmann::json to_json(const EnzoTables& tables);
/// Throws a nlohmann exception or core::Error when `json` is none of ours.
EnzoTables enzo_tables_of(const nlohmann::json& json, const std::string& where);

/// A block of the content as a rank holds it. Blocks are counted level by level.
struct EnzoBlock {
  std::int64_t block = 0;
  int level = 0;
  std::int32_t box = 0;                 ///< in the layout of the level
  int local = 0;                        ///< in the fields of this rank
  std::vector<std::int32_t> particles;  ///< of the level's particles of this rank, ascending by id
};

/// All that is written of a content but the numbers themselves.
struct EnzoState {
  const FileContent& content;
  EnzoUnits units;
  EnzoTables tables;
  EnzoTree tree;
  std::vector<std::int64_t> particles;  ///< of each block of all levels
  std::vector<EnzoBlock> own;           ///< blocks of this rank
};

/// Collective: a content that cannot be written is an error on all ranks.
EnzoState enzo_state(const comm::Communicator& comm, const FileContent& content);

/// The HDF5 file of the grids `blocks` (ascending), of which this rank gives `own`.
ArrayFile enzo_grid_file(const EnzoState& state, const std::vector<std::int64_t>& blocks,
                         const std::vector<EnzoBlock>& own);

/// Datasets of checksums beside the grids: one number for each field and each column of each grid, in the order of
/// the blocks in the file.
inline constexpr const char* enzo_record = "sidestream/record";
inline constexpr const char* enzo_field_checksums = "sidestream/field_checksums";
inline constexpr const char* enzo_particle_checksums = "sidestream/particle_checksums";

std::string enzo_group_name(std::int64_t number);

/// Level and index of a block counted level by level.
struct EnzoPlace {
  int level = 0;
  std::int32_t box = 0;
};
EnzoPlace enzo_place(const std::vector<mesh::Layout>& levels, std::int64_t block);

}  // namespace sidestream::io
