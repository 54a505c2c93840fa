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

/// `line` without its terminator and the blanks and tabs around it.
[[nodiscard]] std::string_view trimmed(std::string_view line);

/// `text` with "\n" where it has "\r\n".
[[nodiscard]] std::string without_crlf(std::string_view text);

/// True for a line that opens or closes a markdown fence, indented or not.
[[nodiscard]] bool is_fence(std::string_view line);

/// Bytes of a line that an error quotes.
inline constexpr size_t kQuotedBytes = 60;

// --- V4A ------------------------------------------------------------------------------------

/// An operation line of V4A: `*** Add File: PATH` and its kin, blanks around it or not.
struct PatchOperation {
  enum class Kind : uint8_t { kAdd, kDelete, kUpdate };
  Kind kind = Kind::kUpdate;
  std::string_view path;  ///< trimmed; may be empty
};
[[nodiscard]] std::optional<PatchOperation> patch_operation_of(std::string_view line);

[[nodiscard]] bool is_patch_begin(std::string_view line);
/// True when line `at` is the `*** End Patch` of a patch that begins at line `begin`. An indented
/// one may be a context line: it counts where the beginning is indented too or only blank lines
/// and a fence follow.
[[nodiscard]] bool is_patch_end(const Lines& document, size_t begin, size_t at);

// --- SEARCH/REPLACE -------------------------------------------------------------------------

/// The markers of one SEARCH/REPLACE block, by their lines.
struct BlockMarks {
  size_t head = 0;
  size_t divider = 0;
  size_t end = 0;
  /// Why the block cannot be read, and the line to name; empty when it can.
  std::string reason;
  std::string problem;
  size_t problem_line = 0;
};

/// True for a line that begins a block: `<<<<<<< SEARCH` or `------- SEARCH` with five to nine
/// signs and blanks around it.
[[nodiscard]] bool is_block_head(std::string_view line);

/// Finds the divider and the end of the block whose head is line `head`. Markers with as many signs
/// as the head have precedence over others, so that a text which holds such lines can be
/// written in a block with longer markers. Two dividers are a problem: either may be meant.
[[nodiscard]] BlockMarks find_block(const Lines& document, size_t head);

/// Lines before a block in which its file name is looked for.
inline constexpr size_t kBlockNameLines = 3;

/// The file name that line `at` gives to the block after it, or nothing; decorations of markdown
/// are taken off.
[[nodiscard]] std::string block_name_of(std::string_view line);

/// The first line of a block's old text behind the headers that some agents put there: Roo's
/// `:start_line:3` and `:end_line:5`, and a line of dashes behind them.
[[nodiscard]] size_t skip_block_headers(const Lines& document, const BlockMarks& marks);

// --- whole files in fences --------------------------------------------------------------------

/// A fence that says which file it holds.
struct ShownFile {
  std::string name;
  size_t fence = 0;  ///< its first line
  size_t end = 0;    ///< its last line
};
/// The fences of an answer that name a file, in their first line or in the line before it. None
/// where it is not certain where each of them ends, or two name the same file.
[[nodiscard]] std::vector<ShownFile> shown_files(const Lines& document);

// --- calls of tools -----------------------------------------------------------------------------

/// The tags that begin a call where chat templates write it in text.
inline constexpr std::array<std::string_view, 5> kCallTags = {
    "<tool_call>", "<function=", "<function_calls>", "<invoke name=", "<tool_use>"};

/// True for a line that begins a call: one of the tags, or a mark before calls in JSON.
[[nodiscard]] bool begins_call(std::string_view line);

// --- what was meant as a marker ---------------------------------------------------------------

/// True for a line outside of every edit that is nearly a marker of one: `<<<<<<< ORIGINAL`,
/// `>>>>>>> REPLACE` without a block, `*** Modify File: x`.
[[nodiscard]] bool is_nearly_mark(std::string_view line);

}  // namespace galley
