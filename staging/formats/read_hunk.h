#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

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

/// Reads an `@@` line (without its terminator); nullopt when it is not one. If numbers are missing
/// or unreadable, has_numbers is false.
[[nodiscard]] std::optional<HunkHeader> read_hunk_header(std::string_view line);

/// The state of a document before a hunk: its file, and facts about earlier hunks. These facts show
/// whether a short last hunk was cut off, or its counts are wrong.
struct HunksSoFar {
  EditSet& set;
  std::string_view path;                    ///< of the current file
  bool is_ended = true;                     ///< the document ends with a line end
  size_t right_counts = 0;                  ///< hunks whose counts match their bodies
  size_t wrong_counts = 0;                  ///< hunks whose counts do not
  bool is_short = false;                    ///< the last hunk has fewer lines than it states
  bool ends_in_context = true;              ///< true for all hunks
  std::optional<PossibleTruncation> doubt;  ///< of the last hunk read
};

/// Reads the hunk with the header at line `at` of the document, or the hunk without a header whose
/// first line is `at`. Returns the line after it.
///
/// The stated counts delimit the body when the body matches them; otherwise its lines do.
/// Errors: kInvalid, reasons `edit.corrupt_hunk` and `edit.truncated`.
Result<size_t> read_hunk(const Lines& document, size_t at, const ReadOptions& options,
                         HunksSoFar& so_far, Hunk& hunk);

/// True when line `at` cannot be in a hunk's body: a file header, a fence, a mail.
[[nodiscard]] bool starts_section(const Lines& document, size_t at);

/// True when line `at` begins changed lines of a hunk without a header. Before the next section or
/// `@@` line, some lines begin with a sign, and no line heads a file or a block.
[[nodiscard]] bool begins_bare_hunk(const Lines& document, size_t at);

/// True when line `at` opens a fence of a diff that contains only such lines.
[[nodiscard]] bool is_bare_hunk_fence(const Lines& document, size_t at);

}  // namespace galley
