#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/operation.h"
#include "tools/tool.h"

/// The files of tools/catalogue, as the build embeds them (cmake/embed.cmake).
namespace galley::catalogue_text {

extern const std::string_view kNative, kPeers, kAios, kNachos, kGemini, kTenex, kGit, kProfiles;

}  // namespace galley::catalogue_text

namespace galley {

/// One value of `[tools.TOOL] config` in galley.toml; empty where it is not given.
using ToolSetting = std::function<std::string(std::string_view tool, std::string_view key)>;
[[nodiscard]] std::string setting_or(const ToolSetting& setting, std::string_view tool,
                                     std::string_view key, std::string otherwise);
/// The parts of a text between separators, without blanks around them. Empty parts are left out.
[[nodiscard]] std::vector<std::string> split_text(std::string_view text, char separator);

/// A call as functions of the catalogue receive it. `args` conforms to the tool's schema.
struct CatalogueCall {
  const nlohmann::json& args;
  const PathOrigin& origin;
  const ToolSetting& setting;  ///< may be empty
};

/// A function for a tool whose call cannot be expressed by the forms of a row. The row names it in
/// `with`.
///
/// The functions are pure: perform() does the work, as for every tool.
/// Errors: those of plan() and answer() fail the call, and nothing is staged.
struct NamedCall {
  std::string_view name;
  Result<std::vector<Operation>> (*plan)(const CatalogueCall& call);
  /// Makes the answer from the first operation's answer; null: the row defines the answer.
  Result<nlohmann::ordered_json> (*answer)(const CatalogueCall& call,
                                           const nlohmann::ordered_json& first) = nullptr;
  /// Whether this agent (empty: a person) may call the tool; null: every agent may.
  Result<void> (*admit)(const std::string& agent, const ToolSetting& setting) = nullptr;
  /// Whether the workspace has what the tool needs; null: it needs nothing.
  Result<void> (*check_workspace)(const Directory& files, const std::string& root,
                                  const ToolSetting& setting) = nullptr;
};

/// The named calls: edits, files and commands, git's view of the tree, TENEX.
[[nodiscard]] std::vector<NamedCall> edit_calls();
[[nodiscard]] std::vector<NamedCall> file_calls();
[[nodiscard]] std::vector<NamedCall> git_calls();
[[nodiscard]] std::vector<NamedCall> tenex_calls();
[[nodiscard]] const std::vector<NamedCall>& named_calls();

/// One tool: a row of tools/catalogue/*.json describes it completely (docs/adr/0095).
struct CatalogueRow {
  ToolInfo info;
  bool is_standard = false;  ///< also shown without a profile
  bool depends_only_on_contents = false;
  std::string verb;                   ///< what the tool does, in one word, for profiles
  std::vector<std::string> profiles;  ///< the profiles that show it
  /// The effect of a call: the operations of `steps` (tools/standard_tools.h), or the plan of the
  /// named call.
  std::shared_ptr<const nlohmann::json> steps;
  const NamedCall* with = nullptr;
  /// The form of its answer; null: the answer of the first operation.
  std::shared_ptr<const nlohmann::ordered_json> answer;
};

/// Every tool except those of the engine, in the order in which they are listed. The rows are read
/// at the first call. An invalid row is a bug in Galley.
[[nodiscard]] const std::vector<CatalogueRow>& catalogue();

}  // namespace galley
