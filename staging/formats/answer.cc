#include "staging/formats/answer.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <string>

#include "base/text.h"
#include "staging/formats/dialect_marks.h"
#include "staging/formats/mail.h"
#include "staging/formats/read_hunk.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

constexpr size_t kMaxUnread = 100000;

/// True for a line that can continue a hunk.
bool is_body_line(std::string_view line) {
  const std::string_view text = without_terminator(line);
  return text.empty() || text.front() == '+' || text.front() == '-' || text.front() == ' ' ||
         text.front() == '\\';
}

/// True if an indented line is in an item of a list that is not indented further than markdown
/// allows (CommonMark, 5.2). `floor`: the first line that may begin the item.
bool is_in_list_item(const Lines& document, size_t at, size_t floor) {
  constexpr size_t kMostLines = 64;  // of an item above the line
  constexpr size_t kMostIndent = 3;  // of an item, and of a line beyond its text
  constexpr size_t kMostDigits = 9;
  const size_t indent = document[at].find_first_not_of(' ');
  const size_t first = std::max(floor, at - std::min(at, kMostLines));
  while (at > first) {
    const std::string_view line = without_terminator(document[--at]);
    const size_t begin = line.find_first_not_of(' ');
    if (begin == line.npos || begin >= indent) continue;
    const std::string_view text = line.substr(begin);
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const bool is_number = digits > 0 && digits <= kMostDigits && text.size() > digits &&
                           (text[digits] == '.' || text[digits] == ')');
    const bool is_mark =
        is_number || (digits == 0 && (text[0] == '-' || text[0] == '*' || text[0] == '+'));
    const size_t mark = digits + 1;
    const size_t blanks = std::min(text.find_first_not_of(' ', mark), text.size()) - mark;
    const size_t inside = begin + mark + std::min(blanks, kMostIndent + 1);
    return is_mark && blanks > 0 && begin <= kMostIndent && inside <= indent &&
           indent <= inside + kMostIndent;
  }
  return false;
}

bool begins_json(std::string_view text) {
  const std::string_view body = trimmed(text);
  return body.starts_with('{') || body.starts_with('[');
}

/// The kinds of keys that an object of JSON has.
struct LooseObject {
  enum Key : unsigned { kPath = 1, kEdits = 2, kOld = 4, kNew = 8, kContent = 16, kOther = 32 };
  char bracket = 0;
  bool is_argument = false;  ///< a document, an element of one, or the arguments of a call
  unsigned keys = 0;
  std::string_view last_key;

  [[nodiscard]] bool has(unsigned wanted) const { return (keys & wanted) == wanted; }
  [[nodiscard]] bool is_edit() const {
    return has(kPath) &&
           (has(kEdits) || has(kOld | kNew) || (has(kContent) && is_argument && !has(kOther)));
  }
};

/// True for a line as `git show` writes those of a message.
bool is_message(std::string_view line) { return line.starts_with("    "); }

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

unsigned kind_of_key(std::string_view key) {
  static constexpr std::array<std::string_view, 8> kPaths = {
      "path",         "file",         "filepath",   "filename",
      "absolutepath", "relativepath", "targetfile", "targetpath"};
  static constexpr std::array<std::string_view, 3> kEdits = {"edits", "codeedit", "inserttext"};
  static constexpr std::array<std::string_view, 4> kOld = {"oldtext", "oldstring", "oldstr",
                                                           "search"};
  static constexpr std::array<std::string_view, 4> kNew = {"newtext", "newstring", "newstr",
                                                           "replace"};
  static constexpr std::array<std::string_view, 3> kContents = {"content", "contents", "filetext"};
  static constexpr std::array<std::string_view, 5> kNotes = {"reason", "explanation", "description",
                                                             "instructions", "command"};
  std::string word = to_lower(key);
  std::erase(word, '_');
  return is_one_of(word, kPaths)      ? LooseObject::kPath
         : is_one_of(word, kEdits)    ? LooseObject::kEdits
         : is_one_of(word, kOld)      ? LooseObject::kOld
         : is_one_of(word, kNew)      ? LooseObject::kNew
         : is_one_of(word, kContents) ? LooseObject::kContent
         : is_one_of(word, kNotes)    ? 0U
                                      : LooseObject::kOther;
}

/// Searches JSON with any order of keys, with comments and with strings in single quotes for
/// objects that may be edits: a path with texts to replace, or with a content and nothing else.
class LooseJson {
 public:
  explicit LooseJson(std::string_view text) : text_(text) {}

  /// Reads to the last bracket, or to the end of the text.
  bool has_edit() {
    do {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        take_string(c);
        continue;
      }
      if (c == '{' || c == '[') open(c);
      if (c == '}' || c == ']') close();
      const bool is_comment = text_.substr(at_).starts_with("//");
      at_ = is_comment ? std::min(text_.find('\n', at_), text_.size()) : at_ + 1;
    } while (at_ < text_.size() && !stack_.empty() && stack_.size() <= kMostDepth);
    while (!stack_.empty()) close();
    return has_edit_;
  }

  [[nodiscard]] size_t end() const { return at_; }

 private:
  static constexpr size_t kMostDepth = 100;  // edits are not nested deeper

  void open(char bracket) {
    static constexpr std::array<std::string_view, 6> kArguments = {
        "args", "arguments", "input", "parameters", "params", "files"};
    LooseObject object{bracket, true, 0, {}};
    if (!stack_.empty()) {
      const LooseObject& outer = stack_.back();
      object.is_argument =
          outer.bracket == '[' ? outer.is_argument : is_one_of(outer.last_key, kArguments);
    }
    stack_.push_back(object);
  }

  void close() {
    has_edit_ = has_edit_ || stack_.back().is_edit();
    stack_.pop_back();
  }

  void take_string(char quote) {
    const size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_, text_.size());
    const std::string_view word = text_.substr(begin, at_ - begin);
    at_ = std::min(at_ + 1, text_.size());
    const size_t after = text_.find_first_not_of(kPlainSpaces, at_);
    if (after == std::string_view::npos || text_[after] != ':' || stack_.empty()) return;
    const size_t value = text_.find_first_not_of(kPlainSpaces, after + 1);
    const char first = value == std::string_view::npos ? ' ' : text_[value];
    const unsigned kind = kind_of_key(word);
    // In the schema of a tool, the value is an object.
    const bool is_value = first == '"' || first == '\'' || first == '[' || kind == 0;
    stack_.back().keys |= is_value ? kind : LooseObject::kOther;
    stack_.back().last_key = word;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool has_edit_ = false;
  std::vector<LooseObject> stack_;
};

class AnswerDivider {
 public:
  explicit AnswerDivider(std::string_view text)
      : document_(text), may_think_(!begins_json(text)), messages_(find_messages(document_)) {}

  Answer run() {
    while (at_ < document_.size()) take();
    return finish();
  }

  /// True if run() would return a part or an unread line. For a text without closing tags, because
  /// text before such a tag can become a thought later. Reads no further than needed.
  bool finds_edits() {
    while (at_ < document_.size() && out_.parts.empty() && out_.unread.empty()) take();
    const Answer found = finish();
    return !found.parts.empty() || !found.unread.empty();
  }

  /// The patches in list items that run() has found.
  [[nodiscard]] const std::vector<UnreadLine>& indented() const { return indented_; }

 private:
  Answer finish() {
    close_fence();
    if (!out_.parts.empty()) {
      add_to_unread(indented_);
      add_to_unread(loose_);
      out_.shown = std::move(shown_);
    }
    cover(document_.size(), document_.size());
    for (size_t i = 0; i < out_.parts.size(); ++i) {
      if (out_.parts[i].end != 0) continue;
      out_.parts[i].end =
          i + 1 < out_.parts.size() ? out_.parts[i + 1].begin : document_.text().size();
    }
    return std::move(out_);
  }

  /// Passes over an element in which a model thinks. If only its closing tag is there, all
  /// before it is the thought.
  bool take_thought() {
    if (!may_think_ || in_fence_ || !out_.calls.empty()) return false;
    const std::string_view text = document_.text();
    const size_t begin = document_.offset(at_);
    if (thought_at(text, begin)) {
      const size_t end = thought_end(text, begin, &missing_tags_);
      // After a hunk, the line may be context without its leading blank.
      if (end == std::string_view::npos || was_in_hunk_) {
        add_unread(at_);
        ++at_;
      } else {
        pass_thought(begin, end);
      }
      return true;
    }
    const size_t close = closing_tag_in_line();
    if (close == std::string_view::npos) return false;
    if (was_in_hunk_) {
      add_unread(at_);
      ++at_;
      return true;
    }
    out_ = {};
    indented_.clear();
    loose_.clear();
    shown_.clear();
    open_.name.clear();
    covered_ = 0;
    taken_ = 0;
    pass_thought(0, close);
    return true;
  }

  /// Returns the byte after a closing tag at the start or the end of the line; npos: none.
  [[nodiscard]] size_t closing_tag_in_line() const {
    const std::string_view text = document_.text();
    const size_t begin = document_.offset(at_);
    if (const size_t length = closing_tag_length(text, begin); length > 0) return begin + length;
    const std::string_view line = trim_end(text_at(at_));
    const size_t last = line.rfind("</");
    const size_t length = closing_tag_length(line, last);
    return length > 0 && last + length == line.size() ? begin + line.size()
                                                      : std::string_view::npos;
  }

  void pass_thought(size_t begin, size_t end) {
    out_.asides.emplace_back(begin, end);
    pass_to(document_.line_at(end - 1) + 1);
  }

  void pass_to(size_t line) {
    at_ = floor_ = line;
    in_header_ = in_hunk_ = false;
  }

  /// Passes over the message of a mail or a commit that begins here. Inside an edit, none does. An
  /// edit below the signature of a mail is not read: a program quotes it, or it was added.
  bool take_message(bool is_body) {
    while (next_message_ < messages_.size() && messages_[next_message_].begin < at_) {
      ++next_message_;
      is_in_mail_ = false;
    }
    if (next_message_ >= messages_.size() || messages_[next_message_].begin > at_) return false;
    const MessageText& message = messages_[next_message_];
    if (message.is_footer ? !is_in_mail_ : is_body) return false;
    if (message.is_footer) {
      const Answer quoted = AnswerDivider(document_.span(at_, message.end)).run();
      for (const AnswerPart& part : quoted.parts) add_unread(at_ + part.line);
    } else {
      for (size_t at = at_ + 1; at < message.body; ++at) {
        const bool goes_on = document_[at].starts_with(' ') || document_[at].starts_with('\t');
        if (goes_on) add_aside(at, at + 1);
      }
      add_aside(message.body, message.end);
    }
    is_in_mail_ = !message.is_footer;
    ++next_message_;
    pass_to(message.end);
    return true;
  }

  void add_aside(size_t begin, size_t end) {
    if (trimmed(document_.span(begin, end)).empty()) return;
    out_.asides.emplace_back(document_.offset(begin), document_.offset(end));
  }

  [[nodiscard]] std::string_view text_at(size_t at) const {
    return without_terminator(document_[at]);
  }

  void take() {
    const std::string_view line = text_at(at_);
    const bool is_body = in_hunk_ && is_body_line(line);
    if (take_message(is_body)) return;
    if (is_body) {
      ++at_;
      cover(at_ - 1, at_);
      return;
    }
    was_in_hunk_ = in_hunk_;
    in_hunk_ = false;
    if (take_thought()) return;
    if (take_fence() || take_unified() || take_patch() || take_block() || take_json()) return;
    if (in_header_ && goes_on_header(line)) cover(at_, at_ + 1);
    if (take_call()) return;
    note_loose_json();
    if (!in_fence_ && normal_change_end(document_, at_) > at_) add_loose(at_);
    const bool is_change = line.starts_with('+') || line.starts_with('-');
    if (is_change && first_change_ == 0) first_change_ = at_ + 1;
    if (is_nearly_mark(line) || is_replaced_line()) add_unread(at_);
    ++at_;
  }

  /// Marks lines [begin, end) as part of an edit. The lines between it and the edit before it are
  /// prose.
  void cover(size_t begin, size_t end) {
    size_t last = begin;
    const auto is_empty = [this](size_t at) {
      return trimmed(document_[at]).empty() || is_fence(document_[at]);
    };
    while (covered_ < last && is_empty(covered_)) ++covered_;
    while (covered_ < last && is_empty(last - 1)) --last;
    if (covered_ < last && out_.prose.size() < kMaxUnread) out_.prose.emplace_back(covered_, last);
    covered_ = std::max(covered_, end);
  }

  /// True if the line continues git's header of a file, or a binary patch.
  bool goes_on_header(std::string_view line) {
    if (in_binary_) {
      const bool is_block = line.starts_with("literal ") || line.starts_with("delta ");
      in_binary_ = in_header_ = is_block || line.find(' ') == std::string_view::npos;
    } else {
      in_binary_ = line == "GIT binary patch";
      in_header_ = !line.empty();
    }
    return in_header_;
  }

  /// True for a removed line and its replacement after an edit, outside of hunks and fences. They
  /// are the rest of a diff whose fence was closed too early, by a context line.
  [[nodiscard]] bool is_replaced_line() const {
    const auto is_signed = [](std::string_view line, char sign) {
      return line.size() > 1 && line.front() == sign &&
             std::string_view(" \t+-").find(line[1]) == line.npos;
    };
    return taken_ > 0 && !in_fence_ && at_ + 1 < document_.size() && is_signed(text_at(at_), '-') &&
           is_signed(text_at(at_ + 1), '+');
  }

  void add_unread(size_t line) {
    if (out_.unread.size() < kMaxUnread) {
      out_.unread.push_back({line, std::string(trimmed(document_[line]))});
    }
  }

  /// Notes a line that may begin an edit, which no reader takes. It counts next to other edits.
  void add_loose(size_t line) {
    if (loose_.size() < kMaxUnread) {
      loose_.push_back({line, std::string(trimmed(document_[line]))});
    }
  }

  void add_part(EditFormat format, size_t line) {
    ++taken_;
    const bool goes_on =
        !out_.parts.empty() && out_.parts.back().format == format && out_.parts.back().end == 0;
    if (!goes_on) out_.parts.push_back({format, document_.offset(line), 0, line});
  }

  /// Reports a fence that is labelled as a diff and has changed lines, if no edit was read from it.
  void close_fence() {
    if (is_diff_fence_ && taken_ == taken_before_fence_ && first_change_ > 0) {
      add_unread(first_change_ - 1);
    }
    is_diff_fence_ = false;
    const bool has_edits =
        taken_ != taken_before_fence_ || out_.calls.size() != calls_before_fence_;
    const size_t shown = open_.fence.line + 1;
    if (in_fence_ && !has_edits && is_normal_diff(document_, std::min(shown, at_), at_)) {
      add_loose(shown);
    }
    if (open_.name.empty() || has_edits) return;
    const size_t first = std::min(open_.fence.line + 1, at_);
    if (shown_.size() < kMaxUnread &&
        may_have_file(document_[open_.fence.line], document_.span(first, at_), open_.name)) {
      shown_.push_back(open_);
    }
    open_.name.clear();
  }

  /// Tracks the fence at the left margin that is open. Another one ends it with at least as many of
  /// its signs, and without a title.
  void track_margin_fence() {
    const std::string_view line = trimmed(document_[at_]);
    if (document_[at_].front() != line.front()) return;
    if (margin_fence_.empty()) {
      margin_fence_ = line.substr(0, line.find_first_not_of(line.front()));
    } else if (line.starts_with(margin_fence_) &&
               line.find_first_not_of(line.front()) == line.npos) {
      margin_fence_ = {};
    }
  }

  /// Notes the patch in the fence of a list item, whose lines are indented as the fence. No reader
  /// takes it, because it could be an example. Text of files and edits is not searched.
  void note_indented_patch() {
    const size_t indent = document_[at_].find_first_not_of(' ');
    if (indent == 0 || !margin_fence_.empty() || at_ + 2 >= document_.size()) return;
    const auto inner = [&](size_t at) {
      const std::string_view line = text_at(at);
      const bool is_deep = line.find_first_not_of(' ') == indent;
      return is_deep ? line.substr(indent) : std::string_view();
    };
    const std::string_view first = inner(at_ + 1);
    const std::string_view second = inner(at_ + 2);
    const bool is_patch =
        first.starts_with("diff --git ") ||
        (first.starts_with("--- ") && (second.starts_with("+++ ") || second.starts_with("@@")));
    if (is_patch && is_in_list_item(document_, at_, std::max(covered_, floor_))) {
      indented_.push_back({at_ + 1, std::string(first), true});
    }
  }

  /// Notes the file that the fence at this line names.
  void open_fence() {
    taken_before_fence_ = taken_;
    calls_before_fence_ = out_.calls.size();
    const size_t floor = std::max({floor_, covered_, after_fence_});
    open_ = {{at_, std::string(trimmed(document_[at_]))}, {}};
    if (!is_message(document_[at_])) open_.name = shown_file_at(document_, at_, floor);
  }

  bool take_fence() {
    if (!is_fence(document_[at_])) return false;
    in_header_ = false;
    note_indented_patch();
    if (!in_fence_ && at_ >= nested_from_) {
      const NestedFile nested = nested_file_at(document_, at_, floor_);
      nested_from_ = nested.end;  // each line is read only once
      if (nested.is_file) {
        close_fence();
        open_fence();
        at_ = nested.end;
        close_fence();
        after_fence_ = at_;
        return true;
      }
    }
    track_margin_fence();
    const std::string_view line = trimmed(document_[at_]);
    const size_t marks = std::min(line.find_first_not_of(line.front()), line.size());
    const std::string_view info = trimmed(line.substr(marks));
    close_fence();
    in_fence_ = !in_fence_ || !info.empty();
    if (in_fence_) open_fence();
    is_diff_fence_ = info == "diff" || info == "patch" || info == "udiff";
    is_code_fence_ = in_fence_ && !is_diff_fence_ && !info.empty() && info != "json" &&
                     info != "xml" && info != "tool_call" && info != "tool_calls";
    if (!in_fence_) after_fence_ = at_ + 1;
    first_change_ = 0;
    if (info == "tool_code") add_call(at_ + 1);
    if (is_bare_hunk_fence(document_, at_)) {
      add_part(EditFormat::kUnified, at_);
      in_hunk_ = true;
    }
    ++at_;
    return true;
  }

  [[nodiscard]] bool is_unified() const {
    const std::string_view line = text_at(at_);
    const std::string_view next = at_ + 1 < document_.size() ? text_at(at_ + 1) : "";
    if (line.starts_with("@@")) {
      const auto header = read_hunk_header(line);
      return header && (header->has_numbers || line == "@@" || line.starts_with("@@ ...") ||
                        (at_ + 1 < document_.size() && begins_bare_hunk(document_, at_ + 1)));
    }
    if (line.starts_with("--- ")) return next.starts_with("+++ ") || next.starts_with("@@");
    if (line.starts_with("+++ ")) return next.starts_with("@@");
    return line.starts_with("diff --git ") || line.starts_with("diff --cc ") ||
           line.starts_with("diff --combined ") || line.starts_with("***************") ||
           (line.starts_with("Binary files ") && line.ends_with(" differ"));
  }

  bool take_unified() {
    if (!is_unified()) return false;
    const size_t begin = at_;
    add_part(EditFormat::kUnified, at_);
    in_hunk_ = text_at(at_).starts_with("@@");
    in_header_ = !in_hunk_;
    in_binary_ = false;
    if (!in_hunk_ && at_ + 1 < document_.size() && text_at(at_ + 1).starts_with("+++ ")) ++at_;
    ++at_;
    cover(begin, at_);
    return true;
  }

  bool take_patch() {
    const bool is_begin = is_patch_begin(document_[at_]);
    if (!is_begin && !patch_operation_of(document_[at_])) return false;
    const size_t begin = at_;
    add_part(EditFormat::kApplyPatch, begin);
    for (++at_; at_ < document_.size(); ++at_) {
      if (is_patch_end(document_, begin, at_)) {
        ++at_;
        break;
      }
      const std::string_view line = text_at(at_);
      const bool is_of_patch = is_body_line(line) || line.starts_with("@@") || line.front() == '*';
      // The reader refuses a line that cannot be in a patch. Only the start of another edit or a
      // fence ends the patch.
      const bool is_else = line.starts_with("```") || line.starts_with("~~~") ||
                           line.starts_with("diff --git ") || is_block_head(line);
      if (is_begin ? is_else : !is_of_patch) break;
    }
    floor_ = at_;
    cover(begin, at_);
    return true;
  }

  bool take_block() {
    if (!is_block_head(document_[at_])) return false;
    size_t begin = at_;
    for (size_t back = 1; back <= kBlockNameLines && at_ >= floor_ + back; ++back) {
      const std::string_view line = trimmed(document_[at_ - back]);
      if (is_fence(line) && !fence_name_of(line).empty()) begin = at_ - back;
      if (line.empty() || is_fence(line)) continue;
      if (!block_name_of(line).empty()) begin = at_ - back;
      break;
    }
    add_part(EditFormat::kSearchReplace, begin);
    const BlockMarks marks = find_block(document_, at_);
    at_ = marks.reason.empty() ? marks.end + 1 : document_.size();  // the reader reports why
    floor_ = at_;
    cover(begin, at_);
    return true;
  }

  bool take_json() {
    const std::string_view text = document_.text();
    const size_t begin = document_.offset(at_) + document_[at_].find_first_not_of(" \t");
    const auto extent = json_edit_at(text, std::min(begin, text.size()));
    if (!extent) return false;
    if (extent->format == EditFormat::kAuto) {  // another document, without edits
      note_loose_json();
      at_ = document_.line_at(extent->end - 1) + 1;
      return true;
    }
    if (extent->is_cut_off) {
      add_unread(at_);
      at_ = document_.size();
      return true;
    }
    ++taken_;
    out_.parts.push_back({extent->format, begin, extent->end, at_});
    const size_t first = at_;
    at_ = document_.line_at(extent->end - 1) + 1;
    floor_ = at_;
    cover(first, at_);
    const size_t line_end = at_ < document_.size() ? document_.offset(at_) : text.size();
    const std::string_view rest = trimmed(text.substr(extent->end, line_end - extent->end));
    if (!rest.empty() && std::string_view("{}[],").find(rest.front()) != std::string_view::npos) {
      add_unread(at_ - 1);
    }
    return true;
  }

  /// Notes JSON that may be an edit and that no reader takes here.
  void note_loose_json() {
    if (is_code_fence_ || is_message(document_[at_]) || !begins_json(document_[at_])) return;
    const size_t begin = document_.offset(at_) + document_[at_].find_first_of("{[");
    if (begin < loose_json_end_) return;  // each byte is read only once
    if (next_fence_ <= at_) {
      next_fence_ = at_ + 1;
      while (next_fence_ < document_.size() && !is_fence(document_[next_fence_])) ++next_fence_;
    }
    const std::string_view text = document_.text();
    const size_t end = next_fence_ < document_.size() ? document_.offset(next_fence_) : text.size();
    LooseJson json(text.substr(begin, end - begin));
    if (json.has_edit()) add_loose(at_);
    loose_json_end_ = begin + json.end();
  }

  /// Takes a tool call in a form that readers of edits skip.
  bool take_call() {
    if (is_code_fence_) return false;  // an example, not a call
    const size_t end_of_element = edit_element_end(document_, at_);
    if (end_of_element > at_ || begins_call(document_[at_])) {
      const size_t end = std::max(end_of_element, at_ + 1);
      add_call(end);
      at_ = end;
      return true;
    }
    const std::string_view text = document_.text();
    const size_t begin = document_.offset(at_) + document_[at_].find_first_not_of(" \t");
    if (begin < raw_json_end_) return false;  // each byte is read only once
    const auto extent = raw_call_at(text, std::min(begin, text.size()));
    if (!extent) return false;
    raw_json_end_ = extent->end;
    if (extent->format != EditFormat::kCalls) return false;
    const size_t end = document_.line_at(extent->end - 1) + 1;
    add_call(end);
    at_ = end;
    return true;
  }

  /// `end`: the line after the lines that are known to be of the call.
  void add_call(size_t end) {
    if (out_.calls.size() < kMaxUnread) {
      out_.calls.push_back({at_, std::string(trimmed(document_[at_]))});
    }
    cover(at_, end);
  }

  void add_to_unread(std::vector<UnreadLine>& lines) {
    const size_t free = kMaxUnread - out_.unread.size();
    lines.resize(std::min(lines.size(), free));
    std::move(lines.begin(), lines.end(), std::back_inserter(out_.unread));
  }

  Lines document_;
  bool may_think_;  // false: the tags are in strings of JSON
  std::vector<MessageText> messages_;
  size_t next_message_ = 0;
  Answer out_;
  std::vector<std::string_view> missing_tags_;  // closing tags that do not follow
  size_t at_ = 0;
  size_t floor_ = 0;    // the line after the last edit with an explicit end
  size_t covered_ = 0;  // the line after the last edit
  bool in_hunk_ = false;
  bool was_in_hunk_ = false;  // the line before this one
  bool in_header_ = false;
  bool in_binary_ = false;
  bool is_in_mail_ = false;           // below the last message
  std::vector<UnreadLine> indented_;  // patches in list items
  std::string_view margin_fence_;     // the signs of the open fence at the left margin
  bool in_fence_ = false;
  bool is_diff_fence_ = false;
  bool is_code_fence_ = false;     // labelled with a language other than that of calls
  size_t nested_from_ = 0;         // the line after the last fence that was read as a file
  std::vector<UnreadLine> loose_;  // JSON that may be edits, and normal diffs
  size_t next_fence_ = 0;          // the first fence at or after a line with such JSON
  size_t loose_json_end_ = 0;      // the end of the last JSON that was searched for edits
  size_t raw_json_end_ = 0;        // the end of the last JSON that was checked for a call
  size_t taken_ = 0;               // edits seen
  size_t taken_before_fence_ = 0;
  size_t calls_before_fence_ = 0;
  size_t after_fence_ = 0;        // the line after the last fence
  ShownFile open_;                // the open fence; without a name, it shows no file
  std::vector<ShownFile> shown_;  // closed fences that name files
  size_t first_change_ = 0;       // 1-based line in the fence that begins with + or -; 0: none
};

struct TagPair {
  std::string_view opening;
  std::string_view closing;
};
constexpr std::array<TagPair, 4> kTags = {{{"<think>", "</think>"},
                                           {"<thinking>", "</thinking>"},
                                           {"<reasoning>", "</reasoning>"},
                                           {"<scratchpad>", "</scratchpad>"}}};

}  // namespace

namespace {

/// Replaces the bytes by blanks and then line ends, as many as there were. So what follows the
/// thought in its last line begins a line.
void blank(std::string& text, size_t begin, size_t end) {
  const auto first = text.begin() + static_cast<ptrdiff_t>(begin);
  const auto last = text.begin() + static_cast<ptrdiff_t>(end);
  const auto line_ends = std::count(first, last, '\n');
  std::fill(first, last - line_ends, ' ');
  std::fill(last - line_ends, last, '\n');
}

/// Removes the asides that are in fences which show files: there, they are text of the files.
void remove_shown(std::string_view text, std::vector<std::pair<size_t, size_t>>& asides) {
  const Lines lines(text);
  const auto files = fenced_files(lines);
  std::erase_if(asides, [&](const auto& aside) {
    const size_t line = lines.line_at(aside.first);
    const auto next = std::ranges::upper_bound(files, line, {}, &FencedFile::fence);
    return next != files.begin() && line < std::prev(next)->end;
  });
}

/// Divides a text without asides.
Answer divide_plain(std::string_view text) {
  AnswerDivider divider(text);
  Answer out = divider.run();
  if (!out.parts.empty() || !out.unread.empty()) return out;
  const auto shown = fenced_files(Lines(text));
  if (shown.empty() || (shown.front().is_unclear && !out.calls.empty())) return out;
  for (const auto& [begin, end] : out.asides) {  // the reader would take a block in a message
    const Lines aside(text.substr(begin, end - begin));
    for (size_t at = 0; at < aside.size(); ++at) {
      if (!is_block_head(aside[at])) continue;
      out.unread.push_back({Lines(text).line_at(begin) + at, std::string(trimmed(aside[at]))});
      return out;
    }
  }
  out.parts.push_back({EditFormat::kSearchReplace, 0, text.size(), 0});
  out.unread = divider.indented();
  out.prose.clear();  // prose between shown files is not identified
  std::erase_if(out.calls, [&](const UnreadLine& call) {
    return std::any_of(shown.begin(), shown.end(), [&](const FencedFile& file) {
      return call.line > file.fence && call.line < file.end;
    });
  });
  return out;
}

}  // namespace

EditFormat Answer::format() const {
  if (parts.empty()) return EditFormat::kAuto;
  const EditFormat first = parts.front().format;
  const bool are_same = std::all_of(parts.begin(), parts.end(),
                                    [&](const AnswerPart& part) { return part.format == first; });
  return are_same ? first : EditFormat::kAuto;
}

std::optional<std::string> without_asides(std::string_view text) {
  constexpr int kMostPasses = 4;  // without a thought, another one may be outside of edits
  std::optional<std::string> out;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const std::string_view rest = out ? *out : text;
    const auto messages = find_messages(Lines(rest));
    const bool has_message =
        std::ranges::any_of(messages, [](const MessageText& one) { return one.body < one.end; });
    if (!has_message && !has_closing_tag(rest)) break;
    Answer answer = AnswerDivider(rest).run();
    if (answer.parts.empty() && answer.unread.empty()) remove_shown(rest, answer.asides);
    if (answer.asides.empty()) break;
    if (!out) out = std::string(text);
    for (const auto& [begin, end] : answer.asides) blank(*out, begin, end);
  }
  return out;
}

bool has_edits(std::string_view text) {
  if (!has_closing_tag(text) && AnswerDivider(text).finds_edits()) return true;
  const Answer answer = divide_answer(text);
  return !answer.parts.empty() || !answer.unread.empty();
}

Answer divide_answer(std::string_view text) {
  const auto plain = without_asides(text);
  Answer out = divide_plain(plain ? *plain : text);
  if (!plain) return out;
  // The blanks are prose: they were asides.
  Answer whole = AnswerDivider(text).run();
  out.asides = std::move(whole.asides);
  const Lines lines(text);
  for (const auto& [begin, end] : out.asides) {
    size_t last = lines.line_at(end - 1);
    while (trimmed(lines[last]).empty()) --last;
    out.prose.emplace_back(lines.line_at(begin), last + 1);
  }
  std::sort(out.prose.begin(), out.prose.end());
  return out;
}

std::optional<ThoughtTag> thought_at(std::string_view text, size_t at) {
  if (at >= text.size()) return std::nullopt;
  for (const TagPair& tag : kTags) {
    if (text.substr(at).starts_with(tag.opening)) {
      return ThoughtTag{tag.closing, at + tag.opening.size()};
    }
  }
  return std::nullopt;
}

size_t thought_end(std::string_view text, size_t at, std::vector<std::string_view>* missing) {
  for (auto tag = thought_at(text, at); tag; tag = thought_at(text, at)) {
    if (missing != nullptr &&
        std::find(missing->begin(), missing->end(), tag->closing) != missing->end()) {
      return std::string_view::npos;
    }
    const size_t close = text.find(tag->closing, tag->end);
    if (close == std::string_view::npos) {
      if (missing != nullptr) missing->push_back(tag->closing);
      return close;
    }
    at = close + tag->closing.size();
  }
  return at;
}

bool has_closing_tag(std::string_view text) {
  constexpr std::string_view kStart = "</";
  for (size_t at = text.find(kStart); at != text.npos; at = text.find(kStart, at + 1)) {
    if (closing_tag_length(text, at) > 0) return true;
  }
  return false;
}

size_t closing_tag_length(std::string_view text, size_t at) {
  for (const TagPair& tag : kTags) {
    if (text.substr(std::min(at, text.size())).starts_with(tag.closing)) return tag.closing.size();
  }
  return 0;
}

}  // namespace galley
