#include "staging/printing/rename.h"

#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "staging/printing/git_diff.h"

namespace galley {

namespace {

constexpr size_t kMaxPieceBytes = 64;
constexpr uint64_t kMaxScore = 60'000;  // git's MAX_SCORE: the precision of its percentages

// The number of bytes of a content in each distinct piece, sorted by piece.
struct Fingerprint {
  struct Piece {
    uint64_t hash = 0;
    uint64_t bytes = 0;
  };
  std::vector<Piece> pieces;
  uint64_t size = 0;
};

Fingerprint fingerprint(std::string_view content) {
  Fingerprint print;
  print.size = content.size();
  const bool is_text = !looks_binary(content);
  std::string piece;
  const auto flush = [&] {
    if (piece.empty()) return;
    print.pieces.push_back({XXH3_64bits(piece.data(), piece.size()), piece.size()});
    piece.clear();
  };
  for (size_t i = 0; i < content.size(); ++i) {
    const char c = content[i];
    if (is_text && c == '\r' && i + 1 < content.size() && content[i + 1] == '\n') continue;
    piece.push_back(c);
    if (c == '\n' || piece.size() == kMaxPieceBytes) flush();
  }
  flush();
  auto& pieces = print.pieces;
  std::sort(pieces.begin(), pieces.end(),
            [](const auto& a, const auto& b) { return a.hash < b.hash; });
  size_t last = 0;
  for (size_t i = 1; i < pieces.size(); ++i) {
    if (pieces[i].hash == pieces[last].hash) {
      pieces[last].bytes += pieces[i].bytes;
    } else {
      pieces[++last] = pieces[i];
    }
  }
  if (!pieces.empty()) pieces.resize(last + 1);
  return print;
}

uint64_t common_bytes(const Fingerprint& a, const Fingerprint& b) {
  uint64_t common = 0;
  for (size_t i = 0, j = 0; i < a.pieces.size() && j < b.pieces.size();) {
    if (a.pieces[i].hash < b.pieces[j].hash) {
      ++i;
    } else if (b.pieces[j].hash < a.pieces[i].hash) {
      ++j;
    } else {
      common += std::min(a.pieces[i++].bytes, b.pieces[j++].bytes);
    }
  }
  return common;
}

uint64_t score(const Fingerprint& a, const Fingerprint& b) {
  const uint64_t larger = std::max(a.size, b.size);
  return larger == 0 ? 0 : common_bytes(a, b) * kMaxScore / larger;
}

int per_cent(uint64_t score) { return static_cast<int>(score * 100 / kMaxScore); }

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool same_type(const RenameEnd& a, const RenameEnd& b) {
  return (a.mode & 0170000U) == (b.mode & 0170000U);
}

class RenameFinder {
 public:
  RenameFinder(const std::vector<RenameEnd>& gone, const std::vector<RenameEnd>& made,
               const RenameOptions& options, const LoadRenameEnd& load)
      : gone_(gone),
        made_(made),
        options_(options),
        load_(load),
        gone_used_(gone.size()),
        made_used_(made.size()) {}

  Result<std::vector<Rename>> find() {
    find_exact();
    GALLEY_TRY(find_similar());
    std::sort(found_.begin(), found_.end(),
              [](const Rename& a, const Rename& b) { return a.to < b.to; });
    return std::move(found_);
  }

 private:
  void take(size_t from, size_t to, int percent) {
    found_.push_back({from, to, percent});
    gone_used_[from] = made_used_[to] = true;
  }

  void find_exact() {
    std::unordered_map<ContentId, std::vector<size_t>> sources;
    for (size_t i = 0; i < gone_.size(); ++i) sources[gone_[i].content].push_back(i);
    for (const bool same_name : {true, false}) {
      for (size_t to = 0; to < made_.size(); ++to) {
        const auto match = sources.find(made_[to].content);
        if (made_used_[to] || match == sources.end()) continue;
        for (const size_t from : match->second) {
          if (gone_used_[from] || !same_type(gone_[from], made_[to])) continue;
          const bool agree = file_name(gone_[from].path) == file_name(made_[to].path);
          if ((same_name || made_[to].size == 0) && !agree) continue;
          take(from, to, 100);
          break;
        }
      }
    }
  }

  [[nodiscard]] bool can_be_similar(const RenameEnd& a, const RenameEnd& b) const {
    if (!same_type(a, b) || a.mode == git_mode::kSymlink) return false;
    const auto minimum = static_cast<uint64_t>(options_.min_similarity);
    return std::min(a.size, b.size) * 100 >= std::max(a.size, b.size) * minimum &&
           std::min(a.size, b.size) > 0;
  }

  Result<const Fingerprint*> print_of(const RenameEnd& end, std::optional<Fingerprint>& kept) {
    if (!kept) {
      GALLEY_ASSIGN(const std::string_view content, load_(end));
      kept = fingerprint(content);
    }
    return &*kept;
  }

  struct Candidate {
    size_t from;
    size_t to;
    uint64_t score;
    bool same_name;
  };

  Result<void> find_similar() {
    const auto left = [](const std::vector<bool>& used) {
      return static_cast<size_t>(std::count(used.begin(), used.end(), false));
    };
    if (left(gone_used_) * left(made_used_) > options_.limit * options_.limit) return {};
    std::vector<std::optional<Fingerprint>> gone_prints(gone_.size());
    std::vector<Candidate> candidates;
    for (size_t to = 0; to < made_.size(); ++to) {
      if (made_used_[to]) continue;
      std::optional<Fingerprint> made_print;
      for (size_t from = 0; from < gone_.size(); ++from) {
        if (gone_used_[from] || !can_be_similar(gone_[from], made_[to])) continue;
        GALLEY_ASSIGN(const Fingerprint* before, print_of(gone_[from], gone_prints[from]));
        GALLEY_ASSIGN(const Fingerprint* after, print_of(made_[to], made_print));
        const uint64_t points = score(*before, *after);
        if (points * 100 < static_cast<uint64_t>(options_.min_similarity) * kMaxScore) continue;
        candidates.push_back(
            {from, to, points, file_name(gone_[from].path) == file_name(made_[to].path)});
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return std::pair(a.score, a.same_name) > std::pair(b.score, b.same_name);
                     });
    for (const auto& candidate : candidates) {
      if (gone_used_[candidate.from] || made_used_[candidate.to]) continue;
      take(candidate.from, candidate.to, per_cent(candidate.score));
    }
    return {};
  }

  const std::vector<RenameEnd>& gone_;
  const std::vector<RenameEnd>& made_;
  const RenameOptions& options_;
  const LoadRenameEnd& load_;
  std::vector<bool> gone_used_;
  std::vector<bool> made_used_;
  std::vector<Rename> found_;
};

}  // namespace

int similarity(std::string_view before, std::string_view after) {
  if (before == after) return 100;
  return per_cent(score(fingerprint(before), fingerprint(after)));
}

Result<std::vector<Rename>> find_renames(const std::vector<RenameEnd>& gone,
                                         const std::vector<RenameEnd>& made,
                                         const RenameOptions& options, const LoadRenameEnd& load) {
  if (gone.empty() || made.empty()) return std::vector<Rename>();
  return RenameFinder(gone, made, options, load).find();
}

}  // namespace galley
