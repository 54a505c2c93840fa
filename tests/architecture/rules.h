#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace galley::architecture {

/// A room and the rooms that it names as its own below it.
struct Room {
  std::string folder;
  std::vector<std::string> depends;
};

/// The rooms, lowest first: the one table of this test. CMakeLists.txt must say the same.
[[nodiscard]] const std::vector<Room>& rooms();

/// The rooms as CMakeLists.txt registers them.
[[nodiscard]] std::vector<Room> rooms_in_cmake(std::string_view cmake_lists);

/// The room that a path such as `staging/fs/file.cc` lies in, or that an installed header such as
/// `galley/proposal.h` (also `include/galley/proposal.h`) belongs to; empty outside every room.
[[nodiscard]] std::string room_of(std::string_view path);

/// One broken rule, as `path:line: what`.
using Violations = std::vector<std::string>;

/// Returns the places where an installed header shows a type that it only declares: it can be
/// called with installed types only. Private members, friends and members below "for Galley's own
/// rooms" may use other types. `installed` are the types that installed headers define.
[[nodiscard]] Violations inner_types(std::string_view path, std::string_view source,
                                     const std::set<std::string>& installed);

/// Includes of another room that is not below this file's room.
[[nodiscard]] Violations upward_arrows(std::string_view path, std::string_view source);

/// A third-party header, by prefix, and the places (path prefixes) that may name it.
struct Door {
  const char* header;
  std::vector<const char*> places;
};

/// The doors to libraries: docs/ARCHITECTURE.md lists the same.
[[nodiscard]] const std::vector<Door>& library_doors();

/// Includes of a third-party or system header outside its door.
[[nodiscard]] Violations wrong_doors(std::string_view path, std::string_view source);

/// The installed headers, as `galley/proposal.h`, and the rooms that they belong to: the lowest
/// that needs each, which is where its functions are.
[[nodiscard]] const std::map<std::string, std::string>& installed_headers();

/// Includes of anything but the standard library, tl::expected and other installed headers in an
/// installed header, and of third-party headers in any other header.
[[nodiscard]] Violations foreign_types_in_header(std::string_view path, std::string_view source);

/// Calls of the operating system's file and process functions outside the rooms that own them.
[[nodiscard]] Violations raw_system_calls(std::string_view path, std::string_view source);

/// Writing to the standard streams: only the command line does, and a process that ends at once.
[[nodiscard]] Violations output_of_the_library(std::string_view path, std::string_view source);

inline constexpr int kMaxFileLines = 900;
inline constexpr int kMaxFunctionLines = 70;

/// Files and functions that have grown too long.
[[nodiscard]] Violations too_long(std::string_view path, std::string_view source);

/// Headers without `#pragma once`, sources that do not include their own header first, and names
/// that say nothing (Manager, Helper, Util, Impl).
[[nodiscard]] Violations bad_manners(std::string_view path, std::string_view source,
                                     bool has_own_header);

}  // namespace galley::architecture
