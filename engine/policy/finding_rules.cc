#include "engine/policy/finding_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/hash.h"
#include "base/text.h"
#include "engine/policy/owners.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

std::string any_of_them(const std::vector<std::string>& owners) {
  std::string text;
  for (const std::string& owner : owners) text += (text.empty() ? "" : " or ") + owner;
  return text;
}

std::string sentence(const OwnedPaths& owned) {
  const std::string more =
      owned.count == 1 ? "" : fmt::format(" and {} more of the same owners", owned.count - 1);
  return fmt::format("{}{}: needs the approval of {}", owned.first, more,
                     any_of_them(owned.owners));
}

constexpr std::string_view kOldBaseline = "galley.baseline/1";

/// The lines of files of the proposed tree. Only the last file is kept.
class LinesOfFiles {
 public:
  explicit LinesOfFiles(const ProposedTree* tree) : tree_(tree) {}

  /// The text of a line without white space at its ends; empty if there is none.
  std::string text_of(const std::string& path, uint32_t line) {
    if (line == 0 || tree_ == nullptr) return {};
    if (path != path_) look_at(path);
    return line > lines_.size() ? std::string() : std::string(trim(lines_[line - 1]));
  }

 private:
  void look_at(const std::string& path) {
    path_ = path;
    text_ = std::make_shared<const std::string>();
    const auto parsed = RelPath::parse(path);
    const auto node = parsed ? tree_->node(*parsed) : Result<Node>(Node());
    if (node && node->kind == FileKind::kRegular && node->size <= kMaxSuppressionFileBytes) {
      if (auto text = tree_->read(*parsed)) text_ = *std::move(text);
    }
    lines_ = Lines(*text_);
  }

  const ProposedTree* tree_;
  std::string path_;
  Content text_;
  Lines lines_;
};

tl::unexpected<Error> not_a_baseline(std::string_view file, std::string_view why) {
  return fail(
      ErrorKind::kInvalid, "baseline.syntax",
      fmt::format(
          "{} is not a baseline: {}; write it anew with `galley validate --report baseline={}`",
          file, why, file),
      std::string(file));
}

}  // namespace

Result<FindingRules> FindingRules::of(const Config& config, const ProposedTree& tree) {
  FindingRules rules(config, tree);
  if (!config.findings.baseline.empty()) {
    GALLEY_ASSIGN(rules.baseline_, Baseline::load(tree.rules(), config.findings.baseline));
  }
  if (config.owners.is_required) GALLEY_TRY(rules.find_owners());
  return rules;
}

Result<void> FindingRules::find_owners() {
  GALLEY_ASSIGN(const Owners owners,
                Owners::load(tree_->rules(), config_->owners.file, config_->owners.lines));
  for (const Change& change : tree_->proposal().changes()) {
    for (auto& needed : owners.of(change.path)) {
      const auto known = std::ranges::find(owned_, needed, &OwnedPaths::owners);
      if (known != owned_.end()) {
        ++known->count;
      } else {
        owned_.push_back({change.path.str(), 1, std::move(needed)});
      }
    }
  }
  return {};
}

Result<void> FindingRules::judge(PolicyReport& report, std::vector<Finding>& findings) const {
  auto& judgements = report.judgements;
  if (!config_->validators.empty()) GALLEY_TRY(suppressions_.judge_added(judgements, findings));
  const std::string& baseline = config_->findings.baseline;
  if (baseline_.is_old()) {
    Finding& old = findings.emplace_back();
    old.rule = "baseline.old_version";
    old.severity = Severity::kWarning;
    old.path = baseline;
    old.message =
        "it is of an earlier version, which did not tell lines apart, so nothing in it counts";
    old.remedy = "write it anew with --report baseline=" + baseline +
                 " of `galley validate`, or in git of `galley check`";
  }
  const auto path = RelPath::parse(baseline);
  if (!baseline.empty() && path && tree_->change(*path) != nullptr &&
      config_->findings.added_suppressions != Decision::kAllow) {
    Judgement judgement;
    judgement.decision = config_->findings.added_suppressions;
    judgement.id = "baseline.changed";
    judgement.path = baseline;
    judgement.rule = "findings.baseline";
    judgement.message = baseline + ": the baseline decides which findings do not block";
    judgement.remedy = "ask a person to review what it suppresses";
    judgements.push_back(std::move(judgement));
  }
  for (const OwnedPaths& owned : owned_) {
    Judgement judgement;
    judgement.decision = Decision::kAsk;
    judgement.id = "owners.approval";
    judgement.path = owned.first;
    judgement.rule = "owners.required";
    judgement.message = sentence(owned);
    judgement.remedy = "ask one of them to review it";
    judgements.push_back(std::move(judgement));
  }
  std::ranges::stable_sort(judgements, std::greater(), &Judgement::decision);
  if (!judgements.empty()) {
    report.decision = std::max(report.decision, judgements.front().decision);
  }
  return {};
}

void FindingRules::apply(const std::vector<Finding*>& findings) {
  set_fingerprints(findings, tree_);
  for (Finding* finding : findings) suppressions_.apply(*finding);
  baseline_.apply(findings);
}

std::string FindingRules::missing_owner(const std::vector<std::string>& by) const {
  for (const OwnedPaths& owned : owned_) {
    const bool has_one = std::ranges::any_of(
        by, [&](const std::string& one) { return is_owner(one, owned.owners); });
    if (!has_one) return sentence(owned);
  }
  return {};
}

void set_fingerprints(const std::vector<Finding*>& findings, const ProposedTree* tree) {
  std::vector<size_t> by_path(findings.size());
  std::iota(by_path.begin(), by_path.end(), size_t{0});
  std::ranges::stable_sort(
      by_path, [&](size_t a, size_t b) { return findings[a]->path < findings[b]->path; });
  LinesOfFiles lines(tree);
  std::map<std::string, size_t> known;
  for (const size_t i : by_path) {
    Finding& finding = *findings[i];
    if (!finding.fingerprint.empty()) continue;
    std::string key = "galley-finding 2\n";
    const std::string text = lines.text_of(finding.path, finding.line);
    for (const std::string_view field :
         {std::string_view(finding.rule), std::string_view(finding.path),
          std::string_view(finding.message), std::string_view(text)}) {
      key += fmt::format("{}:{}", field.size(), field);
    }
    const size_t before = known[key]++;
    finding.fingerprint = ContentId::of(key + std::to_string(before)).hex();
  }
}

Result<Baseline> Baseline::parse(std::string_view text, std::string_view file) {
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_discarded()) return not_a_baseline(file, "it is not JSON");
  Baseline baseline;
  if (document.is_object() && document.value("schema", nlohmann::json()) == kOldBaseline) {
    baseline.is_old_ = true;
    return baseline;
  }
  if (!document.is_object() || document.value("schema", nlohmann::json()) != kBaselineSchema ||
      !document.contains("findings") || !document["findings"].is_array()) {
    return not_a_baseline(file, "it is not a galley.baseline/2 with `findings`");
  }
  for (const auto& one : document["findings"]) {
    const auto fingerprint = one.is_object() ? one.find("fingerprint") : one.end();
    if (fingerprint == one.end() || !fingerprint->is_string()) {
      return not_a_baseline(file, "one of its findings has no fingerprint");
    }
    baseline.known_.insert(fingerprint->get<std::string>());
  }
  return baseline;
}

Result<Baseline> Baseline::load(const Directory& workspace, const std::string& path) {
  GALLEY_ASSIGN(const RelPath file, RelPath::parse(path));
  GALLEY_ASSIGN(const FileStat stat, workspace.stat(file));
  if (stat.kind == FileKind::kAbsent) return Baseline();
  GALLEY_ASSIGN(const std::string text, read_file(workspace, file, kMaxBaselineBytes));
  return parse(text, path);
}

void Baseline::apply(const std::vector<Finding*>& findings) const {
  if (known_.empty()) return;
  for (Finding* finding : findings) {
    if (!finding->suppression.empty() || finding->rule == kTooManyFindings ||
        !known_.contains(finding->fingerprint)) {
      continue;
    }
    finding->severity = Severity::kNote;
    finding->suppression = kBaselineSuppression;
  }
}

}  // namespace galley
