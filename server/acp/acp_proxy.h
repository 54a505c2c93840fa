#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "server/acp/acp_world.h"
#include "server/acp/message_lines.h"

namespace galley {

/// The maximum size of one message of either side.
inline constexpr size_t kMaxAcpLineBytes = size_t{16} << 20U;
/// Requests of the editor that the agent has not answered.
inline constexpr size_t kMaxAcpPending = 1'000;
/// Bytes of one text of a diff for the editor. A note tells that the rest is left out.
inline constexpr size_t kMaxAcpDiffText = size_t{64} << 10U;
/// The parts of a turn that a person is asked about one by one; more are decided together.
inline constexpr size_t kMaxAcpParts = 200;
/// Bytes of answers that the agent has not taken. Above them, it cannot read files.
inline constexpr size_t kAcpUnsentBytes = size_t{16} << 20U;
/// Bytes of the note that the agent of a session gets with its next prompt.
inline constexpr size_t kMaxAcpNote = 16'000;

/// When a commit is made.
enum class AcpCommitTime : uint8_t {
  kAsk,      ///< at the end of a turn, after a yes of the person
  kTurn,     ///< at the end of a turn
  kSession,  ///< when the editor ends the agent
};

/// A proxy between an editor and an agent that speak the Agent Client Protocol: JSON-RPC 2.0, one
/// message a line (agentclientprotocol.com, version 1).
///
///     editor --> take_from_editor() --> agent       initialize, session/new, session/prompt change
///     editor <-- take_from_agent()  <-- agent       fs/… and terminal/… are answered here
///                                                   the answer to a prompt waits for the decision
///
/// The answer to initialize loses the ways to log in that would run a command outside of the
/// sandbox. All other messages pass unchanged, byte for byte. The proxy's requests go to the editor
/// only. Their ids, and those of its tool calls, are random, so the agent cannot name one.
///
/// Invariant: a request of the agent never has an effect outside of the run. A file that the agent
///            writes is written in the run. The proxy keeps a bounded amount for both sides.
/// Ownership: borrows the world.
/// Threads:   confined to one thread.
class AcpProxy {
 public:
  /// `root` is the path of the workspace, which the editor gets before the names of files.
  AcpProxy(AcpWorld& world, AcpCommitTime when, std::string root);

  void take_from_editor(std::string_view bytes);
  void take_from_agent(std::string_view bytes);
  /// The agent has ended. Every request that waits for it gets an error.
  void end();

  /// Whether staged changes wait to be shown.
  [[nodiscard]] bool has_rest() const { return wants_look_.has_value(); }
  void rest();
  /// Returns whole lines, and forgets them.
  [[nodiscard]] std::string for_editor();
  [[nodiscard]] std::string for_agent() { return std::exchange(to_agent_, {}); }
  /// Whether for_agent() has a prompt. Forgets it.
  [[nodiscard]] bool begins_turn() { return std::exchange(begins_turn_, false); }
  /// Whether a turn has begun and was not decided yet.
  [[nodiscard]] bool is_in_turn() const;

 private:
  using Json = nlohmann::ordered_json;

  /// A request of the editor that the agent has not answered.
  struct Pending {
    std::string method;
    std::string session;
    bool is_cancelled = false;  ///< a prompt: the person cancelled its turn
  };
  /// A turn that has ended, with the answer to its prompt.
  struct Ended {
    std::string session;
    std::string line;
    bool is_undecided = false;  ///< it failed, or was cancelled: its changes stay staged
    void cancel();
  };
  /// The decision of the person about the front of `ended_`.
  struct Deciding {
    AcpVerdict verdict;
    AcpDecision decision;
    size_t next = 0;                 ///< the part in question
    std::set<std::string> accepted;  ///< paths whose other parts are decided already
    std::set<std::string> refused;
    std::vector<std::string> conflicts;
    int looks = 0;  ///< how often something else was staged than what was judged
  };
  /// A request of the proxy to the editor.
  struct Question {
    enum class Kind : uint8_t { kTurn, kPart, kConflict, kRead };
    Kind kind = Kind::kTurn;
    nlohmann::json id;      ///< kRead: of the agent's request
    nlohmann::json params;  ///< kRead: the session, the path and the lines
  };

  // --- messages (acp_proxy.cc) ------------------------------------------------------------------
  void editor_line(MessageLines::Line line);
  void lose_editor_line(const MessageLines::Line& line, const Error& why);
  void editor_request(const nlohmann::json& message, const std::string& line);
  void agent_line(MessageLines::Line line);
  void lose_agent_line(const MessageLines::Line& line, const Error& why);
  void agent_request(const nlohmann::json& message, const std::string& line);
  void agent_answer(nlohmann::json message, const std::string& line);
  std::string initialize(nlohmann::json message);
  std::string prompt(nlohmann::json message, bool is_alone);
  bool opens_elsewhere(const nlohmann::json& message);
  bool takes_work_of_another(const nlohmann::json& message, const std::string& session);
  void read_file(const nlohmann::json& message);
  void write_file(const nlohmann::json& message);
  void answer_read(const nlohmann::json& id, const nlohmann::json& params,
                   const Result<AcpFile>& file);
  void take_answer(const std::string& id, const nlohmann::json& message);
  std::string ask_editor(Question question, std::string_view method, const Json& params);
  void fail_editor(const nlohmann::json& id, int code, const std::string& message);
  void fail_agent(const nlohmann::json& id, int code, const std::string& message);

  // --- turns (acp_proxy_turns.cc)
  // ---------------------------------------------------------------------
  /// Shows what the editor has not seen. Returns the number of changes that were too many.
  size_t show(const std::string& session);
  [[nodiscard]] Json content_of(const AcpChange& change) const;
  [[nodiscard]] Json content_of(std::span<const AcpPart> parts) const;
  [[nodiscard]] Json place_of(const std::string& path) const;
  void show_one(const std::string& session, const AcpChange& change);
  void say(const std::string& session, const std::string& title, const std::string& text,
           bool is_good);
  void tell_agent(const std::string& session, const std::string& text);
  void decide_next();
  void leave_undecided();
  void judge();
  void ask_turn();
  void ask_part();
  void take_decision(Question::Kind kind, const std::string& option);
  void take_part(const std::string& option);
  void commit();
  void take_result(const AcpCommit& result);
  void ask_conflict(const AcpCommit& result);
  void tell_rejected(const AcpCommit& result);
  void finish_turn();
  void cancel(const nlohmann::json& message);

  AcpWorld* world_;
  AcpCommitTime when_;
  std::string root_;
  std::string secret_;  ///< random: the beginning of the proxy's ids
  uint64_t last_id_ = 0;
  MessageLines editor_{kMaxAcpLineBytes};
  MessageLines agent_{kMaxAcpLineBytes};
  std::string to_editor_;
  std::string to_agent_;
  std::string prompted_;       ///< the session of the newest turn
  bool editor_reads_ = false;  ///< it declared fs.readTextFile
  bool begins_turn_ = false;   ///< a prompt waits for the agent
  std::map<std::string, Pending> pending_;
  std::map<std::string, Question> questions_;
  std::optional<std::string> wants_look_;     ///< the session that may have staged more
  std::map<std::string, std::string> shown_;  ///< by path: the version that the editor has
  std::map<std::string, std::string> calls_;  ///< by path: the id of its tool call
  std::set<std::string> undecided_;           ///< paths that a turn without a decision left staged
  std::map<std::string, std::string> notes_;  ///< by session
  std::deque<Ended> ended_;
  std::unique_ptr<Deciding> deciding_;  ///< null: nothing is being decided
};

}  // namespace galley
