#include "tools/edit_formats.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "base/text.h"
#include "staging/formats/answer.h"
#include "staging/formats/dialect_marks.h"
#include "staging/formats/read_edits.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxLine = uint64_t{1} << 31U;

tl::unexpected<Error> bad(const std::string& where, const std::string& what) {
  return fail(ErrorKind::kInvalid, "edit.bad_edits",
              "at " + (where.empty() ? "/" : where) + ": " + what);
}

/// Reads one document of edits into a set.
class EditsReader {
 public:
  explicit EditsReader(EditSet& set) : set_(set) {}

  Result<void> read(const json& document) {
    if (document.is_object()) return read_file(document, "");
    if (!document.is_array())
      return bad("", "expected an object {path, edits} or an array of them");
    for (size_t i = 0; i < document.size(); ++i) {
      GALLEY_TRY(read_file(document[i], "/" + std::to_string(i)));
    }
    return {};
  }

 private:
  Result<void> read_file(const json& item, const std::string& where) {
    if (!item.is_object()) return bad(where, "expected an object {path, edits}");
    GALLEY_TRY(check_keys(item, where, {"path", "file_path", "edits", "content"}));
    if (item.contains("path") == item.contains("file_path")) {
      return bad(where, "expected 'path' exactly once");
    }
    FileEdit file;
    GALLEY_ASSIGN(file.path, text(item, item.contains("path") ? "path" : "file_path", where));
    if (item.contains("content") == item.contains("edits")) {
      return bad(where, "expected either 'edits' or 'content'");
    }
    if (item.contains("content")) {
      GALLEY_ASSIGN(std::string content, text(item, "content", where));
      file.op = FileOp::kWrite;
      file.whole = set_.keep(std::move(content));
      set_.files.push_back(std::move(file));
      return {};
    }
    const json& edits = item["edits"];
    if (!edits.is_array() || edits.empty())
      return bad(where + "/edits", "expected a list of edits");
    for (size_t i = 0; i < edits.size(); ++i) {
      GALLEY_TRY(read_edit(edits[i], where + "/edits/" + std::to_string(i), file));
    }
    set_.files.push_back(std::move(file));
    return {};
  }

  Result<void> read_edit(const json& item, const std::string& where, FileEdit& file) {
    if (!item.is_object()) return bad(where, "expected an object");
    if (++count_ > limits::kMaxHunksInPatch) {
      return fail(ErrorKind::kQuota, "limit.patch_hunks", "the document has over 1,000,000 edits");
    }
    TextEdit edit;
    if (item.contains("oldText")) {
      GALLEY_TRY(check_keys(item, where, {"oldText", "newText"}));
      GALLEY_TRY(read_pair(item, where, "oldText", "newText", edit));
    } else if (item.contains("old_string")) {
      GALLEY_TRY(check_keys(item, where, {"old_string", "new_string", "replace_all"}));
      GALLEY_TRY(read_pair(item, where, "old_string", "new_string", edit));
      GALLEY_ASSIGN(edit.replace_all, flag(item, "replace_all", where));
    } else if (item.contains("insert_line")) {
      GALLEY_TRY(check_keys(item, where, {"insert_line", "insert_text"}));
      edit.kind = TextEdit::Kind::kInsert;
      GALLEY_ASSIGN(edit.first_line, line(item, "insert_line", where));
      GALLEY_ASSIGN(std::string lines, text(item, "insert_text", where));
      if (!lines.ends_with('\n')) lines.push_back('\n');
      edit.new_text = set_.keep(std::move(lines));
    } else if (item.contains("start_line")) {
      GALLEY_TRY(check_keys(item, where, {"start_line", "end_line", "new_text", "hash"}));
      GALLEY_TRY(read_range(item, where, edit));
    } else {
      return bad(where, "an edit has old_string, oldText, insert_line or start_line");
    }
    file.text_edits.push_back(edit);
    return {};
  }

  Result<void> read_pair(const json& item, const std::string& where, const char* old_key,
                         const char* new_key, TextEdit& edit) {
    GALLEY_ASSIGN(std::string old_text, text(item, old_key, where));
    GALLEY_ASSIGN(std::string new_text, text(item, new_key, where));
    edit.old_text = set_.keep(std::move(old_text));
    edit.new_text = set_.keep(std::move(new_text));
    return {};
  }

  Result<void> read_range(const json& item, const std::string& where, TextEdit& edit) {
    edit.kind = TextEdit::Kind::kReplaceLines;
    GALLEY_ASSIGN(edit.first_line, line(item, "start_line", where));
    GALLEY_ASSIGN(edit.last_line, line(item, "end_line", where));
    GALLEY_ASSIGN(std::string new_text, text(item, "new_text", where));
    edit.new_text = set_.keep(std::move(new_text));
    if (item.contains("hash")) {
      GALLEY_ASSIGN(std::string hash, text(item, "hash", where));
      if (hash.size() < 8 || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
        return bad(where + "/hash", "expected 8 to 64 lower-case hexadecimal digits");
      }
      edit.anchor_hash = set_.keep(std::move(hash));
    }
    return {};
  }

  static Result<void> check_keys(const json& item, const std::string& where,
                                 std::initializer_list<std::string_view> known) {
    for (const auto& [key, value] : item.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      std::string list;
      for (const std::string_view name : known)
        list += (list.empty() ? "" : ", ") + std::string(name);
      return bad(where, "unknown key '" + key + "'; known are " + list);
    }
    return {};
  }

  static Result<std::string> text(const json& item, const char* key, const std::string& where) {
    const auto field = item.find(key);
    if (field == item.end() || !field->is_string()) {
      return bad(where, "'" + std::string(key) + "' must be a string");
    }
    return field->get<std::string>();
  }

  static Result<bool> flag(const json& item, const char* key, const std::string& where) {
    const auto field = item.find(key);
    if (field == item.end()) return false;
    if (!field->is_boolean()) return bad(where, "'" + std::string(key) + "' is true or false");
    return field->get<bool>();
  }

  static Result<uint32_t> line(const json& item, const char* key, const std::string& where) {
    const auto field = item.find(key);
    if (field == item.end() || !field->is_number_unsigned() || field->get<uint64_t>() > kMaxLine) {
      return bad(where, "'" + std::string(key) + "' must be a line number");
    }
    return static_cast<uint32_t>(field->get<uint64_t>());
  }

  EditSet& set_;
  size_t count_ = 0;
};

}  // namespace

std::string repair_json(std::string_view text, DocumentEnd end) {
  std::string out;
  std::string open;  // brackets
  char quote = 0;    // of the string that it is in
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == '\n' || c == '\r' || c == '\t') {
        out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
      } else if (c == quote) {
        out.push_back('"');
        quote = 0;
      } else if (c == '"') {
        out += "\\\"";
      } else if (c == '\\' && at + 1 < text.size()) {
        const char next = text[++at];
        out += next == '\'' ? "'" : std::string{c, next};
      } else {
        out.push_back(c);
      }
      continue;
    }
    if (c == ',') {
      const size_t next = text.find_first_not_of(" \t\r\n", at + 1);
      if (next != std::string_view::npos && (text[next] == '}' || text[next] == ']')) continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (c == '{' || c == '[') open.push_back(c);
    if ((c == '}' || c == ']') && !open.empty()) open.pop_back();
    out.push_back(quote != 0 ? '"' : c);
  }
  const size_t last = out.find_last_not_of(" \t\r\n");
  const bool may_close = quote == 0 && last != std::string::npos &&
                         std::string_view(",:").find(out[last]) == std::string_view::npos &&
                         end != DocumentEnd::kCutOff &&
                         (open == "{" || end == DocumentEnd::kComplete);
  for (; may_close && !open.empty(); open.pop_back()) out.push_back(open.back() == '{' ? '}' : ']');
  return out;
}

Result<EditSet> parse_edits_json(std::string_view text, const ReadOptions& options) {
  EditSet set;
  set.format = EditFormat::kEdits;
  auto parsed = parse_json(text);
  if (!parsed) {
    const std::string mended = repair_json(text, options.end);
    auto again = mended == text ? std::move(parsed) : parse_json(mended);
    if (!again) return fail(parse_json(text).error());
    parsed = std::move(again);
    set.leniencies.push_back({"json_mended", std::string(kJsonIsMended), "", 0});
  }
  const json& document = *parsed;
  GALLEY_TRY(EditsReader(set).read(document));
  if (set.files.empty() && !options.allow_empty) {
    return fail(ErrorKind::kInvalid, "edit.not_a_patch", "the document has no edits");
  }
  return with_options(std::move(set), options);
}

std::optional<std::string_view> calls_document(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos ||
      std::string_view("{[`~").find(text[first]) == std::string_view::npos) {
    return std::nullopt;
  }
  const Answer answer = divide_answer(text);
  const bool is_json = text[first] == '{' || text[first] == '[';
  const bool is_broken = is_json && !answer.unread.empty() && answer.format() == EditFormat::kCalls;
  if (is_broken) return text;  // the reader of calls says why
  if (!answer.unread.empty() || answer.parts.size() > 1) return std::nullopt;
  if (answer.parts.empty()) {
    // JSON that must be mended first is not a part of an answer.
    const bool is_calls =
        is_json &&
        divide_answer(repair_json(text, DocumentEnd::kUnknown)).format() == EditFormat::kCalls;
    return is_calls ? std::optional(text) : std::nullopt;
  }
  const AnswerPart& part = answer.parts.front();
  if (part.format != EditFormat::kCalls) return std::nullopt;
  return is_json ? text : text.substr(part.begin, part.end - part.begin);
}

namespace {

/// Whether the only edits of a text are calls of the format `calls`, between prose.
bool has_only_calls(std::string_view text) {
  if (calls_document(text)) return false;
  const Answer answer = divide_answer(text);
  return answer.unread.empty() && answer.format() == EditFormat::kCalls;
}

}  // namespace

bool is_raw_calls(std::string_view text) {
  const auto plain = without_asides(text);
  const std::string_view body = trim(plain ? *plain : text, kPlainSpaces);
  const auto has = [&](std::string_view what) { return body.find(what) != std::string_view::npos; };
  const auto has_word = [&](const std::string& word) {
    return has('"' + word + '"') || has("'" + word + "'");
  };
  const bool is_json = body.starts_with('{') || body.starts_with('[');
  const bool is_marked = body.starts_with("[TOOL_CALLS]") || body.starts_with("<|python_tag|>");
  if (has_edits(body)) return has_word("tool") && has_only_calls(body);
  if (is_marked || !divide_answer(body).calls.empty()) return true;
  return is_json && (has_word("tool_use") || has_word("tool_calls") || has_word("function") ||
                     has_word("function_call") || has_word("functionCall") ||
                     (has_word("name") && (has_word("arguments") || has_word("parameters"))));
}

namespace {

using Json = nlohmann::ordered_json;

Json placement_json(const Placement& placement) {
  Json out = {{"edit", placement.edit + 1},
              {"id", placement.id},
              {"step", match_step_name(placement.step)},
              {"line", placement.line},
              {"lines", placement.count},
              {"offset", placement.offset},
              {"fuzz", placement.fuzz}};
  if (!placement.indent.empty()) out["indent"] = placement.indent;
  return out;
}

Json failure_json(const EditFailure& failure) {
  Json out = {{"edit", failure.edit + 1},
              {"id", failure.id},
              {"reason", failure.reason},
              {"message", failure.message}};
  if (failure.document_line > 0) out["document_line"] = failure.document_line;
  if (!failure.candidates.empty()) {
    out["candidates"] = Json::array();
    for (const Candidate& candidate : failure.candidates) {
      out["candidates"].push_back({{"id", candidate.id},
                                   {"line", candidate.line},
                                   {"lines", candidate.count},
                                   {"excerpt", candidate.excerpt}});
    }
  }
  if (failure.more_candidates > 0) out["more_candidates"] = failure.more_candidates;
  if (failure.nearest_line > 0) {
    out["nearest"] = {{"line", failure.nearest_line}, {"lines", failure.nearest_count}};
    if (!failure.found.empty()) out["nearest"]["found"] = failure.found;
  }
  if (!failure.expected.empty()) out["expected"] = failure.expected;
  std::string words = word_diff_of(failure);
  if (!words.empty()) out["word_diff"] = std::move(words);
  if (!failure.rebased.empty()) out["rebased"] = failure.rebased;
  if (!failure.similar.empty()) {
    out["similar"] = Json::array();
    for (const SimilarLine& line : failure.similar) {
      out["similar"].push_back({{"line", line.line}, {"text", line.text}});
    }
  }
  if (failure.more_similar > 0) out["more_similar"] = failure.more_similar;
  return out;
}

Json file_json(const FileOutcome& file) {
  Json out = {{"path", file.path}, {"op", file_op_name(file.op)}, {"staged", file.is_staged}};
  if (!file.new_path.empty()) out["new_path"] = file.new_path;
  if (file.document_line > 0) out["document_line"] = file.document_line;
  if (file.refusal) {
    out["refusal"] = {{"reason", file.refusal->reason}, {"message", file.refusal->message}};
  }
  out["placed"] = Json::array();
  for (const Placement& placement : file.placements) {
    out["placed"].push_back(placement_json(placement));
  }
  out["failed"] = Json::array();
  for (const EditFailure& failure : file.failures) out["failed"].push_back(failure_json(failure));
  if (file.earlier) {
    out["earlier"] = {{"transaction", file.earlier->transaction},
                      {"when", file.earlier->is_before ? "before" : "after"},
                      {"changes_since", file.earlier->changes}};
    if (!file.earlier->rebased.empty()) out["earlier"]["rebased"] = file.earlier->rebased;
  }
  return out;
}

}  // namespace

Json corrected_edits_json(const EditOutcome& outcome) {
  if (!outcome.correction) return nullptr;
  Json out = Json::array();
  for (const CorrectedEdits::File& file : outcome.correction->files) {
    if (file.is_new) {
      out.push_back({{"path", file.path}, {"content", file.text}});
      continue;
    }
    Json edits = Json::array();
    for (const auto& [old_text, new_text] : file.pairs) {
      edits.push_back({{"oldText", old_text}, {"newText", new_text}});
    }
    out.push_back({{"path", file.path}, {"edits", std::move(edits)}});
  }
  return out;
}

namespace {

constexpr std::string_view kArgumentsFit =
    "the arguments of this call as they fit, ready to send again:\n";
constexpr std::string_view kEditsFit = "the same edits as they fit, ready to send again:\n";
constexpr std::string_view kCallFits = "the same call as it fits, ready to send again:\n";

/// The arguments of a call with the corrected edits; nullopt if their form cannot have these.
std::optional<json> corrected_arguments(const EditForm& form, const json& args,
                                        const EditOutcome& outcome) {
  if (!outcome.correction) return std::nullopt;
  const CorrectedEdits& correction = *outcome.correction;
  json out = args;
  if (!form.document.empty()) {
    out[form.document] = correction.document;
    if (!form.path.empty() && correction.files.size() == 1) {
      out[form.path] = correction.files.front().path;
    }
    return correction.document.empty() ? std::nullopt : std::optional(std::move(out));
  }
  if (form.old_text.empty() || correction.files.size() != 1) return std::nullopt;
  const CorrectedEdits::File& file = correction.files.front();
  if (!outcome.files.front().nearby.empty()) out[form.path] = file.path;
  if (form.list.empty()) {
    if (file.as_one.size() != 1) return std::nullopt;
    out[form.old_text] = file.as_one[0].first;
    out[form.new_text] = file.as_one[0].second;
    return out;
  }
  json pairs = json::array();
  for (const auto& [old_text, new_text] : file.pairs) {
    pairs.push_back({{form.old_text, old_text}, {form.new_text, new_text}});
  }
  out[form.list] = std::move(pairs);
  return out;
}

}  // namespace

void add_corrected_call(const EditForm& form, const json& args, const EditOutcome& outcome,
                        ToolError& error) {
  Json details = error.details != nullptr ? *error.details : Json::object();
  details.erase("correction");
  if (const auto corrected = corrected_arguments(form, args, outcome)) {
    details["correction"] = *corrected;
    if (form.document.empty()) {  // a document is in the text already
      error.message += std::string(kArgumentsFit) + json_text(*corrected) + "\n";
    }
  }
  error.details = std::make_shared<const Json>(std::move(details));
}

void add_meant_call(std::string_view called, std::string_view tool, const json& args,
                    ToolError& error) {
  Json details = error.details != nullptr ? *error.details : Json::object();
  const bool is_same = tool == called;
  const Json correction = is_same ? Json(args) : Json{{"tool", tool}, {"args", args}};
  error.message += "\n" + std::string(is_same ? kArgumentsFit : kCallFits) +
                   (is_same ? json_text(args) : json_text(correction)) + "\n";
  details["correction"] = correction;
  error.details = std::make_shared<const Json>(std::move(details));
}

Json corrected_call_json(std::string_view tool, std::string_view call_id, const ToolError& error) {
  if (error.details == nullptr || !error.details->is_object()) return nullptr;
  const bool is_ours = error.details->contains("files") || error.reason == "args.schema" ||
                       error.reason == "tool.unknown";
  const auto args = error.details->find("correction");
  if (!is_ours || args == error.details->end() || !args->is_object()) return nullptr;
  Json call = error.reason == "tool.unknown" ? *args : Json{{"tool", tool}, {"args", *args}};
  if (!call_id.empty()) call["call_id"] = call_id;
  return call;
}

void correct_by_call(const Json& call, ToolError& error) {
  std::string& message = error.message;
  const auto cut = [&message](std::string_view head, const std::string& text) {
    const std::string end = std::string(head) + text;
    if (message.ends_with(end)) message.resize(message.size() - end.size());
  };
  cut(kArgumentsFit, json_text(json(call["args"])) + "\n");
  cut(kCallFits, json_text(error.details->at("correction")) + "\n");
  for (const auto& [key, value] : call["args"].items()) {
    if (value.is_string()) cut(kEditsFit, value.get_ref<const std::string&>());
  }
  if (!message.empty() && !message.ends_with('\n')) message.push_back('\n');
  message += std::string(kCallFits) + json_text(call) + "\n";
  Json details = *error.details;
  details["correction"] = call;
  error.details = std::make_shared<const Json>(std::move(details));
}

Json edit_report_json(const EditOutcome& outcome) {
  Json out = {{"staged", outcome.is_staged}, {"complete", outcome.is_complete}};
  out["files"] = Json::array();
  for (const FileOutcome& file : outcome.files) out["files"].push_back(file_json(file));
  out["leniencies"] = Json::array();
  for (const Leniency& leniency : outcome.leniencies) {
    Json item = {{"rule", leniency.rule}, {"message", leniency.message}};
    if (!leniency.path.empty()) item["path"] = leniency.path;
    if (leniency.line > 0) item["document_line"] = leniency.line;
    out["leniencies"].push_back(std::move(item));
  }
  if (outcome.correction) {
    const std::string& document = outcome.correction->document;
    out["correction"] = document.empty() ? corrected_edits_json(outcome) : Json(document);
  }
  return out;
}

}  // namespace galley
