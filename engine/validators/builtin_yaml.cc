#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "engine/validators/builtin.h"
#include "engine/validators/file_validator.h"

namespace galley {
namespace {

/// Flow indicators in one file. yaml-cpp holds every token of an outermost flow collection at once,
/// some 250 bytes each, before it reports the first: the next limit after that on bytes.
constexpr int64_t kMaxFlowIndicators = 200'000;

/// Takes events and keeps nothing: no graph is built, so aliases cannot blow up.
class YamlWalk final : public YAML::EventHandler {
 public:
  /// yaml-cpp 0.7 begins a document at a stray `}` or `]` again and again, and never gets past it.
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

class YamlValidator final : public FileValidator {
 public:
  YamlValidator(const ValidatorConfig& config, ValidatorCache* cache)
      : FileValidator(config, cache,
                      {.default_paths = {"*.yaml", "*.yml"},
                       .skips_binaries = false,
                       .max_bytes = uint64_t{16} << 20U}) {}

 protected:
  [[nodiscard]] Result<void> check(const CheckedFile& file, FindingSink& sink) const override {
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
};

}  // namespace

ValidatorPtr make_yaml_validator(const ValidatorConfig& config, ValidatorCache* cache) {
  return std::make_unique<YamlValidator>(config, cache);
}

}  // namespace galley
