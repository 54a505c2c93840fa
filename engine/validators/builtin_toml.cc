#include "engine/policy/toml_document.h"
#include "engine/validators/builtin.h"
#include "engine/validators/file_validator.h"

namespace galley {
namespace {

class TomlValidator final : public FileValidator {
 public:
  TomlValidator(const ValidatorConfig& config, ValidatorCache* cache)
      : FileValidator(config, cache,
                      {.default_paths = {"*.toml"},
                       .skips_binaries = false,
                       .max_bytes = uint64_t{4} << 20U}) {}

 protected:
  [[nodiscard]] Result<void> check(const CheckedFile& file, FindingSink& sink) const override {
    if (const auto problem = find_toml_problem(file.text)) {
      sink.add("toml.syntax", problem->line, problem->column, problem->text,
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
