// What a text with calls has that is meant as a call, but is not one that can be read.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/tool_call_parser.h"

namespace galley {

/// What follows the name of a call that is meant, but cannot be read.
inline constexpr const char* kNotRead =
    " is not a call that can be read, so no call is made; write it as a call of a known tool, or "
    "leave it out";

/// Whether a name is that of a usual tool of other programs, such as Cline's `insert_content`.
[[nodiscard]] bool is_other_tool(std::string_view name);

/// Whether an item of a list with calls, which is not a call, is probably meant as one.
[[nodiscard]] bool is_meant_beside_calls(const nlohmann::json& item);

/// The name that JSON gives to the tool it calls; empty if there is none.
[[nodiscard]] std::string called_name(const nlohmann::json& item);

/// Parts of a text that are not calls, but are meant as calls if the text has others.
/// Threads: confined to one thread.
class SuspectedCalls {
 public:
  /// Borrows the tools that can be called.
  explicit SuspectedCalls(const ToolRegistry& registry) : registry_(registry) {}

  void clear() { parts_.clear(); }
  /// Whether a name is that of a tool, here or in other programs.
  [[nodiscard]] bool is_tool(std::string_view name) const;
  /// Notes the bytes [begin, end) of the text. `what` names them in the message. After very many,
  /// the last one stands for all the rest.
  void note(size_t begin, size_t end, std::string what);
  /// Notes JSON that begins at `at`, if it has the name of a tool and arguments.
  void note_json(size_t at, std::string_view body);
  /// The problems of the parts in which neither a call nor a problem was found. None if the text
  /// has no calls.
  [[nodiscard]] std::vector<CallProblem> problems(const CallsOfText& found) const;

 private:
  struct Part {
    size_t begin = 0;
    size_t end = 0;
    std::string what;
  };
  const ToolRegistry& registry_;
  std::vector<Part> parts_;
};

}  // namespace galley
