#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "engine/policy/toml_document.h"
#include "engine/validators/builtin.h"
#include "engine/validators/file_validator.h"

namespace galley {

namespace {

constexpr size_t kMaxDepth = 1000;
constexpr size_t kMaxDuplicates = 20;

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
    if (!keys_.back().insert(name).second && duplicates_.size() < kMaxDuplicates) {
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

Result<void> check_json(const ValidatorConfig& config, const CheckedFile& file, FindingSink& sink) {
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

Result<void> check_toml(const ValidatorConfig& /*config*/, const CheckedFile& file,
                        FindingSink& sink) {
  if (const auto problem = find_toml_problem(file.text)) {
    sink.add("toml.syntax", problem->line, problem->column, problem->text,
             "make it valid TOML 1.0");
  }
  return {};
}

Result<void> check_xml(const ValidatorConfig& /*config*/, const CheckedFile& file,
                       FindingSink& sink) {
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
  /// At a stray `}` or `]` yaml-cpp 0.7 begins documents endlessly, without advancing.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos == last_start_) {
      throw YAML::ParserException(mark, "stray closing bracket or brace");
    }
    last_start_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  int last_start_ = -1;
};

Result<void> check_yaml(const ValidatorConfig& /*config*/, const CheckedFile& file,
                        FindingSink& sink) {
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
    YamlWalk walk;
    while (parser.HandleNextDocument(walk)) {
    }
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
      {"json", check_json, {{"*.json"}, false, uint64_t{32} << 20U}},
      {"toml", check_toml, {{"*.toml"}, false, uint64_t{4} << 20U}},
      {"xml",
       check_xml,
       {{"*.xml", "*.svg", "*.xsd", "*.xsl", "*.xslt", "*.plist"}, false, uint64_t{16} << 20U}},
      {"yaml", check_yaml, {{"*.yaml", "*.yml"}, false, uint64_t{16} << 20U}},
  };
  return kRules;
}

}  // namespace galley
