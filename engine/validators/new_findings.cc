#include "engine/validators/new_findings.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "staging/text/diff.h"
#include "staging/text/lines.h"

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

/// Maps lines of changed files to their former lines, counted from 1.
class LineOrigins {
 public:
  explicit LineOrigins(const ProposedTree& tree) : tree_(&tree) {}

  /// Returns nullopt for a line that the proposal wrote, and the same line for an unchanged file. A
  /// place after the last line maps to the place after the old last line.
  std::optional<uint32_t> before(const std::string& path, uint32_t line) {
    const File& file = look_at(path);
    if (!file.is_changed || line == 0) return line;
    if (line > file.new_size) return file.old_size + 1;
    uint32_t moved = line - 1;
    for (const ChangedRange& range : file.ranges) {
      if (line - 1 < range.new_begin) break;
      if (line - 1 < range.new_end) return std::nullopt;
      moved = line - 1 - range.new_end + range.old_end;
    }
    return moved + 1;
  }

  /// The line in the unchanged file, in the numbering of before().
  uint32_t of_unchanged(const std::string& path, uint32_t line) {
    const File& file = look_at(path);
    return file.is_changed ? std::min(line, file.old_size + 1) : line;
  }

 private:
  struct File {
    bool is_changed = false;
    uint32_t old_size = 0;
    uint32_t new_size = 0;
    std::vector<ChangedRange> ranges;
  };

  /// Looks the file up by its name after the change.
  const File& look_at(const std::string& path) {
    const auto known = files_.find(path);
    if (known != files_.end()) return known->second;
    File& file = files_[path];
    const auto parsed = RelPath::parse(path);
    const Change* change = parsed ? tree_->change(*parsed) : nullptr;
    if (change == nullptr || change->after.kind != FileKind::kRegular) return file;
    const Change* old = change->renamed_from ? tree_->change(*change->renamed_from) : change;
    const auto before = tree_->read_before(old == nullptr ? *change : *old);
    const auto after = tree_->read(*parsed);
    if (!before || !after) return file;
    const Lines old_lines(**before);
    const Lines new_lines(**after);
    file = {true, static_cast<uint32_t>(old_lines.size()), static_cast<uint32_t>(new_lines.size()),
            diff_lines(old_lines, new_lines)};
    return file;
  }

  const ProposedTree* tree_;
  std::map<std::string, File> files_;
};

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
    report.findings = without_known(std::move(report.findings), known.findings, context.tree);
    return report;
  }

 private:
  std::unique_ptr<Validator> inner_;
};

}  // namespace

UnchangedFiles::UnchangedFiles(const ProposedTree& changed)
    : proposal_(unchanged(changed.proposal())), tree_(proposal_, changed.workspace()) {}

std::vector<Finding> without_known(std::vector<Finding> findings, const std::vector<Finding>& known,
                                   const ProposedTree& changed, const LeftOutNote& note_for) {
  std::map<std::string, std::string> new_names;
  for (const Change& change : changed.proposal().changes()) {
    if (change.renamed_from) new_names[change.renamed_from->str()] = change.path.str();
  }
  LineOrigins origins(changed);
  const auto key = [](const Finding& finding, const std::string& path, uint32_t line) {
    return std::make_tuple(finding.rule, path, finding.message, line);
  };
  std::map<std::tuple<std::string, std::string, std::string, uint32_t>, size_t> counts;
  for (const Finding& finding : known) {
    const auto renamed = new_names.find(finding.path);
    const std::string& path = renamed == new_names.end() ? finding.path : renamed->second;
    ++counts[key(finding, path, origins.of_unchanged(path, finding.line))];
  }
  std::vector<Finding> fresh;
  for (Finding& finding : findings) {
    const auto line = origins.before(finding.path, finding.line);
    const bool is_comparable = line && finding.rule != kTooManyFindings;
    const auto count =
        is_comparable ? counts.find(key(finding, finding.path, *line)) : counts.end();
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

std::vector<LineBlock> added_lines(std::string_view before, const Lines& after) {
  if (after.empty() || before == after.text()) return {};
  if (before.empty()) return {{0, static_cast<uint32_t>(after.size())}};
  std::vector<LineBlock> blocks;
  for (const ChangedRange& range : diff_lines(Lines(before), after)) {
    if (range.added() > 0) blocks.push_back({range.new_begin, range.new_end});
  }
  return blocks;
}

}  // namespace galley
