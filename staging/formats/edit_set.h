#pragma once

#include <galley/edit.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// The name of a format in `--format`.
[[nodiscard]] std::string_view format_name(EditFormat format);
/// The format with this name in `--format`; kAuto for an unknown name.
[[nodiscard]] EditFormat format_named(std::string_view name);

/// An irregularity that Galley accepted, but a strict reader or matcher would refuse. It is always
/// reported.
struct Leniency {
  std::string rule;     ///< stable word: `count_mismatch`, `no_line_numbers`, `crlf_patch`, ...
  std::string message;  ///< one sentence
  std::string path;     ///< the file concerned, or empty
  uint32_t line = 0;    ///< 1-based line of the edit document, 0 if it has none

  bool operator==(const Leniency&) const = default;
};

/// The names of all leniencies, sorted.
[[nodiscard]] std::span<const std::string_view> leniency_names();

enum class LineRole : uint8_t { kContext, kRemoved, kAdded };

/// One line of a hunk, with its terminator exactly as in the patch. Only the last line of a file
/// may lack its "\n".
struct HunkLine {
  LineRole role = LineRole::kContext;
  std::string_view text;
};

/// The lines to find (context and removed) and the lines to put there (context and added).
struct Hunk {
  std::vector<HunkLine> lines;
  uint32_t old_start = 0;  ///< 1-based as stated; meaningless unless has_numbers
  uint32_t new_start = 0;
  bool has_numbers = false;
  bool counts_agree = true;  ///< the stated counts match the body
  /// The number of lines that have the stated counts, if more follow that look like lines of the
  /// hunk; else 0.
  size_t counted_lines = 0;
  bool at_end = false;                    ///< must end at the end of the file ("*** End of File")
  bool is_below_anchor = false;           ///< only adds lines: below the last anchor
  bool minimal_context = false;           ///< a diff without context is accepted (--unidiff-zero)
  bool has_bare_context = false;          ///< context lines lacked their leading blank
  std::vector<std::string_view> anchors;  ///< lines above the hunk, in order ("@@ class Foo")
  std::string_view section;               ///< text after the second @@, for reports
  uint32_t document_line = 0;             ///< 1-based line of its header in the edit document
  uint32_t document_end = 0;              ///< of its last line, in a unified diff
};

/// An edit that names its place by text or by line numbers. Edits are applied in order, each to the
/// result of the previous one.
struct TextEdit {
  enum class Kind : uint8_t {
    kReplace,      ///< `old_text` by `new_text`; once, or everywhere with replace_all
    kInsert,       ///< `new_text` after line `first_line` (0 = before the first line)
    kReplaceLines  ///< lines [first_line, last_line] by `new_text`
  };
  Kind kind = Kind::kReplace;
  std::string_view old_text;
  std::string_view new_text;
  bool replace_all = false;
  bool whole_lines = false;   ///< old_text and new_text are whole lines (SEARCH/REPLACE blocks)
  bool has_elisions = false;  ///< lines "..." in both texts mean unchanged lines
  uint32_t first_line = 0;
  uint32_t last_line = 0;
  /// SHA-256 in hex (any prefix of at least 8 digits) of the lines that the caller saw; empty if
  /// not given.
  std::string_view anchor_hash;
  uint32_t document_line = 0;
};

/// One side of a `GIT binary patch`.
struct BinaryPatch {
  enum class Kind : uint8_t { kLiteral, kDelta };
  Kind kind = Kind::kLiteral;
  uint64_t inflated_size = 0;
  std::string deflated;  ///< after base85
};

/// The last hunk of a document has fewer lines than its header states, or its last line has no end.
/// Either the document was cut off or it is complete. It does not show which, but the file may.
struct PossibleTruncation {
  std::string message;     ///< of the refusal, if the file does not show which it is
  bool is_likely = false;  ///< the other hunks, or the form of the only one, speak for a cut
  bool is_ended = true;    ///< the document's last line has a line end
  uint32_t missing_old = 0;
  uint32_t missing_new = 0;
};

enum class FileOp : uint8_t {
  kModify,
  kCreate,
  kDelete,
  kRename,
  kCopy,
  kWrite,  ///< the whole content, whether the file exists or not
};

/// The name of an operation in reports, such as `modify` or `create`.
[[nodiscard]] std::string_view file_op_name(FileOp op);

/// The edit of one file. Every dialect is translated to these.
struct FileEdit {
  FileOp op = FileOp::kModify;
  std::string path;      ///< the pre-image's path (of a create: the new path)
  std::string new_path;  ///< of a rename or copy
  /// The alternative paths if a prefix is uncertain (`a/` may be a part of the name or not). Empty
  /// if the path is certain. Galley uses the path that exists.
  std::string other_path;
  std::string other_new_path;
  std::optional<uint32_t> old_mode;  ///< git modes: 0100644, 0100755, 0120000, 0160000
  std::optional<uint32_t> new_mode;
  std::string old_blob;  ///< hex digits of the index line; may be abbreviated
  std::string new_blob;
  std::vector<Hunk> hunks;                ///< placed together: in order, without overlap
  std::vector<TextEdit> text_edits;       ///< in order, each on the result of the last
  std::optional<std::string_view> whole;  ///< of kWrite, and of kCreate without hunks
  bool is_complete = false;  ///< the caller says that `whole` of kModify is all of the file
  bool may_be_new = false;   ///< `whole` of kModify may make a file; a name in prose may not
  std::optional<BinaryPatch> binary;          ///< pre-image to post-image
  std::optional<BinaryPatch> binary_reverse;  ///< post-image to pre-image
  bool binary_missing = false;  ///< "Binary files differ": the bytes are not in the patch
  std::string wanted_base;      ///< content id in hex that the file must have, or empty
  std::optional<PossibleTruncation> doubt;  ///< of the last hunk
  /// File names in the text around the edit; for an edit that does not name its file.
  std::vector<std::string> mentioned;
  bool is_by_program = false;  ///< has marks of git or diff that models do not write
  uint32_t document_line = 0;
  /// The index of its part, in an answer with several parts or a series of mails. A part sees the
  /// results of the parts before it.
  uint32_t part = 0;
};

/// All edits of one edit document, in order.
///
/// Ownership: keeps the texts that its files' views point to; copies share them.
struct EditSet {
  EditFormat format = EditFormat::kUnified;
  std::vector<FileEdit> files;
  std::vector<Leniency> leniencies;
  std::vector<std::shared_ptr<const std::string>> texts;
  bool is_reversed = false;  ///< reversed by -R
  std::string directory;     ///< --directory, which the paths of `files` begin with
  /// Whether --include and --exclude take a path; empty: all.
  std::function<bool(const std::string&)> is_wanted;

  /// Takes ownership of `text`. Returns a view of it, which is valid as long as the set or one of
  /// its copies.
  std::string_view keep(std::string text) {
    texts.push_back(std::make_shared<const std::string>(std::move(text)));
    return *texts.back();
  }
};

/// Whether the caller knows that the document is complete or was cut off.
enum class DocumentEnd : uint8_t { kUnknown, kComplete, kCutOff };

/// Options for reading an edit document, with names and meanings of `git apply`.
struct ReadOptions {
  std::optional<uint32_t> strip;  ///< -p N; without it the prefix is guessed
  bool reverse = false;           ///< -R
  bool recount = false;
  bool unidiff_zero = false;
  bool allow_empty = false;
  bool is_partial = false;  ///< some of the hunks may be left out
  /// True if the transport marks the end of the document, as a JSON string does. Then a last hunk
  /// with too few lines usually has wrong counts, and was not cut off.
  bool is_delimited = false;
  DocumentEnd end = DocumentEnd::kUnknown;
  bool has_whole_files = false;  ///< the caller says so of the files in its fences
  /// Called with the format of each part if the document is read as kAuto. An error refuses the
  /// whole document.
  std::function<Result<void>(EditFormat)> check_format;
  std::string directory;  ///< --directory: a prefix for every path
  /// --include and --exclude in the given order. The first pattern that matches decides.
  struct Filter {
    bool include = false;
    std::string pattern;
  };
  std::vector<Filter> filters;
};

}  // namespace galley
