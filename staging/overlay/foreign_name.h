#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/rel_path.h"

namespace galley {

/// A name that is valid on Linux but looks like a path of another system or a shell.
struct ForeignName {
  std::string why;             ///< "begins with the drive 'C:' of another system"
  RelPath head;                ///< the path up to the foreign part
  std::vector<RelPath> meant;  ///< possible intended paths in the workspace, longest first
  bool is_sure = false;        ///< `meant` has one path, which is right even if it does not exist
};

/// Checks a name. Returns nothing if it is ordinary.
[[nodiscard]] std::optional<ForeignName> foreign_name(const RelPath& path);

}  // namespace galley
