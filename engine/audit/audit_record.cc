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
  DocumentWriter(std::string& out, const DocumentBounds& bounds) : out_(out), bounds_(bounds) {}

  void write(const ordered_json& document) && {
    const size_t begin = out_.size();
    put(document, false);
    if (out_.size() - begin <= bounds_.max_bytes) return;
    const std::string name = named_by_hash(std::string_view(out_).substr(begin));
    out_.replace(begin, out_.npos, name);
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

  std::string& out_;
  DocumentBounds bounds_;
};

// Two documents, the context, the error and the fields together are below the limit of a record.
constexpr size_t kMaxDocumentBytes = kMaxAuditRecordBytes / 4;
constexpr size_t kMaxContextBytes = kMaxAuditRecordBytes / 8;

void put_document(AuditMembers& record, const char* key, const JsonDocument& document,
                  const DocumentBounds& bounds) {
  if (document) DocumentWriter(record.add(key), bounds).write(*document);
}

/// Redacts a text before it is cut, because half a secret does not match a pattern.
void append_field(std::string& out, std::string_view value) {
  constexpr size_t kMaxLookedAt = 8 * kMaxFieldBytes;
  if (value.size() <= kMaxFieldBytes && !may_have_pattern(value) && is_utf8(value)) {
    return append_json_text(out, value);
  }
  std::string text = redact_patterns(valid_utf8(std::string(value.substr(0, kMaxLookedAt))));
  text.resize(std::min(text.size(), kMaxFieldBytes));
  append_json_text(out, text);
}

void put_text(AuditMembers& record, const char* key, std::string_view value) {
  if (!value.empty()) append_field(record.add(key), value);
}

void put_list(AuditMembers& record, const char* key, const std::vector<std::string>& values) {
  constexpr size_t kMaxListed = 16;
  if (values.empty()) return;
  std::string& out = record.add(key);
  char before = '[';
  for (size_t i = 0; i < std::min(kMaxListed, values.size()); ++i) {
    out.push_back(std::exchange(before, ','));
    append_json_text(out, std::string_view(values[i]).substr(0, kMaxKeyBytes));
  }
  out.push_back(']');
}

/// Lists as many texts as fit.
json listed(const std::vector<std::string>& texts, size_t max_bytes) {
  json list = json::array();
  size_t bytes = 0;
  for (const std::string& text : texts) {
    bytes += text.size() + sizeof("\"\",");
    if (bytes > max_bytes) break;
    list.push_back(text);
  }
  return list;
}

/// Lists as many paths as fit, and the number of the others.
void put_changed(AuditMembers& record, const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  const json list = listed(paths, kMaxChangedBytes);
  record.add("changed") += json_text(list);
  if (list.size() == paths.size()) return;
  record.add("changed_more") += std::to_string(paths.size() - list.size());
}

void put_error(AuditMembers& record, const std::optional<ToolError>& error) {
  if (!error) return;
  AuditMembers members;
  put_text(members, "cause", error->cause);
  put_text(members, "code", to_string(error->code));
  put_text(members, "message", error->message);
  put_text(members, "reason", error->reason);
  record.add("error") += members.object();
}

void put_output(AuditMembers& record, const AuditEvent& event) {
  const DocumentBounds bounds = {kMaxDocumentBytes, true};
  if (event.executions.empty()) return put_document(record, "output", event.output, bounds);
  std::string text = "{}";
  if (event.output) {
    text.clear();
    DocumentWriter(text, bounds).write(*event.output);
  }
  json output = json::parse(text);
  const json list = listed(event.executions, kMaxDocumentBytes);
  const size_t left = event.executions.size() - list.size();
  if (left > 0) output["executions_more"] = left;
  output["executions"] = list;
  record.add("output") += json_text(output);
}

}  // namespace

std::string recorded_input(const ordered_json& document) {
  std::string text;
  DocumentWriter(text, {kMaxDocumentBytes}).write(document);
  return text;
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

AuditMembers AuditMembers::of(const json& object) {
  AuditMembers members;
  for (const auto& [key, value] : object.get_ref<const json::object_t&>()) {
    if (std::find(kChainKeys.begin(), kChainKeys.end(), key) != kChainKeys.end()) continue;
    members.add(key) += json_text(value);
  }
  return members;
}

std::string& AuditMembers::add(std::string_view key) {
  while (placed_ < places_.size() && kChainKeys[placed_] < key) places_[placed_++] = text_.size();
  text_.push_back(',');
  append_json_text(text_, key);
  text_.push_back(':');
  return text_;
}

std::string AuditMembers::object() const {
  std::string object = text_.empty() ? "{" : text_;
  object.front() = '{';
  object.push_back('}');
  return object;
}

/// The hash is that of the line without the member `hash`, which is then inserted at its place.
std::string AuditMembers::linked(AuditPosition& position) const {
  const auto place = [&](size_t key) { return key < placed_ ? places_[key] : text_.size(); };
  constexpr size_t kChainBytes = 200;
  std::string line;
  line.reserve(text_.size() + kChainBytes);
  line.append(text_, 0, place(1)).append(R"(,"prev":")").append(position.hash.hex()).append("\"");
  line.append(text_, place(1), place(2) - place(1));
  line.append(R"(,"seq":)").append(std::to_string(position.seq + 1));
  line.append(text_, place(2)).append("}\n");
  line.front() = '{';
  position = {position.seq + 1, ContentId::of(std::string_view(line).substr(0, line.size() - 1))};
  line.insert(place(0) + 1, R"("hash":")" + position.hash.hex() + "\",");
  return line;
}

AuditMembers audit_members(const AuditEvent& event, int64_t wall_ns) {
  AuditMembers record;
  put_text(record, "agent", event.agent);
  put_text(record, "call_id", event.call_id);
  put_list(record, "capabilities_used", event.capabilities_used);
  put_changed(record, event.changed);
  put_document(record, "context", event.context, {kMaxContextBytes});
  record.add("duration_ms") += std::to_string(event.duration_ms);
  put_error(record, event.error);
  put_text(record, "execution_id", event.execution_id);
  put_text(record, "goal_id", event.goal_id);
  put_document(record, "input", event.input, {kMaxDocumentBytes});
  put_text(record, "kind", to_string(event.kind));
  put_text(record, "open_tx", event.open_tx);
  put_output(record, event);
  // An empty owner is a person; an absent one means that the caller is the owner.
  if (event.owner) append_field(record.add("owner"), *event.owner);
  put_text(record, "parent_execution_id", event.parent_execution_id);
  put_text(record, "proposal", event.proposal);
  put_text(record, "reason", event.reason);
  put_text(record, "risk_level", event.risk_level);
  put_text(record, "rules", event.rules);
  put_text(record, "schema", "galley.audit-record/1");
  put_list(record, "secrets_used", event.secrets_used);
  put_text(record, "session_id", event.session_id);
  put_text(record, "task_id", event.task_id);
  put_text(record, "timestamp", rfc3339_utc(wall_ns));
  put_text(record, "tool", event.tool);
  put_text(record, "tx", event.tx);
  if (!event.execution_id.empty()) return record;
  AuditEvent named = event;
  named.execution_id = "exec-" + ContentId::of(record.object()).hex().substr(0, kExecutionIdDigits);
  return audit_members(named, wall_ns);
}

std::string audit_record(const AuditEvent& event, int64_t wall_ns) {
  return audit_members(event, wall_ns).object();
}

}  // namespace galley
