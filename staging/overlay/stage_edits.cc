#include "staging/overlay/stage_edits.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/file_mode.h"
#include "base/limits.h"
#include "base/text.h"
#include "staging/formats/read_edits.h"
#include "staging/fs/disk_directory.h"
#include "staging/overlay/edit_selection.h"
#include "staging/overlay/file_plan.h"
#include "staging/overlay/meant_file.h"
#include "staging/overlay/prepared_edits.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/overlay/stage_checks.h"
#include "staging/placing/hunk_text.h"
#include "staging/placing/search_help.h"

namespace galley {
namespace {

bool is_failure_of_ours(const Error& error) {
  return error.kind == ErrorKind::kIo || error.kind == ErrorKind::kInternal ||
         error.kind == ErrorKind::kTimeout || error.kind == ErrorKind::kUndecided ||
         error.reason == "edit.truncated" || error.reason == "edit.no_file_name";
}

/// Documents with more files get no correction: it would take too long, and be too long.
constexpr size_t kMostCorrectedFiles = 20;

/// Whether another version of the file might explain these failures better.
bool may_be_of_another_version(const std::vector<EditFailure>& failures) {
  return std::any_of(failures.begin(), failures.end(), [](const EditFailure& failure) {
    return failure.reason != "patch.already_applied";
  });
}

/// Whether hunks have context or removed lines.
bool has_old_lines(const FileEdit& edit) {
  return std::any_of(edit.hunks.begin(), edit.hunks.end(), [](const Hunk& hunk) {
    return std::any_of(hunk.lines.begin(), hunk.lines.end(),
                       [](const HunkLine& line) { return line.role != LineRole::kAdded; });
  });
}

/// Stages one part of a document: first computes everything in a plan, then stages the plan.
class Stager {
 public:
  /// `document`, `selection`, `help` and `outcome` belong to the whole document.
  Stager(Overlay& overlay, const StageOptions& options, const EditSet& document,
         EditSelection& selection, SearchHelp& help, EditOutcome& outcome)
      : options_(options),
        document_(document),
        is_reversed_(document.is_reversed),
        selection_(selection),
        help_(help),
        plan_(overlay),
        meant_(plan_, options),
        outcome_(outcome) {}

  /// Plans the edits and adds their outcomes. Returns false if not all fit.
  Result<bool> plan(std::span<const FileEdit> edits) {
    first_ = outcome_.files.size();
    for (const FileEdit& edit : edits) {
      if (edit.op != FileOp::kRename && edit.op != FileOp::kDelete) continue;
      going_.insert(edit.path);
      if (const auto path = safe_path(edit.path)) plan_.mark_removed(*path);
    }
    if (selection_.is_everything()) {
      prepared_ = PreparedEdits::of(plan_.overlay(), edits, options_, is_reversed_);
    }
    Result<void> planned;
    for (const FileEdit& edit : edits) {
      if (planned && options_.is_over && options_.is_over()) {
        planned = fail(interrupted(edit.path));
      }
      if (planned) planned = plan_file(edit);
    }
    plan_.overlay().expect({});
    GALLEY_TRY(planned);
    return std::all_of(outcome_.files.begin() + static_cast<ptrdiff_t>(first_),
                       outcome_.files.end(), [](const FileOutcome& file) { return file.fits(); });
  }

  /// Stages the edits that fit. Returns false if the overlay refuses them.
  Result<bool> stage() {
    auto staged = plan_.stage();
    if (!staged) {
      if (is_failure_of_ours(staged.error())) return fail(std::move(staged.error()));
      refuse(std::move(staged.error()));
      return false;
    }
    for (size_t i = first_; i < outcome_.files.size(); ++i) {
      FileOutcome& file = outcome_.files[i];
      file.is_staged = !file.refusal && (file.failures.empty() || !file.placements.empty());
    }
    return true;
  }

 private:
  /// Adds a refusal of the overlay to the outcome of the file that it names.
  void refuse(Error error) {
    for (size_t i = first_; i < outcome_.files.size(); ++i) {
      FileOutcome& file = outcome_.files[i];
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
    if (const auto meant =
            name_file_inside(plan_.overlay().workspace(), options_.may_read, *file.refusal)) {
      if (!edit->whole || is_mostly(*edit->whole, *meant)) file.nearby = meant->str();
    }
    if (file.refusal->reason != "patch.file_not_found") return {};
    const bool is_free = name_nearby(*file.refusal, *edit);
    return edit->may_be_new && is_free ? make_shown_file(*edit) : Result<void>();
  }

  /// Makes the file that an answer shows whole, if no file near by has a similar name.
  Result<void> make_shown_file(const FileEdit& edit) {
    FileEdit made = edit;
    made.op = FileOp::kWrite;
    FileOutcome& file = outcome_.files.back();
    file.refusal.reset();
    file.op = made.op;
    auto done = plan_edit(made, file);
    if (done || is_failure_of_ours(done.error())) return done;
    file.refusal = std::move(done.error());
    return {};
  }

  /// Names a file with a similar path: probably that file was meant, not a new one. A file in any
  /// folder, if the edit is for an existing one, or shows most of its lines. Returns whether no
  /// other file can be meant; by a name without a folder, none of that name anywhere.
  bool name_nearby(Error& missing, const FileEdit& edit) {
    const auto path = RelPath::parse(missing.path);
    const Directory& workspace = plan_.overlay().workspace();
    if (const std::string why = path ? why_left_out(*path) : std::string(); !why.empty()) {
      missing.message = "'" + missing.path + "' is not there, " + why;
      return true;
    }
    auto other = path ? same_name_nearby(workspace, *path) : std::nullopt;
    if (path && !other) other = nearly_same_name(workspace, *path);
    const bool is_near = other.has_value();
    const SameName same = path && !other ? meant_.elsewhere(*path) : SameName();
    if (same.nearest) other = same.nearest;
    const bool has_folder = edit.path.find('/') != std::string::npos;
    if (!other || (options_.may_read && !options_.may_read(*other))) {
      return has_folder || same.is_free;
    }
    if (edit.may_be_new && has_folder && !is_near && !is_mostly(*edit.whole, *other)) return true;
    const bool is_itself = other->str() == missing.path;
    const std::string named = is_itself
                                  ? "'" + missing.path +
                                        "' is moved or deleted by an earlier part of the document: "
                                        "are its patches in order, the oldest first?"
                                  : "'" + missing.path + "' does not exist, but '" + other->str() +
                                        "' does: name that file if it is meant";
    missing.message = named + missing.message.substr(missing.message.find(';'));
    if (!is_itself && may_mean(*other)) outcome_.files.back().nearby = other->str();
    return false;
  }

  /// Why the tree lacks a file that may well exist, so that no other is taken for it; empty: there
  /// is no such reason.
  [[nodiscard]] std::string why_left_out(const RelPath& path) {
    const Directory& tree = plan_.overlay().workspace();
    const auto there = tree.stat(path);
    if (!there || there->kind != FileKind::kAbsent) return {};
    if (options_.is_left_out && options_.is_left_out(path)) {
      return "because this sparse checkout leaves it out; take it with: git sparse-checkout add "
             "FOLDER";
    }
    for (RelPath folder = path.parent(); !folder.is_root(); folder = folder.parent()) {
      const auto opened = tree.open_directory(folder);
      if (!opened) continue;
      const auto entries = (*opened)->list();
      if (!entries || !entries->empty()) return {};
      return "and '" + folder.str() +
             "' is empty; if it is a submodule, check it out first: git submodule update --init";
    }
    return {};
  }

  [[nodiscard]] bool is_mostly(std::string_view text, const RelPath& path) {
    const auto file = plan_.current(path);
    return file && file->content && has_most_lines(text, *file->content);
  }

  /// Finds the earlier version of the file for which the edits that do not fit were made.
  Result<void> look_earlier(const FileEdit& edit, FileOutcome& out) {
    GALLEY_ASSIGN(const RelPath path, safe_path(out.path));
    GALLEY_ASSIGN(const PlannedFile now, plan_.original(path));
    if (!now.content || now.kind != FileKind::kRegular) return {};
    MatchOptions match = options_.match;
    match.indentation_is_syntax = indentation_is_syntax(out.path);
    if (const Content before = base_of(path);
        before && was_made_since(edit, *before, *now.content, match)) {
      say_made("this transaction", out);
      return {};
    }
    if (!options_.earlier) return {};
    out.earlier = find_earlier_match(edit, out.path, *now.content, options_.earlier(path), match);
    if (out.earlier && out.earlier->is_made)
      say_made("transaction " + out.earlier->transaction, out);
    return {};
  }

  /// The content before the transaction changed the file; null if unknown.
  [[nodiscard]] Content base_of(const RelPath& path) {
    Overlay& overlay = plan_.overlay();
    const auto entry = overlay.entries().find(path);
    if (entry == overlay.entries().end()) return nullptr;
    if (entry->second.before.kind != FileKind::kRegular) return nullptr;
    auto content = overlay.store()->get(entry->second.before.content);
    return content ? *std::move(content) : nullptr;
  }

  static void say_made(const std::string& by, FileOutcome& out) {
    for (EditFailure& failure : out.failures) {
      if (failure.reason != "patch.context_not_found") continue;
      failure.reason = "patch.already_applied";
      failure.message = failure.message.substr(0, failure.message.find(" does not fit")) +
                        ": this change is already there, " + by + " made it; leave it out";
      failure.rebased.clear();
    }
  }

  Result<RelPath> safe_path(const std::string& text) const {
    return editable_path(text, options_.root);
  }

  /// Whether the options let an edit mean a file that it does not name.
  [[nodiscard]] bool may_mean(const RelPath& path) const {
    const std::string& directory = document_.directory;
    const bool has_all = directory == "/" || (options_.root + "/").starts_with(directory + "/");
    if (!directory.empty() && !has_all) {
      // The directory alone may be the root, which is not editable.
      const auto inside = safe_path(directory + "/f");
      if (!inside || !path.is_below(inside->parent())) return false;
    }
    return (!document_.is_wanted || document_.is_wanted(path.str())) &&
           selection_.may_mean(path.str());
  }

  /// Returns the intended path: the named one or, if it does not exist, the only file with a
  /// similar name that has the edit's lines.
  Result<RelPath> meant_path(const FileEdit& edit) {
    if (edit.path.empty()) return nameless_path(edit);
    GALLEY_ASSIGN(RelPath named, named_path(edit));
    const bool may_guess = edit.op == FileOp::kModify && !edit.hunks.empty() &&
                           !edit.is_by_program && !begins_file(edit) &&
                           options_.match.last_step > MatchStep::kOffset;
    if (!may_guess) return named;
    GALLEY_ASSIGN(const PlannedFile there, plan_.current(named));
    if (there.kind != FileKind::kAbsent || plan_.is_removed(named)) return named;
    if (!why_left_out(named).empty()) return named;
    const std::vector<RelPath> nearly = meant_.candidates(edit, named);
    if (nearly.size() != 1 || !may_mean(nearly.front())) return named;
    outcome_.leniencies.push_back({"file_guessed",
                                   "'" + named.str() +
                                       "' does not exist; the edit was taken for '" +
                                       nearly.front().str() + "', the one file that fits",
                                   nearly.front().str(), edit.document_line});
    return nearly.front();
  }

  /// Returns the path for hunks that do not name their file.
  Result<RelPath> nameless_path(const FileEdit& edit) {
    const std::vector<RelPath> found = meant_.candidates(edit, RelPath::root());
    const bool is_clear = found.size() == 1 && may_mean(found.front());
    if (is_clear && options_.match.last_step > MatchStep::kOffset) {
      outcome_.leniencies.push_back({"file_guessed",
                                     "no name says which file the hunks are for; '" +
                                         found.front().str() + "' is the one file that fits",
                                     found.front().str(), edit.document_line});
      return found.front();
    }
    return fail(ErrorKind::kInvalid, "edit.no_file_name",
                "line " + std::to_string(edit.document_line) +
                    " of the patch: a hunk without a file name before it; put '--- a/PATH' and "
                    "'+++ b/PATH' lines before it");
  }

  /// Returns the path that the edit names. If its prefix is uncertain, returns the path that
  /// exists.
  Result<RelPath> named_path(const FileEdit& edit) {
    GALLEY_ASSIGN(RelPath path, existing_path(edit));
    for (Leniency& leniency : outcome_.leniencies) {
      if (leniency.path == edit.path && leniency.line == edit.document_line)
        leniency.path = path.str();
    }
    return path;
  }

  Result<RelPath> existing_path(const FileEdit& edit) {
    if (edit.other_path.empty()) return safe_path(edit.path);
    auto first = safe_path(edit.path);
    auto second = safe_path(edit.other_path);
    if (!second || (first && *first == *second)) return first;
    // Options that take only one of the names choose it.
    const bool may_second = may_mean(*second);
    if (first ? may_mean(*first) != may_second : !may_second) return may_second ? second : first;
    GALLEY_ASSIGN(const PlannedFile other, plan_.current(*second));
    if (other.kind == FileKind::kAbsent) return first;
    if (!first) return second;
    GALLEY_ASSIGN(const PlannedFile plain, plan_.current(*first));
    if (plain.kind == FileKind::kAbsent) return second;
    return chosen_of_two(*first, *second);
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

  /// A traditional diff whose only hunk starts from an empty file creates the file if it is missing
  /// (as in git and GNU patch).
  static bool begins_file(const FileEdit& edit) {
    if (edit.hunks.size() != 1 || edit.old_mode || !edit.old_blob.empty()) return false;
    const Hunk& hunk = edit.hunks.front();
    return hunk.has_numbers && hunk.old_start == 0 &&
           std::all_of(hunk.lines.begin(), hunk.lines.end(),
                       [](const HunkLine& line) { return line.role == LineRole::kAdded; });
  }

  Result<void> check_absent(const RelPath& path, const std::string* wanted) {
    GALLEY_ASSIGN(const PlannedFile there, plan_.current(path));
    if (there.kind == FileKind::kAbsent) return plan_.overlay().check_new_name(path);
    // A directory that the document empties will be gone. The overlay checks that later.
    if (there.kind == FileKind::kDirectory && empties(path)) return {};
    if (wanted != nullptr && there.content && *there.content == *wanted) {
      return fail(ErrorKind::kRefused, "patch.already_applied",
                  "'" + path.str() + "' is already there with this content" +
                      (is_reversed_ ? already_applied_note(true) : "; leave it out"),
                  path.str());
    }
    return fail(ErrorKind::kRefused, "path.exists",
                "'" + path.str() + "' already exists; edit it instead of creating it", path.str());
  }

  /// Refuses a new file whose hunks have lines of an existing one.
  Result<void> check_is_new(const FileEdit& edit, const RelPath& path, FileOutcome& out) {
    if (!has_old_lines(edit)) return {};
    GALLEY_ASSIGN(const PlannedFile there, plan_.current(path));
    static constexpr const char* kRemedy =
        ", and the hunks have old lines; to edit a file, name it before '+++', too; to create one, "
        "begin each line with '+'";
    if (there.kind != FileKind::kRegular) {
      return fail(ErrorKind::kRefused, "patch.file_not_found",
                  "'" + path.str() + "' does not exist" + kRemedy, path.str());
    }
    out.nearby = path.str();
    return fail(ErrorKind::kRefused, "path.exists", "'" + path.str() + "' already exists" + kRemedy,
                path.str());
  }

  /// An answer may also give the content of an empty file, whose mode stays.
  Result<void> plan_create(const FileEdit& edit, const RelPath& path, FileOutcome& out) {
    GALLEY_TRY(check_is_new(edit, path, out));
    GALLEY_TRY(check_made_once(edit, path));
    static const Content kNothing = std::make_shared<const std::string>();
    GALLEY_ASSIGN(EditedFile made, content_of(edit, path, kNothing, out));
    GALLEY_ASSIGN(PlannedFile file, plan_.current(path));
    const bool is_filled = file.kind == FileKind::kRegular && file.content->empty() &&
                           !edit.is_by_program && !will_go(path);
    if (!is_filled) GALLEY_TRY(check_absent_later(path, *made.content));
    if (!out.failures.empty()) return {};
    if (is_filled) {
      file.content = std::move(made.content);
      file.id.reset();
      plan_.put(path, std::move(file));
      return {};
    }
    file = {};
    file.kind = is_kind(edit.new_mode, kGitSymlink) ? FileKind::kSymlink : FileKind::kRegular;
    if (file.kind == FileKind::kRegular) {
      file.mode = mode_of_new(edit);
    }
    file.content = std::move(made.content);
    plan_.put(path, std::move(file));
    return {};
  }

  /// A path may be created if a later edit of the document removes it (as in a swap by renames).
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
    GALLEY_TRY(check_kind(edit, path, file, is_reversed_));
    GALLEY_TRY(check_blob(edit, path, *file.content));
    if (!edit.hunks.empty() || edit.binary) {
      GALLEY_ASSIGN(const EditedFile left, content_of(edit, path, file.content, out));
      if (!out.failures.empty()) return {};
      // The hunks of a reversed copy are not all that it has.
      const bool is_proved =
          is_reversed_ && names_blob(edit.old_blob) && is_blob(edit.old_blob, *file.content);
      if (!left.content->empty() && !is_proved) return deletes_more(path, is_reversed_);
    } else if (edit.old_mode && !edit.whole && !names_blob(edit.old_blob) &&
               !file.content->empty()) {
      return fail(ErrorKind::kRefused, "patch.delete_leaves_content",
                  "line " + std::to_string(edit.document_line) + " of the patch deletes '" +
                      path.str() +
                      "', but nothing below it shows the content; send the hunks, too, or the "
                      "'index' line",
                  path.str());
    }
    if (is_produced(path)) {
      return fail(ErrorKind::kRefused, "patch.target_twice",
                  "'" + path.str() + "' is made by line " + std::to_string(made_at_[path]) +
                      " and deleted by line " + std::to_string(edit.document_line) +
                      " of the patch; to replace the file, delete it first",
                  path.str());
    }
    plan_.remove(path);
    made_at_.erase(path);
    return {};
  }

  Result<void> check_not_renamed(const RelPath& from, const RelPath& to) {
    GALLEY_ASSIGN(const PlannedFile target, plan_.original(to));
    if (target.kind == FileKind::kAbsent || will_go(to)) return {};
    return fail(ErrorKind::kRefused, "patch.already_applied",
                "'" + from.str() + "' is not there and '" + to.str() + "' is" +
                    already_applied_note(is_reversed_),
                from.str());
  }

  /// Refuses two files of the document with the same path. git would silently keep the last one.
  Result<void> check_made_once(const FileEdit& edit, const RelPath& path) {
    const auto [made, is_first] = made_at_.emplace(path, edit.document_line);
    if (is_first || edit.document_line == 0) return {};
    return fail(ErrorKind::kRefused, "patch.target_twice",
                "'" + path.str() + "' is made twice, by line " + std::to_string(made->second) +
                    " and by line " + std::to_string(edit.document_line) +
                    " of the patch; one of the two would be lost",
                path.str());
  }

  /// Refuses to copy or rename a file that may not be read. Under another name it could be read: by
  /// a failed edit, an editor or a tool.
  Result<void> check_may_take(const RelPath& from) const {
    if (!options_.may_read || options_.may_read(from)) return {};
    return fail(ErrorKind::kRefused, "policy.capability",
                "'" + from.str() + "' may not be read, so it may not be copied or renamed either",
                from.str());
  }

  Result<void> plan_transfer(const FileEdit& edit, const RelPath& from, FileOutcome& out) {
    GALLEY_ASSIGN(const RelPath to, safe_path(edit.new_path));
    out.new_path = to.str();
    GALLEY_TRY(check_may_take(from));
    // As in git, renames and copies read their source from the tree before the document. A rename
    // also takes the edits that the document made before.
    const bool is_of_edited = edit.op == FileOp::kRename && edited_.count(from) > 0;
    GALLEY_ASSIGN(PlannedFile file, is_of_edited ? plan_.current(from) : plan_.original(from));
    if (file.kind == FileKind::kAbsent && edit.op == FileOp::kRename) {
      GALLEY_TRY(check_not_renamed(from, to));
    }
    GALLEY_TRY(check_made_once(edit, to));
    FileEdit typed = edit;
    if (!typed.old_mode && file.kind == FileKind::kSymlink) typed.old_mode = kGitSymlink;
    GALLEY_TRY(check_kind(typed, from, file, is_reversed_));
    GALLEY_ASSIGN(EditedFile made, content_of(edit, from, file.content, out));
    if (from != to && !will_go(to)) GALLEY_TRY(check_absent(to, nullptr));
    if (!out.failures.empty() && !options_.reject) return {};
    take_content(file, made);
    apply_mode(edit, file);
    if (edit.op == FileOp::kRename) {
      if (is_of_edited || !is_produced(from)) plan_.remove(from);
      file.moved_from = from;
    } else {
      file.copied_from = from;
    }
    plan_.put(to, std::move(file));
    produced_.insert(to);
    return {};
  }

  /// True if an earlier rename or copy of the document made this path.
  [[nodiscard]] bool is_produced(const RelPath& path) const { return produced_.count(path) > 0; }

  /// As in git: the mode depends on the umask, even if the patch says 644 or 664.
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
    if (file.kind == FileKind::kAbsent) GALLEY_TRY(plan_.overlay().check_new_name(path));
    if (edit.op == FileOp::kWrite && file.kind == FileKind::kAbsent) {
      file.kind = FileKind::kRegular;
      file.mode = mode_of_new(edit);
      file.content = std::make_shared<const std::string>();
    }
    GALLEY_TRY(check_kind(edit, path, file, is_reversed_));
    if (is_kind(edit.old_mode, kGitSymlink) != is_kind(edit.new_mode, kGitSymlink) &&
        edit.new_mode && edit.old_mode) {
      return fail(ErrorKind::kRefused, "patch.type_change",
                  "'" + path.str() + "' would change its type; delete it and create it anew",
                  path.str());
    }
    GALLEY_ASSIGN(EditedFile made, content_of(edit, path, file.content, out));
    if (!out.failures.empty() && (!options_.reject || out.placements.empty())) return {};
    take_content(file, made);
    apply_mode(edit, file);
    plan_.put(path, std::move(file));
    edited_.insert(path);
    return {};
  }

  static void take_content(PlannedFile& file, EditedFile& made) {
    file.content = std::move(made.content);
    file.id = made.id;
  }

  Result<EditedFile> content_of(const FileEdit& edit, const RelPath& path, const Content& base,
                                FileOutcome& out) {
    if (auto made = prepared_.take(edit, base)) {
      out.placements = std::move(made->placements);
      outcome_.leniencies.insert(outcome_.leniencies.end(), made->leniencies.begin(),
                                 made->leniencies.end());
      return *std::move(made);
    }
    GALLEY_ASSIGN(std::string content,
                  edited_content(edit, path, *base,
                                 {options_, is_reversed_, &help_, outcome_.leniencies, out}));
    EditedFile made;
    made.content = std::make_shared<const std::string>(std::move(content));
    return made;
  }

  const StageOptions& options_;
  const EditSet& document_;
  bool is_reversed_;
  EditSelection& selection_;
  SearchHelp& help_;
  FilePlan plan_;
  MeantFile meant_;
  PreparedEdits prepared_;
  EditOutcome& outcome_;
  size_t first_ = 0;                     ///< index in outcome_.files of this part's first file
  std::set<RelPath> produced_;           ///< paths that renames and copies of the part make
  std::set<RelPath> edited_;             ///< paths whose files it edits in place
  std::set<std::string> going_;          ///< paths that it renames or deletes
  std::map<RelPath, uint32_t> made_at_;  ///< paths that it creates, with their document lines
};

/// Fails if the edits need a leniency that is to be refused.
Result<void> check_leniencies(const EditOutcome& outcome, const MatchOptions& match) {
  const auto refusal = [](const std::string& rule, const std::string& what, std::string path) {
    return fail(ErrorKind::kRefused, "edit.leniency",
                "the edit needs '" + rule + "' (" + what + "), which [edits] strict does not allow",
                std::move(path));
  };
  for (const Leniency& leniency : outcome.leniencies) {
    if (match.is_strict(leniency.rule))
      return refusal(leniency.rule, leniency.message, leniency.path);
  }
  for (const FileOutcome& file : outcome.files) {
    for (const Placement& placement : file.placements) {
      const std::string place = "its place is line " + std::to_string(placement.line);
      for (const auto& [rule, is_needed] :
           {std::pair("offset", placement.offset != 0), std::pair("fuzz", placement.fuzz > 0),
            std::pair("white_space",
                      placement.step == MatchStep::kWhiteSpace || !placement.indent.empty())}) {
        if (is_needed && match.is_strict(rule)) return refusal(rule, place, file.path);
      }
    }
  }
  return {};
}

/// Stages the parts in order, each on the result of the earlier ones. If only some edits of a part
/// fit, they are staged, so that later parts meet the state that they were written for.
Result<EditOutcome> stage_parts(Overlay& overlay, const EditSet& edits,
                                const StageOptions& options) {
  EditOutcome outcome;
  outcome.leniencies = edits.leniencies;
  outcome.is_complete = true;
  bool is_staged = true;
  SearchHelp help;
  EditSelection selection(options.only, options.except, options.root);
  selection.learn(edits.files);
  const std::span<const FileEdit> files(edits.files);
  for (size_t begin = 0; begin < files.size() || begin == 0;) {
    size_t end = begin;
    while (end < files.size() && files[end].part == files[begin].part) ++end;
    Stager stager(overlay, options, edits, selection, help, outcome);
    GALLEY_ASSIGN(const bool fits, stager.plan(files.subspan(begin, end - begin)));
    outcome.is_complete = outcome.is_complete && fits;
    const bool is_last = end == files.size();
    if (is_last && !outcome.is_complete && !options.reject) {
      is_staged = false;
    } else {
      GALLEY_ASSIGN(const bool is_taken, stager.stage());
      is_staged = is_staged && is_taken;
    }
    if (is_last) break;
    begin = end;
  }
  GALLEY_TRY(check_leniencies(outcome, options.match));
  outcome.unmatched = selection.unmatched();
  outcome.is_complete = outcome.is_complete && is_staged;
  outcome.is_staged = is_staged && (outcome.is_complete || options.reject);
  for (FileOutcome& file : outcome.files) file.is_staged = file.is_staged && outcome.is_staged;
  return outcome;
}

/// Replaces the hunk or text edit number `at` by its correction.
void correct_edit(FileEdit& file, size_t at, const std::string& rebased, EditSet& set) {
  auto read = read_unified("--- a/f\n+++ b/f\n" + rebased, {});
  GALLEY_CHECK(read && read->files.size() == 1 && read->files[0].hunks.size() == 1);
  Hunk& hunk = read->files[0].hunks[0];
  if (!file.hunks.empty()) {
    file.hunks[at] = std::move(hunk);
    set.texts.insert(set.texts.end(), read->texts.begin(), read->texts.end());
    return;
  }
  const auto text_of = [&](const std::vector<std::string_view>& lines) {
    std::string text;
    for (const std::string_view line : lines) text += line;
    return set.keep(std::move(text));
  };
  TextEdit& edit = file.text_edits[at];
  edit.old_text = text_of(pre_image(hunk));
  edit.new_text = text_of(post_image(hunk));
  edit.has_elisions = false;
}

/// Whether the texts before and after an edit say all that it does. A new mode, a link and an empty
/// new file are not in them.
bool is_only_text(const FileEdit& edit) {
  if (edit.op != FileOp::kCreate) {
    return !edit.new_mode ||
           (edit.old_mode == edit.new_mode && !is_kind(edit.new_mode, kGitSymlink));
  }
  return !edit.new_mode || *edit.new_mode == git_mode::kRegular;
}

/// The document with the corrections of its outcome, and without edits that were made already.
/// Returns nullopt if nothing can be corrected.
std::optional<EditSet> with_corrections(const EditSet& edits, const EditOutcome& outcome) {
  if (outcome.files.size() != edits.files.size()) return std::nullopt;
  if (edits.files.size() > kMostCorrectedFiles) return std::nullopt;
  EditSet out = edits;
  bool is_any = false;
  for (size_t i = 0; i < out.files.size(); ++i) {
    FileEdit& file = out.files[i];
    const FileOutcome& found = outcome.files[i];
    const bool is_text = (file.op == FileOp::kModify &&
                          (file.whole || file.hunks.empty() != file.text_edits.empty())) ||
                         file.op == FileOp::kCreate;
    if (!is_text || !is_only_text(file) || file.binary || (found.refusal && found.nearby.empty()))
      return std::nullopt;
    if (found.refusal) {
      file.path = found.nearby;
      file.other_path.clear();
      if (has_old_lines(file)) {  // so it is not new
        file.op = FileOp::kModify;
        file.new_mode.reset();
      }
      is_any = true;
    }
    for (size_t k = found.failures.size(); k-- > 0;) {
      const EditFailure& failure = found.failures[k];
      if (failure.reason == "patch.already_applied") {
        if (file.hunks.empty()) {
          file.text_edits.erase(file.text_edits.begin() + static_cast<ptrdiff_t>(failure.edit));
        } else {
          file.hunks.erase(file.hunks.begin() + static_cast<ptrdiff_t>(failure.edit));
        }
        is_any = true;
      } else if (!failure.rebased.empty() &&
                 (!file.hunks.empty() || !file.text_edits[failure.edit].replace_all)) {
        correct_edit(file, failure.edit, failure.rebased, out);
        is_any = true;
      }
    }
  }
  std::erase_if(out.files, [](const FileEdit& file) {
    return file.op == FileOp::kModify && !file.whole && file.hunks.empty() &&
           file.text_edits.empty();
  });
  return is_any && !out.files.empty() ? std::optional(std::move(out)) : std::nullopt;
}

/// The files after the edits; nullopt if the edits do not fit. The overlay stays as it is.
std::optional<std::map<RelPath, std::string>> texts_after(Overlay& overlay, const EditSet& edits,
                                                          const StageOptions& options) {
  const Overlay::Entries before = overlay.entries();
  std::optional<std::map<RelPath, std::string>> out;
  const auto made = stage_parts(overlay, edits, options);
  if (made && made->is_complete && made->is_staged) {
    out.emplace();
    for (const FileOutcome& file : made->files) {
      const auto path = RelPath::parse(file.path);
      const auto text = path ? overlay.read(*path) : Result<Content>(path.error());
      if (text) out->insert_or_assign(*path, **text);
    }
  }
  overlay.restore(before);
  return out;
}

/// The edits of a document that does not fit, written so that they fit. A correction is given only
/// if it was tried and makes the same texts.
std::optional<CorrectedEdits> correction_of_document(Overlay& overlay, const EditSet& edits,
                                                     const EditOutcome& outcome,
                                                     const StageOptions& options) {
  const auto set = with_corrections(edits, outcome);
  if (!set) return std::nullopt;
  StageOptions plain = options;
  plain.earlier = {};
  const auto after = texts_after(overlay, *set, plain);
  if (!after) return std::nullopt;
  std::vector<CorrectedText> texts;
  for (const auto& [path, text] : *after) {
    if (options.may_read && !options.may_read(path)) return std::nullopt;
    const auto node = overlay.node_without_content(path);
    if (!node) return std::nullopt;
    const bool is_new = node->kind == FileKind::kAbsent;
    if (!is_new && node->kind != FileKind::kRegular) return std::nullopt;
    const auto before =
        is_new ? Result<Content>(std::make_shared<const std::string>()) : overlay.read(path);
    if (!before || !is_utf8(text) || !is_utf8(**before)) return std::nullopt;
    if (is_new && text.empty()) return std::nullopt;  // a text edit cannot make it
    if (**before != text) texts.push_back({path.str(), is_new, **before, text});
  }
  auto corrected = corrected_edits(texts, edits.format);
  if (!corrected || texts.empty()) return std::nullopt;
  EditSet again;
  if (corrected->document.empty()) {
    for (const CorrectedEdits::File& file : corrected->files) {
      FileEdit edit;
      edit.path = file.path;
      if (file.is_new) {
        edit.op = FileOp::kCreate;
        edit.whole = again.keep(file.text);
      }
      for (const auto& [old_text, new_text] : file.pairs) {
        edit.text_edits.emplace_back();
        edit.text_edits.back().old_text = again.keep(old_text);
        edit.text_edits.back().new_text = again.keep(new_text);
      }
      again.files.push_back(std::move(edit));
    }
  } else {
    auto read = read_edits(corrected->document, edits.format, {});
    if (!read) return std::nullopt;
    again = *std::move(read);
  }
  // A block cannot state that the last line has no newline.
  plain.match.last_step = std::min(options.match.last_step, MatchStep::kLineEnds);
  const auto made = texts_after(overlay, again, plain);
  if (!made) return std::nullopt;
  for (const CorrectedText& text : texts) {
    const auto found = made->find(*RelPath::parse(text.path));
    if (found == made->end() || found->second != text.after) return std::nullopt;
  }
  return corrected;
}

/// The choices that selected no place.
std::vector<std::string> void_choices(const std::vector<std::string>& choices,
                                      const EditOutcome& outcome) {
  std::set<std::string> used;
  for (const FileOutcome& file : outcome.files) {
    for (const Placement& placement : file.placements) {
      used.insert(placement.choices.begin(), placement.choices.end());
    }
  }
  std::vector<std::string> out;
  std::copy_if(choices.begin(), choices.end(), std::back_inserter(out),
               [&](const std::string& id) { return !used.contains(id); });
  return out;
}

}  // namespace

tl::unexpected<Error> void_choice(const std::string& id) {
  return fail(ErrorKind::kRefused, "patch.choice_void",
              "the place that '" + id + "' chose is not there any more; preview again");
}

Result<EditOutcome> stage_edits(Overlay& overlay, const EditSet& edits,
                                const StageOptions& options) {
  if (edits.files.size() > limits::kMaxFilesInPatch) {
    return fail(ErrorKind::kQuota, "limit.patch_files", "the document names over 100,000 files");
  }
  Overlay::Entries before = overlay.entries();
  auto outcome = stage_parts(overlay, edits, options);
  const bool is_whole = options.is_corrected && options.only.empty() && options.except.empty() &&
                        !options.reject && !edits.is_reversed;
  if (outcome && !outcome->is_complete && is_whole && !(options.is_over && options.is_over())) {
    overlay.restore(before);
    outcome->correction = correction_of_document(overlay, edits, *outcome, options);
  }
  if (outcome) outcome->void_choices = void_choices(options.match.choices, *outcome);
  if (outcome && outcome->is_staged && !outcome->void_choices.empty() &&
      !options.may_have_void_choices) {
    outcome = void_choice(outcome->void_choices.front());
  }
  if (outcome && options.may_read) hide_unread(*outcome, options.may_read);
  if (outcome) cut_long_lines(*outcome);
  if (!outcome || !outcome->is_staged) overlay.restore(std::move(before));
  return outcome;
}

}  // namespace galley
