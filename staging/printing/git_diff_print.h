#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "staging/printing/git_diff.h"
#include "staging/text/lines.h"

namespace galley {

// git's default palette (git-config, color.diff.<slot>).
inline constexpr std::string_view kColorReset = "\033[m";
inline constexpr std::string_view kOldColor = "\033[31m";
inline constexpr std::string_view kNewColor = "\033[32m";

/// Appends the lines of a diff, with git's default colours or without colours.
///
/// Ownership: borrows the output.
class DiffPrinter {
 public:
  DiffPrinter(const DiffOptions& options, std::string& out) : options_(options), out_(out) {}

  /// A header line ("diff --git …", "index …", "--- …"), without its newline.
  void header(std::string_view line);
  /// All hunks of a compared text pair.
  void hunks(const FileDiff& diff, const Lines& before, const Lines& after);

 private:
  void make_room(const FileDiff& diff, const Lines& before, const Lines& after);
  void hunk_header(const FileDiff& diff, const FileHunk& hunk);
  void context_lines(const Lines& lines, uint32_t begin, uint32_t end);
  void removed_lines(const Lines& lines, uint32_t begin, uint32_t end);
  void added_lines(const Lines& lines, uint32_t begin, uint32_t end);
  void context_words(const Lines& lines, uint32_t begin, uint32_t end);
  void changed_words(const ChangedRange& range, const Lines& before, const Lines& after);
  [[nodiscard]] std::string_view color_of(bool added);
  void line(char sign, std::string_view color, std::string_view text);
  void content(std::string_view text);

  const DiffOptions& options_;
  std::string& out_;
  MovedMarks own_marks_;
  MovedMarks* marks_ = nullptr;  // null when moved lines are not marked
};

/// Appends a `GIT binary patch` body for a pair of contents: both sides as zlib-deflated literals
/// in git's base 85, forward then reverse, so that it can be applied and reversed (git's
/// diff-format).
void append_binary_patch(std::string_view before, std::string_view after, std::string& out);

}  // namespace galley
