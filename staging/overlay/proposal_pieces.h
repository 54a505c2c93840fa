#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/overlay/change_set.h"
#include "staging/text/diff.h"

namespace galley {

/// A part of a proposal that can be committed or left out alone.
struct ProposalPiece {
  RelPath path = RelPath::root();
  uint32_t hunk = 0;      ///< its number in the diff, from 1; 0: not a hunk
  bool is_mode = false;   ///< the new permissions of a file; its hunks are separate pieces
  size_t more_paths = 0;  ///< other paths in it, for a rename or a directory replaced by a file
  bool operator==(const ProposalPiece&) const = default;
  /// A text for people, such as "src/a.c, hunk 2".
  [[nodiscard]] std::string text() const;
};

/// A proposal divided into pieces: the hunks of changed text files, and every other path.
///
/// A rename is one piece. A file that became a directory, with the directory's contents, is one
/// piece, too. Directories that are made or removed are not pieces if they contain changes: they
/// belong to those changes.
/// Invariant: any set of pieces can be committed as a change set. All pieces together are the
///            proposal.
/// Ownership: shares the proposal's contents.
/// Threads:   immutable, safe to share.
class ProposalPieces {
 public:
  /// Divides a proposal. `context` is the number of context lines around each hunk, as in a diff.
  /// With 0, every run of changed lines is a piece.
  static Result<ProposalPieces> split(const Proposal& proposal, uint32_t context = 3);

  [[nodiscard]] const std::vector<ProposalPiece>& pieces() const { return pieces_; }
  /// Returns a proposal of only these pieces. `chosen` has ascending indexes of pieces().
  [[nodiscard]] Result<Proposal> only(const std::vector<size_t>& chosen) const;
  /// Returns a proposal without each piece that has a change at or below one of these paths.
  [[nodiscard]] Result<Proposal> without(const std::vector<RelPath>& paths) const;

 private:
  /// A changed text and its edit script, in hunks.
  struct Text {
    Content before;
    Content after;
    EditScript script;
    std::vector<HunkSpan> hunks;
  };
  /// Facts about one change.
  struct ChangeFacts {
    std::optional<size_t> above;  ///< index of the nearest parent directory that is made or removed
    size_t group = 0;             ///< index of the first change in the same piece
    bool is_implied = false;      ///< a directory that belongs to the changes in it
    std::optional<Text> text;
  };
  /// The chosen part of one change.
  struct Part {
    bool is_whole = false;
    bool has_mode = false;
    std::vector<size_t> hunks;
  };

  explicit ProposalPieces(const Proposal& proposal) : whole_(proposal) {}
  void group();
  void unite(size_t a, size_t b);
  Result<void> find_texts(uint32_t context);
  void add_pieces();
  [[nodiscard]] std::vector<Part> parts_of(const std::vector<size_t>& chosen) const;
  void take_directories(std::vector<Part>& parts) const;

  Proposal whole_;
  std::vector<ChangeFacts> cuts_;  ///< by change
  std::vector<ProposalPiece> pieces_;
  std::vector<size_t> change_of_;  ///< by piece: index of its first change
};

}  // namespace galley
