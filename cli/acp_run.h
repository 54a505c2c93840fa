#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/session.h"
#include "engine/stages/live_views.h"
#include "server/acp/acp_world.h"
#include "staging/overlay/proposal_pieces.h"

namespace galley {

/// The live run of `galley acp`: its view, its staged changes and their commits, as any other
/// process can look at them and commit them.
///
/// Ownership: borrows the person's session.
/// Threads:   confined to one thread.
class AcpRun final : public AcpWorld {
 public:
  explicit AcpRun(Session& person) : person_(&person) {}
  /// The program runs in this transaction.
  void begin(const std::string& tx) { tx_ = tx; }

  /// The id under which the last turn is on record; empty: no turn has begun.
  [[nodiscard]] const std::string& last_session() const { return last_session_; }

  Result<void> check_folder(const std::string& path) override;
  Result<AcpFile> read(const std::string& session, const std::string& path) override;
  void note_editor_text(const std::string& session, const std::string& path) override;
  Result<void> write(const std::string& session, const std::string& path,
                     const std::string& text) override;
  Result<void> begin_turn(const std::string& session, const std::string& prompt,
                          bool is_alone) override;
  Result<std::vector<AcpChange>> staged(const std::string& session) override;
  Result<AcpVerdict> judge(const std::string& session) override;
  Result<AcpCommit> commit(const std::string& session, const AcpVerdict& verdict,
                           const AcpDecision& decision) override;
  Result<void> take_saved(const std::string& session,
                          const std::vector<std::string>& paths) override;

 private:
  /// The proposal of the last judgement, and its parts.
  struct Judged {
    Proposal proposal;
    ProposalPieces pieces;
  };
  /// The state of one path, with its bytes or target.
  struct Held {
    Node node;
    std::string bytes;
  };

  /// A session as it is on record, and a path.
  using ReadKey = std::pair<std::string, RelPath>;
  /// The text and mode of a file on disk when the agent read it.
  struct Read {
    std::string text;
    uint32_t mode = 0;
    uint64_t number = 0;  ///< the oldest has the lowest
  };

  Session& session_of(const std::string& session);
  Result<Transaction> resume(const std::string& session);
  Result<const StateDirectory*> state();
  [[nodiscard]] std::string unlinked(const std::string& named, const std::string& root) const;
  Result<RelPath> inside(const std::string& named, const Directory& view);
  Result<Held> on_disk(const RelPath& path);
  void keep_read(ReadKey key, Read read);
  void forget_read(std::map<ReadKey, Read>::iterator read);
  void forget_reads(const RelPath& path);
  Result<void> keep_base(const ReadKey& key, const std::optional<std::string>& now);
  Result<void> propose_ignored(const RelPath& path);
  Result<void> take_from_disk(const std::vector<RelPath>& paths);
  Result<void> take_saves(const std::string& session);
  Result<void> take_back(const Proposal& whole, const Proposal& part);
  Result<AcpCommit> commit_now(Transaction& transaction);

  Session* person_;
  std::string tx_;
  std::string last_session_;
  std::map<std::string, std::unique_ptr<Session>> sessions_;
  std::optional<Judged> judged_;
  bool says_yes_ = false;          ///< the person has decided about this commit
  std::map<ReadKey, Read> reads_;  ///< to know what the agent changed
  size_t read_bytes_ = 0;
  std::set<ReadKey> from_editor_;  ///< the agent's last read gave it the editor's text
  uint64_t last_read_ = 0;
  /// Folders of sessions that lead into the workspace through a link, and where they lead.
  std::map<std::string, std::string> linked_;
  std::map<RelPath, int64_t> synced_;  ///< ctime of files on disk that were compared
};

}  // namespace galley
