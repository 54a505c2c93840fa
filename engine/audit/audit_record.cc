#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "engine/audit/audit.h"
#include "tools/json_input.h"
#include "tools/redactor.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxTextBytes = 1024;  // longer texts are replaced by their hash
constexpr size_t kMaxKeyBytes = 256;
constexpr size_t kMaxFieldBytes = 2048;  // reason, message, ids
constexpr double kMaxExactInteger = 9007199254740992.0;
constexpr size_t kExecutionIdDigits = 16;
constexpr size_t kMaxChangedBytes = 8192;  // of the paths that a record lists

json named_by_hash(std::string_view text) {
  return json{{"bytes", text.size()}, {"sha256", ContentId::of(text).hex()}};
}

std::string valid_utf8(std::string text) {
  if (is_utf8(text)) return text;
  const std::string quoted = json_text(json(text));
  return json::parse(quoted).get<std::string>();
}

/// Joins a list of texts, for example the lines of a patch; nullopt for other lists.
std::optional<std::string> joined_lines(const ordered_json& list) {
  std::string text;
  for (const auto& item : list) {
    if (!item.is_string()) return {};
    text += item.get_ref<const std::string&>();
    text += '\n';
  }
  return text;
}

/// An upper bound for the length of `value` as text. It does not look at the characters.
size_t bound_of(const json& value) {
  constexpr size_t kMostOfANumber = 32;
  constexpr size_t kMostOfAByte = 6;  // \u0000
  const auto of_text = [](const std::string& text) {
    return text.size() * kMostOfAByte + sizeof("\"\",");
  };
  if (value.is_string()) return of_text(value.get_ref<const std::string&>());
  if (!value.is_structured()) return kMostOfANumber;
  size_t bytes = sizeof("[],");
  if (value.is_array()) {
    for (const auto& item : value) bytes += bound_of(item);
    return bytes;
  }
  for (const auto& [key, item] : value.get_ref<const json::object_t&>()) {
    bytes += of_text(key) + bound_of(item);
  }
  return bytes;
}

/// The limits up to which a document is recorded unchanged.
struct DocumentBounds {
  size_t max_bytes = 0;
  bool names_lines = false;  ///< long lists of texts are replaced by their hash, like long texts
};

json shortened(const ordered_json& value, bool is_secret, const DocumentBounds& bounds) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (is_secret && !text.empty()) return "[REDACTED:key]";
    if (text.size() > kMaxTextBytes) return named_by_hash(text);
    return redact_patterns(valid_utf8(text));
  }
  if (value.is_array()) {
    if (bounds.names_lines && !is_secret) {
      const auto text = joined_lines(value);
      if (text && text->size() > kMaxTextBytes) return named_by_hash(*text);
    }
    json out = json::array();
    for (const auto& item : value) out.push_back(shortened(item, is_secret, bounds));
    return out;
  }
  if (value.is_object()) {
    json out = json::object();
    for (const auto& [key, item] : value.items()) {
      out[valid_utf8(key.substr(0, kMaxKeyBytes))] = shortened(item, is_secret_key(key), bounds);
    }
    return out;
  }
  if (value.is_number_float()) {
    // Each number is written in one way: as it is after it was read again.
    const double number = value.get<double>();
    if (std::trunc(number) == number && std::abs(number) <= kMaxExactInteger) {
      return static_cast<int64_t>(number);
    }
    return number;
  }
  return value;
}

// Two documents, the context, the error and the fields together are below the limit of a record.
constexpr size_t kMaxDocumentBytes = kMaxAuditRecordBytes / 4;
constexpr size_t kMaxContextBytes = kMaxAuditRecordBytes / 8;

json document_of(const JsonDocument& document, const DocumentBounds& bounds) {
  json out = shortened(*document, false, bounds);
  if (bound_of(out) <= bounds.max_bytes) return out;
  const std::string text = json_text(out);
  return text.size() <= bounds.max_bytes ? out : named_by_hash(text);
}

/// Redacts a text before it is cut, because half a secret does not match a pattern.
std::string field_of(const std::string& value) {
  constexpr size_t kMaxLookedAt = 8 * kMaxFieldBytes;
  std::string text = redact_patterns(valid_utf8(value.substr(0, kMaxLookedAt)));
  text.resize(std::min(text.size(), kMaxFieldBytes));
  return valid_utf8(std::move(text));
}

void put_text(json& record, const char* key, const std::string& value) {
  if (!value.empty()) record[key] = field_of(value);
}

void put_list(json& record, const char* key, const std::vector<std::string>& values) {
  constexpr size_t kMaxListed = 16;
  if (values.empty()) return;
  json& list = record[key] = json::array();
  for (size_t i = 0; i < std::min(kMaxListed, values.size()); ++i) {
    list.push_back(valid_utf8(values[i].substr(0, kMaxKeyBytes)));
  }
}

json error_of(const ToolError& error) {
  json out = json::object();
  out["code"] = to_string(error.code);
  put_text(out, "reason", error.reason);
  put_text(out, "message", error.message);
  put_text(out, "cause", error.cause);
  return out;
}

/// Lists as many texts as fit, and the number of the others.
void put_texts(json& record, const std::string& key, const std::vector<std::string>& texts,
               size_t max_bytes) {
  if (texts.empty()) return;
  json listed = json::array();
  size_t bytes = 0;
  for (const std::string& text : texts) {
    bytes += text.size() + sizeof("\"\",");
    if (bytes > max_bytes) break;
    listed.push_back(valid_utf8(text));
  }
  if (listed.size() < texts.size()) record[key + "_more"] = texts.size() - listed.size();
  record[key] = std::move(listed);
}

}  // namespace

nlohmann::json audit_document(const AuditEvent& event, int64_t wall_ns) {
  json record = json::object();
  record["schema"] = "galley.audit-record/1";
  record["timestamp"] = rfc3339_utc(wall_ns);
  record["kind"] = to_string(event.kind);
  put_text(record, "execution_id", event.execution_id);
  put_text(record, "parent_execution_id", event.parent_execution_id);
  put_text(record, "call_id", event.call_id);
  put_text(record, "tool", event.tool);
  put_text(record, "agent", event.agent);
  // An empty owner is a person; an absent one means that the caller is the owner.
  if (event.owner) record["owner"] = field_of(*event.owner);
  put_text(record, "task_id", event.task_id);
  put_text(record, "goal_id", event.goal_id);
  put_text(record, "session_id", event.session_id);
  put_text(record, "reason", event.reason);
  put_text(record, "risk_level", event.risk_level);
  put_text(record, "tx", event.tx);
  put_text(record, "open_tx", event.open_tx);
  put_text(record, "proposal", event.proposal);
  if (event.input) record["input"] = document_of(event.input, {kMaxDocumentBytes});
  if (event.output) record["output"] = document_of(event.output, {kMaxDocumentBytes, true});
  if (!event.executions.empty()) {
    put_texts(record["output"], "executions", event.executions, kMaxDocumentBytes);
  }
  if (event.error) record["error"] = error_of(*event.error);
  put_texts(record, "changed", event.changed, kMaxChangedBytes);
  record["duration_ms"] = event.duration_ms;
  put_list(record, "capabilities_used", event.capabilities_used);
  put_list(record, "secrets_used", event.secrets_used);
  if (event.context) record["context"] = document_of(event.context, {kMaxContextBytes});
  if (event.execution_id.empty()) {
    record["execution_id"] =
        "exec-" + ContentId::of(json_text(record)).hex().substr(0, kExecutionIdDigits);
  }
  return record;
}

std::string audit_record(const AuditEvent& event, int64_t wall_ns) {
  return json_text(audit_document(event, wall_ns));
}

}  // namespace galley
