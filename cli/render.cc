#include "cli/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/similar_texts.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "engine/policy/finding_rules.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/printing/git_diff.h"
#include "staging/printing/hyperlinks.h"
#include "staging/printing/readable_diff.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

constexpr std::string_view kRed = "\033[31m";
constexpr std::string_view kGreen = "\033[32m";
constexpr std::string_view kYellow = "\033[33m";
constexpr std::string_view kReset = "\033[m";
constexpr size_t kShownFindings = 50;
constexpr size_t kShownConflictLines = 20;
constexpr size_t kShortIdDigits = 12;

std::string paint(std::string_view text, std::string_view color, bool has_color) {
  return has_color ? fmt::format("{}{}{}", color, text, kReset) : std::string(text);
}

std::string finding_place(const Finding& finding, const Hyperlinks* links) {
  if (finding.path.empty()) return {};
  std::string text = finding.path;
  if (finding.line != 0) text += fmt::format(":{}", finding.line);
  if (finding.column != 0) text += fmt::format(":{}", finding.column);
  text = printable_line(text);
  if (links == nullptr) return text + ": ";
  std::string linked;
  links->append(finding.path, finding.line, text, linked);
  return linked + ": ";
}

/// Returns the output of a command without the characters that control a terminal.
std::string indented_output(std::string_view output) {
  std::string text;
  for (const std::string_view line : lines_of(output)) {
    text += line.empty() ? "\n" : fmt::format("    {}\n", printable(line));
  }
  return text;
}

std::string finding_text(const Finding& finding, bool has_color, const Hyperlinks* links) {
  const std::string_view color = finding.severity == Severity::kError
                                     ? kRed
                                     : (finding.severity == Severity::kWarning ? kYellow : "");
  std::string_view message = finding.message;
  const std::string named = finding.path + ": ";  // as finding_place() begins
  if (message.starts_with(named)) message.remove_prefix(named.size());
  std::string text = fmt::format("{}{}: {} [{}]\n", finding_place(finding, links),
                                 paint(severity_name(finding.severity), color, has_color),
                                 printable_line(message), printable_line(finding.rule));
  if (!finding.suppression.empty()) {
    text += fmt::format("  let pass: {}\n", printable_line(finding.suppression));
  }
  if (!finding.remedy.empty()) text += fmt::format("  {}\n", printable_line(finding.remedy));
  return text + indented_output(finding.output);
}

/// Returns a key that is equal for findings that differ only in their place.
std::string finding_key(const Finding& finding) {
  Finding other = finding;
  other.message = key_without(finding.message, finding.path);
  other.remedy = key_without(finding.remedy, finding.path);
  other.path.clear();
  return finding_text(other, false, nullptr);
}

/// Whether the findings already show the reason of the decision.
bool is_shown_by_findings(const Verdict& verdict, const Refusal& refusal) {
  return !verdict.findings.empty() &&
         (refusal.reason == "gate.validator_failed" || refusal.reason == "gate.policy_denied" ||
          refusal.reason == "gate.bad_configuration");
}

/// Returns the lines of one side of a conflict, after the name of the side.
std::string side_text(std::string_view side, std::string_view lines) {
  if (lines.empty()) return fmt::format("    {:<10}(no lines)\n", side);
  std::string text;
  size_t shown = 0;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size() - 1);
    if (++shown > kShownConflictLines) return text + fmt::format("    {:<10}…\n", side);
    std::string line(lines.substr(0, end + 1));
    const bool is_ended = line.ends_with('\n');
    if (is_ended) line.pop_back();
    text += fmt::format("    {:<10}{}{}\n", side, printable_line(line),
                        is_ended ? "" : " (no newline at its end)");
    lines.remove_prefix(end + 1);
  }
  return text;
}

constexpr uint32_t kOwnerMayExecute = 0100;

/// The node that git's diff shows as the old one of a change.
const Node& node_before(const ChangeSet& changes, const Change& change) {
  const auto& from = change.renamed_from ? change.renamed_from : change.copied_from;
  if (!from) return change.before;
  const auto at =
      std::lower_bound(changes.begin(), changes.end(), *from,
                       [](const Change& one, const RelPath& wanted) { return one.path < wanted; });
  return at == changes.end() || at->path != *from ? change.before : at->before;
}

/// Whether a file gets permission bits that git's diff cannot express. The diff says only whether
/// the owner may execute the file.
bool is_mode_hidden(const Node& before, const Node& after) {
  if (before.kind != FileKind::kRegular || after.kind != FileKind::kRegular) return false;
  if (before.mode == after.mode) return false;
  const bool is_said = (before.mode & kOwnerMayExecute) != (after.mode & kOwnerMayExecute);
  return !is_said || with_git_mode(before.mode, after.mode & kOwnerMayExecute) != after.mode;
}

/// Whether nothing of a change appears in git's diff.
bool is_hidden(const Change& change) {
  const bool is_owned =
      change.after.kind == FileKind::kRegular && changes_owner(change.before, change.after);
  return (is_owned || is_mode_hidden(change.before, change.after)) &&
         change.before.content == change.after.content &&
         (change.before.mode & kOwnerMayExecute) == (change.after.mode & kOwnerMayExecute);
}

std::string mode_line(std::string_view indent, uint32_t before, uint32_t after,
                      const std::string& path) {
  return fmt::format("{}mode change {:o} => {:o} {}\n", indent, before, after, quote_path(path));
}

std::string owner_line(std::string_view indent, const Change& change) {
  const bool is_directory = change.after.kind == FileKind::kDirectory;
  return fmt::format("{}owner {}{} {}\n", indent,
                     change.before.owner ? owner_text(*change.before.owner) + " => " : "",
                     owner_text(*change.after.owner),
                     quote_path(change.path.str() + (is_directory ? "/" : "")));
}

/// Changes that git's formats cannot express: directories, owners, most permission bits. They
/// come before git's diff, where `git apply` ignores text, and after its summaries.
std::string unsaid_changes(const Proposal& proposal, std::string_view indent) {
  std::string text;
  for (const Change* change : bare_directories(proposal.changes())) {
    const std::string name = change->path.str() + "/";
    if (change->before.kind != FileKind::kDirectory) {
      text += fmt::format("{}new directory {}\n", indent, quote_path(name));
    } else if (change->after.kind != FileKind::kDirectory) {
      text += fmt::format("{}deleted directory {}\n", indent, quote_path(name));
    } else if (change->before.mode != change->after.mode) {
      text += mode_line(indent, change->before.mode, change->after.mode, name);
    }
  }
  for (const Change& change : proposal.changes()) {
    const Node& before = node_before(proposal.changes(), change);
    if (!is_mode_hidden(before, change.after)) continue;
    text += mode_line(indent, before.mode, change.after.mode, change.path.str());
  }
  for (const Change& change : proposal.changes()) {
    const bool has_owner = change.after.owner && change.after.owner != change.before.owner;
    if (has_owner) text += owner_line(indent, change);
  }
  return text;
}

std::string unsaid_letters(const Proposal& proposal) {
  std::string text;
  for (const Change* change : bare_directories(proposal.changes())) {
    const bool is_made = change->before.kind != FileKind::kDirectory;
    const bool is_removed = change->after.kind != FileKind::kDirectory;
    text += fmt::format("{}\t{}\n", is_made ? 'A' : (is_removed ? 'D' : 'M'),
                        quote_path(change->path.str() + "/"));
  }
  for (const Change& change : proposal.changes()) {
    if (is_hidden(change)) text += fmt::format("M\t{}\n", quote_path(change.path.str()));
  }
  return text;
}

/// As for a mode change that git can express.
std::string unsaid_numbers(const Proposal& proposal) {
  std::string text;
  for (const Change& change : proposal.changes()) {
    if (is_hidden(change)) text += fmt::format("0\t0\t{}\n", quote_path(change.path.str()));
  }
  return text;
}

}  // namespace

DiffOptions file_options(const DiffArguments& arguments, const OutputStyle& style) {
  DiffOptions options;
  options.color = style.has_color;
  options.is_printable = style.is_printable;
  options.links = style.links;
  if (arguments.context) options.context = *arguments.context;
  if (arguments.ignore_space_change) options.lines.white_space = WhiteSpace::kIgnoreChange;
  if (arguments.ignore_all_space) options.lines.white_space = WhiteSpace::kIgnoreAll;
  if (arguments.word_diff) {
    options.word_diff = style.has_color ? WordDiff::kColor : WordDiff::kPlain;
  }
  if (arguments.color_moved && style.has_color) options.moved = MovedLines::kZebra;
  return options;
}

Result<std::string> render_changes(const Proposal& proposal, const DiffArguments& arguments,
                                   const OutputStyle& style) {
  ProposalDiffOptions options;
  options.file = file_options(arguments, style);
  if (arguments.is_quiet) return std::string();
  const bool is_summary = arguments.stat || arguments.numstat || arguments.name_status;
  if (arguments.side_by_side && !is_summary) {
    GALLEY_ASSIGN(const auto files, diff_proposal(proposal, options));
    std::string text = unsaid_changes(proposal, "");
    for (const ProposedFileDiff& file : files) {
      append_side_by_side(file.diff, Lines(*file.before), Lines(*file.after), options.file,
                          style.width, text);
    }
    return text;
  }
  if (!is_summary) {
    GALLEY_ASSIGN(std::string diff, render_diff(proposal, options));
    return unsaid_changes(proposal, "") + std::move(diff);
  }
  GALLEY_ASSIGN(const auto diffs, summarize_proposal(proposal, options));
  if (arguments.numstat) return numstat(diffs) + unsaid_numbers(proposal);
  if (arguments.name_status) return name_status(diffs) + unsaid_letters(proposal);
  return diffstat(diffs, {static_cast<int>(style.width), style.has_color, style.links}) +
         unsaid_changes(proposal, " ");
}

Result<std::string> render_names(const Proposal& proposal) {
  DiffArguments names;
  names.name_status = true;
  return render_changes(proposal, names, {});
}

Result<std::string> exact_diff(const Proposal& proposal) { return render_diff(proposal); }

std::string verdict_text(const Verdict& verdict, bool has_color, const Hyperlinks* links) {
  // Findings that refuse come first, so that they are not cut off.
  std::vector<const Finding*> findings;
  for (const Finding& finding : verdict.findings) {
    if (finding.suppression != kBaselineSuppression) findings.push_back(&finding);
  }
  const size_t known = verdict.findings.size() - findings.size();
  std::stable_sort(findings.begin(), findings.end(), [](const Finding* a, const Finding* b) {
    return a->severity == Severity::kError && b->severity != Severity::kError;
  });
  SimilarTexts alike;
  for (const Finding* finding : findings) {
    std::string place = printable_line(finding->path);
    if (finding->line != 0) place += fmt::format(":{}", finding->line);
    alike.add(finding_key(*finding), std::move(place), finding_text(*finding, has_color, links));
  }
  const std::vector<std::string> said = alike.printed();
  std::string text;
  for (size_t i = 0; i < std::min(said.size(), kShownFindings); ++i) text += said[i];
  if (said.size() > kShownFindings) {
    text += fmt::format("… and {} more findings\n", said.size() - kShownFindings);
  }
  if (known != 0) text += fmt::format("{} more known in the baseline\n", known);
  if (const auto* approval = std::get_if<Approval>(&verdict.decision)) {
    return text + fmt::format("the gate {} proposal {}\n", paint("approves", kGreen, has_color),
                              approval->proposal().hex().substr(0, kShortIdDigits));
  }
  const Refusal& refusal = std::get<Refusal>(verdict.decision);
  if (is_shown_by_findings(verdict, refusal)) {
    const auto errors = std::count_if(findings.begin(), findings.end(), [](const Finding* one) {
      return one->severity == Severity::kError;
    });
    return text + fmt::format("{} {} [{}]\n", paint("refused", kRed, has_color),
                              counted(static_cast<uint64_t>(errors), "error"), refusal.reason);
  }
  return text + fmt::format("{} {} [{}]\n", paint("refused", kRed, has_color),
                            printable_line(refusal.message), refusal.reason);
}

std::string sides_text(const std::vector<ConflictHunk>& hunks, const std::string& diff,
                       std::string_view wanted) {
  if (hunks.empty()) return printable(diff);
  std::string text;
  for (const ConflictHunk& hunk : hunks) {
    text += fmt::format("  line {}\n", hunk.line);
    text += side_text("base", hunk.base);
    text += side_text("workspace", hunk.found);
    text += side_text(wanted, hunk.wanted);
  }
  return text;
}

std::string conflict_text(const Conflict& conflict, std::string_view end) {
  SimilarTexts alike;
  for (const ConflictPath& path : conflict.paths) {
    const std::string sides = sides_text(path.hunks, path.diff, "proposal");
    alike.add(key_without(path.message, path.path.str()) + sides, printable_line(path.path.str()),
              fmt::format("conflict: {}\n{}", printable_line(path.message), sides));
  }
  std::string text = alike.str();
  for (const std::string& warning : conflict.warnings) {
    text += fmt::format("warning: {}\n", printable(warning));
  }
  return text + fmt::format("{} [{}]\n", end, conflict.reason);
}

}  // namespace galley
