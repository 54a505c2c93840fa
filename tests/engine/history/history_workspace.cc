#include "tests/engine/history/history_workspace.h"

#include <vector>

namespace galley {
namespace {

void must(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

template <class T>
T must_have(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

void list_tree(const Directory& root, const RelPath& at, std::map<std::string, std::string>& out) {
  const auto directory = must_have(root.open_directory(at));
  for (const DirectoryEntry& entry : must_have(directory->list())) {
    const RelPath name = rel(entry.name);
    if (at.is_root() && entry.name == StateDirectory::kName) continue;
    const RelPath path = at.is_root() ? name : must_have(at.join(name));
    const FileStat stat = must_have(root.stat(path));
    const std::string mode = " " + std::to_string(stat.mode & 0777U) + " ";
    if (stat.kind == FileKind::kDirectory) {
      out[path.str()] = "directory" + mode;
      list_tree(root, path, out);
    } else if (stat.kind == FileKind::kSymlink) {
      out[path.str()] = "link " + must_have(root.read_link(path));
    } else {
      out[path.str()] = "file" + mode + must_have(read_file(root, path, 1U << 30U));
    }
  }
}

void take_away(const Directory& root, const Change& change) {
  if (change.before.kind == FileKind::kDirectory) {
    must(root.remove_directory(change.path));
  } else {
    must(root.remove_file(change.path));
  }
}

void put(const Directory& root, const Proposal& proposal, const Change& change) {
  if (change.after.kind == FileKind::kDirectory) {
    if (change.before.kind != FileKind::kDirectory) {
      must(root.make_directory(change.path, change.after.mode));
    }
    must(root.set_mode(change.path, change.after.mode));
  } else if (change.after.kind == FileKind::kSymlink) {
    must(root.make_symlink(change.path, *must_have(proposal.content(change.after))));
  } else if (change.after.kind == FileKind::kRegular) {
    const auto file = must_have(root.open_file(change.path, OpenMode::kCreateNew));
    must(file->write_at(0, *must_have(proposal.content(change.after))));
    must(file->set_mode(change.after.mode));
  }
}

}  // namespace

TxId HistoryWorkspace::publish(const Proposal& proposal, CommitMeta meta) {
  Journal journal;
  journal.id = TxId{++last_};
  journal.parent = TxId{last_ - 1};
  journal.workspace = state_->workspace_id();
  journal.time_ns = clock_.wall_ns();
  journal.proposal = proposal.id();
  journal.meta = std::move(meta);
  for (const Change& change : proposal.changes()) {
    JournalOp op;
    op.path = change.path;
    op.before.node = change.before;
    op.after.node = change.after;
    op.renamed_from = change.renamed_from;
    op.copied_from = change.copied_from;
    journal.ops.push_back(std::move(op));
  }
  const auto file =
      must_have(state_->undo().open_file(journal_name(journal.id), OpenMode::kCreateNew));
  JournalWriter writer(*file);
  must(writer.begin(journal));
  std::map<ContentId, Content> images;
  for (const Change& change : proposal.changes()) {
    for (const Node* node : {&change.before, &change.after}) {
      if (node->content.is_none()) continue;
      images[node->content] = must_have(proposal.content(*node));
    }
  }
  for (const auto& [id, bytes] : images) must(writer.image(id, *bytes));
  must(writer.finish());
  const ChangeSet& changes = proposal.changes();
  for (auto it = changes.rbegin(); it != changes.rend(); ++it) {
    const bool stays_directory =
        it->before.kind == FileKind::kDirectory && it->after.kind == FileKind::kDirectory;
    if (it->before.kind != FileKind::kAbsent && !stays_directory) take_away(root(), *it);
  }
  for (const Change& change : changes) put(root(), proposal, change);
  return journal.id;
}

std::map<std::string, std::string> HistoryWorkspace::tree() const {
  std::map<std::string, std::string> out;
  list_tree(root(), RelPath::root(), out);
  return out;
}

}  // namespace galley
