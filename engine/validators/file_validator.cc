#include "engine/validators/file_validator.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/parallel.h"
#include "base/printable.h"
#include "base/result.h"
#include "engine/policy/effects.h"
#include "engine/policy/policy.h"

namespace galley {
namespace {

/// Returns the change whose `before` has the old content of this file.
const Change& origin_of(const ProposedTree& tree, const Change& change) {
  if (!change.renamed_from) return change;
  const Change* source = tree.change(*change.renamed_from);
  return source == nullptr ? change : *source;
}

void add_field(std::string& out, std::string_view value) {
  out += std::to_string(value.size());
  out += ':';
  out += value;
}

void add_fields(std::string& out, const std::vector<std::string>& values) {
  out += std::to_string(values.size());
  for (const auto& value : values) add_field(out, value);
}

}  // namespace

std::string config_fingerprint(const ValidatorConfig& config) {
  std::string out = "galley-validator 1\n";
  for (const std::string* value : {&config.name, &config.builtin, &config.style, &config.rules_file,
                                   &config.parser_regex, &config.parser_file}) {
    add_field(out, *value);
  }
  for (const auto* list : {&config.command, &config.patterns, &config.keep, &config.inputs}) {
    add_fields(out, *list);
  }
  for (const Glob& glob : config.paths.globs()) add_field(out, glob.text());
  for (const int status : config.ok_exit) out += fmt::format("ok{} ", status);
  for (const int status : config.findings_exit) out += fmt::format("findings{} ", status);
  for (const auto& [key, value] : config.environment) {
    add_field(out, key);
    add_field(out, value);
  }
  out +=
      fmt::format("{} {} {} {} {} {} {} {} {}", static_cast<int>(config.severity), config.max_bytes,
                  config.allow_comments, config.is_per_file, static_cast<int>(config.parser),
                  config.only_new, config.fix, config.allows_network, config.max_output_bytes);
  return out;
}

void FindingSink::add(std::string_view rule, uint32_t line, uint32_t column,
                      std::string_view message, std::string remedy) {
  Finding finding;
  finding.rule = rule;
  finding.severity = config_->severity;
  finding.path = path_;
  finding.line = line;
  finding.column = column;
  finding.message = printable_line(message, kMaxFindingBytes);
  finding.remedy = std::move(remedy);
  out_->push_back(std::move(finding));
}

void FindingSink::warn(std::string_view rule, uint32_t line, uint32_t column,
                       std::string_view message, std::string remedy) {
  add(rule, line, column, message, std::move(remedy));
  out_->back().severity = std::min(out_->back().severity, Severity::kWarning);
}

std::pair<uint32_t, uint32_t> FindingSink::place(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  const std::string_view head = text.substr(0, offset);
  const auto line = static_cast<uint32_t>(std::count(head.begin(), head.end(), '\n') + 1);
  const size_t newline = head.rfind('\n');
  const size_t begin = newline == head.npos ? 0 : newline + 1;
  return {line, static_cast<uint32_t>(offset - begin + 1)};
}

FileValidator::FileValidator(const ValidatorConfig& config, ValidatorCache* cache, Options options)
    : config_(config), cache_(cache), options_(std::move(options)), paths_(config.paths) {
  if (config_.has_paths) return;
  auto own = GlobList::parse(options_.default_paths);
  GALLEY_CHECK(own.has_value());
  paths_ = std::move(*own);
}

bool FileValidator::selects(const Change& change) const {
  return change.after.kind == FileKind::kRegular && paths_.selects(change.path);
}

bool FileValidator::concerns(const ChangeSet& changes, const std::string& agent) const {
  return names_agent(config_.agents, agent) &&
         std::any_of(changes.begin(), changes.end(),
                     [this](const Change& change) { return selects(change); });
}

ContentId FileValidator::key_of(const ProposedTree& tree) const {
  ContentHasher hasher;
  hasher.update(config_fingerprint(config_));
  hasher.update(fingerprint());
  std::string line = fmt::format("\nversion {}\n", options_.version);
  for (const Change& change : tree.proposal().changes()) {
    if (!selects(change)) continue;
    add_field(line, change.path.str());
    add_field(line, change.renamed_from ? change.renamed_from->str() : "");
    const Change& origin = origin_of(tree, change);
    for (const Node* node : {&origin.before, &change.after}) {
      line += fmt::format(" {} {:o} ", static_cast<int>(node->kind), node->mode);
      const auto& bytes = node->content.bytes();
      line.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    hasher.update(line);
    line.clear();
  }
  return hasher.finish();
}

Result<std::optional<FileValidator::LoadedFile>> FileValidator::load(const ProposedTree& tree,
                                                                     const Change& change,
                                                                     FindingSink& sink) const {
  if (change.after.size > options_.max_bytes) {
    sink.add("validator.too_large", 0, 0,
             fmt::format("too large to be checked by {} ({} bytes, at most {})", config_.name,
                         change.after.size, options_.max_bytes),
             "leave the file out of this validator's `paths`");
    return std::nullopt;
  }
  GALLEY_ASSIGN(Content text, tree.read(change.path));
  if (options_.skips_binaries && is_binary(*text)) return std::nullopt;
  return LoadedFile{&change, &origin_of(tree, change), std::move(text)};
}

Result<void> FileValidator::check(const CheckedFile& /*file*/, FindingSink& /*sink*/) const {
  return {};
}

Result<void> FileValidator::check_change(const ProposedTree& tree, const Change& change,
                                         std::vector<Finding>& findings) const {
  FindingSink sink(config_, change.path.str(), findings);
  GALLEY_ASSIGN(const auto file, load(tree, change, sink));
  if (!file) return {};
  const Node& old = file->origin->before;
  Content before = std::make_shared<const std::string>();
  const bool existed = old.kind == FileKind::kRegular;
  if (existed) {
    GALLEY_ASSIGN(before, tree.read_before(*file->origin));
  }
  return check({change, *file->text, *before, existed, old.mode}, sink);
}

/// Judges files in parallel, which matters for thousands of files; findings stay in order.
Result<void> FileValidator::check_all(const ValidatorContext& context,
                                      const std::vector<const Change*>& selected,
                                      std::vector<Finding>& findings) const {
  constexpr size_t kJudgedTogether = 8;
  std::vector<std::vector<Finding>> found(selected.size());
  std::vector<std::optional<Error>> errors(selected.size());
  for_each_block(selected.size(), kJudgedTogether, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end && !context.should_stop(); ++i) {
      const auto checked = check_change(context.tree, *selected[i], found[i]);
      if (!checked) errors[i] = checked.error();
    }
  });
  if (context.should_stop() && !selected.empty()) {
    return fail(ErrorKind::kTimeout, "validator.stopped", "it was stopped before it was done");
  }
  for (size_t i = 0; i < selected.size(); ++i) {
    if (errors[i]) return fail(*errors[i]);
    std::move(found[i].begin(), found[i].end(), std::back_inserter(findings));
  }
  return {};
}

Result<ValidatorReport> FileValidator::validate(const ValidatorContext& context) {
  // Two keys for one result: the proposal's id, which costs nothing, and the hash of the selected
  // files, which still matches when only other files have changed.
  ContentId whole;
  ContentId selected;
  if (cache_ != nullptr) {
    whole = ContentId::of(config_fingerprint(config_) + fingerprint() +
                          context.tree.proposal().id().hex() + std::to_string(options_.version));
    if (auto known = cache_->get(whole)) return ValidatorReport{std::move(*known), true};
    selected = key_of(context.tree);
    if (auto known = cache_->get(selected)) return ValidatorReport{std::move(*known), true};
  }
  ValidatorReport report;
  std::vector<const Change*> selected_changes;
  for (const Change& change : context.tree.proposal().changes()) {
    if (selects(change)) selected_changes.push_back(&change);
  }
  GALLEY_TRY(check_all(context, selected_changes, report.findings));
  if (cache_ != nullptr) {
    cache_->put(whole, report.findings);
    cache_->put(selected, report.findings);
  }
  return report;
}

}  // namespace galley
