#include "engine/history/blame.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "engine/commit/history_reader.h"
#include "engine/history/index.h"
#include "staging/printing/git_diff.h"
#include "staging/text/diff.h"

namespace galley {
namespace {

/// A file that is followed back in time. It maps each present line to a line of the older text.
///
/// Invariant: open_ has one entry for each line of text_: the present lines of the file that come
///            from it and whose origin is still unknown.
class LinesBack {
 public:
  LinesBack(Content text, RelPath path) : text_(std::move(text)), path_(std::move(path)) {
    const Lines lines(*text_);
    blame_.lines.resize(lines.size());
    open_.resize(lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      blame_.lines[i].text = std::string(lines[i]);
      blame_.lines[i].path = path_;
      open_[i] = {i};
    }
    left_ = lines.size();
  }

  [[nodiscard]] const RelPath& path() const { return path_; }
  [[nodiscard]] const Content& text() const { return text_; }
  [[nodiscard]] bool is_done() const { return left_ == 0; }
  void rename(RelPath path) { path_ = std::move(path); }

  /// Goes back to `older`; lines that `older` lacks come from `origin` and `tx`.
  void go_back(const Content& older, LineOrigin origin, TxId tx) {
    const Lines before(*older);
    const Lines after(*text_);
    std::vector<std::vector<size_t>> open(before.size());
    size_t old_line = 0;
    size_t new_line = 0;
    const auto keep_until = [&](size_t end) {
      while (new_line < end) open[old_line++] = std::move(open_[new_line++]);
    };
    for (const ChangedRange& range : diff_lines(before, after)) {
      keep_until(range.new_begin);
      for (; new_line < range.new_end; ++new_line) settle(new_line, origin, tx);
      old_line = range.old_end;
    }
    keep_until(after.size());
    open_ = std::move(open);
    text_ = older;
  }

  /// All remaining lines come from `origin` and `tx`.
  void settle_all(LineOrigin origin, TxId tx) {
    for (size_t line = 0; line < open_.size(); ++line) settle(line, origin, tx);
  }

  Blame finish() && {
    settle_all(LineOrigin::kOlder, {});
    return std::move(blame_);
  }

 private:
  void settle(size_t line, LineOrigin origin, TxId tx) {
    for (const size_t now : open_[line]) {
      BlamedLine& blamed = blame_.lines[now];
      blamed.origin = origin;
      blamed.tx = tx;
      blamed.path = path_;
      if (origin != LineOrigin::kOlder) blamed.original_line = static_cast<uint32_t>(line + 1);
      --left_;
    }
    open_[line].clear();
  }

  Content text_;
  RelPath path_;
  std::vector<std::vector<size_t>> open_;
  size_t left_ = 0;
  Blame blame_;
};

/// A walk through the transactions that touched one file, newest first.
class BlameWalk {
 public:
  explicit BlameWalk(LinesBack lines) : lines_(std::move(lines)) {}

  /// Goes back over one transaction; returns false when older transactions cannot add anything.
  Result<bool> step(const CommittedTransaction& transaction) {
    const Change* change = find_change(transaction.changes, lines_.path());
    // A pure change of mode wrote no line, and its journal may lack the content.
    if (change == nullptr || change->before.content == change->after.content) {
      return !lines_.is_done();
    }
    const TxId id = transaction.journal.id;
    GALLEY_TRY(meet(transaction, *change));
    if (lines_.is_done()) return false;
    const Change* older = change;
    if (change->renamed_from) older = find_change(transaction.changes, *change->renamed_from);
    if (change->copied_from) {
      // The journal does not have the source of a copy when the source did not change. The next
      // transaction that knows the source tells which lines only the copy had.
      lines_.rename(*change->copied_from);
      unknown_since_ = id;
      origin_of_unknown_ = LineOrigin::kTransaction;
      return true;
    }
    if (older == nullptr || older->before.kind != FileKind::kRegular) {
      lines_.settle_all(LineOrigin::kTransaction, id);
      return false;
    }
    GALLEY_ASSIGN(const Content before, transaction.store->get(older->before.content));
    if (looks_binary(*before)) {
      lines_.settle_all(LineOrigin::kTransaction, id);
      return false;
    }
    lines_.go_back(before, LineOrigin::kTransaction, id);
    lines_.rename(older->path);
    unknown_since_ = {};
    origin_of_unknown_ = LineOrigin::kOutside;
    return !lines_.is_done();
  }

  [[nodiscard]] const RelPath& path() const { return lines_.path(); }
  Blame finish() && { return std::move(lines_).finish(); }

 private:
  /// If the text differs from the text that the transaction left, another program wrote the
  /// difference.
  Result<void> meet(const CommittedTransaction& transaction, const Change& change) {
    const bool is_copy_pending = origin_of_unknown_ == LineOrigin::kTransaction;
    const TxId writer = is_copy_pending ? unknown_since_ : transaction.journal.id;
    if (change.after.kind != FileKind::kRegular) {
      lines_.settle_all(origin_of_unknown_, writer);
      return {};
    }
    if (ContentId::of(*lines_.text()) == change.after.content) return {};
    GALLEY_ASSIGN(const Content left, transaction.store->get(change.after.content));
    if (looks_binary(*left)) {
      lines_.settle_all(origin_of_unknown_, writer);
      return {};
    }
    lines_.go_back(left, origin_of_unknown_, writer);
    return {};
  }

  LinesBack lines_;
  TxId unknown_since_;
  LineOrigin origin_of_unknown_ = LineOrigin::kOutside;
};

/// The transactions that may have touched a path, newest first: from the index in a long history,
/// else all of them.
class Touches {
 public:
  static Result<Touches> of(const History& history) {
    Touches touches;
    GALLEY_ASSIGN(touches.ids_, history.ids());
    if (touches.ids_.size() < HistoryIndex::kWorthwhile) return touches;
    auto index = HistoryIndex::open(history);
    if (index) touches.index_ = std::move(*index);
    return touches;
  }

  /// The newest one before `at`; the newest of all when `at` is 0.
  Result<std::optional<TxId>> before(const RelPath& path, TxId at) {
    if (index_) return index_->newest_touching(path, at);
    const auto end = at.value == 0 ? ids_.end() : std::lower_bound(ids_.begin(), ids_.end(), at);
    if (end == ids_.begin()) return std::optional<TxId>();
    return std::optional<TxId>(*std::prev(end));
  }

 private:
  std::vector<TxId> ids_;
  std::unique_ptr<HistoryIndex> index_;
};

}  // namespace

Result<Blame> blame(const History& history, const Directory& workspace, const RelPath& path) {
  GALLEY_ASSIGN(std::string bytes, read_file(workspace, path, limits::kMaxFileBytes));
  if (looks_binary(bytes)) {
    return fail(ErrorKind::kRefused, "blame.binary",
                "'" + path.str() + "' is binary: blame needs lines", path.str());
  }
  BlameWalk walk(LinesBack(std::make_shared<const std::string>(std::move(bytes)), path));
  GALLEY_ASSIGN(Touches touches, Touches::of(history));
  for (TxId at;;) {
    GALLEY_ASSIGN(const std::optional<TxId> older, touches.before(walk.path(), at));
    if (!older) break;
    at = *older;
    GALLEY_ASSIGN(const auto transaction, history.journal(at));
    GALLEY_ASSIGN(const bool goes_on, walk.step(*transaction));
    if (!goes_on) break;
  }
  Blame result = std::move(walk).finish();
  for (const BlamedLine& line : result.lines) {
    if (line.tx.value == 0 || result.transactions.contains(line.tx)) continue;
    GALLEY_ASSIGN(const auto transaction, history.journal(line.tx));
    GALLEY_ASSIGN(TxSummary summary, summarize(*transaction, false));
    result.transactions.emplace(line.tx, std::move(summary));
  }
  return result;
}

}  // namespace galley
