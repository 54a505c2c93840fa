#include "cli/outcome.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/shell_word.h"
#include "cli/places.h"
#include "cli/render.h"
#include "cli/reports.h"
#include "cli/run_service.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/policy/policy.h"

namespace galley {
namespace {

void add_no(Json& document, const std::string& reason, const std::string& message) {
  document["ok"] = false;
  document["reason"] = reason;
  document["message"] = message;
}

Result<int> finish_receipt(Session& session, const Receipt& receipt, const Proposal& proposal,
                           Json& document, const std::function<std::string(TxId)>& words) {
  session.remember("transaction " + receipt.id.str() + " is committed");
  if (session.is_json()) {
    document["receipt"] = receipt_json(receipt);
    GALLEY_TRY(add_exact_diff(session, document, proposal));
    session.print(document);
    return kExitDone;
  }
  for (const std::string& warning : receipt.warnings)
    session.say(session.with_hints("warning: " + warning));
  if (session.is_quiet()) return kExitDone;
  DiffArguments arguments = session.arguments().diff;
  if (!arguments.numstat && !arguments.name_status && !arguments.changes_diff_layout()) {
    arguments.stat = true;
  }
  GALLEY_TRY(print_changes(session, proposal, arguments));
  session.print(fmt::format("committed {}\n", receipt.id.str()));
  if (!receipt.git_commit.empty()) {
    session.print(fmt::format("committed to git {}\n", receipt.git_commit));
  }
  session.say(words ? words(receipt.id)
                    : "take it back with: " + session.hint("undo " + receipt.id.str()));
  return kExitDone;
}

/// preview -- PATH...; in other commands these words have another meaning.
std::vector<std::string> shown_paths(const Arguments& arguments) {
  return arguments.command == "preview" ? arguments.words : std::vector<std::string>();
}

std::string not_shown(const Session& session, const RelPath& path) {
  return fmt::format("left out: {}, which {} may not read", path.str(),
                     session.arguments().global.agent);
}

/// Returns links to the files of the workspace, if --hyperlinks and the terminal allow them.
Result<std::optional<Hyperlinks>> links_to_files(Session& session) {
  std::optional<Hyperlinks> links;
  if (!session.terminal().has_links(session.arguments().diff.hyperlinks)) return links;
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  constexpr size_t kMaxHostBytes = 256;
  std::array<char, kMaxHostBytes> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const char* format = std::getenv("GALLEY_EDITOR_LINK");
  links.emplace(format == nullptr || *format == '\0' ? "file" : format, workspace->root_path(),
                host.data());
  return links;
}

}  // namespace

Result<ReadablePart> part_for_caller(Session& session, const Proposal& proposal) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  return readable_part(proposal, Policy(rules_of(*workspace).config),
                       session.arguments().global.agent);
}

Result<void> print_changes(Session& session, const Proposal& proposal,
                           const DiffArguments& arguments, const std::string& heading) {
  if (!arguments.html.empty()) return write_report(session, proposal, {});
  // A summary has only names and numbers of lines, which every agent may see.
  const bool is_summary = arguments.stat || arguments.numstat || arguments.name_status;
  GALLEY_ASSIGN(const ReadablePart part, is_summary
                                             ? Result<ReadablePart>(ReadablePart{proposal, {}})
                                             : part_for_caller(session, proposal));
  GALLEY_ASSIGN(const auto links, links_to_files(session));
  OutputStyle style = session.terminal().style();
  style.links = links ? &*links : nullptr;
  GALLEY_ASSIGN(std::string text, render_changes(part.proposal, arguments, style));
  session.print(heading + std::move(text));
  for (const RelPath& path : part.left_out) session.say(not_shown(session, path));
  return {};
}

Result<std::string> diff_for_caller(Session& session, const Proposal& proposal,
                                    const OutputStyle& style) {
  GALLEY_ASSIGN(const ReadablePart part, part_for_caller(session, proposal));
  GALLEY_ASSIGN(std::string text, render_changes(part.proposal, DiffArguments(), style));
  for (const RelPath& path : part.left_out) text += printable_line(not_shown(session, path)) + "\n";
  return text;
}

Result<void> add_exact_diff(Session& session, Json& document, const Proposal& proposal) {
  GALLEY_ASSIGN(const ReadablePart part, part_for_caller(session, proposal));
  GALLEY_ASSIGN(const std::string diff, exact_diff(part.proposal));
  add_diff(document, diff);
  for (const RelPath& path : part.left_out) document["left_out"].push_back(path.str());
  return {};
}

Result<void> check_reads_all(Session& session, std::string_view what) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  const std::string& agent = session.arguments().global.agent;
  if (!Policy(rules_of(*workspace).config).limits_reading(agent)) return {};
  return fail(ErrorKind::kRefused, "policy.capability",
              fmt::format("{} shows files of every path, and the profile of {} bounds what it may "
                          "read; have a person look, without --agent",
                          what, agent));
}

Result<void> show_preview(Session& session, const Preview& whole, Json& document) {
  GALLEY_ASSIGN(const auto paths, session.paths(shown_paths(session.arguments())));
  const Preview preview{part_below(whole.proposal, paths), whole.verdict};
  const bool has_page = !session.arguments().diff.html.empty();
  if (has_page) {
    ReviewSubject subject;
    subject.verdict = &preview.verdict;
    GALLEY_TRY(write_report(session, preview.proposal, std::move(subject)));
  }
  if (session.is_json()) {
    document["proposal"] = whole.proposal.id().hex();
    document["verdict"] = verdict_json(preview.verdict);
    document["changes"] = changes_json(preview.proposal.changes());
    return add_exact_diff(session, document, preview.proposal);
  }
  if (has_page) return {};
  return print_changes(session, preview.proposal, session.arguments().diff);
}

Result<int> finish_verdict(Session& session, const Verdict& verdict, Json& document) {
  if (const auto* refusal = std::get_if<Refusal>(&verdict.decision)) {
    add_no(document, refusal->reason, refusal->message);
  }
  if (session.is_json()) {
    session.print(document);
  } else if (!session.arguments().diff.is_quiet &&
             (!session.is_quiet() || !verdict.is_approved())) {
    GALLEY_ASSIGN(const auto links, links_to_files(session));
    session.terminal().print_message(session.with_hints(
        verdict_text(verdict, session.terminal().has_error_color(), links ? &*links : nullptr)));
  }
  return verdict.is_approved() ? kExitDone : kExitNo;
}

Result<std::string> stage_markers(Session& session, Transaction& transaction,
                                  const Proposal& proposal, std::vector<MergedPath> known,
                                  Json& document) {
  auto staged = inner(transaction).stage_with_markers(proposal);
  // The caller tells the conflict, and explain_markers() why nothing is merged.
  if (!staged && staged.error().reason == "markers.refused") return std::string();
  GALLEY_ASSIGN(const RebaseOutcome outcome, std::move(staged));
  if (const auto* misfits = std::get_if<RebaseConflict>(&outcome)) {
    for (const PathConflict& path : misfits->paths) {
      session.print_error_lines("no markers help here: " + printable_line(path.message) + "\n");
    }
    return std::string();
  }
  const auto& merged = std::get<Rebased>(outcome).merged;
  known.insert(known.end(), merged.begin(), merged.end());
  document["tx"] = transaction.id();
  document["marked"] = Json::array();
  std::string names;
  std::string first;
  for (const MergedPath& path : known) {
    if (path.markers == 0) continue;
    document["marked"].push_back({{"path", path.path.str()}, {"markers", path.markers}});
    if (names.empty()) first = shell_word(path.path.str());
    names += (names.empty() ? "" : ", ") + path.path.str();
  }
  // `edit` needs a directory.
  const bool is_on_branch = !session.arguments().global.repository.empty();
  const std::string edit = is_on_branch ? "stage --tx " + transaction.id() + " FILE"
                                        : "edit --tx " + transaction.id() + " " + first;
  const std::string next = names.empty()
                               ? "look at it with: " + session.hint("diff --tx " + transaction.id())
                               : "edit what is between them with: " + session.hint(edit);
  const std::string text =
      fmt::format("staged {} in transaction {}{}{}; {}; then: {}",
                  names.empty() ? "the merge, which has no conflict," : "with conflict markers",
                  transaction.id(), names.empty() ? "" : ": ", names, next,
                  session.hint("commit --tx " + transaction.id()));
  if (!document.contains("message")) document["message"] = text;
  return text;
}

void explain_markers(Session& session, const std::string& tx) {
  const Arguments& arguments = session.arguments();
  const auto workspace = session.open();
  if (workspace && rules_of(**workspace).config.commit.on_conflict == OnConflict::kRefuse) {
    session.say(
        "nothing is merged, also not with --conflict=markers, because galley.toml has "
        "commit.on_conflict = \"refuse\"");
    return;
  }
  // `exec --commit` has dropped its transaction.
  if (arguments.conflict == "markers" || arguments.command == "exec") return;
  constexpr std::array<std::string_view, 4> kHaveTheOption = {"apply", "undo", "redo", "pick"};
  const auto run = tx.empty() ? std::nullopt : run_of(session, tx);
  if (std::find(kHaveTheOption.begin(), kHaveTheOption.end(), arguments.command) !=
      kHaveTheOption.end()) {
    session.say(
        "to merge by hand: the same with --conflict=markers stages both sides in a "
        "transaction, between markers");
  } else if (run && run->is_live) {
    session.say("its program still runs, so put both sides into the file there; or end it first: " +
                session.hint("stop " + tx));
  } else {
    session.say("to merge by hand, with both sides between markers: " +
                session.hint("commit --conflict=markers" + (tx.empty() ? "" : " --tx " + tx)));
  }
}

int finish_conflict(Session& session, const Conflict& conflict, Json& document) {
  const std::string text = conflict_text(conflict);
  document["conflict"] = conflict_json(conflict);
  add_no(document, conflict.reason, conflict.paths.empty() ? text : conflict.paths.front().message);
  if (session.is_json()) {
    session.print(document);
    return kExitNo;
  }
  session.terminal().print_message(text);
  const bool has_lines = std::any_of(conflict.paths.begin(), conflict.paths.end(),
                                     [](const auto& path) { return !path.hunks.empty(); });
  if (has_lines || session.arguments().conflict == "markers") {
    explain_markers(session, document.value("tx", session.arguments().tx));
  }
  return kExitNo;
}

Result<int> finish_commit(Session& session, const CommitOutcome& outcome, Json& document,
                          const std::function<std::string(TxId)>& words) {
  const Proposal& proposal = outcome.proposal;
  document["proposal"] = proposal.id().hex();
  if (const auto* receipt = std::get_if<Receipt>(&outcome)) {
    return finish_receipt(session, *receipt, proposal, document, words);
  }
  if (const auto* refused = std::get_if<Refused>(&outcome)) {
    document["verdict"] = verdict_json(refused->preview.verdict);
    return finish_verdict(session, refused->preview.verdict, document);
  }
  if (const auto* conflict = std::get_if<Conflict>(&outcome)) {
    return finish_conflict(session, *conflict, document);
  }
  document["message"] = "nothing differs from the workspace, so nothing was committed";
  session.tell(document, document["message"]);
  return kExitDone;
}

int start_exit_status(const Error& error, int other) {
  if (error.reason == "sandbox.program_not_found") return kNoProgram;
  return error.reason == "sandbox.program_not_runnable" ? kCannotExecute : other;
}

}  // namespace galley
