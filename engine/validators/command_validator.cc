#include "engine/validators/command_validator.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/glob.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/printable.h"
#include "base/result.h"
#include "base/text.h"
#include "engine/policy/policy.h"
#include "engine/policy/validator.h"
#include "engine/validators/file_validator.h"
#include "engine/validators/new_findings.h"
#include "engine/validators/output_parsers.h"
#include "engine/validators/output_places.h"

namespace galley {
namespace {

/// The part of the tree that a command's result depends on.
struct VisibleInputs {
  GlobList inputs;   ///< empty: every file
  GlobList ignored;  ///< directories that persist between runs
};

constexpr int kRulesVersion = 2;  ///< of how output is judged: part of the cache key
constexpr uint64_t kMaxHashedFileBytes = uint64_t{256} << 10U;
constexpr uint64_t kMaxHashedBytes = uint64_t{32} << 20U;
constexpr int64_t kRacyNs = 2'000'000'000;  // a younger file may change again within one timestamp

class TreeHasher {
 public:
  TreeHasher(const ValidatorContext& context, const VisibleInputs& visible)
      : context_(context), visible_(visible) {}

  Result<ContentId> run() {
    std::vector<RelPath> todo = {RelPath::root()};
    while (!todo.empty()) {
      const RelPath directory = todo.back();
      todo.pop_back();
      GALLEY_TRY(visit(directory, todo));
    }
    return hasher_.finish();
  }

 private:
  Result<void> visit(const RelPath& directory, std::vector<RelPath>& todo) {
    if (context_.should_stop()) {
      return fail(ErrorKind::kTimeout, "validator.stopped", "it was stopped before it was done");
    }
    GALLEY_ASSIGN(const auto entries, context_.tree.list(directory));
    for (const DirectoryEntry& entry : entries) {
      const auto name = RelPath::parse(entry.name);
      if (!name) continue;  // a name that change sets and findings cannot contain
      GALLEY_ASSIGN(const RelPath path, directory.join(*name));
      const bool is_directory = entry.kind == FileKind::kDirectory;
      if (visible_.ignored.selects(path, is_directory)) continue;
      if (is_directory) {
        todo.push_back(path);
        // It may be empty, which a command can see.
        if (visible_.inputs.is_empty()) hasher_.update("folder " + path.str() + '\0');
      } else if (visible_.inputs.is_empty() || visible_.inputs.selects(path)) {
        GALLEY_TRY(add(path, entry.kind));
      }
    }
    return {};
  }

  Result<void> add(const RelPath& path, FileKind kind) {
    if (++count_ > kMaxInputs) {
      return fail(ErrorKind::kQuota, "limit.validator_inputs",
                  fmt::format("it can see more than {} files; name its `inputs`", kMaxInputs));
    }
    hasher_.update(fmt::format("{}:{} {} ", path.str().size(), path.str(), static_cast<int>(kind)));
    if (const Change* change = context_.tree.change(path)) {
      hasher_.update(fmt::format("{:o} ", change->after.mode));
      add_id(change->after.content);
      return {};
    }
    if (kind == FileKind::kSymlink) {
      GALLEY_ASSIGN(const std::string target, context_.tree.workspace().read_link(path));
      add_id(ContentId::of(target));
      return {};
    }
    return add_unchanged(path);
  }

  Result<void> add_unchanged(const RelPath& path) {
    GALLEY_ASSIGN(const FileStat stat, context_.tree.workspace().stat(path));
    hasher_.update(fmt::format("{:o} ", stat.mode & 0777U));
    // In such a tree, the stamp is derived from the content id.
    if (!context_.tree.base_name().empty()) {
      hasher_.update(fmt::format("n{} {} {} ", stat.size, stat.inode, stat.mtime_ns));
      return {};
    }
    const bool is_young = context_.clock.wall_ns() - stat.ctime_ns < kRacyNs;
    const bool is_small =
        stat.size <= kMaxHashedFileBytes && hashed_bytes_ + stat.size <= kMaxHashedBytes;
    if (stat.kind == FileKind::kRegular && (is_small || is_young)) {
      GALLEY_ASSIGN(const Content content, context_.tree.read(path));
      hashed_bytes_ += is_small ? content->size() : 0;
      add_id(ContentId::of(*content));
      return {};
    }
    hasher_.update(
        fmt::format("s{} {} {} {} ", stat.size, stat.inode, stat.mtime_ns, stat.ctime_ns));
    return {};
  }

  void add_id(const ContentId& id) {
    const auto& bytes = id.bytes();
    hasher_.update({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  const ValidatorContext& context_;
  const VisibleInputs& visible_;
  ContentHasher hasher_;
  size_t count_ = 0;
  uint64_t hashed_bytes_ = 0;
};

/// Returns a hash of all paths of the proposed tree that `inputs` selects: kind, mode, target and
/// content. A content is hashed by its id if the proposal changes it, by its bytes if it is small,
/// else by size, inode and times on disk.
///
/// Errors: kQuota `limit.validator_inputs` for more than kMaxInputs paths; kTimeout if stopped.
Result<ContentId> hash_visible(const ValidatorContext& context, const VisibleInputs& visible) {
  const std::string& base = context.tree.base_name();
  if (!base.empty() && visible.inputs.is_empty()) {
    return ContentId::of("tree " + base + " " + context.tree.proposal().id().hex());
  }
  return TreeHasher(context, visible).run();
}

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
  Result<void> drop_report(const Proposal& proposal, Overlay& overlay) const;
  Result<void> run_one(const Command& command, Overlay& overlay, const ProposedTree& tree,
                       Findings& findings);
  Result<std::vector<Finding>> read_output(const CommandResult& result,
                                           const SourceText& text) const;
  std::optional<Finding> unread(const CommandResult& result, const std::vector<Finding>& said,
                                RunEnd end) const;
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
      key = ContentId::of(fmt::format("rules {}\n", kRulesVersion) + config_fingerprint(config_) +
                          seen->hex() + base.hex() + files + parts_.surroundings);
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
  GALLEY_TRY(drop_report(proposal, overlay));
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

/// Removes the report file if the proposal contains it. Otherwise a command that writes no report
/// would seem to have written this one.
Result<void> CommandValidator::drop_report(const Proposal& proposal, Overlay& overlay) const {
  const auto report = RelPath::parse(config_.parser_file);
  if (config_.parser_file.empty() || config_.fix || !report) return {};
  const bool is_proposed =
      std::any_of(proposal.changes().begin(), proposal.changes().end(), [&](const Change& change) {
        return change.path == *report && change.after.kind == FileKind::kRegular;
      });
  return is_proposed ? overlay.remove(*report) : Result<void>();
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
  if (auto rest = unread(result, said, end)) findings.push_back(*std::move(rest));
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
  // Messages are compared. The output may contain times and process ids, so it is not in the
  // message.
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
                fmt::format("{} bytes of the document were left out; raise max_output_bytes, its "
                            "own and that of [sandbox], or use parser_file",
                            result.standard_output.omitted_bytes));
  }
  return reader_.read(output, text);
}

/// Returns a finding if not all findings of the command are known. It blocks only if the command
/// complained, or if a known finding is an error.
std::optional<Finding> CommandValidator::unread(const CommandResult& result,
                                                const std::vector<Finding>& said,
                                                RunEnd end) const {
  const uint64_t omitted =
      result.standard_output.omitted_bytes + result.standard_error.omitted_bytes;
  const bool reads_lines = config_.parser != OutputParser::kNone && config_.parser_file.empty() &&
                           !reader_.reads_document(result.standard_output.text());
  Finding finding;
  if (said.size() > limits::kMaxParsedFindings) {
    finding.message = fmt::format("{} reported more than {} findings; the others were not read",
                                  config_.name, limits::kMaxParsedFindings);
  } else if (reads_lines && omitted > 0) {
    finding.message =
        fmt::format("{} bytes of the output of {} were left out, and findings may be in them",
                    omitted, config_.name);
  } else {
    return {};
  }
  finding.rule = kTooManyFindings;
  const bool has_error = std::any_of(said.begin(), said.end(), [](const Finding& one) {
    return one.severity == Severity::kError;
  });
  finding.severity = end == RunEnd::kNoComplaint && !has_error
                         ? std::min(Severity::kWarning, config_.severity)
                         : config_.severity;
  finding.remedy =
      "mend some of them, judge fewer files at once, or raise max_output_bytes, its own and that "
      "of [sandbox]";
  return finding;
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
    if (entry == now.end() || fixed_node(change->after, entry->second.now) == change->after) {
      continue;
    }
    const FileKind kind = entry->second.now.kind;
    const bool is_file = kind == FileKind::kRegular;
    std::string_view rule = kWouldChangeRule;
    std::string does = "change this file";
    if (kind == FileKind::kAbsent) {
      rule = ".would_remove";
      does = "remove this file";
    } else if (!is_file) {
      rule = ".would_replace";
      does = fmt::format("make a {} of this file", kind_name(kind));
    }
    Finding finding;
    finding.rule = fmt::format("{}{}", config_.name, rule);
    finding.severity = config_.severity;
    finding.path = file.str();
    finding.message = fmt::format("{} would {}", config_.command.front(), does);
    finding.remedy =
        is_file ? "take its changes with --fix (`galley apply --fix`; in a transaction `galley "
                  "validate --fix`), or run the program yourself"
                : "--fix takes contents only: do it yourself, or correct the command";
    findings.push_back(std::move(finding));
  }
}

/// Returns a note that only the exit status was compared, so that a new complaint with the same
/// status is not found.
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

constexpr size_t kMaxArgumentBytes = size_t{512} << 10U;  // well below Linux' 2 MiB for all of them
constexpr size_t kLastWordsBytes = 400;
constexpr std::string_view kFiles = "{files}";
constexpr std::string_view kFile = "{file}";
constexpr int kCannotExecute = 126;  // of shells and env(1)
constexpr int kNotFound = 127;
constexpr size_t kShownHeadBytes = kMaxFindingOutputBytes / 4;  // the end contains the result

/// A file whose name begins with '-' must not be taken for an option.
std::string as_argument(const RelPath& path) {
  return path.str().starts_with('-') ? "./" + path.str() : path.str();
}

Command bare_command(const ValidatorConfig& config, const ValidatorContext& context) {
  Command command;
  command.environment = config.environment;
  command.limits.wall = std::chrono::milliseconds(config.timeout_ms);
  if (!context.deadline.is_never()) {
    command.limits.wall = std::min(*command.limits.wall, context.deadline.left(context.clock));
  }
  command.limits.max_stdout_bytes = config.max_output_bytes;
  command.limits.max_stderr_bytes = config.max_output_bytes;
  command.network = config.allows_network ? NetworkAccess::kHost : NetworkAccess::kNone;
  command.effects = EffectsRule::kDrop;
  command.keep_name = config.name;
  for (const auto& path : config.keep) {
    if (auto parsed = RelPath::parse(path)) command.keep.push_back(*parsed);
  }
  if (!config.parser_file.empty()) {
    if (auto parsed = RelPath::parse(config.parser_file)) command.collect.push_back(*parsed);
  }
  command.stop = context.stop;
  return command;
}

std::vector<std::string> with_file(const std::vector<std::string>& arguments, const RelPath& file) {
  std::vector<std::string> out;
  for (std::string argument : arguments) {
    const size_t at = argument.find(kFile);
    if (at != argument.npos) {
      // Within a longer argument it cannot be mistaken for an option.
      const bool is_whole = argument == kFile;
      argument.replace(at, kFile.size(), is_whole ? as_argument(file) : file.str());
    }
    out.push_back(std::move(argument));
  }
  return out;
}

std::vector<std::string> with_files(const std::vector<std::string>& arguments,
                                    std::vector<RelPath>::const_iterator begin,
                                    std::vector<RelPath>::const_iterator end) {
  std::vector<std::string> out;
  for (const std::string& argument : arguments) {
    if (argument != kFiles) {
      out.push_back(argument);
      continue;
    }
    for (auto it = begin; it != end; ++it) out.push_back(as_argument(*it));
  }
  return out;
}

bool is_make_saying_missing(std::string_view line) {
  const bool is_make = line.starts_with("make: ") || line.starts_with("make[");
  return is_make && (line.ends_with(" Error 127") || line.ends_with(" Error 126"));
}

/// Some programs run others, and when one of those is missing, they exit with a status that looks
/// like a complaint. Returns the line in which python or make reports the missing program, or
/// nothing.
std::string missing_program(const ValidatorConfig& config, const CommandResult& result) {
  const auto module = std::find(config.command.begin(), config.command.end(), "-m");
  const bool has_module = module != config.command.end() && module + 1 != config.command.end();
  const std::string no_module = has_module ? ": No module named " + *(module + 1) : "";
  const std::string errors = result.standard_error.text();
  for (const std::string_view line : lines_of(errors)) {
    // In a traceback the name is in quotes.
    const bool is_no_module = has_module && line.find(no_module) != line.npos;
    if (is_no_module || is_make_saying_missing(line)) {
      return printable_line(line, kLastWordsBytes);
    }
  }
  return {};
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

std::vector<RelPath> selected_files(const ValidatorConfig& config, const ChangeSet& changes) {
  std::vector<RelPath> files;
  for (const Change& change : changes) {
    if (change.after.kind != FileKind::kRegular) continue;
    if (!config.has_paths || config.paths.selects(change.path)) files.push_back(change.path);
  }
  return files;
}

std::vector<Command> commands_of(const ValidatorConfig& config, const std::vector<RelPath>& files,
                                 const ValidatorContext& context) {
  std::vector<Command> commands;
  const Command bare = bare_command(config, context);
  if (config.is_per_file) {
    for (const RelPath& file : files) {
      commands.push_back(bare);
      commands.back().argv = with_file(config.command, file);
    }
    return commands;
  }
  const bool takes_files =
      std::find(config.command.begin(), config.command.end(), kFiles) != config.command.end();
  if (!takes_files) {
    commands.push_back(bare);
    commands.back().argv = config.command;
    return commands;
  }
  for (auto begin = files.begin(); begin != files.end();) {
    auto end = begin;
    size_t bytes = 0;
    while (end != files.end() && bytes < kMaxArgumentBytes) bytes += (end++)->str().size() + 16;
    commands.push_back(bare);
    commands.back().argv = with_files(config.command, begin, end);
    begin = end;
  }
  return commands;
}

Node fixed_node(const Node& was, Node now) {
  if (was.kind == FileKind::kRegular && now.kind == FileKind::kRegular) now.mode = was.mode;
  return now;
}

std::string command_words(const ValidatorConfig& config) {
  std::string command;
  for (const std::string& word : config.command) command += (command.empty() ? "" : " ") + word;
  return printable_line(command, kLastWordsBytes);
}

Error not_trusted(const ValidatorConfig& config) {
  return {ErrorKind::kRefused, std::string(kNotTrusted),
          fmt::format("it would run `{}`, which no person has trusted; review it with: {}",
                      command_words(config), config.trust_with),
          "", 0};
}

std::string shown_output(const CommandResult& result) {
  std::string text = result.standard_output.text();
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text = printable(text + result.standard_error.text());
  while (text.ends_with('\n')) text.pop_back();
  if (text.size() <= kMaxFindingOutputBytes) return text;
  // Cut at a newline, unless one line is most of the text; never within a character.
  const size_t newline = text.rfind('\n', kShownHeadBytes);
  size_t head = newline == text.npos ? kShownHeadBytes : newline + 1;
  size_t tail = text.size() - (kMaxFindingOutputBytes - kShownHeadBytes);
  if (const size_t next = text.find('\n', tail); next < tail + kShownHeadBytes) tail = next + 1;
  const auto is_inside_character = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  while (head > 0 && is_inside_character(head)) --head;
  while (tail < text.size() && is_inside_character(tail)) ++tail;
  const std::string_view break_before = text[head - 1] == '\n' ? "" : "\n";
  return fmt::format("{}{}[... {} bytes left out ...]\n{}", text.substr(0, head), break_before,
                     tail - head, text.substr(tail));
}

std::string output_tail(const CommandResult& result) {
  const std::string errors = result.standard_error.text();
  const std::string output = result.standard_output.text();
  std::string_view text = errors.find_first_not_of(" \t\r\n") == errors.npos ? output : errors;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text.size() > kLastWordsBytes) {
    text.remove_prefix(text.size() - kLastWordsBytes);
    const size_t newline = text.find('\n');
    if (newline != text.npos) text.remove_prefix(newline + 1);
  }
  return printable_line(text, kMaxFindingBytes);
}

Result<RunEnd> end_of(const ValidatorConfig& config, const CommandResult& result) {
  if (result.breach) return fail(result.breach->error());
  const std::string words = output_tail(result);
  const std::string said = words.empty() ? std::string() : ": " + words;
  if (!result.exit_code) {
    return fail(ErrorKind::kInternal, "validator.signal",
                fmt::format("{} was ended by signal {}{}", config.command.front(),
                            result.exit_signal.value_or(0), said));
  }
  const int code = *result.exit_code;
  const auto lists = [code](const std::vector<int>& codes) {
    return std::find(codes.begin(), codes.end(), code) != codes.end();
  };
  if (lists(config.ok_exit)) return RunEnd::kNoComplaint;
  if (const std::string line = missing_program(config, result); !line.empty()) {
    return fail(ErrorKind::kNotFound, "validator.program_missing",
                fmt::format("{} could not run: {}", config.command.front(), line));
  }
  if (lists(config.findings_exit)) return RunEnd::kComplaint;
  const bool could_not_run = code == kCannotExecute || code == kNotFound;
  if (config.findings_exit.empty() && !could_not_run) return RunEnd::kComplaint;
  return fail(ErrorKind::kInternal, "validator.exit_status",
              fmt::format("{} ended with status {}, which means neither a pass nor findings{}",
                          config.command.front(), code, said));
}

}  // namespace galley
