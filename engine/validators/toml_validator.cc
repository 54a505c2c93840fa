#include <toml++/toml.h>

#include "engine/validators/builtin_validators.h"
#include "engine/validators/file_validator.h"

namespace galley {
namespace {

class TomlValidator final : public FileValidator {
 public:
  TomlValidator(const ValidatorConfig& config, ValidatorCache* cache)
      : FileValidator(config, cache,
                      {.default_paths = {"*.toml"},
                       .skips_binaries = false,
                       .max_bytes = uint64_t{16} << 20U}) {}

 protected:
  [[nodiscard]] Result<void> check(const CheckedFile& file, FindingSink& sink) const override {
    try {
      const toml::table document = toml::parse(file.text);
      static_cast<void>(document);
    } catch (const toml::parse_error& error) {
      const auto& at = error.source().begin;
      sink.add("toml.syntax", at.line, at.column, std::string(error.description()),
               "make it valid TOML 1.0");
    }
    return {};
  }
};

}  // namespace

ValidatorPtr make_toml_validator(const ValidatorConfig& config, ValidatorCache* cache) {
  return std::make_unique<TomlValidator>(config, cache);
}

}  // namespace galley
