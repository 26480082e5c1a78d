#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/sims/host_run.hpp"

namespace sidestream::sims {

/// Something that all ranks have to say alike, and what this one says of it.
struct Saying {
  std::string of, said;
};

/// How sayings of types of fields begin: ranks without blocks have none.
inline constexpr const char* of_type = "the type of ";

/// Of what is said, to see quickly whether it is alike.
std::int64_t digest_of(const std::vector<Saying>& sayings, std::int64_t before = 0);

/// Of all that a rank says; of types of fields only where it has blocks of them.
struct Digest {
  std::int64_t of_all = 0;
  std::optional<std::int64_t> of_types{};
};

/// Throws core::Error on all ranks, with the first rank that differs from rank 0 and in what, unless all have the same
/// digest; `sayings` are made only then. Collective; one small exchange where they are alike.
void require_alike(const comm::Communicator& comm, const Digest& digest,
                   const std::function<std::vector<Saying>()>& sayings);

/// Instead of `require_alike`, of a rank that has nothing to say because of a problem: all ranks throw that.
void refuse_to_say(const comm::Communicator& comm, const core::Error& problem);

/// Throws core::Error unless results and files may use the name. `what`: "a field".
void require_name(const std::string& name, const std::string& what, const std::string& example);

/// Throws core::Error unless results and files may have the unit, which may be empty.
void require_unit(const std::string& unit, const std::string& what);

/// Throws core::Error unless a machine can address a block of `elements` that lie so. `size`: of an element, in bytes.
void require_reach(const HostMemory& memory, mesh::Int3 elements, std::size_t size, const std::string& where);

/// Throws core::Error unless there may be such a domain and such rims.
void require_domain(const HostMesh& mesh);

}  // namespace sidestream::sims
