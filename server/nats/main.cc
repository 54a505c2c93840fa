#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include <galley/workspace.h>
#include "base/clock.h"
#include "base/printable.h"
#include "server/nats/nachos_runner.h"
#include "server/nats/nats_config.h"
#include "server/nats/nats_door.h"
#include "staging/fs/host_file.h"
#include "tools/profiles.h"

namespace {

using galley::ErrorKind;
using galley::Result;

constexpr const char* kUsage =
    "usage: galley-serve-nats --workspace DIR --address nats://HOST:PORT [--config FILE]"
    " [--profile NAME]\n";

std::atomic<bool> must_end = false;

void end_serving(int /*signal*/) { must_end = true; }

void log_line(const std::string& line) {
  std::fputs(("galley-serve-nats: " + line + "\n").c_str(), stderr);
}

/// Reads `--NAME VALUE` pairs.
Result<std::map<std::string, std::string>> read_arguments(int argc, char** argv) {
  std::map<std::string, std::string> values = {
      {"--workspace", ""}, {"--address", ""}, {"--config", ""}, {"--profile", "nachos"}};
  for (int i = 1; i < argc; i += 2) {
    const auto known = values.find(argv[i]);
    if (known == values.end() || i + 1 == argc) {
      return galley::fail(
          ErrorKind::kUsage, "nats.arguments",
          "'" + galley::printable_line(argv[i]) + "' is not an option with a value");
    }
    known->second = argv[i + 1];
  }
  for (const char* needed : {"--workspace", "--address"}) {
    if (!values[needed].empty()) continue;
    return galley::fail(ErrorKind::kUsage, "nats.arguments", std::string(needed) + " is missing");
  }
  return values;
}

Result<void> serve(std::map<std::string, std::string> values) {
  GALLEY_ASSIGN(const galley::ToolProfile* profile, galley::profile_named(values["--profile"]));
  GALLEY_ASSIGN(const std::string root, galley::absolute_path(values["--workspace"]));
  galley::NatsConfig config;
  if (!values["--config"].empty()) {
    GALLEY_ASSIGN(config, galley::read_nats_config(values["--config"]));
  }
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
  galley::NachosRunner runner(*workspace, *profile, config, secrets, clock);
  GALLEY_ASSIGN(const auto door,
                galley::NatsDoor::open(runner, {values["--address"], config, log_line}));
  log_line("serving " + galley::printable_line(workspace->root_path()) + " at " +
           galley::shown_address(values["--address"]));
  GALLEY_TRY(door->serve([] { return must_end.load(); }));
  log_line("ended");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTERM, end_serving);
  std::signal(SIGINT, end_serving);
  try {
    const auto values = read_arguments(argc, argv);
    const auto served = values ? serve(*values) : Result<void>(values.error());
    if (served) return 0;
    log_line(served.error().message);
    if (!values) std::fputs(kUsage, stderr);
    return galley::exit_status(served.error().kind);
  } catch (const std::exception& error) {
    log_line(std::string("unexpected: ") + error.what());
    return galley::exit_status(ErrorKind::kInternal);
  }
}
