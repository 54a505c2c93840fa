#include "staging/overlay/stage_edits.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/limits.h"
#include "staging/fs/creation_mode.h"
#include "staging/overlay/file_plan.h"
#include "staging/overlay/git_header.h"
#include "staging/overlay/stage_checks.h"
#include "staging/text/binary_patch.h"
#include "staging/text/lines.h"
#include "staging/text/search_help.h"

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

/// Stages one part of a document: works everything out in a plan, then puts the plan onto the
/// overlay.
class Stager {
 public:
  Stager(Overlay& overlay, const StageOptions& options, SearchHelp& help, EditOutcome& outcome)
      : options_(options), help_(help), plan_(overlay), outcome_(outcome) {}

  /// Plans the edits and adds what became of them to the outcome; false when not all fit.
  Result<bool> plan(std::span<const FileEdit> edits) {
    first_ = outcome_.files.size();
    for (const FileEdit& edit : edits) {
      if (edit.op != FileOp::kRename && edit.op != FileOp::kDelete) continue;
      going_.insert(edit.path);
      if (const auto path = safe_path(edit.path)) plan_.expect_gone(*path);
    }
    for (const FileEdit& edit : edits) GALLEY_TRY(plan_file(edit));
    return std::all_of(outcome_.files.begin() + static_cast<ptrdiff_t>(first_),
                       outcome_.files.end(), [](const FileOutcome& file) { return file.fits(); });
  }

  /// Puts onto the overlay what fits; false when the overlay refuses it.
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
  /// The overlay itself said no: the file that its message names carries the refusal.
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
    if (!options_.only.empty() || !options_.except.empty()) {
      if (!select(given, selected)) return {};
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

  /// Keeps the hunks that --only and --except leave; false when nothing is left.
  bool select(const FileEdit& edit, FileEdit& selected) const {
    const std::string& path = edit.new_path.empty() ? edit.path : edit.new_path;
    const auto names = [&](const std::vector<std::string>& list, const std::string& what) {
      return std::find(list.begin(), list.end(), what) != list.end();
    };
    if (names(options_.except, path)) return false;
    const bool all = options_.only.empty() || names(options_.only, path);
    const std::vector<std::string> ids = edit_ids(edit);
    std::vector<bool> keep;
    for (size_t i = 0; i < ids.size(); ++i) {
      const std::string by_id = path + ":" + ids[i];
      const std::string by_number = path + ":" + std::to_string(i + 1);
      const bool wanted = all || names(options_.only, by_id) || names(options_.only, by_number);
      keep.push_back(wanted && !names(options_.except, by_id) &&
                     !names(options_.except, by_number));
    }
    if (ids.empty()) {
      selected = edit;
      return all;
    }
    selected = edit;
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
    return fail(ErrorKind::kRefused, "patch.ambiguous_path",
                "both '" + first->str() + "' and '" + second->str() +
                    "' exist; say with -p, or by a/ and b/ before the names, which is meant",
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
    return plan_modify(edit, path, out);
  }

  Result<void> check_absent(const RelPath& path, const std::string* wanted) {
    GALLEY_ASSIGN(const PlannedFile there, plan_.current(path));
    if (there.kind == FileKind::kAbsent) return {};
    // A directory that the document empties makes room; the overlay has the last word.
    if (there.kind == FileKind::kDirectory && empties(path)) return {};
    if (wanted != nullptr && there.content && *there.content == *wanted) {
      return fail(ErrorKind::kRefused, "patch.already_applied",
                  "'" + path.str() + "' is already there with this content; leave it out",
                  path.str());
    }
    return fail(ErrorKind::kRefused, "path.exists",
                "'" + path.str() + "' already exists; edit it instead of creating it", path.str());
  }

  Result<void> plan_create(const FileEdit& edit, const RelPath& path, FileOutcome& out) {
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
    return {};
  }

  Result<void> plan_transfer(const FileEdit& edit, const RelPath& from, FileOutcome& out) {
    GALLEY_ASSIGN(const RelPath to, safe_path(edit.new_path));
    out.new_path = to.str();
    // git: what renames and copies take from is the tree before the document.
    GALLEY_ASSIGN(PlannedFile file, plan_.original(from));
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
    if (!edit.wanted_base.empty() && !ContentId::of(base).hex().starts_with(edit.wanted_base)) {
      return fail(ErrorKind::kConflict, "patch.base_changed",
                  "'" + path.str() + "' is not what the edit was made on; read it again",
                  path.str());
    }
    if (edit.whole) return std::string(*edit.whole);
    if (edit.binary) return binary_content(edit, path, base);
    if (edit.hunks.empty() && edit.text_edits.empty()) return base;
    MatchOptions match = options_.match;
    match.indentation_is_meaning = indentation_is_meaning(path.str());
    if (names_blob(edit.old_blob)) {
      match.base_is_proven = is_blob(edit.old_blob, base);
    }
    std::vector<std::string> mended;
    FileEdit without_white_space;
    const FileEdit* meant = &edit;
    if (match.white_space != WhiteSpaceFix::kNoWarn) {
      GALLEY_TRY(judge_white_space(edit, path));
      if (match.white_space == WhiteSpaceFix::kFix) {
        without_white_space = with_white_space_fixed(edit, mended);
        meant = &without_white_space;
      }
    }
    PlacedEdits placed = place_edits(base, *meant, match);
    out.placements = std::move(placed.placements);
    out.failures = std::move(placed.failures);
    const bool may_show = !options_.may_read || options_.may_read(path);
    help_.explain(may_show ? std::string_view(base) : std::string_view(), out.failures);
    for (Leniency& leniency : placed.leniencies) {
      if (leniency.path.empty()) leniency.path = path.str();
      outcome_.leniencies.push_back(std::move(leniency));
    }
    if (placed.splices.result_size() > limits::kMaxFileBytes) {
      return fail(ErrorKind::kQuota, "limit.file_size",
                  "'" + path.str() + "' would grow over 1 GiB", path.str());
    }
    return placed.splices.apply(base);
  }

  /// Trailing white space in added lines (git's `trailing-space`), as --whitespace asks.
  Result<void> judge_white_space(const FileEdit& edit, const RelPath& path) {
    for (const Hunk& hunk : edit.hunks) {
      for (const HunkLine& line : hunk.lines) {
        if (line.role != LineRole::kAdded || trailing_blanks(line.text) == 0) continue;
        if (options_.match.white_space == WhiteSpaceFix::kError) {
          return fail(ErrorKind::kRefused, "patch.white_space",
                      "an added line of '" + path.str() + "' ends in white space (hunk of line " +
                          std::to_string(hunk.document_line) + " of the patch)",
                      path.str());
        }
        const bool is_fix = options_.match.white_space == WhiteSpaceFix::kFix;
        outcome_.leniencies.push_back({is_fix ? "white_space_fixed" : "white_space",
                                       is_fix ? "trailing white space of added lines was taken off"
                                              : "an added line ends in white space",
                                       path.str(), hunk.document_line});
        break;
      }
    }
    return {};
  }

  static size_t trailing_blanks(std::string_view line) {
    line = without_terminator(line);
    const size_t last = line.find_last_not_of(" \t");
    return last == std::string_view::npos ? line.size() : line.size() - last - 1;
  }

  static FileEdit with_white_space_fixed(const FileEdit& edit, std::vector<std::string>& kept) {
    FileEdit out = edit;
    size_t count = 0;
    for (const Hunk& hunk : edit.hunks) count += hunk.lines.size();
    kept.reserve(count);  // views into it must stay
    for (Hunk& hunk : out.hunks) {
      for (HunkLine& line : hunk.lines) {
        const size_t blanks = trailing_blanks(line.text);
        if (line.role != LineRole::kAdded || blanks == 0) continue;
        const std::string_view text = without_terminator(line.text);
        kept.push_back(std::string(text.substr(0, text.size() - blanks)) +
                       std::string(line.text.substr(text.size())));
        line.text = kept.back();
      }
    }
    return out;
  }

  Result<std::string> binary_content(const FileEdit& edit, const RelPath& path,
                                     const std::string& base) {
    GALLEY_TRY(check_binary_base(edit, path, base));
    GALLEY_ASSIGN(std::string content, apply_binary(*edit.binary, base));
    const bool can_check = names_blob(edit.new_blob);
    if (can_check && !is_blob(edit.new_blob, content)) {
      return fail(ErrorKind::kInvalid, "edit.corrupt_binary",
                  "the binary patch of '" + path.str() +
                      "' does not give the content that its "
                      "index line names",
                  path.str());
    }
    return content;
  }

  const StageOptions& options_;
  SearchHelp& help_;
  FilePlan plan_;
  EditOutcome& outcome_;
  size_t first_ = 0;  ///< of outcome_.files: the first of this part
  std::set<RelPath> produced_;
  std::set<std::string> going_;  ///< paths that the part renames or deletes
};

/// Stages part after part, each on the result of those before it. What fits of a part is staged
/// also where not all of it does, so that the later ones are judged on what they were written for.
Result<EditOutcome> stage_parts(Overlay& overlay, const EditSet& edits,
                                const StageOptions& options) {
  EditOutcome outcome;
  outcome.leniencies = edits.leniencies;
  outcome.is_complete = true;
  bool is_staged = true;
  SearchHelp help;
  const std::span<const FileEdit> files(edits.files);
  for (size_t begin = 0; begin < files.size() || begin == 0;) {
    size_t end = begin;
    while (end < files.size() && files[end].part == files[begin].part) ++end;
    Stager stager(overlay, options, help, outcome);
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
  outcome.is_complete = outcome.is_complete && is_staged;
  outcome.is_staged = is_staged && (outcome.is_complete || options.reject);
  for (FileOutcome& file : outcome.files) file.is_staged = file.is_staged && outcome.is_staged;
  return outcome;
}

}  // namespace

Result<EditOutcome> stage_edits(Overlay& overlay, const EditSet& edits,
                                const StageOptions& options) {
  if (edits.files.size() > limits::kMaxFilesInPatch) {
    return fail(ErrorKind::kQuota, "limit.patch_files", "the document names over 100,000 files");
  }
  Overlay::Entries before = overlay.entries();
  auto outcome = stage_parts(overlay, edits, options);
  if (outcome && options.may_read) hide_unread(*outcome, options.may_read);
  if (!outcome || !outcome->is_staged) overlay.restore(std::move(before));
  return outcome;
}

}  // namespace galley
