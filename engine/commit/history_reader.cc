#include "engine/commit/history_reader.h"

#include <galley/path.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/file_mode.h"
#include "engine/commit/blob_store.h"
#include "staging/fs/directory.h"
#include "staging/fs/replace_file.h"

namespace galley {
namespace {

/// The images of one journal, and its blobs, read from the disk.
class JournalStore final : public ContentStore {
 public:
  JournalStore(TxId id, std::map<ContentId, Content> images, std::unique_ptr<Directory> state_root,
               RelPath blobs)
      : id_(id),
        images_(std::move(images)),
        state_root_(std::move(state_root)),
        blobs_(std::move(blobs)) {}

  Result<void> keep(const ContentId& /*id*/, const Content& /*content*/) override {
    return fail(ErrorKind::kInternal, "history.read_only", "a journal takes no new content");
  }
  Result<Content> get(const ContentId& id) const override {
    const auto found = images_.find(id);
    if (found != images_.end()) return found->second;
    auto blob = read_blob(*state_root_, blobs_, id);
    if (blob) return blob;
    return fail(explained(blob.error()));
  }
  Result<void> read(const ContentId& id, const UsePiece& use) const override {
    if (images_.contains(id)) return ContentStore::read(id, use);
    auto blob = read_blob(*state_root_, blobs_, id, use);
    if (blob) return blob;
    return fail(explained(blob.error()));
  }

 private:
  /// A blob is missing if its journal was pruned meanwhile.
  [[nodiscard]] Error explained(Error why) const {
    if (why.reason != "blob.damaged") return why;
    const auto is_kept = has_journal();
    if (!is_kept) return is_kept.error();
    if (*is_kept) return why;
    return {ErrorKind::kNotFound, "history.pruned",
            "transaction " + id_.str() +
                " was pruned from the history while it was read; `galley log` lists what is left"};
  }

  Result<bool> has_journal() const {
    for (const auto* name : {"undo", "j"}) {
      GALLEY_ASSIGN(const RelPath directory, RelPath::parse(name));
      GALLEY_ASSIGN(const RelPath path, directory.join(journal_name(id_)));
      GALLEY_ASSIGN(const FileStat stat, state_root_->stat(path));
      if (stat.kind != FileKind::kAbsent) return true;
    }
    return false;
  }

  TxId id_;
  std::map<ContentId, Content> images_;
  std::unique_ptr<Directory> state_root_;
  RelPath blobs_;
};

constexpr const char* kLinksFile = "links/git-commits";

Result<std::string> read_link_text(const StateDirectory& state) {
  auto text = read_file(state.root(), state.own(kLinksFile), 2 * kMaxCommitLinkBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::string();
  return text;
}

void take_line(std::string_view line, CommitLinks& links) {
  const size_t space = std::min(line.find(' '), line.size());
  const auto id = TxId::parse(line.substr(0, space));
  const std::string_view commit = line.substr(std::min(space + 1, line.size()));
  const bool is_hash =
      !commit.empty() && commit.find_first_not_of("0123456789abcdef") == commit.npos;
  if (id && is_hash) links[*id].emplace_back(commit);
}

CommitLinks parse_links(std::string_view text) {
  CommitLinks links;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;  // an interrupted write
    take_line(text.substr(begin, end - begin), links);
    begin = end + 1;
  }
  return links;
}

/// Ids of the journals in `j/` that `is_wanted`, ascending.
template <class IsWanted>
Result<std::vector<TxId>> pending_ids(const StateDirectory& state, IsWanted is_wanted) {
  GALLEY_ASSIGN(auto ids, journal_ids(state.journals()));
  std::vector<TxId> wanted;
  for (const TxId id : ids) {
    auto verdict = read_journal(state, state.journals(), id, ImageUse::kSkip);
    if (!verdict && verdict.error().kind == ErrorKind::kNotFound) continue;
    if (!verdict) return verdict.error();
    if (is_wanted(*verdict)) wanted.push_back(id);
  }
  return wanted;
}

/// Adds the ids of `undo/` to those of `j/`, which must have been listed first: a journal that is
/// retired between the two must not be missed.
Result<std::vector<TxId>> with_retired(const StateDirectory& state, std::vector<TxId> ids) {
  GALLEY_ASSIGN(const auto retired, journal_ids(state.undo()));
  ids.insert(ids.end(), retired.begin(), retired.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

Result<std::vector<TxId>> committed_ids(const StateDirectory& state) {
  GALLEY_ASSIGN(auto ids, pending_ids(state, [](const JournalVerdict& verdict) {
                  return verdict.state != JournalState::kNotCommitted &&
                         !verdict.journal.is_aborted;
                }));
  return with_retired(state, std::move(ids));
}

Result<std::vector<TxId>> listed_ids(const StateDirectory& state) {
  GALLEY_ASSIGN(auto ids, journal_ids(state.journals()));
  return with_retired(state, std::move(ids));
}

Result<std::vector<TxId>> damaged_pending_ids(const StateDirectory& state) {
  return pending_ids(
      state, [](const JournalVerdict& verdict) { return verdict.state == JournalState::kDamaged; });
}

Error not_in_history(const StateDirectory& state, TxId id) {
  const auto kept = committed_ids(state);
  if (kept && !kept->empty() && id < kept->front()) {
    return Error{ErrorKind::kNotFound, "history.pruned",
                 "transaction " + id.str() + " was pruned from the history, which begins with " +
                     kept->front().str() + "; `galley log` lists what is left"};
  }
  return Error{ErrorKind::kNotFound, "history.not_found",
               "there is no transaction " + id.str() + "; `galley log` lists them"};
}

Result<CommittedTransaction> load_committed(const StateDirectory& state, TxId id, ImageUse use) {
  auto verdict = read_journal(state, state.undo(), id, use);
  if (!verdict && verdict.error().kind == ErrorKind::kNotFound) {
    verdict = read_journal(state, state.journals(), id, use);
  }
  // It was retired between the two reads.
  if (!verdict && verdict.error().kind == ErrorKind::kNotFound) {
    verdict = read_journal(state, state.undo(), id, use);
  }
  const bool is_known =
      verdict && verdict->state != JournalState::kNotCommitted && !verdict->journal.is_aborted;
  if (!is_known) {
    if (!verdict && verdict.error().kind != ErrorKind::kNotFound) return verdict.error();
    return fail(not_in_history(state, id));
  }
  if (verdict->state == JournalState::kDamaged) {
    return fail(ErrorKind::kIo, "journal.damaged",
                "the journal of transaction " + id.str() + " is damaged: " + verdict->problem +
                    "; run `galley doctor`");
  }
  CommittedTransaction transaction;
  transaction.journal = std::move(verdict->journal);
  transaction.changes = transaction.journal.changes();
  GALLEY_ASSIGN(auto root, state.root().open_directory(RelPath::root()));
  transaction.store = std::make_shared<JournalStore>(id, std::move(transaction.journal.images),
                                                     std::move(root), state.own("blob"));
  transaction.journal.images.clear();
  return transaction;
}

Result<CommitLinks> read_commit_links(const StateDirectory& state) {
  GALLEY_ASSIGN(const std::string text, read_link_text(state));
  return parse_links(text);
}

bool has_commit_link(const CommitLinks& links, TxId id, const std::string& commit) {
  const auto found = links.find(id);
  return found != links.end() &&
         std::find(found->second.begin(), found->second.end(), commit) != found->second.end();
}

Result<void> add_commit_links(const StateDirectory& state, const WriterLock& /*lock*/,
                              const std::vector<TxId>& transactions, const std::string& commit) {
  GALLEY_ASSIGN(std::string text, read_link_text(state));
  // Cut off an incomplete last line.
  text.erase(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
  const CommitLinks known = parse_links(text);
  if (text.size() > kMaxCommitLinkBytes) text.erase(0, text.find('\n', text.size() / 2) + 1);
  for (const TxId id : transactions) {
    if (!has_commit_link(known, id, commit)) text += id.str() + " " + commit + "\n";
  }
  const RelPath place = state.own(kLinksFile);
  GALLEY_TRY(make_directories(state.root(), place.parent(), kPrivateDirectory));
  return replace_file(state.root(), place.str(), text);
}

}  // namespace galley
