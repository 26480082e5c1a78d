#pragma once

namespace sidestream::couple {

/// Which tasks a snapshot was stored for, among the texts of its file: a JSON list of names.
inline constexpr const char* stored_tasks_text = "tasks";

}  // namespace sidestream::couple
