#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/person.h"
#include "cli/session.h"
#include "engine/pipeline/custom_tools.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/mcp_servers.h"
#include "engine/pipeline/stored_tools.h"
#include "engine/policy/readable_folders.h"
#include "staging/fs/host_file.h"
#include "staging/sandbox/host_folders.h"
#include "tools/mcp/mcp_tool.h"
#include "tools/registry.h"

namespace galley {
namespace {

constexpr size_t kMaxShownTextBytes = 32'000;  // of the schemas of one tool

/// The description of a server in the question to a person.
struct ShownServer {
  TrustedMcpServer server;
  std::string called;  ///< its own name for itself
  std::vector<SkippedMcpTool> left_out;
  std::vector<std::string> changes;  ///< since it was last trusted
};

Result<std::map<std::string, std::string>> server_environment(
    const std::vector<std::string>& words) {
  std::map<std::string, std::string> environment;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorKind::kUsage, "usage.mcp_server",
                  "--env takes NAME=VALUE, not '" + printable_line(word) + "'");
    }
    environment[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return environment;
}

Result<std::map<std::string, std::string>> server_headers(const std::vector<std::string>& lines) {
  std::map<std::string, std::string> headers;
  for (const std::string& line : lines) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || colon == 0) {
      return fail(ErrorKind::kUsage, "usage.mcp_server",
                  "--header takes 'NAME: VALUE', not '" + printable_line(line) + "'");
    }
    headers[line.substr(0, colon)] = trim(std::string_view(line).substr(colon + 1));
  }
  return headers;
}

Result<TrustedMcpServer> server_of(const Arguments& arguments) {
  TrustedMcpServer server;
  server.name = arguments.mcp.name;
  server.command = arguments.words;
  server.url = arguments.mcp.url;
  GALLEY_ASSIGN(server.headers, server_headers(arguments.mcp.headers));
  GALLEY_ASSIGN(server.environment, server_environment(arguments.call.environment));
  server.secrets = arguments.call.secrets;
  for (const std::string& folder : arguments.mcp.readable) {
    GALLEY_ASSIGN(std::string absolute, absolute_path(folder));
    const std::string no = objection_to_readable(absolute, home_folder());
    if (!no.empty()) {
      return fail(ErrorKind::kInvalid, "mcp.readable",
                  "an MCP server cannot see '" + printable_line(absolute) + "': " + no);
    }
    server.readable.push_back(std::move(absolute));
  }
  const bool is_remote = !server.url.empty();
  server.uses_network = arguments.exec.shares_network || is_remote;
  server.writes = !arguments.mcp.is_read_only && !is_remote;
  if (arguments.exec.memory_bytes > 0) server.memory_bytes = arguments.exec.memory_bytes;
  if (arguments.exec.timeout_s > 0) server.timeout = time_of_option(arguments.exec.timeout_s);
  GALLEY_TRY(server.check());
  return server;
}

/// Starts the server once and reads the definitions of its tools. Everything it writes is dropped.
Result<McpReply> definitions_of(Session& session, Workspace& workspace,
                                const TrustedMcpServer& server, bool skips_probe) {
  GALLEY_ASSIGN(Transaction transaction, workspace.begin({}));
  Command command = mcp_server_command(server);
  command.effects = EffectsRule::kDrop;
  const SecretProvider secrets = secrets_from_environment(server.secrets);
  for (const std::string& name : server.secrets) {
    const auto value = secrets(name);
    if (!value) {
      return fail(ErrorKind::kRefused, "secret.unavailable",
                  "the MCP server '" + server.name + "' gets the secret '" + name +
                      "', which the environment of this command does not have");
    }
    command.environment[name] = *value;
  }
  McpClientTask errand;
  errand.version = server.version;
  errand.skips_probe = skips_probe;
  errand.root = workspace.root_path();
  session.terminal().work_on(server.url.empty()
                                 ? "starting " + printable_line(server.command.front())
                                 : "asking " + printable_line(server.url));
  GALLEY_ASSIGN(const McpServerRun run,
                run_mcp_server(server, std::move(errand), std::move(command),
                               [&](const Command& one) { return inner(transaction).run(one); }));
  return run.reply;
}

/// Restarts a server that does not support the probe of the newer protocol, without the probe.
Result<McpReply> read_definitions(Session& session, Workspace& workspace,
                                  TrustedMcpServer& server) {
  server.version.clear();
  auto reply = definitions_of(session, workspace, server, false);
  const bool is_probe =
      !reply && (reply.error().reason == "tool.timeout" || reply.error().reason == "tool.exit");
  if (is_probe) reply = definitions_of(session, workspace, server, true);
  if (!reply) return reply;
  if (reply->definitions.empty()) {
    return fail(ErrorKind::kInvalid, "mcp.command",
                "the MCP server '" + server.name + "' offers no tools");
  }
  server.version = reply->version;
  server.definitions = reply->definitions;
  return reply;
}

/// Whether the value of a keyword of a schema says nothing to a model but a type or a bound.
bool is_plain_keyword(const std::string& key, const nlohmann::json& value) {
  static const std::set<std::string, std::less<>> kTypes = {"array",  "boolean", "integer", "null",
                                                            "number", "object",  "string"};
  static const std::set<std::string, std::less<>> kBounds = {"additionalProperties",
                                                             "exclusiveMaximum",
                                                             "exclusiveMinimum",
                                                             "maxItems",
                                                             "maxLength",
                                                             "maxProperties",
                                                             "maximum",
                                                             "minItems",
                                                             "minLength",
                                                             "minProperties",
                                                             "minimum",
                                                             "multipleOf",
                                                             "uniqueItems"};
  if (value.is_number() || value.is_boolean()) return kBounds.contains(key);
  return key == "type" && value.is_string() && kTypes.contains(value.get_ref<const std::string&>());
}

/// The texts of a definition of a tool, at any depth and in any member, because a model reads all
/// of it: a line for each, with its place. A key is a text, too, so each is in a place.
class ModelTexts {
 public:
  void add(const std::string& place, const nlohmann::json& value) {
    if (value.is_object() && !value.empty()) {
      for (const auto& [key, member] : value.items()) {
        if (!is_plain_keyword(key, member)) add_member(place, key, member);
      }
    } else if (value.is_array() && !value.empty() && value.front().is_structured()) {
      for (const nlohmann::json& one : value) add(place + "[]", one);
    } else {
      add_line(place, value.is_string() ? value.get_ref<const std::string&>() : value.dump());
    }
  }

  /// `source` is where the rest can be read.
  [[nodiscard]] std::string text(const std::string& source) const {
    if (left_out_ == 0) return text_;
    return text_ + fmt::format("    not shown: {}; read {}\n", counted(left_out_, "more text"),
                               printable_line(source));
  }

 private:
  void add_member(const std::string& place, const std::string& key, const nlohmann::json& member) {
    const std::string inner = place.empty() ? key : place + "." + key;
    if (key == "properties" && member.is_object()) {
      for (const auto& [name, property] : member.items()) {
        add_line(place + "." + name, {});
        add(place + "." + name, property);
      }
      return;
    }
    const size_t before = lines_;
    add(inner, member);
    if (lines_ == before && key != "items") add_line(inner, {});
  }
  void add_line(const std::string& place, std::string_view text) {
    ++lines_;
    std::string line = "    " + printable_line(place);
    if (!text.empty()) line += ": " + printable_line(text);
    if (text_.size() + line.size() > kMaxShownTextBytes) {
      ++left_out_;
    } else {
      text_ += line + "\n";
    }
  }
  std::string text_;
  size_t lines_ = 0;  ///< also those that are left out
  size_t left_out_ = 0;
};

std::string shown_definition(const ShownServer& shown, nlohmann::json definition) {
  const auto info = shown.server.tool_info(definition);
  const std::string name = definition.at("name").get<std::string>();
  if (!info) return "  " + printable_line(shown.server.name + "." + name) + "\n";
  const std::string text = fmt::format("  {}: {}\n", printable_line(info->name),
                                       printable_line(info->description, kMaxShownTextBytes));
  definition.erase("name");
  // A description that is cut above is too long for a line, so it counts as not shown.
  if (printable_line(info->description).size() <= kMaxShownTextBytes) {
    definition.erase("description");
  }
  ModelTexts texts;
  texts.add("", definition);
  return text + texts.text("what the server sends for tools/list");
}

std::string shown_text(const ShownServer& shown) {
  const TrustedMcpServer& server = shown.server;
  std::string words;
  for (const std::string& word : server.command) words += " " + printable_line(word);
  std::string text = fmt::format("{}: the MCP server {}, protocol {}\n", server.name,
                                 printable_line(shown.called), printable_line(server.version));
  if (server.url.empty()) {
    text += fmt::format("  runs{} in the sandbox, at most {} ms a call\n", words,
                        server.timeout.count());
  } else {
    text += fmt::format("  is asked over HTTP at {}, at most {} ms a call\n",
                        printable_line(server.url), server.timeout.count());
  }
  for (const auto& [name, value] : server.headers) {
    text += "  gets the header " + printable_line(name) + ": " + printable_line(value) + "\n";
  }
  for (const std::string& folder : server.readable) {
    text += "  sees " + printable_line(folder) + ", read-only\n";
  }
  for (const auto& [name, value] : server.environment) {
    text += "  gets " + printable_line(name) + "=" + printable_line(value) + "\n";
  }
  for (const std::string& name : server.secrets) {
    text += "  gets the secret " + printable_line(name) + "\n";
  }
  if (!server.url.empty()) {
    text += fmt::format(
        "  the arguments of calls leave this machine for {}, over its network; no redirection is "
        "followed\n",
        printable_line(server.host()));
  } else {
    if (server.uses_network) text += "  reaches the network of this machine, all of it\n";
    text += server.writes ? "  what it writes is staged\n" : "  what it writes is dropped\n";
  }
  for (const auto& definition : server.definitions) text += shown_definition(shown, definition);
  for (const auto& [name, error] : shown.left_out) {
    text += fmt::format("  left out: {}\n", printable_line(error.message));
  }
  if (!shown.changes.empty()) text += "changed since it was trusted:\n";
  for (const std::string& change : shown.changes) text += "  " + printable_line(change) + "\n";
  return text + fmt::format("# hash {}\n", server.hash().hex());
}

Json document_of(const Workspace& workspace, const ShownServer& shown, bool is_added) {
  const TrustedMcpServer& server = shown.server;
  Json document = {{"schema", "galley.tools-add-mcp/1"}, {"ok", true},
                   {"root", workspace.root_path()},      {"server", server.name},
                   {"command", server.command},          {"version", server.version},
                   {"network", server.uses_network},     {"writes", server.writes},
                   {"hash", server.hash().hex()},        {"added", is_added},
                   {"changes", shown.changes},           {"tools", Json::array()},
                   {"left_out", Json::array()}};
  if (!server.url.empty()) document["url"] = server.url;
  for (const auto& [name, error] : shown.left_out) {
    document["left_out"].push_back(
        {{"name", name}, {"reason", error.reason}, {"message", error.message}});
  }
  for (const auto& definition : server.definitions) {
    document["tools"].push_back(server.name + "." + definition.at("name").get<std::string>());
  }
  return document;
}

/// Checks a registry without the server, and then adds the server's tools.
Result<std::vector<SkippedMcpTool>> fit(const Workspace& workspace,
                                        const TrustedMcpServer& server) {
  GALLEY_ASSIGN(ToolRegistry * registry, tools_of(workspace).registry());
  for (const auto& definition : server.definitions) {
    registry->remove(server.name + "." + definition.at("name").get<std::string>());
  }
  auto left_out = add_mcp_tools(*registry, std::make_shared<const TrustedMcpServer>(server));
  if (left_out.size() < server.definitions.size()) return left_out;
  return fail(left_out.front().second);
}

Result<int> ask_and_keep(Session& session, Workspace& workspace, ShownServer shown) {
  TrustedMcpServer& server = shown.server;
  GALLEY_ASSIGN(shown.left_out, fit(workspace, server));
  const bool is_shown_only = session.arguments().dry_run;
  const bool is_vouched = is_trusted_in_advance(session.user(), server.hash());
  const bool is_asked = !is_shown_only && !is_vouched && !session.is_unattended();
  const std::string text = shown_text(shown);
  if (!is_asked && !session.is_json()) session.print(text);
  if (!is_shown_only) {
    // An agent is refused on record, without a question.
    if (!is_vouched && session.transaction_options().agent.empty()) {
      GALLEY_TRY(require_person(
          session, text,
          "Trust these tools for this workspace, as long as their definitions stay the same?"));
    }
    Json record = {{"server", server.name}, {"command", server.command}};
    if (!server.url.empty()) record["url"] = server.url;
    record["hash"] = server.hash().hex();
    GALLEY_TRY(
        record_admission(workspace, session.transaction_options(), AuditKind::kToolsAdded, record));
    server.given_ns = place_of(workspace).clock().wall_ns();
    GALLEY_TRY(trust_mcp_server(session.user(), workspace.root_path(), server));
  }
  if (session.is_json()) {
    session.print(document_of(workspace, shown, !is_shown_only));
  } else if (!is_shown_only) {
    session.say(fmt::format("added {} of the MCP server {}; take it away with: {}",
                            counted(server.definitions.size() - shown.left_out.size(), "tool"),
                            server.name, session.hint("tools remove " + server.name)));
  }
  return kExitDone;
}

/// `tools add --mcp NAME -- COMMAND…`: starts the server once, shows its identity and the
/// descriptions of its tools, asks a person, and stores it for the workspace.
/// Errors: kUsage `usage.mcp_server`; those of run_mcp_server, TrustedMcpServer::check and
///         require_person.
Result<int> add_mcp_server(Session& session) {
  GALLEY_TRY(refuse_inside_exec("tools add"));
  ShownServer shown;
  GALLEY_ASSIGN(shown.server, server_of(session.arguments()));
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const McpReply reply, read_definitions(session, *workspace, shown.server));
  shown.called = reply.server;
  return ask_and_keep(session, *workspace, std::move(shown));
}

/// Returns one tool for the question to a person: the text that a model reads, then its rights.
std::string shown_tool(const CustomManifest& manifest) {
  std::string text = fmt::format("{} {}: {}\n", printable_line(manifest.info.name),
                                 manifest.info.version, printable_line(manifest.info.title));
  text += "  is described as: " + printable_line(manifest.info.description) + "\n";
  text += manifest.executable.empty()
              ? "  cannot be called: its manifest names no executable\n"
              : fmt::format("  runs {} in the sandbox, at most {} ms\n",
                            printable_line(manifest.executable), manifest.info.timeout->count());
  ModelTexts texts;
  for (const auto& [name, schema] : {std::pair("arguments", &manifest.info.input_schema),
                                     std::pair("answer", &manifest.info.output_schema)}) {
    texts.add(name, nlohmann::json::parse(*schema, nullptr, false));
  }
  for (const std::string& example : manifest.info.examples) texts.add("example", example);
  text += texts.text("its manifest");
  std::string needs;
  for (const std::string& need : manifest.info.capabilities) {
    needs += (needs.empty() ? "" : ", ") + printable_line(need);
  }
  text += "  needs " + needs + "\n";
  if (!manifest.hosts.empty()) {
    text += "  reaches these hosts: " +
            printable_line(fmt::format("{}", fmt::join(manifest.hosts, ", "))) + "\n";
  } else if (manifest.uses_network) {
    text += "  reaches the network of this machine, all of it\n";
  }
  for (const std::string& name : manifest.secrets) {
    text += "  gets the secret " + printable_line(name) + "\n";
  }
  text += manifest.writes ? "  what it writes is staged\n" : "  what it writes is dropped\n";
  return text;
}

std::string shown_folder(const ToolFolder& folder) {
  std::string text;
  for (const CustomManifest& manifest : folder.manifests) text += shown_tool(manifest);
  for (const ToolFolder::Item& item : folder.items) {
    text += fmt::format("# {} {}\n", ContentId::of(item.bytes).hex(), printable_line(item.path));
  }
  text += fmt::format("# {} in {}\n# hash {}\n", counted(folder.items.size(), "file"),
                      printable_line(folder.path), folder.hash.hex());
  return text;
}

Json folder_json(const Workspace& workspace, const ToolFolder& folder, bool is_added) {
  Json document = {{"schema", "galley.tools-add/1"}, {"ok", true},
                   {"root", workspace.root_path()},  {"folder", folder.path},
                   {"hash", folder.hash.hex()},      {"added", is_added},
                   {"tools", Json::array()}};
  for (const CustomManifest& manifest : folder.manifests) {
    document["tools"].push_back({{"name", manifest.info.name},
                                 {"version", manifest.info.version},
                                 {"executable", manifest.executable},
                                 {"capabilities", manifest.info.capabilities},
                                 {"network", manifest.uses_network},
                                 {"secrets", manifest.secrets},
                                 {"writes", manifest.writes}});
  }
  return document;
}

/// Checks that the registry would accept the tools: valid names and schemas, no duplicate name.
Result<void> check_fits(const Workspace& workspace, const UserSettings& user,
                        const ToolFolder& folder) {
  GALLEY_ASSIGN(ToolRegistry * registry, tools_of(workspace).registry());
  GALLEY_ASSIGN(const auto kept, trusted_tools(user, workspace.root_path()));
  for (const TrustedTools& old : kept) {
    if (old.source != folder.path) continue;
    for (const std::string& name : old.names) registry->remove(name);
  }
  return add_tools_of(*registry, folder);
}

}  // namespace

Result<int> run_tools_add(Session& session) {
  if (!session.arguments().mcp.name.empty()) return add_mcp_server(session);
  if (session.arguments().words.size() != 1) {
    return fail(ErrorKind::kUsage, "usage.one_folder",
                "galley tools add takes one folder; a server is added with --mcp NAME -- COMMAND");
  }
  GALLEY_ASSIGN(Workspace * workspace, session.open_without_recovery());
  GALLEY_ASSIGN(const ToolFolder folder, ToolFolder::read(session.arguments().words.front()));
  GALLEY_TRY(check_fits(*workspace, session.user(), folder));
  const bool is_shown_only = session.arguments().dry_run;
  const bool is_vouched = is_trusted_in_advance(session.user(), folder.hash);
  const bool is_asked = !is_shown_only && !is_vouched && !session.is_unattended();
  if (!is_asked && !session.is_json()) session.print(shown_folder(folder));
  if (!is_shown_only) {
    GALLEY_TRY(refuse_inside_exec("tools add"));
    // An agent is refused on record, without a question.
    if (!is_vouched && session.transaction_options().agent.empty()) {
      GALLEY_TRY(require_person(
          session, shown_folder(folder),
          "Trust these tools for this workspace, as long as their files stay the same?"));
    }
    GALLEY_TRY(admit_tools(*workspace, session.transaction_options(), session.user(), folder));
  }
  if (session.is_json()) {
    session.print(folder_json(*workspace, folder, !is_shown_only));
  } else if (!is_shown_only) {
    const std::string& first = folder.manifests.front().info.name;
    session.say(fmt::format("added {}; take one away with: {}",
                            counted(folder.manifests.size(), "tool"),
                            session.hint("tools remove " + first)));
  }
  return kExitDone;
}

/// `tools trust NAME`: does the same for a stored server, and shows how its tools changed.
/// Errors: additionally kUsage `tool.unknown`.
Result<int> run_tools_trust(Session& session) {
  GALLEY_TRY(refuse_inside_exec("tools trust"));
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const auto kept, trusted_mcp_servers(session.user(), workspace->root_path()));
  const std::string& name = session.arguments().name;
  const auto found = std::find_if(kept.begin(), kept.end(), [&](const TrustedMcpServer& server) {
    return server.name == name;
  });
  if (found == kept.end()) {
    std::vector<std::string> names;
    for (const TrustedMcpServer& server : kept) names.push_back(server.name);
    return fail(ErrorKind::kUsage, "tool.unknown",
                "there is no MCP server named '" + printable_line(name) + "' here" +
                    did_you_mean(name, names) + "; galley tools add --mcp adds one");
  }
  ShownServer shown;
  shown.server = *found;
  GALLEY_ASSIGN(const McpReply reply, read_definitions(session, *workspace, shown.server));
  shown.called = reply.server;
  shown.changes = found->changes_to(shown.server.definitions);
  return ask_and_keep(session, *workspace, std::move(shown));
}

Result<int> run_tools_remove(Session& session) {
  GALLEY_TRY(refuse_inside_exec("tools remove"));
  GALLEY_ASSIGN(Workspace * workspace, session.open_without_recovery());
  const std::string& name = session.arguments().name;
  const bool is_trial = session.arguments().dry_run;
  GALLEY_ASSIGN(const auto kept, trusted_tools(session.user(), workspace->root_path()));
  const bool is_known = std::any_of(kept.begin(), kept.end(), [&](const TrustedTools& tools) {
    return std::find(tools.names.begin(), tools.names.end(), name) != tools.names.end();
  });
  GALLEY_ASSIGN(const auto servers, trusted_mcp_servers(session.user(), workspace->root_path()));
  const bool is_server =
      std::any_of(servers.begin(), servers.end(),
                  [&](const TrustedMcpServer& server) { return server.name == name; });
  if (!is_known && !is_server) {
    return fail(ErrorKind::kUsage, "tool.unknown",
                "there is no custom tool named '" + printable_line(name) +
                    "' and no MCP server of that name here; galley tools add DIR adds the tools of "
                    "a folder");
  }
  if (!is_trial && is_known) {
    GALLEY_TRY(remove_stored_tool(*workspace, session.transaction_options(), session.user(), name));
  } else if (!is_trial) {
    GALLEY_TRY(record_admission(*workspace, session.transaction_options(), AuditKind::kToolsRemoved,
                                {{"server", name}}));
    GALLEY_TRY(forget_mcp_server(session.user(), workspace->root_path(), name));
  }
  session.tell({{"schema", "galley.tools-remove/1"},
                {"ok", true},
                {"root", workspace->root_path()},
                {"name", name},
                {"removed", !is_trial}},
               fmt::format("{} {} called here", printable_line(name),
                           is_trial ? "would no longer be" : "can no longer be"));
  return kExitDone;
}

}  // namespace galley
