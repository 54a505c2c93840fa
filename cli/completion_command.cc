#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "engine/commit/state_directory.h"
#include "engine/history/history.h"
#include "tools/profiles.h"

namespace galley {
namespace {

constexpr size_t kMaxOfferedTransactions = 100;
constexpr size_t kMaxOfferedAboutBytes = 60;

using Candidates = std::vector<CompletionCandidate>;

/// What the workspace has. It is only read, without recovery: a key is not worth more.
Result<Candidates> candidates_of(ValueSource source, Session& session) {
  Candidates found;
  GALLEY_ASSIGN(Workspace * workspace, session.open_without_recovery());
  if (source == ValueSource::kTools) {
    GALLEY_ASSIGN(const ToolRegistry* tools, workspace->inside().need_registry());
    for (const ToolInfo& tool : shown_tools(*tools, nullptr))
      found.push_back({tool.name, tool.title});
  } else if (source == ValueSource::kOpenTransactions) {
    GALLEY_ASSIGN(const auto stages, workspace->stages());
    for (const StageStatus& stage : stages) found.push_back({stage.id, stage.message});
  } else if (workspace->inside().state() != nullptr) {
    HistoryFilter filter;
    filter.limit = kMaxOfferedTransactions;
    GALLEY_ASSIGN(const auto transactions, History(*workspace->inside().state()).list(filter));
    for (const TxSummary& one : transactions) found.push_back({one.id.str(), one.message});
  }
  return found;
}

std::string candidate_line(const CompletionCandidate& candidate) {
  if (candidate.about.empty()) return candidate.word + "\n";
  return candidate.word + "\t" + printable_line(candidate.about, kMaxOfferedAboutBytes) + "\n";
}

}  // namespace

/// `galley complete -- WORD...`, which the scripts of the shells ask. Whatever goes wrong, there is
/// nothing to say in the middle of somebody's line.
int run_complete(Session& session) {
  const OptionTable table;
  const Completion completion = complete(table, session.arguments().words);
  std::string text;
  for (const CompletionCandidate& candidate : completion.candidates) {
    text += candidate_line(candidate);
  }
  if (completion.source == ValueSource::kFiles) {
    text += ":files\n";
  } else if (completion.source == ValueSource::kDirectories) {
    text += ":directories\n";
  } else if (completion.source != ValueSource::kNone) {
    Arguments arguments = session.arguments();
    arguments.global.directories = completion.directories;
    Session asked(arguments, session.terminal());
    const auto entered = asked.enter_directory();
    const auto found =
        entered ? candidates_of(completion.source, asked) : Result<Candidates>(Candidates());
    for (const CompletionCandidate& candidate : found ? *found : Candidates()) {
      const bool is_offered =
          candidate.word.starts_with(completion.prefix) && is_plain_word(candidate.word);
      if (is_offered) text += candidate_line(candidate);
    }
  }
  session.print(text);
  return kExitDone;
}

int run_completions(Session& session) {
  const std::string& shell = session.arguments().name;
  const std::string script(completion_script(shell));
  if (session.is_json()) {
    session.print(
        Json{{"schema", "galley.completions/1"}, {"ok", true}, {"shell", shell}, {"text", script}});
  } else {
    session.print(script);
  }
  return kExitDone;
}

}  // namespace galley
