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

/// A built-in validator that judges each changed file by itself. `name` is a value of
/// `builtin = "…"` (builtin_validator_names() in engine/policy lists all of them).
/// docs/validators.md describes what each one checks.
struct FileRule {
  std::string_view name;
  /// Called on several threads at once, for several files.
  Result<void> (*check)(const ValidatorConfig&, const CheckedFile&, FindingSink&);
  FileValidator::Options options = {.default_paths = {"*"}};
};

/// Syntax of whole files.
[[nodiscard]] std::span<const FileRule> document_rules();
/// Only lines that the change added.
[[nodiscard]] std::span<const FileRule> text_rules();

// Validators that need more than the checked file. `cache` may be null.

/// Syntax of programming languages, through the program galley-syntax.
[[nodiscard]] ValidatorPtr make_syntax_validator(const ValidatorConfig&, ValidatorCache* cache);
/// Errors: kInvalid `config.value` for a pattern that does not compile.
[[nodiscard]] Result<ValidatorPtr> make_forbidden_text_validator(const ValidatorConfig&,
                                                                 ValidatorCache* cache);
/// Reads `rules_file` from the present workspace, not from the proposed tree, so a change cannot
/// loosen the rules that judge it.
[[nodiscard]] Result<ValidatorPtr> make_secrets_validator(const ValidatorConfig&,
                                                          const Directory& workspace,
                                                          ValidatorCache* cache);

// The tree around a change; never cached.
[[nodiscard]] ValidatorPtr make_symlinks_validator(const ValidatorConfig&);
[[nodiscard]] ValidatorPtr make_case_collisions_validator(const ValidatorConfig&);

}  // namespace galley
