#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/hook_command.h"
#include "cli/outcome.h"
#include "cli/render.h"
#include "cli/reports.h"
#include "cli/staged.h"
#include "engine/check/git_check.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/policy/verdict_file.h"
#include "engine/validators/bisect.h"
#include "engine/validators/file_validator.h"

namespace galley {

// --- verdict files ------------------------------------------------------------------------------

namespace {

/// Returns the key of --key.
Result<std::optional<VerdictKey>> key_of(Session& session) {
  const std::string& file = session.arguments().verdict.key;
  if (file.empty()) return std::optional<VerdictKey>();
  GALLEY_ASSIGN(const std::string text, session.read_input(file, "a key", limits::kMaxConfigBytes));
  GALLEY_ASSIGN(VerdictKey key, VerdictKey::parse(text));
  return std::optional(std::move(key));
}

/// Returns the text of the galley.toml that applies: the workspace's, or that of --config.
Result<std::string> rules_text(Session& session, const Directory& workspace) {
  const std::string& other = session.arguments().global.config;
  if (!other.empty()) return session.read_input(other, "", limits::kMaxConfigBytes);
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(kConfigFileName));
  GALLEY_ASSIGN(const FileStat stat, workspace.stat(path));
  if (stat.kind == FileKind::kAbsent) return std::string();
  return read_file(workspace, path, limits::kMaxConfigBytes);
}

/// Returns the subject of a verdict: this change, under these rules, judged by this program.
JudgedSubject verdict_subject(const Proposal& proposal, const Config& config,
                              std::string_view rules) {
  JudgedSubject subject;
  subject.proposal = proposal.id();
  subject.version = GALLEY_VERSION;
  subject.configuration = ContentId::of(rules);
  for (const ValidatorConfig& validator : config.validators) {
    subject.validators.emplace_back(
        validator.name,
        ContentId::of(config_fingerprint(validator) + (validator.is_trusted ? "" : " untrusted")));
  }
  return subject;
}

/// The same for a proposal to the workspace of the session.
Result<JudgedSubject> verdict_subject(Session& session, const Proposal& proposal) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const std::string rules, rules_text(session, place_of(*workspace).files()));
  const Config& config = rules_of(*workspace).config;
  JudgedSubject subject = verdict_subject(proposal, config, rules);
  GALLEY_ASSIGN(subject.files, judging_files(config, place_of(*workspace).files()));
  subject.agent = session.arguments().global.agent;
  return subject;
}

/// Writes the file of --verdict, if the option is given.
Result<void> write_verdict(Session& session, const JudgedSubject& subject, const Verdict& verdict) {
  const std::string& file = session.arguments().verdict.write;
  if (file.empty()) return {};
  GALLEY_ASSIGN(const auto key, key_of(session));
  const int64_t now = SystemClock().wall_ns();
  GALLEY_ASSIGN(const std::string text, verdict_file(subject, verdict, now, key ? &*key : nullptr));
  return write_report_file(session, file, text);
}

/// --verify: reads the decision from a verdict file instead of asking the gate. Returns 0 if it
/// approves, 1 if it refuses. A file about another subject, or not signed by --key, is an Error.
Result<int> verify_verdict(Session& session, const JudgedSubject& subject) {
  const VerdictArguments& asked = session.arguments().verdict;
  GALLEY_ASSIGN(const auto key, key_of(session));
  GALLEY_ASSIGN(const std::string text,
                session.read_input(asked.verify, "a verdict", kMaxVerdictFileBytes));
  GALLEY_ASSIGN(const FiledVerdict filed,
                verify_verdict_file(text, subject, key ? &*key : nullptr));
  if (session.is_json()) {
    session.print(Json{{"schema", "galley.verify/1"},
                       {"ok", filed.is_approved},
                       {"proposal", subject.proposal.hex()},
                       {"time", filed.time},
                       {"signed", filed.is_signed}});
  } else if (!session.is_quiet() || !filed.is_approved) {
    session.print((filed.is_approved ? "approved at " : "refused at ") + filed.time +
                  (filed.is_signed ? ", signed\n" : ", not signed\n"));
  }
  return filed.is_approved ? kExitDone : kExitNo;
}

// --- check --------------------------------------------------------------------------------------

/// Adds a hint if a commit or a range was given in place of a patch.
Error with_source_hint(Error error, const std::string& word) {
  const bool is_file = word.find_first_of(" \t\n") != std::string::npos || word.front() == '-';
  if (is_file) return error;
  const std::string option = word.find("..") != std::string::npos ? "--range" : "--commit";
  error.message +=
      "; a commit or a range of git is checked with: galley check " + option + " " + word;
  return error;
}

Result<CheckSource> check_source(Session& session) {
  const CheckArguments& asked = session.arguments().check;
  if (!asked.range.empty()) return range_source(asked.range);
  CheckSource source;
  if (!asked.commit.empty()) {
    source.kind = CheckSource::Kind::kCommit;
    source.to = asked.commit;
  } else if (!asked.patch.empty()) {
    source.kind = CheckSource::Kind::kPatch;
    auto patch = session.read_input(asked.patch, "a patch", limits::kMaxPatchBytes);
    if (!patch) return fail(with_source_hint(patch.error(), asked.patch));
    source.patch = *std::move(patch);
    source.patch_end = document_end(session.arguments().edit);
  } else if (asked.worktree) {
    source.kind = CheckSource::Kind::kWorktree;
  }
  return source;
}

std::string_view source_name(CheckSource::Kind kind) {
  constexpr std::string_view kNames[] = {"staged", "worktree", "commit", "range", "patch"};
  return kNames[static_cast<size_t>(kind)];
}

/// Prints the verdict and returns the status.
Result<int> finish_judgement(Session& session, const Preview& preview, Json& document) {
  const bool is_approved = preview.verdict.is_approved();
  document["ok"] = is_approved;
  document["proposal"] = preview.proposal.id().hex();
  if (session.is_json() || !session.arguments().reports.empty()) {
    document["verdict"] = verdict_json(preview.verdict);
    document["changes"] = changes_json(preview.proposal.changes());
  }
  GALLEY_ASSIGN(const bool is_reported, write_reports(session, preview, document));
  if (session.is_json()) {
    session.print(document);
  } else if (is_reported) {
    return is_approved ? kExitDone : kExitNo;
  } else if (preview.proposal.is_empty() && is_approved) {
    session.say("there is nothing to judge: no file changes");
  } else if (!session.is_quiet() || !is_approved) {
    session.print(
        session.with_hints(verdict_text(preview.verdict, session.terminal().has_color())));
  }
  return is_approved ? kExitDone : kExitNo;
}

bool wants_verdict_file(Session& session) {
  const VerdictArguments& verdict = session.arguments().verdict;
  return !verdict.write.empty() || !verdict.verify.empty();
}

/// Like `galley validate`, but supports --only-new.
Result<int> check_transaction(Session& session) {
  GALLEY_ASSIGN(Transaction transaction, session.resume());
  JudgedSubject subject;
  if (wants_verdict_file(session)) {
    GALLEY_ASSIGN(subject, verdict_subject(session, transaction.proposal()));
  }
  if (!session.arguments().verdict.verify.empty()) return verify_verdict(session, subject);
  GALLEY_ASSIGN(const Preview preview, transaction.preview(session.gate_progress()));
  GALLEY_TRY(write_verdict(session, subject, preview.verdict));
  Json document = {{"schema", "galley.check/1"}, {"ok", false}, {"source", "transaction"}};
  document["tx"] = transaction.id();
  return finish_judgement(session, preview, document);
}

/// Reports the changes of --fix, for people and in the document.
void tell_fixes(Session& session, const StagedFixes& fixes, Json& document) {
  document["fixed"] = {{"staged", paths_json(fixes.put.staged)},
                       {"followed", paths_json(fixes.put.followed)}};
  for (const std::string& warning : fixes.put.warnings) document["warnings"].push_back(warning);
  if (!fixes.put.filtered.empty()) {
    document["fixed"]["filtered"] = paths_json(fixes.put.filtered);
  }
  for (const FixRun& run : fixes.report.runs) {
    for (const LeftOutFix& one : run.left_out) {
      const std::string what = run.validator + " " + one.change;
      document["fixed"]["left_out"].push_back(what);
      session.say(what);
    }
  }
  for (const RelPath& path : fixes.put.staged) {
    std::string where = " and in the work tree";
    const auto alone = fixes.put.unreplaced.find(path);
    if (alone != fixes.put.unreplaced.end()) {
      where = "; the file in the work tree was left alone, since " + alone->second +
              ": staged again as it is, it loses the fix; if it has no other changes, take it from "
              "the index: git checkout -- " +
              path.str();
    }
    session.say(fmt::format("fixed {} in the index{}", path.str(), where));
  }
  for (const std::string& warning : fixes.put.warnings) {
    session.say("warning: " + warning);
  }
}

Result<int> check_repository(Session& session) {
  GALLEY_ASSIGN(const CheckSource source, check_source(session));
  GALLEY_ASSIGN(auto check, open_check(session, source));
  Json document = {{"schema", "galley.check/1"}, {"ok", false}};
  bool is_fixed = false;
  if (session.arguments().fix) {
    session.terminal().work_on("running the validators that fix");
    GALLEY_ASSIGN(const StagedFixes fixes, check->fix());
    tell_fixes(session, fixes, document);
    is_fixed = !fixes.put.staged.empty();
    GALLEY_ASSIGN(check, open_check(session, source));
  }
  for (const std::string& notice : check->notices()) {
    session.say("galley: " + notice);
    document["warnings"].push_back(notice);
  }
  JudgedSubject subject;
  if (wants_verdict_file(session)) {
    GALLEY_ASSIGN(const std::string rules, check->rules());
    subject = verdict_subject(check->proposal(), check->config(), rules);
    GALLEY_ASSIGN(subject.files, check->rule_files());
    subject.agent = session.arguments().global.agent;
    subject.tree = check->base_tree();
  }
  if (!session.arguments().verdict.verify.empty()) return verify_verdict(session, subject);
  GALLEY_ASSIGN(const Preview preview, check->judge(session.gate_progress()));
  GALLEY_TRY(write_verdict(session, subject, preview.verdict));
  document["source"] = source_name(source.kind);
  if (is_fixed && preview.proposal.is_empty()) {
    // Without this refusal, a hook would let git write a commit without changes.
    GALLEY_ASSIGN(const bool merges, is_merging(GitProgram()));
    if (!merges) {
      return fail(ErrorKind::kRefused, "check.nothing_left",
                  "the fix takes the whole staged change back, so nothing is left to commit");
    }
  }
  return finish_judgement(session, preview, document);
}

}  // namespace

Result<int> run_check(Session& session) {
  return session.arguments().tx.empty() ? check_repository(session) : check_transaction(session);
}

// --- validate -----------------------------------------------------------------------------------

namespace {

Result<Json> judged_part_json(Session& session, const JudgedPart& part) {
  Json document = {{"pieces", Json::array()}};
  for (const ProposalPiece& piece : part.pieces) {
    Json one = {{"path", piece.path.str()}};
    if (piece.hunk != 0) one["hunk"] = piece.hunk;
    if (piece.is_mode) one["mode"] = true;
    if (piece.more_paths != 0) one["more_paths"] = piece.more_paths;
    document["pieces"].push_back(std::move(one));
  }
  document["proposal"] = part.proposal.id().hex();
  document["verdict"] = verdict_json(part.verdict);
  GALLEY_TRY(add_exact_diff(session, document, part.proposal));
  return document;
}

Result<Json> bisect_json(Session& session, const BisectReport& report) {
  Json document = {
      {"pieces", report.pieces}, {"questions", report.questions}, {"complete", report.is_complete}};
  GALLEY_ASSIGN(document["smallest_refused"], judged_part_json(session, report.smallest_failing));
  GALLEY_ASSIGN(document["largest_passing"], judged_part_json(session, report.largest_passing));
  return document;
}

std::string part_text(std::string_view title, const JudgedPart& part, size_t whole) {
  constexpr size_t kShownPieces = 40;
  std::string text = fmt::format("{} ({} of {} pieces)\n", title, part.pieces.size(), whole);
  for (size_t i = 0; i < part.pieces.size() && i < kShownPieces; ++i) {
    text += "  " + printable_line(part.pieces[i].text()) + "\n";
  }
  if (part.pieces.size() > kShownPieces) {
    text += fmt::format("  … and {} more\n", part.pieces.size() - kShownPieces);
  }
  return text;
}

Result<void> show_bisection(Session& session, const BisectReport& report) {
  Terminal& terminal = session.terminal();
  session.print(
      part_text("the smallest part that is refused", report.smallest_failing, report.pieces));
  session.print(verdict_text(report.smallest_failing.verdict, terminal.has_color()));
  GALLEY_TRY(print_changes(session, report.smallest_failing.proposal, session.arguments().diff));
  session.print(part_text("the largest part that passes", report.largest_passing, report.pieces));
  session.say(fmt::format("{} parts were judged{}", report.questions,
                          report.is_complete ? ""
                                             : "; the time was up before these were known to be "
                                               "the smallest and the largest: try --budget"));
  return {};
}

Result<void> bisect(Session& session, Transaction& transaction, Json& document) {
  BisectOptions options;
  if (session.arguments().budget_s > 0) {
    options.budget = std::chrono::seconds(session.arguments().budget_s);
  }
  GALLEY_ASSIGN(const BisectReport report, inner(transaction).bisect(options));
  if (!session.is_json()) return show_bisection(session, report);
  GALLEY_ASSIGN(document["bisect"], bisect_json(session, report));
  return {};
}

}  // namespace

Result<int> run_validate(Session& session) {
  const Arguments& arguments = session.arguments();
  GALLEY_ASSIGN(Transaction transaction, session.resume());
  Json document = {{"schema", "galley.validate/1"}, {"ok", false}, {"tx", transaction.id()}};
  if (arguments.fix) GALLEY_TRY(stage_fixes(session, transaction, document));
  if (!arguments.verdict.verify.empty()) {
    GALLEY_ASSIGN(const JudgedSubject subject, verdict_subject(session, transaction.proposal()));
    return verify_verdict(session, subject);
  }
  GALLEY_ASSIGN(const Preview preview, transaction.preview(session.gate_progress()));
  const bool is_approved = preview.verdict.is_approved();
  document["ok"] = is_approved;
  document["proposal"] = preview.proposal.id().hex();
  document["verdict"] = verdict_json(preview.verdict);
  if (!arguments.verdict.write.empty()) {
    GALLEY_ASSIGN(const JudgedSubject subject, verdict_subject(session, preview.proposal));
    GALLEY_TRY(write_verdict(session, subject, preview.verdict));
  }
  GALLEY_ASSIGN(const bool is_reported, write_reports(session, preview, document));
  if (!session.is_json() && !is_reported) {
    session.print(verdict_text(preview.verdict, session.terminal().has_color()));
  }
  if (arguments.bisect && !is_approved) GALLEY_TRY(bisect(session, transaction, document));
  if (session.is_json()) session.print(document);
  return is_approved ? kExitDone : kExitNo;
}

}  // namespace galley
