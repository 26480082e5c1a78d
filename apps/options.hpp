#pragma once

namespace sidestream::apps {

/// Prints every option of every table of the configuration: for people, or as one JSON object for programs.
///
/// The object has `simulations`, `criteria` and `analyses`, each a list of objects with `name`, `documentation` and
/// `tables`; `suites`, each with `parts`; and `tables`, those that every run may have. A table has its `name` (such as
/// `task.NAME`) and `options`; an option `name`, `documentation` and, where there are any, `default` (as TOML text),
/// `required`, `minimum`, `maximum`, `choices` and `units`.
void print_options(bool as_json);

}  // namespace sidestream::apps
