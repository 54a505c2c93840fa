#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file_mode.h"
#include "base/printable.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/history_text.h"
#include "cli/made_edits.h"
#include "cli/outcome.h"
#include "cli/person.h"
#include "cli/render.h"
#include "engine/audit/recorded_calls.h"
#include "engine/history/blame.h"
#include "engine/history/history.h"
#include "engine/history/index.h"
#include "engine/history/turns.h"
#include "engine/history/undo.h"
#include "engine/history/undo_choice.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/shown_changes.h"
#include "staging/printing/readable_diff.h"

namespace galley {
namespace {

// --- undo and redo --------------------------------------------------------------------------

/// `PATH:N` or `PATH:N,M`: hunks are counted from 1, as `show` prints them.
Result<HunkSelection> parse_hunks(Session& session, const std::string& text) {
  const size_t colon = text.rfind(':');
  HunkSelection selection;
  std::string numbers = colon == std::string::npos ? "" : text.substr(colon + 1);
  while (!numbers.empty()) {
    uint32_t number = 0;
    const char* end = numbers.data() + numbers.size();
    const auto [rest, code] = std::from_chars(numbers.data(), end, number);
    if (code != std::errc() || number == 0 || (rest != end && *rest != ',')) break;
    selection.hunks.push_back(number);
    numbers = rest == end ? "" : std::string(rest + 1, end);
  }
  if (selection.hunks.empty() || !numbers.empty()) {
    return fail(ErrorKind::kUsage, "undo.bad_hunk",
                "--hunk takes PATH:N or PATH:N,M with hunks counted from 1, not '" + text + "'");
  }
  GALLEY_ASSIGN(selection.path, session.path(text.substr(0, colon)));
  return selection;
}

Result<UndoOptions> undo_options(Session& session, const Workspace& workspace,
                                 const std::vector<std::string>& words) {
  const Arguments& arguments = session.arguments();
  UndoOptions options;
  std::vector<std::string> names = arguments.paths;
  names.insert(names.end(), words.begin(), words.end());
  GALLEY_ASSIGN(options.paths, session.paths(names));
  for (const std::string& hunk : arguments.hunks) {
    GALLEY_ASSIGN(HunkSelection selection, parse_hunks(session, hunk));
    options.hunks.push_back(std::move(selection));
  }
  if (arguments.conflict == "markers") options.mode = MergeMode::kMarkers;
  if (rules_of(workspace).config.commit.on_conflict == OnConflict::kRefuse) {
    options.mode = MergeMode::kExact;
  }
  return options;
}

void add_dependencies(Json& document, const std::vector<Dependency>& dependencies) {
  document["dependencies"] = Json::array();
  for (const Dependency& dependency : dependencies) {
    document["dependencies"].push_back({{"later", dependency.later.str()},
                                        {"on", dependency.on.str()},
                                        {"path", dependency.path.str()},
                                        {"same_lines", dependency.same_lines},
                                        {"text", dependency.text()}});
  }
}

Result<int> undo_conflict(Session& session, UndoConflict conflict, Json& document) {
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  document["ok"] = false;
  document["reason"] = "undo.conflict";
  document["message"] =
      "the workspace changed since transaction " + conflict.undoes.str() + "; nothing was undone";
  document["conflicts"] = Json::array();
  std::string text;
  for (PathConflict& path : conflict.paths) {
    hide_unread_texts(session.arguments().global.agent, rules_of(*workspace).config, path);
    Json entry = {{"path", path.path.str()}, {"message", path.message}};
    if (!path.diff.empty()) entry["diff"] = path.diff;
    if (!path.hunks.empty()) entry["hunks"] = hunks_json(path.hunks);
    document["conflicts"].push_back(std::move(entry));
    text += fmt::format("conflict: {} [{}]\n{}", printable_line(path.message), path.reason,
                        sides_text(path.hunks, path.diff, "undo"));
  }
  for (const Dependency& dependency : conflict.dependencies)
    text += printable_line(dependency.text()) + "\n";
  add_dependencies(document, conflict.dependencies);
  if (session.is_json()) {
    session.print(document);
  } else {
    session.terminal().print_message(text + document["message"].get<std::string>() + "\n");
    const bool has_lines = std::any_of(conflict.paths.begin(), conflict.paths.end(),
                                       [](const auto& path) { return !path.hunks.empty(); });
    if (has_lines || session.arguments().conflict == "markers") explain_markers(session, "");
  }
  return kExitNo;
}

/// Returns what was done, and the command that reverts it. `id` is the commit that did it. It is an
/// undo if `takes_back`; if it is not, only an undo reverts it.
std::string words_of(const UndoPlan& plan, TxId id, bool takes_back) {
  const bool is_redo = plan.tool == kRedoTool || plan.tool == kPartialRedoTool;
  std::vector<TxId> undone = plan.taken_back();
  const auto has_no_effect = [&](TxId one) { return std::ranges::count(plan.passed, one) > 0; };
  if (!is_redo) std::erase_if(undone, has_no_effect);
  const size_t count = std::max(plan.redoes.size(), undone.size());
  const TxId first = plan.redoes.empty() ? undone.front() : plan.redoes.front();
  std::string what = count == 1 ? first.str() : counted(count, "transaction");
  if (!plan.turn.empty()) what = "turn " + plan.turn;
  const bool is_part = is_partial(plan.tool) || plan.is_rest;
  std::string way = fmt::format("{} {}", takes_back ? "redo" : "undo", id.str());
  if (takes_back && count == 1 && !is_partial(plan.tool)) way = "redo";
  if (!is_part && !plan.turn.empty()) way = "undo --turn " + plan.turn;
  const bool is_rest = plan.is_rest && !is_redo && !is_partial(plan.tool);
  const std::string part = is_rest ? "the rest of " : is_part ? "a part of " : "";
  const char* it = count == 1 || is_part || !plan.turn.empty() ? "it" : "them";
  if (!is_redo) return fmt::format("undid {}{}; `galley {}` brings {} back", part, what, way, it);
  return fmt::format("{} {}{}; `galley {}` takes {} back again",
                     plan.redoes.empty() ? "undid" : "redid", part, what, way, it);
}

Result<int> carry_out(Session& session, Workspace& workspace, const UndoPlan& plan,
                      Json& document) {
  document["merged"] = Json::array();
  for (const MergedPath& merged : plan.merged) {
    const std::string line = merged.path.str() + ": " + merged.how;
    document["merged"].push_back(line);
    session.say(line);
  }
  add_dependencies(document, plan.dependencies);
  const bool is_redo = plan.tool == kRedoTool || plan.tool == kPartialRedoTool;
  for (const TxId id : is_redo ? std::vector<TxId>() : plan.passed) {
    session.say(
        session.with_hints(fmt::format("{} has no effect here any more and is undone with it; if "
                                       "git restores it: `galley undo {}`",
                                       id.str(), id.str())));
  }
  TransactionOptions who = session.transaction_options();
  if (who.message.empty()) who.message = plan.message;
  who.takes_back = plan.taken_back();
  who.accepts_returned = who.agent.empty() && !may_be_inside_exec();
  if (session.arguments().dry_run) {
    GALLEY_ASSIGN(const Preview preview, workspace.judge(plan.proposal, who));
    GALLEY_TRY(show_preview(session, preview, document));
    return finish_verdict(session, preview.verdict, document);
  }
  const bool has_markers = std::any_of(plan.merged.begin(), plan.merged.end(),
                                       [](const MergedPath& path) { return path.markers > 0; });
  if (has_markers) {
    GALLEY_ASSIGN(Transaction transaction, workspace.begin_stored(who));
    GALLEY_TRY(inner(transaction).resolve_undo({plan.tool, plan.undoes, plan.also_undoes}));
    GALLEY_ASSIGN(const std::string next,
                  stage_markers(session, transaction, plan.proposal, plan.merged, document));
    if (!next.empty()) session.print_error_lines(printable_line(next) + "\n");
    document["ok"] = false;
    document["reason"] = "undo.conflict";
    if (session.is_json()) session.print(document);
    return kExitNo;
  }
  CommitRequest request;
  request.tool = plan.tool;
  request.undoes = plan.undoes;
  request.also_undoes = plan.also_undoes;
  request.on_progress = session.commit_progress();
  GALLEY_ASSIGN(const CommitOutcome outcome, workspace.commit(plan.proposal, who, request));
  return finish_commit(session, outcome, document, [&](TxId id) {
    const auto history = persistent_of(workspace).history("undo");
    const bool takes_back = history ? is_undo(*history, id).value_or(!is_redo) : !is_redo;
    return session.with_hints(words_of(plan, id, takes_back));
  });
}

/// Carries out the plan, or says why there is none. `nothing` is the message for NothingToUndo.
Result<int> finish_undo(Session& session, const UndoOutcome& outcome, Json& document,
                        const std::string& nothing) {
  if (const auto* plan = std::get_if<UndoPlan>(&outcome)) {
    GALLEY_ASSIGN(Workspace * workspace, session.open());
    document["undoes"] = plan->undoes.str();
    for (const TxId also : plan->also_undoes) document["also_undoes"].push_back(also.str());
    return carry_out(session, *workspace, *plan, document);
  }
  if (const auto* conflict = std::get_if<UndoConflict>(&outcome)) {
    document["undoes"] = conflict->undoes.str();
    return undo_conflict(session, *conflict, document);
  }
  document["message"] = nothing;
  session.tell(document, nothing);
  return kExitDone;
}

/// Adds a hint if a path was given in place of an id, as in `git restore`.
Error with_path_hint(Error error, const Workspace& workspace, const std::string& wanted) {
  const auto path = RelPath::parse(wanted);
  if (error.reason != "history.bad_id" || !path) return error;
  const auto there = place_of(workspace).files().stat(*path);
  if (there && there->kind != FileKind::kAbsent) {
    error.message += fmt::format(
        "; to take back only that path of the newest transaction: galley undo --path {}",
        path->str());
  }
  return error;
}

/// A path that its owner may not access, or the topmost folder above it that cannot be searched.
struct ClosedPath {
  std::string path;
  uint32_t needed;  ///< of the owner's rights
};

ClosedPath closed_at(const Directory& files, const std::string& text) {
  constexpr uint32_t kOwnerReads = 0400;
  constexpr uint32_t kOwnerSearches = 0100;
  for (size_t end = text.find('/');; end = text.find('/', end + 1)) {
    const auto path = RelPath::parse(text.substr(0, end));
    const auto seen = path ? files.stat(*path) : Result<FileStat>(path.error());
    if (!seen) return {text, kOwnerReads};
    const bool is_folder = seen->kind == FileKind::kDirectory;
    if (end == text.npos) return {text, is_folder ? kOwnerAll : kOwnerReads};
    if (is_folder && (seen->mode & kOwnerSearches) == 0) return {path->str(), kOwnerAll};
  }
}

/// Adds the way out to the error about a path that its owner may not read: the mode that it had
/// before a transaction took that right away. With this mode, its contents can be compared.
Error with_readable_mode(const History& history, const Directory& files, Error error) {
  constexpr size_t kLooks = 100;
  if (error.os_error != EACCES || error.path.empty()) return error;
  const ClosedPath closed = closed_at(files, error.path);
  const std::string least = closed.needed == kOwnerAll ? "u+rwx" : "u+r";
  std::string mode = least;
  const auto known = history.list({.limit = kLooks, .with_lines = false});
  for (size_t i = 0; known && i < known->size() && mode == least; ++i) {
    const auto proposal = history.proposal_of((*known)[i].id);
    if (!proposal) continue;
    for (const Change& change : proposal->changes()) {
      const bool is_taken = change.path.str() == closed.path &&
                            (change.before.mode & closed.needed) == closed.needed &&
                            (change.after.mode & closed.needed) != closed.needed;
      if (is_taken) mode = fmt::format("{:o}", change.before.mode);
    }
  }
  error.message +=
      "; make it readable, then repeat the command: chmod " + mode + " " + shell_word(closed.path);
  return error;
}

/// Those of whom an undo or redo without an id takes back something: the session that is named, or
/// the agent.
CommittedBy who_is_meant(const Session& session) {
  const std::string& own = session.named_session();
  return {own.empty() ? session.arguments().global.agent : "", own};
}

/// Plans the undo or redo of the wanted transaction; of the newest if it is empty.
Result<UndoOutcome> plan_take_back(Session& session, bool is_redo, const std::string& wanted,
                                   const std::vector<std::string>& words) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const History history, open_history(session, is_redo ? "redo" : "undo"));
  const Place& place = place_of(*workspace);
  TxId id;
  if (!wanted.empty()) {
    const auto found = history.resolve(wanted);
    if (!found) return fail(with_path_hint(found.error(), *workspace, wanted));
    id = *found;
  }
  GALLEY_ASSIGN(const UndoOptions options, undo_options(session, *workspace, words));
  Result<UndoOutcome> planned = fail(Error());
  if (wanted.empty()) {
    planned = (is_redo ? plan_newest_redo : plan_newest_undo)(
        history, place.files(), who_is_meant(session), place.clock(), options);
  } else {
    planned = (is_redo ? plan_redo : plan_undo)(history, place.files(), id, place.clock(), options);
  }
  if (!planned) return fail(with_readable_mode(history, place.files(), planned.error()));
  return planned;
}

/// Undoes or redoes one transaction, or only the paths in `words`.
Result<int> take_back(Session& session, bool is_redo, const std::string& wanted,
                      const std::vector<std::string>& words) {
  GALLEY_ASSIGN(const UndoOutcome outcome, plan_take_back(session, is_redo, wanted, words));
  Json document = {{"schema", is_redo ? "galley.redo/1" : "galley.undo/1"}, {"ok", true}};
  std::string nothing;
  if (const auto* none = std::get_if<NothingToUndo>(&outcome)) {
    document["undoes"] = none->undoes.str();
    nothing = "the workspace already is as it was before transaction " + none->undoes.str();
  }
  return finish_undo(session, outcome, document, nothing);
}

constexpr size_t kMaxNamed = 10;  ///< transactions that a message names

using NewestFirst = std::set<TxId, std::greater<>>;

/// Whether a word can only mean a transaction: `12`, `@`, `@~1`.
bool is_id(std::string_view word) {
  if (word.starts_with("@~")) return TxId::parse(word.substr(2)).has_value();
  return word == "@" || TxId::parse(word).has_value();
}

/// The transactions of `undo 1 2 @~1`; none if there is one word, or one is not an id or names a
/// path.
Result<NewestFirst> several_ids(Session& session) {
  const Arguments& arguments = session.arguments();
  std::vector<std::string> words = {arguments.id};
  words.insert(words.end(), arguments.words.begin(), arguments.words.end());
  if (words.size() == 1) return NewestFirst();
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  if (!is_id(arguments.id)) return NewestFirst();
  for (const std::string& word : arguments.words) {
    const auto path = session.path(word);
    if (!path || !is_id(word)) return NewestFirst();
    GALLEY_ASSIGN(const FileStat there, place_of(*workspace).files().stat(*path));
    if (there.kind != FileKind::kAbsent) return NewestFirst();
  }
  GALLEY_ASSIGN(const History history, open_history(session));
  NewestFirst ids;
  for (const std::string& word : words) {
    GALLEY_ASSIGN(const TxId id, history.resolve(word));
    ids.insert(id);
  }
  return ids;
}

/// The transactions of a session that `gc` dropped from the history.
Result<std::vector<std::string>> dropped_of(const History& history, const std::string& session) {
  std::vector<std::string> dropped;
  GALLEY_ASSIGN(const auto kept, history.ids());
  if (session.empty() || kept.empty() || kept.front().value == 1) return dropped;
  GALLEY_ASSIGN(const auto committed, committed_by_session(history.state().root(), session));
  for (const TxId id : committed) {
    if (id < kept.front()) dropped.push_back(id.str());
  }
  return dropped;
}

/// Says that a turn may be incomplete: it is the oldest one left of a session of which `gc` dropped
/// transactions. The audit log does not have their turns.
Result<void> warn_of_dropped(Session& session, const History& history, const TurnSummary& turn) {
  if (turn.session.empty()) return {};
  GALLEY_ASSIGN(const auto left, history.list({.session = turn.session, .with_lines = false}));
  if (left.back().id != turn.id) return {};
  GALLEY_ASSIGN(const auto dropped, dropped_of(history, turn.session));
  if (dropped.empty()) return {};
  session.say("warning: the history no longer has transactions " + join_some(dropped, kMaxNamed) +
              " of the same session, which may belong to this turn");
  return {};
}

/// The transactions of --session or --turn that are in effect, newest first.
Result<std::vector<TxId>> ids_of_group(Session& session, const History& history) {
  const Arguments& arguments = session.arguments();
  if (!arguments.turn.empty()) {
    GALLEY_ASSIGN(const TurnSummary turn, wanted_turn(session, history));
    GALLEY_TRY(warn_of_dropped(session, history, turn));
    return turn.in_effect();
  }
  const HistoryFilter filter{.session = arguments.of_session, .with_lines = false};
  GALLEY_ASSIGN(const auto transactions, history.list(filter));
  GALLEY_ASSIGN(const auto dropped, dropped_of(history, filter.session));
  if (!transactions.empty() && !dropped.empty()) {
    std::vector<std::string> rest;
    for (const TxId id : ids_in_effect(transactions)) rest.push_back(id.str());
    return fail(
        ErrorKind::kRefused, "undo.incomplete",
        "the history no longer has transactions " + join_some(dropped, kMaxNamed) +
            " of this session, so not all of it can be undone" +
            (rest.empty() ? std::string()
                          : "; to undo the rest: " + session.hint("undo ") + join(rest, " ")));
  }
  if (!transactions.empty()) return ids_in_effect(transactions);
  GALLEY_TRY(check_session(session));
  return fail(ErrorKind::kNotFound, "history.nothing_to_undo",
              "the session '" + printable_line(arguments.of_session) + "' committed nothing" +
                  (dropped.empty() ? "" : " that the history still has"));
}

/// Records what the agent of --session or --turn changed and did not report, so that it is undone
/// with the rest.
Result<void> settle_group(Session& session, Workspace& workspace) {
  const StateDirectory* state = persistent_of(workspace).state();
  const Arguments& arguments = session.arguments();
  if (state == nullptr || arguments.dry_run) return {};
  std::string id = arguments.of_session;
  if (!arguments.turn.empty()) {
    const History history(*state);
    const auto turn = find_turn(history, arguments.turn, session.named_session());
    if (turn) id = turn->session;  // its error comes from the undo
  }
  if (id.empty()) return {};
  const AgentSession agent(*state, id);
  return settle_edits({session, workspace, agent}, MissedEdits::kAll);
}

/// Takes several transactions back with one commit: all of them or none.
Result<int> undo_together(Session& session, const History& history, Workspace& workspace,
                          const std::vector<TxId>& ids) {
  Json document = {{"schema", "galley.undo/1"}, {"ok", true}};
  if (ids.empty()) {
    return finish_undo(session, NothingToUndo{}, document, "all of it is undone already");
  }
  GALLEY_ASSIGN(const UndoOptions options, undo_options(session, workspace, {}));
  const auto planned = plan_undo_together(history, place_of(workspace).files(), ids,
                                          place_of(workspace).clock(), options);
  if (!planned) {
    return fail(with_readable_mode(history, place_of(workspace).files(), planned.error()));
  }
  return finish_undo(session, *planned, document,
                     "the workspace already is as it was before these transactions");
}

/// Undoes a session or a turn with one commit.
Result<int> take_back_together(Session& session) {
  const Arguments& arguments = session.arguments();
  if (!arguments.id.empty() || !arguments.words.empty() || !arguments.hunks.empty()) {
    return fail(ErrorKind::kUsage, "undo.together",
                "--session and --turn take transactions back together, and no ids or hunks; name a "
                "part of them with --path PATH");
  }
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_TRY(settle_group(session, *workspace));
  GALLEY_ASSIGN(const History history, open_history(session, "undo"));
  GALLEY_ASSIGN(const std::vector<TxId> ids, ids_of_group(session, history));
  say_lost_edits(session, *workspace, arguments.of_session);
  return undo_together(session, history, *workspace, ids);
}

/// Brings a turn back with one commit.
Result<int> bring_back_turn(Session& session) {
  const Arguments& arguments = session.arguments();
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const History history, open_history(session, "redo"));
  GALLEY_ASSIGN(const TurnSummary turn, arguments.turn == "last"
                                            ? newest_undone_turn(history, who_is_meant(session))
                                            : wanted_turn(session, history));
  GALLEY_ASSIGN(const UndoOptions options, undo_options(session, *workspace, {}));
  GALLEY_ASSIGN(const UndoOutcome outcome,
                plan_redo_together(history, place_of(*workspace).files(), turn.transactions,
                                   turn.name(), place_of(*workspace).clock(), options));
  Json document = {{"schema", "galley.redo/1"}, {"ok", true}};
  return finish_undo(session, outcome, document,
                     "the workspace already is as it was after turn " + turn.name());
}

Json value_json(const QueryValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

}  // namespace

Result<int> run_undo(Session& session) {
  const Arguments& arguments = session.arguments();
  if (!arguments.of_session.empty() || !arguments.turn.empty()) {
    return take_back_together(session);
  }
  GALLEY_ASSIGN(const NewestFirst ids, several_ids(session));
  if (ids.empty()) return take_back(session, false, arguments.id, arguments.words);
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const History history, open_history(session, "undo"));
  return undo_together(session, history, *workspace, {ids.begin(), ids.end()});
}

Result<int> run_redo(Session& session) {
  if (!session.arguments().turn.empty()) return bring_back_turn(session);
  return take_back(session, true, session.arguments().id, session.arguments().words);
}

Result<int> run_push(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const Workspace::Push pushed,
                workspace->push(session.arguments().name, session.transaction_options()));
  const std::string where = pushed.branch + " at " + printable_line(pushed.address);
  const std::string from = pushed.from.empty() ? "a new branch" : pushed.from;
  session.tell({{"schema", "galley.push/1"},
                {"ok", true},
                {"branch", pushed.branch},
                {"address", pushed.address},
                {"from", pushed.from},
                {"to", pushed.to}},
               pushed.from == pushed.to
                   ? where + " has this commit already: " + pushed.to
                   : fmt::format("pushed {}: {} to {}", where, from, pushed.to));
  return kExitDone;
}

Result<int> run_blame(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const RelPath path, session.path(session.arguments().name));
  GALLEY_ASSIGN(const Blame blamed, workspace->blame(path.str(), session.arguments().global.agent));
  Json document = {{"schema", "galley.blame/1"}, {"ok", true}, {"path", path.str()}};
  document["lines"] = Json::array();
  constexpr size_t kMaxReasonBytes = 40;
  std::vector<std::string> authors;
  for (const BlamedLine& line : blamed.lines) {
    Json entry = {{"line", authors.size() + 1}, {"text", line.text}};
    std::string who = line.origin == LineOrigin::kOutside ? "(outside)" : "(older)";
    if (line.origin == LineOrigin::kTransaction) {
      const TxSummary& summary = blamed.transactions.at(line.tx);
      entry["id"] = line.tx.str();
      entry["agent"] = summary.agent;
      entry["message"] = summary.message;
      const std::string reason = summary.message.substr(0, summary.message.find('\n'));
      who = fmt::format("{}{}{} {}  {}", line.tx.str(), summary.agent.empty() ? "" : " ",
                        printable_line(summary.agent), rfc3339_utc(summary.time_ns).substr(0, 10),
                        printable_line(reason, kMaxReasonBytes));
    }
    document["lines"].push_back(std::move(entry));
    authors.push_back(std::move(who));
  }
  size_t width = 0;
  for (const std::string& who : authors) width = std::max(width, columns_of_line(who));
  std::string text;
  for (size_t i = 0; i < authors.size(); ++i) {
    const std::string& line = blamed.lines[i].text;
    text += fmt::format("{:<{}} {:>5}) {}{}", authors[i], width, i + 1,
                        session.terminal().content(line), line.ends_with('\n') ? "" : "\n");
  }
  session.print(document, text);
  return kExitDone;
}

Result<int> run_query(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const QueryResult result, workspace->query(session.arguments().name));
  Json document = {{"schema", "galley.query/1"}, {"ok", true}, {"columns", result.columns}};
  document["rows"] = Json::array();
  const auto table_line = [](const std::vector<std::string>& fields) {
    std::string line;
    for (const std::string& field : fields) line += printable_line(field) + "\t";
    line.back() = '\n';
    return line;
  };
  std::string text = table_line(result.columns);
  for (const auto& row : result.rows) {
    Json cells = Json::array();
    std::vector<std::string> words;
    for (const QueryValue& value : row) {
      cells.push_back(value_json(value));
      words.push_back(cells.back().is_string() ? cells.back().get<std::string>()
                                               : cells.back().dump());
    }
    document["rows"].push_back(std::move(cells));
    text += table_line(words);
  }
  session.print(document, text);
  if (result.is_cut) session.say("there are more rows; add a LIMIT or a WHERE");
  return kExitDone;
}

}  // namespace galley
