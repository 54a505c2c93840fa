#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "staging/formats/answer.h"
#include "staging/formats/binary_patch.h"
#include "staging/formats/dialect_marks.h"
#include "staging/formats/extended_header.h"
#include "staging/formats/mail.h"
#include "staging/formats/patch_path.h"
#include "staging/formats/read_edits.h"
#include "staging/formats/read_hunk.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

constexpr uint32_t kDefaultFileMode = 0100644;

/// Reads a whole document, file by file.
class UnifiedReader {
 public:
  /// `is_ended`: whether the original document ends with a line end; `text` always does.
  UnifiedReader(std::string_view text, bool is_ended, const ReadOptions& options, EditSet& set)
      : document_(text), options_(options), set_(set), so_far_{.set = set, .path = {}} {
    so_far_.is_ended = is_ended;
  }

  Result<void> run() {
    while (at_ < document_.size()) {
      const std::string_view line = text_at(at_);
      begins_mail_ = begins_mail_ || begins_mail(document_, at_);
      if (line.starts_with("diff --git ")) {
        GALLEY_TRY(read_git_file(line.substr(11)));
      } else if (line.starts_with("diff --cc ") || line.starts_with("diff --combined ")) {
        return unsupported("a combined diff of a merge", "diff against one parent");
      } else if (is_context_hunk(at_)) {
        return unsupported("a context diff", "use diff -u");
      } else if (is_traditional_header(at_)) {
        GALLEY_TRY(read_traditional_file());
      } else if (line.starts_with("Index: ")) {
        index_name_ = std::string(line.substr(7));
        ++at_;
      } else if (line.starts_with("Binary files ") && line.ends_with(" differ")) {
        GALLEY_TRY(read_bare_binary(line));
      } else if (is_orphan_hunk(line) || is_bare_hunk_fence(document_, at_)) {
        GALLEY_TRY(read_nameless());
      } else if (begins_properties(at_)) {
        skip_properties();
      } else if (is_lost_change(line)) {
        return fail(ErrorKind::kInvalid, "edit.unread",
                    "line " + std::to_string(at_ + 1) +
                        " of the patch looks like a changed line and belongs to no hunk; begin "
                        "each context line with a blank");
      } else {
        note_prose(line);
        ++at_;
      }
    }
    return check_last_line();
  }

 private:
  [[nodiscard]] std::string_view text_at(size_t at) const {
    return without_terminator(document_[at]);
  }

  tl::unexpected<Error> unsupported(std::string_view what, std::string_view remedy) const {
    return fail(ErrorKind::kInvalid, "edit.unsupported_diff",
                "line " + std::to_string(at_ + 1) + " of the patch: this is " + std::string(what) +
                    ", which cannot be applied; " + std::string(remedy));
  }

  tl::unexpected<Error> bad_header(size_t at, std::string_view what) const {
    return fail(ErrorKind::kInvalid, "edit.bad_header",
                "line " + std::to_string(at + 1) + " of the patch: " + std::string(what));
  }

  [[nodiscard]] bool is_context_hunk(size_t at) const {
    if (!text_at(at).starts_with("***************") || at + 1 >= document_.size()) return false;
    const std::string_view next = text_at(at + 1);
    return next.starts_with("*** ") && next.ends_with(" ****");
  }

  /// True for the head of the properties that `svn diff` writes below the hunks of a file.
  [[nodiscard]] bool begins_properties(size_t at) const {
    return text_at(at).starts_with("Property changes on: ") && at + 1 < document_.size() &&
           text_at(at + 1).starts_with("____");
  }

  /// Properties are not in the tree, so they are not applied.
  void skip_properties() {
    for (++at_; at_ < document_.size(); ++at_) {
      const std::string_view line = text_at(at_);
      if (line.starts_with("Index: ") || line.starts_with("diff ") || is_mail_start(line) ||
          is_fence(line) || is_traditional_header(at_)) {
        return;
      }
    }
  }

  /// True for a changed line after a hunk that ended too early, at a context line without its
  /// blank. Another mail ends the hunk.
  [[nodiscard]] bool is_lost_change(std::string_view line) const {
    if (begins_mail_ || set_.files.empty() || set_.files.back().hunks.empty() || line.size() < 2)
      return false;
    const bool is_word = line[1] != ' ' && line[1] != line[0] && line[1] != '=';
    // The closing fence may be a line of the file, if the hunk has fewer lines than it states, or
    // if no list follows.
    const bool is_of_hunk = line[0] == '+' && (so_far_.is_short || is_word);
    if (is_hunk_closed_ && !is_of_hunk) return false;
    return (line[0] == '+' && (is_word || line[1] == ' ')) || (line[0] == '-' && is_word);
  }

  void note_prose(std::string_view line) {
    if (line.starts_with("```")) {
      is_hunk_closed_ = is_hunk_closed_ || is_hunk_in_fence_;
      is_in_fence_ = !is_in_fence_;
    }
    if (line.starts_with("```") && !has_fence_) {
      has_fence_ = true;
      note("markdown_fence", "the patch is in a markdown fence", {});
    }
    add_mentioned_names(line, mentioned_);
  }

  /// Reads hunks without file lines before them. The text around them names the file, or they
  /// continue the file of the hunks before.
  Result<void> read_nameless() {
    const size_t begin = at_;
    if (is_fence(document_[at_])) note_prose(text_at(at_++));
    may_be_bare_ = true;
    FileEdit* before = set_.files.empty() ? nullptr : &set_.files.back();
    const bool goes_on = before != nullptr && !before->hunks.empty() &&
                         before->op == FileOp::kModify && mentioned_.empty();
    if (goes_on) {
      note("prose_between", "text is between the hunks of '" + before->path + "'", before->path);
      GALLEY_TRY(read_hunks(*before));
      file_end_ = at_;
      return {};
    }
    FileEdit edit;
    edit.document_line = static_cast<uint32_t>(begin + 1);
    if (!mentioned_.empty()) edit.path = mentioned_.front();
    edit.mentioned = std::exchange(mentioned_, {});
    if (before != nullptr) edit.mentioned.push_back(before->path);
    note("no_file_lines",
         "the hunks have no '---' and '+++' lines; they are for the one file that fits", edit.path);
    GALLEY_TRY(read_hunks(edit));
    return add(std::move(edit));
  }

  void note(const char* rule, std::string message, std::string_view path) {
    set_.leniencies.push_back(
        {rule, std::move(message), std::string(path), static_cast<uint32_t>(at_ + 1)});
  }

  [[nodiscard]] bool is_orphan_hunk(std::string_view line) const {
    return read_hunk_header(line) && at_ + 1 < document_.size() &&
           begins_bare_hunk(document_, at_ + 1);
  }

  /// True for `--- x` and `+++ y`, or for one of them directly before a hunk.
  [[nodiscard]] bool is_traditional_header(size_t at) const {
    const std::string_view line = text_at(at);
    const bool is_old = line.starts_with("--- ") && line.size() > 4;
    const bool is_new = line.starts_with("+++ ") && line.size() > 4;
    if ((!is_old && !is_new) || at + 1 >= document_.size()) return false;
    const std::string_view next = text_at(at + 1);
    if (is_old && next.starts_with("+++ ")) return true;
    return next.starts_with("@@");
  }

  Result<void> add(FileEdit edit) {
    if (set_.files.size() >= limits::kMaxFilesInPatch) {
      return fail(ErrorKind::kQuota, "limit.patch_files", "the patch names over 100,000 files");
    }
    if (!set_.files.empty()) edit.part = set_.files.back().part + (begins_mail_ ? 1 : 0);
    if (edit.part >= kMaxAnswerParts) {
      return fail(ErrorKind::kQuota, "limit.answer_parts",
                  "the document has more than " + std::to_string(kMaxAnswerParts) +
                      " mails with patches; split it");
    }
    begins_mail_ = false;
    set_.files.push_back(std::move(edit));
    file_end_ = at_;
    return {};
  }

  Result<void> read_traditional_file() {
    FileEdit edit;
    edit.document_line = static_cast<uint32_t>(at_ + 1);
    NameLine old_line;
    NameLine new_line;
    GALLEY_TRY(read_name_lines(old_line, new_line));
    HeaderName& old_name = old_line.name;
    HeaderName& new_name = new_line.name;
    if (!old_name.is_given || !new_name.is_given) {
      const HeaderName given = old_name.is_given ? old_name : new_name;
      old_name = new_name = given;
      note("header_incomplete", "only one of the --- and +++ lines is there", given.text);
    }
    believe_stamps(old_name, new_name);
    if (!resolve_paths(old_name, new_name, options_, set_, edit)) {
      if (index_name_.empty()) return bad_header(edit.document_line - 1, "no usable file name");
      edit.path = index_name_;
    }
    index_name_.clear();
    if (old_name.is_null) edit.op = FileOp::kCreate;
    if (new_name.is_null) edit.op = FileOp::kDelete;
    edit.is_by_program = old_line.has_stamp || new_line.has_stamp;
    edit.mentioned = std::exchange(mentioned_, {});
    if (has_only_properties()) {
      if (edit.op == FileOp::kModify) return {};
      return bad_header(edit.document_line - 1,
                        "a new or deleted file whose contents are not in the patch");
    }
    GALLEY_TRY(read_hunks(edit));
    if (edit.hunks.empty()) {
      if (is_at_end()) return cut_off(edit.document_line, "the hunks of '" + edit.path + "'");
      return bad_header(edit.document_line - 1, "a file header without a hunk after it");
    }
    return add(std::move(edit));
  }

  /// A stamp of the epoch means an absent file only if that side of the hunk is empty (GNU patch's
  /// rule). In some trees all files have that stamp.
  void believe_stamps(HeaderName& old_name, HeaderName& new_name) const {
    const auto hunk =
        at_ < document_.size() ? read_hunk_header(text_at(at_)) : std::optional<HunkHeader>();
    const bool has_counts = hunk && hunk->has_counts;
    const bool is_every_stamp = old_name.is_epoch && new_name.is_epoch;
    if (old_name.is_epoch) {
      old_name.is_null = has_counts ? hunk->old_count == 0 : !is_every_stamp;
    }
    if (new_name.is_epoch) {
      new_name.is_null = has_counts ? hunk->new_count == 0 : !is_every_stamp;
    }
  }

  /// True if a tab follows the name, as programs write it before a time stamp.
  [[nodiscard]] bool has_tab(size_t at) const {
    return text_at(at).find('\t') != std::string_view::npos;
  }

  Result<void> read_name_lines(NameLine& old_name, NameLine& new_name) {
    if (text_at(at_).starts_with("--- ")) {
      old_name = {read_header_name(text_at(at_).substr(4)), at_ + 1, has_tab(at_)};
      ++at_;
    }
    if (at_ < document_.size() && text_at(at_).starts_with("+++ ")) {
      new_name = {read_header_name(text_at(at_).substr(4)), at_ + 1, has_tab(at_)};
      ++at_;
    }
    for (const NameLine* one : {&old_name, &new_name}) {
      if (one->name.is_badly_quoted) return bad_header(one->line - 1, bad_quotes(one->name));
    }
    return {};
  }

  /// True for a file header of Subversion with properties and no hunk below it. Moves to them.
  bool has_only_properties() {
    size_t next = at_;
    while (next < document_.size() && text_at(next).empty()) ++next;
    if (next >= document_.size() || !begins_properties(next)) return false;
    at_ = next;
    return true;
  }

  /// Returns true if a hunk, or changed lines without a header, begin here.
  [[nodiscard]] bool begins_hunk(const FileEdit& edit) const {
    if (at_ >= document_.size()) return false;
    return text_at(at_).starts_with("@@") ||
           ((edit.hunks.empty() || may_be_bare_) && begins_bare_hunk(document_, at_));
  }

  Result<void> read_hunks(FileEdit& edit) {
    while (begins_hunk(edit)) {
      if (text_at(at_).starts_with("@@@")) {
        return unsupported("a combined diff of a merge", "diff against one parent");
      }
      if (++hunk_count_ > limits::kMaxHunksInPatch) {
        return fail(ErrorKind::kQuota, "limit.patch_hunks", "the patch has over 1,000,000 hunks");
      }
      Hunk hunk;
      may_be_bare_ = false;
      so_far_.path = edit.path;
      is_hunk_closed_ = false;
      so_far_.is_in_fence = is_hunk_in_fence_ = is_in_fence_;
      GALLEY_ASSIGN(at_, read_hunk(document_, at_, options_, so_far_, hunk));
      hunk.document_end = static_cast<uint32_t>(at_);
      edit.hunks.push_back(std::move(hunk));
      edit.doubt = std::exchange(so_far_.doubt, std::nullopt);
      skip_blank_before_hunk();
    }
    return check_last_hunk(edit);
  }

  /// Refuses a document that ends in a hunk without a change, behind other hunks. Such a hunk has
  /// no use, so its change was cut off.
  [[nodiscard]] Result<void> check_last_hunk(const FileEdit& edit) const {
    const bool is_taken = options_.recount || options_.is_delimited ||
                          options_.end == DocumentEnd::kComplete || !is_at_end();
    if (is_taken || hunk_count_ < 2 || edit.hunks.empty()) return {};
    const Hunk& hunk = edit.hunks.back();
    const bool is_whole = hunk.counts_agree && hunk.has_numbers;
    const auto is_change = [](const HunkLine& line) { return line.role != LineRole::kContext; };
    if (is_whole || std::any_of(hunk.lines.begin(), hunk.lines.end(), is_change)) return {};
    return cut_off(document_.size(), "the change of the last hunk");
  }

  /// Skips blank lines before a hunk, which models write between hunks.
  void skip_blank_before_hunk() {
    size_t next = at_;
    while (next < document_.size() && text_at(next).empty()) ++next;
    if (next < document_.size() && next > at_ && text_at(next).starts_with("@@")) at_ = next;
  }

  Result<void> read_git_file(std::string_view names) {
    FileEdit edit;
    edit.document_line = static_cast<uint32_t>(at_ + 1);
    ExtendedHeader header;
    header.git_names = split_git_names(names, options_.strip);
    header.git_line = at_ + 1;
    GALLEY_ASSIGN(at_, read_extended_header(document_, at_ + 1, edit, header));
    edit.is_by_program = !edit.old_blob.empty();
    mentioned_.clear();
    if (at_ < document_.size() && is_traditional_header(at_)) {
      GALLEY_TRY(read_name_lines(header.old_name, header.new_name));
    }
    GALLEY_TRY(check_header_names(header, edit));
    GALLEY_TRY(name_git_file(header, edit));
    if (has_only_properties() && !changes_metadata(edit)) return {};
    GALLEY_TRY(read_git_body(edit));
    GALLEY_TRY(check_whole(header, edit));
    return add(std::move(edit));
  }

  Result<void> name_git_file(const ExtendedHeader& header, FileEdit& edit) {
    const bool is_move = edit.op == FileOp::kRename || edit.op == FileOp::kCopy;
    if (is_move) {
      if (header.from.line == 0 || header.to.line == 0) {
        return is_at_end() ? cut_off(header.git_line, "both names of '" + header.from.name.text +
                                                          header.to.name.text + "' are there")
                           : bad_header(edit.document_line - 1,
                                        "a rename or copy needs both 'from' and 'to'");
      }
      // The names in these lines lack the prefixes a/ and b/.
      const uint32_t strip = options_.strip.value_or(1) > 0 ? options_.strip.value_or(1) - 1 : 0;
      edit.path = strip_components(header.from.name.text, strip);
      edit.new_path = strip_components(header.to.name.text, strip);
      if (edit.path.empty() || edit.new_path.empty()) {
        return bad_header(edit.document_line - 1, "-p takes off more than the names have");
      }
      return {};
    }
    HeaderName from = header.old_name.name;
    HeaderName to = header.new_name.name;
    if (!from.is_given && header.git_names) from = {header.git_names->old_name, false, true};
    if (!to.is_given && header.git_names) to = {header.git_names->new_name, false, true};
    if (edit.op == FileOp::kCreate) from.is_null = true;
    if (edit.op == FileOp::kDelete) to.is_null = true;
    // A new or deleted file has one name, whose prefix only the first line shows.
    const bool has_one_name = from.is_null != to.is_null;
    std::string shared = has_one_name && !options_.strip && header.git_names
                             ? name_behind_prefixes(*header.git_names)
                             : std::string();
    if (!shared.empty() && (from.is_null ? to : from).text.ends_with(shared)) {
      edit.path = std::move(shared);
    } else if (!resolve_paths(from, to, options_, set_, edit)) {
      return bad_header(edit.document_line - 1,
                        "no usable file name; are the names quoted as git quotes them?");
    }
    if (from.is_null) edit.op = FileOp::kCreate;
    if (to.is_null) edit.op = FileOp::kDelete;
    return {};
  }

  Result<void> read_git_body(FileEdit& edit) {
    if (at_ >= document_.size()) return {};
    const std::string_view line = text_at(at_);
    if (line == "GIT binary patch") {
      GALLEY_ASSIGN(at_, read_binary_patch(document_, at_ + 1, options_, edit, binary_totals_));
      return {};
    }
    if (line.starts_with("Binary files ") && line.ends_with(" differ")) {
      edit.binary_missing = true;
      ++at_;
      return {};
    }
    return read_hunks(edit);
  }

  /// True if only empty lines follow.
  [[nodiscard]] bool is_at_end() const {
    size_t at = at_;
    while (at < document_.size() && text_at(at).empty()) ++at;
    return at >= document_.size();
  }

  [[nodiscard]] tl::unexpected<Error> cut_off(size_t line, const std::string& until) const {
    return fail(ErrorKind::kInvalid, "edit.truncated",
                "line " + std::to_string(document_.size()) + " of the patch: it ends before " +
                    until + " (begun in line " + std::to_string(line) + "); send it whole");
  }

  /// Checks that the header is followed by the change that it announces.
  Result<void> check_whole(const ExtendedHeader& header, const FileEdit& edit) const {
    if (!edit.hunks.empty() || edit.binary || edit.binary_missing) return {};
    if (!changes_metadata(edit)) {
      if (is_at_end()) return cut_off(header.git_line, "the change of '" + edit.path + "'");
      return bad_header(edit.document_line - 1,
                        "the header of '" + edit.path + "' is not followed by a change");
    }
    const bool is_taken = options_.recount || options_.is_delimited ||
                          options_.end == DocumentEnd::kComplete || !is_at_end();
    if (is_taken || !announces_body(header, edit)) return {};
    auto cut = cut_off(header.git_line,
                       "the hunks of '" + edit.path + "', whose header says that lines change");
    cut.value().message += ", or --recount takes it as it is";
    return cut;
  }

  /// Refuses a document whose last line begins a file: the rest was cut off.
  Result<void> check_last_line() const {
    size_t last = document_.size();
    while (last > file_end_ && text_at(last - 1).empty()) --last;
    if (last > file_end_ && text_at(last - 1).find_first_not_of('=') == std::string_view::npos) {
      --last;  // below an `Index:` line
    }
    if (last <= file_end_ || set_.files.empty()) return {};
    const std::string_view line = text_at(last - 1);
    const bool is_name = line.starts_with("--- ") && line.size() > 4 && !line.ends_with('-');
    if (line == "@" && last == document_.size()) return cut_off(last, "the hunk of this line");
    if (!is_name && !line.starts_with("Index: ") && !line.starts_with("diff -")) return {};
    return cut_off(last, "the file that this line begins");
  }

  Result<void> read_bare_binary(std::string_view line) {
    FileEdit edit;
    edit.document_line = static_cast<uint32_t>(at_ + 1);
    const size_t split = line.find(" and ");
    std::string_view name = line.substr(13, line.size() - 13 - 7);
    if (split != std::string_view::npos) name = line.substr(13, split - 13);
    edit.path = strip_components(name, options_.strip.value_or(name.starts_with("a/") ? 1 : 0));
    if (edit.path.empty()) edit.path = std::string(name);
    edit.binary_missing = true;
    ++at_;
    return add(std::move(edit));
  }

  Lines document_;
  const ReadOptions& options_;
  EditSet& set_;
  HunkReadState so_far_;
  size_t at_ = 0;
  size_t file_end_ = 0;  ///< the line after the last file
  size_t hunk_count_ = 0;
  BinaryTotals binary_totals_;
  std::string index_name_;
  bool begins_mail_ = false;  ///< a mail began after the last file
  bool has_fence_ = false;
  bool is_in_fence_ = false;
  bool is_hunk_in_fence_ = false;
  bool may_be_bare_ = false;            ///< the next hunk may lack its header
  bool is_hunk_closed_ = false;         ///< the fence of the last hunk was closed
  std::vector<std::string> mentioned_;  ///< file names since the last file
};

/// True if the first header line of the document ends in CR LF. git never writes that, so a
/// transport has changed the whole document (GNU patch's rule).
bool has_crlf_headers(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with("--- ") || line.starts_with("+++ ") || line.starts_with("@@") ||
        line.starts_with("diff --git ")) {
      return line.ends_with('\r');
    }
    at = end + 1;
  }
  return false;
}

/// Completes the edit of a created file: without a body it is empty, without a mode it gets the
/// default.
void finish_file(FileEdit& edit) {
  if (edit.op == FileOp::kCreate && edit.hunks.empty() && !edit.binary && !edit.binary_missing) {
    edit.whole = std::string_view();
  }
  if (edit.op == FileOp::kCreate && !edit.new_mode) edit.new_mode = kDefaultFileMode;
}

/// True if the document ends with an added line. If such a line was cut off, no later check would
/// notice it.
bool ends_in_added_line(std::string_view document, const EditSet& set) {
  if (set.files.empty() || set.files.back().hunks.empty()) return false;
  const HunkLine& last = set.files.back().hunks.back().lines.back();
  return last.role == LineRole::kAdded &&
         last.text.data() + last.text.size() == document.data() + document.size();
}

}  // namespace

Result<EditSet> read_unified(std::string text, const ReadOptions& options) {
  if (text.size() > limits::kMaxPatchBytes) {
    return fail(ErrorKind::kQuota, "limit.patch_size", "the patch is larger than 512 MiB");
  }
  EditSet set;
  set.format = EditFormat::kUnified;
  GALLEY_ASSIGN(auto plain, without_color_codes(text));
  if (plain) {
    text = *std::move(plain);
    set.leniencies.push_back({"color_codes",
                              "the patch was made with --color; its color codes were taken off, "
                              "the files' bytes are as they were",
                              "", 0});
  }
  if (has_crlf_headers(text)) {
    text = without_crlf(text);
    set.leniencies.push_back(
        {"crlf_patch", "the patch has CR LF line ends; they were read as LF", "", 0});
  }
  // A patch without its last line end was usually pasted. It does not mean "no newline at end of
  // file".
  const bool is_ended = text.ends_with('\n');
  if (!text.empty() && !is_ended) text.push_back('\n');
  const std::string_view kept = set.keep(std::move(text));
  GALLEY_TRY(UnifiedReader(kept, is_ended, options, set).run());
  if (set.files.empty() && !options.allow_empty) {
    return fail(ErrorKind::kInvalid, "edit.not_a_patch",
                kept.empty() ? "the patch is empty"
                             : "no patch was found: no 'diff --git', '---'/'+++' or '@@' line");
  }
  for (FileEdit& edit : set.files) finish_file(edit);
  if (!is_ended && !options.is_delimited && ends_in_added_line(kept, set)) {
    set.leniencies.push_back(
        {"last_line_unended",
         "the patch does not end in a newline; its last line was taken as whole",
         set.files.back().path, 0});
  }
  return with_options(std::move(set), options);
}

}  // namespace galley
