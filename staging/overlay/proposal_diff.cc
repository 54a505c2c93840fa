#include "staging/overlay/proposal_diff.h"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "base/file_mode.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "staging/printing/diff_moved.h"

namespace galley {

namespace {

bool is_shown(const Node& node) { return is_file_or_link(node) || is_submodule(node); }

/// Reads the commit from a submodule's line, for the index line of a diff.
std::optional<GitOid> submodule_commit(std::string_view line) {
  const size_t at = line.rfind(' ') + 1;
  return GitOid::from_hex(line.substr(at, 2 * GitOid::kBytes));
}

uint32_t git_mode_of(const Node& node) {
  if (is_submodule(node)) return git_mode::kSubmodule;
  if (node.kind == FileKind::kSymlink) return git_mode::kSymlink;
  if (node.kind != FileKind::kRegular) return git_mode::kAbsent;
  return (node.mode & 0100U) != 0 ? git_mode::kExecutable : git_mode::kRegular;
}

bool is_too_large(const Node& node) { return node.size > kMaxDiffedBytes; }

bool same_type(const Node& a, const Node& b) { return a.kind == b.kind; }

// A pair of nodes to compare, as git pairs them.
struct PairPlan {
  std::string old_path;
  std::string new_path;
  const Node* before = nullptr;
  const Node* after = nullptr;
  PairKind kind = PairKind::kSamePath;
  int similarity = 0;
};

class PairPlanner {
 public:
  PairPlanner(const Proposal& proposal, const ProposalDiffOptions& options)
      : proposal_(proposal),
        options_(options),
        changes_(proposal.changes()),
        sources_(changes_.size()) {}

  Result<std::vector<PairPlan>> plan() {
    declared_renames();
    if (options_.find_renames) GALLEY_TRY(similar_renames());
    std::vector<PairPlan> plans;
    for (size_t i = 0; i < changes_.size(); ++i) {
      const auto& change = changes_[i];
      if (sources_[i].is_consumed) continue;
      PairPlan plan{change.path.str(), change.path.str(),   &change.before,
                    &change.after,     PairKind::kSamePath, 0};
      if (const auto& source = sources_[i].from) {
        plan.old_path = changes_[*source].path.str();
        plan.before = &changes_[*source].before;
        plan.kind = sources_[i].is_copy ? PairKind::kCopy : PairKind::kRename;
        GALLEY_ASSIGN(plan.similarity, similarity_of(*plan.before, *plan.after));
      }
      if (is_shown(*plan.before) || is_shown(*plan.after)) plans.push_back(std::move(plan));
    }
    return plans;
  }

 private:
  struct Source {
    std::optional<size_t> from;  // index of the change that is the source of this one
    bool is_copy = false;
    bool is_consumed = false;  // shown as the source of a rename
  };

  std::optional<size_t> index_of(const RelPath& path) const {
    const auto at = std::lower_bound(
        changes_.begin(), changes_.end(), path,
        [](const Change& change, const RelPath& wanted) { return change.path < wanted; });
    if (at == changes_.end() || at->path != path) return std::nullopt;
    return static_cast<size_t>(at - changes_.begin());
  }

  // If several files have the same source, the last one is the rename, as in git.
  void declared_renames() {
    for (size_t i = changes_.size(); i-- > 0;) {
      const auto& change = changes_[i];
      const auto& declared = change.renamed_from ? change.renamed_from : change.copied_from;
      if (!declared || is_file_or_link(change.before) || !is_file_or_link(change.after)) continue;
      const auto from = index_of(*declared);
      if (!from || !same_type(changes_[*from].before, change.after)) continue;
      sources_[i].from = from;
      const bool gone = !is_file_or_link(changes_[*from].after);
      sources_[i].is_copy = !gone || sources_[*from].is_consumed || !change.renamed_from;
      if (!sources_[i].is_copy) sources_[*from].is_consumed = true;
    }
  }

  Result<void> similar_renames() {
    std::vector<RenameEnd> gone;
    std::vector<RenameEnd> made;
    std::vector<size_t> gone_at;
    std::vector<size_t> made_at;
    std::unordered_map<ContentId, const Node*> nodes;
    for (size_t i = 0; i < changes_.size(); ++i) {
      const Node& before = changes_[i].before;
      const Node& after = changes_[i].after;
      if (is_file_or_link(before) == is_file_or_link(after)) continue;
      const Node& node = is_file_or_link(before) ? before : after;
      if (is_file_or_link(before) ? sources_[i].is_consumed : sources_[i].from.has_value()) {
        continue;
      }
      (is_file_or_link(before) ? gone : made)
          .push_back({changes_[i].path.str(), git_mode_of(node), node.size, node.content});
      (is_file_or_link(before) ? gone_at : made_at).push_back(i);
      nodes[node.content] = &node;
    }
    Content held;
    const auto load = [&](const RenameEnd& end) -> Result<std::string_view> {
      if (end.size > kMaxDiffedBytes) return std::string_view();  // compared as an empty file
      GALLEY_ASSIGN(held, proposal_.content(*nodes.at(end.content)));
      return std::string_view(*held);
    };
    GALLEY_ASSIGN(const auto renames, find_renames(gone, made, options_.renames, load));
    for (const auto& rename : renames) {
      sources_[made_at[rename.to]].from = gone_at[rename.from];
      sources_[gone_at[rename.from]].is_consumed = true;
    }
    return {};
  }

  Result<int> similarity_of(const Node& before, const Node& after) const {
    if (before.content == after.content) return 100;
    if (is_too_large(before) || is_too_large(after)) return 0;
    GALLEY_ASSIGN(const Content old_content, proposal_.content(before));
    GALLEY_ASSIGN(const Content new_content, proposal_.content(after));
    return similarity(*old_content, *new_content);
  }

  const Proposal& proposal_;
  const ProposalDiffOptions& options_;
  const ChangeSet& changes_;
  std::vector<Source> sources_;
};

struct LoadedPair {
  FilePair pair;
  Content before;
  Content after;
  /// The sizes of both sides if one is too large to read. Then both contents are placeholders.
  std::optional<std::pair<uint64_t, uint64_t>> sizes;
};

FileDiff compare(const LoadedPair& loaded, const DiffOptions& options) {
  FileDiff diff = diff_file(loaded.pair, options);
  if (loaded.sizes) std::tie(diff.old_bytes, diff.new_bytes) = *loaded.sizes;
  return diff;
}

/// The diff of a pair, without a binary patch if the contents were not read.
std::string shown_diff(const LoadedPair& loaded, const DiffOptions& options) {
  if (!loaded.sizes) return git_diff(loaded.pair, options);
  DiffOptions named = options;
  named.binary = false;
  return git_diff(loaded.pair, named);
}

Result<LoadedPair> load_pair(const Proposal& proposal, const PairPlan& plan) {
  static const Content kEmpty = std::make_shared<const std::string>();
  LoadedPair loaded;
  loaded.before = loaded.after = kEmpty;
  // An unchanged content is not printed, and may be missing in the history.
  const bool stayed =
      same_type(*plan.before, *plan.after) && plan.before->content == plan.after->content;
  const bool is_large = !stayed && (is_too_large(*plan.before) || is_too_large(*plan.after));
  if (is_large) loaded.sizes.emplace(plan.before->size, plan.after->size);
  const auto load = [&](const Node& node) -> Result<Content> {
    return is_large ? stand_in(node) : proposal.content(node);
  };
  if (is_shown(*plan.before) && !stayed) {
    GALLEY_ASSIGN(loaded.before, load(*plan.before));
  }
  if (is_shown(*plan.after) && !stayed) {
    GALLEY_ASSIGN(loaded.after, load(*plan.after));
  }
  loaded.pair = {plan.old_path,
                 plan.new_path,
                 git_mode_of(*plan.before),
                 git_mode_of(*plan.after),
                 *loaded.before,
                 *loaded.after,
                 plan.kind,
                 plan.similarity};
  return loaded;
}

// False if git cannot show the difference, such as a permission bit that git does not store.
bool is_visible(const FilePair& pair) {
  return pair.kind != PairKind::kSamePath || pair.old_mode != pair.new_mode ||
         pair.old_content != pair.new_content;
}

// Maximum number of pairs, and of bytes, that are processed together.
constexpr size_t kPairsAtOnce = 512;
constexpr uint64_t kBytesAtOnce = uint64_t{32} << 20U;
constexpr size_t kPairsInBlock = 32;  // enough to fill the lanes of blob_names()

size_t end_of_batch(const std::vector<PairPlan>& plans, size_t begin) {
  uint64_t bytes = 0;
  size_t end = begin;
  while (end < plans.size() && end - begin < kPairsAtOnce &&
         (end == begin || bytes < kBytesAtOnce)) {
    bytes += plans[end].before->size + plans[end].after->size;
    ++end;
  }
  return end;
}

/// Computes git's names of both sides of each pair, for the index lines.
void name_blobs(std::span<LoadedPair*> pairs) {
  std::vector<std::string_view> contents;
  for (const LoadedPair* loaded : pairs) {
    contents.push_back(loaded->pair.old_content);
    contents.push_back(loaded->pair.new_content);
  }
  const auto names = blob_names(contents);
  for (size_t i = 0; i < pairs.size(); ++i) {
    FilePair& pair = pairs[i]->pair;
    pair.old_blob = names[2 * i];
    pair.new_blob = names[2 * i + 1];
    // These names are unknown, because the contents were not read.
    if (pairs[i]->sizes) pair.old_blob = pair.new_blob = GitOid();
    if (pair.old_mode == git_mode::kSubmodule) pair.old_blob = submodule_commit(pair.old_content);
    if (pair.new_mode == git_mode::kSubmodule) pair.new_blob = submodule_commit(pair.new_content);
  }
}

/// Whether the results for the pairs need git's names of the contents.
enum class BlobNames : uint8_t { kUnused, kPrinted };

/// Calls `make` for each visible pair, on several threads. Passes the results to `take` in order.
template <class Make, class Take>
Result<void> for_each_pair(const Proposal& proposal, const ProposalDiffOptions& options,
                           BlobNames names, const Make& make, const Take& take) {
  using Made = std::invoke_result_t<Make, const LoadedPair&>;
  GALLEY_ASSIGN(const auto plans, PairPlanner(proposal, options).plan());
  for (size_t begin = 0; begin < plans.size();) {
    const size_t end = end_of_batch(plans, begin);
    std::vector<Result<std::optional<Made>>> batch(end - begin);
    for_each_block(batch.size(), kPairsInBlock, [&](size_t from, size_t to) {
      std::vector<LoadedPair> held(to - from);
      std::vector<LoadedPair*> visible;
      for (size_t i = from; i < to; ++i) {
        auto loaded = load_pair(proposal, plans[begin + i]);
        if (!loaded) {
          batch[i] = fail(std::move(loaded.error()));
        } else if (is_visible(loaded->pair)) {
          held[i - from] = *std::move(loaded);
          visible.push_back(&held[i - from]);
        }
      }
      if (names == BlobNames::kPrinted) name_blobs(visible);
      for (const LoadedPair* loaded : visible) {
        const auto i = from + static_cast<size_t>(loaded - held.data());
        batch[i] = std::optional<Made>(make(*loaded));
      }
    });
    for (auto& made : batch) {
      if (!made) return fail(std::move(made.error()));
      if (*made) take(**std::move(made));
    }
    begin = end;
  }
  return {};
}

// Lines may move between files, so all files are compared before the first is printed.
Result<MovedMarks> find_moved(const Proposal& proposal, const ProposalDiffOptions& options) {
  std::vector<LoadedPair> held;
  MovedLineFinder finder(options.file.moved);
  const auto add = [&](const FilePair& pair) {
    const auto diff = diff_file(pair, options.file);
    finder.add(diff, Lines(pair.old_content), Lines(pair.new_content));
  };
  const auto take = [&](LoadedPair loaded) {
    held.push_back(std::move(loaded));
    const FilePair& pair = held.back().pair;
    if (!pair.is_type_change()) return add(pair);
    const auto [gone, made] = split_type_change(pair);
    add(gone);
    add(made);
  };
  GALLEY_TRY(for_each_pair(
      proposal, options, BlobNames::kUnused, [](const LoadedPair& loaded) { return loaded; },
      take));
  return finder.find();
}

}  // namespace

Content stand_in(const Node& node) {
  return std::make_shared<const std::string>(std::string(1, '\0') + node.content.hex());
}

Result<void> render_diff(const Proposal& proposal, const ProposalDiffOptions& options,
                         const DiffSink& sink) {
  ProposalDiffOptions own = options;
  MovedMarks marks;
  if (own.file.color && own.file.moved != MovedLines::kNone && own.file.marks == nullptr) {
    GALLEY_ASSIGN(marks, find_moved(proposal, options));
    own.file.marks = &marks;
  }
  return for_each_pair(
      proposal, own, BlobNames::kPrinted,
      [&](const LoadedPair& loaded) { return shown_diff(loaded, own.file); },
      [&](const std::string& text) { sink(text); });
}

Result<std::string> render_diff(const Proposal& proposal) {
  return render_diff(proposal, ProposalDiffOptions());
}

Result<std::string> render_diff(const Proposal& proposal, const ProposalDiffOptions& options) {
  std::string out;
  GALLEY_TRY(render_diff(proposal, options, [&](std::string_view text) { out += text; }));
  return out;
}

Result<std::vector<ProposedFileDiff>> diff_proposal(const Proposal& proposal,
                                                    const ProposalDiffOptions& options) {
  std::vector<ProposedFileDiff> diffs;
  const auto make = [&](const LoadedPair& loaded) {
    return ProposedFileDiff{compare(loaded, options.file), loaded.before, loaded.after};
  };
  GALLEY_TRY(for_each_pair(proposal, options, BlobNames::kUnused, make,
                           [&](ProposedFileDiff diff) { diffs.push_back(std::move(diff)); }));
  return diffs;
}

Result<std::vector<FileDiff>> summarize_proposal(const Proposal& proposal,
                                                 const ProposalDiffOptions& options) {
  std::vector<FileDiff> diffs;
  GALLEY_TRY(for_each_pair(
      proposal, options, BlobNames::kUnused,
      [&](const LoadedPair& loaded) { return compare(loaded, options.file); },
      [&](FileDiff diff) { diffs.push_back(std::move(diff)); }));
  return diffs;
}

namespace {

constexpr uint32_t kTypeMask = 0170000;
constexpr size_t kMinBlobDigits = 4;

}  // namespace

bool is_kind(const std::optional<uint32_t>& mode, uint32_t type) {
  return mode && (*mode & kTypeMask) == type;
}

uint32_t with_git_mode(uint32_t permissions, uint32_t git_mode) {
  if ((git_mode & kAnyExecute) == 0) return permissions & ~kAnyExecute;
  return permissions | ((permissions & 0444U) >> 2U);
}

bool names_blob(std::string_view digits) {
  return digits.size() >= kMinBlobDigits && digits.find_first_not_of('0') != digits.npos;
}

bool is_blob(std::string_view digits, std::string_view content) {
  return GitOid::of_blob(content).hex().starts_with(digits);
}

}  // namespace galley
