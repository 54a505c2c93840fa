#include "engine/validators/validator_cache.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/limits.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr int kFormat = 2;

std::optional<RelPath> path_of(const ContentId& key) {
  auto path = RelPath::parse(key.hex());
  return path ? std::optional(*path) : std::nullopt;
}

json to_json(const Finding& finding) {
  return json::array({finding.rule, static_cast<int>(finding.severity), finding.path, finding.line,
                      finding.column, finding.message, finding.remedy, finding.output});
}

}  // namespace

std::string findings_to_json(const std::vector<Finding>& findings) {
  json list = json::array();
  for (const Finding& finding : findings) list.push_back(to_json(finding));
  const json document = {{"format", kFormat}, {"findings", std::move(list)}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<std::vector<Finding>> findings_from_json(std::string_view text) {
  try {
    const json document = json::parse(text);
    if (document.at("format") != kFormat) return {};
    std::vector<Finding> findings;
    for (const json& one : document.at("findings")) {
      const auto severity = one.at(1).get<unsigned>();
      if (severity > static_cast<unsigned>(Severity::kError)) return {};
      Finding finding;
      finding.rule = one.at(0).get<std::string>();
      finding.severity = static_cast<Severity>(severity);
      finding.path = one.at(2).get<std::string>();
      finding.line = one.at(3).get<uint32_t>();
      finding.column = one.at(4).get<uint32_t>();
      finding.message = one.at(5).get<std::string>();
      finding.remedy = one.at(6).get<std::string>();
      finding.output = one.at(7).get<std::string>();
      findings.push_back(std::move(finding));
    }
    return findings;
  } catch (const json::exception&) {
    return {};  // damaged: the validator runs again
  }
}

std::optional<std::vector<Finding>> MemoryValidatorCache::get(const ContentId& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : std::optional(found->second);
}

void MemoryValidatorCache::put(const ContentId& key, const std::vector<Finding>& findings) {
  const std::lock_guard lock(mutex_);
  if (!entries_.insert_or_assign(key, findings).second) return;
  if (order_.size() < kMaxEntries) {
    order_.push_back(key);
    return;
  }
  entries_.erase(order_[oldest_]);
  order_[oldest_] = key;
  oldest_ = (oldest_ + 1) % kMaxEntries;
}

DiskValidatorCache::DiskValidatorCache(std::unique_ptr<Directory> directory)
    : directory_(std::move(directory)) {
  drop_oldest();
}

void DiskValidatorCache::drop_oldest() {
  const auto entries = directory_->list();
  if (!entries || entries->size() <= kMaxFiles) return;
  std::vector<std::pair<int64_t, RelPath>> files;
  for (const DirectoryEntry& entry : *entries) {
    const auto path = RelPath::parse(entry.name);
    if (!path) continue;
    const auto stat = directory_->stat(*path);
    if (stat && stat->kind == FileKind::kRegular) files.emplace_back(stat->mtime_ns, *path);
  }
  std::sort(files.begin(), files.end());
  const size_t surplus = files.size() > kMaxFiles / 2 ? files.size() - kMaxFiles / 2 : 0;
  for (size_t i = 0; i < surplus; ++i) {
    if (!directory_->remove_file(files[i].second)) return;  // not ours to mend: try again next time
  }
}

std::optional<std::vector<Finding>> DiskValidatorCache::get(const ContentId& key) {
  if (auto known = memory_.get(key)) return known;
  const auto path = path_of(key);
  if (!path) return {};
  const auto text = read_file(*directory_, *path, limits::kMaxJsonBytes);
  if (!text) return {};
  auto findings = findings_from_json(*text);
  if (findings) memory_.put(key, *findings);
  return findings;
}

void DiskValidatorCache::put(const ContentId& key, const std::vector<Finding>& findings) {
  memory_.put(key, findings);
  const auto path = path_of(key);
  const auto part = RelPath::parse(key.hex() + ".part");
  if (!path || !part) return;
  // A half-written answer must not be read as a whole one; a failure here costs a run, no more.
  auto file = directory_->open_file(*part, OpenMode::kCreateNew);
  if (!file) return;
  if (!(*file)->write_at(0, findings_to_json(findings)) ||
      !directory_->rename(*part, *directory_, *path, RenameMode::kReplace)) {
    const auto removed = directory_->remove_file(*part);
    static_cast<void>(removed);
  }
}

}  // namespace galley
