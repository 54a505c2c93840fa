#include "staging/overlay/stage_edits.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/limits.h"
#include "staging/fs/creation_mode.h"
#include "staging/overlay/edit_selection.h"
#include "staging/overlay/edited_content.h"
#include "staging/overlay/file_plan.h"
#include "staging/overlay/git_header.h"

namespace galley {
namespace {

constexpr uint32_t kAnyExecute = 0111;

bool is_failure_of_ours(const Error& error) {
  return error.kind == ErrorKind::kIo || error.kind == ErrorKind::kInternal ||
         error.kind == ErrorKind::kTimeout || error.kind == ErrorKind::kUndecided;
}

/// Whether another version of the file could tell more about these failures than they say
/// themselves.
bool may_be_of_another_version(const std::vector<EditFailure>& failures) {
  return std::any_of(failures.begin(), failures.end(), [](const EditFailure& failure) {
    return failure.reason != "patch.already_applied";
  });
}

/// Stages one document: works everything out in a plan, then puts the plan onto the overlay.
class Stager {
 public:
  Stager(Overlay& overlay, const EditSet& edits, const StageOptions& options)
      : overlay_(overlay),
        edits_(edits),
        options_(options),
        selection_(options.only, options.except, options.root),
        plan_(overlay) {}

  Result<EditOutcome> run() {
    Overlay::Entries before = overlay_.entries();
    auto outcome = work();
    if (outcome && options_.may_read) hide_unread(*outcome, options_.may_read);
    if (!outcome || !outcome->is_staged) overlay_.restore(std::move(before));
    return outcome;
  }

 private:
  Result<EditOutcome> work() {
    outcome_.leniencies = edits_.leniencies;
    if (edits_.files.size() > limits::kMaxFilesInPatch) {
      return fail(ErrorKind::kQuota, "limit.patch_files", "the document names over 100,000 files");
    }
    for (const FileEdit& edit : edits_.files) {
      if (edit.op != FileOp::kRename && edit.op != FileOp::kDelete) continue;
      going_.insert(edit.path);
      if (const auto path = safe_path(edit.path)) plan_.expect_gone(*path);
    }
    for (const FileEdit& edit : edits_.files) GALLEY_TRY(plan_file(edit));
    outcome_.unmatched = selection_.unmatched();
    outcome_.is_complete = std::all_of(outcome_.files.begin(), outcome_.files.end(),
                                       [](const FileOutcome& file) { return file.fits(); });
    if (!outcome_.is_complete && !options_.reject) return std::move(outcome_);
    auto staged = plan_.stage();
    if (!staged) {
      if (is_failure_of_ours(staged.error())) return fail(std::move(staged.error()));
      refuse(std::move(staged.error()));
      return std::move(outcome_);
    }
    outcome_.is_staged = true;
    for (FileOutcome& file : outcome_.files) {
      file.is_staged = !file.refusal && (file.failures.empty() || !file.placements.empty());
    }
    return std::move(outcome_);
  }

  /// The overlay itself said no: the file that its message names carries the refusal.
  void refuse(Error error) {
    outcome_.is_complete = false;
    for (FileOutcome& file : outcome_.files) {
      if (file.path != error.path && file.new_path != error.path) continue;
      file.refusal = std::move(error);
      return;
    }
    outcome_.files.emplace_back().path = error.path;
    outcome_.files.back().refusal = std::move(error);
  }

  Result<void> plan_file(const FileEdit& given) {
    FileEdit selected;
    const FileEdit* edit = &given;
    if (!selection_.is_everything()) {
      outcome_.document_paths.push_back(given.new_path.empty() ? given.path : given.new_path);
      if (!selection_.select(given, selected)) return {};
      edit = &selected;
    }
    outcome_.files.emplace_back();
    FileOutcome& file = outcome_.files.back();
    file.op = edit->op;
    file.path = edit->path;
    file.new_path = edit->new_path;
    file.document_line = edit->document_line;
    auto done = plan_edit(*edit, file);
    if (done && may_be_of_another_version(file.failures)) return look_earlier(*edit, file);
    if (done) return {};
    if (is_failure_of_ours(done.error())) return done;
    file.refusal = std::move(done.error());
    return {};
  }

  /// Says of edits that do not fit which earlier version of the file they were made on.
  Result<void> look_earlier(const FileEdit& edit, FileOutcome& out) {
    if (!options_.earlier) return {};
    GALLEY_ASSIGN(const RelPath path, safe_path(out.path));
    GALLEY_ASSIGN(const PlannedFile now, plan_.original(path));
    if (!now.content || now.kind != FileKind::kRegular) return {};
    MatchOptions match = options_.match;
    match.indentation_is_meaning = indentation_is_meaning(out.path);
    out.earlier = find_earlier_match(edit, out.path, *now.content, options_.earlier(path), match);
    return {};
  }

  Result<RelPath> safe_path(const std::string& text) const {
    GALLEY_ASSIGN(RelPath path, options_.root.empty() ? RelPath::parse(text)
                                                      : RelPath::parse_within(text, options_.root));
    if (path.is_protected()) {
      return fail(ErrorKind::kRefused, "path.protected",
                  "'" + path.str() + "' is protected: no edit may touch .git, .galley or .sage",
                  path.str());
    }
    return path;
  }

  /// The path that is meant where its prefix is uncertain: the one that exists.
  Result<RelPath> meant_path(const FileEdit& edit) {
    if (edit.other_path.empty()) return safe_path(edit.path);
    auto first = safe_path(edit.path);
    auto second = safe_path(edit.other_path);
    if (!second) return first;
    GALLEY_ASSIGN(const PlannedFile other, plan_.current(*second));
    if (other.kind == FileKind::kAbsent) return first;
    if (!first) return second;
    GALLEY_ASSIGN(const PlannedFile plain, plan_.current(*first));
    if (plain.kind == FileKind::kAbsent) return second;
    return fail(
        ErrorKind::kRefused, "patch.ambiguous_path",
        "both '" + first->str() + "' and '" + second->str() + "' exist; say with -p which is meant",
        first->str());
  }

  Result<void> plan_edit(const FileEdit& edit, FileOutcome& out) {
    if (is_kind(edit.old_mode, kGitSubmodule) || is_kind(edit.new_mode, kGitSubmodule)) {
      return fail(ErrorKind::kRefused, "patch.submodule",
                  "'" + edit.path + "' is a submodule; its commit is not a file to edit",
                  edit.path);
    }
    if (edit.binary_missing) {
      return fail(ErrorKind::kRefused, "patch.binary_missing",
                  "the patch says that '" + edit.path +
                      "' differs but holds no bytes; make it with git diff --binary",
                  edit.path);
    }
    GALLEY_ASSIGN(const RelPath path, meant_path(edit));
    out.path = path.str();
    switch (edit.op) {
      case FileOp::kCreate:
        return plan_create(edit, path, out);
      case FileOp::kDelete:
        return plan_delete(edit, path, out);
      case FileOp::kRename:
      case FileOp::kCopy:
        return plan_transfer(edit, path, out);
      case FileOp::kModify:
      case FileOp::kWrite:
        break;
    }
    if (begins_file(edit)) {
      GALLEY_ASSIGN(const PlannedFile there, plan_.current(path));
      if (there.kind == FileKind::kAbsent) {
        out.op = FileOp::kCreate;
        return plan_create(edit, path, out);
      }
    }
    return plan_modify(edit, path, out);
  }

  [[nodiscard]] std::string seems_done() const {
    return std::string(": this patch seems to be ") +
           (edits_.is_reversed ? "reversed" : "applied") + " already";
  }

  tl::unexpected<Error> missing(const FileEdit& edit, const RelPath& path) const {
    // Who knows the content that he deletes has not mistyped the name.
    if (edit.op == FileOp::kDelete &&
        (!edit.hunks.empty() || edit.binary || names_blob(edit.old_blob))) {
      return fail(ErrorKind::kRefused, "patch.already_applied",
                  "'" + path.str() + "' is already not there" + seems_done(), path.str());
    }
    return fail(ErrorKind::kNotFound, "patch.file_not_found",
                "'" + path.str() + "' does not exist; to create it, diff from /dev/null",
                path.str());
  }

  /// A traditional diff whose only hunk says that there was nothing makes the file where it is
  /// missing (git and GNU patch do the same).
  static bool begins_file(const FileEdit& edit) {
    if (edit.hunks.size() != 1 || edit.old_mode || !edit.old_blob.empty()) return false;
    const Hunk& hunk = edit.hunks.front();
    return hunk.has_numbers && hunk.old_start == 0 &&
           std::all_of(hunk.lines.begin(), hunk.lines.end(),
                       [](const HunkLine& line) { return line.role == LineRole::kAdded; });
  }

  /// Refuses what is no file or link, and a patch for the one on the other.
  Result<void> check_kind(const FileEdit& edit, const RelPath& path, const PlannedFile& file) {
    if (file.kind == FileKind::kAbsent) return missing(edit, path);
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
      return fail(ErrorKind::kRefused, is_link ? "path.is_symlink" : "path.not_symlink",
                  "'" + path.str() +
                      (is_link ? "' is a symbolic link to '" + *file.content +
                                     "' and the edit is for a file"
                               : "' is a file and the edit is for a symbolic link"),
                  path.str());
    }
    return {};
  }

  Result<void> check_absent(const RelPath& path, const std::string* wanted) {
    GALLEY_ASSIGN(const PlannedFile there, plan_.current(path));
    if (there.kind == FileKind::kAbsent) return {};
    // A directory that the document empties makes room; the overlay has the last word.
    if (there.kind == FileKind::kDirectory && empties(path)) return {};
    if (wanted != nullptr && there.content && *there.content == *wanted) {
      return fail(ErrorKind::kRefused, "patch.already_applied",
                  "'" + path.str() + "' is already there with this content" +
                      (edits_.is_reversed ? seems_done() : "; leave it out"),
                  path.str());
    }
    return fail(ErrorKind::kRefused, "path.exists",
                "'" + path.str() + "' already exists; edit it instead of creating it", path.str());
  }

  Result<void> plan_create(const FileEdit& edit, const RelPath& path, FileOutcome& out) {
    GALLEY_TRY(check_made_once(edit, path));
    GALLEY_ASSIGN(std::string content, content_of(edit, path, std::string(), out));
    GALLEY_TRY(check_absent_later(path, content));
    if (!out.failures.empty()) return {};
    PlannedFile file;
    file.kind = is_kind(edit.new_mode, kGitSymlink) ? FileKind::kSymlink : FileKind::kRegular;
    if (file.kind == FileKind::kRegular) {
      file.mode = mode_of_new(edit);
    }
    file.content = std::make_shared<const std::string>(std::move(content));
    plan_.put(path, std::move(file));
    return {};
  }

  /// A path may be created that a later edit of the document takes away (rename swaps).
  Result<void> check_absent_later(const RelPath& path, const std::string& content) {
    return will_go(path) ? Result<void>() : check_absent(path, &content);
  }

  [[nodiscard]] bool empties(const RelPath& directory) const {
    const auto below = going_.lower_bound(directory.str() + "/");
    return below != going_.end() && below->starts_with(directory.str() + "/");
  }

  [[nodiscard]] bool will_go(const RelPath& path) const { return going_.count(path.str()) > 0; }

  Result<void> plan_delete(const FileEdit& edit, const RelPath& path, FileOutcome& out) {
    GALLEY_ASSIGN(const PlannedFile file, plan_.current(path));
    GALLEY_TRY(check_kind(edit, path, file));
    GALLEY_TRY(check_blob(edit, path, *file.content));
    if (!edit.hunks.empty() || edit.binary) {
      GALLEY_ASSIGN(const std::string left, content_of(edit, path, *file.content, out));
      if (!out.failures.empty()) return {};
      if (!left.empty()) {
        return fail(ErrorKind::kRefused, "patch.delete_leaves_content",
                    "'" + path.str() + "' holds more than the patch that deletes it knows of",
                    path.str());
      }
    }
    plan_.remove(path);
    made_at_.erase(path);
    return {};
  }

  /// A deletion without a body must name the content that it means, when it names one.
  Result<void> check_blob(const FileEdit& edit, const RelPath& path, const std::string& content) {
    const bool has_proof = names_blob(edit.old_blob);
    if (!has_proof || !edit.hunks.empty() || is_blob(edit.old_blob, content)) return {};
    return fail(ErrorKind::kRefused, "patch.other_content",
                "'" + path.str() + "' is not the file that the patch was made for (index " +
                    edit.old_blob + ")",
                path.str());
  }

  Result<void> check_not_renamed(const RelPath& from, const RelPath& to) {
    GALLEY_ASSIGN(const PlannedFile target, plan_.original(to));
    if (target.kind == FileKind::kAbsent || will_go(to)) return {};
    return fail(ErrorKind::kRefused, "patch.already_applied",
                "'" + from.str() + "' is not there and '" + to.str() + "' is" + seems_done(),
                from.str());
  }

  /// Two files of the document cannot become one: git would keep the last in silence.
  Result<void> check_made_once(const FileEdit& edit, const RelPath& path) {
    const auto [made, is_first] = made_at_.emplace(path, edit.document_line);
    if (is_first || edit.document_line == 0) return {};
    return fail(ErrorKind::kRefused, "patch.target_twice",
                "'" + path.str() + "' is made twice, by line " + std::to_string(made->second) +
                    " and by line " + std::to_string(edit.document_line) +
                    " of the patch; one of the two would be lost",
                path.str());
  }

  Result<void> plan_transfer(const FileEdit& edit, const RelPath& from, FileOutcome& out) {
    GALLEY_ASSIGN(const RelPath to, safe_path(edit.new_path));
    out.new_path = to.str();
    // git: what renames and copies take from is the tree before the document.
    GALLEY_ASSIGN(PlannedFile file, plan_.original(from));
    if (file.kind == FileKind::kAbsent && edit.op == FileOp::kRename) {
      GALLEY_TRY(check_not_renamed(from, to));
    }
    GALLEY_TRY(check_made_once(edit, to));
    FileEdit typed = edit;
    if (!typed.old_mode && file.kind == FileKind::kSymlink) typed.old_mode = kGitSymlink;
    GALLEY_TRY(check_kind(typed, from, file));
    GALLEY_ASSIGN(std::string content, content_of(edit, from, *file.content, out));
    if (from != to && !will_go(to)) GALLEY_TRY(check_absent(to, nullptr));
    if (!out.failures.empty() && !options_.reject) return {};
    file.content = std::make_shared<const std::string>(std::move(content));
    apply_mode(edit, file);
    if (edit.op == FileOp::kRename) {
      if (!is_produced(from)) plan_.remove(from);
      file.moved_from = from;
    } else {
      file.copied_from = from;
    }
    plan_.put(to, std::move(file));
    produced_.insert(to);
    return {};
  }

  /// True when an earlier edit of the document has put something new at this path.
  [[nodiscard]] bool is_produced(const RelPath& path) const { return produced_.count(path) > 0; }

  /// As git makes files: what the umask leaves, whether the patch says 644 or 664.
  static uint32_t mode_of_new(const FileEdit& edit) {
    return created_file_mode((edit.new_mode.value_or(0) & kAnyExecute) != 0);
  }

  static void apply_mode(const FileEdit& edit, PlannedFile& file) {
    if (!edit.new_mode || file.kind != FileKind::kRegular) return;
    if (edit.old_mode && *edit.old_mode == *edit.new_mode) return;
    file.mode = with_git_mode(file.mode, *edit.new_mode);
  }

  Result<void> plan_modify(const FileEdit& edit, const RelPath& path, FileOutcome& out) {
    GALLEY_ASSIGN(PlannedFile file, plan_.current(path));
    if (edit.op == FileOp::kWrite && file.kind == FileKind::kAbsent) {
      file.kind = FileKind::kRegular;
      file.mode = mode_of_new(edit);
      file.content = std::make_shared<const std::string>();
    }
    GALLEY_TRY(check_kind(edit, path, file));
    if (is_kind(edit.old_mode, kGitSymlink) != is_kind(edit.new_mode, kGitSymlink) &&
        edit.new_mode && edit.old_mode) {
      return fail(ErrorKind::kRefused, "patch.type_change",
                  "'" + path.str() + "' would change its type; delete it and create it anew",
                  path.str());
    }
    GALLEY_ASSIGN(std::string content, content_of(edit, path, *file.content, out));
    if (!out.failures.empty() && (!options_.reject || out.placements.empty())) return {};
    file.content = std::make_shared<const std::string>(std::move(content));
    apply_mode(edit, file);
    plan_.put(path, std::move(file));
    produced_.insert(path);
    return {};
  }

  Result<std::string> content_of(const FileEdit& edit, const RelPath& path, const std::string& base,
                                 FileOutcome& out) {
    return edited_content(edit, path, base,
                          {options_, edits_.is_reversed, outcome_.leniencies, out});
  }

  Overlay& overlay_;
  const EditSet& edits_;
  const StageOptions& options_;
  EditSelection selection_;
  FilePlan plan_;
  EditOutcome outcome_;
  std::set<RelPath> produced_;
  std::set<std::string> going_;          ///< paths that the document renames or deletes
  std::map<RelPath, uint32_t> made_at_;  ///< paths that it creates, and in which of its lines
};

}  // namespace

Result<EditOutcome> stage_edits(Overlay& overlay, const EditSet& edits,
                                const StageOptions& options) {
  return Stager(overlay, edits, options).run();
}

}  // namespace galley
