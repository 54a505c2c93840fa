#include "tools/custom_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/nearest_name.h"
#include "base/printable.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kMaxAnswerDepth = 64;
constexpr size_t kMaxShownKeyBytes = 64;
constexpr size_t kMaxWarnings = 100;
constexpr uint64_t kMaxRetryMs = 24ULL * 3600 * 1000;  // of a cool-down

// Each of these returns what is wrong, as a clause; nothing when all is well.

std::string unknown_key(const json& object, const std::vector<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return "it has the unknown key '" + printable_line(key, kMaxShownKeyBytes) + "'" +
             did_you_mean(key, known);
    }
  }
  return {};
}

std::string read_error(const json& error, CustomAnswer& answer) {
  if (!error.is_object()) return "its 'error' is no object";
  auto flaw = unknown_key(error, {"code", "message", "details", "retry_after_ms"});
  if (!flaw.empty()) return "in its 'error' " + flaw;
  const auto message = error.find("message");
  if (message == error.end() || !message->is_string()) return "its 'error' has no 'message'";
  answer.message = message->get<std::string>();
  if (const auto code = error.find("code"); code != error.end()) {
    if (!code->is_string()) return "its 'error.code' is no text";
    answer.code = code->get<std::string>();
  }
  if (const auto retry = error.find("retry_after_ms"); retry != error.end()) {
    const bool is_time =
        retry->is_number_unsigned() || (retry->is_number_integer() && retry->get<int64_t>() >= 0);
    if (!is_time) {
      return "its 'error.retry_after_ms' is no number of milliseconds";
    }
    answer.retry_after_ms = static_cast<int64_t>(std::min(retry->get<uint64_t>(), kMaxRetryMs));
  }
  if (const auto details = error.find("details"); details != error.end()) {
    answer.details = std::make_shared<const ordered_json>(*details);
  }
  return {};
}

std::string read_fields(const json& document, CustomAnswer& answer) {
  if (!document.is_object()) return "it is no JSON object";
  auto flaw = unknown_key(document, {"ok", "data", "error", "warnings"});
  if (!flaw.empty()) return flaw;
  const auto ok = document.find("ok");
  if (ok == document.end() || !ok->is_boolean()) return "it has no 'ok' that is true or false";
  answer.ok = ok->get<bool>();
  if (const auto warnings = document.find("warnings"); warnings != document.end()) {
    const bool is_list = warnings->is_array() && warnings->size() <= kMaxWarnings &&
                         std::all_of(warnings->begin(), warnings->end(),
                                     [](const json& one) { return one.is_string(); });
    if (!is_list) return "its 'warnings' is no list of texts";
    for (const json& one : *warnings) answer.warnings.push_back(one.get<std::string>());
  }
  if (answer.ok) {
    const auto data = document.find("data");
    if (data == document.end() || !data->is_object()) return "it is ok and has no object 'data'";
    if (document.contains("error")) return "it is ok and has an 'error'";
    answer.data = std::make_shared<const ordered_json>(*data);
    return {};
  }
  const auto error = document.find("error");
  return error != document.end() ? read_error(*error, answer)
                                 : std::string("it is not ok and has no 'error'");
}

}  // namespace

Result<CustomAnswer> CustomAnswer::read(std::string_view text) {
  const auto wrong = [](std::string clause) {
    return fail(ErrorKind::kInvalid, "tool.output", std::move(clause));
  };
  if (text.empty()) return wrong("it wrote nothing on its standard output");
  const auto document = parse_json(text, {limits::kMaxJsonBytes, kMaxAnswerDepth});
  if (!document) return wrong(document.error().message);
  CustomAnswer answer;
  std::string flaw = read_fields(*document, answer);
  if (!flaw.empty()) return wrong(std::move(flaw));
  return answer;
}

}  // namespace galley
