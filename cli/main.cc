#include <cstdio>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/apply_patch_program.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "staging/sandbox/sandbox.h"

namespace {

/// Whether it stands among the arguments, before the first `--`.
bool has_word(int argc, const char* const* argv, std::string_view word) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == word) return true;
    if (std::string_view(argv[i]) == "--") return false;
  }
  return false;
}

galley::ColorWhen color_when(const std::string& word) {
  if (word == "auto") return galley::ColorWhen::kAuto;
  return word == "always" ? galley::ColorWhen::kAlways : galley::ColorWhen::kNever;
}

/// Help goes to stdout; a complaint to stderr, or to stdout as the JSON document.
int end_early(const galley::ParsedCommandLine& parsed, bool is_json) {
  if (parsed.status != 0 && is_json) {
    std::fputs(galley::document_text(galley::usage_document(parsed.text)).c_str(), stdout);
  } else {
    std::fputs(parsed.text.c_str(), parsed.status == 0 ? stdout : stderr);
  }
  // A long text fails while it is written, and then there is nothing left to flush.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return parsed.status;
  std::fputs("galley: this could not be written to standard output\n", stderr);
  return galley::kExitFailure;
}

/// No input ends the program by an exception: what a library or the lack of memory throws is an
/// error like others, and a commit that it interrupted is for recovery.
int run_guarded(galley::CommandFunction command, galley::Session& session) {
  constexpr const char* kWayOut = "; what was begun the next galley command finishes or takes back";
  try {
    const auto entered = session.enter_directory();
    return entered ? command(session) : session.report(entered.error());
  } catch (const std::bad_alloc&) {
    return session.report({galley::ErrorKind::kQuota, "limit.memory",
                           std::string("there is not enough memory for this") + kWayOut, "", 0});
  } catch (const std::exception& error) {
    return session.report({galley::ErrorKind::kInternal, "internal.exception",
                           std::string("unexpected: ") + error.what() + kWayOut, "", 0});
  }
}

/// Of `galley agent-hook`: an agent lets a call through whose hook ends with any other status.
int status_of_hook(int status) {
  constexpr int kDenied = 2;
  return status == galley::kExitDone ? status : kDenied;
}

int run(galley::CommandFunction command, const galley::Arguments& arguments,
        galley::Terminal& terminal) {
  galley::Session session(arguments, terminal);
  const int status = run_guarded(command, session);
  if (terminal.finish()) return status;
  const std::string& outcome = session.outcome();
  terminal.complain("the result could not be written to standard output" +
                    (outcome.empty() ? "" : "; what happened: " + outcome));
  // That the next command decides outweighs it.
  const int undecided = galley::exit_status(galley::ErrorKind::kUndecided);
  return status == undecided ? status : galley::kExitFailure;
}

/// Called by the name of that tool, the program has its arguments and no others.
int run_as_apply_patch(int argc, char** argv) {
  galley::Arguments arguments;
  arguments.command = "apply";
  arguments.words.assign(argv + 1, argv + argc);
  galley::Terminal terminal({galley::ColorWhen::kNever, false, false, true, false});
  return run(galley::run_apply_patch, arguments, terminal);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 0 && galley::is_apply_patch(argv[0])) return run_as_apply_patch(argc, argv);
  if (has_word(argc, argv, "exec")) galley::start_first_helper();
  const galley::ParsedCommandLine parsed = galley::parse_arguments(argc, argv);
  if (!parsed.arguments) return end_early(parsed, has_word(argc, argv, "--json"));
  const galley::Arguments& arguments = *parsed.arguments;
  galley::Terminal terminal({color_when(arguments.global.color), arguments.global.is_json,
                             arguments.global.is_raw, arguments.global.is_quiet,
                             !arguments.global.no_pager});
  const galley::CommandFunction command =
      galley::find_command(arguments.command, arguments.subcommand);
  GALLEY_CHECK(command != nullptr);
  const int status = run(command, arguments, terminal);
  return arguments.command == "agent-hook" ? status_of_hook(status) : status;
}
