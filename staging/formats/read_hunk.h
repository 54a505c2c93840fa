#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/text/lines.h"

namespace galley {

/// The content of an `@@` line.
struct HunkHeader {
  bool has_numbers = false;
  bool has_counts = false;
  bool is_absurd = false;  ///< has a number too large for any file
  uint64_t old_start = 0;
  uint64_t old_count = 0;
  uint64_t new_start = 0;
  uint64_t new_count = 0;
  std::string_view section;
};

/// Reads an `@@` line (without its terminator); nullopt if it is not one. has_numbers is false if
/// numbers are missing or unreadable.
[[nodiscard]] std::optional<HunkHeader> read_hunk_header(std::string_view line);

/// The state of a document before a hunk: its file, and facts about earlier hunks. These facts help
/// to decide whether a last hunk that is too short was cut off or has wrong counts.
struct HunkReadState {
  EditSet& set;
  std::string_view path;                    ///< of the current file
  bool is_ended = true;                     ///< the document ends with a line end
  bool is_in_fence = false;                 ///< a fence is open
  size_t right_counts = 0;                  ///< hunks whose counts match their bodies
  size_t wrong_counts = 0;                  ///< hunks whose counts do not
  bool is_short = false;                    ///< the hunk read last has fewer lines than it states
  bool ends_in_context = true;              ///< all hunks so far do
  std::optional<PossibleTruncation> doubt;  ///< of the hunk read last
};

/// Reads the hunk whose header is line `at`, or the hunk without a header whose first line is line
/// `at`. Returns the line after it.
///
/// If the body matches the stated counts, they determine its end. Otherwise the form of its lines
/// does.
/// Errors: kInvalid, reasons `edit.corrupt_hunk` and `edit.truncated`.
Result<size_t> read_hunk(const Lines& document, size_t at, const ReadOptions& options,
                         HunkReadState& so_far, Hunk& hunk);

/// True if a line of a hunk whose context lines lack their blank may be context or a change. `++i;`
/// may be one.
[[nodiscard]] bool has_doubtful_sign(const std::vector<HunkLine>& bare_lines);
inline constexpr const char* kDoubtfulSign =
    "context lines lack their leading blank, and a line begins with '++' or '--': it may be a "
    "context line, too; begin each with a blank";
inline constexpr const char* kBareContext =
    "context lines without their leading blank were taken as they are";

/// True if line `at` cannot be in the body of a hunk, because it begins a file header, a fence or a
/// mail.
[[nodiscard]] bool starts_section(const Lines& document, size_t at);

/// True if line `at` begins a hunk without a header: some line before the next section or `@@` line
/// begins with + or -, and none is a file header or the head of a block.
[[nodiscard]] bool begins_bare_hunk(const Lines& document, size_t at);

/// True if line `at` opens a fence of a diff that contains only such a hunk.
[[nodiscard]] bool is_bare_hunk_fence(const Lines& document, size_t at);

}  // namespace galley
