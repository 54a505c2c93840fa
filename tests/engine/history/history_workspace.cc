#include "tests/engine/history/history_workspace.h"

#include <vector>

#include "engine/commit/publisher.h"
#include "engine/commit/retire.h"
#include "tests/engine/history/approve.h"

namespace galley {
namespace {

template <class T>
T must_have(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

void list_tree(const WritableDirectory& root, const RelPath& at,
               std::map<std::string, std::string>& out) {
  const auto directory = must_have(root.open_writable_directory(at));
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

}  // namespace

TxId HistoryWorkspace::publish(const Proposal& proposal, const CommitMeta& meta) {
  PublisherOptions options;
  options.durability = Durability::kNone;
  Publisher publisher(root(), clock_, options);
  const PublishOutcome outcome =
      must_have(publisher.publish(proposal, approve(proposal, root(), clock_), meta));
  if (const auto* conflict = std::get_if<Conflict>(&outcome)) {
    throw std::runtime_error(conflict->paths.at(0).message);
  }
  return std::get<Receipt>(outcome).id;
}

void HistoryWorkspace::retire_all() const {
  WriterLock lock = must_have(WriterLock::take(*state_, clock_, std::chrono::milliseconds(1000)));
  const auto pending = must_have(journal_ids(state_->journals()));
  (void)must_have(retire(root(), *state_, lock, pending, {state_->session(current_boot_id())}));
}

std::map<std::string, std::string> HistoryWorkspace::tree() const {
  std::map<std::string, std::string> out;
  list_tree(root(), RelPath::root(), out);
  return out;
}

}  // namespace galley
