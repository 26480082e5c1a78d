#include "io/content/chosen_species.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <utility>

#include "io/content/particle_levels.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/core/registry.hpp"

namespace sidestream::io {

namespace {

// Of the choice of particles; any will do, as long as it stays.
constexpr std::uint64_t sample_seed = 7;

// Files and messages hold it as text of a line.
bool is_text_of_a_line(const std::string& text) {
  try {
    nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    return false;
  }
  return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

void check_text(const std::string& species, const std::string& text, const char* what) {
  if (!is_text_of_a_line(text))
    throw core::Error(fmt::format("a {} of the particles `{}` is no text of one line in UTF-8", what, species), "",
                      "take letters, digits and `_`");
}

// Of attributes, or of the numbers that a file tells of particles.
template <typename Numbers>
void check_names(const std::string& species, const Numbers& numbers) {
  std::set<std::string> names{"id", "x", "y", "z"};
  for (const auto& number : numbers) {
    check_text(species, number.name, "name");
    check_text(species, number.unit, "unit");
    if (number.name.empty())
      throw core::Error(fmt::format("a number of the particles `{}` has no name", species), "", "give it one");
    if (!names.insert(number.name).second)
      throw core::Error(fmt::format("there are two numbers `{}` of the particles `{}`", number.name, species), "",
                        "give one another name; `id`, `x`, `y` and `z` are those that all particles have");
  }
}

// None, with what all particles have in common. Ranks without any may have no particles to tell it from.
mesh::Particles none_like(const comm::Communicator& comm, const mesh::Particles* own) {
  const auto described = [](const mesh::Particles& particles) {
    nlohmann::json attributes = nlohmann::json::array();
    for (const auto& attribute : particles.attributes) attributes.push_back({attribute.name, attribute.unit});
    return attributes.dump();
  };
  const int first =
      static_cast<int>(-comm.max(static_cast<std::int64_t>(own != nullptr ? -comm.rank() : -comm.size())));
  mesh::Particles none;
  if (first == comm.size()) return none;
  const std::string text = comm.broadcast(comm.rank() == first ? described(*own) : "", first);
  comm.agree_on([&] {
    if (own != nullptr && described(*own) != text)
      throw core::Error("the ranks tell of different attributes of the particles", "snapshot",
                        "give all ranks the same attributes in the same order");
  });
  for (const auto& attribute : nlohmann::json::parse(text))
    none.attributes.push_back({attribute.at(0).get<std::string>(), attribute.at(1).get<std::string>(), {}});
  none.mass = comm.broadcast(comm.rank() == first ? own->mass : 0.0, first);
  return none;
}

// Those of the leaves, a set for each level.
std::vector<std::shared_ptr<const mesh::Particles>> divided(const comm::Communicator& comm, const mesh::Particles* own,
                                                            const mesh::Geometry& geometry,
                                                            const std::vector<mesh::Layout>& levels) {
  const mesh::Particles none = none_like(comm, own);
  if (comm.max(std::int64_t{own != nullptr}) == 0) return {};
  if (own != nullptr && levels.size() == 1) return {{std::shared_ptr<void>(), own}};
  std::vector<std::shared_ptr<const mesh::Particles>> sets;
  for (mesh::Particles& level : by_level(own != nullptr ? *own : none, levels, geometry))
    sets.push_back(std::make_shared<const mesh::Particles>(std::move(level)));
  return sets;
}

std::vector<std::string> names_of(const std::vector<mesh::ParticleNumber>& numbers) {
  std::vector<std::string> names;
  for (const mesh::ParticleNumber& number : numbers) names.push_back(number.name);
  return names;
}

// In the order of `names`, those that there are; all, where none is named.
std::vector<mesh::ParticleNumber> chosen(const std::vector<mesh::ParticleNumber>& all,
                                         const std::vector<std::string>& names) {
  if (names.empty()) return all;
  std::vector<mesh::ParticleNumber> wanted;
  for (const std::string& name : names)
    if (const auto found = std::ranges::find(all, name, &mesh::ParticleNumber::name); found != all.end())
      wanted.push_back(*found);
  return wanted;
}

void check_numbers(const std::vector<mesh::Species>& species, const std::vector<std::string>& wanted) {
  std::vector<std::string> known;
  for (const mesh::Species& one : species)
    for (const std::string& name : names_of(one.numbers))
      if (std::ranges::find(known, name) == known.end()) known.push_back(name);
  for (const std::string& name : wanted)
    if (std::ranges::find(known, name) == known.end()) throw core::unknown_name("number of the particles", name, known);
}

void check_alike(const comm::Communicator& comm, const std::string& own) {
  const std::string first = comm.broadcast(own);
  comm.agree(own == first ? "" : fmt::format("the ranks tell of different particles: `{}` and `{}`", first, own));
}

// What all ranks must say alike of all particles of a species.
std::string words_for(const mesh::Species& species) {
  if (species.stored.empty()) return "none";
  std::string text;
  for (const auto& level : species.stored) text += fmt::format("mass {:a}; ", level->mass);
  for (const mesh::ParticleNumber& number : species.numbers) text += fmt::format("{} [{}]; ", number.name, number.unit);
  return text;
}

mesh::Species as_stored(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const mesh::Species& from,
                        FileKind kind, const std::vector<mesh::Layout>& levels) {
  mesh::Species species(from.name(), nullptr);
  const std::int64_t giving = comm.sum(std::int64_t{!from.stored.empty()});
  comm.agree(giving == 0 || giving == comm.size() ? "" : "some ranks give particles to a file, others none");
  const mesh::Particles* const own = from.stored.empty() ? from.particles() : from.stored.front().get();
  comm.agree_on([&] {
    check_text(from.name(), from.name(), "name");
    if (own != nullptr) check_names(from.name(), own->attributes);
    check_names(from.name(), from.numbers);
  });
  species.stored = from.stored.empty() ? divided(comm, own, snapshot.geometry, levels) : from.stored;
  const bool shows_numbers = kind == FileKind::plot_file && !from.numbers.empty();
  if (shows_numbers) species.numbers = from.numbers;
  if (!shows_numbers && !species.stored.empty())
    for (const mesh::ParticleAttribute& attribute : species.stored.front()->attributes)
      species.numbers.push_back({attribute.name, attribute.unit, attribute.name});
  comm.agree_on([&] {
    core::require(species.stored.empty() || species.stored.size() == levels.size(),
                  "a file takes a set of particles for each level");
  });
  check_alike(comm, words_for(species));
  return species;
}

}  // namespace

std::vector<mesh::Species> chosen_species(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                                          const FileChoice& choice, const std::vector<mesh::Layout>& levels) {
  if (choice.particle_share <= 0.0) return {};
  check_alike(comm, fmt::format("{}", fmt::join(mesh::names_of(snapshot.species()), ", ")));
  comm.agree_on([&] {
    for (const std::string& name : choice.species) snapshot.species(name);
  });
  const bool takes_all = choice.species.empty() || choice.kind == FileKind::checkpoint;
  std::vector<mesh::Species> species;
  for (const mesh::Species& one : snapshot.species()) {
    if (!takes_all && std::ranges::find(choice.species, one.name()) == choice.species.end()) continue;
    species.push_back(as_stored(comm, snapshot, one, choice.kind, levels));
    if (species.back().stored.empty()) species.pop_back();
  }
  if (species.empty()) return {};
  comm.agree_on([&] { check_numbers(species, choice.particle_numbers); });
  for (mesh::Species& one : species) {
    one.numbers = chosen(one.numbers, choice.particle_numbers);
    if (choice.particle_share < 1.0)
      for (auto& level : one.stored)
        level = std::make_shared<const mesh::Particles>(sample_of(*level, one.numbers, choice.particle_share));
  }
  return species;
}

mesh::Particles sample_of(const mesh::Particles& all, const std::vector<mesh::ParticleNumber>& numbers, double share) {
  std::vector<std::size_t> some;
  for (std::size_t p = 0; p < all.size(); ++p)
    if (share >= 1.0 || core::uniform(sample_seed, 0, static_cast<std::uint64_t>(all.id[p])) < share) some.push_back(p);
  const auto taken = [&](const auto& values) {
    std::remove_cvref_t<decltype(values)> of_some;
    of_some.reserve(some.size());
    for (const std::size_t p : some) of_some.push_back(values[p]);
    return of_some;
  };
  mesh::Particles sample;
  sample.id = taken(all.id);
  for (std::size_t axis = 0; axis < 3; ++axis) sample.position[axis] = taken(all.position[axis]);
  for (const mesh::ParticleAttribute& attribute : all.attributes)
    if (std::ranges::find(numbers, attribute.name, &mesh::ParticleNumber::attribute) != numbers.end())
      sample.attributes.push_back({attribute.name, attribute.unit, taken(attribute.values)});
  sample.mass = all.mass;
  return sample;
}

}  // namespace sidestream::io
