#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/text/lines.h"

namespace galley {

/// What an `@@` line states.
struct HunkHeader {
  bool has_numbers = false;
  bool has_counts = false;
  bool is_absurd = false;  ///< a number no file can have
  uint64_t old_start = 0;
  uint64_t old_count = 0;
  uint64_t new_start = 0;
  uint64_t new_count = 0;
  std::string_view section;
};

/// Reads an `@@` line (without its terminator); nothing when it is none. Numbers that are missing
/// or not readable leave has_numbers false.
[[nodiscard]] std::optional<HunkHeader> read_hunk_header(std::string_view line);

/// The document up to a hunk: where the hunk belongs, and what the hunks before it were like. These
/// tell whether a last hunk with too few lines was cut off, or its counts are wrong.
struct HunksSoFar {
  EditSet& set;
  std::string_view path;          ///< of the file that is being read
  bool is_ended = true;           ///< the document ends with a line end
  size_t right_counts = 0;        ///< hunks whose counts are those of their bodies
  size_t wrong_counts = 0;        ///< hunks whose counts are not
  bool is_short = false;          ///< the last one has fewer lines than it states
  bool ends_in_context = true;    ///< all of them do
  std::optional<CutDoubt> doubt;  ///< of the last hunk read
};

/// Reads the hunk whose header is line `at` of the document, or the hunk without a header whose
/// first line that is, and returns the line after it.
///
/// The stated counts delimit the body when the body agrees with them; otherwise the body does.
/// Errors: kInvalid, reasons `edit.corrupt_hunk` and `edit.truncated`.
Result<size_t> read_hunk(const Lines& document, size_t at, const ReadOptions& options,
                         HunksSoFar& so_far, Hunk& hunk);

/// True when line `at` begins something other than a hunk's body: a file header, a fence, a mail.
[[nodiscard]] bool starts_section(const Lines& document, size_t at);

/// True when line `at` begins changed lines of a hunk that has no header: some begin with a sign,
/// and none before the next section is a header.
[[nodiscard]] bool begins_bare_hunk(const Lines& document, size_t at);

/// True when line `at` opens a fence that is said to hold a diff, and only has such lines.
[[nodiscard]] bool is_bare_hunk_fence(const Lines& document, size_t at);

}  // namespace galley
