#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/formats/patch_path.h"
#include "staging/text/lines.h"

namespace galley {

/// A name in a header line, and its line.
struct NameLine {
  HeaderName name;
  size_t line = 0;         ///< 1-based; 0 if no line has one
  bool has_stamp = false;  ///< a tab follows the name, as diff writes it
};

/// The data of one file's extended header lines that FileEdit lacks (gitdiff documentation,
/// "Generating patch text with -p").
struct ExtendedHeader {
  std::optional<NamePair> git_names;  ///< of the `diff --git` line
  size_t git_line = 0;                ///< 1-based
  NameLine from;                      ///< of rename and copy lines, unstripped
  NameLine to;
  NameLine old_name;           ///< of the `---` line
  NameLine new_name;           ///< of the `+++` line
  size_t op_line = 0;          ///< 1-based, the first create, delete, rename or copy line; 0: none
  bool is_dissimilar = false;  ///< a similarity below 100 %
};

/// Reads the header lines from line `at` into `edit` and `header`. Returns the line after them.
/// Errors: kInvalid, reason `edit.bad_header`, also if two lines contradict each other.
Result<size_t> read_extended_header(const Lines& document, size_t at, FileEdit& edit,
                                    ExtendedHeader& header);

/// Checks that the `---` and `+++` lines agree with the other header lines, as git does.
/// Errors: kInvalid, reason `edit.bad_header`; the message names both lines.
Result<void> check_header_names(const ExtendedHeader& header, const FileEdit& edit);

/// True if the header states that the content changes, so that a body must follow.
[[nodiscard]] bool announces_body(const ExtendedHeader& header, const FileEdit& edit);

/// True if the header alone makes a change: of the mode or the name, or a created or deleted file.
[[nodiscard]] bool changes_metadata(const FileEdit& edit);

}  // namespace galley
