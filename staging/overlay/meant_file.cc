#include "staging/overlay/meant_file.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "staging/placing/place.h"
#include "staging/text/fold.h"

namespace galley {
namespace {

/// True for a name that may mean any file. A folder before it says where the file is.
bool says_nothing(const RelPath& named) {
  static constexpr std::array<std::string_view, 19> kNames = {
      "original",  "fixed",    "file",   "old",   "new",     "before",   "after",
      "code",      "program",  "source", "input", "patched", "modified", "updated",
      "corrected", "filename", "broken", "a",     "b"};
  const std::string& text = named.str();
  const std::string stem = to_lower(text.substr(0, text.find_first_of("._- /")));
  return text.find('/') == std::string::npos &&
         std::find(kNames.begin(), kNames.end(), stem) != kNames.end();
}

/// The number of lines with a letter or digit that the edit takes from the file.
size_t shown_lines(const FileEdit& edit) {
  size_t shown = 0;
  for (const Hunk& hunk : edit.hunks) {
    shown += static_cast<size_t>(
        std::count_if(hunk.lines.begin(), hunk.lines.end(), [](const HunkLine& line) {
          return line.role != LineRole::kAdded && is_telling_line(line.text);
        }));
  }
  return shown;
}

}  // namespace

/// Finds the files in the root that an edit fits. For an edit that names only missing paths.
void MeantFile::find_in_root(const FileEdit& edit, std::set<RelPath>& found) {
  constexpr std::ptrdiff_t kMostFiles = 32;
  const auto entries = plan_.overlay().workspace().list();
  if (!entries) return;
  const auto is_asked = [](const DirectoryEntry& entry) {
    return entry.kind == FileKind::kRegular && !entry.name.starts_with('.');
  };
  if (std::count_if(entries->begin(), entries->end(), is_asked) > kMostFiles) return;
  for (const DirectoryEntry& entry : *entries) {
    if (!is_asked(entry)) continue;
    const auto path = RelPath::parse(entry.name);
    if (!path || (options_.may_read && !options_.may_read(*path))) continue;
    if (fits(edit, *path)) found.insert(*path);
  }
}

/// The only file of the tree with the last name of a path, if the edit shows enough of its lines. A
/// few lines may stand in any file.
std::optional<RelPath> MeantFile::only_one_named(const FileEdit& edit, const RelPath& named) {
  constexpr size_t kShownLines = 3;
  if (shown_lines(edit) < kShownLines) return std::nullopt;
  const SameName& same = elsewhere(named);
  return same.is_alone ? same.nearest : std::nullopt;
}

const SameName& MeantFile::elsewhere(const RelPath& path) {
  const auto known = elsewhere_.find(path);
  if (known != elsewhere_.end()) return known->second;
  return elsewhere_[path] = same_name_elsewhere(plan_.overlay().workspace(), path);
}

std::vector<RelPath> MeantFile::candidates(const FileEdit& edit, const RelPath& named) {
  std::set<RelPath> found;
  std::vector<RelPath> first;
  const auto end_rule = [&] {
    if (first.empty()) first.assign(found.begin(), found.end());
  };
  add_ends_of(edit.path, found);
  add_ends_of(edit.other_path, found);
  end_rule();
  for (const std::string& name : edit.mentioned) add_ends_of(name, found);
  end_rule();
  if (!named.is_root()) {
    auto other = same_name_nearby(plan_.overlay().workspace(), named);
    if (!other && first.empty() && !says_nothing(named)) other = only_one_named(edit, named);
    if (other && (!options_.may_read || options_.may_read(*other))) found.insert(*other);
  }
  end_rule();
  std::erase_if(found, [&](const RelPath& path) { return !fits(edit, path); });
  if (named.is_root() || says_nothing(named)) find_in_root(edit, found);
  const bool is_of_first =
      first.empty() || std::any_of(first.begin(), first.end(),
                                   [&](const RelPath& path) { return found.contains(path); });
  return is_of_first ? std::vector<RelPath>(found.begin(), found.end()) : first;
}

/// Adds the longest end of the name that is an existing file.
void MeantFile::add_ends_of(std::string_view name, std::set<RelPath>& found) {
  while (!name.empty()) {
    const auto path = editable_path(std::string(name), options_.root);
    const bool may_read = path && (!options_.may_read || options_.may_read(*path));
    const auto file = may_read ? plan_.current(*path) : Result<PlannedFile>(PlannedFile());
    if (file && file->kind == FileKind::kRegular) {
      found.insert(*path);
      return;
    }
    if (path && plan_.is_removed(*path)) return;
    const size_t slash = name.find('/');
    name = slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
  }
}

bool MeantFile::fits(const FileEdit& edit, const RelPath& path) {
  const auto file = plan_.current(path);
  if (!file || !file->content) return false;
  MatchOptions match = options_.match;
  match.indentation_is_syntax = indentation_is_syntax(path.str());
  const PlacedEdits placed = place_edits(*file->content, edit, match);
  return placed.failures.empty() && placed.cut_off.empty();
}

}  // namespace galley
