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

}  // namespace

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
