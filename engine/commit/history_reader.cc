#include "engine/commit/history_reader.h"

#include <algorithm>

#include "engine/commit/blob_store.h"

namespace galley {
namespace {

/// The images of one journal, and its blobs from the disk.
class JournalStore final : public ContentStore {
 public:
  JournalStore(std::map<ContentId, Content> images, std::unique_ptr<Directory> state_root)
      : images_(std::move(images)), state_root_(std::move(state_root)) {}

  Result<void> keep(const ContentId& /*id*/, const Content& /*content*/) override {
    return fail(ErrorKind::kInternal, "history.read_only", "a journal takes no new content");
  }
  Result<Content> get(const ContentId& id) const override {
    const auto found = images_.find(id);
    if (found != images_.end()) return found->second;
    return read_blob(*state_root_, id);
  }

 private:
  std::map<ContentId, Content> images_;
  std::unique_ptr<Directory> state_root_;
};

}  // namespace

Result<std::vector<TxId>> committed_ids(const StateDirectory& state) {
  // j/ first: a journal may be retired between the two looks, and must not be missed.
  GALLEY_ASSIGN(const auto pending, journal_ids(state.journals()));
  GALLEY_ASSIGN(auto ids, journal_ids(state.undo()));
  for (const TxId id : pending) {
    auto verdict = read_journal(state, state.journals(), id, ImageUse::kSkip);
    if (!verdict && verdict.error().kind == ErrorKind::kNotFound) continue;
    if (!verdict) return verdict.error();
    if (verdict->state == JournalState::kCommitted && !verdict->journal.is_aborted) {
      ids.push_back(id);
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Result<CommittedTransaction> load_committed(const StateDirectory& state, TxId id, ImageUse use) {
  auto verdict = read_journal(state, state.undo(), id, use);
  if (!verdict && verdict.error().kind == ErrorKind::kNotFound) {
    verdict = read_journal(state, state.journals(), id, use);
  }
  // Retired between the two looks.
  if (!verdict && verdict.error().kind == ErrorKind::kNotFound) {
    verdict = read_journal(state, state.undo(), id, use);
  }
  const bool is_known =
      verdict && verdict->state != JournalState::kNotCommitted && !verdict->journal.is_aborted;
  if (!is_known) {
    if (!verdict && verdict.error().kind != ErrorKind::kNotFound) return verdict.error();
    return fail(ErrorKind::kNotFound, "history.not_found",
                "there is no transaction " + id.hex() + "; `galley log` lists them");
  }
  if (verdict->state == JournalState::kDamaged) {
    return fail(ErrorKind::kIo, "journal.damaged",
                "the journal of transaction " + id.hex() + " is damaged: " + verdict->problem +
                    "; run `galley doctor`");
  }
  CommittedTransaction transaction;
  transaction.journal = std::move(verdict->journal);
  transaction.changes = transaction.journal.changes();
  GALLEY_ASSIGN(auto root, state.root().open_directory(RelPath::root()));
  transaction.store =
      std::make_shared<JournalStore>(std::move(transaction.journal.images), std::move(root));
  transaction.journal.images.clear();
  return transaction;
}

}  // namespace galley
