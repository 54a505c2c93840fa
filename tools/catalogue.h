#pragma once

#include <string>
#include <vector>

#include "tools/tool.h"

namespace galley {

/// What tools do to the tree that only read, and that put something in the place of another.
inline constexpr ToolAnnotations kReads{.read_only = true, .idempotent = true};
inline constexpr ToolAnnotations kReplaces{.destructive = true, .idempotent = true};

/// The native tools (SAGE's contract and what belongs with it), in the order they are listed.
[[nodiscard]] std::vector<ToolInfo> native_tools();

/// The native tool of this name, which is one of them.
[[nodiscard]] const ToolInfo& native_tool(const std::string& name);

/// The names under which other agents know the same operations.
[[nodiscard]] std::vector<ToolInfo> peer_tools();

/// Puts in what a standard tool of this name says of itself besides words and schemas: namespace,
/// category, risk, tier, limits, examples, how a call is taken back.
void state_traits(ToolInfo& info);

/// Output schema of a tool that changes the tree: the fields of CallDiff and `required` ones of its
/// own, given as `"name":{schema}` members.
[[nodiscard]] std::string change_output(const std::string& own_members,
                                        const std::string& required_list);
/// Output schema of an object with these members.
[[nodiscard]] std::string object_output(const std::string& members,
                                        const std::string& required_list);

}  // namespace galley
