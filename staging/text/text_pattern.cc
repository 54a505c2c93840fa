#include "staging/text/text_pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace galley {
namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) > '\x7f'; });
}

}  // namespace

TextPattern::TextPattern(std::string text, const Options& options)
    : text_(std::move(text)), options_(options) {}
TextPattern::~TextPattern() = default;

const re2::RE2& TextPattern::form(const Form& form) const {
  std::call_once(form.once, [&] {
    re2::RE2::Options options(re2::RE2::Quiet);
    options.set_encoding(&form == &utf8_ ? re2::RE2::Options::EncodingUTF8
                                         : re2::RE2::Options::EncodingLatin1);
    options.set_max_mem(options_.max_memory);
    options.set_case_sensitive(!options_.ignores_case);
    options.set_dot_nl(options_.dot_matches_newline);
    options.set_never_nl(!options_.matches_newlines);
    form.compiled = std::make_unique<const re2::RE2>(text_, options);
  });
  return *form.compiled;
}

// In ASCII both forms match the same, and the one for bytes is compiled in less time. A pattern
// such as `\x{200b}` has only the form for UTF-8.
const re2::RE2& TextPattern::for_text(std::string_view text) const {
  if (!is_ascii(text) && is_utf8(text)) return form(utf8_);
  const re2::RE2& bytes = form(latin1_);
  return bytes.ok() ? bytes : form(utf8_);
}

}  // namespace galley
