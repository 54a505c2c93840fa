#pragma once

#include <string>
#include <string_view>

namespace galley {

/// Returns a TypeScript text in which what the grammar 0.23 does not know is written as what it
/// knows, at the same places: `import("x")` as a name, `export type *` without `type`,
/// `keyof readonly` without `readonly`, `global {` without `global`.
[[nodiscard]] std::string with_known_types(std::string_view text);

}  // namespace galley
