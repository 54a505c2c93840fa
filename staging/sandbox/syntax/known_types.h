#pragma once

#include <string>
#include <string_view>

namespace galley {

/// Replaces TypeScript syntax that grammar 0.23 does not know with syntax that it knows. All
/// offsets stay the same. `import("x")` becomes a name. `export type *`, `keyof readonly` and
/// `global {` lose the words `type`, `readonly` and `global`.
[[nodiscard]] std::string with_known_types(std::string_view text);

}  // namespace galley
