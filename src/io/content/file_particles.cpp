#include "io/content/file_particles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
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

std::vector<mesh::ParticleNumber> chosen(const std::vector<mesh::ParticleNumber>& all,
                                         const std::vector<std::string>& names) {
  if (names.empty()) return all;
  std::vector<mesh::ParticleNumber> wanted;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &mesh::ParticleNumber::name);
    if (found == all.end()) {
      std::vector<std::string> known;
      for (const mesh::ParticleNumber& number : all) known.push_back(number.name);
      throw core::unknown_name("number of the particles", name, known);
    }
    wanted.push_back(*found);
  }
  return wanted;
}

// What all ranks must say alike of all their particles.
std::string words_for(const FileParticles& particles) {
  if (particles.levels.empty()) return "none";
  std::string text;
  for (const auto& level : particles.levels) text += fmt::format("mass {:a}; ", level->mass);
  for (const mesh::ParticleNumber& number : particles.numbers)
    text += fmt::format("{} [{}]; ", number.name, number.unit);
  return text;
}

void check_alike(const comm::Communicator& comm, const FileParticles& particles) {
  const std::string own = words_for(particles), first = comm.broadcast(own);
  comm.agree(own == first ? "" : fmt::format("the ranks tell of different particles: `{}` and `{}`", first, own));
}

}  // namespace

FileParticles particles_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const FileChoice& choice,
                           const std::vector<mesh::Layout>& levels) {
  if (choice.particle_share <= 0.0) return {};
  const std::int64_t giving = comm.sum(std::int64_t{!snapshot.stored_particles.empty()});
  comm.agree(giving == 0 || giving == comm.size() ? "" : "some ranks give particles to a file, others none");
  FileParticles all;
  all.levels = snapshot.stored_particles.empty() ? divided(comm, snapshot.particles(), snapshot.geometry, levels)
                                                 : snapshot.stored_particles;
  if (all.levels.empty()) return {};
  const bool shows_numbers = choice.kind == FileKind::plot_file && !snapshot.particle_numbers.empty();
  if (shows_numbers) all.numbers = snapshot.particle_numbers;
  for (const mesh::ParticleAttribute& attribute : all.levels.front()->attributes)
    if (!shows_numbers) all.numbers.push_back({attribute.name, attribute.unit, attribute.name});
  check_alike(comm, all);
  comm.agree_on([&] { all.numbers = chosen(all.numbers, choice.particle_numbers); });
  if (choice.particle_share < 1.0)
    for (auto& level : all.levels)
      level = std::make_shared<const mesh::Particles>(sample_of(*level, all.numbers, choice.particle_share));
  return all;
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
