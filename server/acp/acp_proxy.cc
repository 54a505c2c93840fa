#include "server/acp/acp_proxy.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/encoding.h"
#include "base/printable.h"
#include "base/text.h"
#include "tools/json_input.h"
#include "tools/mcp/rpc_message.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kSecretDigits = 16;
constexpr int kProtocolVersion = 1;
constexpr const char* kTerminalLogin = "terminal-auth";
constexpr int kNotFoundCode = -32002;  // "resource not found" of the protocol

/// Replaces half surrogate pairs, which UTF-8 cannot encode, by U+FFFD. A program writes them if it
/// cuts a stream anywhere.
std::string without_half_pairs(std::string text) {
  constexpr size_t kEscapeBytes = 6;
  const auto unit_at = [&](size_t at) -> unsigned {
    unsigned unit = 0;
    if (at + kEscapeBytes > text.size() || text.compare(at, 2, "\\u") != 0) return 0;
    const char* const digits = text.data() + at + 2;
    const auto read = std::from_chars(digits, text.data() + at + kEscapeBytes, unit, 16);
    return read.ptr == text.data() + at + kEscapeBytes ? unit : 0;
  };
  for (size_t at = text.find('\\'); at < text.size(); at = text.find('\\', at)) {
    const unsigned unit = unit_at(at) & 0xFC00U;
    const bool is_pair = unit == 0xD800U && (unit_at(at + kEscapeBytes) & 0xFC00U) == 0xDC00U;
    const bool is_half = (unit == 0xD800U || unit == 0xDC00U) && !is_pair;
    if (is_half) text.replace(at + 2, 4, "fffd");
    at += is_pair ? 2 * kEscapeBytes : is_half ? kEscapeBytes : 2;
  }
  return text;
}

/// Some editors end a line also where JSON has none, so one message of an agent could be another
/// one for them. A raw CR in JSON is a blank between values, and the others are parts of texts.
std::string with_one_line_end(std::string lines) {
  for (size_t at = lines.find('\r'); at < lines.size(); at = lines.find('\r', at + 1)) {
    if (at + 1 < lines.size() && lines[at + 1] != '\n') lines[at] = ' ';
  }
  for (const auto& [raw, escaped] :
       {std::pair<std::string_view, std::string_view>{"\xE2\x80\xA8", "\\u2028"},
        {"\xE2\x80\xA9", "\\u2029"},
        {"\xC2\x85", "\\u0085"}}) {
    size_t at = lines.find(raw);
    if (at == std::string::npos) continue;
    std::string changed;
    size_t from = 0;
    for (; at != std::string::npos; at = lines.find(raw, from)) {
      changed.append(lines, from, at - from).append(escaped);
      from = at + raw.size();
    }
    lines = changed.append(lines, from);
  }
  return lines;
}

/// Reads a line as one JSON object.
Result<json> read_object(MessageLines::Line& line) {
  if (line.is_too_long) {
    return fail(ErrorKind::kQuota, "limit.json_bytes",
                "the message is longer than " + std::to_string(kMaxAcpLineBytes) + " bytes");
  }
  JsonLimits limits{.max_bytes = kMaxAcpLineBytes, .max_values = kMaxMessageValues};
  auto message = parse_json(line.text, limits);
  if (!message && message.error().reason == "json.syntax") {
    std::string mended = without_half_pairs(line.text);
    if (mended != line.text) {
      line.text = std::move(mended);
      message = parse_json(line.text, limits);
    }
  }
  if (!message || message->is_object()) return message;
  return fail(ErrorKind::kInvalid, "json.syntax", "a message is one JSON object on one line");
}

/// Refuses a message whose method a reader without case finds elsewhere.
Result<json> with_one_method(json message) {
  for (const auto& [key, value] : message.items()) {
    if (key == "method" || to_lower(key) != "method") continue;
    return fail(ErrorKind::kInvalid, "json.syntax", "the key of a method is \"method\"");
  }
  return message;
}

json member(const json& object, const char* key) {
  return object.is_object() ? object.value(key, json()) : json();
}

std::string text_of(const json& object, const char* key) {
  return object.is_object() ? text_member(object, key) : std::string();
}

bool is_blank(const MessageLines::Line& line) {
  return !line.is_too_long && line.text.find_first_not_of(" \t\r") == std::string::npos;
}

/// Whether the editor would do it on disk, outside of the sandbox.
bool acts_outside(const std::string& method) {
  return method.starts_with("terminal/") || method.starts_with("fs/");
}

bool is_cancel(const json& message) {
  const std::string method = text_of(message, "method");
  return method == "session/cancel" || method == "$/cancel_request";
}

/// Whether an id of the agent can be kept until the editor answers.
bool is_short(const json& id) {
  constexpr size_t kMostBytes = 256;
  return id.is_number() || (id.is_string() && id.get_ref<const std::string&>().size() < kMostBytes);
}

/// Takes `inner` out of the member `key`, if that exists.
void erase_in(json& object, const char* key, const char* inner) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_object()) found->erase(inner);
}

/// Takes out the ways to log in for which the editor would run a command outside of the sandbox.
void erase_terminal_logins(json& answer) {
  const auto result = answer.find("result");
  if (result == answer.end() || !result->is_object()) return;
  const auto methods = result->find("authMethods");
  if (methods == result->end() || !methods->is_array()) return;
  const auto is_terminal = [](const json& one) {
    return text_of(one, "type") == "terminal" ||
           !member(member(one, "_meta"), kTerminalLogin).is_null();
  };
  methods->erase(std::remove_if(methods->begin(), methods->end(), is_terminal), methods->end());
}

std::string error_text(const json& id, int code, const std::string& message) {
  return json_text(ordered_json{
             {"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}}) +
         "\n";
}

std::string result_text(const json& id, const ordered_json& result) {
  return json_text(ordered_json{{"jsonrpc", "2.0"}, {"id", id}, {"result", result}}) + "\n";
}

/// Makes the numbers of lines that fs/read_text_file asks for unsigned: parse_json() returns a
/// signed 2 for 2.0. Returns false if one is not a whole number.
bool make_unsigned(json& params) {
  for (const char* name : {"line", "limit"}) {
    const json number = member(params, name);
    if (number.is_null() || number.is_number_unsigned()) continue;
    if (!number.is_number_integer() || number < 0) return false;
    params[name] = number.get<uint64_t>();
  }
  return true;
}

/// The lines of a text that fs/read_text_file asks for.
std::string lines_of(const std::string& text, const json& params) {
  const json first = member(params, "line");
  const json count = member(params, "limit");
  size_t begin = 0;
  uint64_t skipped = first.is_number_unsigned() ? first.get<uint64_t>() : 1;
  for (; skipped > 1 && begin < text.size(); --skipped) {
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  }
  if (!count.is_number_unsigned()) return text.substr(begin);
  size_t end = begin;
  for (uint64_t left = count.get<uint64_t>(); left > 0 && end < text.size(); --left) {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  }
  return text.substr(begin, end - begin);
}

/// The text of a prompt's first block that has one.
std::string words_of(const json& params) {
  const json blocks = member(params, "prompt");
  if (!blocks.is_array()) return {};
  for (const json& block : blocks) {
    if (std::string text = text_of(block, "text"); !text.empty()) return text;
  }
  return {};
}

}  // namespace

AcpProxy::AcpProxy(AcpWorld& world, AcpCommitTime when, std::string root)
    : world_(&world),
      when_(when),
      root_(std::move(root)),
      secret_("galley-" + random_hex(kSecretDigits) + "-") {}

bool AcpProxy::is_in_turn() const {
  return !ended_.empty() || std::any_of(pending_.begin(), pending_.end(), [](const auto& one) {
    return one.second.method == "session/prompt";
  });
}

void AcpProxy::fail_editor(const json& id, int code, const std::string& message) {
  to_editor_ += error_text(id, code, message);
}

void AcpProxy::fail_agent(const json& id, int code, const std::string& message) {
  to_agent_ += error_text(id, code, message);
}

std::string AcpProxy::for_editor() { return with_one_line_end(std::exchange(to_editor_, {})); }

std::string AcpProxy::ask_editor(Question question, std::string_view method, const Json& params) {
  std::string id = secret_ + std::to_string(++last_id_);
  to_editor_ += request_line(RpcId(id), method, params) + "\n";
  questions_.emplace(id, std::move(question));
  return id;
}

// --- from the editor ----------------------------------------------------------------------------

void AcpProxy::take_from_editor(std::string_view bytes) {
  editor_.feed(bytes);
  while (auto line = editor_.next()) editor_line(*std::move(line));
}

void AcpProxy::editor_line(MessageLines::Line line) {
  if (is_blank(line)) return;
  const auto message = read_object(line);
  if (!message) return lose_editor_line(line, message.error());
  const json id = member(*message, "id");
  if (!message->contains("method")) {
    const std::string name = id.is_string() ? id.get<std::string>() : std::string();
    if (questions_.contains(name)) return take_answer(name, *message);
    if (name.starts_with(secret_)) return;  // the person cancelled before
  } else if (is_cancel(*message) && id.is_null()) {
    cancel(*message);
    json notice = *message;
    notice.erase("id");  // some editors send null with a notification
    to_agent_ += json_text(notice) + "\n";
    return;
  } else if (message->contains("id")) {
    return editor_request(*message, line.text);
  }
  to_agent_ += line.text + "\n";
}

/// A request gets an error. An answer of the editor becomes an error.
void AcpProxy::lose_editor_line(const MessageLines::Line& line, const Error& why) {
  const std::string text = "galley acp cannot read this message: " + why.message;
  const auto [id, has_method] = unread_message(line.text);
  if (id.is_null() || has_method) return fail_editor(id, rpc::kParseError, text);
  const std::string name = id.is_string() ? id.get<std::string>() : std::string();
  if (questions_.contains(name)) return take_answer(name, json::object());
  if (!name.starts_with(secret_)) {
    fail_agent(id, rpc::kInternalError, "galley acp cannot read the answer: " + why.message);
  }
}

void AcpProxy::editor_request(const json& message, const std::string& line) {
  const json& id = message.at("id");
  const std::string method = text_of(message, "method");
  const std::string key = id.dump();
  if (pending_.size() >= kMaxAcpPending || pending_.contains(key)) {
    fail_editor(id, rpc::kInvalidRequest,
                pending_.contains(key) ? "a request with this id is in progress"
                                       : "too many requests are in progress");
    return;
  }
  const std::string session = text_of(member(message, "params"), "sessionId");
  if (method.starts_with("session/") && opens_elsewhere(message)) return;
  const bool is_alone = !is_in_turn();
  if (method == "session/prompt") {
    if (is_alone && takes_work_of_another(message, session)) return;
    prompted_ = session;
  }
  pending_[key] = {method, session};
  if (method == "initialize") {
    to_agent_ += initialize(message);
  } else if (method == "session/prompt") {
    to_agent_ += prompt(message, is_alone);
  } else {
    to_agent_ += line + "\n";
  }
}

/// The agent is offered files through the proxy and no terminals, also not for its login: its own
/// shell is in the sandbox.
std::string AcpProxy::initialize(json message) {
  json& params = message["params"];
  if (!params.is_object()) params = json::object();
  const json version = member(params, "protocolVersion");
  if (version.is_number() && version > kProtocolVersion) {
    params["protocolVersion"] = kProtocolVersion;
  }
  json& can = params["clientCapabilities"];
  if (!can.is_object()) can = json::object();
  editor_reads_ = member(member(can, "fs"), "readTextFile") == json(true);
  can["fs"] = {{"readTextFile", true}, {"writeTextFile", true}};
  can["terminal"] = false;
  erase_in(can, "auth", "terminal");
  erase_in(can, "_meta", kTerminalLogin);
  return json_text(message) + "\n";
}

/// Whether a session would start outside of the workspace; then the editor has got an error.
bool AcpProxy::opens_elsewhere(const json& message) {
  const std::string folder = text_of(member(message, "params"), "cwd");
  if (folder.empty()) return false;
  const auto inside = world_->check_folder(folder);
  if (inside) return false;
  fail_editor(message.at("id"), rpc::kInvalidParams, inside.error().message);
  return true;
}

/// Whether the end of this turn would commit what a turn of another session left staged; then the
/// editor has got an error.
bool AcpProxy::takes_work_of_another(const json& message, const std::string& session) {
  const bool is_same = prompted_.empty() || prompted_ == session;
  if (is_same || when_ == AcpCommitTime::kSession) return false;
  const auto staged = world_->staged(prompted_);
  if (!staged || staged->empty()) return false;
  fail_editor(
      message.at("id"), rpc::kInvalidRequest,
      "the session '" + printable_line(prompted_) + "' left " +
          counted(staged->size(), "staged change") +
          ", which this turn would commit as its own: go on in that session first, or commit "
          "them in a terminal with: galley commit");
  return true;
}

/// Begins a turn, and puts what the agent must know behind the person's words: agents look for a
/// command at the beginning. Some join the texts of all blocks.
std::string AcpProxy::prompt(json message, bool is_alone) {
  begins_turn_ = true;
  json& params = message["params"];
  const std::string session = text_of(params, "sessionId");
  const auto begun = world_->begin_turn(session, words_of(params), is_alone);
  // If the run is over, the agent has ended, and end() answers the prompt.
  if (!begun && begun.error().reason != "run.not_found") {
    say(session, "Galley could not begin a turn", begun.error().message, false);
  }
  const auto note = notes_.find(session);
  if (note != notes_.end() && params.is_object() && params["prompt"].is_array()) {
    params["prompt"].push_back({{"type", "text"}, {"text", "\n\n" + note->second}});
    notes_.erase(note);
  }
  return json_text(message) + "\n";
}

// --- from the agent -----------------------------------------------------------------------------

void AcpProxy::take_from_agent(std::string_view bytes) {
  agent_.feed(bytes);
  while (auto line = agent_.next()) agent_line(*std::move(line));
}

void AcpProxy::agent_line(MessageLines::Line line) {
  if (is_blank(line)) return;
  auto message = read_object(line);
  if (message) message = with_one_method(*std::move(message));
  if (!message) return lose_agent_line(line, message.error());
  const bool has_id = message->contains("id");
  if (!message->contains("method")) return agent_answer(*std::move(message), line.text);
  if (has_id) return agent_request(*message, line.text);
  const std::string method = text_of(*message, "method");
  if (acts_outside(method)) return;
  to_editor_ += line.text + "\n";
  if (method != "session/update") return;
  const json params = member(*message, "params");
  const std::string status = text_of(member(params, "update"), "status");
  if (status == "completed" || status == "failed") wants_look_ = text_of(params, "sessionId");
}

/// A request is answered with an error, and an answer that the editor waits for is one.
void AcpProxy::lose_agent_line(const MessageLines::Line& line, const Error& why) {
  const auto [id, has_method] = unread_message(line.text);
  const auto pending = has_method ? pending_.end() : pending_.find(id.dump());
  if (pending == pending_.end()) {
    return fail_agent(has_method ? id : json(), rpc::kParseError,
                      "galley acp cannot read this message: " + why.message);
  }
  const Pending request = std::move(pending->second);
  pending_.erase(pending);
  std::string answer = error_text(id, rpc::kInternalError,
                                  "galley acp cannot read the agent's answer: " + why.message);
  if (request.method != "session/prompt") {
    to_editor_ += answer;
    return;
  }
  ended_.push_back({request.session, std::move(answer), true});
  decide_next();
}

void AcpProxy::agent_request(const json& message, const std::string& line) {
  const std::string method = text_of(message, "method");
  if (method == "fs/read_text_file") return read_file(message);
  if (method == "fs/write_text_file") return write_file(message);
  if (!acts_outside(method)) {
    to_editor_ += line + "\n";
    return;
  }
  fail_agent(message.at("id"), rpc::kMethodNotFound,
             "galley acp does not pass '" + method +
                 "' on, because it would act outside of the sandbox: run the command yourself, in "
                 "the sandbox where you are");
}

/// An answer to a request that the editor did not send, or that was answered, is dropped.
void AcpProxy::agent_answer(json message, const std::string& line) {
  const auto pending = pending_.find(member(message, "id").dump());
  if (pending == pending_.end()) return;
  const Pending request = pending->second;
  pending_.erase(pending);
  if (request.method == "initialize") {
    erase_terminal_logins(message);
    to_editor_ += json_text(message) + "\n";
    return;
  }
  if (request.method != "session/prompt") {
    to_editor_ += line + "\n";
    return;
  }
  // Some agents send "error": null with every result.
  const bool is_undecided = !member(message, "error").is_null() ||
                            text_of(member(message, "result"), "stopReason") == "cancelled";
  ended_.push_back({request.session, line + "\n", is_undecided});
  if (request.is_cancelled) ended_.back().cancel();
  decide_next();
}

void AcpProxy::read_file(const json& message) {
  const json& id = message.at("id");
  json params = member(message, "params");
  if (to_agent_.size() >= kAcpUnsentBytes) {
    return fail_agent(id, rpc::kInternalError,
                      "too many files are read at once: read the answers, then ask again");
  }
  if (!make_unsigned(params)) {
    return fail_agent(id, rpc::kInvalidParams, "'line' and 'limit' are whole numbers from 0");
  }
  const auto file = world_->read(text_of(params, "sessionId"), text_of(params, "path"));
  const bool asks = file && file->is_as_on_disk && editor_reads_ && is_short(id) &&
                    questions_.size() < kMaxAcpPending;
  if (!asks) return answer_read(id, params, file);
  if (!file->path.empty()) params["path"] = file->path;
  json kept = {{"path", text_of(params, "path")}};
  for (const char* name : {"line", "limit"}) {
    if (const json lines = member(params, name); lines.is_number()) kept[name] = lines;
  }
  if (const json session = member(params, "sessionId"); is_short(session)) {
    kept["sessionId"] = session;
  }
  ask_editor({Question::Kind::kRead, id, std::move(kept)}, "fs/read_text_file", Json(params));
}

void AcpProxy::answer_read(const json& id, const json& params, const Result<AcpFile>& file) {
  if (!file) {
    const bool is_missing = file.error().kind == ErrorKind::kNotFound;
    return fail_agent(id, is_missing ? kNotFoundCode : rpc::kInternalError, file.error().message);
  }
  to_agent_ += result_text(id, {{"content", lines_of(file->text, params)}});
}

void AcpProxy::write_file(const json& message) {
  const json params = member(message, "params");
  const json content = member(params, "content");
  const auto written = content.is_string()
                           ? world_->write(text_of(params, "sessionId"), text_of(params, "path"),
                                           content.get<std::string>())
                           : fail(ErrorKind::kInvalid, "acp.content", "'content' is a text");
  if (!written) return fail_agent(message.at("id"), rpc::kInternalError, written.error().message);
  to_agent_ += result_text(message.at("id"), ordered_json::object());
  wants_look_ = text_of(params, "sessionId");
}

// --- answers of the editor ----------------------------------------------------------------------

void AcpProxy::take_answer(const std::string& id, const json& message) {
  const Question question = std::move(questions_.at(id));
  questions_.erase(id);
  const json result = member(message, "result");
  if (question.kind == Question::Kind::kRead) {
    const json content = member(result, "content");
    const std::string session = text_of(question.params, "sessionId");
    const std::string path = text_of(question.params, "path");
    if (!content.is_string()) {
      return answer_read(question.id, question.params, world_->read(session, path));
    }
    world_->note_editor_text(session, path);
    to_agent_ += result_text(question.id, {{"content", content}});
    return;
  }
  const json outcome = member(result, "outcome");
  const bool is_chosen = text_of(outcome, "outcome") == "selected";
  take_decision(question.kind, is_chosen ? text_of(outcome, "optionId") : std::string());
}

void AcpProxy::end() {
  constexpr int kAgentEnded = rpc::kInternalError;
  for (const auto& [key, request] : pending_) {
    fail_editor(json::parse(key), kAgentEnded, "the agent has ended");
  }
  pending_.clear();
  // Changes without the answer of a person stay staged.
  for (const Ended& turn : ended_) to_editor_ += turn.line;
  questions_.clear();
}

}  // namespace galley
