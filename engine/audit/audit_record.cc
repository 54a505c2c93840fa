#include <algorithm>
#include <cmath>
#include <map>
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

std::string named_by_hash(std::string_view text) {
  return R"({"bytes":)" + std::to_string(text.size()) + R"(,"sha256":")" +
         ContentId::of(text).hex() + "\"}";
}

std::string valid_utf8(std::string text) {
  if (is_utf8(text)) return text;
  const std::string quoted = json_text(json(text));
  return json::parse(quoted).get<std::string>();
}

/// Joins a long list of texts, for example the lines of a patch; nullopt for other lists.
std::optional<std::string> joined_lines(const ordered_json& list) {
  size_t bytes = 0;
  for (const auto& item : list) {
    if (!item.is_string()) return {};
    bytes += item.get_ref<const std::string&>().size() + 1;
  }
  if (bytes <= kMaxTextBytes) return {};
  std::string text;
  for (const auto& item : list) text.append(item.get_ref<const std::string&>()).push_back('\n');
  return text;
}

/// The limits up to which a document is recorded unchanged.
struct DocumentBounds {
  size_t max_bytes = 0;
  bool names_lines = false;  ///< long lists of texts are replaced by their hash, like long texts
};

/// Writes a document in the form of a record: redacted, shortened and with sorted keys.
class DocumentWriter {
 public:
  explicit DocumentWriter(const DocumentBounds& bounds) : bounds_(bounds) {}

  std::string write(const ordered_json& document) && {
    put(document, false);
    return out_.size() <= bounds_.max_bytes ? std::move(out_) : named_by_hash(out_);
  }

 private:
  void put(const ordered_json& value, bool is_secret) {
    if (value.is_string()) return put_text(value.get_ref<const std::string&>(), is_secret);
    if (value.is_array()) return put_list(value, is_secret);
    if (value.is_object()) return put_object(value);
    if (value.is_number_float()) return put_number(value.get<double>());
    out_ += json_text(value);
  }

  void put_text(const std::string& text, bool is_secret) {
    if (is_secret && !text.empty()) {
      out_ += R"("[REDACTED:key]")";
    } else if (text.size() > kMaxTextBytes) {
      out_ += named_by_hash(text);
    } else if (may_have_pattern(text)) {
      append_json_text(out_, redact_patterns(valid_utf8(text)));
    } else {
      append_json_text(out_, text);
    }
  }

  void put_list(const ordered_json& list, bool is_secret) {
    if (bounds_.names_lines && !is_secret) {
      if (const auto text = joined_lines(list)) {
        out_ += named_by_hash(*text);
        return;
      }
    }
    char before = '[';
    for (const auto& item : list) {
      out_.push_back(std::exchange(before, ','));
      put(item, is_secret);
    }
    out_ += before == '[' ? "[]" : "]";
  }

  void put_object(const ordered_json& object) {
    std::map<std::string, const ordered_json::object_t::value_type*> sorted;
    for (const auto& member : object.get_ref<const ordered_json::object_t&>()) {
      sorted[valid_utf8(member.first.substr(0, kMaxKeyBytes))] = &member;
    }
    char before = '{';
    for (const auto& [key, member] : sorted) {
      out_.push_back(std::exchange(before, ','));
      append_json_text(out_, key);
      out_.push_back(':');
      put(member->second, is_secret_key(member->first));
    }
    out_ += before == '{' ? "{}" : "}";
  }

  /// Each number is written in one way: as it is after it was read again.
  void put_number(double number) {
    const bool is_whole = std::trunc(number) == number && std::abs(number) <= kMaxExactInteger;
    out_ += is_whole ? std::to_string(static_cast<int64_t>(number)) : json_text(json(number));
  }

  DocumentBounds bounds_;
  std::string out_;
};

// Two documents, the context, the error and the fields together are below the limit of a record.
constexpr size_t kMaxDocumentBytes = kMaxAuditRecordBytes / 4;
constexpr size_t kMaxContextBytes = kMaxAuditRecordBytes / 8;

void put_document(AuditMembers& record, const char* key, const JsonDocument& document,
                  const DocumentBounds& bounds) {
  if (document) record[key] = DocumentWriter(bounds).write(*document);
}

/// Redacts a text before it is cut, because half a secret does not match a pattern.
std::string field_of(const std::string& value) {
  constexpr size_t kMaxLookedAt = 8 * kMaxFieldBytes;
  std::string quoted;
  if (value.size() <= kMaxFieldBytes && !may_have_pattern(value) && is_utf8(value)) {
    append_json_text(quoted, value);
    return quoted;
  }
  std::string text = redact_patterns(valid_utf8(value.substr(0, kMaxLookedAt)));
  text.resize(std::min(text.size(), kMaxFieldBytes));
  append_json_text(quoted, text);
  return quoted;
}

void put_text(AuditMembers& record, const char* key, const std::string& value) {
  if (!value.empty()) record[key] = field_of(value);
}

void put_list(AuditMembers& record, const char* key, const std::vector<std::string>& values) {
  constexpr size_t kMaxListed = 16;
  if (values.empty()) return;
  json list = json::array();
  for (size_t i = 0; i < std::min(kMaxListed, values.size()); ++i) {
    list.push_back(valid_utf8(values[i].substr(0, kMaxKeyBytes)));
  }
  record[key] = json_text(list);
}

/// Lists as many texts as fit, and the number of the others.
void put_texts(AuditMembers& record, const std::string& key, const std::vector<std::string>& texts,
               size_t max_bytes) {
  if (texts.empty()) return;
  json listed = json::array();
  size_t bytes = 0;
  for (const std::string& text : texts) {
    bytes += text.size() + sizeof("\"\",");
    if (bytes > max_bytes) break;
    listed.push_back(valid_utf8(text));
  }
  if (listed.size() < texts.size()) {
    record[key + "_more"] = std::to_string(texts.size() - listed.size());
  }
  record[key] = json_text(listed);
}

std::string canonical_text(const AuditMembers& members) {
  std::string text = "{";
  append_members(text, members.begin(), members.end());
  text.back() = '}';
  return text;
}

AuditMembers error_of(const ToolError& error) {
  AuditMembers out;
  put_text(out, "code", std::string(to_string(error.code)));
  put_text(out, "reason", error.reason);
  put_text(out, "message", error.message);
  put_text(out, "cause", error.cause);
  return out;
}

}  // namespace

std::string recorded_input(const ordered_json& document) {
  return DocumentWriter({kMaxDocumentBytes}).write(document);
}

bool is_recorded_whole(const json& document) {
  if (document.is_string()) {
    return document.get_ref<const std::string&>().find("[REDACTED:") == std::string::npos;
  }
  if (document.is_object() && document.size() == 2 && document.contains("bytes") &&
      document.contains("sha256")) {
    return false;
  }
  // The only element of another value is the value itself.
  return !document.is_structured() ||
         std::all_of(document.begin(), document.end(), is_recorded_whole);
}

AuditMembers audit_members(const AuditEvent& event, int64_t wall_ns) {
  AuditMembers record;
  put_text(record, "schema", "galley.audit-record/1");
  put_text(record, "timestamp", rfc3339_utc(wall_ns));
  put_text(record, "kind", std::string(to_string(event.kind)));
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
  put_text(record, "rules", event.rules);
  put_text(record, "proposal", event.proposal);
  put_document(record, "input", event.input, {kMaxDocumentBytes});
  put_document(record, "output", event.output, {kMaxDocumentBytes, true});
  if (!event.executions.empty()) {
    AuditMembers output;
    if (event.output) output = members_of(json::parse(record["output"]));
    put_texts(output, "executions", event.executions, kMaxDocumentBytes);
    record["output"] = canonical_text(output);
  }
  if (event.error) record["error"] = canonical_text(error_of(*event.error));
  put_texts(record, "changed", event.changed, kMaxChangedBytes);
  record["duration_ms"] = std::to_string(event.duration_ms);
  put_list(record, "capabilities_used", event.capabilities_used);
  put_list(record, "secrets_used", event.secrets_used);
  put_document(record, "context", event.context, {kMaxContextBytes});
  if (event.execution_id.empty()) {
    const std::string id = ContentId::of(canonical_text(record)).hex();
    put_text(record, "execution_id", "exec-" + id.substr(0, kExecutionIdDigits));
  }
  return record;
}

AuditMembers members_of(const json& object) {
  AuditMembers members;
  for (const auto& [key, value] : object.get_ref<const json::object_t&>()) {
    members[key] = json_text(value);
  }
  return members;
}

void append_members(std::string& text, AuditMembers::const_iterator from,
                    AuditMembers::const_iterator to) {
  for (; from != to; ++from) {
    append_json_text(text, from->first);
    text.append(":").append(from->second).append(",");
  }
}

std::string audit_record(const AuditEvent& event, int64_t wall_ns) {
  return canonical_text(audit_members(event, wall_ns));
}

}  // namespace galley
