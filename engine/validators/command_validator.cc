#include "engine/validators/command_validator.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/printable.h"
#include "engine/policy/policy.h"
#include "engine/validators/command_run.h"
#include "engine/validators/file_validator.h"
#include "engine/validators/new_findings.h"
#include "engine/validators/output_parsers.h"
#include "engine/validators/output_places.h"
#include "engine/validators/visible_inputs.h"

namespace galley {
namespace {

class CommandValidator final : public Validator {
 public:
  CommandValidator(const ValidatorConfig& config, const CommandValidatorParts& parts,
                   OutputReader reader, VisibleInputs visible)
      : config_(config), parts_(parts), reader_(std::move(reader)), visible_(std::move(visible)) {}

  [[nodiscard]] const std::string& name() const override { return config_.name; }
  [[nodiscard]] bool runs_command() const override { return true; }
  [[nodiscard]] bool concerns(const ChangeSet& changes, const std::string& agent) const override {
    return names_agent(config_.agents, agent) &&
           std::any_of(changes.begin(), changes.end(), [this](const Change& change) {
             return !config_.has_paths || config_.paths.selects(change.path);
           });
  }
  [[nodiscard]] Result<ValidatorReport> validate(const ValidatorContext& context) override;

 private:
  /// The command's findings about one tree.
  using Findings = std::vector<Finding>;
  Result<ValidatorReport> untrusted() const;
  Result<Findings> run_on(const ValidatorContext& context);
  Result<void> run_one(const Command& command, Overlay& overlay, const ProposedTree& tree,
                       Findings& findings);
  Result<std::vector<Finding>> read_output(const CommandResult& result,
                                           const SourceText& text) const;
  void add_unformatted(const Proposal& proposal, const Overlay& overlay, Findings& findings) const;
  Result<Findings> only_new(const ValidatorContext& context, Findings findings);
  /// The beginning of a finding that reports only the exit status.
  std::string status_prefix() const {
    return fmt::format("`{}` ended with status ", command_words(config_));
  }
  Finding only_the_status(const Finding& left_out) const;

  ValidatorConfig config_;
  CommandValidatorParts parts_;
  OutputReader reader_;
  VisibleInputs visible_;
};

Result<ValidatorReport> CommandValidator::validate(const ValidatorContext& context) {
  if (!config_.is_trusted) return untrusted();
  if (parts_.runner == nullptr) {
    return fail(ErrorKind::kRefused, "sandbox.unavailable",
                "commands cannot be run here; `galley doctor` says why");
  }
  std::optional<ContentId> key;
  if (parts_.cache != nullptr && config_.is_cached) {
    auto seen = hash_visible(context, visible_);
    if (!seen && seen.error().kind == ErrorKind::kTimeout) return fail(seen.error());
    if (seen) {  // with too many files to hash, it runs every time
      std::string files;
      for (const auto& file : selected_files(config_, context.tree.proposal().changes())) {
        files += file.str() + '\0';
      }
      const ContentId base = config_.only_new ? context.tree.proposal().id() : ContentId();
      key = ContentId::of(config_fingerprint(config_) + seen->hex() + base.hex() + files);
      if (auto known = parts_.cache->get(*key)) return ValidatorReport{std::move(*known), true};
    }
  }
  GALLEY_ASSIGN(Findings findings, run_on(context));
  if (config_.only_new && !findings.empty()) {
    GALLEY_ASSIGN(findings, only_new(context, std::move(findings)));
  }
  if (key) parts_.cache->put(*key, findings);
  return ValidatorReport{std::move(findings), false};
}

/// A command that cannot block only reports that it was not run.
Result<ValidatorReport> CommandValidator::untrusted() const {
  Error error = not_trusted(config_);
  if (config_.severity == Severity::kError) return fail(std::move(error));
  Finding finding;
  finding.rule = config_.name + ".not_trusted";
  finding.severity = config_.severity;
  finding.message = std::move(error.message);
  return ValidatorReport{{std::move(finding)}, false};
}

Result<CommandValidator::Findings> CommandValidator::run_on(const ValidatorContext& context) {
  const Proposal& proposal = context.tree.proposal();
  Overlay overlay = overlay_of(proposal, context.tree.workspace(), context.clock);
  const auto files = selected_files(config_, proposal.changes());
  Findings findings;
  for (Command& command : commands_of(config_, files, context)) {
    if (context.should_stop()) {
      return fail(ErrorKind::kTimeout, "validator.stopped", "it was stopped before it was done");
    }
    if (config_.fix) command.effects = EffectsRule::kStageAlways;
    GALLEY_TRY(run_one(command, overlay, context.tree, findings));
  }
  if (config_.fix) add_unformatted(proposal, overlay, findings);
  return findings;
}

Result<void> CommandValidator::run_one(const Command& command, Overlay& overlay,
                                       const ProposedTree& tree, Findings& findings) {
  GALLEY_ASSIGN(const CommandResult result, parts_.runner->run(command, overlay));
  GALLEY_ASSIGN(const RunEnd end, end_of(config_, result));
  OutputPaths paths(tree);
  const SourceText text = [&](const std::string& shown) -> Content {
    const auto path = RelPath::parse(paths.resolve(shown));
    if (!path || path->is_root()) return nullptr;
    auto content = tree.read(*path);
    return content ? std::move(*content) : nullptr;
  };
  GALLEY_ASSIGN(auto said, read_output(result, text));
  bool has_complaint = false;
  for (Finding& finding : said) {
    const std::string shown = printable_line(finding.path, kMaxFindingBytes);
    finding.path = paths.resolve(finding.path);
    if (finding.path.empty() && !shown.empty()) {
      finding.message = fmt::format("{}: {}", shown, finding.message);
      finding.line = finding.column = finding.end_line = finding.end_column = 0;
      finding.replacement.reset();
    }
    finding.rule = finding.rule.empty() ? config_.name : config_.name + "." + finding.rule;
    finding.severity = std::min(finding.severity, config_.severity);
    has_complaint = has_complaint || finding.severity == config_.severity;
    findings.push_back(std::move(finding));
  }
  if (end == RunEnd::kNoComplaint || has_complaint) return {};
  Finding finding;
  finding.rule = config_.name;
  finding.severity = config_.severity;
  // The message does not quote the output, which may contain times and process ids, because
  // messages are compared.
  finding.message = status_prefix() + std::to_string(result.exit_code.value_or(-1));
  finding.output = shown_output(result);
  if (config_.is_per_file && !command.argv.empty()) {
    for (const RelPath& file : selected_files(config_, tree.proposal().changes())) {
      if (command.argv.back() == file.str()) finding.path = file.str();
    }
  }
  findings.push_back(std::move(finding));
  return {};
}

Result<std::vector<Finding>> CommandValidator::read_output(const CommandResult& result,
                                                           const SourceText& text) const {
  if (!config_.parser_file.empty()) {
    for (const auto& [path, output] : result.collected) {
      if (path.str() == config_.parser_file) return reader_.read(output, text);
    }
    return fail(ErrorKind::kInvalid, "validator.output",
                fmt::format("it did not write {}", config_.parser_file));
  }
  const std::string output = result.standard_output.text();
  if (!reader_.reads_document(output)) {
    return reader_.read(output + "\n" + result.standard_error.text(), text);
  }
  if (result.standard_output.omitted_bytes > 0) {
    return fail(ErrorKind::kQuota, "validator.output",
                fmt::format("it wrote more than {} bytes; raise max_output_bytes or use "
                            "parser_file",
                            config_.max_output_bytes));
  }
  return reader_.read(output, text);
}

/// Reports a finding for each file that the fixer would change; `galley validate --fix` keeps the
/// changes.
void CommandValidator::add_unformatted(const Proposal& proposal, const Overlay& overlay,
                                       Findings& findings) const {
  const auto selected = selected_files(config_, proposal.changes());
  const auto& now = overlay.entries();
  for (const RelPath& file : selected) {
    const auto entry = now.find(file);
    const auto change = std::find_if(proposal.changes().begin(), proposal.changes().end(),
                                     [&](const Change& one) { return one.path == file; });
    if (entry == now.end() || entry->second.now == change->after) continue;
    Finding finding;
    finding.rule = config_.name + std::string(kWouldChangeRule);
    finding.severity = config_.severity;
    finding.path = file.str();
    finding.message = fmt::format("{} would change this file", config_.command.front());
    finding.remedy =
        "take its changes with --fix (`galley apply --fix`; in a transaction `galley validate "
        "--fix`), "
        "or run the program yourself";
    findings.push_back(std::move(finding));
  }
}

/// Reports that only the status could be compared: a new complaint with an old status is not
/// detected.
Finding CommandValidator::only_the_status(const Finding& left_out) const {
  Finding finding;
  finding.rule = config_.name + ".only_status";
  finding.severity = Severity::kNote;
  finding.path = left_out.path;
  finding.message = left_out.message + " on the unchanged tree too; only the status was compared";
  finding.remedy = "set `parser` so that complaints can be told apart, or take `only_new` away";
  return finding;
}

/// Removes findings that the same command also reports for the unchanged tree.
Result<CommandValidator::Findings> CommandValidator::only_new(const ValidatorContext& context,
                                                              Findings findings) {
  const UnchangedFiles files(context.tree);
  auto known = run_on({files.tree(), context.clock, context.deadline, context.stop});
  if (!known) {
    Error error = std::move(known).error();
    error.message = "on the unchanged tree, which `only_new` compares with: " + error.message;
    return fail(std::move(error));
  }
  const auto note = [this](const Finding& finding) -> std::optional<Finding> {
    if (!finding.message.starts_with(status_prefix())) return std::nullopt;
    return only_the_status(finding);
  };
  return without_known(std::move(findings), *known, context.tree, note);
}

Result<VisibleInputs> visible_of(const ValidatorConfig& config) {
  VisibleInputs visible;
  GALLEY_ASSIGN(visible.inputs, GlobList::parse(config.inputs));
  std::vector<std::string> kept;
  for (const auto& path : config.keep) {
    GALLEY_ASSIGN(const RelPath parsed, RelPath::parse(path));
    kept.push_back("/" + parsed.str());
  }
  GALLEY_ASSIGN(visible.ignored, GlobList::parse(kept));
  return visible;
}

bool mentions(const std::vector<std::string>& arguments, std::string_view word) {
  return std::any_of(arguments.begin(), arguments.end(), [word](const std::string& argument) {
    return argument.find(word) != argument.npos;
  });
}

}  // namespace

Result<ValidatorPtr> make_command_validator(const ValidatorConfig& config,
                                            const CommandValidatorParts& parts) {
  if (config.is_per_file != mentions(config.command, "{file}")) {
    return fail(ErrorKind::kInvalid, "config.value",
                "per_file = true and `{file}` in the command belong together");
  }
  if (config.is_per_file && mentions(config.command, "{files}")) {
    return fail(ErrorKind::kInvalid, "config.value", "a per-file command takes no `{files}`");
  }
  GALLEY_ASSIGN(OutputReader reader, OutputReader::make(config));
  GALLEY_ASSIGN(VisibleInputs visible, visible_of(config));
  return std::make_unique<CommandValidator>(config, parts, std::move(reader), std::move(visible));
}

}  // namespace galley
