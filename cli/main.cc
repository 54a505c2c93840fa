#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/session.h"

namespace {

bool wants_json(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json") return true;
    if (std::string_view(argv[i]) == "--") return false;
  }
  return false;
}

/// Help goes to stdout; a complaint to stderr, or to stdout as the JSON document.
int end_early(const galley::ParsedArguments& parsed, bool is_json) {
  if (parsed.status != 0 && is_json) {
    std::fputs(galley::document_text(galley::usage_document(parsed.text)).c_str(), stdout);
  } else {
    std::fputs(parsed.text.c_str(), parsed.status == 0 ? stdout : stderr);
  }
  if (std::fflush(stdout) == 0) return parsed.status;
  std::fputs("galley: this could not be written to standard output\n", stderr);
  return galley::kExitFailure;
}

}  // namespace

int main(int argc, char** argv) {
  const galley::ParsedArguments parsed = galley::parse_arguments(argc, argv);
  if (!parsed.arguments) return end_early(parsed, wants_json(argc, argv));
  const galley::Arguments& arguments = *parsed.arguments;
  galley::Terminal terminal(
      {arguments.global.color, arguments.global.is_json, arguments.global.is_raw});
  const galley::CommandFunction command =
      galley::find_command(arguments.command, arguments.subcommand);
  GALLEY_CHECK(command != nullptr);
  galley::Session session(arguments, terminal);
  const int status = command(session);
  if (terminal.finish()) return status;
  const std::string& outcome = session.outcome();
  terminal.complain("the result could not be written to standard output" +
                    (outcome.empty() ? "" : "; what happened: " + outcome));
  // That the next command decides outweighs it.
  const int undecided = galley::exit_status(galley::ErrorKind::kUndecided);
  return status == undecided ? status : galley::kExitFailure;
}
