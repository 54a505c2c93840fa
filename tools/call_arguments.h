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

// Readers for the arguments of a call. An argument of another type counts as missing, since the
// schema has already refused it.

/// The text under the first of these keys that is present; empty if none is.
[[nodiscard]] std::string first_of(const nlohmann::json& args,
                                   std::initializer_list<const char*> keys);
[[nodiscard]] bool flag_of(const nlohmann::json& args, const char* key, bool otherwise = false);
/// A negative number counts as 0.
[[nodiscard]] std::optional<uint64_t> count_of(const nlohmann::json& args, const char* key);
[[nodiscard]] uint64_t clamped_count(const nlohmann::json& integer);
/// Permission bits in octal; nullopt for an empty text. The schema must have checked the pattern.
[[nodiscard]] std::optional<uint32_t> parse_octal_mode(const std::string& text);
/// The texts in a list. Items of other types are left out.
[[nodiscard]] std::vector<std::string> texts_of(const nlohmann::json& args, const char* key);

/// The ids that Nachos adds to the arguments of every call.
struct CallIds {
  std::string session_id;
  std::string call_id;
};
/// Removes `sessionId` and `callId` from the arguments and returns them. An argument that the
/// tool's schema names stays.
[[nodiscard]] CallIds take_call_ids(const ToolInfo& info, nlohmann::json& args);

/// The arguments with the names of the schema in place of other usual names, such as `old_str` for
/// `old_string`. Nothing if no argument has another name, or if the meant one is not certain: two
/// names of one argument are given, or a name is unknown. `notes` gets the names.
[[nodiscard]] std::optional<nlohmann::json> with_known_names(const nlohmann::json& schema,
                                                             const nlohmann::json& args,
                                                             std::string& notes);

/// Says which two names of one argument are given with different values; nothing if none are.
/// `schema` is the text of the tool's input schema.
[[nodiscard]] std::optional<std::string> contradiction(const std::string& schema,
                                                       const nlohmann::json& args);

/// The value of an argument that is written as text: of the type that the schema gives it, or text.
/// Errors: kInvalid `call_text.value`, if the text is not of that type.
Result<nlohmann::json> argument_of_text(const nlohmann::json& schema, const std::string& name,
                                        const std::string& text);

/// Resolves the path of a file. It is relative to the origin's folder and may begin with `../`, or
/// it is absolute and inside the workspace.
/// Errors: kInvalid `path.invalid`; kRefused `path.outside`.
Result<RelPath> file_argument(const std::string& text, const PathOrigin& origin);
/// The same for a directory. The origin's folder (an empty text or `.`) and the workspace root are
/// allowed, too.
Result<RelPath> directory_argument(const std::string& text, const PathOrigin& origin);

}  // namespace galley
