#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace galley {

/// Maximum length of a tag, and of the name of a call.
inline constexpr size_t kMaxTagBytes = 512;
inline constexpr std::string_view kMarkBegin = "<![CDATA[";
/// Tags of GLM's form of a call, and of `<function=NAME>`.
inline constexpr std::string_view kArgKey = "<arg_key>";
inline constexpr std::string_view kArgValue = "<arg_value>";
inline constexpr std::string_view kArgValueEnd = "</arg_value>";
inline constexpr std::string_view kToolCallEnd = "</tool_call>";
inline constexpr std::string_view kParameter = "<parameter=";
inline constexpr std::string_view kParameterEnd = "</parameter>";

/// A value without the newline after its opening tag.
[[nodiscard]] std::string_view without_layout(std::string_view text);
/// The text of CDATA sections that are joined because it has `]]>` in it.
[[nodiscard]] std::string unmarked(std::string_view text);
/// The blocks of a `<diff>`, without the elements that Roo writes into it.
[[nodiscard]] std::string diff_of(std::string_view text);

/// The lines of a file's content as models count them: with any line ends, and at least one.
[[nodiscard]] size_t lines_of_content(std::string_view content);

/// A tag in a text: `<name attribute="value">`. A prefix such as `ns:` is removed from its name.
struct CallTag {
  std::string_view name;
  std::string_view full_name;  ///< with its prefix
  std::string_view attribute;  ///< value of its attribute `name`
  bool is_closing = false;
  bool is_empty = false;  ///< `<name/>`
  bool has_attributes = false;
  size_t end = 0;  ///< offset after it
};

/// Reads tags and values from a text that is not XML: a value need not be well-formed.
///
/// Invariant: all searches together read at most kMaxReadings times the text. Beyond that,
///            has_given_up() is true and searches find nothing.
/// Ownership: borrows the text. Threads: confined to one thread.
class CallTextScanner {
 public:
  explicit CallTextScanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool has_given_up() const { return has_given_up_; }
  [[nodiscard]] size_t past_space(size_t at) const;
  /// The tag at `at`, which is `<`.
  [[nodiscard]] std::optional<CallTag> tag_at(size_t at) const;
  /// Returns the tag after white space, or nothing if other text follows.
  [[nodiscard]] std::optional<CallTag> next_tag(size_t at) const;
  /// Counts bytes of the text that another function read.
  void charge(size_t bytes);
  /// The next position of `what`; npos if there is none.
  size_t find(std::string_view what, size_t from);

  /// The tags that may follow a value.
  struct ValueEnd {
    std::string element;           ///< its closing tag ends the value
    std::string block;             ///< `tool_use` or `invoke`; its closing tag may follow
    std::string list;              ///< `parameters`; its closing tag may follow, too; or empty
    std::string block_end;         ///< the closing tag of the block as it is written
    std::set<std::string> others;  ///< elements that may follow
    bool takes_any = false;        ///< any element may follow, because the tool is not known
  };
  struct Value {
    std::string_view text;
    size_t end = 0;            ///< offset after its closing tag
    bool is_doubtful = false;  ///< it contains unbalanced tags of the same name
  };
  /// The value that begins at `from`. It ends with its CDATA section, or with the first of these
  /// closing tags that exists:
  /// 1. a tag that does not close an inner element, before an allowed tag
  /// 2. a tag that does not close an inner element, before an unknown element
  /// 3. any closing tag before an allowed tag, if the value does not extend beyond its block
  std::optional<Value> value(size_t from, const ValueEnd& end);

  /// The end of an element, if its closing tag ends a line.
  std::optional<size_t> end_of_block(const CallTag& open);
  /// Whether the first tag in an element has the name of a usual parameter. Neither has attributes.
  [[nodiscard]] bool begins_with_parameter(const CallTag& open) const;

  /// The end of a value in GLM's form: the first closing tag that closes no inner element, and that
  /// another argument or the end of the call follows.
  size_t end_of_pair(size_t from);

  /// The first closing tag that another parameter or the end of the function follows.
  size_t end_of_parameter(size_t from);

 private:
  bool may_follow(size_t at, const ValueEnd& end) const;
  std::optional<Value> marked_value(size_t from, const ValueEnd& end);

  std::string_view text_;
  size_t read_ = 0;
  bool has_given_up_ = false;
};

/// A call in JSON as providers send it, or a problem of the document.
struct JsonCall {
  bool is_call = true;
  std::string name;                            ///< of the tool, as it is written
  std::shared_ptr<const nlohmann::json> args;  ///< an object; null if there is a problem
  std::string call_id;
  std::string reason;  ///< `call_text.*`; empty: no problem
  std::string message;
};

/// The calls of a document, in order: `{"tool", "args"}`, `{"name", "arguments"}` (or `parameters`,
/// `input`), a `function`, `function_call` or `functionCall`, a message or a response with calls,
/// or a list of these. Empty if it has none. An item of a list with calls that is meant as a call,
/// but is not one, is a problem.
[[nodiscard]] std::vector<JsonCall> calls_of_json(const nlohmann::json& document);

/// Reads calls in Python's syntax, as Gemini writes them in a fence `tool_code`:
///
///     print(default_api.Edit(file_path="a.py", old_string="x", new_string='y'))
///
/// Each statement is one call, perhaps of `print`. All arguments have names, and are literals of
/// text, numbers, True, False, None, lists and dictionaries. Returns names of tools, without
/// `default_api.`, and their arguments.
/// Errors: kInvalid, reason `call_text.value`, for all other code.
Result<std::vector<std::pair<std::string, nlohmann::json>>> read_python_calls(
    std::string_view code);

}  // namespace galley
