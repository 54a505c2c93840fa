#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <galley/workspace.h>
#include "base/clock.h"
#include "base/printable.h"
#include "base/text.h"
#include "server/nats/job_queue.h"
#include "server/nats/job_worker.h"
#include "server/nats/nachos_runner.h"
#include "server/nats/nats_config.h"
#include "server/nats/nats_connection.h"
#include "server/nats/nats_door.h"
#include "server/telemetry/telemetry.h"
#include "staging/fs/host_file.h"
#include "tools/json_input.h"
#include "tools/profiles.h"

namespace {

using galley::ErrorKind;
using galley::Result;
using nlohmann::ordered_json;

constexpr const char* kUsage =
    "usage: galley-serve-nats --workspace DIR --address nats://HOST:PORT [--config FILE]"
    " [--profile NAME]\n"
    "       galley-serve-nats worker --address … --config FILE\n"
    "       galley-serve-nats submit --address … [--config FILE] [--job FILE] [--reason TEXT]"
    " [--wait SECONDS] [--format text|json]\n"
    "       galley-serve-nats jobs --address … [--config FILE] [--id ID] [--format text|json]\n";
constexpr int kNotDone = 1;  ///< exit status of a job without a change on its branch
constexpr int kLookEveryMs = 100;
constexpr uint32_t kMostWaitSeconds = 86'400;

std::atomic<bool> must_end = false;

void end_serving(int /*signal*/) { must_end = true; }

void log_line(const std::string& line) {
  std::fputs(("galley-serve-nats: " + line + "\n").c_str(), stderr);
}

/// A line of a command that a person typed as `galley …`.
void say(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

using Values = std::map<std::string, std::string>;

/// Reads `--NAME VALUE` pairs, from the argument `first` on, in addition to these defaults.
Result<Values> read_arguments(int argc, char** argv, int first, Values values,
                              const std::vector<const char*>& needed_ones) {
  for (int i = first; i < argc; i += 2) {
    const auto known = values.find(argv[i]);
    if (known == values.end() || i + 1 == argc || *argv[i + 1] == '\0') {
      return galley::fail(
          ErrorKind::kUsage, "nats.arguments",
          "'" + galley::printable_line(argv[i]) + "' is not an option with a value");
    }
    known->second = argv[i + 1];
  }
  for (const char* needed : needed_ones) {
    if (!values.at(needed).empty()) continue;
    return galley::fail(ErrorKind::kUsage, "nats.arguments", std::string(needed) + " is missing");
  }
  return values;
}

Result<galley::NatsConfig> config_of(const Values& values) {
  const std::string& file = values.at("--config");
  if (file.empty()) return galley::NatsConfig();
  return galley::read_nats_config(file);
}

Result<int> serve(const Values& values) {
  GALLEY_ASSIGN(const galley::ToolProfile* profile, galley::profile_named(values.at("--profile")));
  GALLEY_ASSIGN(const std::string root, galley::absolute_path(values.at("--workspace")));
  GALLEY_ASSIGN(galley::NatsConfig config, config_of(values));
  if (config.agent.empty()) config.agent = profile->name;
  galley::WorkspaceOptions options;
  options.config_file = config.galley_toml;
  options.trusts_configuration = !config.galley_toml.empty();
  options.uses_personal_settings = true;
  GALLEY_ASSIGN(const auto workspace, galley::Workspace::open(root, std::move(options)));
  GALLEY_TRY(galley::check_outside(config, workspace->root_path()));
  for (const std::string& notice : workspace->notices()) log_line(galley::printable_line(notice));
  galley::SecretProvider secrets;
  if (!config.secrets_file.empty()) {
    GALLEY_ASSIGN(secrets, galley::secrets_from_file(config.secrets_file));
  }
  const galley::SystemClock clock;
  GALLEY_ASSIGN(
      const auto telemetry,
      galley::Telemetry::open(config.telemetry, {"galley-serve-nats", "call"}, clock, log_line));
  galley::NachosRunner runner(*workspace, *profile, config, secrets, clock);
  runner.report_to(telemetry.get());
  // With JetStream, a call is looked up when its process has not told its result.
  const auto recalled = config.jetstream ? galley::Result<void>() : runner.recall();
  if (!recalled) {
    log_line("the answers of earlier processes are not known: " + recalled.error().message);
  }
  GALLEY_ASSIGN(const auto door,
                galley::NatsDoor::open(runner, {values.at("--address"), config, log_line}));
  log_line("serving " + galley::printable_line(workspace->root_path()) + " at " +
           galley::shown_address(values.at("--address")));
  GALLEY_TRY(door->serve([] { return must_end.load(); }));
  log_line("ended");
  return 0;
}

// --- jobs (docs/scale.md) -------------------------------------------------------------------

Result<int> work(const Values& values) {
  GALLEY_ASSIGN(const galley::NatsConfig config, config_of(values));
  GALLEY_ASSIGN(const auto worker, galley::JobWorker::open(config));
  const galley::SystemClock clock;
  GALLEY_ASSIGN(
      const auto telemetry,
      galley::Telemetry::open(config.telemetry, {"galley-worker", "job", true}, clock, log_line));
  GALLEY_ASSIGN(const auto queue, galley::JobQueue::open(values.at("--address"), config));
  queue->report_to(telemetry.get());
  log_line("working at " + galley::shown_address(values.at("--address")));
  GALLEY_TRY(queue->serve(
      *worker, [] { return must_end.load(); },
      [](const std::string& line) { log_line(galley::printable_line(line)); }));
  log_line("ended");
  return 0;
}

bool wants_json(const Values& values) {
  const auto format = values.find("--format");
  return format != values.end() && format->second == "json";
}

/// On a terminal as ASCII: a receipt has texts of others, with characters that terminals obey.
void print_document(const ordered_json& document) {
  const bool is_ascii = ::isatty(STDOUT_FILENO) != 0;
  std::puts(document.dump(-1, ' ', is_ascii, ordered_json::error_handler_t::replace).c_str());
}

ordered_json document_of(const std::string& receipt) {
  return ordered_json::parse(receipt, nullptr, false);
}

int print_receipt(const Values& values, const galley::JobBook::Entry& known) {
  ordered_json document = document_of(known.receipt);
  if (wants_json(values)) {
    ordered_json whole = {{"schema", "galley.job/1"}, {"ok", known.is_success()}};
    if (!known.is_success()) {
      whole["reason"] = document.value("reason", "");
      whole["message"] = document.value("message", "");
    }
    whole["receipt"] = std::move(document);
    document = std::move(whole);
  }
  print_document(document);
  return known.is_success() ? 0 : kNotDone;
}

/// Tells what a job waits for.
Result<galley::Error> not_ended(const Values& values, galley::JobQueue& queue,
                                const std::string& id, const galley::JobBook::Entry& known) {
  std::string what = " waits for a worker";
  if (known.revision == 0) {
    GALLEY_ASSIGN(const bool is_waiting, queue.is_waiting(id));
    if (!is_waiting) {
      return galley::Error{
          ErrorKind::kUsage, "job.unknown",
          "there is no job '" + id + "' in the queue, and no receipt of the last " + "30 days", "",
          0};
    }
  } else if (known.is_held) {
    what = " is being performed";
  } else if (known.tries > 0) {
    what = " waits for its next try";
  }
  if (known.lost > 0) what += "; workers that it lost: " + std::to_string(known.lost);
  if (known.tries > 0) {
    what += "; " + std::to_string(known.tries) + (known.tries == 1 ? " try" : " tries") +
            " failed, the last one because " + galley::printable_line(known.met);
  }
  return galley::Error{ErrorKind::kTimeout, "job.not_ended",
                       "the job '" + id + "'" + what + "; look again: galley jobs " + id +
                           " --nats " + galley::shown_address(values.at("--address")),
                       "", 0};
}

/// Waits for the receipt of a job, prints it, and returns the exit status. An empty digest stands
/// for any job of this id.
Result<int> await_receipt(const Values& values, galley::JobQueue& queue,
                          const galley::JobQueue::Submitted& job, uint32_t seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  bool is_told = false;  // that the server does not answer, which may pass
  while (true) {
    const bool is_last = must_end || std::chrono::steady_clock::now() >= end;
    const auto known = queue.find(job.id);
    if (known) {
      GALLEY_TRY(galley::JobBook::check_same(job.id, job.digest, known->job));
      if (!known->receipt.empty() && known->revision != job.dead) {
        return print_receipt(values, *known);
      }
      if (is_last) {
        GALLEY_ASSIGN(galley::Error why, not_ended(values, queue, job.id, *known));
        return galley::fail(std::move(why));
      }
    } else if (is_last || queue.is_closed()) {
      return galley::fail(known.error());
    } else if (!std::exchange(is_told, true)) {
      say("galley: " + galley::printable_line(known.error().message) + "; the wait goes on");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kLookEveryMs));
  }
}

/// The job with the reason of the command line. What is not a JSON object is refused later.
Result<std::string> with_reason(std::string job, const std::string& reason) {
  if (reason.empty()) return job;
  galley::JsonLimits limits;
  limits.max_bytes = galley::Job::kMostBytes;
  GALLEY_ASSIGN(nlohmann::json document, galley::parse_json(job, limits));
  if (!document.is_object()) return job;
  document["reason"] = reason;
  return galley::json_text(document);
}

Result<int> submit(const Values& values) {
  GALLEY_ASSIGN(const galley::NatsConfig config, config_of(values));
  const auto seconds = galley::number_of<uint32_t>(values.at("--wait"));
  if (!seconds || *seconds > kMostWaitSeconds) {
    return galley::fail(ErrorKind::kUsage, "nats.arguments", "--wait takes seconds, at most a day");
  }
  GALLEY_ASSIGN(std::string text,
                galley::read_host_file(values.at("--job"), galley::Job::kMostBytes));
  GALLEY_ASSIGN(text, with_reason(std::move(text), values.at("--reason")));
  GALLEY_ASSIGN(const auto queue, galley::JobQueue::open(values.at("--address"), config));
  GALLEY_ASSIGN(const galley::JobQueue::Submitted job, queue->submit(text));
  if (*seconds > 0) return await_receipt(values, *queue, job, *seconds);
  if (wants_json(values)) {
    print_document({{"schema", "galley.submit/1"}, {"ok", true}, {"id", job.id}});
  } else {
    std::puts(job.id.c_str());
  }
  return 0;
}

Result<int> list_jobs(const Values& values) {
  GALLEY_ASSIGN(const galley::NatsConfig config, config_of(values));
  const std::string& id = values.at("--id");
  if (!id.empty() && !galley::is_job_id(id)) {
    return galley::fail(ErrorKind::kUsage, "job.malformed",
                        "'" + galley::printable_line(id) +
                            "' is not the id of a job: it has 1 to " +
                            "64 letters, digits, '-' and '_'");
  }
  GALLEY_ASSIGN(const auto queue, galley::JobQueue::open(values.at("--address"), config));
  if (!id.empty()) return await_receipt(values, *queue, {id, {}}, 0);
  GALLEY_ASSIGN(const auto receipts, queue->receipts());
  GALLEY_ASSIGN(const uint64_t waiting, queue->waiting());
  if (wants_json(values)) {
    ordered_json all = ordered_json::array();
    for (const std::string& receipt : receipts) all.push_back(document_of(receipt));
    print_document({{"schema", "galley.jobs/1"},
                    {"ok", true},
                    {"receipts", std::move(all)},
                    {"not_ended", waiting}});
    return 0;
  }
  for (const std::string& receipt : receipts) print_document(document_of(receipt));
  say(std::to_string(waiting) + " jobs have not ended");
  return 0;
}

struct Mode {
  const char* name;
  Values defaults;
  std::vector<const char*> needed;
  Result<int> (*run)(const Values& values);
};

/// Says why a mode failed, and returns the exit status.
int report(const galley::Error& error, const Mode& mode, const Values& values) {
  const bool is_usage = error.reason == "nats.arguments";
  if (wants_json(values)) {
    print_document({{"schema", "galley.error/1"},
                    {"ok", false},
                    {"reason", error.reason},
                    {"message", error.message}});
  } else if (is_usage || mode.defaults.count("--format") == 0) {
    log_line(error.message);
  } else {
    say("galley: " + galley::printable_line(error.message));
  }
  if (is_usage) std::fputs(kUsage, stderr);
  return galley::exit_status(error.kind);
}

int run_mode(int argc, char** argv) {
  const Values shared = {{"--address", ""}, {"--config", ""}};
  const auto with = [&](Values more) {
    more.insert(shared.begin(), shared.end());
    return more;
  };
  const Mode modes[] = {
      {"worker", with({}), {"--address", "--config"}, work},
      {"submit",
       with({{"--job", "/dev/stdin"}, {"--wait", "0"}, {"--reason", ""}, {"--format", "text"}}),
       {"--address"},
       submit},
      {"jobs", with({{"--id", ""}, {"--format", "text"}}), {"--address"}, list_jobs},
      {nullptr,
       with({{"--workspace", ""}, {"--profile", "nachos"}}),
       {"--workspace", "--address"},
       serve},
  };
  size_t chosen = 0;
  while (modes[chosen].name != nullptr &&
         (argc < 2 || std::string_view(argv[1]) != modes[chosen].name)) {
    ++chosen;
  }
  const Mode& mode = modes[chosen];
  const auto values =
      read_arguments(argc, argv, mode.name == nullptr ? 1 : 2, mode.defaults, mode.needed);
  if (!values) return report(values.error(), mode, {});
  const auto status = mode.run(*values);
  return status ? *status : report(status.error(), mode, *values);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTERM, end_serving);
  std::signal(SIGINT, end_serving);
  try {
    return run_mode(argc, argv);
  } catch (const std::exception& error) {
    log_line(std::string("unexpected: ") + error.what());
    return galley::exit_status(ErrorKind::kInternal);
  }
}
