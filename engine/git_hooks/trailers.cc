#include "engine/git_hooks/trailers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/printable.h"
#include "base/text.h"
#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr size_t kProposalDigits = 12;
/// The line that `git commit -v` writes above the diff, after the comment character.
constexpr std::string_view kScissors = " ------------------------ >8 ------------------------\n";

/// Whether the message has text that git would keep.
Result<bool> has_text(const GitProgram& git, const std::string& file) {
  GALLEY_ASSIGN(std::string message, read_host_file(file, kMaxMessageBytes));
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

}  // namespace

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
  GALLEY_ASSIGN(const bool is_wanted, has_text(git, file));
  if (!is_wanted) return {};
  // Runs outside the repository, whose configuration may name a program for each trailer. As in
  // `git commit --trailer`, a line `---` does not end the message.
  GALLEY_ASSIGN(const std::string comment, comment_character(git));
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
  GALLEY_TRY(GitProgram::in_other_repository("/").run(words));
  return {};
}

}  // namespace galley
