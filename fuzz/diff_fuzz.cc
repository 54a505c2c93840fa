// Splits the input at the first "\0\xff" into two texts. In every mode, their diff rebuilds the
// second text from the first. Printing and merging them break no invariant.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "staging/printing/git_diff.h"
#include "staging/text/diff.h"
#include "staging/text/merge.h"

namespace {

void require(bool fact) {
  if (!fact) std::abort();
}

std::string rebuilt(const galley::Lines& before, const galley::Lines& after,
                    const galley::EditScript& script) {
  std::string out;
  size_t at = 0;
  for (const auto& range : script) {
    out += before.span(at, range.old_begin);
    out += after.span(range.new_begin, range.new_end);
    at = range.old_end;
  }
  out += before.span(at, before.size());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = input.find(std::string_view("\0\xff", 2));
  const auto first = input.substr(0, cut);
  const auto second = cut == std::string_view::npos ? std::string_view() : input.substr(cut + 2);
  const galley::Lines before(first);
  const galley::Lines after(second);
  require(rebuilt(before, after, galley::diff_lines(before, after)) == second);
  require(rebuilt(after, before, galley::diff_lines(after, before)) == first);

  galley::FilePair pair{"a.c", "a.c", galley::git_mode::kRegular, galley::git_mode::kRegular,
                        first, second};
  galley::DiffOptions options;
  require(galley::git_diff(pair, options).empty() == (first == second));
  options.color = true;
  options.moved = galley::MovedLines::kZebra;
  options.lines.white_space = galley::WhiteSpace::kIgnoreChange;
  (void)galley::git_diff(pair, options);
  options.word_diff = galley::WordDiff::kPlain;
  (void)galley::git_diff(pair, options);

  const std::string both = std::string(first) + std::string(second);
  const galley::Lines third(both);
  const auto merge = galley::merge_lines(before, after, third);
  (void)galley::text_with_markers(merge, before, after, third);
  require(galley::text_with_markers(galley::merge_lines(before, after, before), before, after,
                                    before) == second);
  return 0;
}
