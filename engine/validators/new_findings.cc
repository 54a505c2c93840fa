#include "engine/validators/new_findings.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace galley {
namespace {

Proposal unchanged(const Proposal& changed) {
  ChangeSet files;
  for (const Change& change : changed.changes()) {
    if (change.before.kind != FileKind::kRegular) continue;
    files.push_back({change.path, change.before, change.before, change.base, {}, {}});
  }
  return Proposal::from(std::move(files), changed.store());
}

class NewFindingsValidator final : public Validator {
 public:
  explicit NewFindingsValidator(std::unique_ptr<Validator> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] const std::string& name() const override { return inner_->name(); }
  [[nodiscard]] bool concerns(const ChangeSet& changes, const std::string& agent) const override {
    return inner_->concerns(changes, agent);
  }
  [[nodiscard]] bool runs_command() const override { return inner_->runs_command(); }

  [[nodiscard]] Result<ValidatorReport> validate(const ValidatorContext& context) override {
    GALLEY_ASSIGN(ValidatorReport report, inner_->validate(context));
    if (report.findings.empty()) return report;
    const UnchangedFiles files(context.tree);
    GALLEY_ASSIGN(const ValidatorReport known,
                  inner_->validate({files.tree(), context.clock, context.deadline, context.stop}));
    report.findings = without_known(std::move(report.findings), known.findings,
                                    context.tree.proposal().changes());
    return report;
  }

 private:
  std::unique_ptr<Validator> inner_;
};

}  // namespace

UnchangedFiles::UnchangedFiles(const ProposedTree& changed)
    : proposal_(unchanged(changed.proposal())), tree_(proposal_, changed.workspace()) {}

std::vector<Finding> without_known(std::vector<Finding> findings, const std::vector<Finding>& known,
                                   const ChangeSet& changes, const LeftOutNote& note_for) {
  std::map<std::string, std::string> new_names;
  for (const Change& change : changes) {
    if (change.renamed_from) new_names[change.renamed_from->str()] = change.path.str();
  }
  const auto key = [](const Finding& finding, const std::string& path) {
    return std::make_tuple(finding.rule, path, finding.message);
  };
  std::map<std::tuple<std::string, std::string, std::string>, size_t> counts;
  for (const Finding& finding : known) {
    const auto renamed = new_names.find(finding.path);
    ++counts[key(finding, renamed == new_names.end() ? finding.path : renamed->second)];
  }
  std::vector<Finding> fresh;
  for (Finding& finding : findings) {
    const auto count = counts.find(key(finding, finding.path));
    if (count == counts.end() || count->second == 0) {
      fresh.push_back(std::move(finding));
      continue;
    }
    --count->second;
    auto note = note_for ? note_for(finding) : std::nullopt;
    if (note) fresh.push_back(*std::move(note));
  }
  return fresh;
}

std::unique_ptr<Validator> make_new_findings_validator(std::unique_ptr<Validator> inner) {
  return std::make_unique<NewFindingsValidator>(std::move(inner));
}

}  // namespace galley
