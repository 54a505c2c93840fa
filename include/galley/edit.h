#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// How an edit document is read and staged. Values. Names and meanings are those of `git apply`
/// where it has them (docs/edits.md).
namespace galley {

/// The dialect of an edit document.
enum class EditFormat : uint8_t {
  kAuto,
  kUnified,        ///< unified diff, with or without git's extended headers
  kApplyPatch,     ///< V4A, "*** Begin Patch"
  kSearchReplace,  ///< Aider's SEARCH/REPLACE blocks
  kEdits,          ///< JSON {path, edits: [...]}
  kCalls,          ///< JSON array of tool calls; only for Transaction::call_all
};

/// How Transaction::apply reads a document and stages it.
struct EditOptions {
  EditFormat format = EditFormat::kAuto;
  bool exact = false;       ///< an edit must match byte for byte at its stated place
  bool reverse = false;     ///< take the edit back
  bool reject = false;      ///< stage the edits that fit even if some do not
  bool check_only = false;  ///< report what would happen, stage nothing
  /// Whether the document is complete, if the caller knows: for example from a model's stop reason.
  std::optional<bool> is_complete = {};
  std::optional<uint32_t> strip = {};  ///< components removed from each path; absent: detected
  std::string directory = {};          ///< prefix of every path
  /// `PATH`, `PATH:N` (hunks count from 1) or `PATH:ID`; with `only`, nothing else is staged.
  std::vector<std::string> only = {};
  std::vector<std::string> except = {};
  /// Ids of candidates in an earlier report: they choose the place of an ambiguous edit.
  std::vector<std::string> choices = {};
};

}  // namespace galley
