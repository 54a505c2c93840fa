#pragma once

#include <galley/workspace.h>

#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "server/nats/answer_book.h"
#include "server/nats/nats_config.h"
#include "server/session/session_stages.h"
#include "tools/tool.h"

namespace galley {

struct ToolProfile;
struct ToolShape;
class StateDirectory;
class Telemetry;
struct IdentifiedCall;

/// One request of the document's flow, without its ids.
struct NachosCall {
  std::string tool;
  std::string session;
  std::string call_id;
  nlohmann::json correlation;  ///< the request's `id`, returned unchanged; discarded: it has none
  nlohmann::json arguments;
};

/// The tools of a workspace as Nachos' ToolRunner serves them (nachos-tool-interface.md, "Tool
/// Registration"). It takes and returns the texts of messages, and knows nothing of NATS.
///
/// The tool `transaction` is its own: a session begins, commits or drops one transaction for all
/// its calls. The transaction is stored in the workspace under the session's id. So any process
/// that serves the workspace can continue it, also after the process that began it died.
///
/// Ownership: borrows the workspace, the profile and the clock.
/// Threads:   safe to share; the caller makes the calls of one session one after the other.
/// Errors:    every failure is an answer.
class NachosRunner {
 public:
  static constexpr const char* kTransactionTool = "transaction";
  static constexpr size_t kMostIdBytes = 128;       ///< of a session id or call id
  static constexpr size_t kMostTransactions = 256;  ///< open ones of the workspace

  NachosRunner(Workspace& workspace, const ToolProfile& profile, NatsConfig config,
               SecretProvider secrets, const Clock& clock);

  /// Takes the answers of earlier processes from the audit log: those of calls that changed
  /// something or ran a program in the last hour. With shared answers, this happens when they know
  /// only the begin of a call.
  /// Errors: those of identified_calls.
  Result<void> recall();
  /// Also uses results that other processes share; null: only its own. Not while calls run.
  void share_answers(SharedAnswers* shared) { shared_ = shared; }
  /// Tells of each call; null: nothing. Not while calls run.
  void report_to(Telemetry* telemetry) { telemetry_ = telemetry; }
  /// Whether a session has a transaction.
  [[nodiscard]] Result<bool> has_transaction(const std::string& session) {
    GALLEY_ASSIGN(const std::string id, stage_of(session));
    return !id.empty();
  }

  /// Returns the names of the served tools, by the token that names each in a subject: a dot
  /// becomes `_`.
  /// Errors: kInvalid `nats.subject` if two tools have the same token; those of Workspace::tools.
  [[nodiscard]] Result<std::map<std::string, std::string>> subjects() const;

  /// Reads a request for `tool`.
  /// Errors: the request is not one of the document: answer it with bare_error().
  [[nodiscard]] Result<NachosCall> parse(const std::string& tool, std::string_view request) const;
  /// Whether a call has a session id and a call id.
  [[nodiscard]] static bool has_ids(const NachosCall& call);
  /// Makes the call, or finds its earlier answer, and returns the document's envelope.
  [[nodiscard]] std::string answer(const NachosCall& call, const std::stop_token& stop);
  /// The envelope with an error instead of the answer of a call.
  [[nodiscard]] std::string refusal(const NachosCall& call, const Error& error) const;
  /// The document's answer without an envelope, for errors outside the tool.
  [[nodiscard]] static std::string bare_error(std::string_view message);

  /// `{valid, errors?}` for the arguments of a request.
  [[nodiscard]] std::string validate(const std::string& tool, std::string_view request) const;
  /// `{healthy, error?}`. With shared answers, no tool is healthy without them.
  [[nodiscard]] std::string health(const std::string& tool) const;
  /// The manifests of the served tools, in a list.
  [[nodiscard]] std::string manifests() const;

 private:
  [[nodiscard]] Result<std::vector<ToolInfo>> served() const;
  /// The payload of an answer.
  struct Payload {
    Payload(const nlohmann::ordered_json& document);  // NOLINT(google-explicit-constructor)
    std::string text;
    std::string outcome;  ///< `ok`, or the code of its error
  };
  [[nodiscard]] Payload answered(const NachosCall& call, const std::stop_token& stop);
  [[nodiscard]] Payload repeated(const NachosCall& call, const std::string& hash,
                                 const SharedAnswers::Answer& earlier) const;
  void keep_end(const IdentifiedCall& one, const StateDirectory& state,
                std::chrono::nanoseconds age);
  [[nodiscard]] std::optional<SharedAnswers::Answer> find_recalled(const NachosCall& call);
  [[nodiscard]] std::optional<SharedAnswers::Answer> recalled(const NachosCall& call);
  [[nodiscard]] bool has_done_nothing(const NachosCall& call, const ToolResult& result) const;
  [[nodiscard]] std::string envelope(const NachosCall& call, std::string_view payload) const;
  [[nodiscard]] nlohmann::ordered_json payload_of(const NachosCall& call,
                                                  const ToolResult& result) const;
  [[nodiscard]] nlohmann::ordered_json payload_of(const NachosCall& call, const Error& error) const;
  [[nodiscard]] ToolResult make(const NachosCall& call, const std::stop_token& stop);
  [[nodiscard]] ToolResult make_transaction_call(const NachosCall& call);
  [[nodiscard]] Result<std::string> stage_of(const std::string& session);
  [[nodiscard]] TransactionOptions options_of(const std::string& session) const;
  [[nodiscard]] Result<std::string> begin(const std::string& session);
  [[nodiscard]] ToolResult call_in(Transaction& transaction, const NachosCall& call,
                                   const std::stop_token& stop) const;
  [[nodiscard]] static ToolResult committed(Transaction& transaction, const CommitRequest& request,
                                            ToolResult result);

  Workspace* workspace_;
  const ToolProfile* profile_;
  const ToolShape* shape_;
  NatsConfig config_;
  SecretProvider secrets_;
  const Clock* clock_;
  SessionStages stages_;
  AnswerBook answers_;
  AnswerBook recalled_;  ///< of earlier processes; shared ones go first
  std::mutex recall_mutex_;
  std::chrono::steady_clock::time_point next_recall_;  ///< the earliest time
  SharedAnswers* shared_ = nullptr;
  Telemetry* telemetry_ = nullptr;
};

}  // namespace galley
