#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/glob.h"
#include "base/limits.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/outcome.h"
#include "cli/person.h"
#include "cli/reports.h"
#include "cli/staged.h"
#include "cli/tool_calls.h"
#include "engine/calls/executor.h"
#include "engine/pipeline/inner_transaction.h"
#include "server/session/call_results.h"
#include "staging/formats/answer.h"
#include "staging/formats/dialect_marks.h"
#include "staging/formats/read_edits.h"
#include "staging/text/lines.h"
#include "tools/edit_formats.h"
#include "tools/json_input.h"
#include "tools/tool_call_parser.h"

namespace galley {
namespace {

WhiteSpaceFix white_space_of(const std::string& name) {
  if (name == "warn") return WhiteSpaceFix::kWarn;
  if (name == "fix") return WhiteSpaceFix::kFix;
  if (name == "error" || name == "error-all") return WhiteSpaceFix::kError;
  return WhiteSpaceFix::kNoWarn;
}

StageOptions stage_options(const EditArguments& arguments, const std::string& root,
                           bool is_stored) {
  StageOptions options;
  if (arguments.strict) options.match.last_step = MatchStep::kExact;
  options.match.min_context = arguments.context;
  options.match.ignore_white_space = arguments.ignore_whitespace;
  options.match.white_space = white_space_of(arguments.whitespace);
  options.match.choices = arguments.choose;
  options.may_have_void_choices = true;
  options.reject = arguments.reject;
  options.check_only = arguments.check && is_stored;
  options.is_corrected = !arguments.reverse && !arguments.strip && arguments.directory.empty();
  options.root = root;
  return options;
}

ReadOptions read_options(const EditArguments& arguments) {
  ReadOptions options;
  options.strip = arguments.strip;
  options.reverse = arguments.reverse;
  options.recount = arguments.recount;
  options.end = document_end(arguments);
  options.unidiff_zero = arguments.unidiff_zero;
  options.allow_empty = arguments.allow_empty;
  options.is_partial = arguments.reject || !arguments.only.empty() || !arguments.except.empty();
  options.directory = arguments.directory;
  for (const auto& [in, pattern] : arguments.filters) options.filters.push_back({in, pattern});
  return options;
}

/// Reports a leniency that calls needed. Fails if galley.toml does not allow it.
Result<void> report_leniency(Session& session, Workspace& workspace, Leniency leniency,
                             std::vector<Leniency>& leniencies) {
  const std::vector<std::string>& strict = rules_of(workspace).config.edits.strict;
  if (std::find(strict.begin(), strict.end(), leniency.rule) != strict.end()) {
    return fail(ErrorKind::kRefused, "edit.leniency",
                "the edit needs '" + leniency.rule + "' (" + leniency.message +
                    "), which [edits] strict does not allow");
  }
  const auto names = leniency_names();
  if (std::find(names.begin(), names.end(), leniency.rule) == names.end()) {
    session.say(session.with_hints(leniency.message));
    return {};
  }
  session.say(fmt::format("{} [{}]", leniency.message, leniency.rule));
  leniencies.push_back(std::move(leniency));
  return {};
}

/// Returns the calls in a model's answer, and the leniencies that they needed. Every call that it
/// begins must be valid. `lines`: where the calls begin; of an error, where unread calls begin.
Result<std::vector<ToolCall>> calls_of_text(Session& session, Workspace& workspace,
                                            const std::string& text, std::vector<size_t>& lines,
                                            std::vector<Leniency>& leniencies) {
  GALLEY_ASSIGN(const ToolRegistry* tools, tools_of(workspace).registry());
  GALLEY_ASSIGN(const CallsOfText found, parse_tool_calls(text, *tools));
  for (const CallProblem& problem : found.problems) {
    if (problem.reason == "edit.unread") lines.push_back(problem.place.line);
  }
  for (const CallProblem& problem : found.problems) {
    if (!problem.is_recovered) return fail(ErrorKind::kInvalid, problem.reason, problem.message);
    GALLEY_TRY(report_leniency(session, workspace,
                               {problem.reason.substr(problem.reason.find('.') + 1),
                                problem.message, "", static_cast<uint32_t>(problem.place.line)},
                               leniencies));
  }
  std::vector<ToolCall> calls;
  for (const FoundCall& call : found.calls) {
    calls.push_back({call.tool, call.args, call.call_id, ""});
    lines.push_back(call.place.line);
  }
  return calls;
}

/// Returns the calls of a JSON document, perhaps with the usual mistakes of models.
Result<std::vector<ToolCall>> calls_of_json(Session& session, Workspace& workspace,
                                            std::string_view text,
                                            std::vector<Leniency>& leniencies) {
  auto calls = parse_calls(text);
  if (calls) return calls;
  auto mended = parse_calls(repair_json(text, document_end(session.arguments().edit)));
  if (!mended) return calls;
  GALLEY_TRY(report_leniency(session, workspace, {"json_mended", std::string(kJsonIsMended), "", 1},
                             leniencies));
  return mended;
}

/// The result of staging a document. `document` has the report for --json.
struct Staged {
  bool fits = false;
  bool is_complete = true;  ///< false: --reject omitted something
  std::string report;       ///< for people; may be empty
  std::string rejects;      ///< the omitted edits, in one line
  std::string reason;
  std::string message;
  std::string choice;  ///< options that choose a place for each ambiguous edit
};

/// Options that choose a place for each ambiguous edit of a file, no place for two.
std::string choice_of(const FileOutcome& file) {
  std::string out;
  std::set<uint32_t> taken;
  for (const EditFailure& failure : file.failures) {
    for (const Candidate& candidate : failure.candidates) {
      if (!taken.insert(candidate.line).second) continue;
      out += " --choose " + candidate.id;
      break;
    }
  }
  return out;
}

/// Stores the first edit that does not fit, for the one-line answer.
void name_failure(const EditOutcome& outcome, Staged& staged) {
  for (const FileOutcome& file : outcome.files) staged.choice += choice_of(file);
  for (const FileOutcome& file : outcome.files) {
    if (file.refusal) {
      staged.reason = file.refusal->reason;
      staged.message = file.refusal->message;
      return;
    }
    if (!file.failures.empty()) {
      staged.reason = file.failures.front().reason;
      staged.message = file.path + ": " + file.failures.front().message;
      return;
    }
  }
}

bool fits_partly(const EditOutcome& outcome) {
  return std::any_of(outcome.files.begin(), outcome.files.end(), [](const FileOutcome& file) {
    return !file.refusal && (file.failures.empty() || !file.placements.empty());
  });
}

/// The result of divide_answer() for a document: its parts, and the text between them.
struct ReadDocument {
  struct Item {
    size_t first = 0;  ///< lines, 1-based
    size_t last = 0;   ///< 0: to the next item
    std::string kind;  ///< `part`, `call`, `prose` or `unread`
    std::string text;  ///< the format of a part, else the first line
  };
  std::string name;
  size_t lines = 0;
  std::vector<Item> items;  ///< in order
  size_t elements = 0;      ///< taken out of the prose, at most kMostElements; more stay in it
  static constexpr size_t kMostElements = 1000;
};

/// The line in which an element or a fence ends that begins in a line, both 1-based. Of an element,
/// the last line before `limit` that ends with its closing tag; the first line, if there is none.
size_t last_line_of_element(const Lines& lines, size_t first, size_t limit) {
  constexpr std::string_view kFence = "```";
  const std::string_view line = trimmed(lines[first - 1]);
  if (line.starts_with(kFence)) {
    size_t end = first + 1;
    while (end < limit && !trimmed(lines[end - 1]).starts_with(kFence)) ++end;
    return std::min(end, limit - 1);
  }
  const size_t name_end = line.find_first_of("> \t");
  if (!line.starts_with('<') || name_end == std::string_view::npos) return first;
  const std::string end_tag = "</" + std::string(line.substr(1, name_end - 1)) + ">";
  if (line.find(end_tag) != std::string_view::npos) return first;
  size_t last = limit - 1;
  while (last > first && !trimmed(lines[last - 1]).ends_with(end_tag)) --last;
  return last;
}

/// Removes the lines of the element that begins in the line `first` from the prose.
void take_element(const Lines& lines, size_t first, ReadDocument& out) {
  if (++out.elements > ReadDocument::kMostElements) return;
  const std::string_view line = trimmed(lines[first - 1]);
  const std::string_view open = line.substr(0, line.find_first_of("> \t"));
  const auto next = std::find_if(out.items.begin(), out.items.end(), [&](const auto& item) {
    return item.first > first && item.kind != "prose" && item.text.starts_with(open);
  });
  const size_t limit = next == out.items.end() ? lines.size() + 1 : next->first;
  const size_t last = last_line_of_element(lines, first, limit);
  std::vector<ReadDocument::Item> items;
  const auto add_prose = [&](size_t from, size_t to) {
    while (from <= to && is_blank(lines[from - 1])) ++from;
    while (from <= to && is_blank(lines[to - 1])) --to;
    if (from <= to) items.push_back({from, to, "prose", std::string(trimmed(lines[from - 1]))});
  };
  for (ReadDocument::Item& item : out.items) {
    if (item.kind != "prose" || item.last < first || item.first > last) {
      items.push_back(std::move(item));
      continue;
    }
    add_prose(item.first, first - 1);
    add_prose(last + 1, item.last);
  }
  out.items = std::move(items);
}

ReadDocument read_document(const std::string& name, std::string_view text) {
  const Lines lines(text);
  const Answer answer = divide_answer(text);
  ReadDocument out{name, lines.size(), {}};
  const auto line = [&](size_t at) { return std::string(trimmed(lines[at])); };
  for (const AnswerPart& part : answer.parts) {
    out.items.push_back({part.line + 1, 0, "part", std::string(format_name(part.format))});
  }
  for (const auto& [begin, end] : answer.prose) {
    out.items.push_back({begin + 1, end, "prose", line(begin)});
  }
  for (const UnreadLine& call : answer.calls) {
    out.items.push_back({call.line + 1, 0, "call", line(call.line)});
  }
  for (const UnreadLine& unread : answer.unread) {
    out.items.push_back({unread.line + 1, unread.line + 1, "unread", line(unread.line)});
  }
  std::stable_sort(out.items.begin(), out.items.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  const std::vector<ReadDocument::Item> items = out.items;
  for (const ReadDocument::Item& item : items) {
    if (item.kind == "call") take_element(lines, item.first, out);
  }
  return out;
}

/// Marks the elements that begin in these lines, 1-based, as unread.
void mark_unread(std::string_view text, const std::vector<size_t>& unread, ReadDocument& out) {
  const Lines lines(text);
  for (const size_t first : unread) {
    if (first > lines.size()) continue;
    take_element(lines, first, out);
    const auto next = std::find_if(out.items.begin(), out.items.end(),
                                   [&](const auto& item) { return item.first >= first; });
    const bool is_listed = next != out.items.end() && next->first == first;
    if (!is_listed) {
      out.items.insert(next, {first, first, "unread", std::string(trimmed(lines[first - 1]))});
    }
  }
}

/// Describes how calls were understood, in a line each. `lines`: where they begin, or empty.
std::vector<std::string> described_calls(const std::vector<ToolCall>& calls,
                                         const std::vector<size_t>& lines) {
  std::vector<std::string> out;
  for (size_t i = 0; i < calls.size(); ++i) {
    std::string text = calls[i].tool;
    if (i < lines.size()) text += fmt::format(", from line {}", lines[i]);
    std::string_view separator = ": ";
    const nlohmann::json none = nlohmann::json::object();
    for (const auto& [name, value] : (calls[i].args ? *calls[i].args : none).items()) {
      const std::string said =
          value.is_string() ? value.get_ref<const std::string&>() : json_text(value);
      const bool is_long = said.size() > kQuotedBytes || said.find('\n') != std::string::npos;
      text += fmt::format("{}{} {}", std::exchange(separator, ", "), name,
                          is_long ? "of " + counted(Lines(said).size(), "line") : "'" + said + "'");
    }
    out.push_back(printable_line(text));
  }
  return out;
}

/// The combined result of several documents, which are one edit.
struct StagedDocuments {
  Staged staged;
  EditOutcome edits;
  bool has_edits = false;
  size_t count = 0;
  std::vector<ReadDocument> read;              ///< of edits explain
  std::vector<std::string> calls;              ///< the same
  std::map<std::string, size_t> unmatched;     ///< of --only and --except: in how many documents
  std::map<std::string, size_t> void_choices;  ///< of --choose: in how many documents
};

/// Adds to the explanation how the calls of the last document were understood.
void explain_calls_of(const Result<std::vector<ToolCall>>& calls, const std::vector<size_t>& lines,
                      std::string_view text, StagedDocuments& all) {
  if (!calls) return mark_unread(text, lines, all.read.back());
  for (std::string& one : described_calls(*calls, lines)) all.calls.push_back(std::move(one));
}

/// Returns the hunks that --reject omitted: "f: hunks 2, 4; g: all".
std::string rejects_of(const EditOutcome& outcome) {
  std::string text;
  for (const FileOutcome& file : outcome.files) {
    if (file.fits()) continue;
    text += fmt::format("{}{}: ", text.empty() ? "" : "; ", file.path);
    if (file.refusal || file.placements.empty()) {
      text += "all";
      continue;
    }
    text += file.failures.size() == 1 ? "hunk " : "hunks ";
    for (size_t i = 0; i < file.failures.size(); ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : ", ", file.failures[i].edit + 1);
    }
  }
  return text;
}

/// Returns the exit status of a command that failed.
std::optional<int> failed_status(const ToolResult& result) {
  if (!result.ok || result.data == nullptr || !result.data->is_object()) return std::nullopt;
  const auto status = result.data->find("exitCode");
  const bool is_command = status != result.data->end() && status->is_number_integer() &&
                          result.data->contains("staged");
  if (!is_command || *status == 0) return std::nullopt;
  return status->get<int>();
}

/// Puts corrected calls in the place of corrected arguments. Returns the whole document as it fits
/// if it has several calls, and all that fail are corrected; else an empty text.
std::string correct_calls(const std::vector<ToolCall>& calls, std::vector<ToolResult>& results) {
  Json all = Json::array();
  bool is_any = false;
  bool is_whole = calls.size() > 1 && results.size() == calls.size();
  for (size_t i = 0; i < std::min(calls.size(), results.size()); ++i) {
    const ToolCall& call = calls[i];
    Json corrected = results[i].ok
                         ? Json(nullptr)
                         : corrected_call_json(call.tool, call.call_id, *results[i].error);
    if (!corrected.is_null()) {
      is_any = true;
      correct_by_call(corrected, *results[i].error);
      all.push_back(std::move(corrected));
      continue;
    }
    is_whole = is_whole && results[i].ok;
    all.push_back(
        {{"tool", call.tool}, {"args", call.args == nullptr ? Json::object() : Json(*call.args)}});
  }
  return is_any && is_whole
             ? "all calls as they fit, ready to send again:\n" + json_text(all) + "\n"
             : "";
}

/// A call that fails, or a command that fails, fails the whole document.
Staged staged_calls(const std::vector<ToolCall>& calls, std::vector<ToolResult> results,
                    Json& document) {
  const std::string whole = correct_calls(calls, results);
  Staged staged;
  staged.fits = true;
  const auto fails = [&](size_t at, std::string reason, const std::string& message) {
    staged.fits = false;
    staged.reason = std::move(reason);
    staged.message = fmt::format("call {}: {}", at + 1, message);
    staged.report =
        fmt::format("nothing was staged: {} [{}]\n", indented(staged.message), staged.reason);
  };
  for (size_t i = 0; i < results.size(); ++i) {
    const ToolResult& result = results[i];
    document["calls"].push_back(to_json(result));
    if (!staged.fits) continue;
    if (!result.ok) {
      fails(i, result.error->reason, result.error->message);
    } else if (const auto status = failed_status(result)) {
      fails(i, "calls.command_failed",
            fmt::format("the command of {} ended with exit status {}, so its changes were dropped; "
                        "to keep them, end a shell line with: || true",
                        i < calls.size() ? calls[i].tool : "the tool", *status));
    } else if (result.data != nullptr) {
      staged.report += notes_of_edit(*result.data);
    }
  }
  staged.report += whole;
  return staged;
}

/// Converts names of --only and --except, which are relative to the current directory.
Result<std::vector<std::string>> names_from_root(Session& session,
                                                 const std::vector<std::string>& names) {
  if (names.empty()) return names;
  GALLEY_ASSIGN(const RelPath here, session.place());
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const bool is_from_root = here.is_root() && !name.starts_with(":/");
    GALLEY_ASSIGN(const RelPath path, is_from_root ? RelPath::root() : session.path(name));
    found.push_back(is_from_root ? name : path.str());
  }
  return found;
}

/// Returns a hint if names of a document exist only relative to the current directory. They are
/// relative to the root, unless --directory is given.
Result<std::string> directory_hint(Session& session, const Workspace& workspace,
                                   const EditOutcome& outcome) {
  GALLEY_ASSIGN(const RelPath here, session.place());
  if (here.is_root()) return std::string();
  for (const FileOutcome& file : outcome.files) {
    if (!file.refusal || file.refusal->kind != ErrorKind::kNotFound) continue;
    const auto name = RelPath::parse(file.path);
    const auto path = name ? here.join(*name) : name;
    if (!path) continue;
    GALLEY_ASSIGN(const FileStat there, place_of(workspace).files().stat(*path));
    if (there.kind == FileKind::kAbsent) continue;
    return fmt::format(
        "'{}' is there as '{}': names in an edit are from the root of the workspace; add "
        "--directory={}",
        file.path, path->str(), here.str());
  }
  return std::string();
}

/// Adds the outcome of one document to that of all.
void add_outcome(EditOutcome outcome, StagedDocuments& all) {
  const bool is_first = !all.has_edits;
  all.has_edits = true;
  all.edits.is_staged = outcome.is_staged && (is_first || all.edits.is_staged);
  all.edits.is_complete = outcome.is_complete && (is_first || all.edits.is_complete);
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  if (is_first) all.edits.correction = std::move(outcome.correction);
  append(all.edits.files, outcome.files);
  append(all.edits.leniencies, outcome.leniencies);
  append(all.edits.document_paths, outcome.document_paths);
  for (const std::string& name : outcome.unmatched) ++all.unmatched[name];
  for (const std::string& id : outcome.void_choices) ++all.void_choices[id];
}

Result<Staged> staged_edits(Session& session, const Workspace& workspace, EditOutcome outcome,
                            StagedDocuments& all) {
  Staged staged;
  staged.fits = outcome.is_staged;
  staged.is_complete = outcome.is_complete;
  staged.report = summarize(outcome);
  if (outcome.correction && outcome.correction->document.empty()) {
    staged.report += "the same edits as they fit, ready to send again:\n" +
                     corrected_edits_json(outcome).dump() + "\n";
  }
  if (is_shortened(outcome)) {
    staged.report +=
        "each edit that does not fit, in full: the same with --json, or give the document to: " +
        session.hint("edits explain") + "\n";
  }
  if (!staged.fits) {
    name_failure(outcome, staged);
    GALLEY_ASSIGN(const std::string hint, directory_hint(session, workspace, outcome));
    if (!hint.empty()) {
      staged.message += "; " + hint;
      staged.report += hint + "\n";
    }
    if (fits_partly(outcome)) {
      staged.report +=
          "nothing was written; to take what fits: the same with --reject, or leave out what does "
          "not fit: --except FILE:HUNK\n";
    }
  } else if (!staged.is_complete) {
    staged.rejects = rejects_of(outcome);
  }
  add_outcome(std::move(outcome), all);
  return staged;
}

/// An id in --choose must select a place in one of the documents.
Result<void> check_choices(const StagedDocuments& all) {
  for (const auto& [id, times] : all.void_choices) {
    if (times >= all.count) return void_choice(id);
  }
  return {};
}

/// A name in --only or --except that matches in no document is an error. Both possible results,
/// everything or nothing, would be surprising.
Result<void> check_selection(const StagedDocuments& all) {
  for (const auto& [name, times] : all.unmatched) {
    if (times < all.count) continue;
    const std::vector<std::string>& paths = all.edits.document_paths;
    const std::string path = name.substr(0, name.rfind(':'));
    const auto is_path = [&](const std::string& one) { return pathspec_names(path, one); };
    if (path != name && std::any_of(paths.begin(), paths.end(), is_path)) {
      return fail(ErrorKind::kUsage, "edit.unknown_hunk",
                  "'" + path + "' has no hunk '" + name.substr(path.size() + 1) +
                      "' in this edit; hunks count from 1, preview --json names their ids, or "
                      "their first digits, if they are unique");
    }
    const auto near = nearest_pathspec(name, paths);
    return fail(ErrorKind::kUsage, "edit.unknown_path",
                "nothing in this edit is named '" + name + "'" +
                    (near ? "; did you mean '" + *near + "'?"
                          : "; preview --name-status without --only and --except lists its paths"));
  }
  return {};
}

Result<Staged> stage_document(Session& session, Workspace& workspace, Transaction& transaction,
                              const std::string& name, StagedDocuments& all, Json& document) {
  EditArguments arguments = session.arguments().edit;
  arguments.check = arguments.check || session.arguments().dry_run;
  GALLEY_ASSIGN(std::string input, session.read_input(name, "the edit", limits::kMaxPatchBytes));
  session.terminal().work_on("fitting the edit into the files");
  transaction.set_default_message(mail_subject(input));
  if (session.arguments().command == "edits") all.read.push_back(read_document(name, input));
  const bool is_tool_text =
      arguments.format == "tool_text" ||
      ((arguments.format == "auto" || arguments.format == "calls") && is_raw_calls(input));
  const EditFormat format = is_tool_text ? EditFormat::kCalls : format_named(arguments.format);
  const auto calls_text = calls_document(input);
  const bool has_calls =
      format == EditFormat::kCalls || (format == EditFormat::kAuto && calls_text.has_value());
  if (has_calls || format != EditFormat::kAuto) {
    GALLEY_TRY(check_format_options(arguments, has_calls ? EditFormat::kCalls : format));
  }
  const bool is_stored = !transaction.id().empty();
  if (has_calls && arguments.check && is_stored) {
    return fail(
        ErrorKind::kUsage, "calls.check",
        "tool calls cannot be checked without being made; leave --check out, or look with: " +
            session.hint("preview"));
  }
  ++all.count;
  if (has_calls) {
    std::vector<Leniency> leniencies;
    std::vector<size_t> lines;
    auto calls = is_tool_text
                     ? calls_of_text(session, workspace, input, lines, leniencies)
                     : calls_of_json(session, workspace, calls_text.value_or(input), leniencies);
    if (!all.read.empty()) explain_calls_of(calls, lines, input, all);
    if (!calls) return fail(std::move(calls.error()));
    if (calls->empty() && !arguments.allow_empty) {
      return fail(ErrorKind::kInvalid, "edit.not_a_patch", "the document has no calls");
    }
    const CallOptions options{.confirm = confirmer_at_terminal(session)};
    Staged staged = staged_calls(*calls, inner(transaction).call_all(*calls, options), document);
    if (!leniencies.empty()) {
      EditOutcome read;
      read.is_staged = read.is_complete = staged.fits;
      read.leniencies = std::move(leniencies);
      add_outcome(std::move(read), all);
    }
    return staged;
  }
  StageOptions staging = stage_options(arguments, workspace.root_path(), is_stored);
  GALLEY_ASSIGN(staging.only, names_from_root(session, arguments.only));
  GALLEY_ASSIGN(staging.except, names_from_root(session, arguments.except));
  ReadOptions reading = read_options(arguments);
  reading.check_format = [&arguments](EditFormat of_part) {
    return check_format_options(arguments, of_part);
  };
  GALLEY_ASSIGN(EditOutcome outcome,
                inner(transaction).apply(std::move(input), staging, reading, format).outcome());
  return staged_edits(session, workspace, std::move(outcome), all);
}

/// Stages documents until one does not fit. Returns whether it tried all of them.
Result<bool> stage_documents(Session& session, Workspace& workspace, Transaction& transaction,
                             const std::vector<std::string>& inputs, StagedDocuments& all,
                             Json& document) {
  for (const std::string& name : inputs) {
    GALLEY_ASSIGN(Staged staged,
                  stage_document(session, workspace, transaction, name, all, document));
    if (inputs.size() > 1 && !staged.report.empty()) {
      staged.report = printable_line(name) + ":\n" + staged.report;
    }
    all.staged.report += staged.report;
    all.staged.fits = staged.fits;
    all.staged.is_complete = all.staged.is_complete && staged.is_complete;
    if (!staged.rejects.empty() && !all.staged.rejects.empty()) all.staged.rejects += "; ";
    all.staged.rejects += staged.rejects;
    if (staged.fits) continue;
    all.staged.reason = staged.reason;
    all.staged.message = inputs.size() > 1 ? name + ": " + staged.message : staged.message;
    all.staged.report = staged.report;
    all.staged.choice = staged.choice;
    return &name == &inputs.back();
  }
  return true;
}

/// Stages all documents in order, or none. After an error, `all` has the documents read before it.
Result<Staged> stage_input(Session& session, Workspace& workspace, Transaction& transaction,
                           StagedDocuments& all, Json& document) {
  std::vector<std::string> inputs = session.arguments().edit.inputs;
  if (inputs.empty()) inputs.emplace_back("-");
  const auto passed = transaction.stage_all([&]() -> Result<bool> {
    GALLEY_ASSIGN(const bool is_whole,
                  stage_documents(session, workspace, transaction, inputs, all, document));
    if (is_whole) GALLEY_TRY(check_selection(all));
    if (all.staged.fits) GALLEY_TRY(check_choices(all));
    return all.staged.fits;
  });
  warn_of_unrecorded(session, transaction);
  GALLEY_TRY(passed);
  const bool is_filtered = !session.arguments().edit.filters.empty();
  if (is_filtered && all.has_edits && all.edits.files.empty()) {
    session.say("--include and --exclude leave no file of the edit");
  }
  if (session.is_json() && all.has_edits) document["edits"] = edit_report_json(all.edits);
  return all.staged;
}

Result<Staged> stage_input(Session& session, Workspace& workspace, Transaction& transaction,
                           Json& document) {
  StagedDocuments all;
  return stage_input(session, workspace, transaction, all, document);
}

int no(Session& session, Json& document, const Staged& staged) {
  document["ok"] = false;
  document["reason"] = staged.reason;
  document["message"] = staged.message;
  if (session.is_json()) {
    session.print(document);
  } else {
    session.print_error_lines(staged.report);
    if (!staged.choice.empty()) {
      session.say("to choose a place: the same with" + staged.choice);
    }
  }
  return kExitNo;
}

/// As in git apply, rejects make the result a no, even if the rest is committed.
void add_rejects(const Staged& staged, Json& document) {
  if (staged.is_complete) return;
  document["ok"] = false;
  document["reason"] = "patch.rejects";
  document["message"] = "rejected: " + staged.rejects;
}

int finish_rejects(Session& session, const Staged& staged, int status) {
  if (staged.is_complete) return status;
  session.say("rejected: " + staged.rejects);
  return status == kExitDone ? kExitNo : status;
}

// --- edits explain --------------------------------------------------------------------------

std::string explain_reading(const ReadDocument& read) {
  std::string out = fmt::format("{}: {}\n", printable_line(read.name), counted(read.lines, "line"));
  for (const ReadDocument::Item& item : read.items) {
    const std::string text = printable_line(item.text, kQuotedBytes);
    out += item.last > item.first ? fmt::format("  lines {}-{}: ", item.first, item.last)
                                  : fmt::format("  line {}: ", item.first);
    out += item.kind == "part"    ? fmt::format("edits of the format {} begin\n", text)
           : item.kind == "call"  ? fmt::format("a call of a tool begins: '{}'\n", text)
           : item.kind == "prose" ? fmt::format("passed over as prose: '{}'\n", text)
                                  : fmt::format("looks like an edit, but is not one: '{}'\n", text);
  }
  return out;
}

Json explanation_json(const ReadDocument& read) {
  Json out = {{"name", read.name}, {"lines", read.lines}, {"items", Json::array()}};
  for (const ReadDocument::Item& item : read.items) {
    Json one = {{"kind", item.kind}, {"line", item.first}};
    if (item.last > 0) one["last_line"] = item.last;
    one[item.kind == "part" ? "format" : "text"] = item.text;
    out["items"].push_back(std::move(one));
  }
  return out;
}

/// Adds to the report of each edit which steps were tried.
void add_tried_steps(const EditOutcome& outcome, MatchStep last, Json& report) {
  const auto add = [](const std::vector<TriedStep>& tried, Json& edit) {
    for (const TriedStep& one : tried) {
      edit["tried"].push_back({{"step", match_step_name(one.step)}, {"why", one.why}});
    }
  };
  for (size_t i = 0; i < outcome.files.size(); ++i) {
    const FileOutcome& file = outcome.files[i];
    Json& of_file = report["files"][i];
    for (size_t k = 0; k < file.placements.size(); ++k) {
      add(tried_steps(file.placements[k]), of_file["placed"][k]);
    }
    for (size_t k = 0; k < file.failures.size(); ++k) {
      add(tried_steps(file.failures[k], last), of_file["failed"][k]);
    }
  }
}

/// The part of a call's report that explain() shows.
EditOutcome outcome_of_report(const Json& report) {
  const auto number = [](const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
  };
  const auto list = [](const Json& object, const char* key) {
    return object.contains(key) && object[key].is_array() ? object[key] : Json::array();
  };
  EditOutcome out;
  for (const Json& file : list(report, "files")) {
    FileOutcome& made = out.files.emplace_back();
    made.path = text_member(file, "path");
    made.new_path = text_member(file, "new_path");
    for (const FileOp op : {FileOp::kModify, FileOp::kCreate, FileOp::kDelete, FileOp::kRename,
                            FileOp::kCopy, FileOp::kWrite}) {
      if (file_op_name(op) == text_member(file, "op")) made.op = op;
    }
    for (const Json& placed : list(file, "placed")) {
      Placement& place = made.placements.emplace_back();
      place.edit = static_cast<size_t>(std::max<int64_t>(1, number(placed, "edit")) - 1);
      place.id = text_member(placed, "id");
      place.line = static_cast<uint32_t>(number(placed, "line"));
      place.offset = number(placed, "offset");
      place.fuzz = static_cast<uint32_t>(number(placed, "fuzz"));
      for (auto step = MatchStep::kExact; step <= MatchStep::kMended;
           step = static_cast<MatchStep>(static_cast<uint8_t>(step) + 1)) {
        if (match_step_name(step) == text_member(placed, "step")) place.step = step;
      }
    }
    for (const Json& failed : list(file, "failed")) {
      EditFailure& failure = made.failures.emplace_back();
      failure.edit = static_cast<size_t>(std::max<int64_t>(1, number(failed, "edit")) - 1);
      failure.id = text_member(failed, "id");
      failure.reason = text_member(failed, "reason");
      failure.message = text_member(failed, "message");
    }
  }
  for (const Json& leniency : list(report, "leniencies")) {
    out.leniencies.push_back({text_member(leniency, "rule"), text_member(leniency, "message"),
                              text_member(leniency, "path"), 0});
  }
  return out;
}

/// `described`: what was understood of each call, as far as it is known.
std::string explain_calls(const Json& calls, const std::vector<std::string>& described,
                          MatchStep last) {
  std::string out;
  for (size_t i = 0; i < calls.size(); ++i) {
    const bool is_done = calls[i]["ok"] == true;
    out += fmt::format("call {}: {}{}\n", i + 1,
                       i < described.size() ? described[i] + ": " : std::string(),
                       is_done ? "can be made" : "fails");
    const Json data =
        is_done ? calls[i].value("data", Json::object())
                : calls[i].value("error", Json::object()).value("details", Json::object());
    const Json report = is_done && data.is_object() ? data.value("report", Json::object()) : data;
    if (report.is_object()) out += explain(outcome_of_report(report), last);
  }
  return out;
}

}  // namespace

/// Stages in an open transaction. Without --check the edit stays staged until a commit.
Result<int> run_stage(Session& session) {
  Json document = {{"schema", "galley.stage/1"}, {"ok", true}};
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(Transaction transaction, session.resume_or_begin());
  document["tx"] = transaction.id();
  const Overlay::Entries before = overlay_of(transaction).entries();
  GALLEY_ASSIGN(const Staged staged, stage_input(session, *workspace, transaction, document));
  if (!staged.fits) return no(session, document, staged);
  add_rejects(staged, document);
  if (!staged.report.empty()) session.say_lines(staged.report);
  const bool is_kept = !session.arguments().edit.check && !session.arguments().dry_run;
  if (is_kept) GALLEY_TRY(transaction.save());
  GALLEY_TRY(show_staged(session, transaction, before, document));
  return finish_rejects(session, staged, kExitDone);
}

/// Stages the documents in a preview, and prints how they were read and placed.
Result<int> run_edits_explain(Session& session) {
  Json document = {{"schema", "galley.edits-explain/1"}, {"ok", true}};
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  TransactionOptions options = session.transaction_options();
  options.is_preview = true;
  GALLEY_ASSIGN(Transaction transaction, workspace->begin(options));
  StagedDocuments all;
  const auto staged = stage_input(session, *workspace, transaction, all, document);
  Staged result = staged.value_or(Staged());
  if (!staged) {
    const ErrorKind kind = staged.error().kind;
    const bool is_of_document = kind == ErrorKind::kInvalid || kind == ErrorKind::kRefused;
    if (all.read.empty() || !is_of_document) return fail(staged.error());
    result.reason = staged.error().reason;
    result.message = staged.error().message;
  } else if (result.fits && !result.is_complete) {
    result.reason = "patch.rejects";
    result.message = "rejected: " + result.rejects;
  }
  const bool is_whole = result.fits && result.is_complete;
  const MatchStep last = session.arguments().edit.strict
                             ? MatchStep::kExact
                             : rules_of(*workspace).config.edits.max_step;
  if (session.is_json()) {
    for (const ReadDocument& read : all.read) {
      document["documents"].push_back(explanation_json(read));
    }
    if (document.contains("edits")) add_tried_steps(all.edits, last, document["edits"]);
    document["ok"] = is_whole;
    if (!is_whole) document["reason"] = result.reason;
    if (!is_whole) document["message"] = result.message;
    session.print(document);
    return is_whole ? kExitDone : kExitNo;
  }
  std::string text;
  for (const ReadDocument& read : all.read) text += explain_reading(read);
  text += explain(all.edits, last) +
          explain_calls(document.value("calls", Json::array()), all.calls, last);
  text += is_whole ? "result: all of it would apply\n"
                   : fmt::format("result: it would not apply: {} [{}]\n", indented(result.message),
                                 result.reason);
  session.print(text);
  return is_whole ? kExitDone : kExitNo;
}

Result<int> run_preview(Session& session) {
  Json document = {{"schema", "galley.preview/1"}, {"ok", true}};
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  TransactionOptions options = session.transaction_options();
  options.is_preview = true;
  GALLEY_ASSIGN(Transaction transaction, workspace->begin(options));
  GALLEY_ASSIGN(const Staged staged, stage_input(session, *workspace, transaction, document));
  if (!staged.fits) return no(session, document, staged);
  add_rejects(staged, document);
  if (!staged.report.empty()) session.say_lines(staged.report);
  if (session.arguments().fix) GALLEY_TRY(stage_fixes(session, transaction, document));
  if (session.arguments().edit.check && !session.is_json()) {
    return finish_rejects(session, staged, kExitDone);
  }
  GALLEY_ASSIGN(const Preview preview, transaction.preview(session.gate_progress()));
  GALLEY_ASSIGN(const bool is_reported, write_reports(session, preview, document));
  if (is_reported) {
    return finish_rejects(session, staged, preview.verdict.is_approved() ? kExitDone : kExitNo);
  }
  GALLEY_TRY(show_preview(session, preview, document));
  GALLEY_ASSIGN(const int status, finish_verdict(session, preview.verdict, document));
  return finish_rejects(session, staged, status);
}

Result<int> run_apply(Session& session) {
  const Arguments& arguments = session.arguments();
  // git apply does not apply either with the options that show sizes.
  const bool only_shows = arguments.diff.stat || arguments.diff.numstat;
  if (arguments.edit.check || arguments.dry_run || only_shows) return run_preview(session);
  Json document = {{"schema", "galley.apply/1"}, {"ok", true}};
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(Transaction transaction, workspace->begin(session.transaction_options()));
  GALLEY_TRY(begin_transcript(session, transaction));
  GALLEY_ASSIGN(const Staged staged, stage_input(session, *workspace, transaction, document));
  if (!staged.fits) {
    // It writes the records of the calls.
    const auto dropped = document.contains("calls") ? transaction.rollback() : Result<void>();
    if (!dropped) {
      session.terminal().print_error("warning: " + printable_line(dropped.error().message));
    }
    return no(session, document, staged);
  }
  add_rejects(staged, document);
  if (!staged.report.empty()) session.say_lines(staged.report);
  if (session.arguments().fix) GALLEY_TRY(stage_fixes(session, transaction, document));
  GALLEY_ASSIGN(const CommitOutcome outcome,
                transaction.commit({.tool = "apply", .on_progress = session.commit_progress()}));
  std::string next;
  if (std::holds_alternative<Conflict>(outcome) && session.arguments().conflict == "markers") {
    GALLEY_ASSIGN(Transaction stored, workspace->begin_stored(session.transaction_options()));
    GALLEY_ASSIGN(next, stage_markers(session, stored, outcome.proposal, {}, document));
    if (!document.contains("marked")) GALLEY_TRY(stored.rollback());
  }
  GALLEY_ASSIGN(const int status, finish_commit(session, outcome, document));
  if (!next.empty()) session.say(next);
  return finish_rejects(session, staged, status);
}

}  // namespace galley
