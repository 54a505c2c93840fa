#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/overlay/proposal.h"
#include "staging/text/diff.h"

namespace galley {

/// One piece of a proposal that can be left out separately.
struct ProposalPiece {
  RelPath path = RelPath::root();
  uint32_t hunk = 0;      ///< as the diff counts them, from 1; 0: not a hunk
  bool is_mode = false;   ///< the new permissions of a file whose hunks are pieces, too
  size_t more_paths = 0;  ///< that belong to it: of a rename, of a directory become a file
  bool operator==(const ProposalPiece&) const = default;
  /// For people: "src/a.c, hunk 2".
  [[nodiscard]] std::string text() const;
};

/// A proposal cut into pieces: the hunks of changed text files, and every other path.
///
/// A rename is one piece, and so is a file that became a directory with its contents. Directories
/// that are made or removed are not pieces if they contain changes: they belong to those changes.
/// Invariant: any set of pieces is a change set that can be committed; all pieces together are the
///            proposal.
/// Ownership: shares the proposal's contents.
/// Threads:   immutable, safe to share.
class ProposalPieces {
 public:
  /// `context` is the number of context lines around each hunk, as in a diff: with 0, every run of
  /// changed lines is a piece.
  static Result<ProposalPieces> split(const Proposal& proposal, uint32_t context = 3);

  [[nodiscard]] const std::vector<ProposalPiece>& pieces() const { return pieces_; }
  /// The proposal of only these pieces: ascending indexes into pieces().
  [[nodiscard]] Result<Proposal> only(const std::vector<size_t>& chosen) const;

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
    std::optional<size_t> above;  ///< the nearest parent directory that is made or removed
    size_t group = 0;             ///< first of the changes that belong together
    bool is_implied = false;      ///< a directory that belongs to the changes in it
    std::optional<Text> text;
  };
  /// The part of one change that a choice takes.
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
  std::vector<size_t> change_of_;  ///< by piece: its first change
};

}  // namespace galley
