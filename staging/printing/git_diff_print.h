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

/// Appends the lines of a diff, with git's default colors or without colors.
///
/// Ownership: borrows the output.
class DiffPrinter {
 public:
  DiffPrinter(const DiffOptions& options, std::string& out) : options_(options), out_(out) {}

  /// Appends a header line ("diff --git …", "index …", "--- …"). `line` lacks its newline.
  void header(std::string_view line);
  /// Appends all hunks of a compared text pair.
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
  MovedMarks* marks_ = nullptr;  // null if moved lines are not marked
};

/// Appends the body of a `GIT binary patch` for a pair of contents. Both sides are zlib-deflated
/// literals in git's base 85, the new content first, so that the patch can be applied and reversed.
/// Source: git's diff.c.
void append_binary_patch(std::string_view before, std::string_view after, std::string& out);

}  // namespace galley
