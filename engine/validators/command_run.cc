#include "engine/validators/command_run.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/printable.h"

namespace galley {
namespace {

constexpr size_t kMaxArgumentBytes = size_t{512} << 10U;  // well below Linux' 2 MiB for all of them
constexpr size_t kLastWordsBytes = 400;
constexpr std::string_view kFiles = "{files}";
constexpr std::string_view kFile = "{file}";
constexpr int kCannotExecute = 126;  // of shells and env(1)
constexpr int kNotFound = 127;
constexpr size_t kShownHeadBytes = kMaxFindingOutputBytes / 4;  // the end contains the result

/// A file whose name begins with '-' must not be taken for an option.
std::string as_argument(const RelPath& path) {
  return path.str().starts_with('-') ? "./" + path.str() : path.str();
}

Command bare_command(const ValidatorConfig& config, const ValidatorContext& context) {
  Command command;
  command.environment = config.environment;
  command.limits.wall = std::chrono::milliseconds(config.timeout_ms);
  if (!context.deadline.is_never()) {
    command.limits.wall = std::min(*command.limits.wall, context.deadline.left(context.clock));
  }
  command.limits.max_stdout_bytes = config.max_output_bytes;
  command.limits.max_stderr_bytes = config.max_output_bytes;
  command.network = config.allows_network ? NetworkAccess::kHost : NetworkAccess::kNone;
  command.effects = EffectsRule::kDrop;
  command.keep_name = config.name;
  for (const auto& path : config.keep) {
    if (auto parsed = RelPath::parse(path)) command.keep.push_back(*parsed);
  }
  if (!config.parser_file.empty()) {
    if (auto parsed = RelPath::parse(config.parser_file)) command.collect.push_back(*parsed);
  }
  command.stop = context.stop;
  return command;
}

std::vector<std::string> with_file(const std::vector<std::string>& arguments, const RelPath& file) {
  std::vector<std::string> out;
  for (std::string argument : arguments) {
    const size_t at = argument.find(kFile);
    if (at != argument.npos) {
      // Within a longer argument it cannot be mistaken for an option.
      const bool is_whole = argument == kFile;
      argument.replace(at, kFile.size(), is_whole ? as_argument(file) : file.str());
    }
    out.push_back(std::move(argument));
  }
  return out;
}

std::vector<std::string> with_files(const std::vector<std::string>& arguments,
                                    std::vector<RelPath>::const_iterator begin,
                                    std::vector<RelPath>::const_iterator end) {
  std::vector<std::string> out;
  for (const std::string& argument : arguments) {
    if (argument != kFiles) {
      out.push_back(argument);
      continue;
    }
    for (auto it = begin; it != end; ++it) out.push_back(as_argument(*it));
  }
  return out;
}

bool is_make_saying_missing(std::string_view line) {
  const bool is_make = line.starts_with("make: ") || line.starts_with("make[");
  return is_make && (line.ends_with(" Error 127") || line.ends_with(" Error 126"));
}

/// Some programs run others, and when one of those is missing, they exit with a status that looks
/// like a complaint. Returns the line in which python or make reports the missing program, or
/// nothing.
std::string missing_program(const ValidatorConfig& config, const CommandResult& result) {
  const auto module = std::find(config.command.begin(), config.command.end(), "-m");
  const bool has_module = module != config.command.end() && module + 1 != config.command.end();
  const std::string no_module = has_module ? ": No module named " + *(module + 1) : "";
  const std::string errors = result.standard_error.text();
  for (size_t start = 0; start < errors.size();) {
    const size_t end = std::min(errors.find('\n', start), errors.size());
    const std::string_view line = std::string_view(errors).substr(start, end - start);
    start = end + 1;
    // In a traceback the name is in quotes.
    const bool is_no_module = has_module && line.find(no_module) != line.npos;
    if (is_no_module || is_make_saying_missing(line)) {
      return printable_line(line, kLastWordsBytes);
    }
  }
  return {};
}

}  // namespace

std::vector<RelPath> selected_files(const ValidatorConfig& config, const ChangeSet& changes) {
  std::vector<RelPath> files;
  for (const Change& change : changes) {
    if (change.after.kind != FileKind::kRegular) continue;
    if (!config.has_paths || config.paths.selects(change.path)) files.push_back(change.path);
  }
  return files;
}

std::vector<Command> commands_of(const ValidatorConfig& config, const std::vector<RelPath>& files,
                                 const ValidatorContext& context) {
  std::vector<Command> commands;
  const Command bare = bare_command(config, context);
  if (config.is_per_file) {
    for (const RelPath& file : files) {
      commands.push_back(bare);
      commands.back().argv = with_file(config.command, file);
    }
    return commands;
  }
  const bool takes_files =
      std::find(config.command.begin(), config.command.end(), kFiles) != config.command.end();
  if (!takes_files) {
    commands.push_back(bare);
    commands.back().argv = config.command;
    return commands;
  }
  for (auto begin = files.begin(); begin != files.end();) {
    auto end = begin;
    size_t bytes = 0;
    while (end != files.end() && bytes < kMaxArgumentBytes) bytes += (end++)->str().size() + 16;
    commands.push_back(bare);
    commands.back().argv = with_files(config.command, begin, end);
    begin = end;
  }
  return commands;
}

std::string command_words(const ValidatorConfig& config) {
  std::string command;
  for (const std::string& word : config.command) command += (command.empty() ? "" : " ") + word;
  return printable_line(command, kLastWordsBytes);
}

Error not_trusted(const ValidatorConfig& config) {
  return {
      ErrorKind::kRefused, std::string(kNotTrusted),
      fmt::format("it would run `{}`, which no person has trusted; review it with: galley trust",
                  command_words(config)),
      "", 0};
}

std::string shown_output(const CommandResult& result) {
  std::string text = result.standard_output.text();
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text = printable(text + result.standard_error.text());
  while (text.ends_with('\n')) text.pop_back();
  if (text.size() <= kMaxFindingOutputBytes) return text;
  // Cut at a newline, unless one line is most of the text; never within a character.
  const size_t newline = text.rfind('\n', kShownHeadBytes);
  size_t head = newline == text.npos ? kShownHeadBytes : newline + 1;
  size_t tail = text.size() - (kMaxFindingOutputBytes - kShownHeadBytes);
  if (const size_t next = text.find('\n', tail); next < tail + kShownHeadBytes) tail = next + 1;
  const auto is_inside_character = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  while (head > 0 && is_inside_character(head)) --head;
  while (tail < text.size() && is_inside_character(tail)) ++tail;
  const std::string_view break_before = text[head - 1] == '\n' ? "" : "\n";
  return fmt::format("{}{}[... {} bytes left out ...]\n{}", text.substr(0, head), break_before,
                     tail - head, text.substr(tail));
}

std::string output_tail(const CommandResult& result) {
  const std::string errors = result.standard_error.text();
  const std::string output = result.standard_output.text();
  std::string_view text = errors.find_first_not_of(" \t\r\n") == errors.npos ? output : errors;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text.size() > kLastWordsBytes) {
    text.remove_prefix(text.size() - kLastWordsBytes);
    const size_t newline = text.find('\n');
    if (newline != text.npos) text.remove_prefix(newline + 1);
  }
  return printable_line(text, kMaxFindingBytes);
}

Result<RunEnd> end_of(const ValidatorConfig& config, const CommandResult& result) {
  if (result.breach) return fail(result.breach->error());
  const std::string words = output_tail(result);
  const std::string said = words.empty() ? std::string() : ": " + words;
  if (!result.exit_code) {
    return fail(ErrorKind::kInternal, "validator.signal",
                fmt::format("{} was ended by signal {}{}", config.command.front(),
                            result.exit_signal.value_or(0), said));
  }
  const int code = *result.exit_code;
  const auto lists = [code](const std::vector<int>& codes) {
    return std::find(codes.begin(), codes.end(), code) != codes.end();
  };
  if (lists(config.ok_exit)) return RunEnd::kNoComplaint;
  if (const std::string line = missing_program(config, result); !line.empty()) {
    return fail(ErrorKind::kNotFound, "validator.program_missing",
                fmt::format("{} could not run: {}", config.command.front(), line));
  }
  if (lists(config.findings_exit)) return RunEnd::kComplaint;
  const bool could_not_run = code == kCannotExecute || code == kNotFound;
  if (config.findings_exit.empty() && !could_not_run) return RunEnd::kComplaint;
  return fail(ErrorKind::kInternal, "validator.exit_status",
              fmt::format("{} ended with status {}, which means neither a pass nor findings{}",
                          config.command.front(), code, said));
}

}  // namespace galley
