// Reads any bytes as requests to galley-syntax and as its answers. Nothing crashes, and every place
// is inside its text. The parser is the grammars' if they are built (GALLEY_SYNTAX), else the
// bracket parser.
// brackets.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/validators/syntax_rule.h"
#include "staging/sandbox/syntax/source_text.h"
#include "staging/sandbox/syntax/wire.h"
#ifdef GALLEY_SYNTAX
#include "staging/sandbox/syntax/grammars/parse.h"
#endif

namespace galley {
namespace {

SyntaxAnswer brackets_of(std::string_view text) {
  std::vector<DelimiterToken> tokens;
  for (uint32_t i = 0; i < text.size(); ++i) {
    const size_t opener = std::string_view("([{").find(text[i]);
    const size_t closer = std::string_view(")]}").find(text[i]);
    using Kind = DelimiterToken::Kind;
    if (opener != std::string_view::npos) tokens.push_back({Kind::kOpen, "([{"[opener], i});
    if (closer != std::string_view::npos) tokens.push_back({Kind::kClose, "([{"[closer], i});
    if (text[i] == '?') tokens.push_back({Kind::kIf, 0, i});
    if (text[i] == ':') tokens.push_back({Kind::kElse, 0, i});
    if (text[i] == ';') tokens.push_back({Kind::kEndIf, 0, i});
  }
  return {false, delimiter_errors(text, tokens)};
}

SyntaxAnswer parse(SyntaxLanguage language, std::string_view text) {
  for (const auto shown : {Conditionals::kAllDefined, Conditionals::kNoneDefined}) {
    GALLEY_CHECK(blank_conditionals(text, shown).size() == text.size());
  }
  GALLEY_CHECK(with_known_types(text).size() == text.size());
#ifdef GALLEY_SYNTAX
  static SyntaxParser parser;
  SyntaxAnswer answer = parser.parse(language, text);
#else
  SyntaxAnswer answer = brackets_of(text);
#endif
  for (const SyntaxError& error : answer.errors) {
    GALLEY_CHECK(error.offset <= error.end && error.end <= text.size());
    GALLEY_CHECK(error.cause <= text.size());
  }
  const auto complaint = broken_syntax(language, nullptr, {text, answer});
  GALLEY_CHECK(!complaint || complaint->end <= text.size());
  return answer;
}

}  // namespace
}  // namespace galley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace galley;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string_view answers = input;
  while (take_answer(answers, size)) {
  }
  std::string output;
  const SyntaxService service{[&input](char* to, size_t wanted) {
                                const size_t count = std::min(wanted, input.size());
                                std::copy_n(input.begin(), count, to);
                                input.remove_prefix(count);
                                return count;
                              },
                              [&output](std::string_view bytes) {
                                output += bytes;
                                return true;
                              },
                              parse};
  static_cast<void>(serve_syntax(service));
  static_cast<void>(brackets_of(input));
  return 0;
}
