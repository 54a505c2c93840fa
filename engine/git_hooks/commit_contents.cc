#include "engine/git_hooks/commit_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "base/hash.h"
#include "base/printable.h"
#include "base/text.h"
#include "engine/audit/audit.h"
#include "engine/commit/history_reader.h"
#include "engine/commit/writer_lock.h"
#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr uint32_t kNoMode = 0;
constexpr uint32_t kLinkMode = 0120000;
constexpr uint32_t kExecutableMode = 0100755;
constexpr uint32_t kSubmoduleMode = 0160000;
constexpr uint32_t kOwnerMayExecute = 0100;

/// git's state of one path: when both sides are equal, git sees no difference.
struct PathState {
  char kind = '-';  ///< absent, file, executable, link
  ContentId content;
  bool operator==(const PathState&) const = default;
};

PathState state_of(const Node& node) {
  if (node.kind == FileKind::kSymlink) return {'l', node.content};
  if (node.kind != FileKind::kRegular) return {};
  return {(node.mode & kOwnerMayExecute) != 0 ? 'x' : 'f', node.content};
}

Error bad_answer() {
  return {ErrorKind::kInternal, "git.bad_answer",
          "what git cat-file printed is not as git writes it", "", 0};
}

std::string_view take_until(std::string_view& rest, char end) {
  const size_t at = std::min(rest.find(end), rest.size());
  const std::string_view word = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return word;
}

/// The transactions' changes to the requested paths, newest first.
struct Step {
  size_t transaction = 0;  ///< index into `transactions`
  std::string path;
  PathState before;
  PathState after;
};
struct Steps {
  std::vector<ContributingTransaction> transactions;
  std::vector<Step> steps;
};

Result<Steps> steps_on(const History& history, const std::set<std::string>& paths) {
  Steps found;
  GALLEY_ASSIGN(const std::vector<TxId> ids, history.ids());
  const size_t count = std::min(ids.size(), kMaxSearchedTransactions);
  for (auto id = ids.rbegin(); id != ids.rbegin() + static_cast<ptrdiff_t>(count); ++id) {
    const auto loaded = history.outline(*id);
    // Pruned since the ids were listed, or damaged; doctor reports damage.
    if (!loaded) continue;
    const Journal& journal = (*loaded)->journal;
    bool is_first = true;
    for (const Change& change : (*loaded)->changes) {
      const bool is_seen = state_of(change.before) != state_of(change.after);
      if (!is_seen || !paths.contains(change.path.str())) continue;
      if (is_first) found.transactions.push_back({*id, journal.proposal, journal.meta.agent});
      is_first = false;
      found.steps.push_back({found.transactions.size() - 1, change.path.str(),
                             state_of(change.before), state_of(change.after)});
    }
  }
  return found;
}

/// The content of one of git's objects, and the one that a file of the work tree has with
/// `eol=crlf` or `core.autocrlf`.
struct Stored {
  ContentId content;
  ContentId with_crlf;
};
using Contents = std::map<std::string, Stored>;

ContentId with_crlf(std::string_view text) {
  if (text.find('\r') != text.npos || text.find('\n') == text.npos) return ContentId::of(text);
  std::string lines;
  lines.reserve(text.size() + text.size() / 16);
  for (const char byte : text) {
    if (byte == '\n') lines += '\r';
    lines += byte;
  }
  return ContentId::of(lines);
}

/// Parses one answer of `git cat-file --batch`: `<id> SP <type> SP <size> LF <bytes> LF`, or
/// `<id> SP missing LF`.
Result<void> take_object(std::string_view& rest, Contents& contents) {
  std::string_view line = take_until(rest, '\n');
  const std::string id(take_until(line, ' '));
  const std::string_view type = take_until(line, ' ');
  if (type == "missing") return {};
  size_t size = 0;
  const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), size);
  if (code != std::errc() || end != line.data() + line.size() || size >= rest.size()) {
    return fail(bad_answer());
  }
  const std::string_view text = rest.substr(0, size);
  contents.emplace(id, Stored{ContentId::of(text), with_crlf(text)});
  rest.remove_prefix(size + 1);
  return {};
}

Result<Contents> read_contents(const GitProgram& git, const std::set<std::string>& ids) {
  Contents contents;
  std::string wanted;
  for (const std::string& id : ids) wanted += id + "\n";
  if (wanted.empty()) return contents;
  GALLEY_ASSIGN(const std::string said, git.run({"cat-file", "--batch", "--buffer"}, wanted));
  for (std::string_view rest = said; !rest.empty();) GALLEY_TRY(take_object(rest, contents));
  return contents;
}

bool has_content(uint32_t mode) { return mode != kNoMode && mode != kSubmoduleMode; }

/// Returns nullopt when git's object is not here, as in a partial clone.
std::optional<PathState> state_of(uint32_t mode, const std::string& id, const Contents& contents,
                                  bool has_crlf) {
  if (mode == kNoMode) return PathState();
  const auto found = contents.find(id);
  if (found == contents.end()) return std::nullopt;
  const char kind = mode == kLinkMode ? 'l' : mode == kExecutableMode ? 'x' : 'f';
  return PathState{kind, has_crlf ? found->second.with_crlf : found->second.content};
}

/// The progress of following a path back.
struct Trail {
  PathState before;  ///< the commit
  PathState now;
  std::vector<size_t> chain = {};  ///< the transactions passed, newest first
};

Result<std::map<std::string, Trail>> trails_of(const GitProgram& git,
                                               const std::vector<GitRawChange>& changes,
                                               const Steps& steps) {
  std::multimap<std::string_view, const PathState*> made;
  for (const Step& step : steps.steps) made.emplace(step.path, &step.after);
  std::set<std::string> ids;
  for (const GitRawChange& change : changes) {
    if (!made.contains(change.path)) continue;
    if (has_content(change.old_mode)) ids.insert(change.old_id);
    if (has_content(change.new_mode)) ids.insert(change.new_id);
  }
  GALLEY_ASSIGN(const Contents contents, read_contents(git, ids));
  std::map<std::string, Trail> trails;
  for (const GitRawChange& change : changes) {
    for (const bool has_crlf : {false, true}) {
      const auto before = state_of(change.old_mode, change.old_id, contents, has_crlf);
      const auto after = state_of(change.new_mode, change.new_id, contents, has_crlf);
      const auto [first, last] = made.equal_range(change.path);
      const bool is_made = before && after && std::any_of(first, last, [&](const auto& one) {
                             return *one.second == *after;
                           });
      if (is_made) trails.emplace(change.path, Trail{*before, *after});
    }
  }
  return trails;
}

Result<std::vector<GitRawChange>> changes_by(const GitProgram& git,
                                             std::vector<std::string> words) {
  for (const char* option : {"--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff",
                             "--no-textconv", "--ignore-submodules=none"}) {
    words.insert(words.begin() + 1, option);
  }
  GALLEY_ASSIGN(const std::string said, git.run(words));
  return parse_raw_diff(said);
}

Result<void> record_link(AuditLog& log, const std::string& commit,
                         const ContributingTransaction& transaction) {
  AuditEvent event;
  event.kind = AuditKind::kLink;
  event.execution_id = "link-" + transaction.id.str() + "-" + commit;
  event.tool = "post-commit";
  event.agent = transaction.agent;
  event.tx = transaction.id.str();
  event.proposal = transaction.proposal.hex();
  event.output =
      std::make_shared<const nlohmann::ordered_json>(nlohmann::ordered_json{{"commit", commit}});
  GALLEY_TRY(log.append(event));
  return {};
}

constexpr size_t kProposalDigits = 12;
/// The line that `git commit -v` writes above the diff, after the comment character.
constexpr std::string_view kScissors = " ------------------------ >8 ------------------------\n";

/// Whether git keeps lines that begin with the comment character. It tells the hooks that it starts
/// no editor (githooks(5)), and then it strips such lines only if that is configured. A hook cannot
/// see `--cleanup=strip`.
Result<bool> keeps_comments(const GitProgram& git) {
  const char* editor = std::getenv("GIT_EDITOR");
  if (editor == nullptr || std::string_view(editor) != ":") return false;
  GALLEY_ASSIGN(const PipedOutput said, git.try_run({"config", "--get", "commit.cleanup"}));
  return trim(said.output) != "strip";
}

/// Whether the message has text besides comments.
Result<bool> has_text(const GitProgram& git, std::string message) {
  const size_t cut = message.find(kScissors);
  if (cut != std::string::npos) message.erase(message.rfind('\n', cut) + 1);
  GALLEY_ASSIGN(const std::string kept, git.run({"stripspace", "--strip-comments"}, message));
  return !kept.empty();
}

/// `core.commentChar` of the repository, one character.
Result<std::string> comment_character(const GitProgram& git) {
  GALLEY_ASSIGN(const PipedOutput said, git.try_run({"config", "--get", "core.commentChar"}));
  const std::string_view character = trim(said.output);
  return character.size() == 1 ? std::string(character) : std::string("#");
}

/// A comment character that begins no line of the message.
std::string unused_comment_character(std::string_view message) {
  for (const char character : std::string_view("#;@!$%^&|:")) {
    const bool is_used = message.starts_with(character) ||
                         message.find(std::string("\n") + character) != std::string_view::npos;
    if (!is_used) return {character};
  }
  return "#";
}

}  // namespace

Result<std::vector<GitRawChange>> staged_changes(const GitProgram& git) {
  return changes_by(git, {"diff", "--cached"});
}

Result<std::vector<GitRawChange>> committed_changes(const GitProgram& git,
                                                    const std::string& commit) {
  return changes_by(git, {"diff-tree", "-r", "--root", "--no-commit-id", commit});
}

Result<std::vector<ContributingTransaction>> contributing_transactions(
    const History& history, const GitProgram& git, const std::vector<GitRawChange>& changes) {
  std::set<std::string> paths;
  for (const GitRawChange& change : changes) paths.insert(change.path);
  GALLEY_ASSIGN(const Steps steps, steps_on(history, paths));
  GALLEY_ASSIGN(auto trails, trails_of(git, changes, steps));
  std::vector<bool> counts(steps.transactions.size(), false);
  for (const Step& step : steps.steps) {
    const auto trail = trails.find(step.path);
    if (trail == trails.end() || step.after != trail->second.now) continue;
    if (trail->second.now == trail->second.before) continue;  // completely followed
    trail->second.chain.push_back(step.transaction);
    trail->second.now = step.before;
  }
  GALLEY_ASSIGN(const CommitLinks links, read_commit_links(history.state()));
  for (const auto& [path, trail] : trails) {
    for (const size_t one : trail.chain) {
      // The last commit has a part of the newest transaction, so older ones are in it, too.
      const bool is_older = one != trail.chain.front() && trail.now != trail.before &&
                            links.contains(steps.transactions[one].id);
      if (is_older) break;
      counts[one] = true;
    }
  }
  std::vector<ContributingTransaction> found;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i]) found.push_back(steps.transactions[i]);
  }
  return found;
}

Result<void> record_commit_links(const Workspace& workspace, const std::string& commit,
                                 const std::vector<ContributingTransaction>& transactions) {
  const PersistentState& persistent = persistent_of(workspace);
  const StateDirectory* state = persistent.state();
  if (transactions.empty() || state == nullptr) return persistent.check_trusted();
  GALLEY_ASSIGN(const WriterLock lock, persistent.lock());
  GALLEY_ASSIGN(const CommitLinks known, read_commit_links(*state));
  std::vector<TxId> added;
  // The oldest transaction first, as in the complete list.
  for (auto one = transactions.rbegin(); one != transactions.rend(); ++one) {
    if (has_commit_link(known, one->id, commit)) continue;
    GALLEY_TRY(record_link(*persistent.audit(), commit, *one));
    added.push_back(one->id);
  }
  return add_commit_links(*state, lock, added, commit);
}

std::vector<std::string> trailers_for(const std::vector<ContributingTransaction>& transactions) {
  std::vector<std::string> trailers;
  std::vector<std::string> agents;
  const size_t left_out =
      transactions.size() - std::min(transactions.size(), kMaxTransactionTrailers);
  for (auto one = transactions.rbegin(); one != transactions.rend(); ++one) {
    const size_t number = static_cast<size_t>(one - transactions.rbegin());
    const std::string agent = "Galley-Agent: " + printable_line(one->agent);
    const bool is_known = std::find(agents.begin(), agents.end(), agent) != agents.end();
    if (!one->agent.empty() && !is_known) agents.push_back(agent);
    if (number < left_out) continue;
    trailers.push_back(fmt::format("Galley-Transaction: {} {}", one->id.str(),
                                   one->proposal.hex().substr(0, kProposalDigits)));
  }
  if (left_out > 0) {
    trailers.insert(trailers.begin(),
                    fmt::format("Galley-Transaction: and {} earlier ones", left_out));
  }
  trailers.insert(trailers.end(), agents.begin(), agents.end());
  return trailers;
}

Result<void> add_trailers(const GitProgram& git, const std::string& file,
                          const std::vector<ContributingTransaction>& transactions) {
  if (transactions.empty()) return {};
  GALLEY_ASSIGN(const std::string message, read_host_file(file, kMaxMessageBytes));
  GALLEY_ASSIGN(const bool keeps, keeps_comments(git));
  GALLEY_ASSIGN(const bool has_words, has_text(git, message));
  if (keeps ? is_blank(message) : !has_words) return {};
  // git would append the trailers to an unfinished last line, which may be the subject.
  if (!message.ends_with('\n')) GALLEY_TRY(write_host_file(file, "\n", true));
  // As in `git commit --trailer`, a line `---` does not end the message.
  GALLEY_ASSIGN(std::string comment, comment_character(git));
  if (keeps) comment = unused_comment_character(message);
  std::vector<std::string> words = {"-c",
                                    "core.commentChar=" + comment,
                                    "interpret-trailers",
                                    "--in-place",
                                    "--no-divider",
                                    "--if-exists",
                                    "addIfDifferent"};
  for (const std::string& trailer : trailers_for(transactions)) {
    words.insert(words.end(), {"--trailer", trailer});
  }
  GALLEY_ASSIGN(const std::string path, absolute_path(file));
  words.push_back(path);
  GALLEY_TRY(GitProgram::unconfigured().run(words));
  return {};
}

}  // namespace galley
