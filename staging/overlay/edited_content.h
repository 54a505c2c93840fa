#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/overlay/stage_edits.h"
#include "staging/placing/search_help.h"

namespace galley {

/// Options for one file's edit, and the objects that receive its outcome.
struct EditedContext {
  const StageOptions& options;
  bool is_reversed = false;  ///< the whole document is reversed
  SearchHelp* help;          ///< of the whole document: its work is bounded; null: no help
  std::vector<Leniency>& leniencies;
  FileOutcome& outcome;
  std::optional<GitOid> base_blob = {};  ///< git's name of the base, if known
};

/// Returns the content `base` after an edit. The outcome lists edits that do not fit as failures.
/// Errors: kRefused, kConflict or kInvalid if the file as a whole cannot be edited; kQuota;
///         kTimeout.
Result<std::string> edited_content(const FileEdit& edit, const RelPath& path,
                                   const std::string& base, const EditedContext& context);

}  // namespace galley
