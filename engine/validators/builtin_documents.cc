#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "base/limits.h"
#include "base/text.h"
#include "engine/policy/toml_document.h"
#include "engine/validators/builtin.h"
#include "engine/validators/file_validator.h"
#include "staging/text/lines.h"

namespace galley {

namespace {

constexpr size_t kMaxDepth = 1000;

/// Parses a JSON text without building it: finds depth, duplicate keys and the place of an error.
class JsonWalk final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override {
    keys_.emplace_back();
    return is_shallow();
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override {
    keys_.emplace_back();
    return is_shallow();
  }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second && duplicates_.size() <= limits::kMaxFindings) {
      duplicates_.push_back(name);
    }
    return true;
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error …"
    message_ = error.what();
    const size_t colon = message_.find(": ");
    if (colon != message_.npos) message_.erase(0, colon + 2);
    constexpr int kOutOfRange = 406;
    if (error.id == kOutOfRange) message_ = "the number is beyond the range that readers have";
    position_ = position;
    return false;
  }

  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] size_t position() const { return position_; }
  [[nodiscard]] bool is_too_deep() const { return is_too_deep_; }
  [[nodiscard]] const std::vector<std::string>& duplicates() const { return duplicates_; }

 private:
  bool is_shallow() {
    is_too_deep_ = keys_.size() > kMaxDepth;
    return !is_too_deep_;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;
  std::vector<std::string> duplicates_;
  std::string message_;
  size_t position_ = 0;
  bool is_too_deep_ = false;
};

/// Whether the file had this text before and was judged by this validator under its former name:
/// then its faults are not those of the change.
bool is_of_before(const ValidatorConfig& config, const CheckedFile& file) {
  // `only_new` judges files that do not change at all, to know their faults.
  const bool is_changed = file.change.before != file.change.after;
  if (!is_changed || !file.existed || file.text != file.before) return false;
  const auto& from = file.change.renamed_from;
  if (!from) return true;
  const auto ending = [](const RelPath& path) {
    return path.str().substr(std::min(path.str().rfind('.'), path.str().size()));
  };
  const bool was_judged =
      config.has_paths ? config.paths.selects(*from) : ending(*from) == ending(file.change.path);
  return was_judged && file.change.before.kind == FileKind::kAbsent;
}

Result<void> check_json(const ValidatorConfig& config, const CheckedFile& file, FindingSink& sink) {
  if (is_of_before(config, file)) return {};
  JsonWalk walk;
  const bool is_valid =
      nlohmann::json::sax_parse(file.text.begin(), file.text.end(), &walk,
                                nlohmann::json::input_format_t::json, true, config.allow_comments);
  if (walk.is_too_deep()) {
    sink.add("json.depth", 0, 0, fmt::format("nested deeper than {} levels", kMaxDepth),
             "flatten the document");
  } else if (!is_valid) {
    const size_t offset = walk.position() == 0 ? 0 : walk.position() - 1;
    const auto [line, column] = FindingSink::place(file.text, offset);
    sink.add("json.syntax", line, column, walk.message(),
             "make it valid JSON (or set allow_comments for JSON with comments)");
  }
  for (const auto& key : walk.duplicates()) {
    sink.warn("json.duplicate_key", 0, 0,
              fmt::format("key \"{}\" occurs twice in one object; readers use the last one", key),
              "keep one of them");
  }
  return {};
}

Result<void> check_toml(const ValidatorConfig& config, const CheckedFile& file, FindingSink& sink) {
  if (is_of_before(config, file)) return {};
  if (const auto problem = find_toml_problem(file.text)) {
    sink.add("toml.syntax", problem->line, problem->column, problem->text,
             "make it valid TOML 1.0");
  }
  return {};
}

/// Finds what makes a document not well-formed and pugixml accepts (XML 1.0, sections 2.1, 2.4,
/// 2.5, 3.1 and 4.1). The text is one that pugixml could parse.
class XmlForm {
 public:
  explicit XmlForm(std::string_view text) : text_(text) {}

  struct Problem {
    size_t at;
    const char* what;
  };
  std::optional<Problem> find() {
    while (at_ < text_.size() && !problem_) step();
    return problem_;
  }

 private:
  void step() {
    if (text_[at_] != '<') return characters();
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("<!--")) {
      const size_t dashes = text_.find("--", at_ + 4);
      if (dashes != text_.npos && text_.substr(dashes).substr(0, 3) != "-->") {
        return fail_at(dashes, "a comment has `--`");
      }
      skip_behind("-->");
    } else if (rest.starts_with("<![CDATA[")) {
      skip_behind("]]>");
    } else if (rest.starts_with("<?")) {
      skip_behind("?>");
    } else if (rest.starts_with("<!")) {
      has_dtd_ = true;
      skip_declaration();
    } else {
      tag();
    }
  }

  void characters() {
    const size_t end = std::min(text_.find('<', at_), text_.size());
    for (; at_ < end && !problem_; ++at_) {
      const char c = text_[at_];
      const bool is_mark = at_ < 3 && text_.starts_with("\xef\xbb\xbf");
      if (depth_ == 0 && !is_mark &&
          std::string_view(" \t\r\n").find(c) == std::string_view::npos) {
        return fail_at(at_, "text outside of the root element");
      }
      if (c == '&') check_reference(at_);
    }
  }

  void tag() {
    const bool is_end = text_.substr(at_).starts_with("</");
    std::set<std::string_view> names;
    bool is_in_element_name = true;
    for (++at_; at_ < text_.size() && text_[at_] != '>' && !problem_;) {
      const size_t name_end = text_.find_first_of(" \t\r\n=>\"'", at_);
      const std::string_view name = text_.substr(at_, name_end - at_);
      if (!is_in_element_name && !name.empty() && name != "/" && !names.insert(name).second) {
        return fail_at(at_, "an attribute occurs twice");
      }
      is_in_element_name = false;
      at_ = std::min(name_end, text_.size());
      while (at_ < text_.size() &&
             std::string_view(" \t\r\n=").find(text_[at_]) != std::string_view::npos)
        ++at_;
      if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) value();
    }
    if (problem_ || at_ >= text_.size()) return;
    const bool is_empty = text_[at_ - 1] == '/';
    if (is_end) {
      depth_ -= 1;
    } else if (!is_empty) {
      depth_ += 1;
    }
    ++at_;
  }

  void value() {
    const size_t end = std::min(text_.find(text_[at_], at_ + 1), text_.size());
    for (++at_; at_ < end; ++at_) {
      if (text_[at_] == '<') return fail_at(at_, "an attribute has a `<`");
      if (text_[at_] == '&') check_reference(at_);
    }
    at_ = end + 1;
  }

  void check_reference(size_t at) {
    const size_t end = text_.find(';', at);
    const std::string_view name =
        end == text_.npos ? std::string_view() : text_.substr(at + 1, end - at - 1);
    constexpr std::array<std::string_view, 5> kNames = {"amp", "lt", "gt", "apos", "quot"};
    const bool is_number =
        name.starts_with("#x")
            ? name.size() > 2 && name.find_first_not_of(kHexDigits, 2) == name.npos
            : name.starts_with('#') && name.size() > 1 &&
                  name.find_first_not_of("0123456789", 1) == name.npos;
    const bool is_name = has_dtd_ ? !name.empty() && name.find_first_of(" \t\r\n<&") == name.npos
                                  : std::find(kNames.begin(), kNames.end(), name) != kNames.end();
    if (!is_number && !is_name) fail_at(at, "`&` does not begin a reference; write `&amp;`");
  }

  void skip_behind(std::string_view end) {
    const size_t found = text_.find(end, at_);
    at_ = found == text_.npos ? text_.size() : found + end.size();
  }

  /// `<!DOCTYPE …>`, whose internal subset has declarations of its own.
  void skip_declaration() {
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') at_ = std::min(text_.find(c, at_ + 1), text_.size() - 1);
      if (text_.substr(at_).starts_with("<!--")) {
        skip_behind("-->");
        --at_;
        continue;
      }
      depth += c == '<' ? 1 : c == '>' ? -1 : 0;
      if (c == '>' && depth == 0) break;
    }
    ++at_;
  }

  void fail_at(size_t at, const char* what) { problem_ = Problem{at, what}; }

  static constexpr const char* kHexDigits = "0123456789abcdefABCDEF";

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  bool has_dtd_ = false;
  std::optional<Problem> problem_;
};

Result<void> check_xml(const ValidatorConfig& config, const CheckedFile& file, FindingSink& sink) {
  if (is_of_before(config, file)) return {};
  constexpr std::string_view kRemedy = "make it well-formed XML";
  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(file.text.data(), file.text.size(), pugi::parse_full);
  if (!result) {
    const auto offset = static_cast<size_t>(std::max<ptrdiff_t>(0, result.offset));
    const auto [line, column] = FindingSink::place(file.text, offset);
    sink.add("xml.syntax", line, column, result.description(), std::string(kRemedy));
    return {};
  }
  const auto roots = std::count_if(document.begin(), document.end(), [](const auto& node) {
    return node.type() == pugi::node_element;
  });
  if (roots != 1) {
    sink.add("xml.syntax", 0, 0,
             "a document has exactly one root element, this one has " + std::to_string(roots),
             std::string(kRemedy));
    return {};
  }
  const bool is_utf16 = file.text.starts_with("\xff\xfe") || file.text.starts_with("\xfe\xff");
  const auto problem = is_utf16 ? std::nullopt : XmlForm(file.text).find();
  if (problem) {
    const auto [line, column] = FindingSink::place(file.text, problem->at);
    sink.add("xml.syntax", line, column, problem->what, std::string(kRemedy));
  }
  return {};
}

/// The limit of flow indicators in one file. yaml-cpp keeps every token of an outermost flow
/// collection, about 250 bytes each, before it reports the first one, so a limit on bytes alone is
/// not enough.
constexpr int64_t kMaxFlowIndicators = 200'000;

/// Receives events and keeps nothing: no graph is built, so aliases cannot exhaust memory.
class YamlWalk final : public YAML::EventHandler {
 public:
  /// `text` is empty if it is not UTF-8; then only yaml-cpp judges.
  explicit YamlWalk(std::string_view text) : lines_(text) {}

  /// At a stray `}` or `]` yaml-cpp 0.7 begins documents endlessly, without advancing.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos == last_start_) {
      throw YAML::ParserException(mark, "stray closing bracket or brace");
    }
    // yaml-cpp also begins a document at content that does not fit the value before it.
    if (last_start_ >= 0 && !lines_.empty() && !has_marker(last_.line + 1, mark.line)) {
      throw YAML::ParserException(mark, "content after the end of the document");
    }
    last_start_ = mark.pos;
    last_ = mark;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}  // the mark is that of what follows
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { note(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    note(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnMapEnd() override {}

  /// At the end: the last scalar must not be a quoted one without its closing quote, which yaml-cpp
  /// does not notice.
  void check_end() const {
    const auto line = static_cast<size_t>(std::max(0, last_.line));
    if (last_start_ < 0 || line >= lines_.size()) return;
    const size_t at = static_cast<size_t>(std::max(0, last_.column));  // in bytes
    const std::string_view text = lines_.span(line, lines_.size());
    const std::string_view rest = text.substr(std::min(at, text.size()));
    if (!rest.starts_with('"') && !rest.starts_with('\'')) return;
    for (size_t i = 1; i < rest.size(); ++i) {
      if (rest[i] == '\\' && rest[0] == '"') {
        ++i;
      } else if (rest[i] == rest[0]) {
        return;
      }
    }
    throw YAML::ParserException(last_, "the quote is not closed");
  }

 private:
  void note(const YAML::Mark& mark) {
    if (!mark.is_null()) last_ = mark;
  }
  /// Whether a line of these separates documents.
  [[nodiscard]] bool has_marker(int first, int last) const {
    for (int line = first; line <= last && static_cast<size_t>(line) < lines_.size(); ++line) {
      const std::string_view text = lines_[static_cast<size_t>(line)];
      if (text.starts_with("---") || text.starts_with("...")) return true;
    }
    return false;
  }

  Lines lines_;
  YAML::Mark last_;
  int last_start_ = -1;
};

Result<void> check_yaml(const ValidatorConfig& config, const CheckedFile& file, FindingSink& sink) {
  if (is_of_before(config, file)) return {};
  const auto indicators = std::count_if(file.text.begin(), file.text.end(), [](char byte) {
    return byte == '[' || byte == ']' || byte == '{' || byte == '}' || byte == ',';
  });
  if (indicators > kMaxFlowIndicators) {
    sink.add("validator.too_large", 0, 0,
             "too large to be checked: more than " + std::to_string(kMaxFlowIndicators) +
                 " brackets, braces and commas",
             "leave the file out of this validator's `paths`");
    return {};
  }
  try {
    std::istringstream stream{std::string(file.text)};
    YAML::Parser parser(stream);
    YamlWalk walk(is_utf8(file.text) ? file.text : std::string_view());
    while (parser.HandleNextDocument(walk)) {
    }
    walk.check_end();
  } catch (const YAML::Exception& error) {
    const bool has_place = !error.mark.is_null();
    sink.add("yaml.syntax", has_place ? static_cast<uint32_t>(error.mark.line + 1) : 0,
             has_place ? static_cast<uint32_t>(error.mark.column + 1) : 0, error.msg,
             "make it valid YAML");
  }
  return {};
}

}  // namespace

std::span<const FileRule> document_rules() {
  static const FileRule kRules[] = {
      {"json", check_json, {{"*.json"}, false, uint64_t{32} << 20U, 2}},
      {"toml", check_toml, {{"*.toml"}, false, uint64_t{4} << 20U, 2}},
      {"xml",
       check_xml,
       {{"*.xml", "*.svg", "*.xsd", "*.xsl", "*.xslt", "*.plist"}, false, uint64_t{16} << 20U, 2}},
      {"yaml", check_yaml, {{"*.yaml", "*.yml"}, false, uint64_t{16} << 20U, 2}},
  };
  return kRules;
}

}  // namespace galley
