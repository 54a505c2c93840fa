#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace galley::architecture {

/// A room, and the lower rooms that it depends on directly.
struct Room {
  std::string folder;
  std::vector<std::string> depends;
};

/// Returns the rooms, lowest first. No other table of this test names rooms; CMakeLists.txt must
/// agree with this one.
[[nodiscard]] const std::vector<Room>& rooms();

/// Returns the rooms that CMakeLists.txt registers.
[[nodiscard]] std::vector<Room> rooms_in_cmake(std::string_view cmake_lists);

/// Returns the room of a source path such as `staging/fs/file.cc`, or of an installed header such
/// as `galley/proposal.h` (also `include/galley/proposal.h`). It is empty for a path outside every
/// room.
[[nodiscard]] std::string room_of(std::string_view path);

/// Broken rules, each as `path:line: what`.
using Violations = std::vector<std::string>;

/// Returns the places where an installed header shows a type that no installed header defines.
/// Installed headers must be usable with installed types only. Private members, friends and members
/// below "for Galley's own rooms" may use other types. `installed` are the types that installed
/// headers define.
[[nodiscard]] Violations inner_types(std::string_view path, std::string_view source,
                                     const std::set<std::string>& installed);

/// Returns includes of another room that is not below this file's room.
[[nodiscard]] Violations upward_arrows(std::string_view path, std::string_view source);

/// A third-party header, given as a prefix, and the places (path prefixes) that may include it.
struct Door {
  const char* header;
  std::vector<const char*> places;
};

/// Returns the doors to libraries. docs/ARCHITECTURE.md lists the same doors.
[[nodiscard]] const std::vector<Door>& library_doors();

/// Returns includes of a third-party or system header outside its door.
[[nodiscard]] Violations wrong_doors(std::string_view path, std::string_view source);

/// Returns the installed headers, as `galley/proposal.h`, and the room of each. A header belongs to
/// the lowest room that needs it, which defines its functions.
[[nodiscard]] const std::map<std::string, std::string>& installed_headers();

/// Returns forbidden includes in headers. An installed header may include only the standard
/// library, tl::expected and other installed headers. No other header may include third-party
/// headers.
[[nodiscard]] Violations foreign_types_in_header(std::string_view path, std::string_view source);

/// Returns calls of the operating system's file and process functions outside the rooms that own
/// them.
[[nodiscard]] Violations raw_system_calls(std::string_view path, std::string_view source);

/// Returns writes to the standard streams. Only the command line may write there, and GALLEY_CHECK,
/// which then ends the process.
[[nodiscard]] Violations output_of_the_library(std::string_view path, std::string_view source);

inline constexpr int kMaxFileLines = 900;
inline constexpr int kMaxFunctionLines = 70;

/// Returns files and functions that are too long.
[[nodiscard]] Violations too_long(std::string_view path, std::string_view source);

/// Returns headers without `#pragma once`, sources that do not include their own header first, and
/// meaningless names (Manager, Helper, Util, Impl).
[[nodiscard]] Violations bad_manners(std::string_view path, std::string_view source,
                                     bool has_own_header);

}  // namespace galley::architecture
