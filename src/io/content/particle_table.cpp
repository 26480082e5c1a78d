#include "io/content/particle_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

using mesh::ParticleNumber;
using mesh::Particles;
using mesh::Species;

const std::string mass_name = "mass", mass_unit = "Msun";

double mass_of(const Species& species) {
  return species.stored.front()->mass;
}

bool are_alike_in_mass(const std::vector<Species>& all) {
  return std::ranges::all_of(all, [&](const Species& one) { return mass_of(one) == mass_of(all.front()); });
}

// The mass that is common to all of a species goes into the column of the others.
void check_masses(const std::vector<Species>& all, const std::vector<ParticleNumber>& columns) {
  const auto mass = std::ranges::find(columns, mass_name, &ParticleNumber::name);
  if (mass == columns.end() || mass->unit == mass_unit) return;
  for (const Species& species : all)
    if (mass_of(species) != 0.0 &&
        std::ranges::find(species.numbers, mass_name, &ParticleNumber::name) == species.numbers.end())
      throw core::Error(fmt::format("`{}` is in {} in one species, and the particles of `{}` have one mass in {}",
                                    mass_name, mass->unit, species.name(), mass_unit),
                        "", fmt::format("give the number in {}", mass_unit));
}

// The numbers of all species by name.
std::vector<ParticleNumber> columns_of(const std::vector<Species>& all) {
  std::vector<ParticleNumber> columns;
  for (const Species& species : all)
    for (const ParticleNumber& number : species.numbers) {
      const auto known = std::ranges::find(columns, number.name, &ParticleNumber::name);
      if (known == columns.end())
        columns.push_back({number.name, number.unit, number.name});
      else if (known->unit != number.unit)
        throw core::Error(fmt::format("`{}` of the particles is in {} in one species and in {} in `{}`", number.name,
                                      known->unit, number.unit, species.name()),
                          "", "give a number the same unit in all species of a file");
    }
  check_masses(all, columns);
  const auto has = [&](const std::string& name) {
    return std::ranges::find(columns, name, &ParticleNumber::name) != columns.end();
  };
  if (has(species_column))
    throw core::Error(fmt::format("a number of the particles is called `{}`", species_column), "",
                      "files of several species say so which is which: give the number another name");
  if (!has(mass_name) && !are_alike_in_mass(all)) columns.push_back({mass_name, mass_unit, mass_name});
  columns.push_back({species_column, "", species_column});
  return columns;
}

void append_column(const ParticleNumber& column, const Species& species, double number, const Particles& from,
                   std::vector<double>& to) {
  const auto own = std::ranges::find(species.numbers, column.name, &ParticleNumber::name);
  const bool is_own = own != species.numbers.end();
  if (is_own && !own->attribute.empty()) {
    for (const double value : from.attribute(own->attribute))
      to.push_back(own->factor == 1.0 ? value : own->factor * value);
    return;
  }
  const bool is_mass = column.name == mass_name && column.unit == mass_unit;
  const double otherwise = column.name == species_column ? number : is_mass ? from.mass : 0.0;
  to.insert(to.end(), from.size(), is_own ? own->factor : otherwise);
}

Particles joined(const std::vector<Species>& all, const std::vector<ParticleNumber>& columns, std::size_t level) {
  Particles rows;
  for (const ParticleNumber& column : columns) rows.attributes.push_back({column.name, column.unit, {}});
  double number = 0.0;
  for (const Species& species : all) {
    const Particles& from = *species.stored[level];
    mesh::check(from);
    number += 1.0;
    rows.id.insert(rows.id.end(), from.id.begin(), from.id.end());
    for (std::size_t axis = 0; axis < 3; ++axis)
      rows.position[axis].insert(rows.position[axis].end(), from.position[axis].begin(), from.position[axis].end());
    for (std::size_t c = 0; c < columns.size(); ++c)
      append_column(columns[c], species, number, from, rows.attributes[c].values);
  }
  if (are_alike_in_mass(all)) rows.mass = mass_of(all.front());
  return rows;
}

FileSpecies in_words(const Species& species, double number) {
  FileSpecies words{species.name(), number, 0, mass_of(species), {}};
  for (const auto& level : species.stored) words.particles += static_cast<std::int64_t>(level->size());
  for (const ParticleNumber& own : species.numbers) words.numbers.push_back(own.name);
  return words;
}

// The rows whose places in `from` are `places`.
template <typename T>
std::vector<T> at(const std::vector<T>& from, const std::vector<std::size_t>& places) {
  std::vector<T> values;
  values.reserve(places.size());
  for (const std::size_t p : places) values.push_back(from[p]);
  return values;
}

std::vector<std::vector<std::size_t>> places_of(const Particles& rows, const std::vector<FileSpecies>& species,
                                                const std::string& where) {
  std::vector<std::vector<std::size_t>> places(species.size());
  const std::vector<double>& numbers = rows.attribute(species_column);
  for (std::size_t p = 0; p < numbers.size(); ++p) {
    const auto found = std::ranges::find(species, numbers[p], &FileSpecies::number);
    if (found == species.end())
      throw core::Error(
          fmt::format("particle {} is of the species number {}, which there is not", rows.id[p], numbers[p]), where,
          "the file is damaged");
    places[static_cast<std::size_t>(found - species.begin())].push_back(p);
  }
  return places;
}

}  // namespace

ParticleTable table_of(const comm::Communicator& comm, const std::vector<Species>& species) {
  ParticleTable table;
  if (species.empty()) return table;
  if (species.size() == 1) {
    table.levels = species.front().stored;
    table.numbers = species.front().numbers;
    if (species.front().name() == mesh::dark_matter) return table;
  } else {
    comm.agree_on([&] {
      table.numbers = columns_of(species);
      for (std::size_t level = 0; level < species.front().stored.size(); ++level)
        table.levels.push_back(std::make_shared<const Particles>(joined(species, table.numbers, level)));
    });
  }
  for (const Species& one : species) {
    table.species.push_back(in_words(one, static_cast<double>(table.species.size() + 1)));
    table.species.back().particles = comm.sum(table.species.back().particles);
  }
  return table;
}

std::vector<Particles> of_species(Particles rows, const std::vector<FileSpecies>& species, const std::string& where) {
  std::vector<Particles> all;
  if (species.empty()) return all;
  if (species.size() == 1) {
    all.push_back(std::move(rows));
    return all;
  }
  const auto places = places_of(rows, species, where);
  for (std::size_t s = 0; s < species.size(); ++s) {
    Particles& own = all.emplace_back();
    own.mass = species[s].mass;
    own.id = at(rows.id, places[s]);
    for (std::size_t axis = 0; axis < 3; ++axis) own.position[axis] = at(rows.position[axis], places[s]);
    for (const std::string& name : species[s].numbers) {
      const auto from = std::ranges::find(rows.attributes, name, &mesh::ParticleAttribute::name);
      own.attributes.push_back({name, from->unit, at(from->values, places[s])});
    }
  }
  return all;
}

}  // namespace sidestream::io
