// Nachos' tool of the file system: one tool, four actions.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/adapters.h"
#include "tools/call_arguments.h"
#include "tools/catalogue.h"
#include "tools/dialect.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Plan = Result<std::vector<Operation>>;

/// Folders hold whole components: `work` does not let `workshop` in, as a prefix of text would.
Result<void> check_allowed(const RelPath& path, const NachosFolders& folders,
                           const PathOrigin& origin) {
  for (const std::string& text : folders.allowed) {
    GALLEY_ASSIGN(const RelPath folder, directory_argument(text, {origin.root}));
    if (folder.is_root() || path == folder || path.is_below(folder)) return {};
  }
  return fail(ErrorKind::kInvalid, "args.path_not_allowed",
              "Path " + path.str() +
                  " is not in allowed directories; [tools.filesystem] "
                  "config.allowedPaths in galley.toml lists them",
              path.str());
}

Plan plan_of(const json& args, const PathOrigin& origin, const NachosFolders& folders) {
  const std::string action = text_member(args, "action");
  const std::string text = text_member(args, "path");
  if (action == "list") {
    GALLEY_ASSIGN(RelPath directory, directory_argument(text, origin));
    GALLEY_TRY(check_allowed(directory, folders, origin));
    return std::vector<Operation>{ListDirectory{std::move(directory)}};
  }
  GALLEY_ASSIGN(RelPath path, file_argument(text, origin));
  GALLEY_TRY(check_allowed(path, folders, origin));
  if (action == "read") return std::vector<Operation>{ReadFile{std::move(path)}};
  if (action == "delete") return std::vector<Operation>{RemovePath{std::move(path)}};
  if (!args.contains("content")) {
    return fail(ErrorKind::kInvalid, "args.content", "content is required for write action");
  }
  return std::vector<Operation>{WriteFile{std::move(path), text_member(args, "content"), {}}};
}

/// What Nachos has as `result` of each action.
ordered_json answer_of(const json& args, const std::vector<ordered_json>& results) {
  const std::string action = text_member(args, "action");
  const ordered_json& data = results.front();
  if (action == "write") return {{"result", {{"written", true}}}};
  if (action == "delete") return {{"result", {{"deleted", true}}}};
  if (action == "read") {
    ordered_json answer = {{"result", data["content"]}};
    if (data.contains("encoding")) answer["encoding"] = data["encoding"];
    return answer;
  }
  ordered_json names = ordered_json::array();
  for (const ordered_json& entry : data["entries"]) names.push_back(entry["name"]);
  ordered_json answer = {{"result", std::move(names)}};
  if (data.contains("truncated")) answer["truncated"] = true;
  return answer;
}

}  // namespace

std::vector<Dialect> nachos_dialect(const NachosFolders& folders) {
  ToolInfo info;
  info.name = "filesystem";
  info.title = "Filesystem";
  info.description =
      "Reads, writes, lists and deletes below the allowed folders. `write` needs `content`. "
      "Nothing is on disk before the commit.";
  info.input_schema = object_output(R"("action":{"enum":["read","write","list","delete"]},
        "path":{"type":"string","description":"File or directory path"},
        "content":{"type":"string","description":"Content to write, for the write action"
},
        "sessionId":{"type":"string"},"callId":{"type":"string"})",
                                    R"("action","path")");
  info.output_schema = object_output(R"("result":{},"encoding":{"enum":["base64"]},
        "truncated":{"type":"boolean"})",
                                     R"("result")");
  info.annotations = {.destructive = true};
  info.capabilities = {"fs:read", "fs:write"};
  info.risk_level = ToolInfo::Risk::kMedium;
  info.security_tier = ToolInfo::Tier::kElevated;
  info.is_reversible = true;
  info.examples = {R"({"action":"write","path":"notes.txt","content":"hello\n"})"};
  return {{std::move(info),
           [folders](const json& args, const PathOrigin& origin) {
             return plan_of(args, origin, folders);
           },
           answer_of}};
}

}  // namespace galley
