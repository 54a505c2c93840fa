#include <galley/testing/assertion.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/calls/transcript.h"
#include "engine/pipeline/replay.h"
#include "staging/text/diff.h"
#include "staging/text/lines.h"
#include "tools/json_difference.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr size_t kShownContext = 2;  // lines around a difference

Assertion holds() { return {true, {}}; }
Assertion fails(std::string why) { return {false, std::move(why)}; }

std::string marked(char mark, std::string_view line) {
  std::string text(1, mark);
  text += line;
  if (!line.ends_with('\n')) text += "\n\\ no newline at the end\n";
  return text;
}

/// Returns the lines that differ between two texts, with some context.
std::string text_difference(std::string_view expected, std::string_view found) {
  const Lines before(expected);
  const Lines after(found);
  std::string text = "--- expected\n+++ found\n";
  size_t shown = 0;
  for (const ChangedRange& range : diff_lines(before, after)) {
    const size_t from = range.old_begin > kShownContext ? range.old_begin - kShownContext : 0;
    text += "line " + std::to_string(range.old_begin + 1) + ":\n";
    for (size_t i = std::max(from, shown); i < range.old_begin; ++i) {
      text += marked(' ', before[i]);
    }
    for (size_t i = range.old_begin; i < range.old_end; ++i) text += marked('-', before[i]);
    for (size_t i = range.new_begin; i < range.new_end; ++i) text += marked('+', after[i]);
    shown = std::min<size_t>(range.old_end + kShownContext, before.size());
    for (size_t i = range.old_end; i < shown; ++i) text += marked(' ', before[i]);
  }
  return text;
}

Assertion texts_are_equal(const std::string& what, std::string_view expected,
                          std::string_view found) {
  if (expected == found) return holds();
  return fails(what + " is not as expected:\n" + text_difference(expected, found));
}

/// Returns the diff without the lines that diff_is() ignores.
std::string without_hashes(std::string_view diff) {
  std::string text;
  const Lines lines(diff);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    if (!line.starts_with("index ") && !line.starts_with("diff --git ")) text += line;
  }
  return text;
}

Result<ordered_json> parse_ordered(std::string_view text) {
  GALLEY_ASSIGN(const nlohmann::json document, parse_json(text));
  return ordered_json(document);
}

}  // namespace

Assertion diff_is(const Proposal& proposal, std::string_view expected) {
  const auto diff = render_diff(proposal);
  if (!diff) return fails("the diff cannot be told: " + diff.error().message);
  return texts_are_equal("the diff", without_hashes(expected), without_hashes(*diff));
}

Assertion file_is(Transaction& transaction, std::string_view path, std::string_view expected) {
  const auto content = transaction.read(path);
  if (!content) return fails(std::string(path) + " cannot be read: " + content.error().message);
  return texts_are_equal(std::string(path), expected, *content);
}

Assertion is_absent(Transaction& transaction, std::string_view path) {
  const auto node = transaction.look(path);
  if (!node) return fails(std::string(path) + ": " + node.error().message);
  return node->kind == FileKind::kAbsent ? holds() : fails(std::string(path) + " is there");
}

Assertion json_is(std::string_view found, std::string_view expected) {
  const auto wanted = parse_ordered(expected);
  if (!wanted) return fails("what is expected is not JSON: " + wanted.error().message);
  const auto there = parse_ordered(found);
  if (!there) return fails("what was found is not JSON: " + there.error().message);
  const auto differences = json_differences(*wanted, *there);
  return differences.empty() ? holds() : fails(describe(differences));
}

Assertion replays(Workspace& workspace, Transaction& transaction, std::string_view transcript,
                  const SecretProvider& secrets) {
  const auto calls = read_transcript(transcript);
  if (!calls) return fails(calls.error().message);
  ReplayOptions options;
  options.secrets = secrets;
  const auto report = replay(workspace, transaction, *calls, options);
  if (!report) return fails(report.error().message);
  return report->is_equal() ? holds() : fails(describe(*report));
}

}  // namespace galley
