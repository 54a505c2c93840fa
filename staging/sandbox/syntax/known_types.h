#pragma once

#include <string>
#include <string_view>

namespace galley {

/// Rewrites TypeScript that grammar 0.23 does not know as TypeScript that it knows, with all places
/// unchanged: `import("x")` as a name, `export type *` without `type`, `keyof readonly` without
/// `readonly`, `global {` without `global`.
[[nodiscard]] std::string with_known_types(std::string_view text);

}  // namespace galley
