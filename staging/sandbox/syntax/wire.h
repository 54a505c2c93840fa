#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What galley and galley-syntax say to each other, on the child's stdin and stdout, in the byte
// order of the machine. The child greets once its walls stand. A request is one byte of language,
// four of size, and the text; an answer is one byte of outcome, four with the number of errors, and
// the errors. The child ends at the end of its input.

namespace galley {

/// The grammars of galley-syntax.
enum class SyntaxLanguage : uint8_t {
  kC,
  kCpp,
  kCHeader,  ///< C, or C++ when that has fewer errors
  kPython,
  kJavaScript,
  kTypeScript,
  kTsx,
  kCSharp,
};
inline constexpr size_t kSyntaxLanguages = 8;

/// The child's first bytes; they have its version.
inline constexpr std::string_view kSyntaxGreeting = "galley-syntax 1\n";

inline constexpr size_t kMaxSyntaxBytes = size_t{8} << 20U;   ///< of one text
inline constexpr size_t kMaxSyntaxErrors = 500;               ///< of one answer
inline constexpr size_t kMaxExpectedBytes = 64;               ///< of one `expected`
inline constexpr uint32_t kMaxSyntaxFileMs = 5'000;           ///< to parse one text
inline constexpr size_t kMaxSyntaxMemory = size_t{1} << 30U;  ///< address space of the child

/// A place where a text does not follow its grammar.
struct SyntaxError {
  enum class Kind : uint8_t {
    kUnexpected,  ///< the parser could not go on at `offset`; `expected` is a quote
                  ///< that has no partner on its line, or empty
    kMissing,     ///< `expected` would have let it go on
    kUnclosed,    ///< the bracket at `cause` has no partner
    kUnopened,    ///< the bracket at `cause` has no partner
    kOutdented,   ///< the bracket at `cause` seems to end before `offset`; only beside kUnclosed
    kIndented,    ///< a bracket seems to begin at `offset`; only beside kUnopened
  };
  Kind kind = Kind::kUnexpected;
  uint32_t offset = 0;  ///< in the text, in bytes; its size at most
  uint32_t end = 0;     ///< not before `offset`
  uint32_t cause = 0;
  std::string expected;
  /// Of C and C++: with one reading of the conditionals only, on a line that both have.
  bool in_one_reading = false;
  bool operator==(const SyntaxError&) const = default;
};

/// What the child says of one text.
struct SyntaxAnswer {
  bool gave_up = false;  ///< it took longer than kMaxSyntaxFileMs
  std::vector<SyntaxError> errors;
  bool operator==(const SyntaxAnswer&) const = default;
};

/// Appends one request.
void append_request(std::string& out, SyntaxLanguage language, std::string_view text);

/// Appends one answer, cut at its limits.
void append_answer(std::string& out, const SyntaxAnswer& answer);

/// Takes the answer to a text of `size` bytes from the front of `bytes`. Returns nothing when it is
/// incomplete or says what cannot be.
[[nodiscard]] std::optional<SyntaxAnswer> take_answer(std::string_view& bytes, size_t size);

/// The child's two streams and its parser.
struct SyntaxService {
  /// Fills the buffer; returns the bytes read, fewer only at the end of the input.
  std::function<size_t(char* to, size_t size)> read;
  std::function<bool(std::string_view bytes)> write;
  std::function<SyntaxAnswer(SyntaxLanguage language, std::string_view text)> parse;
};

/// Answers requests until the input ends. Returns false for a request that says what cannot be, and
/// when the answers can no longer be written.
[[nodiscard]] bool serve_syntax(const SyntaxService& service);

}  // namespace galley
