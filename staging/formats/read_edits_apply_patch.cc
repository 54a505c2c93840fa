#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "staging/formats/dialect_marks.h"
#include "staging/formats/patch_path.h"
#include "staging/formats/read_edits.h"
#include "staging/formats/read_hunk.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

constexpr std::string_view kMove = "*** Move to:";
constexpr std::string_view kEndOfFile = "*** End of File";

/// Reads the grammar of OpenAI's apply_patch tool (its `apply_patch.lark`), leniently.
class ApplyPatchReader {
 public:
  ApplyPatchReader(std::string_view text, const ReadOptions& options, EditSet& set)
      : document_(text), options_(options), set_(set) {}

  Result<void> run() {
    while (at_ < document_.size()) {
      const std::string_view line = trimmed(document_[at_]);
      if (const auto operation = patch_operation_of(line)) {
        GALLEY_TRY(read_operation(*operation));
      } else if (is_patch_begin(line)) {
        if (state_ == State::kBegun) lacks_end_ = true;
        state_ = State::kBegun;
        has_begin_ = true;
        begin_ = at_++;
      } else if (is_patch_end(document_, begin_, at_)) {
        state_ = State::kOutside;
        has_end_ = true;
        ++at_;
      } else if (state_ == State::kOutside) {
        if (ended_in_new_file_ && line.starts_with('+')) {
          return bad(
              "it seems to belong to the new file above the blank line; begin each line of "
              "a new file with '+', also blank ones");
        }
        ++at_;  // a heredoc line, a fence or prose
      } else {
        GALLEY_TRY(read_between(line));
      }
    }
    if (state_ == State::kBegun && !options_.recount && options_.end != DocumentEnd::kComplete) {
      return fail(
          ErrorKind::kInvalid, "edit.truncated",
          "the patch of line " + std::to_string(begin_ + 1) +
              " ends without '*** End Patch' and may have been cut off; send all of it, "
              "with that line at its end, or --complete takes it as it is (\"complete\": true "
              "in a tool call)");
    }
    if (!has_begin_) note("no_begin", "'*** Begin Patch' is missing");
    if (!has_end_ || lacks_end_) note("no_end", "'*** End Patch' is missing");
    return {};
  }

 private:
  enum class State : uint8_t {
    kOutside,
    kBegun,    ///< after "*** Begin Patch"
    kAssumed,  ///< after an operation without that line: ends at a blank line
  };

  [[nodiscard]] std::string_view text_at(size_t at) const {
    return without_terminator(document_[at]);
  }

  tl::unexpected<Error> bad(const std::string& what) const {
    return fail(ErrorKind::kInvalid, "edit.corrupt_hunk",
                "line " + std::to_string(at_ + 1) + " of the patch: " + what);
  }

  Result<void> read_operation(const PatchOperation& operation) {
    ended_in_new_file_ = false;
    if (state_ == State::kOutside) {
      state_ = State::kAssumed;
      begin_ = at_;
    }
    const std::string path = unquoted_name(operation.path);
    switch (operation.kind) {
      case PatchOperation::Kind::kAdd:
        return read_add(path);
      case PatchOperation::Kind::kDelete: {
        FileEdit edit = begin(FileOp::kDelete, path);
        ++at_;
        return add(std::move(edit));
      }
      case PatchOperation::Kind::kUpdate:
        break;
    }
    return read_update(path);
  }

  /// Reads a line inside a patch that is not part of an operation.
  Result<void> read_between(std::string_view line) {
    if (line.starts_with("*** ")) {
      return bad("'" + std::string(line.substr(0, kQuotedBytes)) +
                 "' is not an operation of this format");
    }
    const bool is_closing = is_fence(line) || is_heredoc_end(at_);
    if (is_closing || (line.empty() && state_ == State::kAssumed)) {
      if (state_ == State::kBegun) lacks_end_ = true;
      ended_in_new_file_ = line.empty() && set_.files.back().op == FileOp::kCreate;
      state_ = State::kOutside;
    } else if (!line.empty()) {
      return bad("'" + std::string(line.substr(0, kQuotedBytes)) +
                 "' belongs to no operation; lines of a new file begin with '+', changed ones with "
                 "'+', '-' or a blank");
    }
    ++at_;
    return {};
  }

  /// True for the word that ends a heredoc: in capital letters, with only blank lines and fences
  /// after it.
  [[nodiscard]] bool is_heredoc_end(size_t at) const {
    const std::string_view word = text_at(at);
    const bool is_word = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return (c >= 'A' && c <= 'Z') || c == '_';
    });
    if (!is_word) return false;
    for (size_t next = at + 1; next < document_.size(); ++next) {
      const std::string_view line = trimmed(document_[next]);
      if (!line.empty() && !is_fence(line)) return false;
    }
    return true;
  }

  void note(const char* rule, std::string message) {
    set_.leniencies.push_back({rule, std::move(message), "", 0});
  }

  FileEdit begin(FileOp op, std::string_view path) const {
    FileEdit edit;
    edit.op = op;
    edit.path = path;
    edit.document_line = static_cast<uint32_t>(at_ + 1);
    return edit;
  }

  Result<void> add(FileEdit edit) {
    if (edit.path.empty()) return bad("an operation without a file name");
    if (set_.files.size() >= limits::kMaxFilesInPatch) {
      return fail(ErrorKind::kQuota, "limit.patch_files", "the patch names over 100,000 files");
    }
    set_.files.push_back(std::move(edit));
    return {};
  }

  Result<void> read_add(std::string_view path) {
    FileEdit edit = begin(FileOp::kCreate, path);
    std::string content;
    bool has_bare_blanks = false;
    for (++at_; at_ < document_.size(); ++at_) {
      const std::string_view line = document_[at_];
      if (line.starts_with('+')) {
        content += line.substr(1);
      } else if (without_terminator(line).empty() && line_after_blanks().starts_with('+')) {
        content += line;
        has_bare_blanks = true;
      } else if (text_at(at_).find_first_not_of(" \t") == std::string::npos &&
                 at_ + 1 < document_.size() && document_[at_ + 1].starts_with('+')) {
        return bad("each line of a new file begins with '+', also a blank one");
      } else {
        break;
      }
    }
    if (has_bare_blanks) {
      set_.leniencies.push_back({"bare_blank_lines",
                                 "blank lines without '+' were taken as lines of the new file",
                                 std::string(path), edit.document_line});
    }
    edit.whole = set_.keep(std::move(content));
    edit.new_mode = 0100644;
    return add(std::move(edit));
  }

  Result<void> read_update(std::string_view path) {
    FileEdit edit = begin(FileOp::kModify, path);
    path_ = edit.path;
    ++at_;
    if (at_ < document_.size() && trimmed(document_[at_]).starts_with(kMove)) {
      edit.new_path = unquoted_name(trimmed(trimmed(document_[at_]).substr(kMove.size())));
      if (edit.new_path != edit.path) {
        edit.op = FileOp::kRename;
      } else {
        edit.new_path.clear();
      }
      ++at_;
    }
    while (at_ < document_.size() && !ends_update()) {
      if (text_at(at_).empty() && !is_body_after_blank()) {
        ++at_;
        continue;
      }
      GALLEY_TRY(read_change(edit));
    }
    if (edit.hunks.empty() && edit.op != FileOp::kRename) {
      return bad("an update of '" + edit.path + "' without a change");
    }
    return add(std::move(edit));
  }

  /// True at the end of an update. A fence ends a patch that lacks its last line. An indented
  /// marker may be a context line.
  [[nodiscard]] bool ends_update() const {
    const std::string_view line = text_at(at_);
    return (line.starts_with("***") && trimmed(line) != kEndOfFile) || line.starts_with("```") ||
           line.starts_with("~~~") || is_patch_end(document_, begin_, at_) || is_heredoc_end(at_);
  }

  [[nodiscard]] static bool is_body(std::string_view line) {
    return line.starts_with('+') || line.starts_with('-') || line.starts_with(' ');
  }

  /// True if an empty line is an empty context line, because the body continues after it.
  [[nodiscard]] bool is_body_after_blank() {
    const std::string_view next = line_after_blanks();
    return !next.empty() && is_body(next);
  }

  /// Returns the first line from at_ that is not empty; empty at the end of the document.
  std::string_view line_after_blanks() {
    if (blank_end_ <= at_) blank_end_ = at_;
    while (blank_end_ < document_.size() && text_at(blank_end_).empty()) ++blank_end_;
    return blank_end_ < document_.size() ? document_[blank_end_] : std::string_view();
  }

  void read_anchors(Hunk& hunk) {
    for (; at_ < document_.size() && text_at(at_).starts_with("@@"); ++at_) {
      std::string_view anchor = trimmed(text_at(at_).substr(2));
      if (anchor.ends_with("@@")) anchor = trimmed(anchor.substr(0, anchor.size() - 2));
      if (!anchor.empty() && !is_number_range(anchor)) hunk.anchors.push_back(anchor);
    }
  }

  static HunkLine body_line(std::string_view line) {
    const LineRole role = line.front() == '+'   ? LineRole::kAdded
                          : line.front() == '-' ? LineRole::kRemoved
                                                : LineRole::kContext;
    return {role, line.substr(1)};
  }

  /// True if the line after the blank lines can be context that lost its leading blank: the patch
  /// has its first line, so its text is not prose.
  [[nodiscard]] bool is_bare_after_blank() {
    const std::string_view next = without_terminator(line_after_blanks());
    return state_ == State::kBegun && !next.empty() && !next.starts_with("@@") &&
           !next.starts_with("***") && !is_fence(next) && !is_heredoc_end(blank_end_) &&
           !is_patch_end(document_, begin_, blank_end_);
  }

  Result<void> read_body(Hunk& hunk) {
    const size_t begin = at_;
    size_t bare = document_.size();  // the first context line without its blank
    for (; at_ < document_.size(); ++at_) {
      const std::string_view line = document_[at_];
      const std::string_view text = text_at(at_);
      if (text.starts_with('*') && trimmed(text) == kEndOfFile) {
        hunk.at_end = true;
        ++at_;
        break;
      }
      if (text.starts_with("@@") || ends_update()) break;
      if (text.empty()) {
        if (!is_body_after_blank() && !is_bare_after_blank()) break;
        hunk.lines.push_back({LineRole::kContext, line});
      } else if (is_body(line)) {
        hunk.lines.push_back(body_line(line));
      } else if (state_ == State::kBegun) {
        bare = std::min(bare, at_);
        hunk.lines.push_back({LineRole::kContext, line});
      } else {
        return no_sign(at_);
      }
    }
    return bare < document_.size() ? take_bare(hunk, begin, bare) : Result<void>();
  }

  tl::unexpected<Error> no_sign(size_t at) {
    at_ = at;
    return bad("a changed line begins with '+', '-' or a blank");
  }

  /// Checks a hunk with context lines that lost their leading blank, by the rules of a diff.
  Result<void> take_bare(Hunk& hunk, size_t begin, size_t bare) {
    const auto is_change = [](const HunkLine& line) { return line.role != LineRole::kContext; };
    if (std::none_of(hunk.lines.begin(), hunk.lines.end(), is_change)) return no_sign(bare);
    if (has_doubtful_sign(hunk.lines)) {
      at_ = begin;
      return bad(kDoubtfulSign);
    }
    hunk.has_bare_context = true;
    set_.leniencies.push_back({"bare_context", kBareContext, path_, hunk.document_line});
    return {};
  }

  Result<void> read_change(FileEdit& edit) {
    Hunk hunk;
    hunk.document_line = static_cast<uint32_t>(at_ + 1);
    read_anchors(hunk);
    GALLEY_TRY(read_body(hunk));
    if (hunk.lines.empty()) return bad("an @@ without lines");
    const bool only_adds = std::all_of(hunk.lines.begin(), hunk.lines.end(), [](const auto& line) {
      return line.role == LineRole::kAdded;
    });
    // A rule of the format: lines without context are added below the anchor, or without one at the
    // end of the file.
    hunk.is_below_anchor = only_adds && !hunk.anchors.empty() && !hunk.at_end;
    if (only_adds && hunk.anchors.empty()) hunk.at_end = true;
    edit.hunks.push_back(std::move(hunk));
    return {};
  }

  /// True for "-1,3 +1,4", from a unified header inside a patch. This format ignores the numbers.
  [[nodiscard]] static bool is_number_range(std::string_view anchor) {
    return anchor.starts_with('-') && anchor.size() > 1 && is_digit(anchor[1]) &&
           anchor.find('+') != std::string_view::npos;
  }

  Lines document_;
  const ReadOptions& options_;
  EditSet& set_;
  size_t at_ = 0;
  size_t begin_ = 0;      // the first line of the patch
  std::string path_;      // of the update that is read
  size_t blank_end_ = 0;  // the first line after at_ that is not empty, if known
  State state_ = State::kOutside;
  /// A patch without a beginning ended at a blank line behind a new file.
  bool ended_in_new_file_ = false;
  bool has_begin_ = false;
  bool has_end_ = false;
  bool lacks_end_ = false;  // true for at least one patch
};

/// True if the first marker ends in CR LF. Then a transport has changed the line ends of the
/// document.
bool has_crlf_marks(std::string_view text) {
  const size_t mark = text.find("*** ");
  const size_t end = mark == std::string_view::npos ? mark : text.find('\n', mark);
  return end != std::string_view::npos && text[end - 1] == '\r';
}

/// Returns `text` without the indentation of its first marker, if every other line has it, too.
std::string without_indent(std::string_view text) {
  const size_t mark = text.find("*** ");
  const size_t begin = mark == std::string_view::npos ? 0 : text.rfind('\n', mark) + 1;
  const std::string indent(text.substr(begin, mark - begin));
  if (indent.empty() || indent.find_first_not_of(" \t") != std::string::npos) return {};
  const Lines lines(text);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    const bool is_inside = lines.offset(i) >= begin;
    if (is_inside && line.starts_with(indent)) {
      line.remove_prefix(indent.size());
    } else if (is_inside && !trimmed(line).empty()) {
      if (!is_fence(line)) return {};
    }
    out += line;
  }
  return out;
}

}  // namespace

Result<EditSet> read_apply_patch(std::string text, const ReadOptions& options) {
  if (text.size() > limits::kMaxPatchBytes) {
    return fail(ErrorKind::kQuota, "limit.patch_size", "the patch is larger than 512 MiB");
  }
  EditSet set;
  set.format = EditFormat::kApplyPatch;
  if (has_crlf_marks(text)) {
    text = without_crlf(text);
    set.leniencies.push_back(
        {"crlf_patch", "the patch has CR LF line ends; they were read as LF", "", 0});
  }
  if (std::string outdented = without_indent(text); !outdented.empty()) {
    text = std::move(outdented);
    set.leniencies.push_back(
        {"indented_patch", "the whole patch was indented; it was read without that", "", 0});
  }
  if (!text.empty() && text.back() != '\n') text.push_back('\n');
  GALLEY_TRY(ApplyPatchReader(set.keep(std::move(text)), options, set).run());
  if (set.files.empty() && !options.allow_empty) {
    return fail(ErrorKind::kInvalid, "edit.not_a_patch", "the patch names no file");
  }
  if (options.reverse) {
    for (const FileEdit& edit : set.files) {
      if (edit.op != FileOp::kDelete) continue;
      return fail(
          ErrorKind::kInvalid, "edit.not_reversible",
          "'" + edit.path + "' cannot be reversed: '*** Delete File' does not say what was in it",
          edit.path);
    }
  }
  return with_options(std::move(set), options);
}

}  // namespace galley
