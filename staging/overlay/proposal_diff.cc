#include "staging/overlay/proposal_diff.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "staging/printing/diff_moved.h"

namespace galley {

namespace {

bool is_file(const Node& node) {
  return node.kind == FileKind::kRegular || node.kind == FileKind::kSymlink;
}

uint32_t git_mode_of(const Node& node) {
  if (node.kind == FileKind::kSymlink) return git_mode::kSymlink;
  if (node.kind != FileKind::kRegular) return git_mode::kAbsent;
  return (node.mode & 0100U) != 0 ? git_mode::kExecutable : git_mode::kRegular;
}

bool same_type(const Node& a, const Node& b) { return a.kind == b.kind; }

// Which node is shown against which: a change set turned into git's pairs.
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
      if (is_file(*plan.before) || is_file(*plan.after)) plans.push_back(std::move(plan));
    }
    return plans;
  }

 private:
  struct Source {
    std::optional<size_t> from;  // index of the change whose base this one came from
    bool is_copy = false;
    bool is_consumed = false;  // its deletion is shown by the rename
  };

  std::optional<size_t> index_of(const RelPath& path) const {
    const auto at = std::lower_bound(
        changes_.begin(), changes_.end(), path,
        [](const Change& change, const RelPath& wanted) { return change.path < wanted; });
    if (at == changes_.end() || at->path != path) return std::nullopt;
    return static_cast<size_t>(at - changes_.begin());
  }

  // The last of several files that came from one source is the rename, as in git.
  void declared_renames() {
    for (size_t i = changes_.size(); i-- > 0;) {
      const auto& change = changes_[i];
      const auto& declared = change.renamed_from ? change.renamed_from : change.copied_from;
      if (!declared || is_file(change.before) || !is_file(change.after)) continue;
      const auto from = index_of(*declared);
      if (!from || !same_type(changes_[*from].before, change.after)) continue;
      sources_[i].from = from;
      const bool gone = !is_file(changes_[*from].after);
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
      if (is_file(before) == is_file(after)) continue;
      const Node& node = is_file(before) ? before : after;
      if (is_file(before) ? sources_[i].is_consumed : sources_[i].from.has_value()) continue;
      (is_file(before) ? gone : made)
          .push_back({changes_[i].path.str(), git_mode_of(node), node.size, node.content});
      (is_file(before) ? gone_at : made_at).push_back(i);
      nodes[node.content] = &node;
    }
    Content held;
    const auto load = [&](const RenameEnd& end) -> Result<std::string_view> {
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
};

Result<LoadedPair> load_pair(const Proposal& proposal, const PairPlan& plan) {
  static const Content kEmpty = std::make_shared<const std::string>();
  LoadedPair loaded;
  loaded.before = loaded.after = kEmpty;
  // A content that stayed prints nothing, and the history keeps no image of it.
  const bool stayed =
      same_type(*plan.before, *plan.after) && plan.before->content == plan.after->content;
  if (is_file(*plan.before) && !stayed) {
    GALLEY_ASSIGN(loaded.before, proposal.content(*plan.before));
  }
  if (is_file(*plan.after) && !stayed) {
    GALLEY_ASSIGN(loaded.after, proposal.content(*plan.after));
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

// Files whose difference git cannot show (a permission bit that it does not record) have no diff.
bool is_visible(const FilePair& pair) {
  return pair.kind != PairKind::kSamePath || pair.old_mode != pair.new_mode ||
         pair.old_content != pair.new_content;
}

template <class Take>
Result<void> for_each_pair(const Proposal& proposal, const ProposalDiffOptions& options,
                           Take take) {
  GALLEY_ASSIGN(const auto plans, PairPlanner(proposal, options).plan());
  for (const auto& plan : plans) {
    GALLEY_ASSIGN(LoadedPair loaded, load_pair(proposal, plan));
    if (is_visible(loaded.pair)) take(loaded);
  }
  return {};
}

// Lines may have moved from one file to another: all files are compared before one is printed.
Result<MovedMarks> find_moved(const Proposal& proposal, const ProposalDiffOptions& options) {
  std::vector<LoadedPair> held;
  MovedLineFinder finder(options.file.moved);
  GALLEY_TRY(for_each_pair(proposal, options, [&](const LoadedPair& loaded) {
    const auto add = [&](const FilePair& pair) {
      const auto diff = diff_file(pair, options.file);
      finder.add(diff, Lines(pair.old_content), Lines(pair.new_content));
    };
    held.push_back(loaded);
    if (!loaded.pair.is_type_change()) return add(loaded.pair);
    const auto [gone, made] = split_type_change(loaded.pair);
    add(gone);
    add(made);
  }));
  return finder.find();
}

}  // namespace

Result<void> render_diff(const Proposal& proposal, const ProposalDiffOptions& options,
                         const DiffSink& sink) {
  ProposalDiffOptions own = options;
  MovedMarks marks;
  if (own.file.color && own.file.moved != MovedLines::kNone && own.file.marks == nullptr) {
    GALLEY_ASSIGN(marks, find_moved(proposal, options));
    own.file.marks = &marks;
  }
  std::string text;
  return for_each_pair(proposal, own, [&](const LoadedPair& loaded) {
    text.clear();
    append_git_diff(loaded.pair, own.file, text);
    sink(text);
  });
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
  GALLEY_TRY(for_each_pair(proposal, options, [&](const LoadedPair& loaded) {
    diffs.push_back({diff_file(loaded.pair, options.file), loaded.before, loaded.after});
  }));
  return diffs;
}

Result<std::vector<FileDiff>> summarize_proposal(const Proposal& proposal,
                                                 const ProposalDiffOptions& options) {
  std::vector<FileDiff> diffs;
  GALLEY_TRY(for_each_pair(proposal, options, [&](const LoadedPair& loaded) {
    diffs.push_back(diff_file(loaded.pair, options.file));
  }));
  return diffs;
}

}  // namespace galley
