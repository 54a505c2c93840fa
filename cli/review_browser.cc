#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <future>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/outcome.h"
#include "cli/reports.h"
#include "cli/review.h"
#include "engine/review/review_page.h"
#include "server/http/http.h"
#include "staging/fs/controlling_terminal.h"
#include "staging/fs/local_listener.h"
#include "staging/fs/replace_file.h"
#include "staging/sandbox/host_process.h"
#include "staging/sandbox/layer_homes.h"

namespace galley {
namespace {

constexpr uint32_t kPageContext = 3;
constexpr size_t kTokenDigits = 32;
constexpr std::chrono::milliseconds kRequestTime{5'000};
constexpr std::chrono::milliseconds kCommitLook{20};  // how often the end of a commit is looked for
constexpr size_t kMaxComments = 1000;
constexpr size_t kMaxBodyBytes = size_t{8} << 20U;  // of a request: comments and edited lines

/// Returns a text member of a request; empty if it is missing or not a text.
std::string text_of_member(const Json& body, const char* name) {
  const auto found = body.find(name);
  return found != body.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Whether a page can edit these lines. A text area of a browser has only LF.
bool has_one_line_end(std::string_view text) {
  size_t crlf = 0;
  for (size_t at = text.find('\r'); at != std::string_view::npos; at = text.find('\r', at + 1)) {
    if (!text.substr(at + 1).starts_with('\n')) return false;
    ++crlf;
  }
  return crlf == 0 || crlf == static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

HttpResponse answer(const Json& body, int status = 200) {
  return {status, "application/json",
          body.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)};
}

HttpResponse refusal(int status, const std::string& reason, const std::string& message) {
  return answer({{"ok", false}, {"reason", reason}, {"message", printable_line(message)}}, status);
}

HttpResponse refusal(const Error& error) {
  constexpr int kConflict = 409;
  constexpr int kRefused = 400;
  return refusal(error.kind == ErrorKind::kConflict ? kConflict : kRefused, error.reason,
                 error.message);
}

/// Serves the page of one review to one browser.
///
/// The token in the printed address opens the review once and leads to the page, whose path begins
/// with a secret. Cookies are not used: browsers send cookies to every port of a host, so another
/// server on this machine would receive them. A request must name this address as its host and
/// origin. A change also needs a second token from the page, which no other page can read.
///
/// A commit waits for the gate on a thread of its own, which alone uses the review then. Meanwhile
/// only comments are taken, into memory.
class BrowserReview {
 public:
  BrowserReview(Session& session, Review& review, const LocalListener& listener)
      : session_(session),
        review_(review),
        host_{listener.name()},
        token_(random_hex(kTokenDigits)),
        secret_(random_hex(kTokenDigits)),
        page_token_(random_hex(kTokenDigits)) {}

  [[nodiscard]] std::string address() const {
    return fmt::format("http://{}/?token={}", host_.name, token_);
  }
  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] bool is_committing() const { return committing_.valid(); }
  /// Whether the request need not wait for the end of a commit.
  [[nodiscard]] bool is_ready_for(const HttpRequest& request) const {
    return !is_committing() || request.target == "/" + secret_ + "/comments";
  }

  /// Returns the answer to a commit that has ended.
  std::optional<HttpResponse> answer_to_commit() {
    if (!is_committing() ||
        committing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      return std::nullopt;
    }
    const auto done = end_commit(committing_.get());
    if (!is_over_ && !are_comments_kept_) {
      const auto kept = keep_comments();
      if (!kept) return refusal(kept.error());
    }
    return done ? answer(*done) : refusal(done.error());
  }

  /// Returns the answer to a request; nothing to a commit, which then waits for the gate.
  std::optional<HttpResponse> respond(const HttpRequest& request) {
    constexpr int kForbidden = 403;
    constexpr int kNoMethod = 405;
    if (!host_.is_meant_by(request)) {
      return refusal(kForbidden, "review.wrong_host", "this is not the address of the review");
    }
    if (request.method == "GET" && request.target.starts_with("/?token=")) return enter(request);
    const std::string home = "/" + secret_;
    const std::string_view start = std::string_view(request.target).substr(0, home.size());
    if (!equal_in_constant_time(start, home)) {
      return refusal(kForbidden, "review.no_token",
                     "open the address that galley review printed; it is good for one browser");
    }
    const std::string target = request.target.substr(home.size());
    if (request.method == "GET" && target == "/") return page();
    if (request.method != "POST") return refusal(kNoMethod, "review.method", "no such request");
    if (request.header("origin").empty() || request.header("content-type") != "application/json" ||
        !equal_in_constant_time(request.header("x-galley-token"), page_token_)) {
      return refusal(kForbidden, "review.no_token", "the page is of another review; load it again");
    }
    const Json body = Json::parse(request.body, nullptr, false);
    if (!body.is_object()) return refusal(400, "review.bad_request", "this is not a JSON object");
    const auto done = post(target, body);
    if (is_committing() && target == "/commit") return std::nullopt;
    return done ? answer(*done) : refusal(done.error());
  }

  Result<int> finish() {
    Json document = {{"schema", "galley.commit/1"}, {"ok", true}, {"tx", review_.tx()}};
    document["comments"] = Json::array();
    for (const ReviewComment& one : comments_) {
      document["comments"].push_back({{"on", one.on}, {"text", one.text}});
    }
    if (session_.is_json() && !outcome_) {
      document["schema"] = "galley.review-end/1";
      session_.print(document);
    }
    for (const ReviewComment& one : comments_) {
      if (session_.is_json()) break;
      session_.print(
          fmt::format("comment on {}: {}\n", printable_line(one.on), printable_line(one.text)));
    }
    if (!outcome_) {
      session_.say("nothing was committed");
      return kExitDone;
    }
    return finish_commit(session_, *outcome_, document);
  }

 private:
  HttpResponse enter(const HttpRequest& request) {
    constexpr std::string_view kStart = "/?token=";
    const std::string_view given = std::string_view(request.target).substr(kStart.size());
    const bool is_it = !token_.empty() && equal_in_constant_time(given, token_);
    if (!is_it) {
      return refusal(403, "review.no_token",
                     "this address was used already; begin the review again");
    }
    token_.clear();
    return {303, "text/plain", "", {{"Location", "/" + secret_ + "/"}}};
  }

  HttpResponse page() {
    auto built = build_page();
    if (!built) return refusal(built.error());
    return {200,
            "text/html",
            *std::move(built),
            {{"Content-Security-Policy",
              review_page_policy(PageHome::kLoopback) + "; frame-ancestors 'none'"}}};
  }

  Result<std::string> build_page() {
    GALLEY_ASSIGN(state_, review_.look(kPageContext));
    ReviewSubject subject;
    subject.title = "Transaction " + review_.tx();
    subject.facts = facts_of(state_->who);
    subject.verdict = &state_->verdict;
    subject.pieces = &state_->pieces;
    ProposalDiffOptions options;
    options.find_renames = false;
    options.file.context = kPageContext;
    GALLEY_ASSIGN(Json data, review_data(state_->proposal, subject, options));
    data["session"] = {{"token", page_token_}};
    return review_page(data, PageHome::kLoopback);
  }

  Result<Json> post(const std::string& target, const Json& body) {
    GALLEY_TRY(take_comments(body));
    if (target == "/comments") return Json{{"ok", true}};
    if (target == "/end") {
      is_over_ = true;
      return Json{{"ok", true}};
    }
    if (!state_ || text_of_member(body, "proposal") != state_->proposal.id().hex()) {
      return fail(ErrorKind::kConflict, "review.changed",
                  "something else is staged than what the page shows");
    }
    if (target == "/keep") return keep(body);
    if (target == "/lines") return lines(body);
    if (target == "/edit") return edit(body);
    if (target == "/commit") {
      committing_ =
          std::async(std::launch::async, [this, message = text_of_member(body, "message")] {
            return review_.commit(*state_, message);
          });
      return Json();
    }
    return fail(ErrorKind::kUsage, "review.bad_request", "there is no " + target);
  }

  Result<void> take_comments(const Json& body) {
    const auto given = body.find("comments");
    if (given == body.end()) return {};
    const bool is_sound = given->is_array() && given->size() <= kMaxComments &&
                          std::all_of(given->begin(), given->end(), [](const Json& one) {
                            return one.is_object() && one.contains("on") && one["on"].is_string() &&
                                   one.contains("text") && one["text"].is_string();
                          });
    if (!is_sound)
      return fail(ErrorKind::kUsage, "review.bad_request", "'comments' is not a list of comments");
    std::vector<ReviewComment> now;
    for (const Json& one : *given) {
      now.push_back({one["on"].get<std::string>(), one["text"].get<std::string>()});
    }
    are_comments_kept_ = are_comments_kept_ && now == comments_;
    comments_ = std::move(now);
    return are_comments_kept_ || is_committing() ? Result<void>() : keep_comments();
  }

  /// The agent sees the comments from now on.
  Result<void> keep_comments() {
    GALLEY_TRY(review_.keep_comments(comments_));
    are_comments_kept_ = true;
    return {};
  }

  static Result<size_t> piece_of(const Json& value, const ReviewedState& state) {
    if (value.is_number_unsigned() && value.get<uint64_t>() < state.pieces.pieces().size()) {
      return value.get<size_t>();
    }
    return fail(ErrorKind::kUsage, "review.bad_request", "there is no such change");
  }

  Result<Json> keep(const Json& body) {
    std::vector<bool> is_left_out(state_->pieces.pieces().size(), false);
    const auto given = body.find("left_out");
    if (given == body.end() || !given->is_array()) {
      return fail(ErrorKind::kUsage, "review.bad_request", "nothing says what is left out");
    }
    for (const Json& one : *given) {
      GALLEY_ASSIGN(const size_t piece, piece_of(one, *state_));
      is_left_out[piece] = true;
    }
    std::vector<size_t> kept;
    for (size_t i = 0; i < is_left_out.size(); ++i) {
      if (!is_left_out[i]) kept.push_back(i);
    }
    GALLEY_TRY(review_.keep_only(*state_, kept));
    return Json{{"ok", true}};
  }

  Result<Json> lines(const Json& body) {
    GALLEY_ASSIGN(const size_t piece, piece_of(body.value("piece", Json()), *state_));
    GALLEY_ASSIGN(const std::string text, review_.lines_of(*state_, {piece, piece}));
    if (!is_utf8(text)) {
      return fail(ErrorKind::kUsage, "review.not_utf8",
                  "these lines are not UTF-8: edit them with `galley edit`");
    }
    if (!has_one_line_end(text)) {
      return fail(ErrorKind::kUsage, "review.line_ends",
                  "these lines have different line ends: edit them with `galley edit`");
    }
    return Json{{"ok", true}, {"text", text}};
  }

  Result<Json> edit(const Json& body) {
    GALLEY_ASSIGN(const size_t piece, piece_of(body.value("piece", Json()), *state_));
    const auto text = body.find("text");
    if (text == body.end() || !text->is_string()) {
      return fail(ErrorKind::kUsage, "review.bad_request", "there are no lines");
    }
    GALLEY_TRY(review_.edit_lines(*state_, {piece, piece}, text->get<std::string>()));
    return Json{{"ok", true}};
  }

  Result<Json> end_commit(Result<CommitOutcome> ended) {
    if (!ended) return fail(ended.error());
    outcome_ = *std::move(ended);
    if (const auto* receipt = std::get_if<Receipt>(&*outcome_)) {
      is_over_ = true;
      return Json{{"ok", true}, {"committed", receipt->id.str()}};
    }
    const CommitOutcome outcome = *std::exchange(outcome_, std::nullopt);
    if (const auto* refused = std::get_if<Refused>(&outcome)) {
      return fail(ErrorKind::kRefused, refused->refusal().reason, refused->refusal().message);
    }
    if (const auto* conflict = std::get_if<Conflict>(&outcome)) {
      return fail(ErrorKind::kRefused, conflict->reason,
                  conflict->paths.empty() ? "the workspace changed" : conflict->paths[0].message);
    }
    return fail(ErrorKind::kRefused, "review.nothing", "nothing differs from the workspace");
  }

  Session& session_;
  Review& review_;
  HttpHost host_;
  std::string token_;       ///< in the address; empty after its use
  std::string secret_;      ///< start of the path of every later request
  std::string page_token_;  ///< in the page
  std::optional<ReviewedState> state_;
  std::optional<CommitOutcome> outcome_;
  std::vector<ReviewComment> comments_;
  bool are_comments_kept_ = true;
  bool is_over_ = false;
  std::future<Result<CommitOutcome>> committing_;  ///< destroyed first: it waits for its thread
};

void send_answer(LocalConnection& connection, const HttpResponse& response) {
  connection.send(http_text(response));
  connection.finish();
}

/// Requests in the order of their arrival, of which a commit lets some wait.
class ReviewRequests {
 public:
  explicit ReviewRequests(BrowserReview& review) : review_(&review) {}

  void add_event(const LocalListener::Event& event) {
    const HttpParse parsed = parse_http(event.bytes, {kMaxBodyBytes, {}});
    if (!parsed.request) {
      send_answer(*event.connection,
                  refusal(parsed.status, "review.bad_request", "this is not a request to us"));
      return;
    }
    waiting_.push_back({event.connection, *parsed.request});
  }

  /// Sends the answers that are ready.
  void answer_ready() {
    if (const auto ended = review_->answer_to_commit()) {
      send_answer(*std::exchange(committer_, nullptr), *ended);
    }
    for (auto one = waiting_.begin(); one != waiting_.end() && !review_->is_over();) {
      if (!review_->is_ready_for(one->request)) {
        ++one;
        continue;
      }
      if (const auto response = review_->respond(one->request)) {
        send_answer(*one->connection, *response);
      } else {
        committer_ = one->connection;
      }
      one = waiting_.erase(one);
    }
  }

 private:
  struct Waiting {
    std::shared_ptr<LocalConnection> connection;
    HttpRequest request;
  };
  BrowserReview* review_;
  std::deque<Waiting> waiting_;
  std::shared_ptr<LocalConnection> committer_;
};

/// Whether a browser can probably be shown.
bool has_display() {
  const auto is_set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  return is_set("BROWSER") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
}

/// Opens the address in the person's browser. Arguments of a program can be read by every user of
/// this machine, so the program gets a private file that leads to the address. The address is
/// printed, too, for a browser that cannot read the file.
Result<LayerHome> open_browser(Session& session, const std::string& address) {
  const char* chosen = std::getenv("BROWSER");
  const std::string line = chosen != nullptr && *chosen != '\0' ? chosen : "xdg-open";
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  GALLEY_TRY(check_line_outside(line, workspace->root_path()));
  GALLEY_ASSIGN(LayerHome home, LayerHome::open("", LayerUse::kCopy));
  const std::string page = fmt::format(
      "<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0;url={}\"><title>Galley</title>\n",
      address);
  GALLEY_TRY(replace_file(home.directory(), "review.html", page));
  // The shell does not wait for the browser, which may run for long.
  GALLEY_ASSIGN(const auto shell,
                HostProcess::start({"sh", "-c", line + " \"$@\" > /dev/null 2>&1 &", "sh",
                                    home.path() + "/review.html"}));
  GALLEY_TRY(shell->wait());
  return home;
}

/// Prints the address for the person only, because it gives the right to decide in their name.
Result<void> tell_address(Session& session, const std::string& address) {
  session.terminal().release_terminal();
  if (auto terminal = ControllingTerminal::open()) {
    return (*terminal)->write("Review the transaction at " + address +
                              "\nThe address is good for one browser. Ctrl-C ends the review.\n");
  }
  GALLEY_TRY(session.open());
  if (!session.is_unattended()) {
    return fail(ErrorKind::kRefused, "person.no_terminal",
                "only a person may use `galley review`: start it at a terminal");
  }
  if (session.is_json()) {
    session.terminal().print_message(address + "\n");  // standard output has the one document
  } else {
    session.print(address + "\n");
  }
  session.terminal().release_terminal();
  return {};
}

}  // namespace

Result<int> review_in_browser(Session& session, Review& review) {
  const SystemClock clock;
  const uint32_t port = session.arguments().port;
  if (port > UINT16_MAX) {
    return fail(ErrorKind::kUsage, "loopback.port", "a port is a number up to 65535");
  }
  GALLEY_ASSIGN(const auto listener,
                LocalListener::open_loopback("", static_cast<uint16_t>(port), clock));
  BrowserReview browser(session, review, *listener);
  GALLEY_TRY(tell_address(session, browser.address()));
  std::optional<LayerHome> opened;
  const bool is_asked = session.arguments().opens;
  const bool opens_itself =
      !session.arguments().stays_closed && session.terminal().is_input_terminal() && has_display();
  if (is_asked || opens_itself) {
    auto home = open_browser(session, browser.address());
    if (!home && is_asked) return fail(home.error());
    if (home) opened.emplace(*std::move(home));
  }
  LocalListener::Wait wait;
  wait.patience = kRequestTime;
  wait.look = [](std::string_view bytes) {
    const HttpParse parsed = parse_http(bytes, {kMaxBodyBytes, {}});
    return LocalListener::Look{parsed.missing, parsed.interim};
  };
  ReviewRequests requests(browser);
  while (!browser.is_over()) {
    wait.until = browser.is_committing() ? Deadline::after(clock, kCommitLook) : Deadline();
    GALLEY_ASSIGN(const auto event, listener->next(wait));
    if (event.connection && !event.is_closed) requests.add_event(event);
    requests.answer_ready();
  }
  listener->flush(Deadline::after(clock, kRequestTime));
  return browser.finish();
}

}  // namespace galley
