#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "cli/commands.h"
#include "cli/outcome.h"
#include "cli/render.h"
#include "engine/pipeline/executor.h"
#include "staging/fs/host_file.h"
#include "staging/text/mail_subject.h"
#include "staging/text/read_edits.h"
#include "tools/edit_report_json.h"

namespace galley {
namespace {

EditFormat format_of(const std::string& name) {
  static const std::map<std::string, EditFormat> kFormats = {
      {"auto", EditFormat::kAuto},
      {"unified", EditFormat::kUnified},
      {"apply_patch", EditFormat::kApplyPatch},
      {"search_replace", EditFormat::kSearchReplace},
      {"edits", EditFormat::kEdits},
      {"calls", EditFormat::kCalls}};
  return kFormats.at(name);
}

WhiteSpaceFix white_space_of(const std::string& name) {
  if (name == "warn") return WhiteSpaceFix::kWarn;
  if (name == "fix") return WhiteSpaceFix::kFix;
  if (name == "error" || name == "error-all") return WhiteSpaceFix::kError;
  return WhiteSpaceFix::kNoWarn;
}

StageOptions stage_options(const EditArguments& arguments, const std::string& root) {
  StageOptions options;
  if (arguments.strict) options.match.last_step = MatchStep::kExact;
  options.match.min_context = arguments.context;
  options.match.ignore_white_space = arguments.ignore_whitespace;
  options.match.white_space = white_space_of(arguments.whitespace);
  options.match.choices = arguments.choose;
  options.reject = arguments.reject;
  options.only = arguments.only;
  options.except = arguments.except;
  options.root = root;
  return options;
}

ReadOptions read_options(const EditArguments& arguments) {
  ReadOptions options;
  options.strip = arguments.strip;
  options.reverse = arguments.reverse;
  options.recount = arguments.recount;
  options.unidiff_zero = arguments.unidiff_zero;
  options.allow_empty = arguments.allow_empty;
  options.directory = arguments.directory;
  for (const auto& [is_include, pattern] : arguments.filters) {
    options.filters.push_back({is_include, pattern});
  }
  return options;
}

/// What staging a document came to; `document` has the report for --json.
struct Staged {
  bool fits = false;
  bool is_complete = true;  ///< false: --reject left something out
  std::string report;       ///< for people; empty when there is nothing to say
  std::string rejects;      ///< what was left out, in one line
  std::string reason;
  std::string message;
};

/// The first thing that does not fit, for the one-line answer.
void name_failure(const EditOutcome& outcome, Staged& staged) {
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

/// "f: hunks 2, 4; g: all" of what --reject left out.
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

Staged staged_calls(const std::vector<ToolResult>& results, Json& document) {
  Staged staged;
  document["calls"] = Json::array();
  for (const ToolResult& result : results) document["calls"].push_back(to_json(result));
  staged.fits = results.empty() || results.back().ok;
  if (!staged.fits) {
    const ToolError& error = *results.back().error;
    staged.reason = error.reason;
    staged.message = fmt::format("call {}: {}", results.size(), error.message);
    staged.report =
        fmt::format("nothing was staged: {} [{}]\n", indented(staged.message), error.reason);
  }
  return staged;
}

Result<Staged> stage_input(Session& session, Workspace& workspace, Transaction& transaction,
                           Json& document) {
  const EditArguments& arguments = session.arguments().edit;
  GALLEY_ASSIGN(std::string input, read_host_file(arguments.input, limits::kMaxPatchBytes));
  transaction.set_default_message(mail_subject(input));
  EditFormat format = format_of(arguments.format);
  if (format == EditFormat::kAuto) format = detect_format(input);
  if (format == EditFormat::kCalls) {
    GALLEY_ASSIGN(const auto calls, parse_calls(input));
    return staged_calls(transaction.call_all(calls), document);
  }
  GALLEY_ASSIGN(const EditOutcome outcome,
                transaction.apply(std::move(input), stage_options(arguments, workspace.root_path()),
                                  read_options(arguments), format));
  if (session.is_json()) document["edits"] = edit_report_json(outcome);
  Staged staged;
  staged.fits = outcome.is_staged;
  staged.is_complete = outcome.is_complete;
  staged.report = describe(outcome);
  if (!staged.fits) {
    name_failure(outcome, staged);
  } else if (!staged.is_complete) {
    staged.rejects = rejects_of(outcome);
  }
  return staged;
}

int no(Session& session, Json& document, const Staged& staged) {
  document["ok"] = false;
  document["reason"] = staged.reason;
  document["message"] = staged.message;
  if (session.is_json()) {
    session.print(document);
  } else {
    session.say_lines(staged.report);
  }
  return kExitNo;
}

/// What --reject left out makes the answer a no, as git apply has it, whatever is committed.
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

Result<int> preview_edit(Session& session) {
  Json document = {{"schema", "galley.preview/1"}, {"ok", true}};
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(Transaction transaction, workspace->begin(session.transaction_options()));
  GALLEY_ASSIGN(const Staged staged, stage_input(session, *workspace, transaction, document));
  if (!staged.fits) return no(session, document, staged);
  add_rejects(staged, document);
  if (!staged.report.empty()) session.say_lines(staged.report);
  if (session.arguments().edit.check && !session.is_json()) {
    return finish_rejects(session, staged, kExitDone);
  }
  GALLEY_ASSIGN(const Preview preview, transaction.preview(session.gate_progress()));
  GALLEY_TRY(show_preview(session, preview, document));
  GALLEY_ASSIGN(const int status, finish_verdict(session, preview.verdict, document));
  return finish_rejects(session, staged, status);
}

Result<int> apply_edit(Session& session) {
  if (session.arguments().edit.check) return preview_edit(session);
  Json document = {{"schema", "galley.apply/1"}, {"ok", true}};
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(Transaction transaction, workspace->begin(session.transaction_options()));
  GALLEY_ASSIGN(const Staged staged, stage_input(session, *workspace, transaction, document));
  if (!staged.fits) return no(session, document, staged);
  add_rejects(staged, document);
  if (!staged.report.empty()) session.say_lines(staged.report);
  CommitRequest request;
  request.tool = "apply";
  request.on_progress = session.gate_progress();
  const Proposal proposal = Proposal::freeze(transaction.overlay());
  GALLEY_ASSIGN(const CommitOutcome outcome, transaction.commit(request));
  if (std::holds_alternative<Conflict>(outcome) && session.arguments().conflict == "markers") {
    GALLEY_ASSIGN(Transaction stored, workspace->begin_stored(session.transaction_options()));
    GALLEY_TRY(stage_markers(session, stored, proposal, {}, document));
    if (!document.contains("marked")) GALLEY_TRY(stored.rollback());
  }
  GALLEY_ASSIGN(const int status, finish_commit(session, outcome, proposal, document));
  return finish_rejects(session, staged, status);
}

}  // namespace

int run_preview(Session& session) { return session.finish(preview_edit(session)); }
int run_apply(Session& session) { return session.finish(apply_edit(session)); }

}  // namespace galley
