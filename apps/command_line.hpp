#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sidestream::apps {

constexpr int used_wrongly = 2;  ///< exit code

struct WordRule {
  bool is_required = false;
  std::vector<std::string> one_of{};  ///< empty: any word
};

/// What a program, or a command of it, takes; `--help` and `--version` are there by themselves. Names that begin with
/// dashes are options, others places. What is given is left in the variables, which outlive `parse`. It hides CLI11,
/// which is dear to compile.
class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& version);
  ~CommandLine();

  void word(const std::string& name, std::string& value, const std::string& help, const WordRule& rule = {});
  void words(const std::string& name, std::vector<std::string>& values, const std::string& help,
             const WordRule& rule = {});
  /// One word with commas between its parts.
  void parts(const std::string& name, std::vector<std::string>& values, const std::string& help);
  void number(const std::string& name, std::int32_t& value, const std::string& help, std::int32_t lowest);
  void number(const std::string& name, std::int64_t& value, const std::string& help, std::int64_t lowest);
  void flag(const std::string& name, bool& value, const std::string& help);
  /// An option that may have a word, called `type` in the help; without it, the text is empty.
  void word_or_none(const std::string& name, std::optional<std::string>& value, const std::string& help,
                    const std::string& type);

  /// A command, of which one has to be given. It lives as long as this object.
  CommandLine& command(const std::string& name, const std::string& help);
  /// Whether this command was given.
  bool is_given() const;

  /// The exit code where the program ends here: something is wrong, or was asked for and is told.
  std::optional<int> parse(int argc, const char* const* argv);
  /// Tells what is wrong, as `parse` does; returns the exit code.
  int refuse(const std::string& problem) const;

 private:
  struct Parser;
  explicit CommandLine(std::unique_ptr<Parser> parser);
  std::unique_ptr<Parser> parser_;
};

}  // namespace sidestream::apps
