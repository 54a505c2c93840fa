#include "engine/calls/sanitizer.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "tools/redactor.h"

namespace galley {

namespace {

using nlohmann::json;

constexpr size_t kMaxShownKeyBytes = 64;

/// The kind of an argument, by its name. All dialects use the same names.
enum class ArgumentKind : uint8_t { kContent, kPath, kName, kCommand };

/// Names of files, which may have any control character.
constexpr std::array<std::string_view, 9> kPaths = {
    "path", "file", "file_path", "source", "destination", "target", "cwd", "directory", "filename"};
constexpr std::array<std::string_view, 15> kNames = {
    "name",   "tool",       "agent",      "url",     "host", "branch", "ref",    "remote",
    "commit", "capability", "repository", "service", "user", "group",  "program"};
constexpr std::array<std::string_view, 4> kCommands = {"command", "args", "argv", "cmd"};

ArgumentKind kind_of(std::string_view key) {
  if (std::find(kPaths.begin(), kPaths.end(), key) != kPaths.end()) return ArgumentKind::kPath;
  if (std::find(kNames.begin(), kNames.end(), key) != kNames.end()) return ArgumentKind::kName;
  if (std::find(kCommands.begin(), kCommands.end(), key) != kCommands.end()) {
    return ArgumentKind::kCommand;
  }
  return ArgumentKind::kContent;
}

/// Finds C0 and C1 controls and DEL. A command may have newlines and tabs.
bool has_control(std::string_view text, ArgumentKind kind) {
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<uint8_t>(text[at]);
    const bool is_layout = kind == ArgumentKind::kCommand && (byte == '\n' || byte == '\t');
    if ((byte < ' ' && !is_layout) || byte == 0x7f) return true;
    const bool is_c1 =
        byte == 0xc2 && at + 1 < text.size() && static_cast<uint8_t>(text[at + 1]) < 0xa0;
    if (is_c1) return true;
  }
  return false;
}

/// Finds characters that change the order in which text is displayed (U+202A to U+202E, U+2066 to
/// U+2069). A name or a command with one of them is not what it looks like.
bool has_bidi_control(std::string_view text) {
  for (size_t at = text.find('\xe2'); at != text.npos; at = text.find('\xe2', at + 1)) {
    if (at + 2 >= text.size()) return false;
    const auto middle = static_cast<uint8_t>(text[at + 1]);
    const auto last = static_cast<uint8_t>(text[at + 2]);
    if (middle == 0x80 && last >= 0xaa && last <= 0xae) return true;
    if (middle == 0x81 && last >= 0xa6 && last <= 0xa9) return true;
  }
  return false;
}

class InputCheck {
 public:
  void look(const json& value, const std::string& pointer, ArgumentKind kind) {
    if (error_) return;
    if (value.is_string()) return look_at(value.get_ref<const std::string&>(), pointer, kind);
    if (value.is_array()) {
      for (size_t i = 0; i < value.size() && !error_; ++i) {
        look(value[i], pointer + "/" + std::to_string(i), kind);
      }
    }
    if (!value.is_object()) return;
    for (const auto& [key, item] : value.items()) {
      if (error_) return;
      if (!is_utf8(key)) return refuse("args.encoding", pointer, "has a name that is not UTF-8");
      look(item, pointer + "/" + key.substr(0, kMaxShownKeyBytes), kind_of(key));
    }
  }
  [[nodiscard]] std::optional<ToolError> take() { return std::move(error_); }

 private:
  void look_at(const std::string& text, const std::string& pointer, ArgumentKind kind) {
    if (!is_utf8(text)) {
      return refuse(
          "args.encoding", pointer,
          "is not UTF-8 (a lone surrogate is not a character); give bytes in base64 where "
          "the tool takes it");
    }
    if (text.find('\0') != text.npos) return refuse("args.nul", pointer, "has a NUL in it");
    if (kind == ArgumentKind::kContent) return;
    const bool is_name = kind != ArgumentKind::kCommand;
    const size_t most = is_name ? kMaxNameArgumentBytes : kMaxCommandArgumentBytes;
    if (text.size() > most) {
      refuse(is_name ? "limit.name_bytes" : "limit.command_bytes", pointer,
             "has " + std::to_string(text.size()) + " bytes, more than " + std::to_string(most));
      error_->code = ToolErrorCode::kQuota;
      return;
    }
    if (has_bidi_control(text)) {
      return refuse("args.bidi", pointer,
                    "has a character that turns the direction of text: it would not read as it is");
    }
    if (kind != ArgumentKind::kPath && has_control(text, kind)) {
      return refuse("args.control", pointer, "has a control character in it");
    }
  }
  void refuse(std::string reason, const std::string& pointer, const std::string& what) {
    error_ = ToolError{ToolErrorCode::kValidation, std::move(reason),
                       "the argument '" + pointer + "' " + what, nullptr};
  }

  std::optional<ToolError> error_;
};

}  // namespace

std::optional<ToolError> input_refusal(const json& arguments) {
  InputCheck check;
  check.look(arguments, "", ArgumentKind::kContent);
  return check.take();
}

namespace {

/// Filters both streams of one command.
class OutputFilter {
 public:
  explicit OutputFilter(const Command& command) : command_(&command) {}

  void take(OutputStream stream, std::string_view text) { pass(stream, of(stream).feed(text)); }
  /// Called when output was dropped: the next output does not follow the last one.
  void cut(OutputStream stream, uint64_t left_out) {
    pass(stream, of(stream).finish());
    if (command_->on_left_out) command_->on_left_out(stream, left_out);
  }
  void finish() {
    for (const OutputStream stream : {OutputStream::kStdout, OutputStream::kStderr}) {
      pass(stream, of(stream).finish());
    }
  }

 private:
  PatternStream& of(OutputStream stream) { return streams_.at(static_cast<size_t>(stream)); }
  void pass(OutputStream stream, const std::string& text) {
    if (!text.empty() && command_->on_output) command_->on_output(stream, text);
  }

  const Command* command_;
  std::array<PatternStream, 2> streams_;
};

void redact(CapturedOutput& output) {
  output.head = redact_patterns(output.head);
  output.tail = redact_patterns(output.tail);
}

}  // namespace

Result<CommandResult> run_redacted(CommandRunner& runner, const Command& command,
                                   Overlay& overlay) {
  OutputFilter filter(command);
  Command watched = command;
  if (command.on_output) {
    watched.on_output = [&](OutputStream stream, std::string_view text) {
      filter.take(stream, text);
    };
    watched.on_left_out = [&](OutputStream stream, uint64_t bytes) { filter.cut(stream, bytes); };
  }
  auto result = runner.run(watched, overlay);
  filter.finish();
  if (!result) return result;
  redact(result->standard_output);
  redact(result->standard_error);
  return result;
}

}  // namespace galley
