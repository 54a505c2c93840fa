#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/validator.h"
#include "engine/validators/file_validator.h"
#include "engine/validators/validator_cache.h"

namespace galley {

using ValidatorPtr = std::unique_ptr<Validator>;

/// A built-in validator that judges each changed file alone (docs/validators.md). `name` is a value
/// of `builtin = "…"`; builtin_validator_names() lists all of them.
struct FileRule {
  std::string_view name;
  /// Called on several threads at once, for several files.
  Result<void> (*check)(const ValidatorConfig&, const CheckedFile&, FindingSink&);
  FileValidator::Options options = {.default_paths = {"*"}};
};

/// Returns the validators of the syntax of whole files.
[[nodiscard]] std::span<const FileRule> document_rules();
/// Returns the validators of the lines that the change added.
[[nodiscard]] std::span<const FileRule> text_rules();

// Validators that need more than the checked file. `cache` may be null.

/// Makes a validator of the syntax of programming languages. It runs the program galley-syntax.
[[nodiscard]] ValidatorPtr make_syntax_validator(const ValidatorConfig&, ValidatorCache* cache);
/// Makes a validator of forbidden patterns.
/// Errors: kInvalid `config.value` for a pattern that does not compile.
[[nodiscard]] Result<ValidatorPtr> make_forbidden_text_validator(const ValidatorConfig&,
                                                                 ValidatorCache* cache);
/// Makes a validator that finds secrets. It reads `rules_file` from the present workspace, not from
/// the proposed tree, so a change cannot weaken the rules that judge it.
[[nodiscard]] Result<ValidatorPtr> make_secrets_validator(const ValidatorConfig&,
                                                          const Directory& workspace,
                                                          ValidatorCache* cache);

// Validators of the tree around a change. Their results are never cached.
[[nodiscard]] ValidatorPtr make_symlinks_validator(const ValidatorConfig&);
[[nodiscard]] ValidatorPtr make_case_collisions_validator(const ValidatorConfig&);

}  // namespace galley
