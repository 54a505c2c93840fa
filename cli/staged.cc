#include "cli/staged.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "cli/outcome.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/validators/fix.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/overlay/staged_step.h"

namespace galley {
namespace {

constexpr size_t kShownFiles = 10;

std::string what_was_done(const FileDiff& file) {
  const std::string path = printable_line(file.new_path.empty() ? file.old_path : file.new_path);
  switch (file.status) {
    case 'A':
      return path + ", a new file";
    case 'D':
      return "the deletion of " + printable_line(file.old_path);
    case 'R':
      return path + ", renamed from " + printable_line(file.old_path);
    case 'C':
      return path + ", copied from " + printable_line(file.old_path);
    default:
      return path;
  }
}

std::string counts_of(const FileDiff& file) {
  if (file.is_binary) return " (binary)";
  if (file.counts.added == 0 && file.counts.removed == 0) {
    if (file.status != 'M' || file.old_mode == file.new_mode) return "";
    return fmt::format(" (mode {:o})", file.new_mode);
  }
  return fmt::format(" (+{} -{})", file.counts.added, file.counts.removed);
}

Result<Json> fix_json(Session& session, const FixReport& report) {
  Json document = {{"runs", Json::array()}};
  for (const FixRun& run : report.runs) {
    Json left_out = Json::array();
    Json reasons = Json::array();
    for (const LeftOutFix& one : run.left_out) {
      left_out.push_back(one.path.str());
      reasons.push_back(one.change);
    }
    document["runs"].push_back({{"validator", run.validator},
                                {"changed", paths_json(run.changed)},
                                {"left_out", std::move(left_out)},
                                {"reasons", std::move(reasons)}});
  }
  document["changes"] = changes_json(report.change.changes());
  GALLEY_TRY(add_exact_diff(session, document, report.change));
  return document;
}

/// `tx` is empty if the transaction ends with this command.
Result<void> say_fixes(Session& session, const FixReport& report, const std::string& tx) {
  for (const FixRun& run : report.runs) {
    for (const LeftOutFix& one : run.left_out) session.say(run.validator + " " + one.change);
    if (!run.changed.empty()) {
      session.say(fmt::format("{} changed {}", run.validator, counted(run.changed.size(), "file")));
    }
  }
  if (report.change.is_empty()) {
    session.say("the fixers had nothing to change");
    return {};
  }
  if (tx.empty()) return {};  // its diff includes the fixes
  GALLEY_TRY(print_changes(session, report.change, session.arguments().diff));
  session.say("staged; take it back with: " +
              session.hint(fmt::format("rollback --tx {} --to {}", tx, Transaction::kBeforeFix)));
  return {};
}

}  // namespace

Result<std::string> staged_text(const Proposal& change) {
  GALLEY_ASSIGN(const auto files, summarize_proposal(change));
  std::string text;
  size_t shown = 0;
  for (const FileDiff& file : files) {
    if (++shown > kShownFiles) {
      return text + fmt::format("… and {}\n", counted(files.size() - kShownFiles, "more file"));
    }
    text += "staged " + what_was_done(file) + counts_of(file) + "\n";
  }
  // A git diff omits directories and some permission bits.
  if (files.empty() && !change.is_empty()) {
    text = "staged " + counted(ShownPaths(change.changes()).count(), "path") + "\n";
  }
  return text;
}

void warn_of_unrecorded(Session& session, Transaction& transaction) {
  const std::string& warning = inner(transaction).unrecorded();
  if (!warning.empty()) session.terminal().print_error("warning: " + printable_line(warning));
}

Result<void> show_staged(Session& session, Transaction& transaction, const Overlay::Entries& before,
                         Json& document) {
  const Proposal change = staged_since(before, overlay_of(transaction));
  if (session.is_json()) {
    document["proposal"] = transaction.proposal().id().hex();
    document["changes"] = changes_json(change.changes());
    GALLEY_TRY(add_exact_diff(session, document, change));
    session.print(document);
    return {};
  }
  GALLEY_ASSIGN(const std::string text, staged_text(change));
  session.print(text);
  if (change.is_empty()) session.say("nothing was staged");
  return {};
}

bool is_range(std::string_view word) {
  const size_t dots = word.find("..");
  if (dots == std::string_view::npos || dots == 0) return false;
  const size_t to = word.find_first_not_of('.', dots);
  return word[dots - 1] != '/' && (to == std::string_view::npos || word[to] != '/');
}

Result<CheckSource> range_source(const std::string& range) {
  const size_t dots = range.find("..");
  // git reads ..B as HEAD..B, but in a script it is more often a variable that is not set.
  if (dots == std::string::npos || dots == 0) {
    return fail(ErrorKind::kUsage, "check.bad_range",
                "'" + printable_line(range) + "' is not a range; write it as A..B");
  }
  const size_t to = range.find_first_not_of('.', dots);
  CheckSource source;
  source.kind = CheckSource::Kind::kRange;
  source.from = range.substr(0, dots);
  source.to = to == std::string::npos ? "HEAD" : range.substr(to);
  return source;
}

Result<std::unique_ptr<GitCheck>> open_check(Session& session, const CheckSource& source) {
  CheckOptions options;
  options.who = session.transaction_options();
  options.config_file = session.arguments().global.config;
  options.only_new = session.arguments().check.only_new;
  session.terminal().work_on("reading the repository");
  return GitCheck::open(source, std::move(options));
}

Result<void> stage_fixes(Session& session, Transaction& transaction, Json& document) {
  session.terminal().work_on("running the validators that fix");
  GALLEY_ASSIGN(const FixReport report, inner(transaction).fix());
  GALLEY_TRY(transaction.save());
  if (!session.is_json()) return say_fixes(session, report, transaction.id());
  GALLEY_ASSIGN(document["fix"], fix_json(session, report));
  return {};
}

}  // namespace galley
