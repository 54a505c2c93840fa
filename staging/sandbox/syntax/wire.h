#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The protocol between galley and galley-syntax, on the child's stdin and stdout, in the machine's
// byte order. The child sends a greeting once it is confined. A request is one byte for the
// language, four for the size, and the text. An answer is one byte for the outcome, four for the
// number of errors, and the errors. The child ends at the end of its input.

namespace galley {

/// The grammars of galley-syntax.
enum class SyntaxLanguage : uint8_t {
  kC,
  kCpp,
  kCHeader,  ///< C, or C++ if that has fewer errors
  kPython,
  kJavaScript,
  kTypeScript,
  kTsx,
  kCSharp,
};
inline constexpr size_t kSyntaxLanguages = 8;

/// The child's first bytes, with its version.
inline constexpr std::string_view kSyntaxGreeting = "galley-syntax 1\n";

inline constexpr size_t kMaxSyntaxBytes = size_t{8} << 20U;  ///< one text
inline constexpr size_t kMaxSyntaxErrors = 500;      ///< errors in the answer about one text
inline constexpr size_t kMaxExpectedBytes = 64;      ///< the expected text in one error
inline constexpr uint32_t kMaxSyntaxFileMs = 5'000;  ///< milliseconds to parse one text
inline constexpr size_t kMaxSyntaxMemory = size_t{1} << 30U;  ///< address space of the parser

/// A place where a text does not follow its grammar.
struct SyntaxError {
  enum class Kind : uint8_t {
    kUnexpected,  ///< the parser stopped at `offset`; `expected` is a quote without a partner on
                  ///< its line, or empty
    kMissing,     ///< with `expected` it could have continued
    kUnclosed,    ///< the bracket at `cause` has no partner
    kUnopened,    ///< the bracket at `cause` has no partner
    kOutdented,   ///< the bracket at `cause` seems to end before `offset`; only with kUnclosed
    kIndented,    ///< a bracket seems to begin at `offset`; only with kUnopened
  };
  Kind kind = Kind::kUnexpected;
  uint32_t offset = 0;  ///< in the text, in bytes; its size at most
  uint32_t end = 0;     ///< not before `offset`
  uint32_t cause = 0;
  std::string expected;
  /// For C and C++: the error appears in only one of the two readings of the conditionals, on a
  /// line that both contain.
  bool in_one_reading = false;
  bool operator==(const SyntaxError&) const = default;
};

/// The child's answer for one text.
struct SyntaxAnswer {
  bool gave_up = false;  ///< it took longer than kMaxSyntaxFileMs
  std::vector<SyntaxError> errors;
  bool operator==(const SyntaxAnswer&) const = default;
};

/// Appends one request.
void append_request(std::string& out, SyntaxLanguage language, std::string_view text);

/// Appends one answer, cut at its limits.
void append_answer(std::string& out, const SyntaxAnswer& answer);

/// Takes the answer to a text of `size` bytes from the front of `bytes`. Returns nothing if it is
/// incomplete or invalid.
[[nodiscard]] std::optional<SyntaxAnswer> take_answer(std::string_view& bytes, size_t size);

/// The child's two streams and its parser.
struct SyntaxService {
  /// Fills the buffer; returns the number of bytes read, fewer only at the end of the input.
  std::function<size_t(char* to, size_t size)> read;
  std::function<bool(std::string_view bytes)> write;
  std::function<SyntaxAnswer(SyntaxLanguage language, std::string_view text)> parse;
};

/// Serves requests until the input ends. Returns false for an invalid request, and when the
/// answers can no longer be written.
[[nodiscard]] bool serve_syntax(const SyntaxService& service);

}  // namespace galley
