#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "staging/formats/read_edits.h"

namespace galley {
namespace {

void reverse_hunk(Hunk& hunk) {
  hunk.section = {};  // a line of the side before, which this side need not have
  for (HunkLine& line : hunk.lines) {
    if (line.role == LineRole::kAdded) {
      line.role = LineRole::kRemoved;
    } else if (line.role == LineRole::kRemoved) {
      line.role = LineRole::kAdded;
    }
  }
  std::swap(hunk.old_start, hunk.new_start);
}

Result<void> reverse_file(FileEdit& edit) {
  const bool knows_before =
      edit.text_edits.empty() && edit.op != FileOp::kWrite && (!edit.binary || edit.binary_reverse);
  if (!knows_before) {
    return fail(ErrorKind::kInvalid, "edit.not_reversible",
                "'" + edit.path + "' cannot be reversed: the edit does not say what was before",
                edit.path);
  }
  switch (edit.op) {
    case FileOp::kCreate:
      edit.op = FileOp::kDelete;
      edit.whole.reset();
      break;
    case FileOp::kDelete:
      edit.op = FileOp::kCreate;
      if (edit.hunks.empty() && !edit.binary) edit.whole = std::string_view();
      break;
    case FileOp::kRename:
      std::swap(edit.path, edit.new_path);
      break;
    case FileOp::kCopy:
      // The copy is deleted; its source stays (git apply -R does the same).
      edit.op = FileOp::kDelete;
      edit.path = edit.new_path;
      edit.new_path.clear();
      break;
    default:
      break;
  }
  std::swap(edit.old_mode, edit.new_mode);
  std::swap(edit.old_blob, edit.new_blob);
  std::swap(edit.binary, edit.binary_reverse);
  if (edit.doubt) std::swap(edit.doubt->missing_old, edit.doubt->missing_new);
  std::for_each(edit.hunks.begin(), edit.hunks.end(), reverse_hunk);
  return {};
}

/// The path that filters and --directory apply to.
const std::string& target_of(const FileEdit& edit) {
  return edit.new_path.empty() ? edit.path : edit.new_path;
}

bool is_wanted(const FileEdit& edit, const ReadOptions& options) {
  bool has_include = false;
  for (const ReadOptions::Filter& filter : options.filters) {
    // As git's wildmatch without WM_PATHNAME: '*' also matches '/'.
    if (fnmatch(filter.pattern.c_str(), target_of(edit).c_str(), 0) == 0) return filter.include;
    has_include = has_include || filter.include;
  }
  return !has_include;
}

void put_below(std::string& path, const std::string& directory) {
  if (!path.empty()) path = directory + "/" + path;
}

Result<EditSet> reversed(EditSet set) {
  std::reverse(set.files.begin(), set.files.end());
  set.is_reversed = !set.is_reversed;
  for (FileEdit& edit : set.files) GALLEY_TRY(reverse_file(edit));
  return set;
}

EditSet narrowed(EditSet set, const ReadOptions& options) {
  std::string directory = options.directory;
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  if (!directory.empty()) {
    for (FileEdit& edit : set.files) {
      put_below(edit.path, directory);
      put_below(edit.new_path, directory);
      put_below(edit.other_path, directory);
      put_below(edit.other_new_path, directory);
    }
  }
  if (!options.filters.empty()) {
    std::erase_if(set.files, [&](const FileEdit& edit) { return !is_wanted(edit, options); });
  }
  return set;
}

}  // namespace

Result<EditSet> with_options(EditSet set, const ReadOptions& options) {
  if (options.reverse) {
    GALLEY_ASSIGN(set, reversed(std::move(set)));
  }
  return narrowed(std::move(set), options);
}

}  // namespace galley
