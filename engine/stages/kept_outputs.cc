#include "engine/stages/kept_outputs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/file_mode.h"
#include "base/rel_path.h"
#include "staging/fs/replace_file.h"

namespace galley {
namespace {

constexpr const char* kOutputs = "outputs";
constexpr size_t kMaxExecutionBytes = 64;
constexpr uint64_t kMaxAgentLine = 4096;  // above the text of a file

/// The path of an output in its stage. Names come from agents.
Result<RelPath> path_of_output(const OutputName& name) {
  const bool is_good = !name.execution.empty() && name.execution.size() <= kMaxExecutionBytes &&
                       std::all_of(name.execution.begin(), name.execution.end(), [](char c) {
                         return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
                       });
  if (!is_good || (name.stream != "stdout" && name.stream != "stderr")) {
    return fail(ErrorKind::kUsage, "output.name",
                "an output is named by the id of its call, as the shortened answer shows it, and "
                "by stdout or stderr");
  }
  return RelPath::parse(name.execution + "." + name.stream);
}

std::string line_of_agent(const std::string& agent) {
  std::string line = agent.substr(0, kMaxAgentLine - 1);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line + "\n";
}

}  // namespace

Result<void> keep_output(const WritableDirectory& stage, const OutputName& name,
                         const std::string& agent, std::string_view text) {
  GALLEY_ASSIGN(const RelPath file, path_of_output(name));
  GALLEY_ASSIGN(const RelPath folder, RelPath::parse(kOutputs));
  GALLEY_TRY(make_directories(stage, folder, kPrivateDirectory));
  GALLEY_ASSIGN(const auto outputs, stage.open_writable_directory(folder));
  GALLEY_ASSIGN(const auto entries, outputs->list());
  std::set<std::string> names;  // the oldest first
  for (const DirectoryEntry& entry : entries) names.insert(entry.name);
  while (names.size() >= kMaxKeptOutputs) {
    GALLEY_ASSIGN(const RelPath oldest, RelPath::parse(*names.begin()));
    GALLEY_TRY(outputs->remove_file(oldest));
    names.erase(names.begin());
  }
  return replace_file(*outputs, file.str(),
                      line_of_agent(agent).append(text.substr(0, kMaxKeptOutputBytes)));
}

Result<std::string> kept_output(const Directory& stage, const OutputName& name,
                                const std::string& agent) {
  GALLEY_ASSIGN(const RelPath file, path_of_output(name));
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(kOutputs + ("/" + file.str())));
  auto read = read_file(stage, path, kMaxKeptOutputBytes + kMaxAgentLine);
  const std::string owner = line_of_agent(agent);
  if (read && read->starts_with(owner)) return read->substr(owner.size());
  if (!read && read.error().kind != ErrorKind::kNotFound) return read;
  return fail(ErrorKind::kNotFound, "output.not_found",
              "no output of the call " + name.execution +
                  " is kept for you in this transaction: " + std::to_string(kMaxKeptOutputs) +
                  " outputs are kept until it ends; run the command again");
}

}  // namespace galley
