// The file that an edit means if the one that it names does not exist.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/file_plan.h"
#include "staging/overlay/stage_checks.h"
#include "staging/overlay/stage_edits.h"

namespace galley {

/// Looks for it in a plan. Threads: as FilePlan. Both references must outlive it.
class MeantFile {
 public:
  MeantFile(FilePlan& plan, const StageOptions& options) : plan_(plan), options_(options) {}

  /// Returns the existing files that the edit fits and may mean: by the end of one of its names, by
  /// a name in the text around it, by the same name in a folder above or below, or else by the same
  /// name anywhere. A file by one of these rules is no better than one by another. If none by the
  /// first rule that finds any fits, returns those, for the report. `named`: the missing path; the
  /// root for an edit without a name.
  [[nodiscard]] std::vector<RelPath> candidates(const FileEdit& edit, const RelPath& named);
  /// same_name_elsewhere() of the workspace, which is listed once for each path.
  [[nodiscard]] const SameName& elsewhere(const RelPath& path);

 private:
  void find_in_root(const FileEdit& edit, std::set<RelPath>& found);
  [[nodiscard]] std::optional<RelPath> only_one_named(const FileEdit& edit, const RelPath& named);
  void add_ends_of(std::string_view name, std::set<RelPath>& found);
  [[nodiscard]] bool fits(const FileEdit& edit, const RelPath& path);

  FilePlan& plan_;
  const StageOptions& options_;
  std::map<RelPath, SameName> elsewhere_;
};

}  // namespace galley
