#include "staging/overlay/stage_checks.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "staging/formats/dialect_marks.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/placing/text_view.h"
#include "staging/text/fold.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

/// The error of a missing file. The remedy in it depends on the dialect.
tl::unexpected<Error> missing(const FileEdit& edit, const RelPath& path, bool is_reversed) {
  // An edit that has the content to delete probably has the right name.
  if (edit.op == FileOp::kDelete &&
      (!edit.hunks.empty() || edit.binary || names_blob(edit.old_blob))) {
    return fail(ErrorKind::kRefused, "patch.already_applied",
                "'" + path.str() + "' is already not there" + already_applied_note(is_reversed),
                path.str());
  }
  std::string way = "diff from /dev/null";
  if (edit.whole) {
    way = "name its folder (./ for the top) and the language of its fence";
  } else if (!edit.text_edits.empty()) {
    way = edit.text_edits.front().whole_lines ? "leave the SEARCH part empty"
                                              : "give its whole content";
  } else if (!edit.hunks.empty() && !edit.hunks.front().has_numbers) {
    way += " or use '*** Add File:'";
  }
  return fail(ErrorKind::kNotFound, "patch.file_not_found",
              "'" + path.str() + "' does not exist; to create it, " + way, path.str());
}

/// The number of names that two paths share at their ends.
size_t shared_names(const RelPath& one, const RelPath& other) {
  const std::string a = "/" + one.str();
  const std::string b = "/" + other.str();
  const auto end = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first;
  return static_cast<size_t>(std::count(a.rbegin(), end, '/'));
}

}  // namespace

Result<RelPath> editable_path(const std::string& text, const std::string& root) {
  GALLEY_ASSIGN(RelPath path,
                root.empty() ? RelPath::parse(text) : RelPath::parse_within(text, root));
  if (path.is_protected()) {
    return fail(ErrorKind::kRefused, "path.protected",
                "'" + path.str() + "' is protected: no edit may touch .git, .galley or .sage",
                path.str());
  }
  return path;
}

Result<void> check_kind(const FileEdit& edit, const RelPath& path, const PlannedFile& file,
                        bool is_reversed) {
  if (file.kind == FileKind::kAbsent) return missing(edit, path, is_reversed);
  if (file.kind == FileKind::kDirectory) {
    return fail(ErrorKind::kRefused, "path.is_directory", "'" + path.str() + "' is a directory",
                path.str());
  }
  if (file.kind == FileKind::kOther) {
    return fail(ErrorKind::kRefused, "path.special_file",
                "'" + path.str() + "' is not a regular file", path.str());
  }
  const bool is_link = file.kind == FileKind::kSymlink;
  if (is_link != is_kind(edit.old_mode, kGitSymlink)) {
    return fail(
        ErrorKind::kRefused, is_link ? "path.is_symlink" : "path.not_symlink",
        "'" + path.str() +
            (is_link ? "' is a symbolic link to '" + *file.content + "' and the edit is for a file"
                     : "' is a file and the edit is for a symbolic link"),
        path.str());
  }
  return {};
}

Result<void> check_blob(const FileEdit& edit, const RelPath& path, const std::string& content) {
  const bool has_proof = names_blob(edit.old_blob);
  if (!has_proof || !edit.hunks.empty() || is_blob(edit.old_blob, content)) return {};
  return fail(ErrorKind::kRefused, "patch.other_content",
              "'" + path.str() + "' is not the file that the patch was made for (index " +
                  edit.old_blob + ")",
              path.str());
}

std::optional<RelPath> same_name_nearby(const Directory& workspace, const RelPath& path) {
  constexpr size_t kAskedDirectories = 100;
  std::optional<RelPath> found;
  size_t count = 0;
  const auto ask = [&](const std::string& text) {
    const auto there = RelPath::parse(text);
    if (!there || there->is_protected()) return;
    const auto stat = workspace.stat(*there);
    if (!stat || stat->kind != FileKind::kRegular) return;
    found = *there;
    ++count;
  };
  const std::string& text = path.str();
  if (const size_t slash = text.find('/'); slash != std::string::npos) ask(text.substr(slash + 1));
  const auto names = workspace.list();
  if (!names) return std::nullopt;
  size_t asked = 0;
  for (const DirectoryEntry& entry : *names) {
    if (entry.kind != FileKind::kDirectory) continue;
    if (++asked > kAskedDirectories) return std::nullopt;
    ask(entry.name + "/" + text);
  }
  return count == 1 ? found : std::nullopt;
}

std::optional<RelPath> same_name_elsewhere(const Directory& workspace, const RelPath& path) {
  constexpr size_t kListedFolders = 1000;
  constexpr size_t kComparedNames = 50'000;
  const std::string name = path.str().substr(path.str().rfind('/') + 1);  // npos + 1 is 0
  std::optional<RelPath> found;
  size_t most = 0;
  bool is_only_one = true;
  std::deque<RelPath> folders = {RelPath::root()};
  size_t listed = 0;
  for (size_t names = 0; !folders.empty(); folders.pop_front()) {
    if (++listed > kListedFolders) return std::nullopt;
    const RelPath& folder = folders.front();
    const auto opened = workspace.open_directory(folder);
    if (!opened) continue;
    const auto entries = (*opened)->list();
    if (!entries) continue;
    names += entries->size();
    if (names > kComparedNames) return std::nullopt;
    for (const DirectoryEntry& entry : *entries) {
      const bool is_folder = entry.kind == FileKind::kDirectory && !entry.name.starts_with('.');
      const bool is_it = entry.kind == FileKind::kRegular && entry.name == name;
      if (!is_folder && !is_it) continue;
      const auto there =
          RelPath::parse(folder.is_root() ? entry.name : folder.str() + "/" + entry.name);
      if (!there || there->is_protected()) continue;
      if (is_folder) folders.push_back(*there);
      if (!is_it) continue;
      const size_t shared = shared_names(path, *there);
      is_only_one = !found || shared > most || (is_only_one && shared < most);
      if (found && shared <= most) continue;
      found = *there;
      most = shared;
    }
  }
  return is_only_one ? found : std::nullopt;
}

std::optional<RelPath> name_file_inside(const Directory& workspace,
                                        const std::function<bool(const RelPath&)>& may_read,
                                        Error& outside) {
  const std::string_view text = outside.path;
  if (outside.reason != "path.outside" || !text.starts_with('/')) return std::nullopt;
  const auto path = RelPath::parse(text.substr(std::min(text.find_first_not_of('/'), text.size())));
  auto found = path ? same_name_elsewhere(workspace, *path) : std::nullopt;
  if (!found || (may_read && !may_read(*found))) return std::nullopt;
  outside.message += ", but '" + found->str() +
                     "' is in it and its path ends in the same way: name that file if it is meant";
  return found;
}

bool has_most_lines(std::string_view one, std::string_view other) {
  const auto telling = [](std::string_view text) {
    std::multiset<std::string_view> out;
    const Lines lines(text);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (is_telling_line(lines[i])) out.insert(trimmed(lines[i]));
    }
    return out;
  };
  const auto left = telling(one);
  const auto right = telling(other);
  std::vector<std::string_view> both;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                        std::back_inserter(both));
  return 2 * both.size() > std::max(left.size(), right.size());
}

std::optional<RelPath> nearly_same_name(const Directory& workspace, const RelPath& path) {
  constexpr size_t kComparedNames = 2000;
  const auto folder = workspace.open_directory(path.parent());
  if (!folder) return std::nullopt;
  const auto entries = (*folder)->list();
  if (!entries || entries->size() > kComparedNames) return std::nullopt;
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : *entries) {
    if (entry.kind == FileKind::kRegular) names.push_back(entry.name);
  }
  const std::string& text = path.str();
  const size_t slash = text.rfind('/');
  const auto name = nearest_name(text.substr(slash + 1), names);  // npos + 1 is 0
  if (!name) return std::nullopt;
  const auto found = RelPath::parse(text.substr(0, slash + 1) + *name);
  return found && !found->is_protected() ? std::optional(*found) : std::nullopt;
}

Result<void> check_encoding(const RelPath& path, std::string_view file, std::string_view added) {
  if (!mixes_encodings(file, added)) return {};
  if (file.find('\0') != std::string_view::npos) {
    return fail(ErrorKind::kRefused, "patch.encoding",
                "'" + path.str() +
                    "' is UTF-32, or UTF-16 without a byte order mark, and the edit is not: the "
                    "file would have two encodings; convert it to UTF-8 first",
                path.str());
  }
  // ISO-2022-JP is ASCII with escape sequences.
  const size_t bad = first_invalid_utf8(file).value_or(file.find('\x1B'));
  const auto line = 1 + std::count(file.begin(), file.begin() + static_cast<int64_t>(bad), '\n');
  return fail(ErrorKind::kRefused, "patch.encoding",
              "'" + path.str() + "' is not UTF-8 (line " + std::to_string(line) +
                  " is in another encoding), and the new text has letters that are: the file would "
                  "have two encodings; convert it to UTF-8 first, or write those letters in ASCII",
              path.str());
}

Error interrupted(const std::string& path) {
  return Error{ErrorKind::kTimeout, "edit.interrupted",
               "the edits were stopped at '" + path + "'; nothing was staged", path, 0};
}

std::string already_applied_note(bool is_reversed) {
  return std::string(": this patch seems to be ") + (is_reversed ? "reversed" : "applied") +
         " already";
}

}  // namespace galley
