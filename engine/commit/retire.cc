#include "engine/commit/retire.h"

#include <algorithm>
#include <cerrno>

#include "engine/commit/journal_writer.h"
#include "engine/commit/mutant.h"
#include "engine/commit/slots.h"

namespace galley {

Result<std::vector<JournalNote>> retire(const Directory& workspace, const StateDirectory& state,
                                        const WriterLock& lock, const std::vector<TxId>& ids,
                                        const std::string& boot) {
  static_cast<void>(lock);
  std::vector<JournalNote> all;
  if (ids.empty()) return all;
  // Afterwards nothing could repair a tree that a power cut tore.
  if (!is_mutant(Mutant::kRetireBeforeSync)) GALLEY_TRY(workspace.sync_file_system());
  for (const TxId id : ids) {
    GALLEY_ASSIGN(JournalVerdict verdict,
                  read_journal(state, state.journals(), id, ImageUse::kSkip));
    if (verdict.state != JournalState::kCommitted) continue;
    if (verdict.journal.boot != boot) {  // an inode may be torn: only the contents tell
      GALLEY_ASSIGN(verdict, read_journal(state, state.journals(), id));
      if (verdict.state != JournalState::kCommitted) continue;
    }
    std::vector<JournalNote> notes;
    GALLEY_TRY(sweep_slots(state, verdict.journal, verdict.journal.boot != boot, notes));
    if (!notes.empty()) {
      GALLEY_ASSIGN(const auto file,
                    state.journals().open_file(journal_name(id), OpenMode::kReadWrite));
      JournalTrailer trailer(*file, verdict);
      for (const auto& note : notes) GALLEY_TRY(trailer.note(note));
    }
    GALLEY_TRY(state.journals().rename(journal_name(id), state.undo(), journal_name(id),
                                       RenameMode::kReplace));
    all.insert(all.end(), notes.begin(), notes.end());
  }
  return all;
}

Result<std::vector<JournalNote>> retire_due(const Directory& workspace, const StateDirectory& state,
                                            const WriterLock& lock, const Clock& clock,
                                            const std::string& boot) {
  GALLEY_ASSIGN(const auto ids, journal_ids(state.journals()));
  const int64_t window = std::chrono::nanoseconds(kLateWriterWindow).count();
  const int64_t now = clock.wall_ns();
  uint64_t bytes = 0;
  std::vector<TxId> due;
  for (const TxId id : ids) {
    GALLEY_ASSIGN(const FileStat stat, state.journals().stat(journal_name(id)));
    bytes += stat.size;
    if (now - stat.mtime_ns > window) due.push_back(id);
  }
  const bool is_too_much = ids.size() > kMaxPendingJournals || bytes > kMaxPendingBytes;
  return retire(workspace, state, lock, is_too_much ? ids : due, boot);
}

Result<TxId> last_transaction(const StateDirectory& state, const WriterLock& lock,
                              const std::string& boot) {
  if (const auto noted = lock.last_transaction(boot)) return *noted;
  GALLEY_ASSIGN(const auto pending, journal_ids(state.journals()));
  GALLEY_ASSIGN(const auto retired, journal_ids(state.undo()));
  TxId last;
  if (!pending.empty()) last = std::max(last, pending.back());
  if (!retired.empty()) last = std::max(last, retired.back());
  return last;
}

}  // namespace galley
