#include "engine/pipeline/disk_validator_cache.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace galley {
namespace {

std::optional<RelPath> answer_path(const ContentId& key) {
  auto path = RelPath::parse(key.hex());
  return path ? std::optional(*path) : std::nullopt;
}

}  // namespace

DiskValidatorCache::DiskValidatorCache(std::unique_ptr<WritableDirectory> directory)
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
    if (!directory_->remove_file(files[i].second)) return;  // try again next time
  }
}

std::optional<std::vector<Finding>> DiskValidatorCache::get(const ContentId& key) {
  if (auto known = memory_.get(key)) return known;
  const auto path = answer_path(key);
  if (!path) return {};
  const auto text = read_file(*directory_, *path, limits::kMaxJsonBytes);
  if (!text) return {};
  auto findings = findings_from_json(*text);
  if (findings) memory_.put(key, *findings);
  return findings;
}

void DiskValidatorCache::put(const ContentId& key, const std::vector<Finding>& findings) {
  memory_.put(key, findings);
  const auto path = answer_path(key);
  const auto part = RelPath::parse(key.hex() + ".part");
  if (!path || !part) return;
  // Writes to a temporary file, so that no reader sees a partial result. A failure only means that
  // the validator runs again.
  auto file = directory_->open_writable_file(*part, OpenMode::kCreateNew);
  if (!file) return;
  if (!(*file)->write_at(0, findings_to_json(findings)) ||
      !directory_->rename(*part, *directory_, *path, RenameMode::kReplace)) {
    const auto removed = directory_->remove_file(*part);
    static_cast<void>(removed);
  }
}

}  // namespace galley
