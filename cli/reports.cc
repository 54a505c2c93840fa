#include "cli/reports.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/printable.h"
#include "cli/outcome.h"
#include "cli/render.h"
#include "engine/pipeline/place.h"
#include "engine/review/review_page.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"

namespace galley {

namespace {

struct Format {
  std::string_view name;
  std::string (*render)(const Preview&);  ///< null: it needs more than the judgement
};

constexpr std::array kFormats = {
    Format{"baseline", baseline_report},
    Format{"github", github_report},
    Format{"github-summary", github_summary_report},
    Format{"gitlab", gitlab_report},
    Format{"html", nullptr},
    Format{"json", nullptr},
    Format{"junit", junit_report},
    Format{"rdjson", rdjson_report},
    Format{"sarif", sarif_report},
    Format{"text", nullptr},
};

Result<std::string> render(Session& session, const ReportRequest& request, const Preview& judged,
                           const Json& document) {
  if (request.format == "html") {
    ReviewSubject subject;
    subject.verdict = &judged.verdict;
    return report_page(session, judged.proposal, std::move(subject));
  }
  if (request.format == "json") return document_text(document);
  if (request.format == "text") return verdict_text(judged.verdict, false);
  for (const Format& format : kFormats) {
    if (format.name == request.format) return format.render(judged);
  }
  return std::string();
}

/// Completes the document for --json, if the command has only begun it.
Result<Json> whole_document(Session& session, const Preview& judged, Json document) {
  document["ok"] = judged.verdict.is_approved();
  document["proposal"] = judged.proposal.id().hex();
  document["verdict"] = verdict_json(judged.verdict);
  if (document["schema"] == "galley.preview/1") {
    document["changes"] = changes_json(judged.proposal.changes());
    GALLEY_TRY(add_exact_diff(session, document, judged.proposal));
  }
  return document;
}

Error not_plain(const std::string& name, const char* is_a) {
  return {ErrorKind::kRefused, "report.not_plain",
          "'" + printable_line(name) + "' " + is_a +
              ", so no report is written there; remove it, or name another file",
          name, 0};
}

/// Returns the path at which a report is written. A clone may have a link or a pipe of that name,
/// so the workspace has to have a plain file there, or none. Outside, the name means the same as in
/// a shell.
Result<std::string> place_of_report(const Session& session, const std::string& file) {
  const std::string& repository = session.arguments().global.repository;
  GALLEY_ASSIGN(const std::string here, absolute_path(repository.empty() ? "." : repository));
  const auto found = find_root(here, session.user().config);
  const std::string root = found ? found->path : here;
  const size_t slash = file.rfind('/');
  const auto folder = absolute_path(slash == file.npos ? "." : file.substr(0, slash + 1));
  if (root == "/" || !folder) return file;  // nothing is written into a missing folder
  const auto is_inside = [&root](const std::string& path) { return path.starts_with(root + "/"); };
  if (!is_inside(*folder + "/")) {
    if (!is_inside(normalized_path(file))) return file;
    return fail(not_plain(file, "leads out of the workspace by a link"));
  }
  const std::string place = *folder + "/" + file.substr(slash + 1);
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(place.substr(root.size() + 1)));
  GALLEY_ASSIGN(const auto directory, open_disk_directory(root));
  const auto stat = directory->stat(name);
  if (!stat && stat.error().kind != ErrorKind::kNotFound) return fail(stat.error());
  const FileKind kind = stat ? stat->kind : FileKind::kAbsent;
  if (kind == FileKind::kSymlink) return fail(not_plain(name.str(), "is a link in the workspace"));
  if (kind == FileKind::kOther) {
    return fail(not_plain(name.str(), "is a special file in the workspace"));
  }
  return place;
}

/// A file in the workspace would be an edit that the gate did not see.
Result<void> refuse_file_to_agents(const Session& session) {
  if (session.arguments().global.agent.empty()) return {};
  return fail(ErrorKind::kRefused, "report.agent",
              "an agent's report goes to standard output only; leave the file out, or --agent");
}

}  // namespace

Result<void> write_report_file(Session& session, const std::string& file, std::string_view text,
                               bool is_added) {
  GALLEY_TRY(refuse_file_to_agents(session));
  GALLEY_ASSIGN(const std::string place, place_of_report(session, file));
  return write_host_file(place, text, is_added);
}

Result<std::vector<ReportRequest>> report_requests(const std::vector<std::string>& words) {
  std::vector<ReportRequest> requests;
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  size_t printed = 0;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    ReportRequest request{word.substr(0, equals),
                          equals == word.npos ? std::string() : word.substr(equals + 1)};
    if (std::find(names.begin(), names.end(), request.format) == names.end()) {
      return fail(ErrorKind::kUsage, "usage.report",
                  fmt::format("--report takes no format '{}'; it takes {}", request.format,
                              fmt::join(names, ", ")));
    }
    if (request.file == "-") request.file.clear();
    printed += request.file.empty() ? 1U : 0U;
    requests.push_back(std::move(request));
  }
  if (printed > 1) {
    return fail(ErrorKind::kUsage, "usage.report",
                "only one report can go to standard output; give the others a file: FORMAT=FILE");
  }
  return requests;
}

Result<bool> write_reports(Session& session, const Preview& judged, const Json& document) {
  GALLEY_ASSIGN(const auto requests, report_requests(session.arguments().reports));
  bool is_printed = false;
  if (requests.empty()) return is_printed;
  GALLEY_ASSIGN(const Json whole, whole_document(session, judged, document));
  for (const ReportRequest& request : requests) {
    GALLEY_ASSIGN(const std::string text, render(session, request, judged, whole));
    if (request.file.empty()) {
      if (session.is_json()) {
        return fail(ErrorKind::kUsage, "usage.report",
                    "--json has standard output already; give the report a file: --report " +
                        request.format + "=FILE");
      }
      session.print(session.terminal().content(text));
      is_printed = true;
      continue;
    }
    const bool is_added = request.format == "github-summary";
    GALLEY_TRY(write_report_file(session, request.file, text, is_added));
  }
  return is_printed;
}

std::vector<std::pair<std::string, std::string>> facts_of(const TransactionOptions& options) {
  std::vector<std::pair<std::string, std::string>> facts;
  const std::string& who = options.owner ? *options.owner : options.agent;
  if (!who.empty()) facts.emplace_back("Agent", who);
  for (const std::string& name : options.contributors) facts.emplace_back("Also by", name);
  if (!options.message.empty()) facts.emplace_back("Reason", options.message);
  return facts;
}

std::vector<std::pair<std::string, std::string>> facts_of(const TxSummary& summary) {
  std::vector<std::pair<std::string, std::string>> facts = {{"Time", rfc3339_utc(summary.time_ns)}};
  if (!summary.agent.empty()) facts.emplace_back("Agent", summary.agent);
  if (summary.owner) facts.emplace_back("Begun by", *summary.owner);
  facts.emplace_back("Tool", summary.tool);
  if (!summary.message.empty()) facts.emplace_back("Reason", summary.message);
  return facts;
}

Result<std::string> report_page(Session& session, const Proposal& proposal, ReviewSubject subject) {
  // A person may see everything, and a proposal may be from outside of a workspace.
  const bool is_person = session.arguments().global.agent.empty();
  GALLEY_ASSIGN(const ReadablePart part, is_person
                                             ? Result<ReadablePart>(ReadablePart{proposal, {}})
                                             : part_for_caller(session, proposal));
  subject.left_out = part.left_out;
  if (subject.title.empty()) subject.title = "Proposed change";
  ProposalDiffOptions options;
  options.file = file_options(session.arguments().diff, OutputStyle());
  GALLEY_ASSIGN(const Json data, review_data(part.proposal, subject, options));
  return review_page(data, PageHome::kFile);
}

Result<void> write_report(Session& session, const Proposal& proposal, ReviewSubject subject) {
  const std::string& file = session.arguments().diff.html;
  const bool is_stdout = file == "-";
  if (is_stdout && session.is_json()) {
    return fail(ErrorKind::kUsage, "html.json",
                "standard output is for the JSON document; name a file for the page: --html=FILE");
  }
  if (is_stdout && session.terminal().is_terminal()) {
    return fail(ErrorKind::kUsage, "html.terminal",
                "a page cannot be read on a terminal; name a file: --html=FILE");
  }
  GALLEY_ASSIGN(const std::string page, report_page(session, proposal, std::move(subject)));
  if (is_stdout) {
    session.print(page);
    return {};
  }
  GALLEY_TRY(write_report_file(session, file, page));
  session.say("the page is in " + file);
  return {};
}

}  // namespace galley
