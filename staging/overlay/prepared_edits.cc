#include "staging/overlay/prepared_edits.h"

#include <map>
#include <utility>

#include "base/hash.h"
#include "base/limits.h"
#include "base/parallel.h"
#include "staging/overlay/edited_content.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/overlay/stage_checks.h"

namespace galley {
namespace {

constexpr size_t kFilesInBlock = 64;  // enough to fill the lanes of content_ids()

/// The state of one file. Each step runs on one thread.
struct Work {
  const FileEdit* edit = nullptr;
  RelPath path = RelPath::root();
  std::optional<FileOnDisk> file;
  std::optional<GitOid> base_blob;
  std::optional<EditedFile> result;
};

bool changes_content(const FileEdit& edit) {
  return edit.whole || edit.binary || !edit.hunks.empty() || !edit.text_edits.empty();
}

/// Reads a block of files. The planner reports the error of an unreadable file.
void read_block(std::span<Work> block, const Directory& workspace, int64_t seen_ns) {
  std::vector<Work*> read;
  std::vector<std::string_view> contents;
  for (Work& work : block) {
    auto file = read_file_and_stat(workspace, work.path, limits::kMaxFileBytes);
    if (!file) continue;
    work.file.emplace(FileOnDisk{file->stat, seen_ns, {}, {}});
    work.file->content = std::make_shared<const std::string>(std::move(file->bytes));
    read.push_back(&work);
    contents.emplace_back(*work.file->content);
  }
  const auto ids = content_ids(contents);
  for (size_t i = 0; i < read.size(); ++i) read[i]->file->id = ids[i];
}

/// Computes git's names of those bases that their edits name.
void name_bases(std::span<Work> block) {
  std::vector<Work*> named;
  std::vector<std::string_view> contents;
  for (Work& work : block) {
    if (!work.file || !names_blob(work.edit->old_blob)) continue;
    named.push_back(&work);
    contents.emplace_back(*work.file->content);
  }
  const auto names = blob_names(contents);
  for (size_t i = 0; i < named.size(); ++i) named[i]->base_blob = names[i];
}

/// Places the edits of a block. An edit that does not fit is left to the planner, because its
/// report depends on earlier edits.
void place_block(std::span<Work> block, const StageOptions& options, bool is_reversed) {
  std::vector<Work*> placed;
  std::vector<std::string_view> contents;
  for (Work& work : block) {
    if (!work.file || !changes_content(*work.edit)) continue;
    EditedFile result;
    FileOutcome outcome;
    auto content =
        edited_content(*work.edit, work.path, *work.file->content,
                       {options, is_reversed, nullptr, result.leniencies, outcome, work.base_blob});
    if (!content || !outcome.failures.empty()) continue;
    result.content = std::make_shared<const std::string>(*std::move(content));
    result.placements = std::move(outcome.placements);
    work.result = std::move(result);
    placed.push_back(&work);
    contents.emplace_back(*work.result->content);
  }
  const auto ids = content_ids(contents);
  for (size_t i = 0; i < placed.size(); ++i) placed[i]->result->id = ids[i];
}

}  // namespace

PreparedEdits PreparedEdits::of(Overlay& overlay, std::span<const FileEdit> edits,
                                const StageOptions& options, bool is_reversed) {
  PreparedEdits prepared;
  if (edits.size() < kMinSharedItems) return prepared;
  std::vector<Work> works;
  works.reserve(edits.size());
  for (const FileEdit& edit : edits) {
    if (edit.op == FileOp::kCreate || !edit.other_path.empty()) continue;
    auto path = editable_path(edit.path, options.root);
    if (!path || overlay.entries().contains(*path)) continue;
    works.push_back({&edit, *std::move(path), {}, {}, {}});
  }
  // White space rules come from a callback of the caller, which may run only on this thread.
  const bool may_place = options.match.white_space == WhiteSpaceFix::kNoWarn;
  const int64_t seen_ns = overlay.clock().wall_ns();
  for_each_block(works.size(), kFilesInBlock, [&](size_t begin, size_t end) {
    const auto block = std::span(works).subspan(begin, end - begin);
    read_block(block, overlay.workspace(), seen_ns);
    if (!may_place) return;
    name_bases(block);
    place_block(block, options, is_reversed);
  });
  std::map<RelPath, FileOnDisk> files;
  for (Work& work : works) {
    if (!work.file) continue;
    if (work.result) {
      prepared.prepared_.emplace(work.edit, Prepared{work.file->content, *std::move(work.result)});
    }
    files.try_emplace(std::move(work.path), *std::move(work.file));
  }
  overlay.expect(std::move(files));
  return prepared;
}

std::optional<EditedFile> PreparedEdits::take(const FileEdit& edit, const Content& base) {
  const auto found = prepared_.find(&edit);
  if (found == prepared_.end()) return std::nullopt;
  if (found->second.base != base && *found->second.base != *base) return std::nullopt;
  EditedFile result = std::move(found->second.result);
  prepared_.erase(found);
  return result;
}

}  // namespace galley
