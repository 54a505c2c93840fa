#include "staging/overlay/staged_step.h"

#include <algorithm>
#include <utility>

#include "staging/overlay/node_text.h"

namespace galley {
namespace {

constexpr std::string_view kFirstLine = "galley calls 1\n";
constexpr std::string_view kCall = "call ";
constexpr std::string_view kLastLine = "end ";
constexpr size_t kPathFields = 3;

/// Ids and names of tools have neither; what has is no part of a line.
std::string one_field(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return text;
}

tl::unexpected<Error> damaged(size_t line) {
  return fail(ErrorKind::kInvalid, "stage.damaged",
              "the file 'calls' of this transaction is damaged at line " + std::to_string(line) +
                  ": what single calls changed is not known any more");
}

bool read_call(std::string_view line, std::vector<StagedStep>& steps) {
  const auto fields = split_fields(line, '\t');
  if (fields.size() != 2) return false;
  steps.push_back({std::string(fields[0].substr(kCall.size())), std::string(fields[1]), {}});
  return true;
}

bool read_change(std::string_view line, std::vector<StagedStep>& steps) {
  const auto fields = split_fields(line, '\t');
  if (steps.empty() || fields.size() != kPathFields) return false;
  auto path = RelPath::parse(fields[0]);
  if (!path || path->str() != fields[0] || path->is_protected()) return false;
  Change change;
  change.path = *std::move(path);
  if (!read_node(fields[1], change.before) || !read_node(fields[2], change.after)) return false;
  steps.back().changes.push_back(std::move(change));
  return true;
}

}  // namespace

bool StagedStep::concerns(const RelPath& path) const {
  return std::any_of(changes.begin(), changes.end(), [&](const Change& change) {
    return change.path == path || change.path.is_below(path) || path.is_below(change.path);
  });
}

ChangeSet StepScope::finish() {
  Overlay* const overlay = std::exchange(overlay_, nullptr);
  return overlay != nullptr ? overlay->end_step(begun_) : ChangeSet();
}

void bound_steps(std::vector<StagedStep>& steps) {
  size_t paths = 0;
  size_t kept = 0;
  while (kept < steps.size()) {
    paths += std::max<size_t>(1, steps[steps.size() - 1 - kept].changes.size());
    if (paths > kMaxStepPaths) break;
    ++kept;
  }
  steps.erase(steps.begin(), steps.end() - static_cast<std::ptrdiff_t>(kept));
}

std::string encode_steps(const std::vector<StagedStep>& steps) {
  std::string out(kFirstLine);
  for (const StagedStep& step : steps) {
    out.append(kCall).append(one_field(step.execution_id)).push_back('\t');
    out.append(one_field(step.tool)).push_back('\n');
    for (const Change& change : step.changes) {
      out.append(change.path.str()).push_back('\t');
      append_node(out, change.before);
      out.push_back('\t');
      append_node(out, change.after);
      out.push_back('\n');
    }
  }
  const std::string digest = ContentId::of(out).hex();
  out.append(kLastLine).append(digest).push_back('\n');
  return out;
}

Result<std::vector<StagedStep>> decode_steps(std::string_view text) {
  if (!text.starts_with(kFirstLine)) return damaged(1);
  std::vector<StagedStep> steps;
  size_t line_number = 2;
  for (size_t start = kFirstLine.size(); start < text.size(); ++line_number) {
    const size_t end = text.find('\n', start);
    // A line for each path and for each call, which changed one at least.
    if (end == std::string_view::npos || line_number > 2 * kMaxStepPaths + 2) break;
    const std::string_view line = text.substr(start, end - start);
    const bool has_fields = line.find('\t') != std::string_view::npos;
    if (line.starts_with(kLastLine) && !has_fields) {
      const auto digest = ContentId::from_hex(line.substr(kLastLine.size()));
      if (digest != ContentId::of(text.substr(0, start)) || end + 1 != text.size()) break;
      return steps;
    }
    // A path may begin with `call `, too, but has two more fields and not one.
    const bool is_call = line.starts_with(kCall) && std::count(line.begin(), line.end(), '\t') == 1;
    if (!(is_call ? read_call(line, steps) : read_change(line, steps))) break;
    start = end + 1;
  }
  return damaged(line_number);
}

}  // namespace galley
