#include "engine/calls/transcript.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/hash.h"
#include "tools/json_input.h"
#include "tools/schema.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kHeaderSchema = "galley.transcript/1";
constexpr std::string_view kCallSchema = "galley.transcript-call/1";
constexpr std::string_view kStepSchema = "galley.transcript-step/1";
constexpr std::array<std::string_view, 5> kKinds = {"absent", "file", "directory", "symlink",
                                                    "other"};
constexpr int kOctal = 8;

std::string_view kind_word(FileKind kind) {
  switch (kind) {
    case FileKind::kAbsent:
      return kKinds[0];
    case FileKind::kRegular:
      return kKinds[1];
    case FileKind::kDirectory:
      return kKinds[2];
    case FileKind::kSymlink:
      return kKinds[3];
    case FileKind::kOther:
      break;
  }
  return kKinds[4];
}

ordered_json node_document(const Node& node) {
  ordered_json out = {{"kind", kind_word(node.kind)}};
  if (node.kind == FileKind::kAbsent) return out;
  std::array<char, 8> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), node.mode, kOctal).ptr;
  out["mode"] = "0" + std::string(digits.data(), end);
  if (!node.content.is_none()) {
    out["sha256"] = node.content.hex();
    out["bytes"] = node.size;
  }
  return out;
}

ordered_json changes_document(const ChangeSet& changes) {
  ordered_json out = ordered_json::array();
  for (const Change& change : changes) {
    out.push_back({{"path", change.path.str()},
                   {"before", node_document(change.before)},
                   {"after", node_document(change.after)}});
  }
  return out;
}

void put(ordered_json& out, const char* key, const std::string& value) {
  if (!value.empty()) out[key] = value;
}

ordered_json options_document(const CallOptions& options) {
  ordered_json out = ordered_json::object();
  put(out, "call_id", options.call_id);
  put(out, "task_id", options.task_id);
  put(out, "goal_id", options.goal_id);
  put(out, "session_id", options.session_id);
  put(out, "reason", options.reason);
  put(out, "cwd", options.cwd);
  if (!options.environment.empty()) out["environment"] = options.environment;
  if (options.timeout) out["timeout_ms"] = options.timeout->count();
  if (options.dry_run) out["dry_run"] = true;
  if (options.deterministic) out["deterministic"] = true;
  return out;
}

/// The outcome of a call: whether it succeeded, and the exit status of its command.
ordered_json exit_document(const ToolResult& result) {
  ordered_json out = {{"ok", result.ok}};
  if (result.error) {
    out["code"] = to_string(result.error->code);
    out["reason"] = result.error->reason;
  }
  if (result.data && result.data->contains("exitCode")) out["status"] = (*result.data)["exitCode"];
  return out;
}

ordered_json resources_document(const ToolMeta& meta) {
  return {{"duration_ms", meta.duration_ms}, {"cpu_ms", meta.cpu_ms},
          {"peak_memory", meta.peak_memory}, {"bytes_written", meta.bytes_written},
          {"attempts", meta.attempts},       {"cached", meta.cached}};
}

/// Redacts text that looks like a secret by the name of its key or by its form.
ordered_json without_patterns(const ordered_json& value, bool is_secret) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    // A placeholder is not a secret.
    if (is_secret && !text.empty() && !text.starts_with("$ENV.")) return "[REDACTED:key]";
    return redact_patterns(text);
  }
  if (value.is_array()) {
    ordered_json out = ordered_json::array();
    for (const auto& item : value) out.push_back(without_patterns(item, is_secret));
    return out;
  }
  if (!value.is_object()) return value;
  ordered_json out = ordered_json::object();
  for (const auto& [key, item] : value.items()) {
    out[key] = without_patterns(item, is_secret_key(key));
  }
  return out;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

ordered_json named_document(const ordered_json& document) {
  const std::string text = json_text(document);
  return {{"bytes", text.size()}, {"sha256", ContentId::of(text).hex()}};
}

// --- reading --------------------------------------------------------------------------------

tl::unexpected<Error> malformed_line(size_t line, const std::string& why) {
  return fail(ErrorKind::kInvalid, "transcript.malformed",
              "line " + std::to_string(line) + " of the transcript is malformed: " + why);
}

const JsonSchema& line_schema() {
  static const auto schema = JsonSchema::compile(R"({"type": "object", "required": ["schema"],
    "properties": {
      "schema": {"enum": ["galley.transcript/1", "galley.transcript-call/1",
                          "galley.transcript-step/1"]},
      "did": {"type": "string"},
      "root": {"type": "string"}, "agent": {"type": "string"}, "tx": {"type": "string"},
      "began": {"type": "string"}, "tool": {"type": "string"}, "version": {"type": "string"},
      "arguments": {"type": "object"},
      "call": {"type": "object", "properties": {
        "environment": {"type": "object", "additionalProperties": {"type": "string"}},
        "dry_run": {"type": "boolean"}, "deterministic": {"type": "boolean"}}},
      "secrets": {"type": "array", "items": {"type": "string"}},
      "result": {"type": "object", "required": ["ok"]},
      "cut": {"type": "array"},
      "changed": {"type": "array", "items": {"type": "object",
        "required": ["path", "before", "after"], "properties": {"path": {"type": "string"},
          "before": {"$ref": "#/$defs/node"}, "after": {"$ref": "#/$defs/node"}}}}},
    "$defs": {"node": {"type": "object", "required": ["kind"], "properties": {
      "kind": {"enum": ["absent", "file", "directory", "symlink", "other"]},
      "mode": {"type": "string", "pattern": "^0[0-7]{1,3}$"},
      "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
      "bytes": {"type": "integer", "minimum": 0}}}}})");
  return *schema;
}

Node node_of(const json& document) {
  Node node;
  const std::string kind = text_member(document, "kind");
  for (const FileKind one :
       {FileKind::kRegular, FileKind::kDirectory, FileKind::kSymlink, FileKind::kOther}) {
    if (kind == kind_word(one)) node.kind = one;
  }
  const std::string mode = text_member(document, "mode");
  (void)std::from_chars(mode.data(), mode.data() + mode.size(), node.mode, kOctal);
  node.content = ContentId::from_hex(text_member(document, "sha256")).value_or(ContentId());
  node.size = document.value("bytes", uint64_t{0});
  return node;
}

CallOptions options_of(const json& document) {
  CallOptions options;
  options.call_id = text_member(document, "call_id");
  options.task_id = text_member(document, "task_id");
  options.goal_id = text_member(document, "goal_id");
  options.session_id = text_member(document, "session_id");
  options.reason = text_member(document, "reason");
  options.cwd = text_member(document, "cwd");
  options.dry_run = document.value("dry_run", false);
  options.deterministic = document.value("deterministic", false);
  if (const auto found = document.find("environment"); found != document.end()) {
    for (const auto& [name, value] : found->items()) options.environment[name] = value;
  }
  return options;
}

Result<void> take_changes(const json& changed, TranscriptCall& call) {
  for (const json& one : changed) {
    Change change;
    const auto path = RelPath::parse(text_member(one, "path"));
    if (!path) return malformed_line(call.line, path.error().message);
    change.path = *path;
    change.before = node_of(one["before"]);
    change.after = node_of(one["after"]);
    call.changes.push_back(std::move(change));
  }
  return {};
}

Result<TranscriptCall> call_of(const json& line, const TranscriptHeader& header, size_t number) {
  TranscriptCall call;
  call.header = header;
  call.line = number;
  call.is_cut = line.contains("cut");
  call.is_step = text_member(line, "schema") == kStepSchema;
  if (line.contains("changed")) GALLEY_TRY(take_changes(line["changed"], call));
  if (call.is_step) {
    call.tool = text_member(line, "did");
    return call;
  }
  for (const char* key : {"tool", "arguments", "result"}) {
    if (!line.contains(key)) return malformed_line(number, std::string("it has no ") + key);
  }
  call.tool = text_member(line, "tool");
  call.version = text_member(line, "version");
  call.arguments = std::make_shared<const ordered_json>(line["arguments"]);
  call.result = std::make_shared<const ordered_json>(line["result"]);
  if (line.contains("call")) call.options = options_of(line["call"]);
  if (line.contains("secrets")) call.secrets = line["secrets"].get<std::vector<std::string>>();
  return call;
}

}  // namespace

void TranscriptLines::add_secret(const std::string& name, const std::string& value) {
  redactor_.add("env." + name, value);
  names_.push_back(name);
}

std::string TranscriptLines::header(const TranscriptHeader& header) {
  ordered_json out = {{"schema", kHeaderSchema}, {"root", header.root}, {"began", header.began}};
  put(out, "agent", header.agent);
  put(out, "tx", header.tx);
  return json_text(out) + "\n";
}

std::string TranscriptLines::call(const TranscriptEntry& entry) const {
  ordered_json out = {{"schema", kCallSchema}, {"tool", entry.tool}};
  put(out, "version", entry.version);
  put(out, "execution_id", entry.result.meta.execution_id);
  out["arguments"] = entry.arguments ? *entry.arguments : ordered_json::object();
  out["call"] = options_document(entry.options);
  if (!entry.secrets.empty()) out["secrets"] = entry.secrets;
  out["exit"] = exit_document(entry.result);
  out["resources"] = resources_document(entry.result.meta);
  out["result"] = to_json(entry.result);
  for (const char* part : {"arguments", "call", "result"}) {
    out[part] = without_patterns(redactor_.redact_document(out[part]), false);
  }
  out["changed"] = changes_document(entry.changes);
  std::string text = json_text(out);
  for (const char* part : {"result", "arguments", "changed"}) {
    if (text.size() <= kMaxTranscriptLineBytes) break;
    ordered_json named = named_document(out[part]);
    if (std::string_view(part) == "result") {
      named = {{"ok", entry.result.ok}, {"data", std::move(named)}};
    }
    out[part] = std::string_view(part) == "changed" ? ordered_json::array() : std::move(named);
    out["cut"].push_back(part);
    text = json_text(out);
  }
  for (const std::string& name : names_) {
    replace_all(text, "[REDACTED:env." + name + "]", "$ENV." + name);
  }
  return text + "\n";
}

std::string TranscriptLines::step(const StagedStep& step) {
  ordered_json out = {{"schema", kStepSchema},
                      {"did", step.tool},
                      {"execution_id", step.execution_id},
                      {"changed", changes_document(step.changes)}};
  std::string text = json_text(out);
  if (text.size() > kMaxTranscriptLineBytes) {
    out["changed"] = ordered_json::array();
    out["cut"] = {"changed"};
    text = json_text(out);
  }
  return text + "\n";
}

Result<std::vector<TranscriptCall>> read_transcript(std::string_view text) {
  if (text.size() > kMaxTranscriptReadBytes) {
    return fail(ErrorKind::kQuota, "limit.transcript",
                "the transcript has " + std::to_string(text.size()) + " bytes, more than the " +
                    std::to_string(kMaxTranscriptReadBytes) + " that can be replayed at once");
  }
  std::vector<TranscriptCall> calls;
  TranscriptHeader header;
  size_t headers = 0;
  size_t number = 0;
  for (size_t start = 0; start < text.size();) {
    const size_t end = text.find('\n', start);
    if (end == std::string_view::npos) break;
    ++number;
    const auto line = parse_json(text.substr(start, end - start));
    start = end + 1;
    if (!line) return malformed_line(number, line.error().message);
    if (const auto violations = line_schema().check(*line); !violations.empty()) {
      return malformed_line(number, describe(violations));
    }
    if (text_member(*line, "schema") == kHeaderSchema) {
      header = {text_member(*line, "root"), text_member(*line, "agent"), text_member(*line, "tx"),
                text_member(*line, "began")};
      ++headers;
      continue;
    }
    if (headers == 0) return malformed_line(number, "a call is before the header");
    if (calls.size() == kMaxTranscriptCalls) {
      return fail(ErrorKind::kQuota, "limit.transcript",
                  "the transcript has more than " + std::to_string(kMaxTranscriptCalls) +
                      " calls; replay it in parts");
    }
    GALLEY_ASSIGN(TranscriptCall call, call_of(*line, header, number));
    call.group = headers - 1;
    calls.push_back(std::move(call));
  }
  if (headers > 0 || text.empty()) return calls;
  return malformed_line(1, "it is not a transcript: it has no header");
}

}  // namespace galley
