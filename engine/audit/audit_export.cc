#include "engine/audit/audit_export.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "engine/audit/audit_chain.h"
#include "engine/audit/recorded_calls.h"
#include "engine/commit/state_directory.h"
#include "staging/overlay/proposal_diff.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr std::string_view kTraceVersion = "0.1.0";

std::string line_of(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Returns the member if it has this type, else `none`: the log is text from a file.
json member(const json& record, const char* key, const json& none) {
  const auto found = record.find(key);
  const bool is_usable = found != record.end() &&
                         (found->type() == none.type() || (found->is_number() && none.is_number()));
  return is_usable ? *found : none;
}

/// Returns the path of the journal that has the old images of a record; empty before the commit.
std::string backup_path(const json& record, const std::map<std::string, TxId>& committed) {
  const auto tx = member(record, "tx", "").get<std::string>();
  auto id = committed_as(member(record, "kind", "").get<std::string>(), tx,
                         member(record, "execution_id", "").get<std::string>());
  const auto with = committed.find(tx);
  if (!id && record.contains("changed") && with != committed.end()) id = with->second;
  if (!id) return "";
  return std::string(StateDirectory::kName) + "/undo/" + journal_name(*id).str();
}

/// Builds an aiOS entry. It always has all members, with their types.
json aios_entry(const json& record, const std::map<std::string, TxId>& committed) {
  json entry = json::object();
  for (const char* key : {"execution_id", "timestamp", "tool", "agent", "task_id", "goal_id",
                          "reason", "risk_level"}) {
    entry[key] = member(record, key, "");
  }
  entry["input"] = member(record, "input", json::object());
  json output = member(record, "output", json::object());
  if (record.contains("error")) output = {{"success", false}, {"error", record.at("error")}};
  // The output of a call that made its own backup copy already names that copy.
  entry["backup_path"] = member(output, "backup_path", backup_path(record, committed));
  entry["output"] = std::move(output);
  entry["duration_ms"] = member(record, "duration_ms", 0);
  entry["capabilities_used"] = member(record, "capabilities_used", json::array());
  return entry;
}

/// A stable UUID for a transaction of a workspace (RFC 9562, version 8).
std::string trace_id(const StateDirectory& state, TxId id) {
  std::string name(state.workspace_id().begin(), state.workspace_id().end());
  name += "agent-trace " + id.file_name();
  std::string hex = ContentId::of(name).hex().substr(0, 32);
  hex[12] = '8';
  hex[16] = "89ab"[static_cast<size_t>(hex[16]) % 4];
  for (const size_t at : {8U, 13U, 18U, 23U}) hex.insert(at, "-");
  return hex;
}

/// The lines that the transaction added to one file; empty when it added none.
json trace_ranges(const ProposedFileDiff& file) {
  json ranges = json::array();
  const Lines after(*file.after);
  for (const ChangedRange& range : file.diff.script) {
    if (range.added() == 0) continue;
    const auto bytes = after.span(range.new_begin, range.new_end);
    ranges.push_back({{"start_line", range.new_begin + 1},
                      {"end_line", range.new_end},
                      {"content_hash", "sha256:" + ContentId::of(bytes).hex()}});
  }
  return ranges;
}

json trace_metadata(const TxRecord& record) {
  json about = {{"transaction", record.id.str()},
                {"tool", record.meta.tool},
                {"proposal", record.proposal.id().hex()}};
  if (!record.meta.agent.empty()) about["agent"] = record.meta.agent;
  if (!record.meta.message.empty()) about["reason"] = record.meta.message;
  if (record.meta.undoes) about["undoes"] = record.meta.undoes->str();
  return {{"galley", std::move(about)}};
}

Result<json> trace_of(const History& history, TxId id, std::string_view tool_version) {
  GALLEY_ASSIGN(const TxRecord record, history.load(id));
  ProposalDiffOptions options;
  options.find_renames = false;
  GALLEY_ASSIGN(const auto files, diff_proposal(record.proposal, options));
  json contributor = {{"type", record.meta.agent.empty() ? "unknown" : "ai"}};
  json trace = {{"version", kTraceVersion},
                {"id", trace_id(history.state(), id)},
                {"timestamp", rfc3339_utc(record.time_ns)},
                {"tool", {{"name", "galley"}, {"version", tool_version}}},
                {"files", json::array()},
                {"metadata", trace_metadata(record)}};
  for (const ProposedFileDiff& file : files) {
    json ranges = trace_ranges(file);
    if (ranges.empty()) continue;
    json conversation = {{"contributor", contributor}, {"ranges", std::move(ranges)}};
    trace["files"].push_back(
        {{"path", file.diff.new_path}, {"conversations", json::array({std::move(conversation)})}});
  }
  return trace;
}

}  // namespace

Result<void> export_aios(const Directory& state_root, const LineSink& sink) {
  GALLEY_ASSIGN(const RelPath log, RelPath::parse("audit.jsonl"));
  GALLEY_ASSIGN(const auto pairs, committed_transactions(state_root));
  const std::map<std::string, TxId> committed(pairs.begin(), pairs.end());
  uint64_t number = 0;
  std::optional<uint64_t> bad_line;
  GALLEY_TRY(for_each_audit_line(state_root, log, [&](std::string_view line, bool is_whole) {
    ++number;
    // A last line without a newline is an interrupted write, so it is not a record.
    if (!is_whole || bad_line) return;
    const json record = json::parse(line, nullptr, false);
    if (!record.is_object()) {
      bad_line = number;
      return;
    }
    sink(line_of(aios_entry(record, committed)));
  }));
  if (!bad_line) return {};
  return fail(ErrorKind::kInvalid, "audit.malformed",
              "line " + std::to_string(*bad_line) +
                  " of audit.jsonl is not a record; run `galley audit verify`");
}

Result<void> export_agent_trace(const History& history, std::string_view tool_version,
                                const LineSink& sink) {
  GALLEY_ASSIGN(const std::vector<TxId> ids, history.ids());
  for (const TxId id : ids) {
    GALLEY_ASSIGN(const json trace, trace_of(history, id, tool_version));
    sink(line_of(trace));
  }
  return {};
}

}  // namespace galley
