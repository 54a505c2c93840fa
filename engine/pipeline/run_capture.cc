#include "engine/pipeline/run_capture.h"

#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "engine/commit/history_reader.h"
#include "engine/commit/writer_lock.h"
#include "engine/stages/run_basis.h"
#include "staging/fs/disk_directory.h"
#include "staging/sandbox/layer_home.h"

namespace galley {
namespace {

constexpr int kMaxCaptures = 8;

/// Paths whose base is not on disk, and which transaction has the content of those of the history.
struct Bases {
  Overlay::Entries entries;
  std::map<RelPath, TxId> pre_images;
};

Result<Bases> bases_of(const RunFolder& folder, const RunNote& note, const StateDirectory& state) {
  Bases bases;
  GALLEY_ASSIGN(bases.entries, settled_basis(folder, state));
  const auto position = TxId::parse(note.history);
  GALLEY_ASSIGN(const auto ids, committed_ids(state));
  for (const TxId id : ids) {
    if (position && id <= *position) continue;
    auto committed = load_committed(state, id, ImageUse::kSkip);
    // Pruned meanwhile: what changed on disk without a trace is doubted when it is absorbed.
    if (!committed && committed.error().kind == ErrorKind::kNotFound) continue;
    if (!committed) return fail(committed.error());
    for (const Change& change : committed->changes) {
      Overlay::Entry entry;
      entry.before = entry.now = change.before;
      const bool is_first = bases.entries.emplace(change.path, std::move(entry)).second;
      if (is_first) bases.pre_images.emplace(change.path, id);
    }
  }
  return bases;
}

bool has_content(const Node& node) {
  return node.kind == FileKind::kRegular || node.kind == FileKind::kSymlink;
}

/// Takes pre-images of what the run changed out of the history: for the diff, and for merging.
Result<void> keep_pre_images(const StateDirectory& state, const Bases& bases,
                             const Overlay::Entries& changed, ContentStore& store) {
  std::map<TxId, CommittedTransaction> loaded;
  for (const auto& [path, entry] : changed) {
    const auto source = bases.pre_images.find(path);
    if (source == bases.pre_images.end() || !has_content(entry.before)) continue;
    auto known = loaded.find(source->second);
    if (known == loaded.end()) {
      GALLEY_ASSIGN(CommittedTransaction committed, load_committed(state, source->second));
      known = loaded.emplace(source->second, std::move(committed)).first;
    }
    GALLEY_ASSIGN(const Content content, known->second.store->get(entry.before.content));
    GALLEY_TRY(store.keep(entry.before.content, content));
  }
  return {};
}

/// What the program did to a file between two looks at it.
bool is_in_motion(const Error& error) {
  return error.kind == ErrorKind::kNotFound || error.reason == "run.file_changes";
}

}  // namespace

Result<RunCapture> capture_run(WorkspaceState& workspace, const RunFolder& folder,
                               const std::shared_ptr<ContentStore>& store, const IgnoreRule& ignore,
                               bool is_live) {
  const StateDirectory& state = *workspace.state_directory;
  GALLEY_ASSIGN(const RunNote note, folder.note());
  GALLEY_ASSIGN(const auto upper,
                folder.directory().open_writable_directory(*RelPath::parse("upper")));
  // Where the private directory is gone what git ignores is left in the layer.
  const bool has_scratch = !is_live && is_layer_home(note.lower_home);
  AbsorbRules rules;
  rules.is_ignored = ignore;
  rules.propose_ignored = workspace.config.sandbox.propose_ignored;
  rules.began_ns = note.began_ns;
  rules.forgets_bases = true;
  rules.copies_contents = true;
  rules.is_live = !has_scratch;
  GALLEY_ASSIGN(const auto scratch,
                open_writable_disk_directory(has_scratch ? note.lower_home + "/scratch"
                                                         : workspace.root_path + "/.galley/runs"));
  const std::chrono::milliseconds timeout(workspace.config.commit.lock_timeout_ms);
  GALLEY_ASSIGN(const WriterLock lock, WriterLock::take(state, workspace.clock(), timeout));
  GALLEY_ASSIGN(const Bases bases, bases_of(folder, note, state));
  for (int attempt = 1;; ++attempt) {
    Overlay overlay(workspace.root(), store, workspace.clock());
    overlay.restore(bases.entries);
    rules.ended_ns = workspace.clock().wall_ns();
    auto report = absorb_layer(*upper, *scratch, overlay, rules);
    if (!report && is_live && is_in_motion(report.error()) && attempt < kMaxCaptures) continue;
    if (!report) return fail(report.error());
    RunCapture capture;
    capture.report = *std::move(report);
    if (!capture.report.refused.empty()) return capture;
    for (const auto& [path, entry] : overlay.entries()) {
      if (entry.before != entry.now) capture.entries.emplace(path, entry);
    }
    GALLEY_TRY(keep_pre_images(state, bases, capture.entries, *store));
    return capture;
  }
}

}  // namespace galley
