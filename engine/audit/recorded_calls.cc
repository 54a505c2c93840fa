#include "engine/audit/recorded_calls.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "base/printable.h"
#include "base/shell_word.h"
#include "engine/audit/audit_chain.h"
#include "engine/audit/recorder.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;

std::vector<std::string> texts_of(const json& record, const char* key) {
  std::vector<std::string> texts;
  const auto found = record.find(key);
  if (found == record.end() || !found->is_array()) return texts;
  for (const json& text : *found) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

RelPath log_path() { return RelPath::parse("audit.jsonl").value(); }

/// Reads every complete line that contains one of the words as JSON, and the first one that begins
/// after the offset `from`, if that is not 0.
Result<void> for_each_record_with(const Directory& state_root,
                                  const std::vector<std::string>& words,
                                  const std::function<void(const json&)>& take, uint64_t from = 0) {
  bool is_wanted = from > 0;
  const auto take_line = [&](std::string_view line, bool is_whole) {
    const bool is_meant =
        is_whole && (is_wanted || std::any_of(words.begin(), words.end(), [&](const auto& word) {
                       return line.find(word) != std::string_view::npos;
                     }));
    is_wanted = false;
    if (!is_meant) return;
    const json record = json::parse(line, nullptr, false);
    if (record.is_object()) take(record);
  };
  return for_each_audit_line(state_root, log_path(), take_line, from);
}

/// Calls `read` with the place from which it reads the log, near the end first, until it returns
/// that it has all.
Result<void> read_end(const Directory& state_root,
                      const std::function<Result<bool>(uint64_t from)>& read) {
  constexpr uint64_t kFirstBytes = uint64_t{256} << 10U;
  constexpr uint64_t kGrowth = 4;
  GALLEY_ASSIGN(const FileStat log, state_root.stat(log_path()));
  bool has_all = false;
  for (uint64_t bytes = kFirstBytes; !has_all; bytes *= kGrowth) {
    GALLEY_ASSIGN(has_all, read(log.size > bytes ? log.size - bytes : 0));
  }
  return {};
}

bool is_above(std::string_view above, std::string_view path) {
  return above.ends_with('/') && path.starts_with(above);
}

/// Removes directories above a changed path, because they always change too.
std::vector<std::string> without_parents(std::vector<std::string> changed) {
  std::sort(changed.begin(), changed.end());
  std::vector<std::string> kept;
  for (size_t i = 0; i < changed.size(); ++i) {
    const bool has_more_below = i + 1 < changed.size() && is_above(changed[i], changed[i + 1]);
    if (!has_more_below) kept.push_back(changed[i]);
  }
  return kept;
}

/// The calls of an open transaction since it began, or since the last commit of its live run.
class OpenCalls {
 public:
  void take(const json& record) {
    if (!record.contains("error")) take_reverted(record);
    if (!record.contains("changed")) return;
    RecordedCall call{text_member(record, "execution_id"), text_member(record, "tool"),
                      without_parents(texts_of(record, "changed")), 0};
    const auto more = record.find("changed_more");
    if (more != record.end() && more->is_number_unsigned()) call.changed_more = *more;
    calls_.push_back(std::move(call));
  }

  [[nodiscard]] bool has(const std::string& execution) const {
    return std::any_of(calls_.begin(), calls_.end(),
                       [&](const RecordedCall& call) { return call.execution_id == execution; });
  }

  /// Returns the calls without those that were reverted, and without what reverted them.
  [[nodiscard]] std::vector<RecordedCall> effective() const {
    std::set<std::string> gone;
    // A rollback may itself be undone, so the newest one decides.
    for (auto rollback = rollbacks_.rbegin(); rollback != rollbacks_.rend(); ++rollback) {
      if (!gone.insert(rollback->first).second) continue;
      gone.insert(rollback->second.begin(), rollback->second.end());
    }
    std::vector<RecordedCall> kept = calls_;
    std::erase_if(kept, [&](const RecordedCall& call) { return gone.contains(call.execution_id); });
    return kept;
  }

 private:
  /// Notes the calls that a rollback or a failed series of calls or edits reverted.
  void take_reverted(const json& record) {
    const std::string kind = text_member(record, "kind");
    const json input = record.value("input", json());
    if (kind == "savepoint") savepoints_[text_member(input, "name")] = calls_.size();
    if (kind != "rollback" && kind != "calls.dropped" && kind != "edits.dropped") return;
    std::vector<std::string> reverted = texts_of(record.value("output", json()), "executions");
    if (kind == "rollback" && input.contains("to")) {
      for (size_t i = savepoints_[text_member(input, "to")]; i < calls_.size(); ++i) {
        reverted.push_back(calls_[i].execution_id);
      }
    }
    if (reverted.empty()) return;
    rollbacks_.emplace_back(text_member(record, "execution_id"), std::move(reverted));
  }

  std::vector<RecordedCall> calls_;
  std::vector<std::pair<std::string, std::vector<std::string>>>
      rollbacks_;                             // with what they revert
  std::map<std::string, size_t> savepoints_;  // number of calls before each
};

}  // namespace

bool RecordedCall::shares_path_with(const RecordedCall& other) const {
  return std::any_of(changed.begin(), changed.end(), [&](const std::string& path) {
    return std::any_of(other.changed.begin(), other.changed.end(), [&](const std::string& theirs) {
      return path == theirs || is_above(path, theirs) || is_above(theirs, path);
    });
  });
}

std::optional<TxId> committed_as(std::string_view kind, std::string_view tx,
                                 std::string_view execution_id) {
  if (kind != "commit" && kind != "undo" && kind != "redo") return {};
  // Earlier versions named the record by its proposal, and wrote numbers in hexadecimal.
  constexpr size_t kDigits = 64;
  const bool is_old =
      execution_id.find_first_not_of("0123456789abcdef") == kDigits && execution_id[kDigits] == '-';
  return is_old ? TxId::from_file_name(tx) : TxId::parse(tx);
}

Result<std::vector<std::pair<std::string, TxId>>> committed_transactions(
    const Directory& state_root) {
  std::vector<std::pair<std::string, TxId>> found;
  GALLEY_TRY(for_each_record_with(state_root, {R"("open_tx":")"}, [&](const json& record) {
    const auto id = committed_as(text_member(record, "kind"), text_member(record, "tx"),
                                 text_member(record, "execution_id"));
    if (id) found.emplace_back(text_member(record, "open_tx"), *id);
  }));
  return found;
}

Result<std::vector<TxId>> committed_by_session(const Directory& state_root,
                                               std::string_view session) {
  std::vector<TxId> found;
  GALLEY_TRY(for_each_record_with(state_root, {R"("kind":"commit")"}, [&](const json& record) {
    if (text_member(record, "session_id") != session) return;
    const std::string kind = text_member(record, "kind");
    const auto id =
        committed_as(kind, text_member(record, "tx"), text_member(record, "execution_id"));
    if (id && kind == "commit") found.push_back(*id);
  }));
  return found;
}

namespace {

using Forks = std::vector<std::pair<std::string, std::string>>;  // parent and child, oldest first

/// The transaction, its forks, and those that it was forked from.
std::set<std::string> relatives_of(const std::string& tx, const Forks& forks) {
  std::set<std::string> relatives = {tx};
  for (const auto& [parent, child] : forks) {
    if (relatives.contains(parent)) relatives.insert(child);
  }
  for (auto fork = forks.rbegin(); fork != forks.rend(); ++fork) {
    if (relatives.contains(fork->second)) relatives.insert(fork->first);
  }
  return relatives;
}

/// The id of the transaction that a record says was forked; empty for other records.
std::string fork_of(const json& record) {
  if (text_member(record, "kind") != "fork" || record.contains("error")) return {};
  return text_member(record.value("output", json()), "tx");
}

void set_calls(RecordedTransaction& found, const OpenCalls& open, const std::string& wanted) {
  found.calls = open.effective();
  for (size_t i = 0; i < found.calls.size(); ++i) {
    if (found.calls[i].execution_id == wanted) found.wanted = i;
  }
}

/// Finds the calls of the transaction, or of the first commit that has the call `id`. That may be
/// the commit of a fork, which begins with the calls of its parent.
Result<void> find_commit(const Directory& state_root, const std::set<std::string>& relatives,
                         const std::string& id, RecordedTransaction& found) {
  std::vector<std::string> words;
  for (const std::string& tx : relatives) words.push_back('"' + tx + '"');
  std::map<std::string, OpenCalls> open;
  GALLEY_TRY(for_each_record_with(state_root, words, [&](const json& record) {
    if (found.wanted) return;
    const auto ended = open.find(text_member(record, "open_tx"));
    const auto number = committed_as(text_member(record, "kind"), text_member(record, "tx"),
                                     text_member(record, "execution_id"));
    if (ended != open.end() && number) {
      // A live run commits several times: each commit has the calls since the previous one.
      const OpenCalls calls = std::exchange(ended->second, {});
      // If one fork took the call back before its commit, another may have committed it.
      if (!calls.has(id)) return;
      set_calls(found, calls, id);
      if (found.wanted || ended->first == found.open_tx) found.committed = number;
      return;
    }
    const std::string tx = text_member(record, "tx");
    if (!relatives.contains(tx)) return;
    open[tx].take(record);
    if (const std::string child = fork_of(record); !child.empty()) open[child] = open[tx];
  }));
  if (!found.committed) set_calls(found, open[found.open_tx], id);
  return {};
}

/// Finds the commands of commits in the records after one place of the log.
class CommandSearch {
 public:
  explicit CommandSearch(const std::set<TxId>& commits) : missing_(commits), commits_(&commits) {}

  void take(const json& record) {
    if (since_.empty()) since_ = text_member(record, "timestamp");
    const auto number = committed_as(text_member(record, "kind"), text_member(record, "tx"),
                                     text_member(record, "execution_id"));
    if (number) {
      take_commit(record, *number);
      return;
    }
    if (record.contains("changed") && text_member(record, "tool") == "Bash") {
      commands_[text_member(record, "execution_id")] =
          text_member(record.value("input", json()), "command");
    }
    const std::string tx = text_member(record, "tx");
    open_[tx].take(record);
    if (const std::string child = fork_of(record); !child.empty()) {
      open_[child] = open_[tx];
      forked_.insert(child);
    }
  }

  /// Whether the records of each of the commits have been taken.
  [[nodiscard]] bool has_all() const { return missing_.empty() && has_begins_; }
  /// Whether one of the commits does not say how far back its records are.
  [[nodiscard]] bool needs_all() const { return needs_all_; }
  [[nodiscard]] CommittedCommands found() && { return std::move(found_); }

 private:
  void take_commit(const json& record, TxId number) {
    const std::string tx = text_member(record, "open_tx");
    const OpenCalls calls = std::exchange(open_[tx], {});
    if (!commits_->contains(number)) return;
    missing_.erase(number);
    if (tx.empty()) return;
    // A fork has calls of its parent, and earlier versions did not write when it began.
    const std::string begun = text_member(record.value("input", json()), "begun");
    needs_all_ = needs_all_ || begun.empty() || forked_.contains(tx);
    has_begins_ = has_begins_ && !needs_all_ && begun > since_;
    for (const RecordedCall& call : calls.effective()) {
      if (call.tool == "Bash") found_[number].push_back(commands_[call.execution_id]);
    }
  }

  std::set<TxId> missing_;
  const std::set<TxId>* commits_;
  std::string since_;  ///< the time of the first record
  bool has_begins_ = true;
  bool needs_all_ = false;
  std::map<std::string, OpenCalls> open_;
  std::map<std::string, std::string> commands_;  // by the id of their call
  std::set<std::string> forked_;
  CommittedCommands found_;
};

}  // namespace

Result<CommittedCommands> committed_commands(const Directory& state_root,
                                             const std::set<TxId>& commits) {
  const std::vector<std::string> words = {R"("tool":"Bash")",          R"("open_tx":")",
                                          R"("kind":"commit")",        R"("kind":"undo")",
                                          R"("kind":"redo")",          R"("kind":"savepoint")",
                                          R"("kind":"rollback")",      R"("kind":"calls.dropped")",
                                          R"("kind":"edits.dropped")", R"("kind":"fork")"};
  CommittedCommands commands;
  if (commits.empty()) return commands;
  bool needs_all = false;
  const auto read = [&](uint64_t wanted) -> Result<bool> {
    const uint64_t from = needs_all ? 0 : wanted;
    CommandSearch search(commits);
    const auto take = [&](const json& record) { search.take(record); };
    GALLEY_TRY(for_each_record_with(state_root, words, take, from));
    needs_all = search.needs_all();
    if (from > 0 && !search.has_all()) return false;
    commands = std::move(search).found();
    return true;
  };
  GALLEY_TRY(read_end(state_root, read));
  return commands;
}

namespace {

/// Finds the calls with ids in the records after one place of the log.
class IdentifiedCallSearch {
 public:
  explicit IdentifiedCallSearch(const std::string& since) : since_(&since) {}

  void take(const json& record) {
    const std::string time = text_member(record, "timestamp");
    if (first_.empty()) first_ = time;
    if (time < *since_) return;
    const std::string kind = text_member(record, "kind");
    const auto end = end_of(record, kind);
    const std::string tx = text_member(record, end == End::kCommit ? "open_tx" : "tx");
    if (end != End::kNone) ended_.insert(tx);
    const bool is_begin = kind == "begun";
    if (kind != "call" && !is_begin && end == End::kNone) return;
    IdentifiedCall call{text_member(record, "session_id"), text_member(record, "call_id"),
                        text_member(record, "execution_id"), text_member(record, "agent"),
                        text_member(record, "tool")};
    if (call.session_id.empty() || call.call_id.empty()) return;
    if (record.contains("parent_execution_id")) return;  // a call that a call made
    if (is_begin) begun_.insert(call.execution_id);
    call.has_begun = is_begin || begun_.contains(call.execution_id + std::string(kBegunSuffix));
    if (!call.has_begun && !record.contains("changed") && end == End::kNone) return;
    call.time = time;
    call.tx = tx;
    call.end = end;
    call.input = json_text(record.value("input", json::object()));
    call.has_no_change = !is_begin && !record.contains("changed");
    if (!is_begin) take_result(record, call);
    calls_.push_back(std::move(call));
  }

  /// Whether the records since the time have been taken.
  [[nodiscard]] bool has_all() const { return first_ < *since_; }

  [[nodiscard]] std::vector<IdentifiedCall> found() && {
    std::set<std::tuple<bool, std::string, std::string>> seen;
    std::vector<IdentifiedCall> last;
    for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
      const bool is_commit = call->end == End::kCommit;
      if (!seen.emplace(is_commit, call->session_id, call->call_id).second) continue;
      call->has_ended = ended_.contains(call->tx);
      last.push_back(std::move(*call));
    }
    std::reverse(last.begin(), last.end());
    return last;
  }

 private:
  using End = IdentifiedCall::End;

  static End end_of(const json& record, std::string_view kind) {
    if (record.contains("error")) return End::kNone;
    if (kind == "commit") return End::kCommit;
    // A rollback of a part has an input.
    return kind == "rollback" && !record.contains("input") ? End::kRollback : End::kNone;
  }

  static void take_result(const json& record, IdentifiedCall& call) {
    const auto took = record.find("duration_ms");
    if (took != record.end() && took->is_number_integer()) call.duration_ms = *took;
    const json output = record.value("output", json::object());
    if (!record.contains("error") && is_recorded_whole(output)) call.output = json_text(output);
  }

  const std::string* since_;
  std::string first_;  ///< the time of the first record
  std::vector<IdentifiedCall> calls_;
  std::set<std::string> begun_;  ///< execution ids of the records of starts
  std::set<std::string> ended_;  ///< transactions
};

}  // namespace

Result<std::vector<IdentifiedCall>> identified_calls(const Directory& state_root,
                                                     const std::string& since) {
  constexpr int kMostRounds = 5;  // the last one reads 64 MiB
  std::vector<IdentifiedCall> calls;
  int rounds = 0;
  const auto read = [&](uint64_t from) -> Result<bool> {
    ++rounds;
    IdentifiedCallSearch search(since);
    const auto take = [&](const json& record) { search.take(record); };
    GALLEY_TRY(for_each_record_with(
        state_root, {R"("call_id":")", R"("kind":"commit")", R"("kind":"rollback")"}, take, from));
    if (from > 0 && rounds < kMostRounds && !search.has_all()) return false;
    calls = std::move(search).found();
    return true;
  };
  GALLEY_TRY(read_end(state_root, read));
  return calls;
}

Result<RecordedTransaction> find_recorded_call(const Directory& state_root,
                                               std::string_view execution) {
  RecordedTransaction found;
  const std::string id(execution);
  bool is_known = false;
  std::string unchanging;  // the tool of a call with this id that changed no path
  bool has_failed = false;
  Forks forks;
  const auto take = [&](const json& record) {
    if (std::string child = fork_of(record); !child.empty()) {
      forks.emplace_back(text_member(record, "tx"), std::move(child));
    }
    if (text_member(record, "execution_id") != id) return;
    if (!record.contains("changed")) {
      if (text_member(record, "kind") != "call") return;
      unchanging = text_member(record, "tool");
      has_failed = record.contains("error");
      return;
    }
    found.open_tx = text_member(record, "tx");
    found.agent = text_member(record, "agent");
    is_known = true;
  };
  GALLEY_TRY(for_each_record_with(state_root, {id, R"("kind":"fork")"}, take));
  if (!is_known && !unchanging.empty()) {
    return fail(
        ErrorKind::kNotFound, "rollback.unknown_execution",
        id + " is a call of '" + printable_line(unchanging) + "' that changed no file" +
            (has_failed ? std::string(", because it failed")
                        : "; this shows its rollback tool, if it has one: galley tools show " +
                              shell_word(unchanging)));
  }
  if (!is_known || id.empty() || found.open_tx.empty()) {
    return fail(ErrorKind::kNotFound, "rollback.unknown_execution",
                "no call that changed something is on record as '" + id +
                    "'; the records of .galley/audit.jsonl have the ids");
  }
  GALLEY_TRY(find_commit(state_root, relatives_of(found.open_tx, forks), id, found));
  return found;
}

}  // namespace galley
