// Resources, prompts and completion.
#include <utility>

#include "base/encoding.h"
#include "base/text.h"
#include "engine/pipeline/workspace_state.h"
#include "server/session/call_results.h"
#include "server/session/workspace_features.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kTxPrefix = "galley://tx/";
constexpr std::string_view kHistoryPrefix = "galley://history/";

RpcError no_resource(const std::string& uri) {
  return {rpc::kInvalidParams, "there is no resource '" + uri.substr(0, 200) + "'", {{"uri", uri}}};
}

ordered_json resource(const std::string& uri, const std::string& name, const std::string& title,
                      const std::string& mime) {
  return {{"uri", uri}, {"name", name}, {"title", title}, {"mimeType", mime}};
}

ordered_json contents_of(const std::string& uri, const std::string& mime,
                         const std::string& bytes) {
  ordered_json content = {{"uri", uri}, {"mimeType", mime}};
  if (is_utf8(bytes)) {
    content["text"] = bytes;
  } else {
    content["blob"] = base64(bytes);
  }
  return {{"contents", ordered_json::array({std::move(content)})}};
}

/// Decodes `%2F` and other escapes of a URI.
std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](size_t at) {
      const std::string_view digits = "0123456789abcdef";
      const char c = at < text.size() ? static_cast<char>(text[at] | 0x20) : ' ';
      return digits.find(c);
    };
    const bool is_escape = text[i] == '%' && digit(i + 1) != std::string_view::npos &&
                           digit(i + 2) != std::string_view::npos;
    if (!is_escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(digit(i + 1) * 16 + digit(i + 2));
    i += 2;
  }
  return out;
}

ordered_json prompt(const char* name, const char* title, const char* description) {
  const ordered_json tx = {
      {"name", "tx"},
      {"description", "id of the transaction; without it the one of this connection"},
      {"required", false}};
  return {{"name", name},
          {"title", title},
          {"description", description},
          {"arguments", ordered_json::array({tx})}};
}

RpcError rpc_error_of(const Error& error) {
  return {rpc::kInternalError, error.reason + ": " + error.message};
}

}  // namespace

std::vector<ordered_json> WorkspaceFeatures::resources() {
  const std::shared_lock rules(rules_mutex_);
  std::vector<ordered_json> out;
  if (const auto stages = workspace_->stages()) {
    for (const Workspace::Stage& stage : *stages) {
      const std::string base = std::string(kTxPrefix) + stage.id;
      out.push_back(resource(base + "/diff", "diff of " + stage.id, "What is staged, as a diff",
                             "text/x-diff"));
      out.push_back(resource(base + "/status", "status of " + stage.id, "What is staged",
                             "application/json"));
    }
  }
  if (const auto commits = workspace_->log({.limit = kMaxListedCommits, .with_lines = false})) {
    for (const TxSummary& commit : *commits) {
      out.push_back(resource(std::string(kHistoryPrefix) + commit.id.str(),
                             "commit " + commit.id.str(), commit.message, "text/x-diff"));
    }
  }
  return out;
}

std::vector<ordered_json> WorkspaceFeatures::resource_templates() {
  const auto made = [](const char* uri, const char* name, const char* title, const char* mime) {
    return ordered_json{{"uriTemplate", uri}, {"name", name}, {"title", title}, {"mimeType", mime}};
  };
  return {made("galley://tx/{tx}/diff", "diff", "What a transaction changes", "text/x-diff"),
          made("galley://tx/{tx}/status", "status", "What a transaction changes, in short",
               "application/json"),
          made("galley://tx/{tx}/files/{+path}", "file", "A file as the transaction proposes it",
               "application/octet-stream"),
          made("galley://history/{id}", "commit", "What a commit changed", "text/x-diff")};
}

Result<std::string> WorkspaceFeatures::transaction_resource(const std::string& tx,
                                                            const std::string& part,
                                                            std::string& mime) {
  if (part == "diff") {
    mime = "text/x-diff";
    return transaction_tools_.diff_text(tx);
  }
  if (part == "status") {
    mime = "application/json";
    GALLEY_ASSIGN(const ordered_json status, transaction_tools_.status(tx));
    return pretty_json_text(status);
  }
  constexpr std::string_view kFiles = "files/";
  if (!part.starts_with(kFiles)) {
    return fail(ErrorKind::kNotFound, "resource.not_found", "there is no such part");
  }
  mime = "text/plain";
  // Reads through the tool, so that the rules about reading apply and the call is recorded.
  GALLEY_ASSIGN(auto transaction, open_.look(tx));
  const json arguments = {{"file", part.substr(kFiles.size())}};
  const CallResult called = transaction->call("Read", json_text(arguments));
  GALLEY_TRY(transaction.give_back());
  if (!called) return fail(called.error());
  const ordered_json& data = *called.result().data;
  std::string bytes = data.value("content", "");
  if (data.contains("encoding")) {
    std::string raw;
    if (from_base64(bytes, raw)) bytes = std::move(raw);
    mime = "application/octet-stream";
  }
  return bytes;
}

/// The description of a transaction in a prompt.
Result<std::string> WorkspaceFeatures::staged_summary(const std::string& tx) {
  GALLEY_ASSIGN(auto transaction, open_.look(tx));
  if (!transaction) return std::string("Nothing is staged.\n");
  GALLEY_ASSIGN(const Preview shown, transaction->preview());
  GALLEY_ASSIGN(const std::string diff, transaction_tools_.shown_diff(shown.proposal));
  GALLEY_TRY(transaction.give_back());
  size_t next = 0;
  std::string text = verdict_summary(shown.verdict) + "\n" + page_of(diff, 0, next);
  if (next > 0) text += "[the rest: galley_diff with offset " + std::to_string(next) + "]\n";
  return text;
}

std::optional<RpcError> WorkspaceFeatures::moved_folder() const {
  const auto here = check_not_moved(place_of(*workspace_));
  return here ? std::nullopt : std::optional(rpc_error_of(here.error()));
}

McpAnswer WorkspaceFeatures::read_resource(const std::string& uri, McpRequest& request) {
  if (auto moved = moved_folder()) return *std::move(moved);
  const auto rules = hold_rules(request.stop());
  if (!rules) return rpc_error_of(rules.error());
  std::string mime;
  Result<std::string> text = fail(ErrorKind::kNotFound, "resource.not_found", "");
  if (uri.starts_with(kTxPrefix)) {
    const std::string rest = decoded(uri.substr(kTxPrefix.size()));
    const size_t slash = rest.find('/');
    if (slash == std::string::npos || slash == 0) return no_resource(uri);
    text = transaction_resource(rest.substr(0, slash), rest.substr(slash + 1), mime);
  } else if (uri.starts_with(kHistoryPrefix)) {
    mime = "text/x-diff";
    const auto shown = workspace_->show(uri.substr(kHistoryPrefix.size()), options_.agent);
    text = shown ? render_diff(*shown) : Result<std::string>(fail(shown.error()));
  }
  if (text) return contents_of(uri, mime, *text);
  const bool is_missing =
      text.error().kind == ErrorKind::kNotFound || text.error().kind == ErrorKind::kUsage;
  if (is_missing) return no_resource(uri);
  return RpcError{rpc::kInvalidParams, text.error().reason + ": " + text.error().message};
}

std::vector<ordered_json> WorkspaceFeatures::prompts() {
  return {prompt("review_transaction", "Review a transaction",
                 "Asks for a review of what is staged, with its diff and what the gate says"),
          prompt("explain_refusal", "Explain a refusal",
                 "Asks why the gate refuses what is staged, and how to fix it")};
}

McpAnswer WorkspaceFeatures::get_prompt(const std::string& name, const json& arguments,
                                        McpRequest& request) {
  const bool is_review = name == "review_transaction";
  if (!is_review && name != "explain_refusal") {
    return RpcError{rpc::kInvalidParams, "there is no prompt named '" + name.substr(0, 64) + "'"};
  }
  if (auto moved = moved_folder()) return *std::move(moved);
  const auto rules = hold_rules(request.stop());
  if (!rules) return rpc_error_of(rules.error());
  std::string text = is_review
                         ? "Review this change. Say first whether it should be committed, then "
                           "what is wrong, by file and line.\n\n"
                         : "The gate judges this change as below. Explain why, and say which edit "
                           "would make it pass.\n\n";
  const auto staged = staged_summary(text_member(arguments, "tx"));
  if (!staged) return RpcError{rpc::kInvalidParams, staged.error().message};
  text += *staged;
  const ordered_json message = {{"role", "user"},
                                {"content", {{"type", "text"}, {"text", std::move(text)}}}};
  return ordered_json{{"description", is_review ? "Review a transaction" : "Explain a refusal"},
                      {"messages", ordered_json::array({message})}};
}

/// Entries of the directory that contains `typed`, in the transaction's proposed tree. A directory
/// ends in `/`, so that its contents are completed next.
std::vector<std::string> WorkspaceFeatures::paths_below(const std::string& typed,
                                                        const std::string& tx) {
  std::vector<std::string> out;
  const size_t slash = typed.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : typed.substr(0, slash);
  const json arguments = {{"path", folder.empty() ? "." : folder}};
  const auto list = [&](Transaction& transaction) {
    const CallResult called = transaction.call("List", json_text(arguments));
    if (!called) return;
    const ordered_json& data = *called.result().data;
    const auto entries = data.find("entries");
    if (entries == data.end()) return;
    for (const ordered_json& entry : *entries) {
      if (!entry.is_object() || !entry.contains("name")) continue;
      std::string path = (folder.empty() ? "" : folder + "/") + entry["name"].get<std::string>();
      if (entry.value("type", "") == "directory") path += "/";
      if (path.starts_with(typed) && out.size() < kMaxCompletedPaths) out.push_back(path);
    }
  };
  auto transaction = open_.look(tx);
  if (!transaction) return out;
  if (*transaction) {
    list(**transaction);
    return out;
  }
  if (auto view = workspace_->begin(open_.who())) list(*view);
  return out;
}

std::vector<std::string> WorkspaceFeatures::complete(const Completion& wanted) {
  const std::string& typed = wanted.typed;
  const std::string& argument = wanted.argument;
  std::vector<std::string> out;
  if (moved_folder()) return out;
  const auto rules = hold_rules();
  if (!rules) return out;
  if (argument == "path") {
    const auto tx = wanted.resolved.find("tx");
    const bool is_named = tx != wanted.resolved.end() && tx->is_string();
    return paths_below(typed, is_named ? tx->get<std::string>() : std::string());
  }
  if (argument == "tx") {
    if (const auto stages = workspace_->stages()) {
      for (const Workspace::Stage& stage : *stages) {
        if (stage.id.starts_with(typed)) out.push_back(stage.id);
      }
    }
  }
  if (argument == "id") {
    if (const auto commits = workspace_->log({.limit = kMaxCompletedPaths, .with_lines = false})) {
      for (const TxSummary& commit : *commits) {
        if (commit.id.str().starts_with(typed)) out.push_back(commit.id.str());
      }
    }
  }
  return out;
}

}  // namespace galley
