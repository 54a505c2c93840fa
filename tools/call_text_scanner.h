#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace galley {

/// A tag in a text: `<name attribute="value">`, with any prefix such as `ns:` taken off its name.
struct CallTag {
  std::string_view name;
  std::string_view full_name;  ///< with its prefix
  std::string_view attribute;  ///< value of its attribute `name`
  bool is_closing = false;
  bool is_empty = false;  ///< `<name/>`
  size_t end = 0;         ///< behind it
};

/// Reads tags and values out of a text that is no XML: what is in a value need not be well-formed.
///
/// Invariant: what all searches read together is bounded by kMaxReadings times the text; beyond it
///            has_given_up() is true and nothing is found any more.
/// Ownership: borrows the text. Threads: confined to one thread.
class CallTextScanner {
 public:
  explicit CallTextScanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool has_given_up() const { return has_given_up_; }
  [[nodiscard]] size_t past_space(size_t at) const;
  /// The tag at `at`, which is `<`.
  [[nodiscard]] std::optional<CallTag> tag_at(size_t at) const;
  /// The tag behind white space; nothing when something else stands there.
  [[nodiscard]] std::optional<CallTag> next_tag(size_t at) const;
  /// Counts bytes that somebody else read of the text.
  void charge(size_t bytes);
  /// Where `what` stands next; npos when nowhere.
  size_t find(std::string_view what, size_t from);

  /// What a value may be followed by.
  struct ValueEnd {
    std::string element;           ///< whose closing tag ends it
    std::string block;             ///< `tool_use` or `invoke`: whose end may follow
    std::string list;              ///< `parameters`, whose end may follow, too; or empty
    std::string block_end;         ///< the closing tag of the block as it is written
    std::set<std::string> others;  ///< elements that may follow
    bool takes_any = false;        ///< any element may follow: the tool is not known
  };
  struct Value {
    std::string_view text;
    size_t end = 0;            ///< behind its closing tag
    bool is_doubtful = false;  ///< markup of the same name in it is not balanced
  };
  /// The value that begins at `from`. The closing tag that ends it is the first one that closes no
  /// element inside and has behind it what may follow; else the first one that has.
  std::optional<Value> value(size_t from, const ValueEnd& end);

 private:
  static constexpr size_t kMaxReadings = 64;

  bool may_follow(size_t at, const ValueEnd& end) const;
  std::optional<Value> marked_value(size_t from, const ValueEnd& end);

  std::string_view text_;
  size_t read_ = 0;
  bool has_given_up_ = false;
};

}  // namespace galley
