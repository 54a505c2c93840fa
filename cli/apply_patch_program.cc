#include "cli/commands.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/printable.h"
#include "cli/session.h"
#include "engine/pipeline/transaction_state.h"
#include "server/session/call_results.h"
#include "staging/fs/host_file.h"
#include "staging/printing/git_diff.h"
#include "tools/json_input.h"

namespace galley {
namespace {

constexpr const char* kUsage =
    "Usage: apply_patch 'PATCH'\n"
    "       echo 'PATCH' | apply_patch\n";

/// Returns a path of the workspace relative to `here`.
std::string name_from(const RelPath& here, const std::string& path) {
  if (here.is_root()) return path;
  std::string up;
  for (RelPath above = here;; above = above.parent()) {
    if (above.is_root()) return up + path;
    if (path.starts_with(above.str() + "/")) return up + path.substr(above.str().size() + 1);
    up += "../";
  }
}

/// Returns the summary in the tool's format: added files, then modified, then deleted ones.
std::string summary_of(const ChangeSet& changes, const RelPath& here) {
  std::map<char, std::set<std::string>> paths;
  std::set<std::string> moved;
  for (const Change& change : changes) {
    if (change.renamed_from) moved.insert(change.renamed_from->str());
  }
  for (const Change& change : changes) {
    const FileKind kind = change.is_delete() ? change.before.kind : change.after.kind;
    if (kind == FileKind::kDirectory) continue;
    if (change.is_delete() && moved.contains(change.path.str())) continue;
    const char letter = change.is_create() ? 'A' : change.is_delete() ? 'D' : 'M';
    paths[change.renamed_from ? 'M' : letter].insert(name_from(here, change.path.str()));
  }
  std::string text = "Success. Updated the following files:\n";
  for (const char letter : {'A', 'M', 'D'}) {
    for (const std::string& path : paths[letter])
      text += std::string(1, letter) + " " + name_in_line(path) + "\n";
  }
  return text;
}

int print_error(Session& session, const std::string& text) {
  session.terminal().print_message(printable(session.with_hints(text)) +
                                   (text.ends_with('\n') ? "" : "\n"));
  return kExitNo;
}

Result<int> apply(Session& session, const std::string& patch) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const RelPath here, session.place());
  GALLEY_ASSIGN(Transaction transaction, workspace->begin());
  const CallOptions call{.cwd = here.str()};
  const CallResult staged =
      transaction.call("apply_patch", json_text(nlohmann::json{{"input", patch}}), call);
  if (!staged) {
    const auto failed = failed_result(*staged.result().error);
    return print_error(session,
                       "nothing was changed: " + failed["content"][0]["text"].get<std::string>());
  }
  const Proposal proposal = transaction.proposal();
  if (proposal.is_empty()) {
    return print_error(session, "No files were modified: the patch says what is there already.");
  }
  GALLEY_ASSIGN(const CommitOutcome outcome, transaction.commit({.tool = "apply_patch"}));
  if (const auto* receipt = std::get_if<Receipt>(&outcome)) {
    session.remember("transaction " + receipt->id.str() + " is committed");
    for (const std::string& warning : receipt->warnings)
      session.say(session.with_hints("warning: " + warning));
    session.print(summary_of(receipt->changes, here));
    return kExitDone;
  }
  const auto answer = commit_result(outcome, "");
  return print_error(session, answer["content"][0]["text"].get<std::string>());
}

}  // namespace

bool is_apply_patch(std::string_view argv0) {
  const std::string_view name = argv0.substr(argv0.rfind('/') + 1);
  return name == "apply_patch" || name == "applypatch";
}

Result<int> run_apply_patch(Session& session) {
  const std::vector<std::string>& words = session.arguments().words;
  if (words.size() > 1) {
    session.terminal().print_message("apply_patch takes exactly one argument.\n");
    session.terminal().print_message(kUsage);
    return kExitMalformed;
  }
  if (!words.empty() && (words.front() == "-h" || words.front() == "--help")) {
    session.print(std::string(kUsage));
    return kExitDone;
  }
  const auto patch = words.empty() ? read_host_file("-", limits::kMaxPatchBytes)
                                   : Result<std::string>(words.front());
  if (patch && patch->empty()) {
    session.terminal().print_message(kUsage);
    return kExitMalformed;
  }
  const int status = session.finish(patch ? apply(session, *patch) : Result<int>(patch.error()));
  // In this tool, 2 means wrong usage. The status for a patch that cannot be parsed is 1.
  return status == kExitMalformed ? kExitNo : status;
}

}  // namespace galley
