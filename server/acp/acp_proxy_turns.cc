#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "server/acp/acp_proxy.h"
#include "tools/json_input.h"
#include "tools/mcp/rpc_message.h"

// The end of a turn: the proposal is judged, the person is asked in the editor, and the answer to
// the prompt is given to the editor when the decision was carried out.
//
//     ended -> judge -> (nothing staged) ------------------------> answer
//                 |---> commit (AcpCommitTime::kTurn) --> result -> answer
//                 |---> say what is wrong (kSession) -------------> answer
//                 '---> ask -> commit, choose -> ask for each part -> commit
//                         '--> later, drop ----------------------> answer

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kMaxLooks = 3;
/// The changes that are shown at once.
constexpr size_t kMaxShown = 50;
constexpr size_t kMaxSaidBytes = 8'000;
constexpr const char* kFromTurnBefore =
    "Some of these changes are of a turn before, which failed or was cancelled.";
constexpr const char* kStagedOnly = "Your changes are staged, but not committed.";

std::string bounded(std::string text, size_t most) {
  if (text.size() <= most) return text;
  // A cut is not in the middle of a character.
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  text.resize(most);
  return text + "\n[cut]";
}

ordered_json text_content(const std::string& text) {
  return {{"type", "content"}, {"content", {{"type", "text"}, {"text", text}}}};
}

ordered_json option(const char* id, const std::string& name, const char* kind) {
  return {{"optionId", id}, {"name", name}, {"kind", kind}};
}

bool is_cut(const AcpChange& change) {
  return change.new_text.size() > kMaxAcpDiffText ||
         (change.old_text && change.old_text->size() > kMaxAcpDiffText);
}

}  // namespace

// --- what the editor is shown -------------------------------------------------------------------

ordered_json AcpProxy::content_of(const AcpChange& change) const {
  ordered_json content = ordered_json::array();
  if (change.old_text != change.new_text) {
    ordered_json diff = {{"type", "diff"}, {"path", root_ + "/" + change.path}};
    diff["oldText"] = change.old_text ? ordered_json(bounded(*change.old_text, kMaxAcpDiffText))
                                      : ordered_json(nullptr);
    diff["newText"] = bounded(change.new_text, kMaxAcpDiffText);
    content.push_back(std::move(diff));
  }
  if (!change.note.empty()) {
    content.push_back(text_content(printable_line(change.path) + ": " + change.note));
  }
  return content;
}

/// Shows all changes of these parts, and says how many it leaves out.
ordered_json AcpProxy::content_of(std::span<const AcpPart> parts) const {
  ordered_json content = ordered_json::array();
  size_t count = 0;
  uint64_t cut = 0;
  for (const AcpPart& part : parts) {
    for (const AcpChange& change : part) {
      if (++count > kMaxShown) continue;
      for (ordered_json& one : content_of(change)) content.push_back(std::move(one));
      if (is_cut(change)) ++cut;
    }
  }
  std::string text;
  if (count > kMaxShown) text = counted(count - kMaxShown, "more change");
  if (cut > 0 && !text.empty()) text += ", and ";
  if (cut > 0) text += "the rest of " + counted(cut, "long text");
  if (!text.empty()) {
    content.push_back(
        text_content("Not shown here: " + text + ". See everything with: galley status"));
  }
  return content;
}

ordered_json AcpProxy::place_of(const std::string& path) const {
  return ordered_json::array({{{"path", root_ + "/" + path}}});
}

void AcpProxy::rest() {
  if (const auto session = std::exchange(wants_look_, {})) (void)show(*session);
}

size_t AcpProxy::show(const std::string& session) {
  const auto staged = world_->staged(session);
  if (!staged) {
    say(session, "Galley cannot read the changes", staged.error().message, false);
    return 0;
  }
  std::set<std::string> paths;
  size_t count = 0;
  for (const AcpChange& change : *staged) {
    paths.insert(change.path);
    if (shown_[change.path] == change.version || ++count > kMaxShown) continue;
    show_one(session, change);
    shown_[change.path] = change.version;
  }
  std::erase_if(undecided_, [&](const std::string& path) { return !paths.contains(path); });
  for (auto at = shown_.begin(); at != shown_.end();) {
    const bool is_staged = paths.contains(at->first);
    if (!is_staged) calls_.erase(at->first);
    at = is_staged ? std::next(at) : shown_.erase(at);
  }
  return count - std::min(count, kMaxShown);
}

void AcpProxy::show_one(const std::string& session, const AcpChange& change) {
  const auto [call, is_new] = calls_.try_emplace(change.path);
  if (is_new) call->second = secret_ + std::to_string(++last_id_);
  ordered_json update = {{"sessionUpdate", is_new ? "tool_call" : "tool_call_update"},
                         {"toolCallId", call->second},
                         {"title", "Staged: " + printable_line(change.path)},
                         {"kind", change.is_deleted ? "delete" : "edit"},
                         {"status", "completed"},
                         {"content", content_of(change)},
                         {"locations", place_of(change.path)}};
  to_editor_ +=
      notification_line("session/update", {{"sessionId", session}, {"update", std::move(update)}}) +
      "\n";
}

void AcpProxy::say(const std::string& session, const std::string& title, const std::string& text,
                   bool is_good) {
  ordered_json update = {
      {"sessionUpdate", "tool_call"},
      {"toolCallId", secret_ + std::to_string(++last_id_)},
      {"title", title},
      {"kind", "other"},
      {"status", is_good ? "completed" : "failed"},
      {"content", ordered_json::array({text_content(bounded(text, kMaxSaidBytes))})}};
  to_editor_ +=
      notification_line("session/update", {{"sessionId", session}, {"update", std::move(update)}}) +
      "\n";
}

void AcpProxy::tell_agent(const std::string& session, const std::string& text) {
  if (!notes_.contains(session) && notes_.size() >= kMaxAcpPending) return;
  std::string& note = notes_[session];
  note = bounded(note + (note.empty() ? "[Galley] " : "\n[Galley] ") + text, kMaxAcpNote);
}

// --- decisions ----------------------------------------------------------------------------------

void AcpProxy::decide_next() {
  while (!ended_.empty() && !deciding_) {
    const std::string& session = ended_.front().session;
    const size_t left = show(session);
    wants_look_.reset();
    if (left > 0) {
      say(session, "Not shown: " + counted(left, "more change"),
          "See what is staged with galley status, and what was committed with galley show.", true);
    }
    if (ended_.front().is_undecided) {
      leave_undecided();
      finish_turn();
    } else {
      deciding_ = std::make_unique<Deciding>();
      judge();
    }
  }
}

/// Tells both sides what a turn that failed or was cancelled leaves staged.
void AcpProxy::leave_undecided() {
  if (shown_.empty()) return;
  for (const auto& [path, version] : shown_) undecided_.insert(path);
  const std::string& session = ended_.front().session;
  say(session, "Not committed: " + counted(shown_.size(), "change"),
      when_ == AcpCommitTime::kSession
          ? "They stay staged, and are committed when the editor ends the agent."
          : "They stay staged. You are asked about them at the end of the next turn.",
      true);
  tell_agent(session, kStagedOnly);
}

void AcpProxy::judge() {
  const std::string& session = ended_.front().session;
  auto verdict = world_->judge(session);
  if (!verdict) {
    say(session, "Galley cannot judge the changes", verdict.error().message, false);
    tell_agent(session, "Nothing was committed: " + verdict.error().message);
    return finish_turn();
  }
  if (verdict->proposal.empty()) return finish_turn();
  // The commit is made when the editor is gone: now it can still be told and asked.
  if (when_ == AcpCommitTime::kSession && !verdict->needs_person) {
    if (!verdict->is_approved || !verdict->conflict.empty()) {
      const std::string text = verdict->conflict + verdict->text;
      say(session, "Galley would refuse the commit", text, false);
      tell_agent(session, "Your changes stay staged. They would not be committed: " + text);
    }
    return finish_turn();
  }
  deciding_->verdict = *std::move(verdict);
  deciding_->decision = {};
  deciding_->next = 0;
  deciding_->accepted.clear();
  deciding_->refused.clear();
  const bool asks = when_ != AcpCommitTime::kTurn || !undecided_.empty();
  if (!asks && deciding_->verdict.is_approved) return commit();
  ask_turn();
}

void AcpProxy::ask_turn() {
  const AcpVerdict& verdict = deciding_->verdict;
  const bool can_commit = verdict.is_approved || verdict.needs_person;
  const std::string count = counted(verdict.parts.size(), "change");
  ordered_json content = ordered_json::array({text_content(bounded(verdict.text, kMaxSaidBytes))});
  if (!undecided_.empty()) content.push_back(text_content(kFromTurnBefore));
  for (ordered_json& one : content_of(verdict.parts)) content.push_back(std::move(one));
  ordered_json options = ordered_json::array();
  if (can_commit) options.push_back(option("commit", "Commit all: " + count, "allow_once"));
  if (verdict.parts.size() > 1 && verdict.parts.size() <= kMaxAcpParts) {
    options.push_back(option("choose", "Choose one by one", "allow_once"));
  }
  options.push_back(option("later", "Leave staged", "reject_once"));
  options.push_back(option("drop", "Reject all: take back in the agent's view", "reject_once"));
  ask_editor({Question::Kind::kTurn, nullptr, nullptr}, "session/request_permission",
             {{"sessionId", ended_.front().session},
              {"toolCall",
               {{"toolCallId", secret_ + std::to_string(++last_id_)},
                {"title", can_commit ? "Commit " + count + "?" : "Galley refuses: " + count},
                {"kind", "edit"},
                {"status", "pending"},
                {"content", std::move(content)}}},
              {"options", std::move(options)}});
}

void AcpProxy::ask_part() {
  Deciding& now = *deciding_;
  const std::vector<AcpPart>& parts = now.verdict.parts;
  for (; now.next < parts.size(); ++now.next) {
    const std::string& path = parts[now.next].front().path;
    if (now.refused.contains(path)) now.decision.rejected.push_back(now.next);
    if (!now.refused.contains(path) && !now.accepted.contains(path)) break;
  }
  if (now.next >= parts.size()) return commit();
  const AcpPart& part = parts[now.next];
  const AcpChange& first = part.front();
  const std::string more =
      part.size() > 1 ? " and " + counted(part.size() - 1, "more path") : std::string();
  ask_editor(
      {Question::Kind::kPart, nullptr, nullptr}, "session/request_permission",
      {{"sessionId", ended_.front().session},
       {"toolCall",
        {{"toolCallId", secret_ + std::to_string(++last_id_)},
         {"title", "Change " + std::to_string(now.next + 1) + " of " +
                       std::to_string(parts.size()) + ": " + printable_line(first.path) + more},
         {"kind", first.is_deleted && part.size() == 1 ? "delete" : "edit"},
         {"status", "pending"},
         {"content", content_of(std::span(&part, 1))},
         {"locations", place_of(first.path)}}},
       {"options", ordered_json::array(
                       {option("accept", "Accept", "allow_once"),
                        option("accept_file", "Accept the rest of the file", "allow_always"),
                        option("reject", "Reject", "reject_once"),
                        option("reject_file", "Reject the rest of the file", "reject_always")})}});
}

void AcpProxy::take_decision(Question::Kind kind, const std::string& option) {
  if (!deciding_ || ended_.empty()) return;
  const std::string session = ended_.front().session;
  const auto is_one_of = [&](std::initializer_list<std::string_view> known) {
    return std::find(known.begin(), known.end(), option) != known.end();
  };
  const bool is_known = kind == Question::Kind::kTurn ? is_one_of({"commit", "choose", "drop"})
                        : kind == Question::Kind::kPart
                            ? is_one_of({"accept", "accept_file", "reject", "reject_file"})
                            : is_one_of({"saved"});
  if (!is_known) {
    tell_agent(session, kStagedOnly);
    return finish_turn();
  }
  if (kind == Question::Kind::kConflict) {
    const auto taken = world_->take_saved(session, deciding_->conflicts);
    if (!taken) {
      say(session, "Galley cannot take back the changes", taken.error().message, false);
      return finish_turn();
    }
    return judge();
  }
  deciding_->decision.is_by_person = true;
  if (kind == Question::Kind::kPart) return take_part(option);
  if (option == "choose") return ask_part();
  if (option == "drop") {
    for (size_t i = 0; i < deciding_->verdict.parts.size(); ++i) {
      deciding_->decision.rejected.push_back(i);
    }
  }
  commit();
}

void AcpProxy::take_part(const std::string& option) {
  Deciding& now = *deciding_;
  const std::string& path = now.verdict.parts[now.next].front().path;
  if (option == "reject" || option == "reject_file") now.decision.rejected.push_back(now.next);
  if (option == "reject_file") now.refused.insert(path);
  if (option == "accept_file") now.accepted.insert(path);
  ++now.next;
  ask_part();
}

void AcpProxy::commit() {
  const std::string session = ended_.front().session;
  const auto result = world_->commit(session, deciding_->verdict, deciding_->decision);
  if (!result) {
    say(session, "Galley could not commit", result.error().message, false);
    tell_agent(session, "Nothing was committed: " + result.error().message);
    return finish_turn();
  }
  tell_rejected(*result);
  take_result(*result);
}

void AcpProxy::take_result(const AcpCommit& result) {
  const std::string session = ended_.front().session;
  switch (result.kind) {
    case AcpCommit::Kind::kCommitted:
      say(session, result.text, result.text, true);
      undecided_.clear();
      break;
    case AcpCommit::Kind::kNothing:
      break;
    case AcpCommit::Kind::kRefused:
      say(session, "Galley refuses the commit", result.text, false);
      tell_agent(session, "The commit was refused, and your changes stay staged: " + result.text);
      break;
    case AcpCommit::Kind::kAsked:
      deciding_->verdict.needs_person = true;
      return ask_turn();
    case AcpCommit::Kind::kConflict:
      return ask_conflict(result);
    case AcpCommit::Kind::kChanged:
      if (++deciding_->looks < kMaxLooks) return judge();
      say(session, "Galley did not commit", "The agent goes on changing files after its turn.",
          false);
      break;
  }
  shown_.clear();
  calls_.clear();
  finish_turn();
}

void AcpProxy::ask_conflict(const AcpCommit& result) {
  const std::string session = ended_.front().session;
  tell_agent(session,
             "These files were saved by others while you worked, in the lines that you "
             "changed, so nothing was committed:\n" +
                 result.text);
  deciding_->conflicts = result.conflicts;
  ask_editor(
      {Question::Kind::kConflict, nullptr, nullptr}, "session/request_permission",
      {{"sessionId", session},
       {"toolCall",
        {{"toolCallId", secret_ + std::to_string(++last_id_)},
         {"title", "Conflict with saved files: " + counted(result.conflicts.size(), "file")},
         {"kind", "edit"},
         {"status", "pending"},
         {"content", ordered_json::array({text_content(bounded(result.text, kMaxSaidBytes))})}}},
       {"options", ordered_json::array(
                       {option("saved", "Keep what was saved, and drop the agent's change of it",
                               "allow_once"),
                        option("later", "Leave staged", "reject_once")})}});
}

/// Names the rejected parts, so that the agent does not make them again.
void AcpProxy::tell_rejected(const AcpCommit& result) {
  if (!result.is_taken_back) return;
  std::string text;
  for (const size_t index : deciding_->decision.rejected) {
    for (const AcpChange& change : deciding_->verdict.parts[index]) {
      text += "\n- " + printable_line(change.path);
      if (!change.note.empty()) text += " (" + change.note + ")";
      if (!change.is_deleted && change.old_text != change.new_text) text += ":\n" + change.new_text;
    }
  }
  if (text.empty()) return;
  tell_agent(ended_.front().session,
             "The person rejected these changes, and they were taken back in your files:" + text);
  deciding_->decision.rejected.clear();
}

void AcpProxy::finish_turn() {
  deciding_.reset();
  to_editor_ += ended_.front().line;
  ended_.pop_front();
  decide_next();
}

/// The editor is told that the turn was cancelled, also by an agent that ends it with another
/// reason.
void AcpProxy::Ended::cancel() {
  if (std::exchange(is_undecided, true)) return;
  json answer = json::parse(line);
  if (answer["result"].is_object()) answer["result"]["stopReason"] = "cancelled";
  line = json_text(answer) + "\n";
}

/// A person who cancels while a question is open has answered it. A turn that goes on, or waits for
/// its decision, gets none. The message names a session, or the request of one prompt.
void AcpProxy::cancel(const json& message) {
  const auto params = message.find("params");
  if (params == message.end() || !params->is_object()) return;
  const bool names_session = message.at("method") == "session/cancel";
  const auto is_meant = [&](const std::string& session, const std::string& request) {
    if (names_session) return session == text_member(*params, "sessionId");
    const auto named = params->find("requestId");
    return named != params->end() && json::parse(request) == *named;
  };
  for (auto& [id, request] : pending_) {
    request.is_cancelled |= is_meant(request.session, id);
  }
  const auto is_meant_turn = [&](const Ended& turn) {
    return is_meant(turn.session, json::parse(turn.line).at("id").dump());
  };
  for (Ended& turn : ended_) {
    if (is_meant_turn(turn)) turn.cancel();
  }
  if (!deciding_ || ended_.empty() || !is_meant_turn(ended_.front())) return;
  for (auto at = questions_.begin(); at != questions_.end();) {
    at = at->second.kind == Question::Kind::kRead ? std::next(at) : questions_.erase(at);
  }
  take_decision(Question::Kind::kTurn, {});
}

}  // namespace galley
