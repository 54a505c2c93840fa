#pragma once

#include <string>
#include <string_view>

namespace galley {

/// The id that git gives this content as a blob (SHA-1 of "blob <size>\0" and the bytes), in hex:
/// what the index lines of git patches name. Never used for anything but comparing with those.
[[nodiscard]] std::string git_blob_id(std::string_view content);

}  // namespace galley
