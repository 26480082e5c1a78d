#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <limits>

namespace sidestream::apps {

struct CommandLine::Parser {
  std::unique_ptr<CLI::App> own;  // of the program
  CLI::App& app;
  std::vector<std::unique_ptr<CommandLine>> commands{};

  template <typename T>
  CLI::Option& add(const std::string& name, T& value, const std::string& help, const WordRule& rule = {}) {
    CLI::Option* const option = app.add_option(name, value, help)->required(rule.is_required);
    if (!rule.one_of.empty()) option->check(CLI::IsMember(rule.one_of));
    return *option;
  }

  template <typename T>
  void add_number(const std::string& name, T& value, const std::string& help, T lowest) {
    add(name, value, help).check(CLI::Range(lowest, std::numeric_limits<T>::max(), "INT >= " + std::to_string(lowest)));
  }
};

CommandLine::CommandLine(const std::string& description, const std::string& version) {
  auto app = std::make_unique<CLI::App>(description);
  CLI::App& reference = *app;
  reference.set_version_flag("--version", version);
  parser_ = std::make_unique<Parser>(std::move(app), reference);
}
CommandLine::CommandLine(std::unique_ptr<Parser> parser) : parser_(std::move(parser)) {}
CommandLine::~CommandLine() = default;

void CommandLine::word(const std::string& name, std::string& value, const std::string& help, const WordRule& rule) {
  parser_->add(name, value, help, rule);
}

void CommandLine::words(const std::string& name, std::vector<std::string>& values, const std::string& help,
                        const WordRule& rule) {
  parser_->add(name, values, help, rule).take_all();
}

void CommandLine::parts(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  parser_->add(name, values, help).delimiter(',');
}

void CommandLine::number(const std::string& name, std::int32_t& value, const std::string& help, std::int32_t lowest) {
  parser_->add_number(name, value, help, lowest);
}

void CommandLine::number(const std::string& name, std::int64_t& value, const std::string& help, std::int64_t lowest) {
  parser_->add_number(name, value, help, lowest);
}

void CommandLine::flag(const std::string& name, bool& value, const std::string& help) {
  parser_->app.add_flag(name, value, help);
}

void CommandLine::word_or_none(const std::string& name, std::optional<std::string>& value, const std::string& help,
                               const std::string& type) {
  const auto set = [&value](const CLI::results_t& found) {
    value = found.front();
    return true;
  };
  parser_->app.add_option(name, set, help)->expected(0, 1)->type_name(type);
}

CommandLine& CommandLine::command(const std::string& name, const std::string& help) {
  parser_->app.require_subcommand(1);
  CLI::App* const app = parser_->app.add_subcommand(name, help);
  auto parser = std::make_unique<Parser>(nullptr, *app);
  return *parser_->commands.emplace_back(new CommandLine(std::move(parser)));
}

bool CommandLine::is_given() const {
  return parser_->app.parsed();
}

std::optional<int> CommandLine::parse(int argc, const char* const* argv) {
  try {
    parser_->app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return parser_->app.exit(error) == 0 ? 0 : used_wrongly;
  }
}

int CommandLine::refuse(const std::string& problem) const {
  parser_->app.exit(CLI::ValidationError(problem));
  return used_wrongly;
}

}  // namespace sidestream::apps
