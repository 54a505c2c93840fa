#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <galley/proposal.h>
#include "tools/operation.h"
#include "tools/tool.h"

namespace galley {

struct CommandResult;

/// The paths and programs that an operation names before it runs.
Result<Intent> intent_of(const Operation& operation);

/// Performs an operation on the overlay of the context. If it fails, the overlay is unchanged.
[[nodiscard]] ToolResult perform(const Operation& operation, ToolContext& context);

// One function for each family of operations. Each returns the data of a ToolResult.
using Performed = Result<nlohmann::ordered_json>;
/// No door shows less than all of an answer of this size.
inline constexpr size_t kMaxUncutBytes = size_t{16} << 10U;

Performed perform_read(const ReadFile& read, ToolContext& context);
Performed perform_list(const ListDirectory& list, ToolContext& context);
Performed perform_info(const FileInfo& info, ToolContext& context);
Performed perform_usage(const MeasureUsage& usage, ToolContext& context);
Performed perform_find(const FindFiles& find, ToolContext& context);
Performed perform_search(const SearchText& search, ToolContext& context);
Performed perform_references(const FindReferences& find, ToolContext& context);
Performed perform_imports(const ListImports& list, ToolContext& context);
Performed perform_agents(const FindAgents& find, ToolContext& context);
Performed perform_tree_change(const Operation& operation, ToolContext& context);
[[nodiscard]] ToolResult perform_edit(const EditFiles& edit, ToolContext& context);
[[nodiscard]] ToolResult perform_command(const RunCommand& run, ToolContext& context);
/// Why nothing that a command changed is staged, reason `command.effects`. Returns nullopt if no
/// effect was refused.
[[nodiscard]] std::optional<Error> refusal_of_effects(const CommandResult& result);

/// Refuses a file that is too large for Read and edits, which need several times its size.
Result<void> check_read_size(const RelPath& path, const Node& node);
/// Permission bits in octal: `0644`.
[[nodiscard]] std::string octal_mode(uint32_t mode);

/// One line in which a file names another file or a package.
struct ImportLine {
  std::string module;  ///< as in the line: `os.path`, `./api`, `stdio.h`
  uint32_t line = 0;   ///< 1-based
};

/// The language of a file, by the extension of its name; empty for a language without import rules.
[[nodiscard]] std::string_view import_language(std::string_view file_name);

/// The imports of a text, found line by line without parsing the language. It also finds lines in
/// multi-line comments, and misses names that are built at run time.
[[nodiscard]] std::vector<ImportLine> import_lines(std::string_view language,
                                                   std::string_view text);

}  // namespace galley
