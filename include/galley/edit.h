#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// How an edit document is read and staged. Values; names and meanings are those of `git apply`
/// where it has them (docs/edits.md).
namespace galley {

/// How an edit document is written.
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
  bool exact = false;       ///< an edit has to fit byte for byte where it says
  bool reverse = false;     ///< take the edit back
  bool reject = false;      ///< stage what fits even when something does not
  bool check_only = false;  ///< tell what would become of it, stage nothing
  /// Whether the document is whole, where the caller knows, such as from why a model stopped.
  std::optional<bool> is_complete = {};
  std::optional<uint32_t> strip = {};  ///< components taken off each path; without it recognised
  std::string directory = {};          ///< goes before every path
  /// `PATH`, `PATH:N` (hunks count from 1) or `PATH:ID`; with `only` nothing else is taken.
  std::vector<std::string> only = {};
  std::vector<std::string> except = {};
  /// Ids of candidates in an earlier report: the place that an ambiguous edit means.
  std::vector<std::string> choices = {};
};

}  // namespace galley
