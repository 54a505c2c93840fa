#include <fmt/core.h>
#include <algorithm>
#include <span>

#include "base/text.h"
#include "engine/policy/effects.h"
#include "engine/policy/policy.h"
#include "engine/validators/builtin.h"
#include "engine/validators/file_validator.h"
#include "engine/validators/new_findings.h"

namespace galley {

namespace {

constexpr size_t kMarkerBytes = 7;
constexpr uint64_t kDefaultMaxBytes = uint64_t{1} << 20U;

/// '<', '=', '>' or '|' when the line is a conflict marker (diff.c, is_conflict_marker), else 0.
char marker_of(std::string_view line) {
  if (line.size() <= kMarkerBytes) return 0;
  const char first = line[0];
  if (first != '<' && first != '=' && first != '>' && first != '|') return 0;
  for (size_t i = 1; i < kMarkerBytes; ++i) {
    if (line[i] != first) return 0;
  }
  return is_plain_space(line[kMarkerBytes]) ? first : '\0';
}

Result<void> check_conflict_markers(const ValidatorConfig& /*config*/, const CheckedFile& file,
                                    FindingSink& sink) {
  const Lines lines(file.text);
  bool has_sides = false;
  for (size_t i = 0; i < lines.size() && !has_sides; ++i) {
    const char marker = marker_of(lines[i]);
    has_sides = marker != 0 && marker != '=';
  }
  // A line of seven '=' may underline a heading; it is a conflict only with another marker in the
  // file.
  if (!has_sides) return {};
  for (const LineBlock& block : added_lines(file.before, lines)) {
    for (uint32_t i = block.begin; i < block.end; ++i) {
      if (marker_of(lines[i]) == 0) continue;
      sink.add("conflict_markers", i + 1, 1,
               fmt::format("leftover conflict marker `{}`", lines[i].substr(0, kMarkerBytes)),
               "resolve the conflict and remove its markers");
    }
  }
  return {};
}

size_t trailing_blanks(const Lines& lines) {
  size_t count = 0;
  while (count < lines.size() && is_blank(lines[lines.size() - 1 - count], kPlainSpaces)) ++count;
  return count;
}

// ws.c, ws_check_emit, with blank-at-eol, space-before-tab and cr-at-eol.
void check_line(std::string_view line, uint32_t number, FindingSink& sink) {
  size_t end = line.size();
  while (end > 0 && is_plain_space(line[end - 1])) --end;
  if (end < line.size()) {
    sink.add("whitespace.trailing", number, static_cast<uint32_t>(end + 1), "trailing white space",
             "remove it");
  }
  size_t written = 0;
  for (size_t i = 0; i < end && (line[i] == ' ' || line[i] == '\t'); ++i) {
    if (line[i] == ' ') continue;
    if (written < i) {
      sink.add("whitespace.space_before_tab", number, static_cast<uint32_t>(i),
               "space before tab in the indentation", "indent with one of the two");
      return;
    }
    written = i + 1;
  }
}

Result<void> check_whitespace(const ValidatorConfig& /*config*/, const CheckedFile& file,
                              FindingSink& sink) {
  const Lines lines(file.text);
  for (const LineBlock& block : added_lines(file.before, lines)) {
    for (uint32_t i = block.begin; i < block.end; ++i) {
      check_line(without_terminator(lines[i]), i + 1, sink);
    }
  }
  const size_t blank_before = trailing_blanks(Lines(file.before));
  const size_t blank_after = trailing_blanks(lines);
  if (blank_after > blank_before) {
    sink.add("whitespace.blank_at_eof", static_cast<uint32_t>(lines.size() - blank_after + 1), 0,
             "new blank line at the end of the file", "remove it");
  }
  return {};
}

Result<void> check_utf8(const ValidatorConfig& /*config*/, const CheckedFile& file,
                        FindingSink& sink) {
  const auto offset = first_invalid_utf8(file.text);
  // A file that was in another encoding before may stay in it: this change did not cause that.
  if (!offset || (file.existed && first_invalid_utf8(file.before))) return {};
  const auto [line, column] = FindingSink::place(file.text, *offset);
  sink.add("utf8", line, column,
           fmt::format("byte 0x{:02X} is not valid UTF-8",
                       static_cast<unsigned>(static_cast<unsigned char>(file.text[*offset]))),
           "write the file in UTF-8");
  return {};
}

struct EndingCounts {
  size_t lf = 0;
  size_t crlf = 0;
};

bool ends_with_crlf(std::string_view line) { return line.ends_with("\r\n"); }

EndingCounts count_endings(const Lines& lines) {
  EndingCounts counts;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (ends_with_crlf(lines[i])) {
      ++counts.crlf;
    } else if (lines[i].ends_with('\n')) {
      ++counts.lf;
    }
  }
  return counts;
}

Result<void> check_line_endings(const ValidatorConfig& config, const CheckedFile& file,
                                FindingSink& sink) {
  const Lines lines(file.text);
  const EndingCounts before = count_endings(Lines(file.before));
  bool wants_crlf = config.style == "crlf";
  if (config.style == "keep") {
    if (before.lf > 0 && before.crlf > 0) return {};  // it was already mixed
    wants_crlf = before.crlf > 0;
    if (before.lf + before.crlf == 0) {  // new: its first line decides
      if (lines.empty()) return {};
      wants_crlf = ends_with_crlf(lines[0]);
    }
  }
  size_t wrong = 0;
  uint32_t first = 0;
  for (const LineBlock& block : added_lines(file.before, lines)) {
    for (uint32_t i = block.begin; i < block.end; ++i) {
      if (!lines[i].ends_with('\n') || ends_with_crlf(lines[i]) == wants_crlf) continue;
      if (wrong++ == 0) first = i + 1;
    }
  }
  if (wrong == 0) return {};
  sink.add(
      "line_endings", first, 0,
      fmt::format("{} added line{} with {} in a file of {}", wrong, wrong == 1 ? " ends" : "s end",
                  wants_crlf ? "LF" : "CRLF", wants_crlf ? "CRLF" : "LF"),
      wants_crlf ? "end its lines with CRLF" : "end its lines with LF");
  return {};
}

Result<void> check_last_newline(const ValidatorConfig& /*config*/, const CheckedFile& file,
                                FindingSink& sink) {
  if (file.text.empty() || file.text.ends_with('\n')) return {};
  if (!file.before.empty() && !file.before.ends_with('\n')) return {};
  const Lines lines(file.text);
  sink.add("last_newline", static_cast<uint32_t>(lines.size()), 0,
           "no newline at the end of the file", "end the last line with a newline");
  return {};
}

Result<void> check_size(const ValidatorConfig& config, const CheckedFile& file, FindingSink& sink) {
  const uint64_t limit = config.max_bytes == 0 ? kDefaultMaxBytes : config.max_bytes;
  const bool grew = !file.existed || file.text.size() > file.before.size();
  if (file.text.size() <= limit || !grew) return {};
  sink.add("size", 0, 0, fmt::format("{} bytes, more than the {} allowed", file.text.size(), limit),
           "keep large files out, or raise max_bytes of this validator");
  return {};
}

/// Whether the text names its interpreter. Rust's inner attributes (`#![no_std]`) do not.
bool has_shebang(std::string_view text) {
  return text.starts_with("#!") && !text.starts_with("#![");
}

Result<void> check_shebang(const ValidatorConfig& /*config*/, const CheckedFile& file,
                           FindingSink& sink) {
  constexpr uint32_t kExecutableBits = 0111;
  const bool is_script = has_shebang(file.text);
  const bool is_executable = (file.change.after.mode & kExecutableBits) != 0;
  if (is_script == is_executable) return {};
  const bool was_same = file.existed && has_shebang(file.before) == is_script &&
                        ((file.before_mode & kExecutableBits) != 0) == is_executable;
  if (was_same) return {};
  if (is_script) {
    sink.add("shebang.not_executable", 1, 0, "begins with `#!` but is not executable",
             "set its executable bit (mode 0755) or remove the `#!` line");
  } else {
    sink.add("shebang.missing", 1, 0, "is executable text but does not begin with `#!`",
             "name its interpreter in a `#!` line or take the executable bit away");
  }
  return {};
}

}  // namespace

std::span<const FileRule> text_rules() {
  static const FileRule kRules[] = {
      {"conflict_markers", check_conflict_markers},
      {"last_newline", check_last_newline, {{"*"}, true, uint64_t{1} << 30U}},
      {"line_endings", check_line_endings},
      {"shebang", check_shebang},
      {"size", check_size, {{"*"}, false, uint64_t{1} << 40U}},
      {"utf8", check_utf8, {{"*"}, true, uint64_t{1} << 30U}},
      {"whitespace", check_whitespace},
  };
  return kRules;
}

namespace {

/// Shared by the validators that look at the tree around a change.
class TreeValidator : public Validator {
 public:
  explicit TreeValidator(const ValidatorConfig& config) : config_(config) {}
  [[nodiscard]] const std::string& name() const override { return config_.name; }
  [[nodiscard]] bool concerns(const ChangeSet& changes, const std::string& agent) const override {
    return names_agent(config_.agents, agent) &&
           std::any_of(changes.begin(), changes.end(),
                       [this](const Change& change) { return selects(change); });
  }

 protected:
  [[nodiscard]] virtual bool is_of_interest(const Change& change) const = 0;
  [[nodiscard]] bool selects(const Change& change) const {
    return is_of_interest(change) && (!config_.has_paths || config_.paths.selects(change.path));
  }
  [[nodiscard]] const ValidatorConfig& config() const { return config_; }

 private:
  ValidatorConfig config_;
};

class SymlinksValidator final : public TreeValidator {
 public:
  using TreeValidator::TreeValidator;

  [[nodiscard]] Result<ValidatorReport> validate(const ValidatorContext& context) override {
    ValidatorReport report;
    for (const Change& change : context.tree.proposal().changes()) {
      if (!selects(change)) continue;
      if (context.should_stop()) {
        return fail(ErrorKind::kTimeout, "validator.stopped", "it was stopped before it was done");
      }
      GALLEY_ASSIGN(const std::string target, context.tree.read_link(change.path));
      GALLEY_ASSIGN(const LinkEnd end, follow_link(context.tree, change.path, target));
      FindingSink sink(config(), change.path.str(), report.findings);
      if (end == LinkEnd::kMissing) {
        sink.add("symlinks.broken", 0, 0,
                 fmt::format("the symbolic link leads to {}, which is not there", target),
                 "create the target or correct the link");
      } else if (end == LinkEnd::kLoop) {
        sink.add("symlinks.loop", 0, 0, "the symbolic link leads back to itself",
                 "link to a file or directory");
      }
    }
    return report;
  }

 protected:
  [[nodiscard]] bool is_of_interest(const Change& change) const override {
    return change.after.kind == FileKind::kSymlink;
  }
};

class CaseCollisionsValidator final : public TreeValidator {
 public:
  using TreeValidator::TreeValidator;

  [[nodiscard]] Result<ValidatorReport> validate(const ValidatorContext& context) override {
    ValidatorReport report;
    GALLEY_ASSIGN(const auto pairs, case_collisions(context.tree));
    for (const auto& [path, other] : pairs) {
      if (config().has_paths && !config().paths.selects(path)) continue;
      FindingSink sink(config(), path.str(), report.findings);
      sink.add("case_collisions", 0, 0,
               fmt::format("its name differs from {} only in case", other.str()),
               "choose another name: they are one file on macOS and Windows");
    }
    return report;
  }

 protected:
  [[nodiscard]] bool is_of_interest(const Change& change) const override {
    return change.is_create();
  }
};

}  // namespace

ValidatorPtr make_symlinks_validator(const ValidatorConfig& config) {
  return std::make_unique<SymlinksValidator>(config);
}
ValidatorPtr make_case_collisions_validator(const ValidatorConfig& config) {
  return std::make_unique<CaseCollisionsValidator>(config);
}

}  // namespace galley
