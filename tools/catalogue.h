#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/operation.h"
#include "tools/tool.h"

/// The files of tools/catalogue, as the build embeds them (cmake/tool_catalogue.cmake).
namespace galley::catalogue_text {

extern const std::string_view kNative, kPeers, kAios, kNachos, kGemini, kTenex, kGit, kProfiles;

}  // namespace galley::catalogue_text

namespace galley {

/// One value of `[tools.TOOL] config` in galley.toml; empty where it is not given.
using ToolSetting = std::function<std::string(std::string_view tool, std::string_view key)>;
[[nodiscard]] std::string setting_or(const ToolSetting& setting, std::string_view tool,
                                     std::string_view key, std::string otherwise);
/// The pieces between separators, without blanks around them and without empty ones.
[[nodiscard]] std::vector<std::string> pieces_of(std::string_view text, char separator);

/// A call as functions of the catalogue get it. `args` conforms to the tool's schema.
struct CatalogueCall {
  const nlohmann::json& args;
  const PathOrigin& origin;
  const ToolSetting& setting;  ///< may be empty
};

/// A function for a tool whose call the forms of a row cannot express. `with` names it.
///
/// The functions are pure: what is done is done by perform(), as for every tool.
/// Errors: those of plan() and answer() fail the call, and nothing is staged.
struct NamedCall {
  std::string_view name;
  Result<std::vector<Operation>> (*plan)(const CatalogueCall& call);
  /// From what the first operation answered; null: as the row says.
  Result<nlohmann::ordered_json> (*answer)(const CatalogueCall& call,
                                           const nlohmann::ordered_json& first) = nullptr;
  /// Whether this agent (empty: a person) may call it; null: everybody may.
  Result<void> (*admit)(const std::string& agent, const ToolSetting& setting) = nullptr;
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
  bool is_standard = false;  ///< shown without a profile, too
  bool follows_from_contents = false;
  std::string verb;                   ///< what it does in a word, for profiles
  std::vector<std::string> profiles;  ///< those that show it
  /// What a call does: the operations of `steps` (tools/verbs.h), or what the named call plans.
  std::shared_ptr<const nlohmann::json> steps;
  const NamedCall* with = nullptr;
  /// The form of its answer; null: the answer of the first operation.
  std::shared_ptr<const nlohmann::ordered_json> answer;
};

/// Every tool but those of the engine, in the order in which they are listed. Read at the first
/// call; a row that makes no sense is a bug of Galley's.
[[nodiscard]] const std::vector<CatalogueRow>& catalogue();

}  // namespace galley
