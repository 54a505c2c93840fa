#include "engine/pipeline/run_capture.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/calls/guarded_runner.h"
#include "engine/commit/history_reader.h"
#include "engine/commit/writer_lock.h"
#include "engine/stages/run_basis.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/fs/user_state.h"
#include "staging/git/git_files.h"
#include "staging/git/ignore_files.h"
#include "staging/sandbox/layer_homes.h"
#include "staging/sandbox/layer_objects.h"

namespace galley {

namespace {

constexpr int kMaxCaptures = 8;

/// Paths whose base is not on disk, and for those in the history the transaction that has the
/// content.
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
    // Pruned in the meantime, or damaged. absorb_layer reports changes on disk without a known
    // base.
    if (!committed && committed.error().kind == ErrorKind::kNotFound) continue;
    if (!committed && committed.error().reason == "journal.damaged") continue;
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

/// The contents of a stage, and the pre-images in the history. A pre-image is copied to the stage
/// when it is first read, for the diff, renames and merges.
class WithPreImages final : public ContentStore {
 public:
  WithPreImages(std::shared_ptr<ContentStore> stage, const StateDirectory& state,
                const Bases& bases)
      : stage_(std::move(stage)), state_(state) {
    for (const auto& [path, id] : bases.pre_images) {
      const Node& node = bases.entries.at(path).before;
      if (is_file_or_link(node)) sources_.emplace(node.content, id);
    }
  }

  Result<void> keep(const ContentId& id, const Content& content) override {
    return stage_->keep(id, content);
  }

  Result<void> copy(const ContentId& id, const Directory& from, const RelPath& name) override {
    return stage_->copy(id, from, name);
  }

  Result<Content> get(const ContentId& id) const override {
    auto staged = stage_->get(id);
    const auto source = sources_.find(id);
    if (staged || source == sources_.end()) return staged;
    GALLEY_ASSIGN(const CommittedTransaction committed, load_committed(state_, source->second));
    GALLEY_ASSIGN(Content content, committed.store->get(id));
    GALLEY_TRY(stage_->keep(id, content));
    return content;
  }

 private:
  std::shared_ptr<ContentStore> stage_;
  const StateDirectory& state_;
  std::map<ContentId, TxId> sources_;
};

/// Whether a layer decides the contents of a path: it has the path, or something above the path
/// that hides the lower tree.
Result<bool> holds(const Directory& layer, const RelPath& path) {
  std::vector<RelPath> way;
  for (RelPath at = path; !at.is_root(); at = at.parent()) way.push_back(at);
  for (auto at = way.rbegin(); at != way.rend(); ++at) {
    GALLEY_ASSIGN(const FileStat stat, layer.stat(*at));
    if (stat.kind == FileKind::kAbsent) return false;
    if (stat.kind != FileKind::kDirectory) return true;
    GALLEY_ASSIGN(const bool shows_nothing, is_opaque(layer, *at));
    if (shows_nothing) return true;
  }
  return true;
}

/// Whether the program wrote to the repository of a linked work tree or submodule.
bool wrote_to_git(const RunFolder& folder) {
  const auto layer = folder.directory().open_directory(*RelPath::parse("git/upper"));
  const auto entries =
      layer ? (*layer)->list() : Result<std::vector<DirectoryEntry>>(layer.error());
  return entries && !entries->empty();
}

/// The bases that this capture found on disk. If another program saves one of these files later,
/// the run has still seen the content of now. Without this note, every difference would count as a
/// change of the run. Contents go into `store`.
Result<Overlay::Entries> new_bases(const Directory& workspace, const Overlay& overlay,
                                   const Overlay::Entries& known, const AbsorbReport& report,
                                   ContentStore& store) {
  Overlay::Entries bases;
  for (const auto& [path, node] : report.copies) {
    Overlay::Entry& base = bases[path];
    base.before = base.now = node;
  }
  for (const auto& [path, entry] : overlay.entries()) {
    const bool is_seen_on_disk = entry.base.inode != 0 && !known.contains(path);
    const bool is_change = entry.before.kind == FileKind::kRegular && entry.before != entry.now;
    if (!is_seen_on_disk || !is_change) continue;
    const auto disk = read_from_disk(workspace, path, 0);
    if (!disk || disk->id != entry.before.content) continue;  // saved since
    const auto kept = disk->content == nullptr ? store.copy(disk->id, workspace, path)
                                               : store.keep(disk->id, disk->content);
    if (!kept && kept.error().reason == "stage.content_changed") continue;  // saved just now
    if (!kept) return fail(kept.error());
    Overlay::Entry& base = bases[path];
    base.before = base.now = entry.before;
  }
  return bases;
}

/// The rule without the paths that have a base in the run's basis: they were proposed before, or an
/// editor's agent named them in a write (AcpRun).
IgnoreRule without_based(const IgnoreRule& ignore, const Bases& bases) {
  if (!ignore) return ignore;
  return [&ignore, &bases](const RelPath& path, bool is_directory,
                           const Deadline& deadline) -> Result<IgnoreAnswer> {
    const auto at = bases.entries.lower_bound(path);
    const auto is_based = [&](const auto& base) { return !bases.pre_images.contains(base->first); };
    if (at != bases.entries.end() && at->first == path && is_based(at)) {
      return IgnoreAnswer::kCounts;
    }
    GALLEY_ASSIGN(const IgnoreAnswer answer, ignore(path, is_directory, deadline));
    if (answer != IgnoreAnswer::kIgnored || !is_directory) return answer;
    const std::string prefix = path.str() + "/";
    for (auto below = at; below != bases.entries.end(); ++below) {
      const bool is_below = below->first.str().starts_with(prefix);
      if (is_below && is_based(below)) return IgnoreAnswer::kHoldsTracked;
      if (!is_below && below->first.str() > prefix) break;
    }
    return answer;
  };
}

/// The rule without the paths in the index of the run, as after `git add -f`: commits have them.
IgnoreRule without_added(IgnoreRule ignore, const RunFolder& folder, const std::string& workspace) {
  const GitFiles git(workspace, effective_user());
  const auto places = ignore ? git.find() : std::nullopt;
  if (!places || places->work_tree != workspace) return ignore;
  const auto own = absolute_path(places->own);
  const auto common = absolute_path(places->common);
  if (!own || !common || !own->starts_with(*common)) return ignore;
  const bool is_inside = places->own == workspace + "/.git";
  const std::string layer = is_inside ? "upper/.git" : "git/upper" + own->substr(common->size());
  const auto tracked = std::make_shared<std::optional<TrackedPaths>>();
  const auto read = [&folder, layer](const std::string& name) {
    const auto file = RelPath::parse(layer + "/" + name);
    const auto text = file ? read_file(folder.directory(), *file, IgnoreFiles::kMaxIndexBytes)
                           : fail(file.error());
    return text ? *text : std::string();
  };
  return [=, ignore = std::move(ignore)](const RelPath& path, bool is_directory,
                                         const Deadline& deadline) -> Result<IgnoreAnswer> {
    GALLEY_ASSIGN(const IgnoreAnswer answer, ignore(path, is_directory, deadline));
    if (answer != IgnoreAnswer::kIgnored) return answer;
    if (!*tracked) *tracked = TrackedPaths::read(read);
    if ((*tracked)->has(path.str())) return IgnoreAnswer::kCounts;
    const bool holds = is_directory && (*tracked)->has_below(path.str());
    return holds ? IgnoreAnswer::kHoldsTracked : answer;
  };
}

/// Whether the error means that the program changed a file during the capture.
bool is_in_motion(const Error& error) {
  return error.kind == ErrorKind::kNotFound || error.reason == "run.file_changes";
}

}  // namespace

Result<RunCapture> capture_run(WorkspaceState& workspace, const RunFolder& folder,
                               const std::shared_ptr<ContentStore>& store, const IgnoreRule& ignore,
                               CaptureUse use) {
  const bool is_live = use != CaptureUse::kOver;
  const StateDirectory& state = *workspace.persistent.state();
  GALLEY_ASSIGN(const RunNote note, folder.note());
  GALLEY_ASSIGN(const auto upper,
                folder.directory().open_writable_directory(*RelPath::parse("upper")));
  // Without the private directory, ignored files stay in the layer.
  const bool has_scratch = !is_live && is_layer_home(note.lower_home);
  AbsorbRules rules;
  rules.propose_ignored = workspace.rules.config.sandbox.propose_ignored || note.proposes_ignored;
  rules.began_ns = note.began_ns;
  rules.max_file_bytes = workspace.rules.config.sandbox.max_file_bytes;
  rules.empties_changed_bases = true;
  rules.leaves_special_files = true;
  rules.copies_contents = true;
  rules.is_live = !has_scratch;
  rules.reports_copies = use == CaptureUse::kLive;
  GALLEY_ASSIGN(const auto scratch,
                open_writable_disk_directory(has_scratch ? note.lower_home + "/scratch"
                                                         : workspace.persistent.own_path("runs")));
  GALLEY_ASSIGN(const WriterLock lock, workspace.persistent.lock());
  GALLEY_ASSIGN(const Bases bases, bases_of(folder, note, state));
  const IgnoreRule not_added = without_added(ignore, folder, workspace.place.path);
  rules.is_ignored = without_based(not_added, bases);
  GALLEY_ASSIGN(rules.unchanged_ns, unchanged_ns(folder));
  GALLEY_ASSIGN(const int64_t refreshed, refreshed_ns(folder));
  rules.refreshed_ns = std::max(refreshed, note.mounted_ns);
  if (is_live) GALLEY_TRY(begin_look(folder));
  const auto contents = std::make_shared<WithPreImages>(store, state, bases);
  for (int attempt = 1;; ++attempt) {
    Overlay overlay(workspace.place.files(), contents, workspace.place.clock());
    overlay.restore(bases.entries);
    rules.ended_ns = workspace.place.clock().wall_ns();
    auto report = absorb_layer(*upper, *scratch, overlay, rules);
    if (!report && is_live && is_in_motion(report.error()) && attempt < kMaxCaptures) continue;
    if (!report) return fail(report.error());
    RunCapture capture;
    capture.report = *std::move(report);
    if (wrote_to_git(folder)) ++capture.report.protected_paths;
    if (!capture.report.refused.empty()) return capture;
    for (const auto& [path, entry] : overlay.entries()) {
      if (entry.before == entry.now) continue;
      if (bases.pre_images.contains(path) && is_file_or_link(entry.before)) {
        GALLEY_TRY(contents->get(entry.before.content));
      }
      capture.entries.emplace(path, entry);
    }
    if (use == CaptureUse::kLive) {
      GALLEY_ASSIGN(
          const Overlay::Entries seen,
          new_bases(workspace.place.files(), overlay, bases.entries, capture.report, *contents));
      if (!seen.empty()) GALLEY_TRY(set_bases(folder, state, seen));
    }
    if (is_live && capture.entries.empty()) GALLEY_TRY(end_unchanged_look(folder));
    return capture;
  }
}

Result<Overlay::Entries> bases_of_run(const RunFolder& folder, const StateDirectory& state) {
  GALLEY_ASSIGN(const RunNote note, folder.note());
  GALLEY_ASSIGN(Bases bases, bases_of(folder, note, state));
  return std::move(bases.entries);
}

Result<void> rebase_left_run(WorkspaceState& workspace, const RunFolder& folder,
                             const std::shared_ptr<ContentStore>& store,
                             const std::string& position) {
  const StateDirectory& state = *workspace.persistent.state();
  GALLEY_ASSIGN(RunNote note, folder.note());
  GALLEY_ASSIGN(Bases bases, bases_of(folder, note, state));
  const WithPreImages contents(store, state, bases);
  GALLEY_ASSIGN(const auto upper, folder.directory().open_directory(*RelPath::parse("upper")));
  for (const auto& [path, id] : bases.pre_images) {
    const Node& before = bases.entries.at(path).before;
    GALLEY_ASSIGN(const bool is_held, holds(*upper, path));
    if (!is_held) {
      bases.entries.erase(path);
    } else if (is_file_or_link(before)) {
      GALLEY_TRY(contents.get(before.content));
    }
  }
  GALLEY_TRY(replace_basis(folder, bases.entries));
  note.history = position;
  return folder.write_note(note);
}

std::optional<Overlay::Entries> changes_of_live_run(WorkspaceState& workspace,
                                                    const std::string& tx) {
  const auto folder = RunFolder::open(*workspace.persistent.state(), tx);
  if (!folder) return std::nullopt;
  const auto is_live = folder->is_live();
  if (!is_live || !*is_live) return std::nullopt;
  auto capture = capture_run(workspace, *folder, make_memory_store(),
                             git_ignore_rule(workspace.place.path, workspace.place.clock()),
                             CaptureUse::kLook);
  if (!capture || !capture->report.refused.empty()) return std::nullopt;
  return std::move(capture->entries);
}

}  // namespace galley
