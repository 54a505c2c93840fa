#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "staging/fs/host_file.h"
#include "staging/sandbox/sandbox.h"
#include "tools/shapes.h"

namespace {

/// Whether a word is among the arguments before the first `--`.
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

/// Whether a command serves until it is stopped.
bool lasts(std::string_view command) {
  constexpr std::array<std::string_view, 5> kLasting = {"acp", "mcp", "review", "run", "serve"};
  return std::find(kLasting.begin(), kLasting.end(), command) != kLasting.end();
}

/// Lets the kernel back the heap with large pages, from a quarter of a MiB on. Otherwise a preview
/// of 1,000 files spends most of its time in 10,000 page faults (docs/adr/0113). A small command
/// stays on small pages, because a large one must be cleared. Servers do not call this: their heap
/// returns memory. If the kernel has no large pages, or the process may not grow, nothing changes.
void use_large_pages() {
  constexpr uintptr_t kLargePage = 2 << 20;
  constexpr uintptr_t kSmallBytes = 256 << 10;  // more than a fresh heap has left
  constexpr uintptr_t kAdvisedBytes = 64 << 20;
  constexpr unsigned kFewCores = 4;
  constexpr uintptr_t kUnderTop = 8 << 10;  // the heap writes its next header here
  const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  const uintptr_t large = (end + kSmallBytes + kLargePage - 1) / kLargePage * kLargePage;
  if (sbrk(static_cast<intptr_t>(large - kSmallBytes - end)) == reinterpret_cast<void*>(-1)) return;
  // A thread's own heap grows page by page. But many threads would wait for one heap.
  if (std::thread::hardware_concurrency() <= kFewCores) mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, kAdvisedBytes / 2);  // the most that glibc takes
  mallopt(M_TOP_PAD, kAdvisedBytes);
  mallopt(M_TRIM_THRESHOLD, 2 * kAdvisedBytes);
  char* const block = static_cast<char*>(std::malloc(kSmallBytes - kUnderTop));
  mallopt(M_TOP_PAD, kSmallBytes);
  // Advice for a page that was written is too late, so the block ends before the first large one.
  const uintptr_t distance = large - reinterpret_cast<uintptr_t>(block);
  if (block != nullptr && distance <= kSmallBytes) {
    (void)madvise(block + distance, kAdvisedBytes - kLargePage, MADV_HUGEPAGE);
  }
  std::free(block);
}

/// The document about wrong usage; null without --json. `galley call --format` chooses its shape.
galley::Json document_of_usage(int argc, const char* const* argv, const std::string& text) {
  const bool is_call = has_word(argc, argv, "call");
  for (int i = 1; is_call && i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word = argv[i];
    constexpr std::string_view kOption = "--format";
    if (!word.starts_with(kOption)) continue;
    const bool is_joined = word.substr(kOption.size()).starts_with('=');
    const auto shape = galley::tool_shape_named(is_joined      ? word.substr(kOption.size() + 1)
                                                : i + 1 < argc ? argv[i + 1]
                                                               : "");
    if (!shape) break;
    const galley::Error error = {galley::ErrorKind::kUsage, "usage", text, "", 0};
    return (*shape)->result(**shape, "", "", galley::ToolResult::failure(tool_error_from(error)));
  }
  return has_word(argc, argv, "--json") ? galley::usage_document(text) : galley::Json();
}

/// Help goes to stdout. Errors go to stderr, or to stdout as a JSON document.
int end_early(const galley::ParsedCommandLine& parsed, int argc, const char* const* argv) {
  const galley::Json document =
      parsed.status == 0 ? galley::Json() : document_of_usage(argc, argv, parsed.text);
  if (!document.is_null()) {
    std::fputs(galley::document_text(document).c_str(), stdout);
  } else {
    std::fputs(parsed.text.c_str(), parsed.status == 0 ? stdout : stderr);
  }
  // A long text may fail during the write, and then fflush has nothing left to do.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return parsed.status;
  std::fputs("galley: this could not be written to standard output\n", stderr);
  return galley::kExitFailure;
}

/// No input ends the program with an exception. An exception of a library, or for lack of memory,
/// becomes an error. Recovery finishes or reverts a commit that it interrupted.
int run_guarded(galley::CommandFunction command, galley::Session& session) {
  constexpr const char* kWayOut = "; what was begun the next galley command finishes or takes back";
  try {
    const auto entered = session.enter_directory();
    return session.finish(entered ? command(session) : galley::Result<int>(entered.error()));
  } catch (const std::bad_alloc&) {
    return session.report({galley::ErrorKind::kQuota, "limit.memory",
                           std::string("there is not enough memory for this") + kWayOut, "", 0});
  } catch (const std::exception& error) {
    return session.report({galley::ErrorKind::kInternal, "internal.exception",
                           std::string("unexpected: ") + error.what() + kWayOut, "", 0});
  }
}

/// The status of `galley agent-hook`: with any other status, agents allow the call.
int status_of_hook(int status) {
  constexpr int kDenied = 2;
  return status == galley::kExitDone ? status : kDenied;
}

int run(galley::CommandFunction command, const galley::Arguments& arguments,
        galley::Terminal& terminal) {
  galley::Session session(arguments, terminal);
  const int status = run_guarded(command, session);
  session.say_left_out_tools();
  if (terminal.finish()) return status;
  const std::string& outcome = session.outcome();
  terminal.print_error("the result could not be written to standard output" +
                       (outcome.empty() ? "" : "; what happened: " + outcome));
  // An undecided commit, which the next command recovers, is the more important status.
  const int undecided = galley::exit_status(galley::ErrorKind::kUndecided);
  return status == undecided ? status : galley::kExitFailure;
}

/// Runs the program under the name `apply_patch`, with the arguments of that tool.
int run_as_apply_patch(int argc, char** argv) {
  use_large_pages();
  galley::Arguments arguments;
  arguments.command = "apply";
  arguments.words.assign(argv + 1, argv + argc);
  galley::Terminal terminal({galley::ColorWhen::kNever, false, false, true, false});
  return run(galley::run_apply_patch, arguments, terminal);
}

}  // namespace

int main(int argc, char** argv) {
  if (!galley::open_standard_streams()) return galley::kExitFailure;
  (void)std::signal(SIGXFSZ, SIG_IGN);  // a write above the limit of ulimit returns an error
  if (argc > 0 && galley::is_apply_patch(argv[0])) return run_as_apply_patch(argc, argv);
  if (has_word(argc, argv, "exec")) galley::start_first_helper();
  const galley::ParsedCommandLine parsed = galley::parse_arguments(argc, argv);
  if (!parsed.arguments) return end_early(parsed, argc, argv);
  const galley::Arguments& arguments = *parsed.arguments;
  galley::Terminal terminal({color_when(arguments.global.color), arguments.global.is_json,
                             arguments.global.is_raw, arguments.global.is_quiet,
                             !arguments.global.no_pager});
  const galley::CommandFunction command =
      galley::find_command(arguments.command, arguments.subcommand);
  GALLEY_CHECK(command != nullptr);
  if (!lasts(arguments.command)) use_large_pages();
  const int status = run(command, arguments, terminal);
  return arguments.command == "agent-hook" ? status_of_hook(status) : status;
}
