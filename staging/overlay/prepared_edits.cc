#include "staging/overlay/prepared_edits.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "base/hash.h"
#include "base/limits.h"
#include "base/parallel.h"
#include "base/text.h"
#include "staging/formats/binary_patch.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/overlay/stage_checks.h"
#include "staging/placing/damage.h"
#include "staging/placing/text_view.h"
#include "staging/text/diff.h"
#include "staging/text/fold.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

constexpr size_t kFilesInBlock = 64;  // enough to fill the lanes of content_ids()

/// The state of one file. Each step runs on one thread.
struct Work {
  const FileEdit* edit = nullptr;
  RelPath path = RelPath::root();
  std::optional<FileOnDisk> file;
  std::optional<GitOid> base_blob;
  std::optional<EditedFile> result;
};

bool changes_content(const FileEdit& edit) {
  return edit.whole || edit.binary || !edit.hunks.empty() || !edit.text_edits.empty();
}

/// Reads a block of files. The planner reports the error of an unreadable file.
void read_block(std::span<Work> block, const Directory& workspace, int64_t seen_ns) {
  std::vector<Work*> read;
  std::vector<std::string_view> contents;
  for (Work& work : block) {
    auto file = read_file_and_stat(workspace, work.path, kMaxHeldBytes);
    if (!file) continue;
    work.file.emplace(FileOnDisk{file->stat, seen_ns, {}, {}});
    work.file->content = std::make_shared<const std::string>(std::move(file->bytes));
    read.push_back(&work);
    contents.emplace_back(*work.file->content);
  }
  const auto ids = content_ids(contents);
  for (size_t i = 0; i < read.size(); ++i) read[i]->file->id = ids[i];
}

/// Computes git's names of those bases that their edits name.
void name_bases(std::span<Work> block) {
  std::vector<Work*> named;
  std::vector<std::string_view> contents;
  for (Work& work : block) {
    if (!work.file || !names_blob(work.edit->old_blob)) continue;
    named.push_back(&work);
    contents.emplace_back(*work.file->content);
  }
  const auto names = blob_names(contents);
  for (size_t i = 0; i < named.size(); ++i) named[i]->base_blob = names[i];
}

/// Places the edits of a block. An edit that does not fit is left to the planner, because its
/// report depends on earlier edits.
void place_block(std::span<Work> block, const StageOptions& options, bool is_reversed) {
  std::vector<Work*> placed;
  std::vector<std::string_view> contents;
  for (Work& work : block) {
    if (!work.file || !changes_content(*work.edit)) continue;
    EditedFile result;
    FileOutcome outcome;
    auto content =
        edited_content(*work.edit, work.path, *work.file->content,
                       {options, is_reversed, nullptr, result.leniencies, outcome, work.base_blob});
    if (!content || !outcome.failures.empty()) continue;
    result.content = std::make_shared<const std::string>(*std::move(content));
    result.placements = std::move(outcome.placements);
    work.result = std::move(result);
    placed.push_back(&work);
    contents.emplace_back(*work.result->content);
  }
  const auto ids = content_ids(contents);
  for (size_t i = 0; i < placed.size(); ++i) placed[i]->result->id = ids[i];
}

/// Computes one file's content.
class ContentMaker {
 public:
  ContentMaker(const FileEdit& edit, const RelPath& path, const EditedContext& context)
      : edit_(edit), path_(path), context_(context) {}

  Result<std::string> run(const std::string& base) {
    if (!edit_.wanted_base.empty() && !ContentId::of(base).hex().starts_with(edit_.wanted_base)) {
      return fail(ErrorKind::kConflict, "patch.base_changed",
                  "'" + path_.str() + "' is not what the edit was made on; read it again",
                  path_.str());
    }
    if (edit_.whole && edit_.op == FileOp::kModify) return shown_content(base);
    if (edit_.whole) {
      if (edit_.op == FileOp::kWrite) GALLEY_TRY(check_content(path_, base, *edit_.whole));
      return std::string(*edit_.whole);
    }
    if (edit_.binary) return binary_content(base);
    if (edit_.hunks.empty() && edit_.text_edits.empty()) return base;
    const bool may_elide = !base.empty() && !edit_.is_by_program && !context_.is_reversed;
    if (may_elide) GALLEY_TRY(check_added_lines(path_, base, edit_));
    return place(base);
  }

 private:
  tl::unexpected<Error> not_whole(const std::string& why) const {
    return fail(ErrorKind::kRefused, "patch.part_of_file",
                "'" + path_.str() + "' may not be all of the file in the fence: " + why +
                    "; send a diff, or say that it is all of the file (--complete)",
                path_.str());
  }

  /// Returns the whole file as an answer shows it. An answer may show only a part of a file, and
  /// then the rest would be lost. So the text must begin and end like the file, and keep most of
  /// its lines.
  Result<std::string> shown_content(const std::string& base) const {
    constexpr size_t kEndLines = 3;
    std::string text(*edit_.whole);
    if (TextView::of(base)) return not_whole("the file is not UTF-8 with ends of lines as here");
    const Lines before(base);
    const bool is_crlf = base.find("\r\n") != std::string::npos;
    for (size_t i = 0; is_crlf && i < before.size(); ++i) {
      if (before[i].ends_with('\n') && !before[i].ends_with("\r\n")) {
        return not_whole("its lines end in different ways");
      }
    }
    if (is_crlf && text.find('\r') == std::string::npos) text = with_crlf(text);
    if (!base.empty() && !before.ends_with_newline()) text = without_terminator(text);
    const Lines after(text);
    enum class Fate : uint8_t { kKept, kReplaced, kGone };
    std::vector<Fate> fates(before.size(), Fate::kKept);
    const std::vector<ChangedRange> changed = diff_lines(before, after);
    for (const ChangedRange& range : changed) {
      const Fate fate = range.new_begin < range.new_end ? Fate::kReplaced : Fate::kGone;
      std::fill(fates.begin() + range.old_begin, fates.begin() + range.old_end, fate);
    }
    std::vector<Fate> telling;
    for (size_t i = 0; i < before.size(); ++i) {
      if (is_telling_line(before[i])) telling.push_back(fates[i]);
    }
    const auto ends = static_cast<int64_t>(std::min(kEndLines, telling.size()));
    const bool has_ends = ends > 0 && telling.front() == Fate::kKept &&
                          telling.back() == Fate::kKept &&
                          std::count(telling.begin(), telling.begin() + ends, Fate::kGone) == 0 &&
                          std::count(telling.end() - ends, telling.end(), Fate::kGone) == 0;
    if (!edit_.is_complete && !has_ends) return not_whole("it does not begin and end as the file");
    const auto kept = static_cast<size_t>(std::count(telling.begin(), telling.end(), Fate::kKept));
    const bool is_mostly_kept = 3 * kept >= 2 * telling.size();
    if (!edit_.is_complete && !is_mostly_kept)
      return not_whole("many lines of the file are not there");
    GALLEY_TRY(check_elisions(before, after, changed));
    GALLEY_TRY(check_encoding(path_, base, text));
    return text;
  }

  /// Refuses comments that stand for lines of the file.
  [[nodiscard]] Result<void> check_elisions(const Lines& before, const Lines& after,
                                            const std::vector<ChangedRange>& changed) const {
    for (size_t i = 0; i < after.size(); ++i) {
      const bool is_elided = is_elision(after[i]) || stands_for_lines(after[i]);
      if (is_elided && before.text().find(after[i]) == std::string_view::npos) {
        return not_whole("line " + std::to_string(i + 1) + " says that lines are left out");
      }
    }
    // In prose, a line with # is a heading.
    const std::string& name = path_.str();
    if (name.ends_with(".md") || name.ends_with(".markdown") || name.ends_with(".txt")) return {};
    if (const auto line = comment_for_lines(before, after, changed)) {
      return not_whole("line " + std::to_string(*line + 1) +
                       ", a comment, is in the place of lines of the file");
    }
    return {};
  }

  static std::string with_crlf(std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '\n') out.push_back('\r');
      out.push_back(c);
    }
    return out;
  }

  Result<std::string> place(const std::string& base) {
    FileOutcome& out = context_.outcome;
    MatchOptions match = context_.options.match;
    match.indentation_is_syntax = indentation_is_syntax(path_.str());
    if (names_blob(edit_.old_blob)) {
      match.base_is_proven = context_.base_blob
                                 ? context_.base_blob->hex().starts_with(edit_.old_blob)
                                 : is_blob(edit_.old_blob, base);
    } else if (has_line_numbers() && context_.options.is_stale &&
               context_.options.is_stale(path_, base)) {
      match.base_is_proven = false;
    }
    WhiteSpaceRules rules;
    std::deque<std::string> mended;
    FileEdit without_white_space;
    const auto counted = up_to_counts(base, match);
    const FileEdit* meant = counted ? &*counted : &edit_;
    const bool judges_white_space = match.white_space != WhiteSpaceFix::kNoWarn;
    if (judges_white_space) {
      if (context_.options.white_space_rules) rules = context_.options.white_space_rules(path_);
      rules = rules_for(*meant, rules);
      GALLEY_TRY(judge_white_space(find_white_space(*meant, rules)));
      if (match.white_space == WhiteSpaceFix::kFix) {
        without_white_space = with_lines_mended(*meant, rules, mended);
        meant = &without_white_space;
      }
    }
    const EndQuestion& is_over = context_.options.is_over;
    PlacedEdits placed = place_edits_until(is_over, base, *meant, match);
    if (is_over && is_over()) return fail(interrupted(path_.str()));
    if (!placed.cut_off.empty()) {
      return fail(ErrorKind::kInvalid, "edit.truncated", std::move(placed.cut_off), path_.str());
    }
    out.placements = std::move(placed.placements);
    out.failures = std::move(placed.failures);
    if (context_.help != nullptr && !out.failures.empty()) {
      const StageOptions& options = context_.options;
      const bool may_show = !options.may_read || options.may_read(path_);
      context_.help->explain(may_show ? std::string_view(base) : std::string_view(), out.failures);
    }
    if (context_.is_reversed) say_reversed(out.failures);
    for (Leniency& leniency : placed.leniencies) {
      if (leniency.path.empty()) leniency.path = path_.str();
      context_.leniencies.push_back(std::move(leniency));
    }
    if (!out.failures.empty()) GALLEY_TRY(check_encoding(path_, base, ""));
    GALLEY_TRY(judge_encoding(base, placed.splices));
    if (placed.splices.result_size() > limits::kMaxFileBytes) {
      return fail(ErrorKind::kQuota, "limit.file_size",
                  "'" + path_.str() + "' would grow over 1 GiB", path_.str());
    }
    std::string content = placed.splices.apply(base);
    const bool is_by_white_space =
        std::any_of(out.placements.begin(), out.placements.end(),
                    [](const Placement& one) { return one.step == MatchStep::kWhiteSpace; });
    if (is_by_white_space) GALLEY_TRY(check_columns(path_, base, content));
    if (!judges_white_space || !rules.blank_at_eof) return content;
    return judge_end(base, std::move(content));
  }

  /// The edit with each hunk up to its stated counts, if that gives the content that the index line
  /// names. Then what follows a hunk is text of a mail, as `+1 from me`.
  [[nodiscard]] std::optional<FileEdit> up_to_counts(const std::string& base,
                                                     const MatchOptions& match) const {
    const auto goes_on = [](const Hunk& hunk) {
      return hunk.counted_lines > 0 && hunk.counted_lines < hunk.lines.size();
    };
    const bool has_text = std::ranges::any_of(edit_.hunks, goes_on);
    if (!has_text || !names_blob(edit_.new_blob)) return std::nullopt;
    FileEdit counted = edit_;
    counted.doubt.reset();
    for (Hunk& hunk : counted.hunks) {
      if (!goes_on(hunk)) continue;
      hunk.lines.erase(hunk.lines.begin() + static_cast<std::ptrdiff_t>(hunk.counted_lines),
                       hunk.lines.end());
      hunk.counts_agree = true;
    }
    const PlacedEdits placed = place_edits_until(context_.options.is_over, base, counted, match);
    const bool is_placed = placed.failures.empty() && placed.cut_off.empty();
    if (!is_placed || !is_blob(edit_.new_blob, placed.splices.apply(base))) return std::nullopt;
    context_.leniencies.push_back(
        {"count_mismatch",
         "without the lines below the counted ones the file is the one of the index line, so they "
         "were left out",
         path_.str(), counted.hunks.back().document_line});
    return counted;
  }

  [[nodiscard]] bool has_line_numbers() const {
    return std::any_of(edit_.hunks.begin(), edit_.hunks.end(),
                       [](const Hunk& hunk) { return hunk.has_numbers; });
  }

  /// Refuses new text in another encoding than the file. A patch with bytes that are not UTF-8, or
  /// zero bytes, is assumed to have the file's encoding, unless letters in UTF-8 stay in the file.
  Result<void> judge_encoding(const std::string& base, const Splices& splices) const {
    GALLEY_TRY(check_utf8_stays(path_, base, splices));
    GALLEY_TRY(check_letters_stay(path_, base, splices));
    const auto is_raw = [](std::string_view text) {
      return !is_utf8(text) || text.find('\0') != std::string_view::npos;
    };
    const auto is_other = [&](const Hunk& hunk) {
      return std::any_of(hunk.lines.begin(), hunk.lines.end(),
                         [&](const HunkLine& line) { return is_raw(line.text); });
    };
    const bool is_in_other =
        std::any_of(edit_.hunks.begin(), edit_.hunks.end(), is_other) ||
        std::any_of(edit_.text_edits.begin(), edit_.text_edits.end(),
                    [&](const TextEdit& edit) { return is_raw(edit.old_text); });
    if (is_in_other) return {};
    return check_encoding(path_, base, splices);
  }

  static void say_reversed(std::vector<EditFailure>& failures) {
    for (EditFailure& failure : failures) {
      if (failure.reason != "patch.already_applied") continue;
      failure.message += "; this patch seems to be reversed already";
    }
  }

  /// Applies the option --whitespace to white space errors that an edit adds.
  Result<void> judge_white_space(const std::vector<WhiteSpaceFinding>& found) {
    const bool is_fix = context_.options.match.white_space == WhiteSpaceFix::kFix;
    for (const WhiteSpaceFinding& finding : found) {
      const std::string what = "an added line has " + finding.errors;
      if (context_.options.match.white_space == WhiteSpaceFix::kError) {
        return fail(ErrorKind::kRefused, "patch.white_space",
                    "'" + path_.str() + "': " + what + " (hunk of line " +
                        std::to_string(finding.document_line) + " of the patch)",
                    path_.str());
      }
      context_.leniencies.push_back({is_fix ? "white_space_fixed" : "white_space",
                                     is_fix ? finding.errors + " of added lines was fixed" : what,
                                     path_.str(), finding.document_line});
    }
    return {};
  }

  /// The same for blank lines that the last hunk adds at the end of the file.
  Result<std::string> judge_end(std::string_view base, std::string content) {
    const FileOutcome& out = context_.outcome;
    if (edit_.hunks.empty() || out.placements.empty()) return content;
    const size_t count = blank_lines_added_last(edit_.hunks.back());
    const Placement& last = out.placements.back();
    const bool is_placed = last.edit + 1 == edit_.hunks.size();
    const size_t end = size_t{last.line} - 1 + last.count;
    if (count == 0 || !is_placed || end < Lines(base).size()) return content;
    GALLEY_TRY(judge_white_space({{edit_.hunks.back().document_line, "new blank line at EOF"}}));
    if (context_.options.match.white_space != WhiteSpaceFix::kFix) return content;
    return std::string(without_last_blank_lines(content, count));
  }

  Result<std::string> binary_content(const std::string& base) {
    GALLEY_TRY(check_binary_base(base));
    GALLEY_ASSIGN(std::string content, apply_binary(*edit_.binary, base));
    const bool can_check = names_blob(edit_.new_blob);
    if (can_check && !is_blob(edit_.new_blob, content)) {
      return fail(ErrorKind::kInvalid, "edit.corrupt_binary",
                  "the binary patch of '" + path_.str() +
                      "' does not give the content that its "
                      "index line names",
                  path_.str());
    }
    return content;
  }

  /// A binary patch lacks context. So the index line or the reverse part must prove the base.
  Result<void> check_binary_base(const std::string& base) {
    bool is_proved = false;
    if (edit_.op == FileOp::kCreate) {
      is_proved = true;
    } else if (names_blob(edit_.old_blob)) {
      is_proved = is_blob(edit_.old_blob, base);
    } else if (edit_.binary_reverse && edit_.binary_reverse->kind == BinaryPatch::Kind::kLiteral) {
      GALLEY_ASSIGN(const std::string before, apply_binary(*edit_.binary_reverse, {}));
      is_proved = before == base;
    }
    if (is_proved) return {};
    const bool is_literal = edit_.binary->kind == BinaryPatch::Kind::kLiteral;
    const auto after = is_literal ? apply_binary(*edit_.binary, {}) : Result<std::string>("");
    if (names_blob(edit_.new_blob) ? is_blob(edit_.new_blob, base)
                                   : is_literal && after && *after == base) {
      return fail(ErrorKind::kRefused, "patch.already_applied",
                  "'" + path_.str() + "' has the content of the binary patch" +
                      already_applied_note(context_.is_reversed),
                  path_.str());
    }
    return fail(ErrorKind::kRefused, "patch.binary_base",
                "'" + path_.str() + "' is not the file that the binary patch was made for",
                path_.str());
  }

  const FileEdit& edit_;
  const RelPath& path_;
  const EditedContext& context_;
};

}  // namespace

PreparedEdits PreparedEdits::of(Overlay& overlay, std::span<const FileEdit> edits,
                                const StageOptions& options, bool is_reversed) {
  PreparedEdits prepared;
  if (edits.size() < kMinSharedItems) return prepared;
  std::vector<Work> works;
  works.reserve(edits.size());
  for (const FileEdit& edit : edits) {
    if (edit.op == FileOp::kCreate || !edit.other_path.empty()) continue;
    auto path = editable_path(edit.path, options.root);
    if (!path || overlay.entries().contains(*path)) continue;
    works.push_back({&edit, *std::move(path), {}, {}, {}});
  }
  // White space rules come from a callback of the caller, which may run only on this thread.
  const bool may_place = options.match.white_space == WhiteSpaceFix::kNoWarn;
  const int64_t seen_ns = overlay.clock().wall_ns();
  for_each_block(works.size(), kFilesInBlock, [&](size_t begin, size_t end) {
    const auto block = std::span(works).subspan(begin, end - begin);
    read_block(block, overlay.workspace(), seen_ns);
    if (!may_place) return;
    name_bases(block);
    place_block(block, options, is_reversed);
  });
  std::map<RelPath, FileOnDisk> files;
  for (Work& work : works) {
    if (!work.file) continue;
    if (work.result) {
      prepared.prepared_.emplace(work.edit, Prepared{work.file->content, *std::move(work.result)});
    }
    files.try_emplace(std::move(work.path), *std::move(work.file));
  }
  overlay.expect(std::move(files));
  return prepared;
}

std::optional<EditedFile> PreparedEdits::take(const FileEdit& edit, const Content& base) {
  const auto found = prepared_.find(&edit);
  if (found == prepared_.end()) return std::nullopt;
  if (found->second.base != base && *found->second.base != *base) return std::nullopt;
  EditedFile result = std::move(found->second.result);
  prepared_.erase(found);
  return result;
}

Result<std::string> edited_content(const FileEdit& edit, const RelPath& path,
                                   const std::string& base, const EditedContext& context) {
  return ContentMaker(edit, path, context).run(base);
}

}  // namespace galley
