#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/result.h"
#include "tools/operation.h"
#include "tools/tool.h"

namespace galley {

// The language of the rows of tools/catalogue: four forms, and no fifth (docs/adr/0095). A tool
// that needs more names a function of C++.

/// The operations of a row's `do`: a list of `{"verb": {"member": value}}`. A value is a literal;
/// `"$name"`, an argument, without which the member stays as the verb has it; a list of such, the
/// first that is given; `{"not": value}`.
/// Errors: kInvalid `path.invalid`; kRefused `path.outside`.
[[nodiscard]] Result<std::vector<Operation>> operations_of(const nlohmann::json& steps,
                                                           const nlohmann::json& args,
                                                           const PathOrigin& origin);

/// The answer of a row: a literal; `"$0"`, what the first operation answered, or `"$0.member"` of
/// it; an object of such, in which what is not there is left out.
[[nodiscard]] nlohmann::ordered_json answer_of(const nlohmann::ordered_json& form,
                                               const std::vector<JsonDocument>& results);

}  // namespace galley
