#pragma once

#include <string_view>

#include "staging/fs/directory.h"

namespace galley {

/// The word for a kind of file in documents: file, directory, symlink, absent, other.
[[nodiscard]] std::string_view kind_name(FileKind kind);

}  // namespace galley
