#include "staging/overlay/stage_checks.h"

#include <algorithm>

#include "base/text.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/placing/text_view.h"

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
  if (!edit.text_edits.empty()) {
    way = edit.text_edits.front().whole_lines ? "leave the SEARCH part empty"
                                              : "give its whole content";
  } else if (!edit.hunks.empty() && !edit.hunks.front().has_numbers) {
    way += " or use '*** Add File:'";
  }
  return fail(ErrorKind::kNotFound, "patch.file_not_found",
              "'" + path.str() + "' does not exist; to create it, " + way, path.str());
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

Result<void> check_encoding(const RelPath& path, std::string_view file, std::string_view added) {
  if (!mixes_encodings(file, added)) return {};
  const size_t bad = first_invalid_utf8(file).value_or(0);
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
