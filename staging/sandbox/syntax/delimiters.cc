#include "staging/sandbox/syntax/delimiters.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace galley {
namespace {

using Kind = SyntaxError::Kind;

constexpr uint32_t kTabColumns = 8;
constexpr size_t kMaxUnclosed = 1'000;   // between two partners
constexpr size_t kMaxLinesBack = 2'000;  // searched for the line that lost its bracket

/// An open bracket whose partner was not found yet, and the indentation of its statement.
struct Opener {
  char bracket = 0;
  uint32_t offset = 0;
  uint32_t indent = 0;
};

class DelimiterScan {
 public:
  explicit DelimiterScan(std::string_view text) : text_(text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') lines_.push_back(i + 1);
    }
  }

  void take(const DelimiterToken& token) {
    switch (token.kind) {
      case DelimiterToken::Kind::kOpen:
        return open(token);
      case DelimiterToken::Kind::kClose:
        return close(token);
      case DelimiterToken::Kind::kIf:
        return choices_.push_back(stack_);
      case DelimiterToken::Kind::kElse:
        if (!choices_.empty()) stack_ = choices_.back();
        return;
      case DelimiterToken::Kind::kEndIf:
        if (!choices_.empty()) choices_.pop_back();
        return;
    }
  }

  std::vector<SyntaxError> finish() && {
    for (const Opener& opener : stack_) add_unclosed(opener);
    if (faults_.empty()) return {};
    const auto has = [this](Kind kind) {
      return std::any_of(faults_.begin(), faults_.end(),
                         [kind](const SyntaxError& fault) { return fault.kind == kind; });
    };
    const bool has_unclosed = has(Kind::kUnclosed);
    const bool has_unopened = has(Kind::kUnopened);
    for (const SyntaxError& hint : hints_) {
      if (hint.kind == Kind::kOutdented ? has_unclosed : has_unopened) faults_.push_back(hint);
    }
    return std::move(faults_);
  }

 private:
  [[nodiscard]] size_t line_begin(size_t offset) const {
    return *std::prev(std::upper_bound(lines_.begin(), lines_.end(), offset));
  }
  [[nodiscard]] uint32_t indent_of_line(size_t begin) const {
    uint32_t columns = 0;
    for (size_t i = begin; i < text_.size(); ++i) {
      if (text_[i] == ' ') {
        ++columns;
      } else if (text_[i] == '\t') {
        columns += kTabColumns - columns % kTabColumns;
      } else {
        break;
      }
    }
    return columns;
  }
  [[nodiscard]] bool begins_line(size_t offset) const {
    const std::string_view head = text_.substr(line_begin(offset), offset - line_begin(offset));
    return head.find_first_not_of(" \t") == std::string_view::npos;
  }

  void open(const DelimiterToken& token) {
    const size_t begin = line_begin(token.offset);
    uint32_t indent = indent_of_line(begin);
    // A bracket that opened on an earlier line and closed on this one shows where the statement
    // began.
    if (last_closed_at_ >= begin && last_closed_at_ < token.offset) {
      indent = std::min(indent, last_closed_indent_);
    }
    stack_.push_back({token.bracket, token.offset, indent});
  }

  /// Returns the number of open brackets down to the partner of a closing bracket; 0 if the partner
  /// does not exist.
  [[nodiscard]] size_t partner_of(char bracket) const {
    const size_t last = stack_.size() - std::min(stack_.size(), kMaxUnclosed);
    for (size_t match = stack_.size(); match > last; --match) {
      if (stack_[match - 1].bracket == bracket) return match;
      if (stack_[match - 1].bracket == '{') return 0;  // only a brace closes a block
    }
    return 0;
  }

  void close(const DelimiterToken& token) {
    const size_t match = partner_of(token.bracket);
    if (match == 0) return add_unopened(token);
    while (stack_.size() > match) {
      add_unclosed(stack_.back());
      stack_.pop_back();
    }
    const Opener opener = stack_.back();
    stack_.pop_back();
    last_closed_at_ = token.offset;
    last_closed_indent_ = opener.indent;
    compare_indents(opener, token);
  }

  void add_unopened(const DelimiterToken& token) {
    if (faults_.size() >= kMaxSyntaxErrors) return;
    faults_.push_back({Kind::kUnopened, token.offset, token.offset + 1, token.offset, {}});
    if (begins_line(token.offset)) {
      add_indented(token, 0, indent_of_line(line_begin(token.offset)));
    }
    if (!stack_.empty()) add_outdented(stack_.back(), token.offset);
  }

  /// Reports the open bracket, or the place where it should have been closed if it begins a block.
  void add_outdented(const Opener& opener, uint32_t closer) {
    const size_t next = text_.find_first_not_of(" \t\r", opener.offset + 1);
    const bool begins_block = next == std::string_view::npos || text_[next] == '\n';
    const uint32_t place = begins_block ? closer : opener.offset;
    hints_.push_back({Kind::kOutdented, place, place + 1, opener.offset, {}});
  }

  void add_unclosed(const Opener& opener) {
    if (faults_.size() >= kMaxSyntaxErrors) return;
    faults_.push_back({Kind::kUnclosed, opener.offset, opener.offset + 1, opener.offset, {}});
  }

  void compare_indents(const Opener& opener, const DelimiterToken& closer) {
    if (line_begin(opener.offset) == line_begin(closer.offset) || !begins_line(closer.offset) ||
        hints_.size() >= kMaxSyntaxErrors) {
      return;
    }
    const uint32_t indent = indent_of_line(line_begin(closer.offset));
    if (indent < opener.indent) {
      add_outdented(opener, closer.offset);
    } else if (indent > opener.indent) {
      add_indented(closer, opener.offset, indent);
    }
  }

  /// Finds the last line before the closer with the indentation of the missing opener.
  void add_indented(const DelimiterToken& closer, uint32_t first_offset, uint32_t indent) {
    size_t begin = line_begin(closer.offset);
    for (size_t i = 0; i < kMaxLinesBack && begin > first_offset; ++i) {
      begin = line_begin(begin - 1);
      const size_t first = text_.find_first_not_of(" \t", begin);
      const bool is_blank = first == std::string_view::npos || text_[first] == '\n' ||
                            text_[first] == '\r' || text_[first] == '#';
      if (is_blank || indent_of_line(begin) > indent) continue;
      const size_t end = std::min(text_.find('\n', first), text_.size());
      hints_.push_back({Kind::kIndented,
                        static_cast<uint32_t>(first),
                        static_cast<uint32_t>(end),
                        closer.offset,
                        {}});
      return;
    }
  }

  std::string_view text_;
  std::vector<size_t> lines_ = {0};  // the beginning of each line
  std::vector<Opener> stack_;
  std::vector<std::vector<Opener>> choices_;
  std::vector<SyntaxError> faults_;
  std::vector<SyntaxError> hints_;
  size_t last_closed_at_ = 0;
  uint32_t last_closed_indent_ = 0;
};

}  // namespace

std::vector<SyntaxError> delimiter_errors(std::string_view text,
                                          const std::vector<DelimiterToken>& tokens) {
  DelimiterScan scan(text);
  for (const DelimiterToken& token : tokens) scan.take(token);
  return std::move(scan).finish();
}

}  // namespace galley
