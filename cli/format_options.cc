#include "cli/format_options.h"

#include <fmt/format.h>

#include <array>

namespace galley {
namespace {

/// The formats in which an option has an effect.
enum class Scope : uint8_t {
  kEdits,    ///< all except tool calls, which have their own options
  kHunks,    ///< formats with hunks: unified and apply_patch
  kUnified,  ///< only the unified diff
};

struct FormatOption {
  std::string_view name;
  Scope scope;
  bool (*is_given)(const EditArguments&);
  std::string_view why;  ///< what the format does not have
};

constexpr std::string_view kSelfContained = "each call says itself what it does";
constexpr std::string_view kNoEnd = "it has no line counts, and no end that could be missing";
constexpr std::string_view kNoPrefix = "its paths have no prefix to take off";
constexpr std::string_view kNoHunks = "it has no hunks with context and added lines";

constexpr std::array kFormatOptions = {
    FormatOption{"--strict", Scope::kEdits, [](const EditArguments& edit) { return edit.strict; },
                 kSelfContained},
    FormatOption{"-R", Scope::kHunks, [](const EditArguments& edit) { return edit.reverse; },
                 "its edits cannot be turned round"},
    FormatOption{"--recount", Scope::kHunks, [](const EditArguments& edit) { return edit.recount; },
                 kNoEnd},
    FormatOption{"--complete", Scope::kHunks,
                 [](const EditArguments& edit) { return edit.is_complete; }, kNoEnd},
    FormatOption{"--truncated", Scope::kHunks,
                 [](const EditArguments& edit) { return edit.is_truncated; }, kNoEnd},
    FormatOption{"--unidiff-zero", Scope::kUnified,
                 [](const EditArguments& edit) { return edit.unidiff_zero; },
                 "it has no hunks without context"},
    FormatOption{"--ignore-whitespace", Scope::kEdits,
                 [](const EditArguments& edit) { return edit.ignore_whitespace; }, kSelfContained},
    FormatOption{"--reject", Scope::kEdits, [](const EditArguments& edit) { return edit.reject; },
                 "its calls are made one on the other"},
    FormatOption{"-p", Scope::kUnified,
                 [](const EditArguments& edit) { return edit.strip.has_value(); }, kNoPrefix},
    FormatOption{"-C", Scope::kHunks,
                 [](const EditArguments& edit) { return edit.context.has_value(); }, kNoHunks},
    FormatOption{"--whitespace", Scope::kHunks,
                 [](const EditArguments& edit) {
                   return !edit.whitespace.empty() && edit.whitespace != "nowarn";
                 },
                 kNoHunks},
    FormatOption{"--directory", Scope::kEdits,
                 [](const EditArguments& edit) { return !edit.directory.empty(); }, kSelfContained},
    FormatOption{"--include", Scope::kEdits,
                 [](const EditArguments& edit) { return edit.has_filter(true); }, kSelfContained},
    FormatOption{"--exclude", Scope::kEdits,
                 [](const EditArguments& edit) { return edit.has_filter(false); }, kSelfContained},
    FormatOption{"--only", Scope::kEdits,
                 [](const EditArguments& edit) { return !edit.only.empty(); }, kSelfContained},
    FormatOption{"--except", Scope::kEdits,
                 [](const EditArguments& edit) { return !edit.except.empty(); }, kSelfContained},
    FormatOption{"--choose", Scope::kEdits,
                 [](const EditArguments& edit) { return !edit.choose.empty(); },
                 "pass the place as 'choices' of the call"},
};

bool is_in(Scope scope, EditFormat format) {
  switch (format) {
    case EditFormat::kAuto:
    case EditFormat::kUnified:
      return true;
    case EditFormat::kApplyPatch:
      return scope != Scope::kUnified;
    case EditFormat::kSearchReplace:
    case EditFormat::kEdits:
      return scope == Scope::kEdits;
    case EditFormat::kCalls:
      return false;
  }
  return false;
}

}  // namespace

Result<void> check_format_options(const EditArguments& arguments, EditFormat format) {
  for (const FormatOption& option : kFormatOptions) {
    if (is_in(option.scope, format) || !option.is_given(arguments)) continue;
    const bool is_text = arguments.format == "tool_text";  // those are calls as well
    const bool is_self_contained = format == EditFormat::kCalls && option.scope != Scope::kEdits;
    return fail(ErrorKind::kUsage, "usage.option_of_format",
                fmt::format("{} means nothing in the format '{}': {}", option.name,
                            is_text ? "tool_text" : format_name(format),
                            is_self_contained ? kSelfContained : option.why));
  }
  return {};
}

DocumentEnd document_end(const EditArguments& arguments) {
  if (arguments.is_complete) return DocumentEnd::kComplete;
  return arguments.is_truncated ? DocumentEnd::kCutOff : DocumentEnd::kUnknown;
}

}  // namespace galley
