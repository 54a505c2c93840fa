#include "staging/text/merge.h"

#include <algorithm>

#include "base/result.h"
#include "staging/text/diff.h"

namespace galley {

namespace {

// As in git, two conflicts are joined if at most this many lines are between them.
constexpr uint32_t kMaxLinesBetweenConflicts = 3;
constexpr size_t kMarkerBytes = 7;

// Reads the two scripts from `base` in parallel, and divides the texts where neither side has a
// change.
class Merger {
 public:
  Merger(const Lines& base, const Lines& ours, const Lines& theirs)
      : base_(base),
        ours_(ours),
        theirs_(theirs),
        our_script_(diff_lines(base, ours, {WhiteSpace::kExact, false})),
        their_script_(diff_lines(base, theirs, {WhiteSpace::kExact, false})) {}

  Merge merge() {
    while (our_at_ < our_script_.size() || their_at_ < their_script_.size()) {
      unchanged_until(next_change());
      changed_region();
    }
    unchanged_until(static_cast<uint32_t>(base_.size()));
    return std::move(merge_);
  }

 private:
  [[nodiscard]] uint32_t next_change() const {
    uint32_t next = UINT32_MAX;
    if (our_at_ < our_script_.size()) next = our_script_[our_at_].old_begin;
    if (their_at_ < their_script_.size()) {
      next = std::min(next, their_script_[their_at_].old_begin);
    }
    return next;
  }

  void unchanged_until(uint32_t base_end) {
    const uint32_t count = base_end - base_done_;
    if (count > 0) add(MergeSide::kNeither, base_end, ours_done_ + count, theirs_done_ + count);
  }

  // Adds one piece for all adjacent changes from here.
  void changed_region() {
    uint32_t end = base_done_;
    const size_t our_first = our_at_;
    const size_t their_first = their_at_;
    for (bool grown = true; grown;) {
      grown = take_touching(our_script_, our_at_, end);
      grown = take_touching(their_script_, their_at_, end) || grown;
    }
    const uint32_t ours_end =
        ours_done_ + (end - base_done_) + growth(our_script_, our_first, our_at_);
    const uint32_t theirs_end =
        theirs_done_ + (end - base_done_) + growth(their_script_, their_first, their_at_);
    add(side_of(our_first, their_first, ours_end, theirs_end), end, ours_end, theirs_end);
  }

  static bool take_touching(const EditScript& script, size_t& at, uint32_t& end) {
    const size_t first = at;
    while (at < script.size() && script[at].old_begin <= end) {
      end = std::max(end, script[at++].old_end);
    }
    return at != first;
  }

  // The growth in lines, compared with the base, by a run of changes, modulo 2^32.
  static uint32_t growth(const EditScript& script, size_t first, size_t last) {
    uint32_t lines = 0;
    for (size_t i = first; i < last; ++i) lines += script[i].added() - script[i].removed();
    return lines;
  }

  MergeSide side_of(size_t our_first, size_t their_first, uint32_t ours_end,
                    uint32_t theirs_end) const {
    if (their_first == their_at_) return MergeSide::kOurs;
    if (our_first == our_at_) return MergeSide::kTheirs;
    return ours_.span(ours_done_, ours_end) == theirs_.span(theirs_done_, theirs_end)
               ? MergeSide::kBoth
               : MergeSide::kConflict;
  }

  void add(MergeSide side, uint32_t base_end, uint32_t ours_end, uint32_t theirs_end) {
    merge_.pieces.push_back(
        {side, {base_done_, base_end}, {ours_done_, ours_end}, {theirs_done_, theirs_end}});
    if (side == MergeSide::kConflict) ++merge_.conflicts;
    base_done_ = base_end;
    ours_done_ = ours_end;
    theirs_done_ = theirs_end;
  }

  const Lines& base_;
  const Lines& ours_;
  const Lines& theirs_;
  EditScript our_script_;
  EditScript their_script_;
  size_t our_at_ = 0;
  size_t their_at_ = 0;
  uint32_t base_done_ = 0;
  uint32_t ours_done_ = 0;
  uint32_t theirs_done_ = 0;
  Merge merge_;
};

std::string_view text_of(const Lines& lines, LineRange range) {
  return lines.span(range.begin, range.end);
}

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

enum class Ending : uint8_t { kUnknown, kLf, kCrLf };

Ending ending_of(const Lines& lines, size_t at) {
  if (at >= lines.size()) return Ending::kUnknown;
  auto line = lines[at];
  if (line.back() != '\n') {
    if (at == 0) return Ending::kUnknown;
    line = lines[at - 1];
  }
  return line.size() > 1 && line[line.size() - 2] == '\r' ? Ending::kCrLf : Ending::kLf;
}

class ConflictWriter {
 public:
  ConflictWriter(const Lines& base, const Lines& ours, const Lines& theirs,
                 const ConflictMarkers& markers)
      : base_(base), ours_(ours), theirs_(theirs), markers_(markers) {}

  std::string write(const Merge& merge) {
    std::vector<MergePiece> pieces;
    for (const auto& piece : merge.pieces) {
      if (piece.side == MergeSide::kConflict && markers_.style == ConflictStyle::kMerge) {
        refine(piece, pieces);
      } else {
        pieces.push_back(piece);
      }
    }
    if (markers_.style == ConflictStyle::kMerge) pieces = joined(pieces);
    for (const auto& piece : pieces) {
      if (piece.side == MergeSide::kConflict) {
        conflict(piece);
      } else if (piece.side == MergeSide::kTheirs) {
        out_ += text_of(theirs_, piece.theirs);
      } else {
        out_ += text_of(ours_, piece.ours);
      }
    }
    return std::move(out_);
  }

 private:
  // Splits a conflict into pieces where the sides differ and pieces where they agree.
  void refine(const MergePiece& piece, std::vector<MergePiece>& pieces) const {
    const Lines ours(text_of(ours_, piece.ours));
    const Lines theirs(text_of(theirs_, piece.theirs));
    uint32_t our_at = 0;
    uint32_t their_at = 0;
    const auto add = [&](MergeSide side, uint32_t our_end, uint32_t their_end) {
      if (our_end == our_at && their_end == their_at) return;
      pieces.push_back({side,
                        {piece.base.begin, piece.base.begin},
                        {piece.ours.begin + our_at, piece.ours.begin + our_end},
                        {piece.theirs.begin + their_at, piece.theirs.begin + their_end}});
      our_at = our_end;
      their_at = their_end;
    };
    if (ours.empty() || theirs.empty()) {
      pieces.push_back(piece);
      return;
    }
    for (const auto& range : diff_lines(ours, theirs, {WhiteSpace::kExact, false})) {
      add(MergeSide::kBoth, range.old_begin, range.new_begin);
      add(MergeSide::kConflict, range.old_end, range.new_end);
    }
    add(MergeSide::kBoth, piece.ours.size(), piece.theirs.size());
  }

  // Joins conflicts with very few lines between them, because one conflict is easier to read.
  [[nodiscard]] std::vector<MergePiece> joined(const std::vector<MergePiece>& pieces) const {
    std::vector<MergePiece> out;
    constexpr size_t kNone = SIZE_MAX;
    size_t conflict = kNone;  // index of the last one, if only common lines followed
    for (const auto& piece : pieces) {
      if (piece.side == MergeSide::kConflict && conflict != kNone && is_thin(out, conflict)) {
        out.resize(conflict + 1);
        out.back().base.end = piece.base.end;
        out.back().ours.end = piece.ours.end;
        out.back().theirs.end = piece.theirs.end;
        continue;
      }
      out.push_back(piece);
      if (piece.side == MergeSide::kConflict) {
        conflict = out.size() - 1;
      } else if (piece.side == MergeSide::kOurs || piece.side == MergeSide::kTheirs) {
        conflict = kNone;
      }
    }
    return out;
  }

  [[nodiscard]] bool is_thin(const std::vector<MergePiece>& pieces, size_t conflict) const {
    const LineRange between{pieces[conflict].ours.end, pieces.back().ours.end};
    const auto text = text_of(ours_, between);
    return between.size() <= kMaxLinesBetweenConflicts ||
           std::none_of(text.begin(), text.end(), is_alphanumeric);
  }

  void conflict(const MergePiece& piece) {
    const bool crlf = needs_cr(piece);
    marker('<', markers_.ours, crlf);
    side(text_of(ours_, piece.ours), crlf);
    if (markers_.style == ConflictStyle::kDiff3) {
      marker('|', markers_.base, crlf);
      side(text_of(base_, piece.base), crlf);
    }
    marker('=', "", crlf);
    side(text_of(theirs_, piece.theirs), crlf);
    marker('>', markers_.theirs, crlf);
  }

  [[nodiscard]] bool needs_cr(const MergePiece& piece) const {
    const auto before = [](uint32_t at) { return at == 0 ? 0 : at - 1; };
    auto ending = ending_of(ours_, before(piece.ours.begin));
    if (ending != Ending::kLf) ending = ending_of(theirs_, before(piece.theirs.begin));
    if (ending != Ending::kLf) ending = ending_of(base_, 0);
    return ending == Ending::kCrLf;
  }

  void marker(char mark, std::string_view label, bool crlf) {
    out_.append(kMarkerBytes, mark);
    if (!label.empty()) out_.append(" ").append(label);
    out_ += crlf ? "\r\n" : "\n";
  }

  void side(std::string_view text, bool crlf) {
    out_ += text;
    if (!text.empty() && text.back() != '\n') out_ += crlf ? "\r\n" : "\n";
  }

  const Lines& base_;
  const Lines& ours_;
  const Lines& theirs_;
  const ConflictMarkers& markers_;
  std::string out_;
};

}  // namespace

Merge merge_lines(const Lines& base, const Lines& ours, const Lines& theirs) {
  return Merger(base, ours, theirs).merge();
}

std::string merged_text(const Merge& merge, const Lines& base, const Lines& ours,
                        const Lines& theirs) {
  GALLEY_CHECK(merge.is_clean());
  return text_with_markers(merge, base, ours, theirs);
}

std::string text_with_markers(const Merge& merge, const Lines& base, const Lines& ours,
                              const Lines& theirs, const ConflictMarkers& markers) {
  return ConflictWriter(base, ours, theirs, markers).write(merge);
}

}  // namespace galley
