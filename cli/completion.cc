#include "cli/completion.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "engine/commit/state_directory.h"
#include "engine/history/history.h"
#include "tools/profiles.h"

namespace galley {

namespace {

struct SourceRow {
  std::string_view command;  ///< as command_path has it; empty: any
  std::string_view option;
  ValueSource source;
};

constexpr std::array kSources = {
    SourceRow{"", "--tx", ValueSource::kOpenTransactions},
    SourceRow{"", "--resume", ValueSource::kOpenTransactions},
    SourceRow{"galley pick", "id", ValueSource::kOpenTransactions},
    SourceRow{"galley attach", "id", ValueSource::kOpenTransactions},
    SourceRow{"galley stop", "id", ValueSource::kOpenTransactions},
    SourceRow{"", "id", ValueSource::kHistory},
    SourceRow{"galley call", "tool", ValueSource::kTools},
    SourceRow{"galley tools show", "name", ValueSource::kTools},
    SourceRow{"galley tools check", "name", ValueSource::kTools},
    SourceRow{"galley tools validate", "name", ValueSource::kTools},
    SourceRow{"galley tools remove", "name", ValueSource::kTools},
    SourceRow{"galley tools add", "folder", ValueSource::kDirectories},
    SourceRow{"galley run", "--allow-write", ValueSource::kDirectories},
    SourceRow{"galley run", "--layer", ValueSource::kDirectories},
    SourceRow{"galley blame", "path", ValueSource::kFiles},
    SourceRow{"galley policy explain", "path", ValueSource::kFiles},
    SourceRow{"galley policy test", "file", ValueSource::kFiles},
};

ValueSource value_source(const CLI::App& command, const CLI::Option& option) {
  for (const SourceRow& row : kSources) {
    const bool is_here = row.command.empty() || row.command == command_path(command);
    if (is_here && option.check_name(std::string(row.option))) return row.source;
  }
  const std::string type = option.get_type_name();
  if (type == "FILE" || type == "PATH") return ValueSource::kFiles;
  if (type == "DIR" || type == "ROOT") return ValueSource::kDirectories;
  return ValueSource::kNone;
}

/// Follows the words before the cursor as the parser would.
class Line {
 public:
  Line(const OptionTable& table, Completion& result)
      : table_(table), app_(&table.app()), result_(result) {}

  void pass(const std::string& word) {
    if (only_arguments_) return;
    if (pending_ != nullptr) {
      if (word == "=" && !has_equals_) {
        has_equals_ = true;
        return;
      }
      take_value(*pending_, word);
      pending_ = nullptr;
    } else if (word == "--") {
      only_arguments_ = true;
    } else if (word.starts_with("--")) {
      pass_long(word);
    } else if (word.size() > 1 && word.front() == '-') {
      pass_short(word);
    } else {
      pass_argument(word);
    }
  }

  void finish(const std::string& word) {
    if (only_arguments_) {
      result_.source = ValueSource::kFiles;
    } else if (pending_ != nullptr) {
      const bool is_equals = word == "=" && !has_equals_;
      offer_values(*pending_, is_equals ? "" : word, "");
    } else if (word.starts_with("--") && word.find('=') != std::string::npos) {
      const size_t equals = word.find('=');
      const CLI::Option* option = find(word.substr(0, equals));
      if (option != nullptr)
        offer_values(*option, word.substr(equals + 1), word.substr(0, equals + 1));
    } else if (word.starts_with('-') && word != "-") {
      offer_options(word);
    } else if (!shown_commands(*app_).empty()) {
      offer_commands(*app_, word);
    } else {
      offer_argument(word);
    }
  }

 private:
  [[nodiscard]] const CLI::Option* find(const std::string& name) const {
    for (const CLI::App* app = app_; app != nullptr; app = app->get_parent()) {
      for (const CLI::Option* option : app->get_options()) {
        if (!option->get_positional() && option->check_name(name)) return option;
      }
    }
    return nullptr;
  }

  static bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

  void take_value(const CLI::Option& option, const std::string& value) {
    const auto& globals = table_.app().get_options();
    const bool is_global = std::find(globals.begin(), globals.end(), &option) != globals.end();
    if (is_global && option.check_name("-C")) result_.directories.push_back(value);
  }

  void await_value(const CLI::Option* option) {
    pending_ = option;
    has_equals_ = false;
  }

  void pass_long(const std::string& word) {
    const size_t equals = word.find('=');
    const CLI::Option* option = find(word.substr(0, equals));
    if (option == nullptr || !takes_value(*option)) return;
    if (equals == std::string::npos) return await_value(option);
    take_value(*option, word.substr(equals + 1));
  }

  void pass_short(const std::string& word) {
    for (size_t i = 1; i < word.size(); ++i) {
      const CLI::Option* option = find(std::string("-") + word[i]);
      if (option == nullptr) return;
      if (!takes_value(*option)) continue;
      if (i + 1 == word.size()) return await_value(option);
      return take_value(*option, word.substr(i + 1));
    }
  }

  void pass_argument(const std::string& word) {
    for (const CLI::App* command : app_->get_subcommands(nullptr)) {
      if (command->get_name() == word) {
        app_ = command;
        return;
      }
    }
    arguments_.push_back(word);
  }

  void offer(const std::string& word, const std::string& about, const std::string& typed) {
    if (word.starts_with(typed) && is_plain_word(word)) {
      result_.candidates.push_back({word, about.substr(0, about.find('\n'))});
    }
  }

  void offer_values(const CLI::Option& option, const std::string& typed,
                    const std::string& before) {
    for (const std::string& word : table_.choices_of(option)) {
      offer(before + word, "", before + typed);
    }
    if (!result_.candidates.empty()) return;
    result_.source = value_source(*app_, option);
    result_.prefix = before + typed;
  }

  void offer_options(const std::string& typed) {
    for (const CLI::App* app = app_; app != nullptr; app = app->get_parent()) {
      for (const HelpRow& row : option_rows(*app)) {
        for (const std::string& name : row.names) {
          const bool is_known = std::any_of(result_.candidates.begin(), result_.candidates.end(),
                                            [&](const auto& one) { return one.word == name; });
          if (!is_known) offer(name, row.about, typed);
        }
      }
    }
  }

  void offer_commands(const CLI::App& app, const std::string& typed) {
    for (const CLI::App* command : shown_commands(app)) {
      offer(command->get_name(), command->get_description(), typed);
    }
  }

  /// `galley help tools show`: here the arguments are commands.
  void offer_help(const std::string& typed) {
    const CLI::App* app = &table_.app();
    for (const std::string& word : arguments_) {
      const auto& all = shown_commands(*app);
      const auto named = std::find_if(all.begin(), all.end(), [&](const CLI::App* command) {
        return command->get_name() == word;
      });
      if (named == all.end()) return;
      app = *named;
    }
    offer_commands(*app, typed);
  }

  void offer_argument(const std::string& typed) {
    if (command_path(*app_) == "galley help") return offer_help(typed);
    const CLI::Option* last = nullptr;
    size_t place = 0;
    for (const CLI::Option* option : app_->get_options()) {
      if (!option->get_positional()) continue;
      last = option;
      if (place++ == arguments_.size()) return offer_values(*option, typed, "");
    }
    if (last != nullptr && last->get_expected_max() > 1) offer_values(*last, typed, "");
  }

  const OptionTable& table_;
  const CLI::App* app_;
  Completion& result_;
  const CLI::Option* pending_ = nullptr;
  bool has_equals_ = false;
  bool only_arguments_ = false;
  std::vector<std::string> arguments_;
};

// Shells insert candidates without evaluating them. galley offers only words that need no quotes,
// and shells complete and quote names of files themselves. The scripts call the galley in $PATH and
// not the word that was typed, because a workspace may contain a program of that name.

constexpr std::string_view kBashScript = R"(# bash completion of galley
_galley() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) compopt -o default ;;
      :directories) compopt -o dirnames ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <(command galley complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null < /dev/null)
}
complete -F _galley galley
)";

constexpr std::string_view kZshScript = R"(#compdef galley
# zsh completion of galley
_galley() {
  local line
  local -a names texts
  local takes_files= takes_directories=
  while IFS= read -r line; do
    case $line in
      (:files) takes_files=1 ;;
      (:directories) takes_directories=1 ;;
      (*) names+=("${line%%$'\t'*}") texts+=("${line/$'\t'/  -- }") ;;
    esac
  done < <(command galley complete -- "${(@Q)words[2,CURRENT]}" 2> /dev/null < /dev/null)
  (( $#names )) && compadd -l -d texts -a -- names
  [[ -n $takes_files ]] && _files
  [[ -n $takes_directories ]] && _files -/
  return 0
}
if [[ $funcstack[1] == _galley ]]; then
  _galley "$@"
else
  compdef _galley galley
fi
)";

constexpr std::string_view kFishScript = R"(# fish completion of galley
function __galley_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (command galley complete -- $words[2..-1] 2> /dev/null < /dev/null)
        switch $line
            case ':files'
                __fish_complete_path (commandline -ct)
            case ':directories'
                __fish_complete_directories (commandline -ct)
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c galley -f -k -a '(__galley_complete)'
)";

}  // namespace

Completion complete(const OptionTable& table, const std::vector<std::string>& words) {
  Completion result;
  Line line(table, result);
  if (words.empty()) return result;
  for (size_t i = 0; i + 1 < words.size(); ++i) line.pass(words[i]);
  line.finish(words.back());
  return result;
}

bool is_plain_word(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (c >= '0' && c <= '9') ||
           std::string_view("._-/:@+,=%").find(c) != std::string_view::npos;
  });
}

namespace {

constexpr size_t kMaxOfferedTransactions = 100;
constexpr size_t kMaxOfferedAboutBytes = 60;

using Candidates = std::vector<CompletionCandidate>;

/// Reads candidates from the workspace, without recovery: one key press is not worth it.
Result<Candidates> candidates_of(ValueSource source, Session& session) {
  Candidates found;
  GALLEY_ASSIGN(Workspace * workspace, session.open_without_recovery());
  if (source == ValueSource::kTools) {
    GALLEY_ASSIGN(const ToolRegistry* tools, tools_of(*workspace).registry());
    for (const ToolInfo& tool : shown_tools(*tools, nullptr))
      found.push_back({tool.name, tool.title});
  } else if (source == ValueSource::kOpenTransactions) {
    GALLEY_ASSIGN(const auto stages, workspace->stages());
    for (const StageStatus& stage : stages) found.push_back({stage.id, stage.message});
  } else if (persistent_of(*workspace).state() != nullptr) {
    GALLEY_ASSIGN(
        const auto transactions,
        History(*persistent_of(*workspace).state()).list({.limit = kMaxOfferedTransactions}));
    for (const TxSummary& one : transactions) found.push_back({one.id.str(), one.message});
  }
  return found;
}

std::string candidate_line(const CompletionCandidate& candidate) {
  if (candidate.about.empty()) return candidate.word + "\n";
  return candidate.word + "\t" + printable_line(candidate.about, kMaxOfferedAboutBytes) + "\n";
}

}  // namespace

/// `galley complete -- WORD...`, for the scripts of the shells. Errors are not printed, because
/// they would appear in the command line that is being typed.
Result<int> run_complete(Session& session) {
  const OptionTable table;
  const Completion completion = complete(table, session.arguments().words);
  std::string text;
  for (const CompletionCandidate& candidate : completion.candidates) {
    text += candidate_line(candidate);
  }
  if (completion.source == ValueSource::kFiles) {
    text += ":files\n";
  } else if (completion.source == ValueSource::kDirectories) {
    text += ":directories\n";
  } else if (completion.source != ValueSource::kNone) {
    Arguments arguments = session.arguments();
    arguments.global.directories = completion.directories;
    Session asked(arguments, session.terminal());
    const auto entered = asked.enter_directory();
    const auto found =
        entered ? candidates_of(completion.source, asked) : Result<Candidates>(Candidates());
    for (const CompletionCandidate& candidate : found ? *found : Candidates()) {
      const bool is_offered =
          candidate.word.starts_with(completion.prefix) && is_plain_word(candidate.word);
      if (is_offered) text += candidate_line(candidate);
    }
  }
  session.print(text);
  return kExitDone;
}

Result<int> run_completions(Session& session) {
  const std::string& shell = session.arguments().name;
  const std::string script(shell == "bash"  ? kBashScript
                           : shell == "zsh" ? kZshScript
                                            : kFishScript);
  session.print(
      {{"schema", "galley.completions/1"}, {"ok", true}, {"shell", shell}, {"text", script}},
      script);
  return kExitDone;
}

}  // namespace galley
