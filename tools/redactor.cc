#include "tools/redactor.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/encoding.h"
#include "base/text.h"

namespace galley {
namespace {

constexpr std::string_view kHex = "0123456789ABCDEF";
constexpr std::string_view kLowerHex = "0123456789abcdef";
constexpr std::string_view kMarkerStart = "[REDACTED:";

/// `value` in base64 if it begins `shift` bytes after the start of a group of three.
struct Base64Form {
  std::string digits;  ///< the digits that depend only on `value`
  std::string last;    ///< the possible next digits, which also have bits of the next byte
};

Base64Form base64_form(const std::string& value, size_t shift) {
  const std::string padded = std::string(shift, '\0') + value;
  const size_t whole = padded.size() * 8 / 6;
  const size_t shared_bits = padded.size() * 8 % 6;
  const std::string all = base64(padded);
  constexpr std::array<size_t, 3> kMixedDigits = {0, 2, 3};  // with bits of the byte before
  Base64Form form;
  if (whole > kMixedDigits[shift]) {
    form.digits = all.substr(kMixedDigits[shift], whole - kMixedDigits[shift]);
  }
  if (shared_bits > 0) {
    // The padding counts as zero bits, so this is the first of 4 or 16 consecutive digits.
    const size_t first = kBase64Digits.find(all[whole]);
    form.last = kBase64Digits.substr(first, size_t{1} << (6 - shared_bits));
  }
  return form;
}

/// Changes base64 digits to base64url (RFC 4648, section 5).
std::string url_alphabet(std::string digits) {
  for (char& c : digits) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return digits;
}

std::string hex_form(const std::string& value) {
  std::string out;
  for (const char c : value) {
    const auto byte = static_cast<uint8_t>(c);
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  return out;
}

/// The inside of a JSON string, with characters beyond ASCII unchanged or as \u escapes.
std::string json_form(const std::string& value, bool escapes_all) {
  using Handler = nlohmann::json::error_handler_t;
  const std::string quoted = nlohmann::json(value).dump(-1, ' ', escapes_all, Handler::replace);
  return quoted.substr(1, quoted.size() - 2);
}

/// Percent-encoded (RFC 3986) with the digits in `digits`, and a blank as %20 or as `+`.
std::string url_form(const std::string& value, std::string_view digits, bool plus_for_blank) {
  std::string out;
  for (const char c : value) {
    const auto byte = static_cast<uint8_t>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else if (c == ' ' && plus_for_blank) {
      out += '+';
    } else {
      out += '%';
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    }
  }
  return out;
}

/// Decimal digits in shorter lines may be a list of numbers.
constexpr size_t kMinLineDigits = 16;

size_t min_line_of(std::string_view digits) {
  return digits.find_first_not_of("0123456789") == digits.npos ? kMinLineDigits : 1;
}

/// Returns how many bytes of `digits` are in the text at `end`, which becomes the end of what was
/// compared. Lines may end in between. Only the first and the last line may be short.
size_t digits_at(std::string_view text, size_t& end, std::string_view digits) {
  const size_t min_line = min_line_of(digits);
  size_t count = 0;
  size_t in_line = min_line;
  while (count < digits.size() && end < text.size()) {
    if (text[end] == digits[count]) {
      ++count;
      ++in_line;
      ++end;
      continue;
    }
    const std::string_view rest = text.substr(end, 2);
    const bool ends_line = rest[0] == '\n' || rest == "\r\n" || rest == "\r";
    if (!ends_line || count == 0 || in_line < min_line) break;
    in_line = 0;
    end += rest[0] == '\n' ? 1 : rest.size();
  }
  return count;
}

struct Rule {
  const char* name;
  const char* pattern;  // group 1 is replaced
  /// Every match contains one of these, in lower case. For a text without them the pattern is not
  /// compiled: compiling all patterns takes longer than most commands.
  std::array<std::string_view, 2> marks;
  bool begins_a_word = false;  ///< other words may end like the beginning of the token
};

/// An escape or a colour before a token ends in a letter or digit, so `\b` does not match there.
constexpr const char* kWordBegins =
    R"((?:\b|_|\\(?:[abfnrtv]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})|%[0-9A-Fa-f]{2}|)"
    R"(\[(?:[0-9;:?]{1,20}[A-Za-z]|[mK])))";

// The forms of tokens follow their issuers' documentation, as in default_secret_rules.toml.
constexpr std::array<Rule, 14> kRules = {{
    {"private-key",
     R"((?s)(-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----)"
     R"((?:.*?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|[^-]*)))",
     {"private key", ""}},
    {"aws-access-key", R"(((?:AKIA|ASIA)[0-9A-Z]{16})\b)", {"akia", "asia"}, true},
    {"github-token",
     R"(((?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})))",
     {"gh", ""}},
    {"gitlab-token", R"(((?:glpat|gldt)-[A-Za-z0-9_-]{20,64}))", {"glpat-", "gldt-"}},
    {"google-api-key", R"((AIza[A-Za-z0-9_-]{35}))", {"aiza", ""}, true},
    {"hugging-face-token", R"((hf_[A-Za-z]{34})\b)", {"hf_", ""}, true},
    {"pypi-token", R"((pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,1000}))", {"pypi-", ""}},
    {"slack-token",
     R"((xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-[0-9]-[A-Za-z0-9-]{20,250}))",
     {"xox", "xapp-"}},
    {"stripe-key", R"(((?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,200}))", {"sk_", "rk_"}, true},
    {"api-key", R"((sk-[A-Za-z0-9_-]{20,250}))", {"sk-", ""}, true},
    {"npm-token", R"((npm_[A-Za-z0-9]{36}))", {"npm_", ""}},
    {"jwt",
     R"((eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}))",
     {"eyj", ""},
     true},
    {"authorization", R"((?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{12,}))", {"bearer", "basic"}},
    {"url-password", R"(://[^/\s:@]{0,100}:([^/\s@]{1,200})@)", {"://", ""}},
}};

/// The position of the rarest character of a mark, with which the search for the mark begins.
constexpr size_t rarest_in(std::string_view mark) {
  constexpr std::string_view kRarestFirst = "jzx_:kbgs";
  for (const char c : kRarestFirst) {
    if (const size_t at = mark.find(c); at != std::string_view::npos) return at;
  }
  return 0;
}

constexpr size_t kMarks = kRules.size() * 2;
static_assert(kMarks <= 32, "marks are bits of a uint32_t");

constexpr std::string_view mark_of(size_t number) { return kRules[number / 2].marks[number % 2]; }

/// For each character the marks, as bits, that have it so many characters after their rarest one.
/// A mark that has no character there permits each.
constexpr std::array<uint32_t, 256> marks_by_character(int after) {
  std::array<uint32_t, 256> marks{};
  for (size_t i = 0; i < kMarks; ++i) {
    const std::string_view mark = mark_of(i);
    if (mark.empty()) continue;
    const size_t at = rarest_in(mark) + static_cast<size_t>(after);
    for (size_t c = 0; c < marks.size(); ++c) {
      if (at >= mark.size() || mark[at] == to_lower(static_cast<char>(c))) marks[c] |= 1U << i;
    }
  }
  return marks;
}

bool has_mark_at(std::string_view text, size_t at, std::string_view mark) {
  const size_t before = rarest_in(mark);
  if (at < before || text.size() - (at - before) < mark.size()) return false;
  return std::equal(mark.begin(), mark.end(), text.begin() + static_cast<ptrdiff_t>(at - before),
                    [](char wanted, char c) { return wanted == to_lower(c); });
}

/// The marks in a text, as bits. Most texts have none, and each text of a record is searched.
uint32_t marks_in(std::string_view text) {
  static constexpr auto kHere = marks_by_character(0);
  static constexpr auto kBefore = marks_by_character(-1);
  static constexpr auto kAfter = marks_by_character(1);
  uint32_t found = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    uint32_t possible = kHere[static_cast<uint8_t>(text[at])] & ~found;
    if (possible == 0) continue;
    if (at > 0) possible &= kBefore[static_cast<uint8_t>(text[at - 1])];
    if (at + 1 < text.size()) possible &= kAfter[static_cast<uint8_t>(text[at + 1])];
    for (; possible != 0; possible &= possible - 1) {
      const auto number = static_cast<size_t>(std::countr_zero(possible));
      if (has_mark_at(text, at, mark_of(number))) found |= 1U << number;
    }
  }
  return found;
}

/// Compiled for the first text that may match it.
const re2::RE2& compiled_rule(size_t index) {
  static std::array<std::once_flag, kRules.size()> once;
  static std::array<std::unique_ptr<re2::RE2>, kRules.size()> rules;
  std::call_once(once[index], [&] {
    const Rule& rule = kRules[index];
    const std::string before = rule.begins_a_word ? kWordBegins : "";
    rules[index] = std::make_unique<re2::RE2>(before + rule.pattern);
  });
  return *rules[index];
}

std::string redact_by(const re2::RE2& rule, const std::string& name, const std::string& text) {
  std::string out;
  re2::StringPiece rest(text);
  re2::StringPiece groups[2];
  while (rule.Match(rest, 0, rest.size(), re2::RE2::UNANCHORED, groups, 2)) {
    out.append(rest.data(), static_cast<size_t>(groups[1].data() - rest.data()));
    out.append("[REDACTED:").append(name).append("]");
    rest.remove_prefix(static_cast<size_t>(groups[1].data() + groups[1].size() - rest.data()));
  }
  return out.append(rest.data(), rest.size());
}

using nlohmann::ordered_json;

constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';

bool is_control(char c) {
  const auto byte = static_cast<uint8_t>(c);
  return (byte < ' ' && c != '\n' && c != '\t') || c == '\x7f';
}

/// The end of the escape sequence that begins at `at` (ECMA-48): the final byte of a CSI, the
/// terminator of an OSC or another string.
size_t end_of_escape(std::string_view text, size_t at) {
  const size_t next = at + 1;
  if (next >= text.size()) return text.size();
  const char kind = text[next];
  if (kind == '[') {
    size_t end = next + 1;
    while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
    return std::min(end + 1, text.size());
  }
  if (kind == ']' || kind == 'P' || kind == '^' || kind == '_' || kind == 'X') {
    for (size_t end = next + 1; end < text.size(); ++end) {
      if (text[end] == kBell) return end + 1;
      if (text[end] == kEscape) return std::min(end + 2, text.size());
      if (text[end] == '\n') return end;  // unterminated: the rest is text
    }
    return text.size();
  }
  return next + 1;
}

/// U+0080 to U+009F, and the characters that change the direction of text (U+202A to U+202E, U+2066
/// to U+2069).
bool is_hidden_control(std::string_view sequence) {
  if (sequence.size() == 2)
    return sequence[0] == '\xc2' && static_cast<uint8_t>(sequence[1]) < 0xa0;
  if (sequence.size() != 3 || sequence[0] != '\xe2') return false;
  const auto last = static_cast<uint8_t>(sequence[2]);
  if (sequence[1] == '\x80') return last >= 0xaa && last <= 0xae;
  return sequence[1] == '\x81' && last >= 0xa6 && last <= 0xa9;
}

std::string without_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (text[at] == kEscape) {
      at = end_of_escape(text, at);
      continue;
    }
    const size_t length = utf8_sequence_length(text, at);
    const std::string_view sequence = text.substr(at, std::max<size_t>(1, length));
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (!is_hidden_control(sequence) && !is_control(text[at])) {
      out += sequence;
    }
    at += sequence.size();
  }
  return out;
}

struct Cleaner {
  const TextSanitizer& clean;
  size_t bytes = 0;

  std::string text(const std::string& raw) {
    std::string cleaned = clean(raw);
    bytes += cleaned.size();
    return cleaned;
  }
  ordered_json document(const ordered_json& raw) {
    if (raw.is_string()) return text(raw.get_ref<const std::string&>());
    if (raw.is_array()) {
      ordered_json out = ordered_json::array();
      for (const auto& item : raw) out.push_back(document(item));
      return out;
    }
    if (!raw.is_object()) return raw;
    ordered_json out = ordered_json::object();
    for (const auto& [key, value] : raw.items()) out[text(key)] = document(value);
    return out;
  }
};

}  // namespace

void Redactor::add(const std::string& name, const std::string& value) {
  if (value.size() < kMinSecretBytes) return;
  const std::string replacement = "[REDACTED:" + name + "]";
  const std::string hex = hex_form(value);
  std::vector<Form> forms;
  const auto add_form = [&](std::string text) {
    forms.push_back({std::move(text), replacement, {}, false});
  };
  const auto add_digits = [&](std::string text, std::string last = {}) {
    forms.push_back({std::move(text), replacement, std::move(last), true});
  };
  add_form(value);
  for (const std::string& text : {hex, to_lower(hex)}) add_digits(text);
  for (const std::string_view digits : {kHex, kLowerHex}) {
    add_form(url_form(value, digits, false));
    add_form(url_form(value, digits, true));
  }
  for (size_t shift = 0; shift < 3; ++shift) {
    const Base64Form form = base64_form(value, shift);
    add_digits(form.digits, form.last);
    add_digits(url_alphabet(form.digits), url_alphabet(form.last));
  }
  add_form(json_form(value, false));
  add_form(json_form(value, true));
  take_in(std::move(forms));
}

void Redactor::take_in(std::vector<Form> forms) {
  for (Form& form : forms) {
    if (form.text.size() < kMinSecretBytes) continue;
    const auto known = std::ranges::find(forms_, form.text, &Form::text);
    if (known == forms_.end()) {
      forms_.push_back(std::move(form));
    } else {
      known->last += form.last;  // both alphabets can share all digits but the last
    }
  }
  std::ranges::stable_sort(
      forms_, [](const Form& a, const Form& b) { return a.text.size() > b.text.size(); });
}

bool Redactor::finds(std::string_view text) const {
  return std::ranges::any_of(forms_,
                             [&](const Form& form) { return find(form, text).begin != text.npos; });
}

Redactor::Match Redactor::find(const Form& form, std::string_view text, size_t from) {
  if (!form.has_digits) {
    const size_t at = text.find(form.text, from);
    return {at, at == text.npos ? 0 : at + form.text.size()};
  }
  for (size_t at = text.find(form.text[0], from); at != text.npos;
       at = text.find(form.text[0], at + 1)) {
    size_t end = at;
    if (digits_at(text, end, form.text) == form.text.size()) return {at, end};
  }
  return {};
}

std::string Redactor::redact(std::string_view text, std::string* last_digits) const {
  std::string out(text);
  for (const Form& form : forms_) {
    for (Match found = find(form, out); found.begin != std::string::npos;
         found = find(form, out, found.begin + form.replacement.size())) {
      size_t end = found.end;
      const size_t next = std::min(out.find_first_not_of("\r\n", end), out.size());
      if (next < out.size() && form.last.find(out[next]) != std::string::npos) {
        end = next + 1;
      } else if (next == out.size() && last_digits != nullptr) {
        *last_digits = form.last;
      }
      out.replace(found.begin, end - found.begin, form.replacement);
    }
  }
  return out;
}

nlohmann::ordered_json Redactor::redact_document(const nlohmann::ordered_json& document) const {
  if (forms_.empty()) return document;
  if (document.is_string()) return redact(document.get_ref<const std::string&>());
  if (document.is_array()) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const auto& item : document) out.push_back(redact_document(item));
    return out;
  }
  if (!document.is_object()) return document;
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [key, value] : document.items()) out[redact(key)] = redact_document(value);
  return out;
}

size_t Redactor::undecided_suffix(std::string_view text) const {
  size_t longest = 0;
  for (const Form& form : forms_) {
    const size_t line_ends =
        form.has_digits ? 2 * (form.text.size() / min_line_of(form.text) + 2) : 0;
    const size_t most = form.text.size() - 1 + line_ends;
    size_t length = std::min(most, text.size());
    for (; length > longest; --length) {
      size_t end = text.size() - length;
      const size_t equal = form.has_digits ? digits_at(text, end, form.text) : 0;
      const bool begins = form.has_digits
                              ? end == text.size() && equal < form.text.size()
                              : text.ends_with(std::string_view(form.text).substr(0, length));
      if (begins) break;
    }
    longest = std::max(longest, length);
  }
  return longest;
}

std::string StreamRedactor::feed(std::string_view piece) {
  const size_t next = piece.find_first_not_of("\r\n");
  if (next != piece.npos) {
    const bool is_last = last_digits_.find(piece[next]) != std::string::npos;
    held_.append(piece.substr(0, next));
    piece.remove_prefix(next + (is_last ? 1 : 0));
    last_digits_.clear();
  }
  std::string all = redactor_->redact(held_.append(piece), &last_digits_);
  const size_t keep = redactor_->undecided_suffix(all);
  held_ = all.substr(all.size() - keep);
  all.erase(all.size() - keep);
  return all;
}

std::string StreamRedactor::finish() { return std::exchange(held_, {}); }

bool may_have_pattern(std::string_view text) { return marks_in(text) != 0; }

std::string redact_patterns(std::string_view text) {
  std::string out(text);
  const uint32_t marks = marks_in(text);
  for (size_t i = 0; marks != 0 && i < kRules.size(); ++i) {
    const bool may_match = (marks >> (2 * i) & 3U) != 0;
    if (may_match) out = redact_by(compiled_rule(i), kRules[i].name, out);
  }
  return out;
}

// --- a stream of lines ------------------------------------------------------------------------

std::string PatternStream::shown(std::string_view line) {
  constexpr std::string_view kKey = "PRIVATE KEY";
  const bool has_mark = line.find(kKey) != line.npos;
  const bool is_begin = has_mark && line.find("-----BEGIN ") != line.npos;
  const bool is_end = has_mark && line.find("-----END ") != line.npos;
  if (is_in_key_) {
    is_in_key_ = !is_end;
    return {};
  }
  is_in_key_ = is_begin && !is_end;
  return redact_patterns(line);
}

std::string PatternStream::feed(std::string_view piece) {
  held_.append(piece);
  std::string out;
  size_t done = 0;
  for (size_t end = held_.find('\n'); end != std::string::npos; end = held_.find('\n', done)) {
    out += shown(std::string_view(held_).substr(done, end + 1 - done));
    done = end + 1;
  }
  held_.erase(0, done);
  if (held_.size() > kMaxHeldLineBytes) out += shown(std::exchange(held_, {}));
  return out;
}

std::string PatternStream::finish() { return shown(std::exchange(held_, {})); }

size_t count_redaction_markers(std::string_view text) {
  constexpr size_t kMaxNameBytes = 256;
  size_t count = 0;
  for (size_t at = text.find(kMarkerStart); at != text.npos; at = text.find(kMarkerStart, at)) {
    at += kMarkerStart.size();
    const std::string_view name = text.substr(at, kMaxNameBytes);
    const size_t end =
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    if (end != name.npos && end > 0 && name[end] == ']') ++count;
  }
  return count;
}

bool is_secret_key(std::string_view key) {
  static constexpr std::array<std::string_view, 9> kWords = {
      "password", "passwd",        "passphrase", "secret",    "api_key",
      "apikey",   "authorization", "credential", "privatekey"};
  std::string name;
  for (const char c : key) {
    name += c == '-' ? '_' : to_lower(c);
  }
  if (name == "token" || name.ends_with("_token") || name == "private_key") return true;
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

std::string sanitized_text(std::string_view text) {
  std::string out = redact_patterns(without_controls(text));
  if (out.size() <= kMaxSanitizedTextBytes) return out;
  size_t end = kMaxSanitizedTextBytes;
  while (end > 0 && (static_cast<uint8_t>(out[end]) & 0xc0U) == 0x80U) --end;
  const size_t left = out.size() - end;
  out.resize(end);
  return out + "\n[" + std::to_string(left) + " more bytes were left out]";
}

Result<ordered_json> sanitized_answer(const ordered_json& answer, const TextSanitizer& clean) {
  Cleaner cleaner{clean};
  ordered_json cleaned = cleaner.document(answer);
  if (cleaner.bytes <= kMaxSanitizedAnswerBytes) return cleaned;
  return fail(ErrorKind::kQuota, "limit.answer_bytes",
              "the answer has more than " + std::to_string(kMaxSanitizedAnswerBytes) +
                  " bytes of text; ask for less at once");
}

bool needs_sanitizer(ToolInfo::Category category) {
  return category == ToolInfo::Category::kApi || category == ToolInfo::Category::kMcp;
}

}  // namespace galley
