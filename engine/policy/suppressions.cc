#include "engine/policy/suppressions.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

constexpr std::string_view kMarker = "galley:allow";
constexpr std::string_view kReasonMark = "--";
constexpr std::string_view kSecrets = "secrets";
/// gitleaks' own comment, which has no reason.
constexpr std::string_view kGitleaksMarker = "gitleaks:allow";

bool is_rule_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-+=/").find(c) != std::string_view::npos;
}

bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || byte >= 0x80;
}

constexpr std::string_view kLineSpaces = " \t\r";

/// Removes the end of a comment in languages that need one.
std::string_view without_comment_end(std::string_view text) {
  text = trim(text, kLineSpaces);
  for (const std::string_view end : {"*/", "-->", "*)", "#}", "%>"}) {
    if (text.ends_with(end)) return trim(text.substr(0, text.size() - end.size()), kLineSpaces);
  }
  return text;
}

/// The names before `--`; empty when the text is not a list of names.
std::vector<std::string> rules_in(std::string_view text) {
  std::vector<std::string> rules;
  for (text = trim(text, kLineSpaces); !text.empty();) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view rule = trim(text.substr(0, comma), kLineSpaces);
    if (rule.empty() || !std::all_of(rule.begin(), rule.end(), is_rule_byte)) return {};
    rules.emplace_back(rule);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return rules;
}

Suppression suppression_of(std::string_view line, size_t marker, uint32_t number) {
  Suppression one;
  one.line = one.covered_line = number;
  if (std::none_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(marker),
                   is_word_byte)) {
    ++one.covered_line;
  }
  const std::string_view rest = without_comment_end(line.substr(marker + kMarker.size()));
  const size_t mark = rest.find(std::string(" ") + std::string(kReasonMark) + " ");
  one.rules = rules_in(rest.substr(0, mark));
  if (mark != rest.npos && !one.rules.empty()) {
    one.reason = printable_line(trim(rest.substr(mark + kReasonMark.size() + 2), kLineSpaces),
                                kMaxFindingBytes);
  }
  return one;
}

bool has_marker(std::string_view text) {
  return text.find(kMarker) != text.npos || text.find(kGitleaksMarker) != text.npos;
}

bool is_about_secrets(std::string_view rule) { return rule.starts_with(kSecrets); }

/// Identifies a suppression: its words and the code that it is about.
std::string key_of(const Suppression& one, const Lines& lines) {
  const auto line = [&](uint32_t number) {
    return number == 0 || number > lines.size() ? std::string_view()
                                                : trim(lines[number - 1], kLineSpaces);
  };
  return fmt::format("{}\n{}", line(one.line), line(one.covered_line));
}

bool names_rule(const std::vector<std::string>& rules, std::string_view rule) {
  return std::any_of(rules.begin(), rules.end(), [&](const std::string& one) {
    return rule == one || (rule.starts_with(one) && rule.substr(one.size()).starts_with('.'));
  });
}

Judgement judgement_of(const Suppression& one, const std::string& path, Decision decision) {
  Judgement judgement;
  judgement.decision = decision;
  judgement.id = "suppression.added";
  judgement.path = path;
  judgement.rule = "findings.added_suppressions";
  judgement.message = fmt::format("{}:{}: a comment suppresses findings of {}: {}", path, one.line,
                                  join(one.rules), one.reason);
  judgement.remedy = decision == Decision::kDeny
                         ? "fix what is found instead; `findings.added_suppressions` in "
                           "galley.toml denies suppressions"
                         : "ask a person to review the reason, or fix what is found instead";
  return judgement;
}

Finding suppression_finding(const Judgement& judgement, uint32_t line) {
  Finding finding;
  finding.rule = judgement.id;
  finding.severity = Severity::kNote;
  finding.path = judgement.path;
  finding.line = line;
  finding.message = judgement.message;
  return finding;
}

Finding without_reason(const Suppression& one, const std::string& path) {
  Finding finding;
  finding.rule = "suppression.no_reason";
  finding.severity = Severity::kWarning;
  finding.path = path;
  finding.line = one.line;
  finding.message = "this suppression has no effect: it has no rule or no reason";
  finding.remedy = "write it as `galley:allow RULE -- REASON`";
  return finding;
}

}  // namespace

std::vector<Suppression> suppressions_in(std::string_view text) {
  std::vector<Suppression> all;
  if (text.size() > kMaxSuppressionFileBytes || !has_marker(text)) return all;
  const Lines lines(text);
  for (uint32_t i = 0; i < lines.size() && all.size() < kMaxSuppressions; ++i) {
    const std::string_view line = without_terminator(lines[i]);
    const size_t marker = line.find(kMarker);
    if (marker != line.npos) {
      all.push_back(suppression_of(line, marker, i + 1));
    } else if (line.find(kGitleaksMarker) != line.npos) {
      all.push_back({i + 1, i + 1, {std::string(kSecrets)}, std::string(kGitleaksMarker)});
    }
  }
  return all;
}

std::vector<Suppression> added_suppressions(std::string_view before, std::string_view after) {
  auto now = suppressions_in(after);
  if (now.empty()) return now;
  const Lines old_lines(before);
  std::map<std::string, size_t> old;
  for (const Suppression& one : suppressions_in(before)) ++old[key_of(one, old_lines)];
  const Lines lines(after);
  std::erase_if(now, [&](const Suppression& one) {
    const auto known = old.find(key_of(one, lines));
    if (known == old.end() || known->second == 0) return false;
    --known->second;
    return true;
  });
  return now;
}

Result<void> Suppressions::judge_added(std::vector<Judgement>& judgements,
                                       std::vector<Finding>& findings) const {
  for (const Change& change : tree_->proposal().changes()) {
    if (change.after.kind != FileKind::kRegular || change.after.content == change.before.content ||
        change.after.size > kMaxSuppressionFileBytes) {
      continue;
    }
    GALLEY_ASSIGN(const Content after, tree_->read(change.path));
    if (!has_marker(*after)) continue;
    Content before = std::make_shared<const std::string>();
    const Change* source = change.renamed_from ? tree_->change(*change.renamed_from) : &change;
    if (source != nullptr && source->before.kind == FileKind::kRegular) {
      GALLEY_ASSIGN(before, tree_->read_before(*source));
    }
    for (const Suppression& one : added_suppressions(*before, *after)) {
      const std::string path = change.path.str();
      // A suppression without effect needs no judgement: its subject is among the findings.
      if (!config_->suppress_secrets &&
          std::all_of(one.rules.begin(), one.rules.end(), is_about_secrets) && !one.rules.empty()) {
        continue;
      }
      if (one.reason.empty()) {
        findings.push_back(without_reason(one, path));
      } else if (config_->added_suppressions == Decision::kAllow) {
        findings.push_back(
            suppression_finding(judgement_of(one, path, Decision::kAllow), one.line));
      } else {
        judgements.push_back(judgement_of(one, path, config_->added_suppressions));
      }
    }
  }
  return {};
}

const std::vector<Suppression>& Suppressions::of_file(const std::string& path) {
  const auto known = known_.find(path);
  if (known != known_.end()) return known->second;
  std::vector<Suppression> all;
  if (const auto parsed = RelPath::parse(path)) {
    const auto node = tree_->node(*parsed);
    if (node && node->kind == FileKind::kRegular && node->size <= kMaxSuppressionFileBytes) {
      if (const auto text = tree_->read(*parsed)) all = suppressions_in(**text);
    }
  }
  return known_.emplace(path, std::move(all)).first->second;
}

void Suppressions::apply(Finding& finding) {
  if (finding.path.empty() || finding.line == 0) return;
  if (is_about_secrets(finding.rule) && !config_->suppress_secrets) return;
  for (const Suppression& one : of_file(finding.path)) {
    if (one.covered_line != finding.line || one.reason.empty() ||
        !names_rule(one.rules, finding.rule)) {
      continue;
    }
    finding.severity = Severity::kNote;
    finding.suppression = one.reason;
    return;
  }
}

}  // namespace galley
