#include "staging/sandbox/syntax/wire.h"

#include <algorithm>
#include <cstring>

namespace galley {
namespace {

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
bool take(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}

bool take_error(std::string_view& bytes, size_t size, SyntaxError& error) {
  uint8_t kind = 0;
  uint8_t length = 0;
  uint8_t in_one_reading = 0;
  if (!take(bytes, kind) || !take(bytes, in_one_reading) || !take(bytes, error.offset) ||
      !take(bytes, error.end) || !take(bytes, error.cause) || !take(bytes, length)) {
    return false;
  }
  if (kind > static_cast<uint8_t>(SyntaxError::Kind::kIndented) || error.offset > error.end ||
      error.end > size || error.cause > size || length > kMaxExpectedBytes ||
      length > bytes.size()) {
    return false;
  }
  error.kind = static_cast<SyntaxError::Kind>(kind);
  error.in_one_reading = in_one_reading != 0;
  error.expected = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return true;
}

}  // namespace

void append_request(std::string& out, SyntaxLanguage language, std::string_view text) {
  put(out, static_cast<uint8_t>(language));
  put(out, static_cast<uint32_t>(text.size()));
  out += text;
}

void append_answer(std::string& out, const SyntaxAnswer& answer) {
  const size_t count = std::min(answer.errors.size(), kMaxSyntaxErrors);
  put(out, static_cast<uint8_t>(answer.gave_up ? 1 : 0));
  put(out, static_cast<uint32_t>(count));
  for (size_t i = 0; i < count; ++i) {
    const SyntaxError& error = answer.errors[i];
    const std::string expected = error.expected.substr(0, kMaxExpectedBytes);
    put(out, static_cast<uint8_t>(error.kind));
    put(out, static_cast<uint8_t>(error.in_one_reading ? 1 : 0));
    put(out, error.offset);
    put(out, error.end);
    put(out, error.cause);
    put(out, static_cast<uint8_t>(expected.size()));
    out += expected;
  }
}

std::optional<SyntaxAnswer> take_answer(std::string_view& bytes, size_t size) {
  uint8_t outcome = 0;
  uint32_t count = 0;
  if (!take(bytes, outcome) || !take(bytes, count)) return {};
  if (outcome > 1 || count > kMaxSyntaxErrors) return {};
  SyntaxAnswer answer;
  answer.gave_up = outcome == 1;
  for (uint32_t i = 0; i < count; ++i) {
    SyntaxError error;
    if (!take_error(bytes, size, error)) return {};
    answer.errors.push_back(std::move(error));
  }
  return answer;
}

bool serve_syntax(const SyntaxService& service) {
  if (!service.write(kSyntaxGreeting)) return false;
  std::string text;
  while (true) {
    char head[sizeof(uint8_t) + sizeof(uint32_t)];
    const size_t got = service.read(head, sizeof head);
    if (got == 0) return true;
    uint8_t language = 0;
    uint32_t size = 0;
    std::string_view rest(head, got);
    if (!take(rest, language) || !take(rest, size)) return false;
    if (language >= kSyntaxLanguages || size > kMaxSyntaxBytes) return false;
    text.resize(size);
    if (service.read(text.data(), size) != size) return false;
    std::string answer;
    append_answer(answer, service.parse(static_cast<SyntaxLanguage>(language), text));
    if (!service.write(answer)) return false;
  }
}

}  // namespace galley
