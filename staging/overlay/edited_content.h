#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/git_oid.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/overlay/stage_edits.h"
#include "staging/placing/search_help.h"

namespace galley {

/// How one file's edit is placed, and where its outcome is reported.
struct EditedContext {
  const StageOptions& options;
  bool is_reversed = false;  ///< of the whole document
  SearchHelp* help;          ///< of the whole document: its work is bounded; null: no help
  std::vector<Leniency>& leniencies;
  FileOutcome& outcome;
  std::optional<GitOid> base_blob = {};  ///< git's name of the base, if known
};

/// The content `base` after an edit. Edits that do not fit are failures in the outcome.
/// Errors: why the file as a whole cannot be edited (kRefused, kConflict, kInvalid), kQuota.
Result<std::string> edited_content(const FileEdit& edit, const RelPath& path,
                                   const std::string& base, const EditedContext& context);

}  // namespace galley
