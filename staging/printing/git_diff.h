#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "staging/text/diff.h"

namespace galley {

class Hyperlinks;

/// git's file modes, as in index entries and patch headers.
namespace git_mode {
inline constexpr uint32_t kAbsent = 0;
inline constexpr uint32_t kRegular = 0100644;
inline constexpr uint32_t kExecutable = 0100755;
inline constexpr uint32_t kSymlink = 0120000;
inline constexpr uint32_t kSubmodule = 0160000;  ///< its content is `Subproject commit <id>`
}  // namespace git_mode

/// How the new file of a pair was made from the old one.
enum class PairKind : uint8_t { kSamePath, kRename, kCopy };

/// One file before and after a change, as in git's diff.
///
/// Ownership: borrows both contents. The content of a symlink is its target.
struct FilePair {
  std::string old_path;  ///< equal to new_path unless renamed or copied
  std::string new_path;
  uint32_t old_mode = git_mode::kAbsent;
  uint32_t new_mode = git_mode::kAbsent;
  std::string_view old_content;
  std::string_view new_content;
  PairKind kind = PairKind::kSamePath;
  int similarity = 0;                   ///< of a rename or copy, in per cent
  std::optional<GitOid> old_blob = {};  ///< git's names of the contents, if known
  std::optional<GitOid> new_blob = {};

  [[nodiscard]] bool is_create() const {
    return old_mode == git_mode::kAbsent && new_mode != git_mode::kAbsent;
  }
  [[nodiscard]] bool is_delete() const {
    return old_mode != git_mode::kAbsent && new_mode == git_mode::kAbsent;
  }
  /// True if a file became a symlink or the reverse. git prints a deletion and a creation.
  [[nodiscard]] bool is_type_change() const {
    return old_mode != git_mode::kAbsent && new_mode != git_mode::kAbsent &&
           (old_mode & 0170000U) != (new_mode & 0170000U);
  }
};

enum class WordDiff : uint8_t { kNone, kPlain, kColor };
enum class MovedLines : uint8_t { kNone, kPlain, kZebra };

enum class MovedMark : uint8_t { kNone, kMoved, kAlternative };

/// Marks of the removed and added lines, in the order in which they are printed (diff_moved.h).
/// Printing a file advances `next`.
struct MovedMarks {
  std::vector<MovedMark> marks;
  size_t next = 0;
};

struct DiffOptions {
  LineDiffOptions lines;
  uint32_t context = 3;        ///< -U
  uint32_t between_hunks = 0;  ///< --inter-hunk-context
  bool color = false;
  /// Shows contents as in base/printable.h, for people. Such a diff cannot be applied.
  bool is_printable = false;
  bool functions_by_language = true;  ///< false: git's default rule for every file
  bool full_index = false;            ///< --full-index
  bool binary = true;                 ///< --binary; false prints "Binary files … differ"
  WordDiff word_diff = WordDiff::kNone;
  MovedLines moved = MovedLines::kNone;  ///< --color-moved; needs color
  MovedMarks* marks = nullptr;           ///< for several files; null: within each file
  const Hyperlinks* links = nullptr;     ///< from hunks to their first lines in the new file
  std::string old_prefix = "a/";
  std::string new_prefix = "b/";
};

/// One hunk: its lines and its heading.
struct FileHunk {
  HunkSpan span;
  std::string heading;  ///< text after the second "@@", as in git; may be empty

  bool operator==(const FileHunk&) const = default;
};

/// The diff of one file pair as a value.
///
/// Invariant: `script` and `hunks` are empty if the pair is binary or the content is unchanged.
struct FileDiff {
  char status = 'M';  ///< git's letter: A D M R C T
  std::string old_path;
  std::string new_path;
  uint32_t old_mode = git_mode::kAbsent;
  uint32_t new_mode = git_mode::kAbsent;
  int similarity = 0;
  bool is_binary = false;
  uint64_t old_bytes = 0;
  uint64_t new_bytes = 0;
  LineCounts counts;
  EditScript script;
  std::vector<FileHunk> hunks;

  bool operator==(const FileDiff&) const = default;
};

/// Splits a type change into a deletion and a creation.
[[nodiscard]] std::pair<FilePair, FilePair> split_type_change(const FilePair& pair);

/// As in git: true for a NUL among the first 8,000 bytes, or for a content that is too large.
[[nodiscard]] bool looks_binary(std::string_view content);

/// Compares one pair. A type change is one pair without hunks.
[[nodiscard]] FileDiff diff_file(const FilePair& pair, const DiffOptions& options = {});

/// Appends the output of `git diff --binary` for the pair: headers, hunks, binary patches,
/// `\ No newline at end of file`. It equals git's output byte for byte if both choose the same
/// lines. Appends nothing for an equal pair.
///
/// Unless `lines.white_space`, `word_diff`, `is_printable` or `color` is set, `git apply` of the
/// output turns the old file into the new one.
void append_git_diff(const FilePair& pair, const DiffOptions& options, std::string& out);
/// As above, for a pair that was already compared with these options.
void append_git_diff(const FilePair& pair, const FileDiff& diff, const DiffOptions& options,
                     std::string& out);
[[nodiscard]] std::string git_diff(const FilePair& pair, const DiffOptions& options = {});

/// Returns a name as git prints it: in double quotes with C escapes if it has a control character,
/// a quote, a backslash or a byte above 0x7e.
[[nodiscard]] std::string quote_path(std::string_view path);
/// Returns a name for a line that an agent reads: quoted only if a line would not show it as it is.
[[nodiscard]] std::string name_in_line(const std::string& path);

/// The output of `git diff --name-status`: a letter (with the similarity of a rename or copy) and
/// the paths.
[[nodiscard]] std::string name_status(const std::vector<FileDiff>& diffs);

/// The output of `git diff --numstat`: the numbers of added and removed lines, "-" for binary
/// files.
[[nodiscard]] std::string numstat(const std::vector<FileDiff>& diffs);

struct DiffStatOptions {
  int width = 80;  ///< columns of a line; more if names and counts need it
  bool color = false;
  const Hyperlinks* links = nullptr;  ///< from names to the new files
};

/// The output of `git diff --stat`: a bar for each file and the line of totals. Empty without
/// files.
[[nodiscard]] std::string diffstat(const std::vector<FileDiff>& diffs,
                                   const DiffStatOptions& options = {});

/// The output of `git diff --shortstat`: only the line of totals, with its newline.
[[nodiscard]] std::string shortstat(const std::vector<FileDiff>& diffs);

/// A rename as git writes it in a summary: `src/{old => new}/file.c`.
[[nodiscard]] std::string rename_notation(std::string_view old_path, std::string_view new_path);

}  // namespace galley
