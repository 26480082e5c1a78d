#include "sidestream/io/stage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include "io/disk/checksum.hpp"
#include "io/stage/copies.hpp"
#include "io/stage/part.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/machine.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string part_path(const std::string& folder, std::int32_t rank) {
  return fmt::format("{}/part-{:05}.raw", folder, rank);
}
std::string copy_path(const std::string& folder, std::int32_t rank) {
  return fmt::format("{}/copy-{:05}.raw", folder, rank);
}

std::string folder_of_run(const std::string& folder, const std::string& run) {
  const std::string whole = fs::absolute(run).lexically_normal().string();
  return fmt::format("{}/sidestream-{:016x}", folder, checksum_of(std::as_bytes(std::span(whole))));
}

std::string token_path(const std::string& folder, const std::string& token, int rank) {
  return fmt::format("{}/.token-{}-{}", folder, token, rank);
}

// The lowest rank whose token is seen here: the same for all that see the same folder.
std::vector<int> nodes_of(const comm::Communicator& comm, const std::string& folder, const std::string& token) {
  const auto path_of = [&](int rank) { return token_path(folder, token, rank); };
  comm.agree_on([&] {
    make_folder(folder);
    OutputFile(path_of(comm.rank()), OutputFile::Open::create).close();
  });
  int first = 0;
  while (first < comm.rank() && !fs::exists(path_of(first))) ++first;
  comm.barrier();
  remove_all(path_of(comm.rank()));
  return comm.all_gather(first);
}

// Every rank's text.
std::vector<std::string> all_texts(const comm::Communicator& comm, const std::string& own) {
  std::vector<char> bytes(own.begin(), own.end());
  bytes.push_back('\0');
  const std::vector<char> all = comm.all_gather(std::span<const char>(bytes));
  std::vector<std::string> texts{""};
  for (const char byte : all)
    if (byte == '\0')
      texts.emplace_back();
    else
      texts.back() += byte;
  texts.pop_back();
  return texts;
}

std::string new_token() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

// Whose each part is now.
struct Holder {
  std::int32_t part = 0, rank = 0;
};

using Parts = std::map<std::int32_t, std::unique_ptr<StagedPart>>;

// Of `names`, the files of parts that are here, those that fall to place `mine` of `among` ranks.
std::vector<std::int32_t> share_of(const std::vector<std::int32_t>& wanted, std::size_t mine, std::size_t among,
                                   const std::function<std::string(std::int32_t)>& path_of) {
  std::vector<std::int32_t> here, share;
  std::ranges::copy_if(wanted, std::back_inserter(here), [&](std::int32_t part) { return fs::exists(path_of(part)); });
  for (std::size_t at = 0; at < here.size(); ++at)
    if (at * among / here.size() == mine) share.push_back(here[at]);
  return share;
}

std::vector<mesh::Layout> layouts_of(const mesh::Geometry& geometry, std::size_t levels,
                                     const std::vector<NumberedBox>& boxes, const std::vector<std::int32_t>& owners) {
  std::vector<mesh::Layout> all;
  for (std::size_t level = 0; level < levels; ++level) {
    std::map<std::int32_t, std::size_t> by_number;
    for (std::size_t b = 0; b < boxes.size(); ++b)
      if (boxes[b].level == static_cast<std::int32_t>(level)) by_number[boxes[b].number] = b;
    std::vector<mesh::Box> own;
    std::vector<std::int32_t> own_owners;
    for (const auto& [number, b] : by_number) {
      own.push_back(boxes[b].box);
      own_owners.push_back(owners[b]);
    }
    all.emplace_back(geometry.refined(static_cast<int>(level)).domain, geometry.periodic, std::move(own),
                     std::move(own_owners), static_cast<int>(level));
  }
  return all;
}

CarriedContent content_of(const comm::Communicator& comm, Parts parts, const std::vector<Holder>& holders) {
  const auto own = std::make_shared<const Parts>(std::move(parts));
  const std::string told = own->empty() ? "" : own->begin()->second->head();
  const StagedHead head = head_from(comm.broadcast(told, holders.front().rank));

  using Place = std::pair<const StagedPart*, NumberedBox>;
  const auto corner = [](int level, const mesh::Box& box) { return std::array{level, box.lo.x, box.lo.y, box.lo.z}; };
  auto places = std::make_shared<std::map<std::array<std::int32_t, 4>, Place>>();
  std::vector<NumberedBox> boxes;
  for (const auto& [rank, part] : *own)
    for (const NumberedBox& box : part->boxes()) {
      boxes.push_back(box);
      places->insert({corner(box.level, box.box), {part.get(), box}});
    }
  const std::vector<std::int32_t> mine(boxes.size(), comm.rank());
  CarriedContent content{head.state, head.rest};
  content.state.levels =
      layouts_of(head.state.geometry, head.levels, comm.all_gather(std::span<const NumberedBox>(boxes)),
                 comm.all_gather(std::span<const std::int32_t>(mine)));
  content.state.rank = comm.rank();
  for (const mesh::Quantity& field : head.fields)
    content.state.add_computed(field, [own, places, corner, name = field.name](int level, const mesh::Box& box,
                                                                               const core::View4<double>& out) {
      const auto& [part, numbered] = places->at(corner(level, box));
      part->read(name, numbered, out);
    });
  if (!head.has_particles) return content;
  mesh::Particles rows = head.no_particles;
  comm.agree_on([&] {
    for (const auto& [rank, part] : *own) mesh::append(part->particles(), rows);
  });
  content.state.add_species({head.species, std::move(rows)});
  return content;
}

}  // namespace

std::string StagedSet::to_text() const {
  return json{{"run", run}, {"name", name}, {"parts", parts}, {"hosts", hosts}, {"partners", partners}}.dump();
}

StagedSet StagedSet::from_text(const std::string& text) {
  try {
    const json all = json::parse(text);
    StagedSet set{all.at("run"), all.at("name"), all.at("parts"), all.at("hosts"), all.at("partners")};
    if (set.hosts.size() != set.parts.size() || set.parts.empty()) throw std::invalid_argument("a list is cut short");
    for (const std::string& name : {set.run, set.name})
      if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos)
        throw std::invalid_argument("a folder has no such name");
    return set;
  } catch (const std::exception& problem) {
    throw core::Error(std::string("the note about what was staged is damaged: ") + problem.what(), "",
                      "the newest checkpoint before it is used");
  }
}

class Stage::Impl {
 public:
  Impl(const comm::Communicator& comm, std::string folder, const std::string& run)
      : comm_(comm.duplicate()),
        folder_(folder_of_run(folder, run)),
        token_(comm_.broadcast(comm_.rank() == 0 ? new_token() : "")),
        node_of_(nodes_of(comm_, folder_, token_)) {
    hosts_ = all_texts(comm_, core::host_name());
    nodes_ = static_cast<int>(std::set(node_of_.begin(), node_of_.end()).size());
    is_shared_ = nodes_ < std::ssize(std::set(hosts_.begin(), hosts_.end()));
  }

  int nodes() const { return nodes_; }
  bool is_shared() const { return is_shared_; }

  StagedSet write(const std::string& name, const CarriedContent& content) const {
    StagedSet set;
    set.run = fs::path(folder_).filename().string();
    set.name = name + "-" + token_;
    const std::string folder = folder_of(set);
    const bool has_own = has_part(content);
    try {
      comm_.agree_on([&] {
        make_lasting_folder(folder);
        if (has_own) write_part(part_path(folder, comm_.rank()), set.name, comm_.rank(), content);
      });
      if (nodes_ > 1)
        write_copies(comm_, has_own ? part_path(folder, comm_.rank()) : "", partner_of(comm_.rank()),
                     [&](int rank) { return copy_path(folder, rank); });
      comm_.agree_on([&] { sync_folder(folder); });
    } catch (...) {
      comm_.barrier();
      remove(set);
      throw;
    }
    const std::vector<std::int8_t> have = comm_.all_gather(static_cast<std::int8_t>(has_own));
    for (int rank = 0; rank < comm_.size(); ++rank) {
      if (have[static_cast<std::size_t>(rank)] == 0) continue;
      set.parts.push_back(rank);
      set.hosts.push_back(hosts_[static_cast<std::size_t>(rank)]);
      set.partners.push_back(nodes_ > 1 ? hosts_[static_cast<std::size_t>(partner_of(rank))] : "");
    }
    return set;
  }

  CarriedContent open(const comm::Communicator& comm, const StagedSet& set,
                      const std::function<void(const std::string& text)>& tell) const {
    const std::string folder = folder_of(set);
    Parts own;
    std::vector<Holder> holders;
    std::string problems;
    std::vector<std::int32_t> missing = set.parts;
    for (const auto& path_of : {part_path, copy_path}) {
      std::vector<Holder> found;
      const auto in_folder = [&](std::int32_t part) { return path_of(folder, part); };
      for (const std::int32_t part : share_of(missing, place_in_node(), node_size(), in_folder)) {
        try {
          auto opened = std::make_unique<StagedPart>(in_folder(part), set.name, part);
          opened->verify();
          own[part] = std::move(opened);
          found.push_back({part, comm.rank()});
        } catch (const std::exception& error) {
          problems += fmt::format("{}\n", error.what());
        }
      }
      for (const Holder& holder : comm.all_gather(std::span<const Holder>(found))) {
        if (std::erase(missing, holder.part) > 0)
          holders.push_back(holder);
        else if (holder.rank == comm.rank())
          own.erase(holder.part);  // somebody else has it
      }
      if (path_of == part_path) tell_of(comm, missing, problems, tell);
    }
    comm.agree_on([&] {
      if (!missing.empty()) throw lost(set, missing);
    });
    std::ranges::sort(holders, {}, &Holder::rank);
    return content_of(comm, std::move(own), holders);
  }

  // A folder of another name may be that of another run, of which this one is a copy.
  bool is_own(const StagedSet& set) const { return set.run == fs::path(folder_).filename(); }
  std::vector<std::string> unseen_hosts(const StagedSet& set) const {
    std::set<std::string> unseen(set.hosts.begin(), set.hosts.end());
    unseen.insert(set.partners.begin(), set.partners.end());
    unseen.erase("");
    for (const std::string& host : hosts_) unseen.erase(host);
    return {unseen.begin(), unseen.end()};
  }
  void remove(const StagedSet& set) const {
    if (is_own(set)) remove_quietly(folder_of(set));
  }
  void remove_all() const {
    remove_quietly(folder_);
    comm_.barrier();
  }

 private:
  int own_node() const { return node_of_[static_cast<std::size_t>(comm_.rank())]; }
  // The run may have had another name when it staged it.
  std::string folder_of(const StagedSet& set) const {
    return (fs::path(folder_).parent_path() / set.run / set.name).string();
  }

  std::vector<int> ranks_of(int node) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < comm_.size(); ++rank)
      if (node_of_[static_cast<std::size_t>(rank)] == node) ranks.push_back(rank);
    return ranks;
  }
  std::size_t node_size() const { return ranks_of(own_node()).size(); }
  std::size_t place_in_node() const {
    const std::vector<int> ranks = ranks_of(own_node());
    return static_cast<std::size_t>(std::ranges::find(ranks, comm_.rank()) - ranks.begin());
  }

  // A rank of the next node in the ring.
  int partner_of(int rank) const {
    const int node = node_of_[static_cast<std::size_t>(rank)];
    std::set<int> nodes(node_of_.begin(), node_of_.end());
    const auto next = nodes.upper_bound(node);
    const std::vector<int> own = ranks_of(node), others = ranks_of(next == nodes.end() ? *nodes.begin() : *next);
    const auto place = static_cast<std::size_t>(std::ranges::find(own, rank) - own.begin());
    return others[place % others.size()];
  }

  void tell_of(const comm::Communicator& comm, const std::vector<std::int32_t>& missing, const std::string& problems,
               const std::function<void(const std::string& text)>& tell) const {
    const std::vector<std::string> all = all_texts(comm, problems);
    if (comm.rank() != 0 || missing.empty()) return;
    tell(fmt::format(
        "of what was staged, the parts of the ranks {} are not whole on their nodes: copies are looked for\n{}",
        fmt::join(missing, ", "), fmt::join(all, "")));
  }

  static core::Error lost(const StagedSet& set, const std::vector<std::int32_t>& missing) {
    std::set<std::string> hosts;
    for (const std::int32_t part : missing) {
      const auto at = static_cast<std::size_t>(std::ranges::find(set.parts, part) - set.parts.begin());
      hosts.insert(set.hosts[at]);
      if (!set.partners[at].empty()) hosts.insert(set.partners[at]);
    }
    return core::Error(fmt::format("what was staged as {} is not whole: no whole part or copy of the ranks {} is left",
                                   set.name, fmt::join(missing, ", ")),
                       fmt::format("nodes {}", fmt::join(hosts, ", ")),
                       "start the run where one of these nodes takes part, or let it go on from the checkpoint before");
  }

  static void remove_quietly(const std::string& path) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }

  comm::Communicator comm_;
  std::string folder_;
  std::string token_;               // of this job
  std::vector<int> node_of_;        // by rank: the lowest rank of its node
  std::vector<std::string> hosts_;  // by rank
  int nodes_ = 1;
  bool is_shared_ = false;
};

Stage::Stage(const comm::Communicator& comm, std::string folder, const std::string& run)
    : impl_(std::make_unique<Impl>(comm, std::move(folder), run)) {}
Stage::~Stage() = default;
Stage::Stage(Stage&&) noexcept = default;

int Stage::nodes() const {
  return impl_->nodes();
}
bool Stage::is_shared() const {
  return impl_->is_shared();
}
StagedSet Stage::write(const std::string& name, const CarriedContent& content) const {
  return impl_->write(name, content);
}
CarriedContent Stage::open(const comm::Communicator& comm, const StagedSet& set,
                           const std::function<void(const std::string& text)>& tell) const {
  return impl_->open(comm, set, tell);
}
bool Stage::is_own(const StagedSet& set) const {
  return impl_->is_own(set);
}
std::vector<std::string> Stage::unseen_hosts(const StagedSet& set) const {
  return impl_->unseen_hosts(set);
}
void Stage::remove(const StagedSet& set) const {
  impl_->remove(set);
}
void Stage::remove_all() const {
  impl_->remove_all();
}

void check_stage(const std::string& folder, const std::string& where) {
  const std::string hint = "name a folder on a disk of each node: stage = \"/local\"";
  std::error_code unknown;
  if (!fs::is_directory(folder, unknown))
    throw core::Error(fmt::format("there is no folder \"{}\" on {}", folder, core::host_name()), where, hint);
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw core::Error(fmt::format("no file can be made in \"{}\" on {}: {}", folder, core::host_name(),
                                  std::generic_category().message(errno)),
                      where, hint);
}

std::string with_environment(const std::string& text, const std::string& where) {
  std::string all;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      all += text[at++];
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
    const std::string name = text.substr(at + 1, end - at - 1);
    if (name.empty())
      throw core::Error(fmt::format("\"{}\" has a `$` without the name of a variable behind it", text), where,
                        "name a variable of the environment: stage = \"$TMPDIR\"");
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr)
      throw core::Error(fmt::format("there is no variable `{}` in the environment on {}", name, core::host_name()),
                        where, "set it on all nodes, or name the folder itself");
    all += value;
    at = end;
  }
  return all;
}

}  // namespace sidestream::io
