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
#include "tools/profiles.h"

namespace {

using galley::ErrorKind;
using galley::Result;

constexpr const char* kUsage =
    "usage: galley-serve-nats --workspace DIR --address nats://HOST:PORT [--config FILE]"
    " [--profile NAME]\n"
    "       galley-serve-nats worker --address … --config FILE\n"
    "       galley-serve-nats submit --address … [--config FILE] [--job FILE] [--wait SECONDS]\n"
    "       galley-serve-nats jobs --address … [--config FILE] [--id ID]\n";
constexpr int kNotDone = 1;  ///< exit status of a job without a change on its branch
constexpr int kLookEveryMs = 100;
constexpr uint32_t kMostWaitSeconds = 86'400;

std::atomic<bool> must_end = false;

void end_serving(int /*signal*/) { must_end = true; }

void log_line(const std::string& line) {
  std::fputs(("galley-serve-nats: " + line + "\n").c_str(), stderr);
}

using Values = std::map<std::string, std::string>;

/// Reads `--NAME VALUE` pairs, from the argument `first` on, in addition to these defaults.
Result<Values> read_arguments(int argc, char** argv, int first, Values values,
                              const std::vector<const char*>& needed_ones) {
  for (int i = first; i < argc; i += 2) {
    const auto known = values.find(argv[i]);
    if (known == values.end() || i + 1 == argc) {
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

/// On a terminal as ASCII: a receipt has texts of others, with characters that terminals obey.
void print_receipt(const std::string& receipt) {
  const auto document = nlohmann::ordered_json::parse(receipt, nullptr, false);
  const bool is_ascii = ::isatty(STDOUT_FILENO) != 0;
  std::puts(document.dump(-1, ' ', is_ascii, nlohmann::json::error_handler_t::replace).c_str());
}

/// Waits for the receipt of a job, prints it, and returns the exit status. An empty digest stands
/// for any job of this id.
Result<int> await_receipt(const Values& values, galley::JobQueue& queue,
                          const galley::JobQueue::Submitted& job, uint32_t seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (true) {
    GALLEY_ASSIGN(const galley::JobBook::Entry known, queue.find(job.id));
    GALLEY_TRY(galley::JobBook::check_same(job.id, job.digest, known.job));
    if (!known.receipt.empty() && known.revision != job.dead) {
      print_receipt(known.receipt);
      return known.is_success() ? 0 : kNotDone;
    }
    if (must_end || std::chrono::steady_clock::now() >= end) {
      return galley::fail(ErrorKind::kTimeout, "job.not_ended",
                          "the job '" + job.id + "' has not ended; look again: galley jobs " +
                              job.id + " --nats " + galley::shown_address(values.at("--address")));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kLookEveryMs));
  }
}

Result<int> submit(const Values& values) {
  GALLEY_ASSIGN(const galley::NatsConfig config, config_of(values));
  const auto seconds = galley::number_of<uint32_t>(values.at("--wait"));
  if (!seconds || *seconds > kMostWaitSeconds) {
    return galley::fail(ErrorKind::kUsage, "nats.arguments", "--wait takes seconds, at most a day");
  }
  GALLEY_ASSIGN(const std::string text,
                galley::read_host_file(values.at("--job"), galley::Job::kMostBytes));
  GALLEY_ASSIGN(const auto queue, galley::JobQueue::open(values.at("--address"), config));
  GALLEY_ASSIGN(const galley::JobQueue::Submitted job, queue->submit(text));
  if (*seconds > 0) return await_receipt(values, *queue, job, *seconds);
  std::puts(job.id.c_str());
  return 0;
}

Result<int> list_jobs(const Values& values) {
  GALLEY_ASSIGN(const galley::NatsConfig config, config_of(values));
  GALLEY_ASSIGN(const auto queue, galley::JobQueue::open(values.at("--address"), config));
  if (const std::string& id = values.at("--id"); !id.empty()) {
    if (!galley::is_job_id(id)) {
      return galley::fail(ErrorKind::kUsage, "nats.arguments", "--id takes the id of a job");
    }
    return await_receipt(values, *queue, {id, {}}, 0);
  }
  GALLEY_ASSIGN(const auto receipts, queue->receipts());
  for (const std::string& receipt : receipts) print_receipt(receipt);
  GALLEY_ASSIGN(const uint64_t waiting, queue->waiting());
  log_line(std::to_string(waiting) + " jobs have not ended");
  return 0;
}

struct Mode {
  const char* name;
  Values defaults;
  std::vector<const char*> needed;
  Result<int> (*run)(const Values& values);
};

Result<int> run_mode(int argc, char** argv) {
  const Values shared = {{"--address", ""}, {"--config", ""}};
  const auto with = [&](Values more) {
    more.insert(shared.begin(), shared.end());
    return more;
  };
  const Mode modes[] = {
      {"worker", with({}), {"--address", "--config"}, work},
      {"submit", with({{"--job", "/dev/stdin"}, {"--wait", "0"}}), {"--address"}, submit},
      {"jobs", with({{"--id", ""}}), {"--address"}, list_jobs},
      {nullptr,
       with({{"--workspace", ""}, {"--profile", "nachos"}}),
       {"--workspace", "--address"},
       serve},
  };
  for (const Mode& mode : modes) {
    const bool is_named = mode.name != nullptr;
    if (is_named && (argc < 2 || std::string_view(argv[1]) != mode.name)) continue;
    GALLEY_ASSIGN(const Values values,
                  read_arguments(argc, argv, is_named ? 2 : 1, mode.defaults, mode.needed));
    return mode.run(values);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTERM, end_serving);
  std::signal(SIGINT, end_serving);
  try {
    const auto served = run_mode(argc, argv);
    if (served) return *served;
    log_line(served.error().message);
    if (served.error().reason == "nats.arguments") std::fputs(kUsage, stderr);
    return galley::exit_status(served.error().kind);
  } catch (const std::exception& error) {
    log_line(std::string("unexpected: ") + error.what());
    return galley::exit_status(ErrorKind::kInternal);
  }
}
