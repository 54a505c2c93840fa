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

/// Returns the line with the characters that `&lt;` and similar entities stand for.
[[nodiscard]] std::string without_entities(std::string_view line);
/// True if the line has no sign that HTML escapes, except in entities.
[[nodiscard]] bool is_escaped(std::string_view line);

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
/// True for a line that ends a block: `>>>>>>> REPLACE` or `+++++++ REPLACE`.
[[nodiscard]] bool is_block_end(std::string_view line);

/// Returns the text without the backslash that Roo puts before lines that look like markers.
[[nodiscard]] std::string without_escaped_marks(std::string_view text);

/// Finds the divider and the end of the block whose head is line `head`. Markers with as many signs
/// as the head have precedence over others. So a text that contains marker lines can be in a block
/// with longer markers. Two dividers are an error, because either could be the intended one.
[[nodiscard]] BlockMarks find_block(const Lines& document, size_t head);

/// Number of lines before a block that are searched for its file name.
inline constexpr size_t kBlockNameLines = 3;

/// Returns the file name that `line` gives to the block after it, without markdown decorations;
/// empty if it is not a file name.
[[nodiscard]] std::string block_name_of(std::string_view line);

/// Returns the file that the title of a fence names: `python:a.py`; empty if it names none.
[[nodiscard]] std::string fence_name_of(std::string_view fence);

/// True for a line whose only word may be prose: `Change:`. It is not quoted, has no dot and no
/// slash, and is not a usual file name.
[[nodiscard]] bool is_bare_word(std::string_view line);

/// What a line of markup before a block says.
struct BlockTag {
  bool is_tag = false;
  bool begins_file = false;  ///< the block may be for another file than the block before it
  std::string name;  ///< of the file: `<path>N</path>`, `<file path="N">`; empty if not given
};
[[nodiscard]] BlockTag block_tag_of(std::string_view line);

/// The line that names a file before a block: in quotes if it could not be read otherwise.
[[nodiscard]] std::string block_name_line(std::string_view path);

/// Returns the first line of a block's text, which is in lines [begin, end). It skips the headers
/// that some agents write there: Roo's `:start_line:3` and `:end_line:5`, and a line of dashes
/// after them.
[[nodiscard]] size_t skip_block_headers(const Lines& document, size_t begin, size_t end);

// --- whole files in fences --------------------------------------------------------------------

/// True for the name of a file whose ending is common. `np.array` is not one, nor is a library that
/// is called as a file, as `Node.js`.
[[nodiscard]] bool has_file_ending(std::string_view name);

/// A markdown fence that names the file whose content it has.
struct FencedFile {
  std::string name;
  size_t fence = 0;           ///< its first line
  size_t end = 0;             ///< its last line
  bool is_mentioned = false;  ///< the name is in a sentence before it, which may be about it
  bool is_unclear = false;    ///< its last line may be of a fence inside of the file
};
/// Returns the fences of an answer that name a file, in their first line or shortly before it. If
/// there are any, also those before which only a sentence names a file, and no other fence has it.
/// Only the first file whose end is unclear, if there is one. Empty if the end of any other fence
/// is uncertain, or if two fences name the same file.
[[nodiscard]] std::vector<FencedFile> fenced_files(const Lines& document);

/// Returns the file that the fence at line `at` may have, next to other edits; empty if nothing
/// says so. Its first line or the line before it names the file or announces it as new.
[[nodiscard]] std::string shown_file_at(const Lines& document, size_t at, size_t floor);

/// True if a fence may have all of the file `name`. One of a shell has commands, unless the file is
/// a script that these do not run. `fence`: its first line.
[[nodiscard]] bool may_have_file(std::string_view fence, std::string_view content,
                                 std::string_view name);

/// A whole file that has fences itself, in a fence of more signs.
struct NestedFile {
  size_t end = 0;        ///< the line after the fence, or after what was read of it
  bool is_file = false;  ///< false: it shows edits, has no name, no fences or no end
};
/// Reads the fence that opens at line `at`. `floor`: the line after the last edit.
[[nodiscard]] NestedFile nested_file_at(const Lines& document, size_t at, size_t floor);

// --- calls of tools -----------------------------------------------------------------------------

/// The token of Granite and Phi before calls in JSON.
inline constexpr std::string_view kToolCallMark = "<|tool_call|>";
/// Tags that begin a tool call in the text formats of chat templates.
inline constexpr std::array<std::string_view, 8> kCallTags = {
    "<tool_call>", "<function=",   "<function_calls>", "<invoke name=",
    "<tool_use>",  "<tool_calls>", "<TOOLCALL>",       kToolCallMark};

/// Special tokens of chat templates that begin a call anywhere in a line: of DeepSeek and Kimi.
inline constexpr std::string_view kDeepSeekCall = "<\uff5ctool\u2581call\u2581begin\uff5c>";
inline constexpr std::string_view kKimiCall = "<|tool_call_begin|>";

/// Elements in which Cline and Roo edit a file.
inline constexpr std::array<std::string_view, 3> kEditElements = {"write_to_file",
                                                                  "replace_in_file", "apply_diff"};

/// True for a line that begins a call: with one of the tags, or with a mark that precedes calls in
/// JSON; or for a line with a special token of a call.
[[nodiscard]] bool begins_call(std::string_view line);

/// The line after the edit element that begins in line `at`; `at` if none does. An element that is
/// not closed goes to the end of the document.
[[nodiscard]] size_t edit_element_end(const Lines& document, size_t at);

// --- normal diffs -----------------------------------------------------------------------------

/// Returns the line after the change of a normal diff that begins at line `at`: `3c3`, `< old`,
/// `---`, `> new`. Returns `at` if none does. No reader takes such a diff.
[[nodiscard]] size_t normal_change_end(const Lines& document, size_t at);
/// True if lines [begin, end) are a normal diff and nothing else, except blank lines and the
/// command `diff a b`.
[[nodiscard]] bool is_normal_diff(const Lines& document, size_t begin, size_t end);

// --- lines that resemble markers --------------------------------------------------------------

/// True for a line that resembles a marker of an edit: `<<<<<<< ORIGINAL`, `<<<< SEARCH`,
/// `>>>>>>> REPLACE`, `*** Modify File: x`. Outside of all edits, such a line was probably meant as
/// a marker.
[[nodiscard]] bool is_nearly_mark(std::string_view line);

}  // namespace galley
