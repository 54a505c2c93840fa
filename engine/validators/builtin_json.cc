#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <set>

#include "engine/validators/builtin.h"
#include "engine/validators/file_validator.h"

namespace galley {
namespace {

constexpr size_t kMaxDepth = 1000;
constexpr size_t kMaxDuplicates = 20;

/// Walks a JSON text without building it: depth, duplicate keys and the place of an error.
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

class JsonValidator final : public FileValidator {
 public:
  JsonValidator(const ValidatorConfig& config, ValidatorCache* cache)
      : FileValidator(config, cache,
                      {.default_paths = {"*.json"},
                       .skips_binaries = false,
                       .max_bytes = uint64_t{32} << 20U}) {}

 protected:
  [[nodiscard]] Result<void> check(const CheckedFile& file, FindingSink& sink) const override {
    JsonWalk walk;
    const bool is_valid = nlohmann::json::sax_parse(file.text.begin(), file.text.end(), &walk,
                                                    nlohmann::json::input_format_t::json, true,
                                                    config().allow_comments);
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
                fmt::format("key \"{}\" stands twice in one object; readers take the last", key),
                "keep one of them");
    }
    return {};
  }
};

}  // namespace

ValidatorPtr make_json_validator(const ValidatorConfig& config, ValidatorCache* cache) {
  return std::make_unique<JsonValidator>(config, cache);
}

}  // namespace galley
