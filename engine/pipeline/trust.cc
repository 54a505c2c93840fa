#include "engine/pipeline/trust.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file_mode.h"
#include "base/limits.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/replace_file.h"
#include "staging/fs/user_state.h"
#include "tools/json_input.h"

namespace galley {
namespace {

constexpr uint64_t kMaxTrustBytes = uint64_t{64} << 10U;
constexpr const char* kTrustFormat = "galley.trust/1";
constexpr const char* kRulesFormat = "galley.rules/1";
constexpr int kMaxRulesSteps = 100;  // between two pushes

Result<std::vector<ContentId>> hashes_of(const std::string& text) {
  std::vector<ContentId> hashes;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(", ", at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const auto hash = ContentId::from_hex(word);
    if (!hash) {
      return fail(ErrorKind::kInvalid, "trust.bad_hash",
                  "GALLEY_TRUST takes hashes of 64 hexadecimal digits with commas between them, as "
                  "`galley trust --show` prints them");
    }
    hashes.push_back(*hash);
  }
  return hashes;
}

/// Whether a file or folder in a home directory is missing, or is not readable because the home
/// belongs to another user than this process (as with sudo).
bool says_nothing(const Error& error) {
  return error.kind == ErrorKind::kNotFound || error.reason == "path.not_directory" ||
         error.os_error == EACCES;
}

/// Returns nullptr for a folder that is missing or not readable.
Result<std::unique_ptr<Directory>> open_if_there(const std::string& path) {
  auto opened = open_disk_directory(path);
  if (!opened && says_nothing(opened.error())) return std::unique_ptr<Directory>();
  return opened;
}

Result<UserConfig> read_user_config(const std::string& path) {
  const size_t slash = path.rfind('/');
  GALLEY_ASSIGN(const auto folder, open_if_there(path.substr(0, slash)));
  if (folder == nullptr) return UserConfig();
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(path.substr(slash + 1)));
  auto file = folder->open_file(name);
  if (!file && says_nothing(file.error())) return UserConfig();
  if (!file) return fail(file.error());
  GALLEY_ASSIGN(const FileStat stat, (*file)->stat());
  if (!is_trusted_owner(stat.uid)) {
    return fail(ErrorKind::kRefused, "config.foreign_owner",
                path + " belongs to another user (" + std::to_string(stat.uid) +
                    "); your own configuration has to be yours");
  }
  GALLEY_ASSIGN(const std::string text, read_file(*folder, name, limits::kMaxConfigBytes));
  return parse_user_config(text, path);
}

Result<RelPath> record_name(const std::string& root) {
  return RelPath::parse(ContentId::of(root).hex());
}

std::optional<TrustRecord> parse_trust_record(const std::string& text) {
  try {
    const auto document = nlohmann::json::parse(text);
    if (document.at("format") != kTrustFormat) return {};
    const auto hash = ContentId::from_hex(document.at("hash").get<std::string>());
    if (!hash) return {};
    const auto before = ContentId::from_hex(document.value("before", ""));
    return TrustRecord{document.at("root").get<std::string>(), *hash,
                       document.at("given_ns").get<int64_t>(), before.value_or(ContentId())};
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

/// Returns nothing if the record is missing, unreadable or owned by another user. Then nothing is
/// trusted.
Result<std::optional<TrustRecord>> read_trust_record(const Directory& folder, const RelPath& name) {
  GALLEY_ASSIGN(const auto text, read_own_file(folder, name, kMaxTrustBytes));
  return text ? parse_trust_record(*text) : std::nullopt;
}

}  // namespace

bool is_safe_directory(const UserConfig& config, std::string_view root) {
  const auto names = [&](std::string_view entry) {
    if (entry == "*") return true;
    if (!entry.ends_with("/*")) return entry == root;
    entry.remove_suffix(2);
    return is_at_or_below(root, entry) && root != entry;
  };
  return std::any_of(config.safe_directories.begin(), config.safe_directories.end(), names);
}

Result<UserSettings> load_user_settings() {
  UserSettings settings;
  const std::string config_folder = own_folder("XDG_CONFIG_HOME", "/.config");
  const std::string state_folder = own_folder("XDG_STATE_HOME", "/.local/state");
  if (!config_folder.empty()) settings.config_path = config_folder + "/config.toml";
  if (!state_folder.empty()) {
    settings.trust_path = state_folder + "/trust";
    settings.tools_path = state_folder + "/tools";
  }
  const char* trusted = std::getenv("GALLEY_TRUST");
  GALLEY_ASSIGN(settings.trusted, hashes_of(trusted == nullptr ? "" : trusted));
  if (!settings.config_path.empty()) {
    GALLEY_ASSIGN(settings.config, read_user_config(settings.config_path));
  }
  return settings;
}

Result<bool> is_trusted(const UserSettings& settings, const std::string& root,
                        const TrustPart& part, RulesOf whose) {
  if (part.is_empty() || settings.trusts_workspaces) return true;
  const ContentId hash = part.hash();
  const auto& given = settings.trusted;
  if (std::find(given.begin(), given.end(), hash) != given.end()) return true;
  const auto& folders = settings.config.trusted_folders;
  // Anyone who edits in the workspace can change a personal configuration inside it.
  if (!is_at_or_below(settings.config_path, root) &&
      std::any_of(folders.begin(), folders.end(),
                  [&](const std::string& folder) { return is_at_or_below(root, folder); })) {
    return true;
  }
  if (settings.trust_path.empty() || is_at_or_below(settings.trust_path, root)) return false;
  GALLEY_ASSIGN(const auto folder, open_if_there(settings.trust_path));
  if (folder == nullptr) return false;
  GALLEY_ASSIGN(const RelPath name, record_name(root));
  GALLEY_ASSIGN(const auto record, read_trust_record(*folder, name));
  if (!record) return false;
  return record->hash == hash || (whose == RulesOf::kBase && record->before == hash);
}

namespace {

Result<void> keep_record(const UserSettings& settings, const std::string& root, const RelPath& name,
                         const nlohmann::ordered_json& document) {
  if (settings.trust_path.empty() || is_at_or_below(settings.trust_path, root)) {
    return fail(ErrorKind::kRefused, "trust.no_place",
                settings.trust_path.empty()
                    ? std::string("there is no home directory to record a trust in: set HOME or "
                                  "XDG_STATE_HOME, or give GALLEY_TRUST")
                    : "trust is recorded in " + settings.trust_path +
                          ", inside the workspace itself, where every edit could forge it: set "
                          "XDG_STATE_HOME to a folder outside, or give GALLEY_TRUST");
  }
  GALLEY_ASSIGN(const auto folder, make_disk_directory(settings.trust_path, kPrivateDirectory));
  return replace_shared_file(*folder, name.str(), json_text(document) + "\n");
}

/// The record's name for the approval of these bytes.
Result<RelPath> rules_record_name(const RulesChange& change) {
  return record_name(change.repository + '\0' + change.path + '\0' + change.after);
}

/// A record of a changed rule.
struct RulesRecord {
  std::string before;  ///< the hash of the bytes that the change replaced
  RulesApproval approval;
  RelPath name = RelPath::root();
};

std::optional<RulesRecord> parse_rules_record(const std::string& text) {
  try {
    const auto document = nlohmann::json::parse(text);
    if (document.at("format") != kRulesFormat) return {};
    RulesRecord record;
    document.at("before").get_to(record.before);
    record.approval.root = document.value("root", "");
    record.approval.path = document.value("path", "");
    return record;
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

/// Returns the records of approved changes in the folder, oldest first.
Result<std::vector<RulesRecord>> rules_records(const Directory& folder) {
  GALLEY_ASSIGN(const auto entries, folder.list());
  std::vector<RulesRecord> records;
  for (const DirectoryEntry& entry : entries) {
    const auto name = RelPath::parse(entry.name);
    if (!name || !ContentId::from_hex(entry.name)) continue;
    GALLEY_ASSIGN(const auto text, read_own_file(folder, *name, kMaxTrustBytes));
    auto record = parse_rules_record(text.value_or(""));
    if (!record) continue;
    const auto stat = folder.stat(*name);
    if (!stat || stat->kind == FileKind::kAbsent) continue;  // another process dropped it
    record->approval.given_ns = stat->mtime_ns;
    record->name = *name;
    records.push_back(*std::move(record));
  }
  std::stable_sort(records.begin(), records.end(), [](const RulesRecord& a, const RulesRecord& b) {
    return a.approval.given_ns < b.approval.given_ns;
  });
  return records;
}

}  // namespace

Result<void> record_trust(const UserSettings& settings, const TrustRecord& record) {
  GALLEY_ASSIGN(const RelPath name, record_name(record.root));
  nlohmann::ordered_json document = {{"format", kTrustFormat},
                                     {"root", record.root},
                                     {"hash", record.hash.hex()},
                                     {"given_ns", record.given_ns}};
  GALLEY_ASSIGN(const auto folder, settings.trust_path.empty()
                                       ? std::unique_ptr<Directory>()
                                       : open_if_there(settings.trust_path));
  if (folder != nullptr) {
    GALLEY_ASSIGN(const auto old, read_trust_record(*folder, name));
    const ContentId before = !old                       ? ContentId()
                             : old->hash == record.hash ? old->before
                                                        : old->hash;
    if (!before.is_none()) document["before"] = before.hex();
  }
  return keep_record(settings, record.root, name, document);
}

Result<void> record_rules_change(const UserSettings& settings, const RulesChange& change) {
  GALLEY_ASSIGN(const RelPath name, rules_record_name(change));
  GALLEY_TRY(keep_record(settings, change.root, name,
                         {{"format", kRulesFormat},
                          {"root", change.root},
                          {"path", change.path},
                          {"before", change.before}}));
  GALLEY_ASSIGN(const auto folder, open_writable_disk_directory(settings.trust_path));
  GALLEY_ASSIGN(const auto records, rules_records(*folder));
  for (size_t i = 0; i + kMaxRulesApprovals < records.size(); ++i) {
    const auto removed = folder->remove_file(records[i].name);
    if (!removed && removed.error().kind != ErrorKind::kNotFound) return removed;
  }
  return {};
}

Result<std::vector<RulesApproval>> list_rules_approvals(const UserSettings& settings) {
  std::vector<RulesApproval> approvals;
  if (settings.trust_path.empty()) return approvals;
  GALLEY_ASSIGN(const auto folder, open_if_there(settings.trust_path));
  if (folder == nullptr) return approvals;
  GALLEY_ASSIGN(auto records, rules_records(*folder));
  for (RulesRecord& record : records) approvals.push_back(std::move(record.approval));
  return approvals;
}

Result<bool> is_known_rules_change(const UserSettings& settings, RulesChange change) {
  if (settings.trust_path.empty() || is_at_or_below(settings.trust_path, change.root)) return false;
  GALLEY_ASSIGN(const auto folder, open_if_there(settings.trust_path));
  for (int step = 0; folder != nullptr && step < kMaxRulesSteps; ++step) {
    GALLEY_ASSIGN(const RelPath name, rules_record_name(change));
    GALLEY_ASSIGN(const auto text, read_own_file(*folder, name, kMaxTrustBytes));
    auto record = parse_rules_record(text.value_or(""));
    if (!record) return false;
    if (record->before == change.before) return true;
    change.after = std::move(record->before);
  }
  return false;
}

Result<std::vector<TrustRecord>> list_trust(const UserSettings& settings) {
  std::vector<TrustRecord> records;
  if (settings.trust_path.empty()) return records;
  GALLEY_ASSIGN(const auto folder, open_if_there(settings.trust_path));
  if (folder == nullptr) return records;
  GALLEY_ASSIGN(const auto entries, folder->list());
  for (const DirectoryEntry& entry : entries) {
    const auto name = RelPath::parse(entry.name);
    if (!name || !ContentId::from_hex(entry.name)) continue;
    GALLEY_ASSIGN(auto record, read_trust_record(*folder, *name));
    if (record) records.push_back(*std::move(record));
  }
  std::sort(records.begin(), records.end(),
            [](const TrustRecord& a, const TrustRecord& b) { return a.root < b.root; });
  return records;
}

Result<bool> revoke_trust(const UserSettings& settings, const std::string& root) {
  if (settings.trust_path.empty()) return false;
  const auto folder = open_writable_disk_directory(settings.trust_path);
  if (!folder && says_nothing(folder.error())) return false;
  if (!folder) return fail(folder.error());
  GALLEY_ASSIGN(const RelPath name, record_name(root));
  auto removed = (*folder)->remove_file(name);
  if (removed) return true;
  if (removed.error().kind == ErrorKind::kNotFound) return false;
  return fail(removed.error());
}

}  // namespace galley
