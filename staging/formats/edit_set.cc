#include "staging/formats/edit_set.h"

#include <array>
#include <utility>

namespace galley {
namespace {

constexpr std::array kFormatNames = {
    std::pair<std::string_view, EditFormat>{"auto", EditFormat::kAuto},
    std::pair<std::string_view, EditFormat>{"unified", EditFormat::kUnified},
    std::pair<std::string_view, EditFormat>{"apply_patch", EditFormat::kApplyPatch},
    std::pair<std::string_view, EditFormat>{"search_replace", EditFormat::kSearchReplace},
    std::pair<std::string_view, EditFormat>{"edits", EditFormat::kEdits},
    std::pair<std::string_view, EditFormat>{"calls", EditFormat::kCalls}};

constexpr std::array<std::string_view, 48> kLeniencyNames = {"bare_blank_lines",
                                                             "bare_context",
                                                             "blank_lines",
                                                             "block_header",
                                                             "byte_order_mark",
                                                             "cdata_newline",
                                                             "color_codes",
                                                             "context_differs",
                                                             "count_mismatch",
                                                             "cr_lines",
                                                             "crlf_patch",
                                                             "elided_context",
                                                             "escaped_markup",
                                                             "file_guessed",
                                                             "fuzz",
                                                             "header_incomplete",
                                                             "hunk_order",
                                                             "indented_patch",
                                                             "joined_hunks",
                                                             "json_mended",
                                                             "last_line_unended",
                                                             "line_ends",
                                                             "lost_markup",
                                                             "markdown_fence",
                                                             "minus_sign",
                                                             "names_differ",
                                                             "no_begin",
                                                             "no_end",
                                                             "no_file_lines",
                                                             "no_line_numbers",
                                                             "no_prefix",
                                                             "not_closed",
                                                             "numbered_lines",
                                                             "offset",
                                                             "prose_between",
                                                             "quoted_patch",
                                                             "repeated_hunk",
                                                             "repeated_lines",
                                                             "several_parts",
                                                             "shared_context",
                                                             "shifted_text",
                                                             "sign_blank",
                                                             "typography",
                                                             "unbalanced",
                                                             "utf16",
                                                             "white_space",
                                                             "white_space_fixed",
                                                             "whole_file"};

}  // namespace

std::span<const std::string_view> leniency_names() { return kLeniencyNames; }

std::string_view format_name(EditFormat format) {
  for (const auto& [name, known] : kFormatNames) {
    if (known == format) return name;
  }
  return "auto";
}

std::string_view file_op_name(FileOp op) {
  switch (op) {
    case FileOp::kModify:
      return "modify";
    case FileOp::kCreate:
      return "create";
    case FileOp::kDelete:
      return "delete";
    case FileOp::kRename:
      return "rename";
    case FileOp::kCopy:
      return "copy";
    case FileOp::kWrite:
      return "write";
  }
  return "modify";
}

EditFormat format_named(std::string_view name) {
  for (const auto& [known, format] : kFormatNames) {
    if (known == name) return format;
  }
  return EditFormat::kAuto;
}

}  // namespace galley
