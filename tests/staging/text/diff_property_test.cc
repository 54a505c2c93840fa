#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "staging/text/diff.h"
#include "staging/text/dtl_diff.h"

namespace galley {
namespace {

std::string joined(const std::vector<std::string>& lines, bool ended) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  if (!ended && !text.empty()) text.pop_back();
  return text;
}

rc::Gen<std::string> texts() {
  return rc::gen::exec([] {
    const auto line = rc::gen::element<std::string>("", " ", "a", "b", "  c", "\tc", "}", "a\r",
                                                    "long line", std::string("\0", 1));
    return joined(*rc::gen::container<std::vector<std::string>>(line), *rc::gen::arbitrary<bool>());
  });
}

std::vector<LineId> ids_of(const Lines& lines, LineTable& table) {
  return table.intern_all(lines, 0, lines.size());
}

RC_GTEST_PROP(DiffProperty, AScriptRebuildsTheNewText, ()) {
  const auto old_text = *texts();
  const auto new_text = *texts();
  const Lines before(old_text);
  const Lines after(new_text);
  std::string out;
  size_t at = 0;
  for (const auto& range : diff_lines(before, after)) {
    out += before.span(at, range.old_begin);
    out += after.span(range.new_begin, range.new_end);
    at = range.old_end;
  }
  out += before.span(at, before.size());
  RC_ASSERT(out == new_text);
}

RC_GTEST_PROP(DiffProperty, NoScriptIsShorterThanDtls, ()) {
  const auto old_text = *texts();
  const auto new_text = *texts();
  LineTable table;
  const auto before = ids_of(Lines(old_text), table);
  const auto after = ids_of(Lines(new_text), table);
  const auto ours = count_lines(diff_ids(before, after));
  const auto shortest = count_lines(dtl_diff(before, after));
  RC_ASSERT(ours.removed + ours.added >= shortest.removed + shortest.added);
}

RC_GTEST_PROP(DiffProperty, SlidingADtlScriptKeepsItsLength, ()) {
  const auto old_text = *texts();
  const auto new_text = *texts();
  LineTable table;
  const auto before = ids_of(Lines(old_text), table);
  const auto after = ids_of(Lines(new_text), table);
  const auto script = dtl_diff(before, after);
  RC_ASSERT(count_lines(slide_script(before, after, script)) == count_lines(script));
}

}  // namespace
}  // namespace galley
