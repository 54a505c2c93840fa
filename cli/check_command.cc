#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/hook_judgement.h"
#include "cli/render.h"
#include "cli/reports.h"
#include "cli/staged.h"
#include "cli/verdicts.h"
#include "engine/check/git_check.h"

namespace galley {
namespace {

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

}  // namespace galley
