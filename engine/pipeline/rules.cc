#include "engine/pipeline/rules.h"

#include <utility>

#include "base/limits.h"
#include "engine/calls/early_policy.h"
#include "engine/pipeline/grant_store.h"
#include "engine/pipeline/persistent_state.h"
#include "engine/validators/factory.h"
#include "staging/fs/disk_directory.h"

namespace galley {
namespace {

bool is_flaw(const Error& error) {
  return error.kind == ErrorKind::kInvalid || error.kind == ErrorKind::kQuota;
}

/// Returns the configuration, or strict defaults and the flaw if the options tolerate one.
Result<Config> read_usable_config(const Directory& root, const WorkspaceOptions& options,
                                  std::optional<Error>& flaw) {
  if (!options.config_file.empty()) return load_other_config(options.config_file);
  auto config = load_config(root);
  if (!options.tolerates_bad_configuration) return config;
  if (config) {
    if (const auto made = check_validators(*config, root); !made) config = fail(made.error());
  }
  if (config || !is_flaw(config.error())) return config;
  flaw = config.error();
  return strict_defaults();
}

/// As Config::text, without parsing.
Result<ContentId> text_of(const Directory& root) {
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(kConfigFileName));
  GALLEY_ASSIGN(const FileStat stat, root.stat(path));
  if (stat.kind == FileKind::kAbsent) return ContentId();
  GALLEY_ASSIGN(const std::string text, read_file(root, path, limits::kMaxConfigBytes));
  return ContentId::of(text);
}

/// Two changes within one tick of the file system's clock leave the same time stamp. So a folder
/// that changed less than this ago is read again, as git does with its index.
constexpr int64_t kSettledAfterNs = 2'000'000'000;

}  // namespace

Result<std::vector<std::string>> Rules::read(const Place& place, const WorkspaceOptions& options) {
  std::vector<std::string> notices;
  const Sources now = sources(place);
  std::optional<Error> found;
  GALLEY_ASSIGN(Config fresh, read_usable_config(place.files(), options, found));
  const TrustPart part = trust_part_of(fresh);
  GALLEY_ASSIGN(const bool counts, is_trusted(user, place.path, part));
  config = std::move(fresh);
  flaw = std::move(found);
  trust_part = part;
  text_ = flaw ? text_of(place.files()).value_or(ContentId()) : config.text;
  is_trusted_ = counts;
  const std::lock_guard guard(mutex_);
  last_seen_ = now;
  trust_notice.clear();
  if (!counts) {
    remove_untrusted(config);
    trust_notice = untrusted_notice(config, "galley trust");
    notices.push_back(trust_notice);
  }
  for (const auto& one : options.validators) config.validators.push_back(*one);
  config.grants = grant_book_;
  config.configuration_is_editable |= user.config.edits_configuration;
  config.agent_files_are_editable |= user.config.edits_configuration;
  // Of the person, not of galley.toml, which a pull may change.
  config.hook.mode = user.config.hook_mode.value_or(config.hook.mode);
  config.hook.asks = config.hook.asks || user.config.hook_asks;
  for (ValidatorConfig& validator : config.validators) validator.only_new |= options.only_new;
  return notices;
}

Rules::Sources Rules::sources(const Place& place) const {
  const auto stat_of = [](const Result<FileStat>& stat) {
    return stat ? std::optional(*stat) : std::nullopt;
  };
  Sources now;
  now.seen_ns = SystemClock().wall_ns();
  if (const auto name = RelPath::parse(kConfigFileName)) {
    now.file = stat_of(place.files().stat(*name));
  }
  if (!user.trust_path.empty()) now.trust = stat_of(stat_disk_directory(user.trust_path));
  return now;
}

bool Rules::Sources::prove_unchanged_since(const Sources& other) const {
  const auto had_settled = [&other](const std::optional<FileStat>& stat) {
    return !stat || other.seen_ns - stat->ctime_ns > kSettledAfterNs;
  };
  return file == other.file && trust == other.trust && had_settled(file) && had_settled(trust);
}

bool Rules::are_outdated(const Place& place, const WorkspaceOptions& options) const {
  if (place.tree != nullptr || !options.config_file.empty()) return false;
  const Sources now = sources(place);
  {
    const std::lock_guard guard(mutex_);
    if (now.prove_unchanged_since(last_seen_)) return false;
  }
  const auto text = text_of(place.files());
  if (!text || *text != text_) return true;
  const auto counts = is_trusted(user, place.path, trust_part);
  if (!counts || *counts != is_trusted_) return true;
  const std::lock_guard guard(mutex_);
  last_seen_ = now;
  return false;
}

Result<void> Rules::refresh_grants(const PersistentState& persistent) const {
  if (persistent.state() == nullptr) return {};
  const GrantStore grants(*persistent.state());
  const std::lock_guard guard(mutex_);
  GALLEY_ASSIGN(const FileStat now, grants.stat());
  if (grants_seen_ && *grants_seen_ == now) return {};
  const bool is_settled =
      now.kind == FileKind::kAbsent || SystemClock().wall_ns() - now.ctime_ns > kSettledAfterNs;
  grants_seen_ = is_settled ? std::optional(now) : std::nullopt;
  const auto all = grants.list();
  auto pages = all ? pages_of(*all) : Result<GrantBook::Pages>(all.error());
  if (pages) {
    grant_book_->replace(*std::move(pages));
    return {};
  }
  grants_seen_.reset();
  grant_book_->revoke_everything();
  return fail(pages.error());
}

ToolCaller Rules::caller(const std::string& agent, const std::string& session) const {
  const EarlyPolicy early(config, Principals(agent), nullptr);
  return {agent, session, [early](std::string_view needed) { return early.gives(needed); }};
}

Config strict_defaults() {
  Config config;
  config.file = kConfigFileName;
  config.configuration_is_editable = true;  // with an approval, like everything else
  config.policy.default_decision = Decision::kAsk;
  config.policy.mode = SecurityMode::kStrict;
  AgentProfile& everybody = config.agents["*"];
  everybody.name = "*";
  everybody.has_capabilities = true;
  return config;
}

Result<void> check_validators(const Config& config, const Directory& root) {
  GALLEY_TRY(make_validators(config, root, nullptr, nullptr));
  return {};
}

Result<std::optional<Error>> proposed_configuration_flaw(const ProposedTree& tree) {
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(kConfigFileName));
  const Change* change = tree.change(path);
  if (change == nullptr || change->after.kind == FileKind::kAbsent) return std::optional<Error>();
  if (change->after.kind != FileKind::kRegular) {
    return std::optional(Error{ErrorKind::kInvalid, "config.not_a_file",
                               "galley.toml would not be a regular file", path.str(), 0});
  }
  if (change->after.size > limits::kMaxConfigBytes) {
    return std::optional(
        Error{ErrorKind::kInvalid, "limit.config_size",
              "galley.toml: larger than " + std::to_string(limits::kMaxConfigBytes) + " bytes",
              path.str(), 0});
  }
  GALLEY_ASSIGN(const Content content, tree.read(path));
  const auto config = parse_config(*content, kConfigFileName);
  if (!config) return std::optional(config.error());
  if (const auto made = check_validators(*config, tree.workspace()); !made) {
    return std::optional(made.error());
  }
  return std::optional<Error>();
}

}  // namespace galley
