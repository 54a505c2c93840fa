#include "engine/pipeline/asked_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/file_mode.h"
#include "base/text.h"
#include "engine/pipeline/approvals.h"
#include "staging/fs/replace_file.h"
#include "tools/json_input.h"

namespace galley {
namespace {

constexpr std::string_view kQuestionMagic = "galley confirmation 1\n";
constexpr const char* kQuestionsFolder = "confirmations";
constexpr uint64_t kMaxQuestionBytes = 4 * kMaxAskedArgumentBytes;
constexpr std::chrono::milliseconds kLockWait{5'000};

std::string one_line(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  return text;
}

std::optional<AskedCall> parse_asked(const ContentId& id, std::string_view text) {
  if (!text.starts_with(kQuestionMagic)) return {};
  text.remove_prefix(kQuestionMagic.size());
  AskedCall call;
  call.id = id;
  const auto asked_ns = number_of<int64_t>(take_line(text));
  if (!asked_ns) return {};
  call.asked_ns = *asked_ns;
  call.by = take_line(text);
  const auto document = parse_json(text);
  if (!document || !document->is_object()) return {};
  for (const auto& [key, field] :
       {std::pair{"agent", &call.question.agent}, std::pair{"tool", &call.question.tool},
        std::pair{"arguments", &call.question.arguments}, std::pair{"why", &call.question.why}}) {
    const auto found = document->find(key);
    if (found == document->end() || !found->is_string()) return {};
    *field = found->get<std::string>();
  }
  call.question.id = shown_call_id(id);
  return call;
}

bool is_too_old(const AskedCall& call, int64_t now_ns) {
  return now_ns - call.asked_ns > kApprovalLastsNs;
}

}  // namespace

RelPath ConfirmationStore::place_of(const ContentId& id) const {
  return state_->own(fmt::format("{}/{}", kQuestionsFolder, id.hex()));
}

Result<void> ConfirmationStore::write(const AskedCall& call) const {
  const RelPath place = place_of(call.id);
  GALLEY_TRY(make_directories(state_->root(), place.parent(), kPrivateDirectory));
  const nlohmann::ordered_json document = {{"agent", call.question.agent},
                                           {"tool", call.question.tool},
                                           {"arguments", call.question.arguments},
                                           {"why", call.question.why}};
  return replace_shared_file(state_->root(), place.str(),
                             fmt::format("{}{}\n{}\n{}\n", kQuestionMagic, call.asked_ns,
                                         one_line(call.by), json_text(document)));
}

Result<std::vector<AskedCall>> ConfirmationStore::list(int64_t now_ns) const {
  std::vector<AskedCall> calls;
  const auto opened = state_->root().open_directory(state_->own(kQuestionsFolder));
  if (!opened && opened.error().kind == ErrorKind::kNotFound) return calls;
  if (!opened) return fail(opened.error());
  GALLEY_ASSIGN(const auto entries, (*opened)->list());
  for (const DirectoryEntry& entry : entries) {
    const auto id = ContentId::from_hex(entry.name);
    if (!id) continue;
    const auto text = read_file(**opened, *RelPath::parse(entry.name), kMaxQuestionBytes);
    auto call = text ? parse_asked(*id, *text) : std::nullopt;
    if (call && !is_too_old(*call, now_ns)) calls.push_back(*std::move(call));
  }
  std::ranges::sort(calls, {}, &AskedCall::asked_ns);
  return calls;
}

Result<std::unique_ptr<WritableFile>> ConfirmationStore::lock() const {
  const RelPath place = state_->own(std::string(kQuestionsFolder) + "/lock");
  GALLEY_TRY(make_directories(state_->root(), place.parent(), kPrivateDirectory));
  GALLEY_ASSIGN(auto file,
                state_->root().open_writable_file(place, OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_ASSIGN(const bool is_ours, take_lock(*file, kLockWait));
  if (is_ours) return file;
  return fail(ErrorKind::kTimeout, "confirmation.locked",
              "another process has held the questions about calls for 5 seconds; try again",
              ".galley/" + place.str());
}

Result<void> ConfirmationStore::keep(const ContentId& id, const CallQuestion& question,
                                     int64_t now_ns) const {
  GALLEY_ASSIGN(const auto held, lock());
  GALLEY_ASSIGN(auto waiting, list(now_ns));
  for (const AskedCall& other : waiting) {
    if (other.id == id && !other.by.empty()) return {};
  }
  std::ranges::stable_partition(waiting, [](const AskedCall& other) { return other.by.empty(); });
  for (size_t i = 0; i + kMaxAskedCalls <= waiting.size(); ++i) {
    (void)state_->root().remove_file(place_of(waiting[i].id));
  }
  return write({id, question, now_ns, {}});
}

Result<AskedCall> ConfirmationStore::find(const std::string& shown, int64_t now_ns) const {
  constexpr size_t kFewestDigits = 4;
  const std::string digits =
      shown.starts_with(kCallIdStart) ? shown.substr(kCallIdStart.size()) : shown;
  GALLEY_ASSIGN(auto calls, list(now_ns));
  std::erase_if(calls, [&](const AskedCall& one) {
    return digits.size() < kFewestDigits || !one.id.hex().starts_with(digits);
  });
  if (calls.size() == 1) return std::move(calls.front());
  if (calls.empty()) {
    return fail(
        ErrorKind::kNotFound, "confirmation.not_found",
        "no call '" + shown + "' waits for an approval here; a question expires after a day");
  }
  return fail(ErrorKind::kUsage, "confirmation.which",
              "'" + shown + "' could be one of several calls; give more of its digits");
}

Result<void> ConfirmationStore::give(const AskedCall& call, const std::string& by,
                                     int64_t now_ns) const {
  GALLEY_ASSIGN(const auto held, lock());
  AskedCall answered = call;
  answered.by = by.empty() ? "somebody" : by;
  answered.asked_ns = now_ns;
  return write(answered);
}

Result<std::optional<std::string>> ConfirmationStore::take(const ContentId& id,
                                                           int64_t now_ns) const {
  const RelPath place = place_of(id);
  // Most calls were never asked about.
  GALLEY_ASSIGN(const FileStat there, state_->root().stat(place));
  if (there.kind == FileKind::kAbsent) return std::nullopt;
  // Without the lock, the removed file could be a newer question about the same call.
  GALLEY_ASSIGN(const auto held, lock());
  const auto text = read_file(state_->root(), place, kMaxQuestionBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::nullopt;
  if (!text) return fail(text.error());
  const auto call = parse_asked(id, *text);
  if (!call) {
    return fail(
        ErrorKind::kInvalid, "confirmation.damaged",
        "the question about " + shown_call_id(id) + " is damaged; delete .galley/" + place.str());
  }
  if (call->by.empty()) return std::nullopt;
  const auto removed = state_->root().remove_file(place);
  if (!removed && removed.error().kind == ErrorKind::kNotFound) return std::nullopt;
  if (!removed) return fail(removed.error());
  if (is_too_old(*call, now_ns)) return std::nullopt;
  return call->by;
}

}  // namespace galley
