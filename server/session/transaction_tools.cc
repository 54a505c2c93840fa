#include "server/session/transaction_tools.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/printable.h"
#include "base/rel_path.h"
#include "base/text.h"
#include "engine/history/rebase.h"
#include "engine/history/turns.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/shown_changes.h"
#include "server/session/call_results.h"
#include "server/session/conflict_answers.h"
#include "staging/overlay/proposal_pieces.h"
#include "staging/printing/git_diff.h"
#include "tools/json_input.h"
#include "tools/schema.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kTx = R"("tx":{"type":"string"})";
constexpr const char* kResolveMembers =
    R"(,"path":{"type":"string"},"version":{"type":"string","description":"as listed"},)"
    R"("take":{"enum":["staged","disk","base"]},"hunks":{"type":"array","items":{"anyOf":[)"
    R"({"enum":["staged","disk","base"]},{"type":"object","additionalProperties":false,)"
    R"("required":["text"],"properties":{"text":{"type":"string"}}}]}},"text":{"type":"string"})";
constexpr size_t kMaxOwnCommits = 1'000;  // that can be taken back without an id
constexpr int64_t kLoggedByDefault = 10;
constexpr size_t kMaxLoggedPaths = 10;  // of one commit in the text

struct Verb {
  const char* name;
  const char* title;
  const char* description;
  std::string members;  ///< of the arguments
  bool is_read_only;
  bool is_destructive;
  std::string required = "[]";  ///< arguments that must be given, as JSON
};

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> kVerbs = {
      {"galley_begin", "Begin a transaction",
       "Begins a transaction and makes it the one of this connection; calls of other tools begin "
       "one "
       "by themselves. Returns its id, which every tool takes as 'tx'.",
       R"("message":{"type":"string","description":"why; kept with the commit"})", false, false},
      {"galley_status", "Show what is staged",
       "Lists the paths that a transaction changes, and the transactions that are open here.", kTx,
       true, false},
      {"galley_diff", "Show the staged diff",
       "The exact diff of a transaction against the workspace, as git prints it. Long diffs come "
       "in "
       "pages: call again with 'offset'.",
       std::string(kTx) + R"(,"offset":{"type":"integer","minimum":0})", true, false},
      {"galley_preview", "Preview the commit",
       "The diff of a transaction and what policy and validators say of it. Nothing is written.",
       kTx, true, false},
      {"galley_validate", "Ask policy and validators",
       "What policy and validators say of a transaction, without its diff.", kTx, true, false},
      {"galley_commit", "Commit",
       "Puts everything that is staged on disk in one step, or nothing of it: when policy or "
       "validators refuse, or files changed meanwhile, the answer says what to do and the "
       "transaction stays open.",
       std::string(kTx), false, true},
      {"galley_rebase", "Take over what changed on disk",
       "Merges what changed on disk since into the transaction, and lists the hunks that conflict. "
       "'path', 'hunk' and 'offset' list a part of a long list.",
       std::string(kTx) + R"(,"path":{"type":"string"},"hunk":{"type":"integer","minimum":1},)"
                          R"("offset":{"type":"integer","minimum":0})",
       false, false},
      {"galley_resolve", "Resolve a conflict",
       "Resolves the conflict of one path: 'hunks' has for each hunk staged, disk, base or a text; "
       "'take' takes one side for all; 'text' is the whole new file.",
       std::string(kTx) + kResolveMembers, false, false, R"(["path","version"])"},
      {"galley_rollback", "Drop what is staged",
       "Drops everything that a transaction staged, or only 'paths'; nothing of it was on disk.",
       std::string(kTx) + R"(,"paths":{"type":"array","minItems":1,"items":{"type":"string"}})",
       false, true},
      {"galley_undo", "Undo a commit",
       "Takes a commit back by another one, through the same gate. Without 'id' the newest of this "
       "session.",
       R"("id":{"type":"string","description":"number of the commit"})", false, true},
      {"galley_log", "List commits", "The newest commits of this workspace.",
       R"("limit":{"type":"integer","minimum":1,"maximum":200})", true, false},
      {"galley_output", "Read a long output",
       "The part of a command's output that its answer left out, by the id that the answer gave.",
       std::string(kTx) + R"(,"id":{"type":"string"},"stream":{"enum":["stdout","stderr"]},)"
                          R"("offset":{"type":"integer","minimum":0},)"
                          R"("length":{"type":"integer","minimum":1})",
       true, false, R"(["id"])"},
  };
  return kVerbs;
}

int64_t number_argument(const json& arguments, const char* name, int64_t otherwise) {
  const auto found = arguments.find(name);
  return found != arguments.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}

std::string schema_of(const Verb& verb) {
  const std::string required = verb.required == "[]" ? "" : ",\"required\":" + verb.required;
  return R"({"type":"object","additionalProperties":false,"properties":{)" + verb.members + "}" +
         required + "}";
}

ordered_json nothing_staged() { return {{"tx", nullptr}, {"changes", ordered_json::array()}}; }

/// Reports to the waiting client what rules and validators do.
std::function<void(const Verdict::Progress&)> progress_to(McpRequest& request) {
  return [&request](const Verdict::Progress& progress) {
    request.progress(static_cast<double>(progress.done), static_cast<double>(progress.total),
                     progress.validator);
  };
}

std::string logged_paths(const TxSummary& tx) {
  std::string text;
  size_t shown = 0;
  for (const TxSummary::Path& path : tx.paths) {
    if (++shown > kMaxLoggedPaths) break;
    text += "  " + std::string(1, path.status) + " " + name_in_line(path.path.str()) + "\n";
  }
  if (shown > kMaxLoggedPaths) {
    text += "  and " + std::to_string(tx.paths.size() - kMaxLoggedPaths) + " more\n";
  }
  return text;
}

ordered_json summary_json(const TxSummary& tx) {
  ordered_json out = {{"id", tx.id.str()},
                      {"time", rfc3339_utc(tx.time_ns)},
                      {"agent", tx.agent},
                      {"tool", tx.tool},
                      {"message", tx.message}};
  if (tx.undoes) out["undoes"] = tx.undoes->str();
  if (tx.undone_by) out["undoneBy"] = tx.undone_by->str();
  if (!tx.problem.empty()) out["problem"] = tx.problem;
  out["count"] = tx.paths.size();
  out["paths"] = ordered_json::array();
  for (const TxSummary::Path& path : tx.paths) {
    out["paths"].push_back({{"path", path.path.str()}, {"change", std::string(1, path.status)}});
  }
  return out;
}

}  // namespace

const std::vector<ordered_json>& TransactionTools::list() {
  static const std::vector<ordered_json> kTools = [] {
    std::vector<ordered_json> tools;
    for (const Verb& verb : verbs()) {
      tools.push_back({{"name", verb.name},
                       {"title", verb.title},
                       {"description", verb.description},
                       {"inputSchema", ordered_json::parse(schema_of(verb))},
                       {"outputSchema", {{"type", "object"}}},
                       {"annotations",
                        {{"readOnlyHint", verb.is_read_only},
                         {"destructiveHint", verb.is_destructive},
                         {"idempotentHint", verb.is_read_only},
                         {"openWorldHint", false}}}});
    }
    return tools;
  }();
  return kTools;
}

bool TransactionTools::has(std::string_view name) {
  return std::any_of(verbs().begin(), verbs().end(),
                     [&](const Verb& verb) { return verb.name == name; });
}

bool TransactionTools::only_reads(std::string_view name) {
  return std::any_of(verbs().begin(), verbs().end(),
                     [&](const Verb& verb) { return verb.name == name && verb.is_read_only; });
}

bool TransactionTools::needs_tx(std::string_view name) {
  constexpr std::array<std::string_view, 5> kOthers = {
      "galley_begin", "galley_status", "galley_undo", "galley_log", "galley_output"};
  return has(name) && std::find(kOthers.begin(), kOthers.end(), name) == kOthers.end();
}

bool TransactionTools::changes_staged(std::string_view name) {
  return needs_tx(name) && !only_reads(name);
}

ordered_json TransactionTools::call(const std::string& name, const json& arguments,
                                    McpRequest& request) {
  const auto verb = std::find_if(verbs().begin(), verbs().end(),
                                 [&](const Verb& each) { return each.name == name; });
  const auto schema = JsonSchema::compile(schema_of(*verb));
  if (const auto violations = schema->check(arguments); !violations.empty()) {
    return failed_result({ErrorKind::kInvalid, "args.schema",
                          "the arguments of '" + name + "': " + describe(violations), "", 0});
  }
  Result<ordered_json> result = ordered_json();
  if (name == "galley_begin") result = begin(arguments);
  if (name == "galley_status") result = show_status(arguments);
  if (name == "galley_diff") result = show_diff(arguments);
  if (name == "galley_preview") result = preview(arguments, true, request);
  if (name == "galley_validate") result = preview(arguments, false, request);
  if (name == "galley_commit") result = commit(arguments, request);
  if (name == "galley_rebase") result = rebase(arguments);
  if (name == "galley_resolve") result = resolve(arguments);
  if (name == "galley_rollback") result = rollback(arguments);
  if (name == "galley_undo") result = undo(arguments, request);
  if (name == "galley_log") result = log(arguments);
  if (name == "galley_output") result = output(arguments);
  return result ? *std::move(result) : failed_result(result.error());
}

namespace {

/// Drops the transaction that was begun in place of one that was ended elsewhere.
Result<ordered_json> ended_result(OpenTransactions::Lease begun, ordered_json structured) {
  const std::string ended = begun.ended();
  const std::string how = begun.ended_how();
  GALLEY_TRY(begun->rollback());
  GALLEY_TRY(begun.give_back(true));
  ordered_json result = call_result("nothing is staged", std::move(structured));
  tell_ended(ended, how, result);
  return result;
}

/// Returns what a person wrote about a transaction, as far as it fits into an answer.
std::vector<ReviewComment> comments_on(Transaction& transaction) {
  constexpr size_t kMaxShownComments = 200;
  constexpr size_t kMaxCommentText = 16'384;
  std::vector<ReviewComment> comments = inner(transaction).comments();
  size_t shown = 0;
  for (size_t bytes = 0; shown < std::min(comments.size(), kMaxShownComments); ++shown) {
    bytes += comments[shown].on.size() + comments[shown].text.size();
    if (bytes > kMaxCommentText) break;
  }
  if (shown == comments.size()) return comments;
  const size_t left = comments.size() - shown;
  comments.resize(shown);
  comments.push_back({"all", counted(left, "comment") + " more: galley status"});
  return comments;
}

}  // namespace

Result<ordered_json> TransactionTools::begin(const json& arguments) {
  GALLEY_ASSIGN(const std::string id, open_->begin(text_member(arguments, "message")));
  return call_result("began transaction " + id, {{"tx", id}});
}

Result<ordered_json> TransactionTools::status(const std::string& tx) {
  ordered_json structured = nothing_staged();
  GALLEY_ASSIGN(auto transaction, open_->look(tx));
  if (transaction) {
    const Proposal proposal = transaction->proposal();
    structured["tx"] = transaction->id();
    structured["proposal"] = proposal.id().hex();
    add_changes(proposal.changes(), structured);
    for (const ReviewComment& one : comments_on(*transaction)) {
      structured["comments"].push_back({{"on", one.on}, {"text", one.text}});
    }
    GALLEY_TRY(transaction.give_back());
  }
  GALLEY_ASSIGN(const auto stages, workspace_->stages());
  structured["open"] = ordered_json::array();
  for (const Workspace::Stage& stage : stages) {
    structured["open"].push_back({{"tx", stage.id},
                                  {"agent", stage.agent},
                                  {"message", stage.message},
                                  {"begun", rfc3339_utc(stage.begun_ns)}});
  }
  return structured;
}

Result<ordered_json> TransactionTools::show_status(const json& arguments) {
  GALLEY_ASSIGN(ordered_json structured, status(text_member(arguments, "tx")));
  std::string text = "no transaction of this connection is open; nothing is staged\n";
  if (structured["tx"].is_string()) {
    text = "transaction " + structured["tx"].get<std::string>() + ", not on disk:\n";
    for (const ordered_json& change : structured["changes"]) {
      text += change["change"].get<std::string>() + " " +
              name_in_line(text_member(change, "path")) + "\n";
    }
    const size_t left = structured["count"].get<size_t>() - structured["changes"].size();
    if (left > 0) text += "and " + std::to_string(left) + " more\n";
    if (structured["changes"].empty()) text += "nothing is staged\n";
    for (const ordered_json& comment : structured.value("comments", ordered_json::array())) {
      text += "comment of a person on " + name_in_line(text_member(comment, "on")) + ": " +
              text_member(comment, "text") + "\n";
    }
  }
  for (const ordered_json& stage : structured["open"]) {
    text += "open: " + stage["tx"].get<std::string>() + " " +
            printable_line(text_member(stage, "agent")) + " " +
            printable_line(text_member(stage, "message")) + "\n";
  }
  return call_result(std::move(text), std::move(structured));
}

Result<std::string> TransactionTools::shown_diff(const Proposal& proposal) const {
  return diff_shown_to(open_->who().agent, *workspace_, proposal);
}

Result<std::string> TransactionTools::diff_text(const std::string& tx) {
  GALLEY_ASSIGN(auto transaction, open_->look(tx));
  if (!transaction) return std::string();
  GALLEY_ASSIGN(std::string diff, shown_diff(transaction->proposal()));
  GALLEY_TRY(transaction.give_back());
  return diff;
}

Result<ordered_json> TransactionTools::show_diff(const json& arguments) {
  GALLEY_ASSIGN(const std::string diff, diff_text(text_member(arguments, "tx")));
  size_t next = 0;
  const auto offset = static_cast<size_t>(number_argument(arguments, "offset", 0));
  std::string page = structured_page_of(diff, offset, next);
  ordered_json structured = {{"diff", page}, {"bytes", diff.size()}};
  if (next > 0) structured["nextOffset"] = next;
  std::string text = diff.empty() ? "nothing is staged\n" : page;
  if (next > 0) {
    text = "[bytes " + std::to_string(offset) + " to " + std::to_string(next) + " of " +
           std::to_string(diff.size()) + "; the rest: offset " + std::to_string(next) + "]\n" +
           text;
  }
  return call_result(std::move(text), std::move(structured));
}

Result<ordered_json> TransactionTools::preview(const json& arguments, bool with_diff,
                                               McpRequest& request) {
  ordered_json structured = nothing_staged();
  std::string text = "nothing is staged\n";
  std::vector<ReviewComment> comments;
  GALLEY_ASSIGN(auto transaction, open_->look(text_member(arguments, "tx")));
  if (transaction) {
    comments = comments_on(*transaction);
    GALLEY_ASSIGN(const Preview shown, transaction->preview(progress_to(request)));
    structured["tx"] = transaction->id();
    structured["proposal"] = shown.proposal.id().hex();
    add_changes(shown.proposal.changes(), structured);
    structured["verdict"] = verdict_answer(shown.verdict);
    text = verdict_summary(shown.verdict) + changes_summary(shown.proposal.changes());
    if (with_diff) {
      GALLEY_ASSIGN(const std::string diff, shown_diff(shown.proposal));
      size_t next = 0;
      const std::string page = structured_page_of(diff, 0, next);
      structured["diff"] = page;
      if (next > 0) structured["nextOffset"] = next;
      text += diff;
    }
    GALLEY_TRY(transaction.give_back());
  }
  ordered_json result =
      with_comments(call_result(std::move(text), std::move(structured)), comments);
  // With many findings, less of the diff fits: the rest begins at the cut.
  ordered_json& shown = result["structuredContent"];
  const bool is_cut = shown.contains("leftOut") && shown.contains("diff");
  if (is_cut) shown["nextOffset"] = shown["diff"].get_ref<const std::string&>().size();
  return result;
}

Result<ordered_json> TransactionTools::commit(const json& arguments, McpRequest& request) {
  const std::string tx = text_member(arguments, "tx");
  if (tx.empty() && open_->own().empty()) {
    return call_result("nothing is staged: nothing to commit", {{"outcome", "nothing"}});
  }
  GALLEY_ASSIGN(auto transaction, open_->lend(tx));
  if (!transaction.ended().empty()) {
    return ended_result(std::move(transaction), {{"outcome", "nothing"}});
  }
  const std::string id = transaction->id();
  const std::vector<ReviewComment> comments = comments_on(*transaction);
  const auto committed =
      transaction->commit({.on_progress = progress_to(request), .stop = request.stop()});
  // It may be on disk.
  if (!committed && committed.error().kind == ErrorKind::kUndecided) request.answer_always();
  GALLEY_ASSIGN(const CommitOutcome outcome, committed);
  const auto* conflict = std::get_if<Conflict>(&outcome);
  if (const auto* receipt = std::get_if<Receipt>(&outcome)) {
    note_commit(receipt->id);
    request.answer_always();
  }
  std::vector<PathConflict> listed;
  if (conflict != nullptr) listed = inner(*transaction).conflicts().value_or(listed);
  GALLEY_TRY(transaction.give_back(std::holds_alternative<Receipt>(outcome)));
  return with_comments(
      conflict != nullptr ? conflict_result(*conflict, listed, id) : commit_result(outcome, id),
      comments);
}

namespace {

/// The answer of galley_rebase and galley_resolve.
ordered_json rebased_result(const std::string& tx, const InnerTransaction::StagedRebase& done,
                            const ordered_json& listed) {
  ordered_json structured = {{"tx", tx}, {"merged", ordered_json::array()}};
  std::string text;
  for (const MergedPath& path : done.merged) {
    structured["merged"].push_back({{"path", path.path.str()}, {"how", path.how}});
    text += name_in_line(path.path.str()) + ": " + path.how + "\n";
  }
  structured.update(listed);
  text += done.conflicts.empty() ? "nothing conflicts with the disk: look at galley_diff, then "
                                   "galley_commit\n"
                                 : "to resolve with galley_resolve:\n" + conflicts_text(listed);
  return call_result(std::move(text), std::move(structured));
}

}  // namespace

Result<ordered_json> TransactionTools::rebase(const json& arguments) {
  GALLEY_ASSIGN(auto transaction, open_->look(text_member(arguments, "tx")));
  if (!transaction) return call_result("nothing is staged", nothing_staged());
  GALLEY_ASSIGN(const auto done, inner(*transaction).rebase_staged());
  const std::string id = transaction->id();
  GALLEY_TRY(transaction.give_back());
  ConflictRange range;
  range.path = text_member(arguments, "path");
  range.hunk = static_cast<size_t>(number_argument(arguments, "hunk", 1));
  range.offset = static_cast<size_t>(number_argument(arguments, "offset", 0));
  return rebased_result(id, done, conflicts_json(done.conflicts, range));
}

Result<ordered_json> TransactionTools::resolve(const json& arguments) {
  GALLEY_ASSIGN(Resolution resolution, resolution_of_call(arguments));
  GALLEY_ASSIGN(const RelPath path,
                RelPath::parse_within(text_member(arguments, "path"), workspace_->root_path()));
  GALLEY_ASSIGN(auto transaction, open_->look(text_member(arguments, "tx")));
  if (!transaction) return call_result("nothing is staged", nothing_staged());
  GALLEY_ASSIGN(const auto done,
                inner(*transaction).rebase_staged({{path, std::move(resolution)}}));
  const std::string id = transaction->id();
  GALLEY_TRY(transaction.give_back());
  // The hunks of the others were listed before.
  ordered_json left = {{"conflicts", ordered_json::array()}};
  for (const PathConflict& conflict : done.conflicts) {
    left["conflicts"].push_back({{"path", conflict.path.str()},
                                 {"version", conflict.version()},
                                 {"message", conflict.message}});
  }
  return rebased_result(id, done, left);
}

namespace {

/// The proposal without the pieces that change something at or below the paths.
Result<Proposal> without(const Proposal& staged, const json& paths, const std::string& root) {
  std::vector<RelPath> dropped;
  for (const json& each : paths) {
    GALLEY_ASSIGN(const RelPath path,
                  RelPath::parse_within(each.get_ref<const std::string&>(), root));
    const ChangeSet& changes = staged.changes();
    const bool is_staged = std::any_of(changes.begin(), changes.end(), [&](const Change& change) {
      return change.path == path || change.path.is_below(path);
    });
    if (!is_staged) {
      return fail(ErrorKind::kUsage, "rollback.unknown_path",
                  "nothing is staged at '" + path.str() + "'; galley_status lists what is",
                  path.str());
    }
    dropped.push_back(path);
  }
  GALLEY_ASSIGN(const ProposalPieces pieces, ProposalPieces::split(staged));
  return pieces.without(dropped);
}

}  // namespace

Result<ordered_json> TransactionTools::rollback(const json& arguments) {
  const std::string tx = text_member(arguments, "tx");
  if (tx.empty() && open_->own().empty()) {
    return call_result("nothing is staged", {{"dropped", false}});
  }
  GALLEY_ASSIGN(auto transaction, open_->lend(tx));
  if (!transaction.ended().empty()) {
    return ended_result(std::move(transaction), {{"dropped", false}});
  }
  if (const auto paths = arguments.find("paths"); paths != arguments.end()) {
    GALLEY_ASSIGN(const Proposal kept,
                  without(transaction->proposal(), *paths, workspace_->root_path()));
    GALLEY_TRY(transaction->keep_part(kept));
    ordered_json structured = {{"dropped", true}, {"tx", transaction->id()}};
    add_changes(kept.changes(), structured);
    GALLEY_TRY(transaction.give_back());
    return call_result("dropped; still staged:\n" + changes_summary(kept.changes()),
                       std::move(structured));
  }
  GALLEY_TRY(transaction->rollback());
  GALLEY_TRY(transaction.give_back(true));
  return call_result("dropped what was staged", {{"dropped", true}});
}

void TransactionTools::note_commit(TxId id) {
  if (is_shared_) return;
  const std::lock_guard lock(mutex_);
  committed_.push_back({open_->who().session, id});
  if (committed_.size() > kMaxOwnCommits) committed_.pop_front();
}

void TransactionTools::forget_commit(const std::string& id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(committed_, [&](const OwnCommit& one) { return one.id.str() == id; });
}

Result<std::vector<std::string>> TransactionTools::own_commits() {
  const std::string session = open_->who().session;
  std::set<TxId> found;
  {
    const std::lock_guard lock(mutex_);
    for (const OwnCommit& one : committed_) {
      if (one.session == session) found.insert(one.id);
    }
  }
  if (!session.empty()) {
    const auto all = workspace_->log({.session = session, .with_lines = false});
    if (!all && all.error().reason != "history.empty") return fail(all.error());
    for (const TxSummary& one : all.value_or(std::vector<TxSummary>())) {
      if (is_to_undo(one)) found.insert(one.id);
    }
  }
  std::vector<std::string> ids;
  for (auto id = found.rbegin(); id != found.rend(); ++id) ids.push_back(id->str());
  return ids;
}

Result<ordered_json> TransactionTools::undo(const json& arguments, McpRequest& request) {
  TransactionOptions who = open_->who();
  who.stop = request.stop();
  const std::string named = text_member(arguments, "id");
  if (is_shared_ && named.empty()) {
    return fail(ErrorKind::kUsage, "history.nothing_to_undo",
                "name the commit in 'id', as galley_commit or galley_log gives it: clients without "
                "a session share this server");
  }
  std::vector<std::string> ids = {named};
  if (named.empty()) {
    GALLEY_ASSIGN(ids, own_commits());
  }
  for (const std::string& id : ids) {
    const auto outcome = workspace_->undo(id, {}, who);
    // Others may have taken it back meanwhile, or dropped it from the history.
    const bool is_gone = outcome ? std::holds_alternative<NothingToCommit>(*outcome)
                                 : outcome.error().kind == ErrorKind::kNotFound;
    const bool is_undone = outcome && std::holds_alternative<Receipt>(*outcome);
    if (is_gone || is_undone) forget_commit(id);
    if (is_undone) request.answer_always();
    if (is_gone && named.empty()) continue;
    if (!outcome) return fail(outcome.error());
    return commit_result(*outcome, {});
  }
  return fail(ErrorKind::kNotFound, "history.nothing_to_undo",
              "this session has no commit that it could take back; galley_log lists the "
              "commits of others, and 'id' names one of them");
}

void TransactionTools::keep_output(const std::string& execution, CutOutput output) {
  if (output.whole.size() > kMaxKeptOutputBytes) output.whole.resize(kMaxKeptOutputBytes);
  const std::lock_guard lock(mutex_);
  outputs_.push_back({execution, std::move(output)});
  if (outputs_.size() > kMaxKeptOutputs) outputs_.pop_front();
}

Result<std::string> TransactionTools::whole_output(const json& arguments) {
  const std::string execution = text_member(arguments, "id");
  std::string stream = text_member(arguments, "stream");
  if (stream.empty()) stream = "stdout";
  if (text_member(arguments, "tx").empty()) {
    const std::lock_guard lock(mutex_);
    for (const KeptOutput& kept : outputs_) {
      if (kept.execution == execution && kept.output.stream == stream) return kept.output.whole;
    }
  }
  GALLEY_ASSIGN(auto transaction, open_->look(text_member(arguments, "tx")));
  if (!transaction) {
    return fail(ErrorKind::kNotFound, "output.not_found",
                "no transaction of this connection is open, and its outputs went with it; run the "
                "command again");
  }
  GALLEY_ASSIGN(std::string whole, inner(*transaction).kept_output({execution, stream}));
  GALLEY_TRY(transaction.give_back());
  return whole;
}

Result<ordered_json> TransactionTools::output(const json& arguments) {
  GALLEY_ASSIGN(std::string whole, whole_output(arguments));
  const size_t bytes = whole.size();
  const auto offset = static_cast<size_t>(number_argument(arguments, "offset", 0));
  const auto length = static_cast<uint64_t>(number_argument(arguments, "length", 0));
  if (length > 0 && offset < bytes) whole.resize(std::min<uint64_t>(bytes, offset + length));
  size_t next = 0;
  std::string page = structured_page_of(whole, offset, next);
  if (next == 0 && whole.size() < bytes) next = whole.size();
  ordered_json structured = {{"output", page}, {"bytes", bytes}};
  if (next > 0) structured["nextOffset"] = next;
  std::string text = "[bytes " + std::to_string(offset) + " to " +
                     std::to_string(next > 0 ? next : bytes) + " of " + std::to_string(bytes);
  if (next > 0) text += "; the rest: offset " + std::to_string(next);
  return call_result(text + "]\n" + page, std::move(structured));
}

Result<ordered_json> TransactionTools::log(const json& arguments) const {
  ordered_json structured = {{"commits", ordered_json::array()}};
  std::string text;
  HistoryFilter filter;
  filter.limit = static_cast<size_t>(number_argument(arguments, "limit", kLoggedByDefault));
  filter.with_lines = false;
  const auto found = workspace_->log(filter);
  const bool is_empty = !found && found.error().reason == "history.empty";
  if (!found && !is_empty) return fail(found.error());
  for (size_t i = 0; found && i < found->size(); ++i) {
    ordered_json one = summary_json((*found)[i]);
    const std::string& problem = (*found)[i].problem;
    text += one["id"].get<std::string>() + " " +
            (problem.empty()
                 ? one["time"].get<std::string>() + " " + printable_line(text_member(one, "tool")) +
                       " " + printable_line(text_member(one, "message"))
                 : "cannot be read: " + printable_line(problem)) +
            "\n" + logged_paths((*found)[i]);
    structured["commits"].push_back(std::move(one));
  }
  if (text.empty()) text = "nothing was committed here yet\n";
  return call_result(std::move(text), std::move(structured));
}

}  // namespace galley
