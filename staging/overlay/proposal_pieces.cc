#include "staging/overlay/proposal_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

bool is_directory(const Node& node) { return node.kind == FileKind::kDirectory; }

/// True if a directory is made or removed. A change from or to a file is a type change instead.
bool comes_or_goes(const Change& change) {
  return (change.is_create() && is_directory(change.after)) ||
         (change.is_delete() && is_directory(change.before));
}

bool changes_its_kind(const Change& change) {
  return change.is_type_change() && (is_directory(change.before) || is_directory(change.after));
}

}  // namespace

std::string ProposalPiece::text() const {
  if (hunk != 0) return fmt::format("{}, hunk {}", path.str(), hunk);
  if (is_mode) return path.str() + ", mode";
  if (more_paths > 0) return path.str() + " and " + counted(more_paths, "more path");
  return path.str();
}

Result<ProposalPieces> ProposalPieces::split(const Proposal& proposal, uint32_t context) {
  ProposalPieces split(proposal);
  split.group();
  GALLEY_TRY(split.find_texts(context));
  split.add_pieces();
  return split;
}

void ProposalPieces::unite(size_t a, size_t b) {
  const size_t from = std::max(cuts_[a].group, cuts_[b].group);
  const size_t to = std::min(cuts_[a].group, cuts_[b].group);
  if (from == to) return;
  for (ChangeFacts& cut : cuts_) {
    if (cut.group == from) cut.group = to;
  }
}

void ProposalPieces::group() {
  const ChangeSet& changes = whole_.changes();
  std::map<RelPath, size_t> index;
  for (size_t i = 0; i < changes.size(); ++i) index.emplace(changes[i].path, i);
  cuts_.resize(changes.size());
  for (size_t i = 0; i < changes.size(); ++i) cuts_[i].group = i;
  for (size_t i = 0; i < changes.size(); ++i) {
    for (RelPath above = changes[i].path; !above.is_root();) {
      above = above.parent();
      const auto found = index.find(above);
      if (found == index.end()) continue;
      if (changes_its_kind(changes[found->second])) unite(i, found->second);
      if (comes_or_goes(changes[found->second]) && !cuts_[i].above) cuts_[i].above = found->second;
    }
    if (!changes[i].renamed_from) continue;
    const auto source = index.find(*changes[i].renamed_from);
    if (source != index.end()) unite(i, source->second);
  }
  std::vector<size_t> sizes(changes.size());
  for (const ChangeFacts& cut : cuts_) ++sizes[cut.group];
  for (const ChangeFacts& cut : cuts_) {
    if (cut.above && sizes[cuts_[*cut.above].group] == 1) cuts_[*cut.above].is_implied = true;
  }
}

Result<void> ProposalPieces::find_texts(uint32_t context) {
  const ChangeSet& changes = whole_.changes();
  std::map<std::string, ProposedFileDiff> texts;
  ProposalDiffOptions options;
  options.find_renames = false;
  options.file.context = context;
  GALLEY_ASSIGN(auto files, diff_proposal(whole_, options));
  for (ProposedFileDiff& file : files) {
    if (file.diff.script.empty() || file.diff.old_path != file.diff.new_path) continue;
    texts.emplace(file.diff.new_path, std::move(file));
  }
  std::vector<size_t> sizes(changes.size());
  for (const ChangeFacts& cut : cuts_) ++sizes[cut.group];
  for (size_t i = 0; i < changes.size(); ++i) {
    const bool is_file =
        changes[i].before.kind == FileKind::kRegular && changes[i].after.kind == FileKind::kRegular;
    const auto text = texts.find(changes[i].path.str());
    if (!is_file || sizes[cuts_[i].group] != 1 || text == texts.end()) continue;
    ProposedFileDiff& file = text->second;
    Text cut{file.before, file.after, std::move(file.diff.script), {}};
    for (const auto& hunk : file.diff.hunks) cut.hunks.push_back(hunk.span);
    cuts_[i].text = std::move(cut);
  }
  return {};
}

void ProposalPieces::add_pieces() {
  const ChangeSet& changes = whole_.changes();
  std::vector<size_t> sizes(changes.size());
  for (const ChangeFacts& cut : cuts_) ++sizes[cut.group];
  const auto add = [this](size_t change, ProposalPiece piece) {
    pieces_.push_back(std::move(piece));
    change_of_.push_back(change);
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    const ChangeFacts& cut = cuts_[i];
    if (cut.is_implied || cut.group != i) continue;
    ProposalPiece piece;
    piece.path = changes[i].path;
    if (!cut.text) {
      piece.more_paths = sizes[i] - 1;
      add(i, piece);
      continue;
    }
    if (changes[i].before.mode != changes[i].after.mode ||
        changes[i].before.owner != changes[i].after.owner) {
      piece.is_mode = true;
      add(i, piece);
      piece.is_mode = false;
    }
    for (size_t hunk = 1; hunk <= cut.text->hunks.size(); ++hunk) {
      piece.hunk = static_cast<uint32_t>(hunk);
      add(i, piece);
    }
  }
}

Result<Proposal> ProposalPieces::without(const std::vector<RelPath>& paths) const {
  std::set<size_t> dropped;  // groups
  for (size_t i = 0; i < cuts_.size(); ++i) {
    const RelPath& changed = whole_.changes()[i].path;
    const bool is_named = std::any_of(paths.begin(), paths.end(), [&](const RelPath& path) {
      return changed == path || changed.is_below(path);
    });
    if (is_named) dropped.insert(cuts_[i].group);
  }
  std::vector<size_t> chosen;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (!dropped.contains(cuts_[change_of_[i]].group)) chosen.push_back(i);
  }
  return only(chosen);
}

std::vector<ProposalPieces::Part> ProposalPieces::parts_of(
    const std::vector<size_t>& chosen) const {
  std::vector<Part> parts(cuts_.size());
  for (const size_t one : chosen) {
    const ProposalPiece& piece = pieces_[one];
    Part& part = parts[change_of_[one]];
    if (piece.is_mode) {
      part.has_mode = true;
    } else if (piece.hunk != 0) {
      part.hunks.push_back(piece.hunk - 1);
    } else {
      part.is_whole = true;
    }
  }
  for (size_t i = 0; i < cuts_.size(); ++i) {
    if (!cuts_[i].is_implied) parts[i].is_whole |= parts[cuts_[i].group].is_whole;
  }
  take_directories(parts);
  return parts;
}

/// Takes a made directory if any change in it is taken, and a removed directory if all are. The
/// contents of a directory are sorted after it, so the backward loop decides inner directories
/// first.
void ProposalPieces::take_directories(std::vector<Part>& parts) const {
  const ChangeSet& changes = whole_.changes();
  std::vector<bool> has_left_out(cuts_.size(), false);
  for (size_t i = cuts_.size(); i-- > 0;) {
    if (cuts_[i].is_implied && changes[i].is_delete()) parts[i].is_whole = !has_left_out[i];
    if (!cuts_[i].above) continue;
    const size_t above = *cuts_[i].above;
    if (!parts[i].is_whole) has_left_out[above] = true;
    if (parts[i].is_whole && cuts_[above].is_implied && changes[above].is_create()) {
      parts[above].is_whole = true;
    }
  }
}

Result<Proposal> ProposalPieces::only(const std::vector<size_t>& chosen) const {
  const std::vector<Part> parts = parts_of(chosen);
  const auto store = std::make_shared<LayeredStore>(
      std::vector<std::shared_ptr<const ContentStore>>{whole_.store()});
  ChangeSet changes;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    Change change = whole_.changes()[i];
    if (!cuts_[i].text) {
      if (part.is_whole) changes.push_back(std::move(change));
      continue;
    }
    const Text& text = *cuts_[i].text;
    if (!part.has_mode) {
      change.after.mode = change.before.mode;
      change.after.owner = change.before.owner;
    }
    if (part.hunks.empty()) {
      change.after.content = change.before.content;
      change.after.size = change.before.size;
    } else if (part.hunks.size() < text.hunks.size()) {
      const Lines before(*text.before);
      const Lines after(*text.after);
      std::string made;
      size_t copied = 0;
      for (const size_t hunk : part.hunks) {
        for (size_t at = text.hunks[hunk].first_change; at < text.hunks[hunk].last_change; ++at) {
          const ChangedRange& range = text.script[at];
          made += before.span(copied, range.old_begin);
          made += after.span(range.new_begin, range.new_end);
          copied = range.old_end;
        }
      }
      made += before.span(copied, before.size());
      change.after.size = made.size();
      GALLEY_ASSIGN(change.after.content, store->put(std::move(made)));
    }
    if (change.before != change.after) changes.push_back(std::move(change));
  }
  return Proposal::from(std::move(changes), store);
}

}  // namespace galley
