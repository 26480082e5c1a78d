#pragma once

#include <nlohmann/json_fwd.hpp>

#include "couple/publish/announcement.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/couple/config.hpp"

namespace sidestream::couple {

/// The bill of a group of ranks as its event has it: each line with the mean and the largest of the ranks, and the mean
/// wall time by the clock, to which the means must add up. Collective.
nlohmann::json summed(const comm::Communicator& group, core::Bill& bill);

/// Divides what was booked on `what` for nobody among the tasks of a publish, by their bytes, or books it on its file.
void divide(core::Bill& bill, const std::string& what, const CouplingConfig& config, const Announcement& announcement);

}  // namespace sidestream::couple
