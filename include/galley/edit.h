#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Options for reading and staging edit documents (docs/edits.md). An option that `git apply` has,
/// too, has the same name and meaning. All types are values.
namespace galley {

/// The dialect of an edit document.
enum class EditFormat : uint8_t {
  kAuto,           ///< detected from the text
  kUnified,        ///< unified diff, with or without git's extended headers
  kApplyPatch,     ///< V4A, "*** Begin Patch"
  kSearchReplace,  ///< Aider's SEARCH/REPLACE blocks
  kEdits,          ///< JSON {path, edits: [...]}
  kCalls,          ///< JSON array of tool calls; only for Transaction::call_all
};

/// The options of Transaction::apply.
struct EditOptions {
  EditFormat format = EditFormat::kAuto;
  bool exact = false;       ///< an edit must match byte for byte at its stated place
  bool reverse = false;     ///< apply the edit in reverse
  bool reject = false;      ///< stage the edits that fit even if some do not
  bool check_only = false;  ///< report the result, stage nothing
  /// Whether the document is complete, if the caller knows it: for example from the stop reason of
  /// a model.
  std::optional<bool> is_complete = {};
  std::optional<uint32_t> strip = {};  ///< components removed from each path; absent: detected
  std::string directory = {};          ///< prefix of every path
  /// Selected edits: `PATH`, `PATH:N` (hunk N, from 1) or `PATH:ID`. If it is not empty, no other
  /// edit is staged.
  std::vector<std::string> only = {};
  std::vector<std::string> except = {};  ///< edits that are not staged, in the same notation
  /// Ids of candidates from an earlier report. Each chooses the place of an ambiguous edit.
  std::vector<std::string> choices = {};
};

}  // namespace galley
