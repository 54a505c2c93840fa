#include "server/session/call_results.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "engine/calls/executor.h"
#include "engine/policy/finding.h"
#include "server/session/conflict_answers.h"
#include "staging/printing/git_diff.h"
#include "staging/text/lines.h"
#include "tools/json_input.h"
#include "tools/perform.h"

namespace galley {

namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxListed = 200;         // changes and findings of one answer
constexpr size_t kMaxNotes = 20;           // about leniencies in an edit
constexpr size_t kMembersOfAResult = 5;    // with `_meta` and `resultType`
constexpr size_t kMaxCommandChanges = 20;  // paths above a command's output

char letter_of(const Change& change) {
  if (change.renamed_from) return 'R';
  if (change.is_create()) return 'A';
  if (change.is_delete()) return 'D';
  return change.is_type_change() ? 'T' : 'M';
}

ordered_json finding_json(const Finding& finding) {
  ordered_json out = {{"rule", finding.rule}, {"severity", severity_name(finding.severity)}};
  if (!finding.path.empty()) out["path"] = finding.path;
  if (finding.line > 0) out["line"] = finding.line;
  if (finding.column > 0) out["column"] = finding.column;
  out["message"] = finding.message;
  if (!finding.remedy.empty()) out["remedy"] = finding.remedy;
  if (!finding.output.empty()) out["output"] = finding.output;
  return out;
}

/// Each field stays in one line: a name may have line breaks, and would forge lines otherwise.
std::string finding_text(const Finding& finding) {
  std::string text = printable_line(finding.path);
  if (finding.line > 0) text += ":" + std::to_string(finding.line);
  if (finding.line > 0 && finding.column > 0) text += ":" + std::to_string(finding.column);
  if (!text.empty()) text += ": ";
  text += std::string(severity_name(finding.severity)) + " [" + finding.rule + "] " +
          printable_line(finding.message);
  if (!finding.remedy.empty()) text += "\n  to go on: " + printable_line(finding.remedy);
  if (!finding.output.empty()) text += "\n" + finding.output;
  return text;
}

/// The number of paths that a command changed; `changes` may list fewer.
size_t changes_of_command(const ordered_json& data) {
  return std::max(data["changes"].size(), data.value("stagedPaths", size_t{0}));
}

/// The result of a command and the paths that it changed, because files that it left are staged
/// too.
std::string command_text(const ordered_json& data) {
  const int status = data.value("exitCode", 0);
  std::string text = "exit " + std::to_string(status);
  if (status != 0 && data.contains("staged")) {
    const bool is_kept = data["staged"] == true;
    if (!is_kept) text += "; nothing that it changed is staged";
    if (is_kept && data.value("stagedPaths", 0) > 0) text += "; its changes are kept";
  }
  text += "\n";
  if (data.contains("kept")) {
    text += "for what is left out below: galley_output with id " + text_member(data, "kept") + "\n";
  }
  const size_t head = text.size();
  if (data.contains("lost")) {
    for (const ordered_json& lost : data["lost"]) {
      text += "note: " + printable_line(lost.get<std::string>()) + "\n";
    }
  }
  if (data.contains("changes")) {
    size_t shown = 0;
    for (const ordered_json& change : data["changes"]) {
      if (++shown > kMaxCommandChanges) break;
      text +=
          text_member(change, "change") + " " + name_in_line(text_member(change, "path")) + "\n";
    }
    if (shown > kMaxCommandChanges) {
      text += "and " + std::to_string(changes_of_command(data) - kMaxCommandChanges) +
              " more paths: galley_status\n";
    }
  }
  if (text.size() > head) text += "[stdout]\n";
  text += text_member(data, "stdout");
  const std::string errors = text_member(data, "stderr");
  if (!errors.empty()) text += "\n[stderr]\n" + errors;
  return text;
}

/// The content of an MCP server's answer: text blocks as text, all others as JSON.
std::string block_texts(const ordered_json& content) {
  std::string text;
  for (const ordered_json& block : content) {
    const bool is_text = block.is_object() && block.contains("text") && block["text"].is_string();
    text += (text.empty() ? "" : "\n") +
            (is_text ? block["text"].get<std::string>() : pretty_json_text(block));
  }
  return text;
}

/// The argument of this tool with which it reads a file from a line on.
std::string argument_from_line(const ToolInfo& tool, int64_t line, int64_t total) {
  const auto takes = [&](std::string_view name) {
    return tool.input_schema.find('"' + std::string(name) + '"') != std::string::npos;
  };
  if (takes("view_range")) return "view_range [" + std::to_string(line) + ", -1]";
  if (takes("tail")) return "tail " + std::to_string(total - line + 1);
  return "offset " + std::to_string(line);
}

bool is_part_of_file(const ordered_json& data) {
  return data.contains("startLine") && data.contains("content") && data["content"].is_string() &&
         !data.contains("encoding");
}

/// What is not in the first `end` bytes of a file's content, and how to get it: the next lines, or
/// the rest of a line that is longer than a page, which no line number can name.
std::string rest_of_file(const ordered_json& data, size_t end, const ToolInfo& tool) {
  const std::string& text = data["content"].get_ref<const std::string&>();
  const auto first = data.value("startLine", int64_t{1});
  const auto total = data.value("totalLines", int64_t{0});
  const auto end_of_page = text.begin() + static_cast<ptrdiff_t>(end);
  int64_t next = first + std::count(text.begin(), end_of_page, '\n');
  if (next > first) {
    return "lines " + std::to_string(first) + " to " + std::to_string(next - 1) + " of " +
           std::to_string(total) + "; the rest: " + argument_from_line(tool, next, total);
  }
  const size_t line_end = text.find('\n', end);
  const bool is_ended = line_end != std::string::npos;
  const size_t missing = (is_ended ? line_end : text.size()) - end;
  std::string note = "line " + std::to_string(first) + " of " + std::to_string(total) +
                     " without its last " + std::to_string(missing) +
                     " bytes, which a command shows: sed -n " + std::to_string(first) + "p " +
                     shell_word(text_member(data, "filePath")) + " | tail -c " +
                     std::to_string(missing + (is_ended ? 1 : 0));
  if (++next <= total) note += "; the next line: " + argument_from_line(tool, next, total);
  return note;
}

static_assert(kMaxUncutBytes <= kMaxPageText);

/// The content of a file or a search; for a long file its first lines, and how to get the rest.
std::string content_text(const ordered_json& data, const ToolInfo& tool) {
  const std::string text = text_member(data, "content");
  if (text.size() <= kMaxPageText || !is_part_of_file(data)) return text;
  size_t end = 0;
  const std::string page = page_of(text, 0, end);
  return "[" + rest_of_file(data, end, tool) + "]\n" + page;
}

/// Shortens the content of a long file to a page that needs no further cut.
ordered_json with_page_of_file(ordered_json data, const ToolInfo& tool) {
  if (!is_part_of_file(data) || json_text(data).size() <= kMaxStructureText) return data;
  size_t end = 0;
  std::string page = structured_page_of(data["content"].get_ref<const std::string&>(), 0, end);
  if (end == 0) return data;
  ordered_json out;
  out["leftOut"]["/content"] = rest_of_file(data, end, tool);
  out.update(data);
  if (out.contains("numLines")) out["numLines"] = Lines(page).size();
  out["content"] = std::move(page);
  return out;
}

bool is_plain_placement(const ordered_json& edit) {
  return text_member(edit, "step") == "exact" && edit.value("offset", 0) == 0 &&
         edit.value("fuzz", 0) == 0 && !edit.contains("indent");
}

/// Edits that fit only inexactly, or away from the named place.
std::vector<std::string> placements_of(const ordered_json& report) {
  std::vector<std::string> notes;
  for (const ordered_json& file : report.value("files", ordered_json::array())) {
    for (const ordered_json& edit : file.value("placed", ordered_json::array())) {
      if (is_plain_placement(edit)) continue;
      const int offset = edit.value("offset", 0);
      const int fuzz = edit.value("fuzz", 0);
      notes.push_back(name_in_line(text_member(file, "path")) + ": edit " +
                      std::to_string(edit.value("edit", 0)) + " is at line " +
                      std::to_string(edit.value("line", 0)) + ", which fits by " +
                      text_member(edit, "step") +
                      (offset == 0 ? "" : ", offset " + std::to_string(offset)) +
                      (fuzz == 0 ? "" : ", fuzz " + std::to_string(fuzz)));
    }
  }
  return notes;
}

}  // namespace

std::string notes_of_edit(const ordered_json& data) {
  const auto report = data.find("report");
  if (report == data.end() || !report->is_object()) return {};
  std::vector<std::string> notes = placements_of(*report);
  for (const ordered_json& one : report->value("leniencies", ordered_json::array())) {
    notes.push_back(text_member(one, "message") + " [" + text_member(one, "rule") + "]");
  }
  std::string text;
  for (size_t i = 0; i < std::min(notes.size(), kMaxNotes); ++i) text += "note: " + notes[i] + "\n";
  if (notes.size() > kMaxNotes) {
    text += "and " + counted(notes.size() - kMaxNotes, "more note") + "\n";
  }
  return text;
}

namespace {

std::string text_of_data(const ordered_json& data, const ToolInfo& tool, const std::string& tx) {
  std::string text;
  if (data.contains("exitCode")) {
    text = command_text(data);
  } else if (data.contains("content") && data["content"].is_string()) {
    text = content_text(data, tool);
    if (data.contains("encoding")) text = "[" + text_member(data, "encoding") + "]\n" + text;
  } else if (data.contains("content") && data["content"].is_array()) {
    text = block_texts(data["content"]);
  } else if (data.contains("changes")) {
    // A whole diff names the paths.
    const bool is_shown =
        data.contains("diff") && !data.contains("diffTruncated") && !data.contains("diffLeftOut");
    for (const ordered_json& change : data["changes"]) {
      if (is_shown) break;
      text +=
          text_member(change, "change") + " " + name_in_line(text_member(change, "path")) + "\n";
    }
    if (data["changes"].empty()) text = "nothing changed\n";
    text += notes_of_edit(data);
    text += text_member(data, "diff");
  } else {
    text = pretty_json_text(data);
  }
  const bool is_staged = data.contains("staged") && data["staged"] == true;
  if (is_staged && !tx.empty()) {
    text = "staged in transaction " + tx + "; not on disk before galley_commit\n" + text;
  }
  return text;
}

ordered_json text_block(std::string text) {
  ordered_json block = {{"type", "text"}, {"text", ""}};
  block["text"].get_ref<std::string&>() = std::move(text);
  return block;
}

}  // namespace

void tell_ended(const std::string& tx, std::string_view how, ordered_json& result) {
  result["structuredContent"]["endedTx"] = tx;
  std::string& text = result["content"][0]["text"].get_ref<std::string&>();
  text = "transaction " + tx + " " + std::string(how) + "\n" + text;
}

std::string page_of(std::string_view text, size_t offset, size_t& next, size_t max_bytes) {
  next = 0;
  if (offset >= text.size()) return {};
  const std::string_view rest = text.substr(offset);
  if (rest.size() <= max_bytes) return std::string(rest);
  size_t end = rest.rfind('\n', max_bytes - 1);
  end = end == std::string_view::npos ? max_bytes : end + 1;
  while (end > 1 && (static_cast<uint8_t>(rest[end]) & 0xC0U) == 0x80U) --end;
  next = offset + end;
  return std::string(rest.substr(0, end));
}

std::string structured_page_of(std::string_view text, size_t offset, size_t& next) {
  for (size_t most = kMaxPageText;; most /= 2) {
    std::string page = page_of(text, offset, next, most);
    if (most < 2 || json_text(ordered_json(page)).size() <= kMaxStructuredPage) return page;
  }
}

ordered_json call_result(std::string text, ordered_json structured) {
  if (auto exact = exact_texts(structured); !exact.empty() && structured.is_object()) {
    structured["not_utf8"] = std::move(exact);
  }
  std::string page = std::move(text);
  if (page.size() > kMaxResultText) {
    size_t next = 0;
    const size_t whole = page.size();
    page = page_of(page, 0, next);
    page += "\n[" + std::to_string(whole - next) +
            " more bytes are left out: ask for less, by a range, a narrower pattern or a limit]";
  }
  // A member that is added to a full object copies the members before it.
  ordered_json::object_t out;
  out.reserve(kMembersOfAResult);
  out.emplace("content", ordered_json::array())
      .first->second.push_back(text_block(std::move(page)));
  out.emplace("structuredContent", bounded_structure(std::move(structured)));
  out.emplace("isError", false);
  return out;
}

namespace {

/// The details of an error without what their correction has in another form.
ordered_json concise_details(ordered_json details) {
  if (!details.contains("correction") || !details.contains("files")) return details;
  for (ordered_json& file : details["files"]) {
    if (file.contains("earlier")) file["earlier"].erase("rebased");
    for (ordered_json& failure : file["failed"]) {
      for (const char* repeated : {"expected", "word_diff", "rebased"}) failure.erase(repeated);
    }
  }
  return details;
}

}  // namespace

ordered_json failed_result(const ToolError& error) {
  ordered_json structured;
  structured["error"]["code"] = to_string(error.code);
  structured["error"]["reason"] = error.reason;
  // The details have what an edit report says after its first line, and the correction.
  const bool is_in_details =
      error.details && (error.details->contains("files") || error.details->contains("correction"));
  structured["error"]["message"] =
      is_in_details ? error.message.substr(0, error.message.find('\n')) : error.message;
  // A message that contains an edit report or a diff has lines; in others, a name may have them.
  const bool has_lines =
      error.details && (error.details->contains("files") || error.details->contains("diff"));
  std::string text =
      error.reason + ": " + (has_lines ? error.message : printable_line(error.message));
  if (error.details) {
    structured["error"]["details"] = concise_details(*error.details);
    ordered_json shown = *error.details;
    if (!has_lines && shown.is_object()) shown.erase("correction");  // the message has it
    if (!has_lines && !shown.empty()) text += "\n" + pretty_json_text(shown);
  }
  ordered_json out = call_result(std::move(text), std::move(structured));
  out["isError"] = true;
  return out;
}

ordered_json failed_result(const Error& error) { return failed_result(tool_error_from(error)); }

namespace {

/// The schema of objects that have this member.
ordered_json object_with(const char* member, const ordered_json& schema) {
  return {{"type", "object"},
          {"properties", {{member, schema}}},
          {"required", ordered_json::array({member})}};
}

}  // namespace

ordered_json answer_schema(ordered_json of_success) {
  // call_result() adds it to any answer.
  if (of_success.contains("properties"))
    of_success["properties"]["not_utf8"] = {{"type", "object"}};
  const ordered_json object = {{"type", "object"}};
  const ordered_json refusals = {{"enum", {"refused", "conflict"}}};
  return {{"type", "object"},
          {"anyOf", ordered_json::array({std::move(of_success), object_with("error", object),
                                         object_with("outcome", refusals),
                                         object_with("leftOut", object)})}};
}

namespace {

/// Whether the report of an edit says nothing that the diff does not show.
bool is_plain_report(const ordered_json& report) {
  const bool is_staged = report.value("complete", false) && report.value("staged", false);
  if (!is_staged || !report.contains("files")) return false;
  if (report.contains("leniencies") && !report["leniencies"].empty()) return false;
  for (const ordered_json& file : report["files"]) {
    const bool has_more = file.contains("refusal") || file.contains("earlier") ||
                          (file.contains("failed") && !file["failed"].empty());
    if (has_more) return false;
    if (!file.contains("placed")) continue;
    for (const ordered_json& edit : file["placed"]) {
      if (!is_plain_placement(edit)) return false;
    }
  }
  return true;
}

/// The data of a call without what it repeats: the texts of the request, and a second form of the
/// diff.
ordered_json concise(const ordered_json& data) {
  if (!data.contains("diff")) return data;
  static constexpr std::array<std::string_view, 4> kRepeated = {"structuredPatch", "oldString",
                                                                "newString", "replaceAll"};
  ordered_json::object_t out;
  out.reserve(data.size());
  for (const auto& [key, value] : data.get_ref<const ordered_json::object_t&>()) {
    const bool is_repeated = std::find(kRepeated.begin(), kRepeated.end(), key) != kRepeated.end();
    const bool is_plain = key == "report" && value.is_object() && is_plain_report(value);
    if (!is_repeated && !is_plain) out.emplace_back(key, value);
  }
  return out;
}

/// The tool itself lists only the first changes, so a further cut does not know the number.
void name_all_changes(size_t all, ordered_json& structured) {
  const auto listed = structured.find("changes");
  if (listed == structured.end() || listed->size() == all) return;
  structured["leftOut"]["/changes"] = "the last " + std::to_string(all - listed->size()) + " items";
}

}  // namespace

ordered_json tool_call_result(const ToolResult& result, const ToolInfo& tool, const std::string& tx,
                              const std::vector<std::string>& questions) {
  if (const std::string* unrecorded = unrecorded_warning(result.meta)) {
    ToolResult rest = result;
    rest.meta.unrecorded.reset();
    ordered_json out = tool_call_result(rest, tool, tx, questions);
    std::string text = "warning: " + printable_line(*unrecorded) + "\n";
    out["content"][0]["text"] = text + out["content"][0]["text"].get<std::string>();
    return out;
  }
  if (!result.ok) return failed_result(*result.error);
  std::string text = text_of_data(*result.data, tool, tx);
  if (const std::string* unreadable = unreadable_warning(result.meta)) {
    text += (text.empty() || text.ends_with('\n') ? "" : "\n") + printable_line(*unreadable) + "\n";
  }
  ordered_json structured = with_page_of_file(concise(*result.data), tool);
  for (const std::string& question : questions) {
    structured["needsApproval"].push_back(question);
    text.insert(0, "a person will be asked at the commit: " + printable_line(question) + "\n");
  }
  ordered_json out = call_result(std::move(text), std::move(structured));
  if (result.data->contains("stagedPaths") && result.data->contains("changes")) {
    name_all_changes(changes_of_command(*result.data), out["structuredContent"]);
  }
  return out;
}

namespace {

/// Whether a listed finding has the words of the refusal, which are then not repeated.
bool is_told_by_findings(const Refusal& refusal, const Verdict& verdict) {
  const auto& all = verdict.findings;
  const auto end = all.begin() + static_cast<ptrdiff_t>(std::min(all.size(), kMaxListed));
  return std::any_of(all.begin(), end, [&](const Finding& one) {
    return one.severity == Finding::Severity::kError && !one.message.empty() &&
           refusal.message.find(one.message) != std::string::npos;
  });
}

}  // namespace

ordered_json verdict_answer(const Verdict& verdict) {
  ordered_json out = {{"approved", verdict.is_approved()}};
  if (const auto* refusal = std::get_if<Refusal>(&verdict.decision)) {
    out["reason"] = refusal->reason;
    if (!is_told_by_findings(*refusal, verdict)) out["message"] = refusal->message;
  }
  out["findings"] = ordered_json::array();
  for (const Finding& finding : verdict.findings) {
    if (out["findings"].size() >= kMaxListed) {
      out["findingsLeftOut"] = verdict.findings.size() - kMaxListed;
      break;
    }
    out["findings"].push_back(finding_json(finding));
  }
  out["validators"] = ordered_json::array();
  for (const Verdict::Run& run : verdict.runs) {
    ordered_json one = {{"name", run.name}};
    one["outcome"] = run.outcome == Verdict::Run::Outcome::kPassed     ? "passed"
                     : run.outcome == Verdict::Run::Outcome::kFindings ? "findings"
                                                                       : "unavailable";
    if (!run.message.empty()) one["message"] = run.message;
    out["validators"].push_back(std::move(one));
  }
  return out;
}

std::string verdict_summary(const Verdict& verdict) {
  std::string text = "the gate approves\n";
  if (const auto* refusal = std::get_if<Refusal>(&verdict.decision)) {
    text = "the gate refuses: " + refusal->reason;
    if (!is_told_by_findings(*refusal, verdict)) text += ": " + printable_line(refusal->message);
    text += "\n";
  }
  size_t shown = 0;
  for (const Finding& finding : verdict.findings) {
    if (++shown > kMaxListed) break;
    text += finding_text(finding) + "\n";
  }
  if (verdict.findings.size() > kMaxListed) {
    text += "and " + std::to_string(verdict.findings.size() - kMaxListed) + " more findings\n";
  }
  return text;
}

void add_changes(const ChangeSet& changes, ordered_json& structured) {
  ordered_json out = ordered_json::array();
  for (const Change& change : changes) {
    if (out.size() >= kMaxListed) break;
    ordered_json one = {{"path", change.path.str()}, {"change", std::string(1, letter_of(change))}};
    if (change.renamed_from) one["from"] = change.renamed_from->str();
    out.push_back(std::move(one));
  }
  structured["changes"] = std::move(out);
  structured["count"] = changes.size();
}

ordered_json with_comments(ordered_json result, const std::vector<ReviewComment>& comments) {
  if (comments.empty()) return result;
  std::string text = "a person commented on this transaction:\n";
  ordered_json list = ordered_json::array();
  for (const ReviewComment& one : comments) {
    list.push_back({{"on", one.on}, {"text", one.text}});
    text += name_in_line(one.on) + ": " + one.text + "\n";
  }
  result["structuredContent"]["comments"] = std::move(list);
  std::string& said = result["content"][0]["text"].get_ref<std::string&>();
  said += (said.empty() || said.ends_with('\n') ? "" : "\n") + text;
  return result;
}

std::string changes_summary(const ChangeSet& changes) {
  std::string text;
  size_t shown = 0;
  for (const Change& change : changes) {
    if (++shown > kMaxListed) break;
    text += std::string(1, letter_of(change)) + " " + name_in_line(change.path.str()) + "\n";
  }
  if (changes.size() > kMaxListed) {
    text += "and " + std::to_string(changes.size() - kMaxListed) + " more\n";
  }
  return text;
}

namespace {

constexpr size_t kShownProposalDigits = 12;

ordered_json refused_result(const Refused& refused, const std::string& tx) {
  ordered_json structured = {
      {"outcome", "refused"}, {"tx", tx}, {"verdict", verdict_answer(refused.preview.verdict)}};
  std::string text = "refused, nothing is on disk";
  if (!tx.empty()) text += "; the transaction stays open";
  text += "\n" + verdict_summary(refused.preview.verdict);
  if (refused.refusal().reason == "gate.approval_missing") {
    // A proposal that is not kept by a transaction can be found only by its full id.
    const std::string whole = refused.preview.proposal.id().hex();
    const std::string id = tx.empty() ? whole : whole.substr(0, kShownProposalDigits);
    const std::string how = "a person has to run this in their own terminal: galley approve " + id +
                            "; then send the same call again";
    structured["approval"] = {{"id", id}, {"how", how}};
    text += how + "\n";
  }
  ordered_json out = call_result(std::move(text), std::move(structured));
  out["isError"] = true;
  return out;
}

}  // namespace

ordered_json conflict_result(const Conflict& conflict, const std::vector<PathConflict>& listed,
                             const std::string& tx) {
  ordered_json structured = {{"outcome", "conflict"}, {"tx", tx}, {"reason", conflict.reason}};
  std::string text = "the workspace changed underneath, nothing is on disk; ";
  if (listed.empty()) {
    text += tx.empty() ? "look at these files again\n"
                       : "read these files again, take over what they are now with galley_rebase, "
                         "then commit again\n";
    structured["count"] = conflict.paths.size();
    for (const Conflict::Path& path : conflict.paths) {
      if (structured["paths"].size() >= kMaxListed) break;
      ordered_json one = {{"path", path.path.str()}, {"message", path.message}};
      if (tx.empty() && !path.diff.empty()) one["diff"] = path.diff;
      structured["paths"].push_back(std::move(one));
      text += printable_line(path.message) + "\n" + (tx.empty() ? path.diff : std::string());
    }
    if (conflict.paths.size() > kMaxListed) {
      text += "and " + std::to_string(conflict.paths.size() - kMaxListed) + " more\n";
    }
  } else {
    const ordered_json found = conflicts_json(listed);
    structured.update(found);
    text += "decide each path with galley_resolve, then galley_commit again\n";
    text += conflicts_text(found);
  }
  ordered_json out = call_result(std::move(text), std::move(structured));
  out["isError"] = true;
  return out;
}

ordered_json commit_result(const CommitOutcome& outcome, const std::string& tx) {
  if (const auto* refused = std::get_if<Refused>(&outcome)) return refused_result(*refused, tx);
  if (const auto* conflict = std::get_if<Conflict>(&outcome)) {
    return conflict_result(*conflict, {}, tx);
  }
  const auto* receipt = std::get_if<Receipt>(&outcome);
  if (receipt == nullptr) {
    return call_result("nothing differs from the workspace: nothing to commit",
                       {{"outcome", "nothing"}});
  }
  const std::string id = receipt->id.str();
  ordered_json structured = {{"outcome", "committed"}, {"id", id}};
  add_changes(receipt->changes, structured);
  structured["warnings"] = receipt->warnings;
  // Without an id, galley_undo takes back no undo.
  std::string text = "committed as " + id + "; galley_undo with id " + id + " takes it back\n" +
                     changes_summary(receipt->changes);
  for (const std::string& warning : receipt->warnings)
    text += "warning: " + printable_line(warning) + "\n";
  return call_result(std::move(text), std::move(structured));
}

namespace {

/// The maximum that is kept of each text and each list.
struct Caps {
  size_t text_bytes;
  size_t items;
};
/// From generous to strict; the first one that makes the answer short enough is used.
constexpr std::array<Caps, 8> kSteps = {{{24'000, 1'000},
                                         {12'000, 500},
                                         {6'000, 200},
                                         {3'000, 100},
                                         {1'500, 50},
                                         {600, 25},
                                         {200, 10},
                                         {60, 3}}};
constexpr size_t kMaxNamedPlaces = 20;

/// The beginning of a text, cut after a line if possible.
std::string beginning_of(std::string_view text, size_t most) {
  size_t end = text.rfind('\n', most - 1);
  end = end == std::string_view::npos ? most : end + 1;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end));
}

class Cutter {
 public:
  explicit Cutter(Caps caps) : caps_(caps) {}

  ordered_json cut(const ordered_json& value, const std::string& place) {
    if (value.is_string()) return cut_text(value.get_ref<const std::string&>(), place);
    if (value.is_array()) return cut_list(value, place);
    if (!value.is_object()) return value;
    ordered_json out = ordered_json::object();
    for (const auto& [key, member] : value.items()) out[key] = cut(member, place + "/" + key);
    return out;
  }

  /// Reports what is missing, by place.
  [[nodiscard]] ordered_json left_out() && {
    if (unnamed_ > 0) places_["more"] = std::to_string(unnamed_) + " more places";
    return std::move(places_);
  }

 private:
  ordered_json cut_text(const std::string& text, const std::string& place) {
    if (text.size() <= caps_.text_bytes) return text;
    std::string kept = beginning_of(text, caps_.text_bytes);
    note(place, "bytes", text.size() - kept.size());
    return kept;
  }
  ordered_json cut_list(const ordered_json& list, const std::string& place) {
    ordered_json out = ordered_json::array();
    for (size_t i = 0; i < std::min(list.size(), caps_.items); ++i) {
      out.push_back(cut(list[i], place + "/" + std::to_string(i)));
    }
    if (out.size() < list.size()) note(place, "items", list.size() - out.size());
    return out;
  }
  void note(const std::string& place, const char* unit, size_t missing) {
    if (places_.size() >= kMaxNamedPlaces) {
      ++unnamed_;
      return;
    }
    places_[place] = "the last " + std::to_string(missing) + " " + unit + "; ask for a part of it";
  }

  Caps caps_;
  ordered_json places_ = ordered_json::object();
  size_t unnamed_ = 0;
};

/// An upper bound of the length of json_text().
size_t most_text_of(const ordered_json& value) {
  constexpr size_t kMostOfANumber = 32;
  constexpr size_t kMostOfAByte = 6;  // \u001f
  constexpr size_t kMostOfMarks = sizeof("\"\":,");
  if (value.is_string()) {
    return value.get_ref<const std::string&>().size() * kMostOfAByte + kMostOfMarks;
  }
  size_t bytes = kMostOfANumber;
  if (value.is_array()) {
    for (const ordered_json& item : value) bytes += most_text_of(item) + kMostOfMarks;
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.get_ref<const ordered_json::object_t&>()) {
      bytes += key.size() * kMostOfAByte + most_text_of(item) + kMostOfMarks;
    }
  }
  return bytes;
}

}  // namespace

ordered_json bounded_structure(ordered_json structure) {
  if (most_text_of(structure) <= kMaxStructureText) return structure;
  if (json_text(structure).size() <= kMaxStructureText) return structure;
  for (const Caps& caps : kSteps) {
    Cutter cutter(caps);
    const ordered_json cut = cutter.cut(structure, "");
    ordered_json out = {{"leftOut", std::move(cutter).left_out()}};
    out.update(cut);
    if (json_text(out).size() <= kMaxStructureText) return out;
  }
  return {{"leftOut", {{"", "all of it; ask for a part of it"}}}};
}

}  // namespace galley
