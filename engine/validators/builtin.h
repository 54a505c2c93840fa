#pragma once

#include <memory>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/validator.h"
#include "engine/validators/validator_cache.h"

namespace galley {

/// Factories of the built-in validators, one for each value of `builtin = "…"`. docs/validators.md
/// describes what each one checks. `cache` may be null.
using ValidatorPtr = std::unique_ptr<Validator>;

// Syntax of whole files.
[[nodiscard]] ValidatorPtr make_json_validator(const ValidatorConfig&, ValidatorCache* cache);
[[nodiscard]] ValidatorPtr make_toml_validator(const ValidatorConfig&, ValidatorCache* cache);
[[nodiscard]] ValidatorPtr make_yaml_validator(const ValidatorConfig&, ValidatorCache* cache);
[[nodiscard]] ValidatorPtr make_xml_validator(const ValidatorConfig&, ValidatorCache* cache);
/// For programming languages, through the program galley-syntax.
[[nodiscard]] ValidatorPtr make_syntax_validator(const ValidatorConfig&, ValidatorCache* cache);

// Text: only lines that the change added.
[[nodiscard]] ValidatorPtr make_conflict_markers_validator(const ValidatorConfig&,
                                                           ValidatorCache* cache);
[[nodiscard]] ValidatorPtr make_whitespace_validator(const ValidatorConfig&, ValidatorCache* cache);
[[nodiscard]] ValidatorPtr make_utf8_validator(const ValidatorConfig&, ValidatorCache* cache);
[[nodiscard]] ValidatorPtr make_line_endings_validator(const ValidatorConfig&,
                                                       ValidatorCache* cache);
[[nodiscard]] ValidatorPtr make_last_newline_validator(const ValidatorConfig&,
                                                       ValidatorCache* cache);
[[nodiscard]] ValidatorPtr make_size_validator(const ValidatorConfig&, ValidatorCache* cache);
[[nodiscard]] ValidatorPtr make_shebang_validator(const ValidatorConfig&, ValidatorCache* cache);
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
