#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "staging/text/lines.h"

namespace galley {

/// Returns `line` without its terminator and without the blanks and tabs at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view line);

/// Returns `text` with each "\r\n" replaced by "\n".
[[nodiscard]] std::string without_crlf(std::string_view text);

/// True for a line that opens or closes a markdown fence, indented or not.
[[nodiscard]] bool is_fence(std::string_view line);

/// Maximum number of bytes that an error quotes from a line.
inline constexpr size_t kQuotedBytes = 60;

// --- V4A ------------------------------------------------------------------------------------

/// An operation line of V4A, such as `*** Add File: PATH`. Blanks around it are allowed.
struct PatchOperation {
  enum class Kind : uint8_t { kAdd, kDelete, kUpdate };
  Kind kind = Kind::kUpdate;
  std::string_view path;  ///< trimmed; may be empty
};
[[nodiscard]] std::optional<PatchOperation> patch_operation_of(std::string_view line);

[[nodiscard]] bool is_patch_begin(std::string_view line);
/// True if line `at` is the `*** End Patch` of the patch that begins at line `begin`. An indented
/// marker may be a context line. It counts only if the beginning is indented too, or if only blank
/// lines follow, up to a fence or the end.
[[nodiscard]] bool is_patch_end(const Lines& document, size_t begin, size_t at);

// --- SEARCH/REPLACE -------------------------------------------------------------------------

/// The line numbers of the markers of one SEARCH/REPLACE block, 0-based.
struct BlockMarks {
  size_t head = 0;
  size_t divider = 0;
  size_t end = 0;
  /// Why the block cannot be read, and the line to report; empty if it can be read.
  std::string reason;
  std::string problem;
  size_t problem_line = 0;
};

/// True for a line that begins a block: `<<<<<<< SEARCH` or `------- SEARCH`, with five to nine
/// signs. Blanks around it are allowed.
[[nodiscard]] bool is_block_head(std::string_view line);

/// Finds the divider and the end of the block whose head is line `head`. Markers with as many signs
/// as the head have precedence over others. So a text that contains marker lines can be in a block
/// with longer markers. Two dividers are an error, because either could be the intended one.
[[nodiscard]] BlockMarks find_block(const Lines& document, size_t head);

/// Number of lines before a block that are searched for its file name.
inline constexpr size_t kBlockNameLines = 3;

/// Returns the file name that `line` gives to the block after it, without markdown decorations;
/// empty if it is not a file name.
[[nodiscard]] std::string block_name_of(std::string_view line);

/// Returns the first line of a block's old text. It skips the headers that some agents write there:
/// Roo's `:start_line:3` and `:end_line:5`, and a line of dashes after them.
[[nodiscard]] size_t skip_block_headers(const Lines& document, const BlockMarks& marks);

// --- whole files in fences --------------------------------------------------------------------

/// A markdown fence that names the file whose content it has.
struct FencedFile {
  std::string name;
  size_t fence = 0;  ///< its first line
  size_t end = 0;    ///< its last line
};
/// Returns the fences of an answer that name a file, in their first line or shortly before it.
/// Empty if the end of any fence is uncertain, or if two fences name the same file.
[[nodiscard]] std::vector<FencedFile> fenced_files(const Lines& document);

// --- calls of tools -----------------------------------------------------------------------------

/// Tags that begin a tool call in the text formats of chat templates.
inline constexpr std::array<std::string_view, 5> kCallTags = {
    "<tool_call>", "<function=", "<function_calls>", "<invoke name=", "<tool_use>"};

/// True for a line that begins a call: with one of the tags, or with a mark that precedes calls in
/// JSON.
[[nodiscard]] bool begins_call(std::string_view line);

// --- lines that resemble markers --------------------------------------------------------------

/// True for a line that resembles a marker of an edit: `<<<<<<< ORIGINAL`, `>>>>>>> REPLACE`,
/// `*** Modify File: x`. Outside of all edits, such a line was probably meant as a marker.
[[nodiscard]] bool is_nearly_mark(std::string_view line);

}  // namespace galley
