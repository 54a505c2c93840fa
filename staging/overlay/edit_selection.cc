#include "staging/overlay/edit_selection.h"

#include <algorithm>

#include "base/glob.h"
#include "base/rel_path.h"
#include "staging/fs/host_file.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

// Fewer digits could also be the number of a hunk.
constexpr size_t kFewestIdDigits = 4;

bool names_any(std::string_view pathspec, const FileEdit& edit) {
  for (const std::string* path :
       {&edit.path, &edit.new_path, &edit.other_path, &edit.other_new_path}) {
    if (!path->empty() && pathspec_names(pathspec, *path)) return true;
  }
  return false;
}

std::string inside_root(std::string_view text, std::string_view root) {
  if (!root.empty() && text.starts_with('/')) {
    const std::string real = without_entered_link(std::string(text), std::string(root));
    if (const auto path = RelPath::parse_within(real, root)) return path->str();
  }
  return std::string(text);
}

/// Whether `text` is the id at index `at`, or a unique prefix of it that is long enough.
bool means_id(const std::string& text, const std::vector<std::string>& ids, size_t at) {
  if (text == ids[at]) return true;
  if (text.size() < kFewestIdDigits || !ids[at].starts_with(text)) return false;
  return std::count_if(ids.begin(), ids.end(),
                       [&](const std::string& id) { return id.starts_with(text); }) == 1;
}

}  // namespace

EditSelection::EditSelection(const std::vector<std::string>& only,
                             const std::vector<std::string>& except, std::string_view root) {
  for (const std::string& name : only) only_.push_back(parsed(name, root));
  for (const std::string& name : except) except_.push_back(parsed(name, root));
}

void EditSelection::learn(const std::vector<FileEdit>& document) {
  for (std::vector<Name>* list : {&only_, &except_}) {
    for (Name& name : *list) {
      if (name.hunk.empty()) continue;
      const bool is_file = std::any_of(document.begin(), document.end(), [&](const FileEdit& edit) {
        return edit.path == name.whole || edit.new_path == name.whole ||
               edit.other_path == name.whole || edit.other_new_path == name.whole;
      });
      if (is_file) name.path = name.hunk = "";
    }
  }
}

EditSelection::Name EditSelection::parsed(const std::string& given, std::string_view root) {
  Name name;
  name.given = given;
  name.whole = inside_root(given, root);
  const size_t colon = given.rfind(':');
  if (colon == std::string::npos || colon == 0) return name;
  name.path = inside_root(given.substr(0, colon), root);
  name.hunk = given.substr(colon + 1);
  return name;
}

bool EditSelection::names_file(std::vector<Name>& names, const FileEdit& edit) {
  bool is_named = false;
  for (Name& name : names) {
    if (!names_any(name.whole, edit)) continue;
    name.is_used = is_named = true;
  }
  return is_named;
}

bool EditSelection::names_hunk(std::vector<Name>& names, const FileEdit& edit,
                               const std::vector<std::string>& ids, size_t at) {
  bool is_named = false;
  for (Name& name : names) {
    if (name.hunk.empty()) continue;
    if (name.hunk != std::to_string(at + 1) && !means_id(name.hunk, ids, at)) continue;
    if (!names_any(name.path, edit)) continue;
    name.is_used = is_named = true;
  }
  return is_named;
}

bool EditSelection::select(const FileEdit& edit, FileEdit& selected) {
  const bool is_out = names_file(except_, edit);
  const bool is_named = names_file(only_, edit);
  const bool all = only_.empty() || is_named;
  const std::vector<std::string> ids = edit_ids(edit);
  std::vector<bool> keep;
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool wanted = names_hunk(only_, edit, ids, i) || all;
    keep.push_back(!names_hunk(except_, edit, ids, i) && wanted);
  }
  if (is_out) return false;
  selected = edit;
  if (ids.empty()) return all;
  selected.hunks.clear();
  selected.text_edits.clear();
  for (size_t i = 0; i < edit.hunks.size(); ++i) {
    if (keep[i]) selected.hunks.push_back(edit.hunks[i]);
  }
  for (size_t i = 0; i < edit.text_edits.size(); ++i) {
    if (keep[edit.hunks.size() + i]) selected.text_edits.push_back(edit.text_edits[i]);
  }
  return !selected.hunks.empty() || !selected.text_edits.empty();
}

bool EditSelection::may_mean(const std::string& path) const {
  const auto names_file = [&path](const Name& name) { return pathspec_names(name.whole, path); };
  const auto names_part = [&](const Name& name) {
    return names_file(name) || (!name.hunk.empty() && pathspec_names(name.path, path));
  };
  return std::none_of(except_.begin(), except_.end(), names_file) &&
         (only_.empty() || std::any_of(only_.begin(), only_.end(), names_part));
}

std::vector<std::string> EditSelection::unmatched() const {
  std::vector<std::string> names;
  for (const std::vector<Name>* list : {&only_, &except_}) {
    for (const Name& name : *list) {
      if (!name.is_used) names.push_back(name.given);
    }
  }
  return names;
}

}  // namespace galley
