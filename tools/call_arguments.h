#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"

namespace galley {

struct PathOrigin;
struct ToolInfo;

// One argument of a call by its name. One that is absent or of another type counts as not given:
// the schema has refused the latter.

/// The first of these keys that is there.
[[nodiscard]] std::string first_of(const nlohmann::json& args,
                                   std::initializer_list<const char*> keys);
[[nodiscard]] bool flag_of(const nlohmann::json& args, const char* key, bool otherwise = false);
/// A negative number counts as 0.
[[nodiscard]] std::optional<uint64_t> count_of(const nlohmann::json& args, const char* key);
[[nodiscard]] uint64_t count_in(const nlohmann::json& integer);
/// Permission bits in octal; the schema has the pattern.
[[nodiscard]] std::optional<uint32_t> mode_in(const std::string& text);
/// The texts of a list.
[[nodiscard]] std::vector<std::string> texts_of(const nlohmann::json& args, const char* key);

/// The ids of a call that Nachos sends among the arguments of every tool.
struct CallIds {
  std::string session_id;
  std::string call_id;
};
/// Takes `sessionId` and `callId` out of arguments where the tool's schema does not name them.
[[nodiscard]] CallIds take_call_ids(const ToolInfo& info, nlohmann::json& args);

/// A path argument: relative to the origin's folder, from which `../` leads upwards, or absolute
/// inside the workspace.
/// Errors: kInvalid `path.invalid`; kRefused `path.outside`.
Result<RelPath> file_argument(const std::string& text, const PathOrigin& origin);
/// The same, where that folder (``, `.`) and the workspace root may be meant, too.
Result<RelPath> directory_argument(const std::string& text, const PathOrigin& origin);

}  // namespace galley
