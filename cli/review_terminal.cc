#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "cli/outcome.h"
#include "cli/person.h"
#include "cli/render.h"
#include "cli/review.h"
#include "staging/fs/controlling_terminal.h"
#include "staging/sandbox/host_process.h"

namespace galley {
namespace {

constexpr uint32_t kShownContext = 3;
constexpr int kMaxEmptyAnswers = 2;
constexpr std::string_view kHelp =
    "y - keep this change\n"
    "n - leave this change out\n"
    "q - quit: what was left out goes, the rest stays staged, nothing is committed\n"
    "a - keep this change and all later ones of the file\n"
    "d - leave out this change and all later ones of the file\n"
    "g - go to a change by its number: g 3\n"
    "/ - search for a change that has these letters: /name\n"
    "j - decide later, next undecided change\n"
    "J - decide later, next change\n"
    "k - decide later, previous undecided change\n"
    "K - decide later, previous change\n"
    "s - split this change into smaller ones\n"
    "e - edit the proposed lines\n"
    "? - this help\n";

enum class Choice : uint8_t { kLater, kKeep, kLeaveOut };

/// The changes in one question: nearby pieces of one file, or one piece.
struct AskedChange {
  std::vector<size_t> pieces;
  std::string path;
  std::string key;    ///< unchanged by edits of other changes
  std::string shown;  ///< its coloured diff
  bool has_lines = false;
};

/// Asks a person about each change of a transaction, with the keys of `git add -p`.
class TerminalReview {
 public:
  TerminalReview(Session& session, Review& review, ControllingTerminal& terminal)
      : session_(session), review_(review), terminal_(terminal) {}

  Result<int> run() {
    GALLEY_TRY(look());
    if (changes_.empty()) {
      session_.say("nothing is staged in transaction " + review_.tx());
      return kExitDone;
    }
    GALLEY_TRY(terminal_.write(verdict_text(state_->verdict, has_color())));
    while (!is_over_) {
      GALLEY_TRY(show(changes_[at_]));
      GALLEY_ASSIGN(const std::string answer, ask());
      GALLEY_TRY(act(answer));
    }
    return finish();
  }

 private:
  using FilesByPath = std::map<std::string, const ProposedFileDiff*>;

  [[nodiscard]] bool has_color() const { return session_.terminal().has_error_color(); }

  Result<void> look() {
    GALLEY_ASSIGN(state_, review_.look(0));
    changes_.clear();
    at_ = 0;
    ProposalDiffOptions options;
    options.find_renames = false;
    options.file.context = 0;
    GALLEY_ASSIGN(const auto files, diff_proposal(state_->proposal, options));
    FilesByPath by_path;
    for (const ProposedFileDiff& file : files) by_path.emplace(file.diff.new_path, &file);
    const auto& pieces = state_->pieces.pieces();
    const std::vector<std::string> keys = keys_of(pieces, by_path);
    uint32_t last_line = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const ProposalPiece& piece = pieces[i];
      const std::string path = piece.path.str();
      const auto file = by_path.find(path);
      if (piece.hunk == 0 || file == by_path.end()) {
        // Its text does not name the contents, which may be others after an edit.
        GALLEY_ASSIGN(const Proposal part, state_->pieces.only({i}));
        changes_.push_back({{i}, path, keys[i] + part.id().hex(), {}, false});
        continue;
      }
      const HunkSpan& span = file->second->diff.hunks[piece.hunk - 1].span;
      const std::string& key = keys[i];
      const bool is_near = !changes_.empty() && changes_.back().has_lines &&
                           changes_.back().path == path &&
                           span.old_begin - last_line <= 2 * kShownContext &&
                           choices_.count(changes_.back().key) == 0 && choices_.count(key) == 0;
      last_line = span.old_end;
      if (is_near) {
        changes_.back().pieces.push_back(i);
        changes_.back().key += key;
      } else {
        changes_.push_back({{i}, path, key, {}, true});
      }
    }
    for (AskedChange& change : changes_) GALLEY_TRY(draw(change));
    if (!changes_.empty() && choice(at_) != Choice::kLater) step(1, true);
    return {};
  }

  /// Returns the keys of the pieces. Equal changes of a file differ by their number. It is given
  /// with their count: without one of them, the others would have other numbers.
  static std::vector<std::string> keys_of(const std::vector<ProposalPiece>& pieces,
                                          const FilesByPath& by_path) {
    std::vector<std::string> keys;
    std::map<std::string, size_t> counts;
    for (const ProposalPiece& piece : pieces) {
      const auto file = by_path.find(piece.path.str());
      const bool has_lines = piece.hunk != 0 && file != by_path.end();
      keys.push_back(has_lines ? key_of(*file->second, piece.hunk) : piece.text());
      ++counts[keys.back()];
    }
    std::map<std::string, size_t> numbers;
    for (std::string& key : keys) {
      const size_t number = ++numbers[key];
      key = std::to_string(number) + "/" + std::to_string(counts.at(key)) + " " + key;
    }
    return keys;
  }

  static std::string key_of(const ProposedFileDiff& file, uint32_t hunk) {
    const HunkSpan& span = file.diff.hunks[hunk - 1].span;
    return file.diff.new_path + '\0' +
           std::string(Lines(*file.before).span(span.old_begin, span.old_end)) + '\0' +
           std::string(Lines(*file.after).span(span.new_begin, span.new_end)) + '\0';
  }

  /// Returns the diff of this change only.
  Result<void> draw(AskedChange& change) {
    GALLEY_ASSIGN(const Proposal part, state_->pieces.only(change.pieces));
    const OutputStyle style{.has_color = has_color(), .is_printable = true};
    GALLEY_ASSIGN(change.shown, render_changes(part, DiffArguments(), style));
    return {};
  }

  [[nodiscard]] Choice choice(size_t index) const {
    const auto found = choices_.find(changes_[index].key);
    return found == choices_.end() ? Choice::kLater : found->second;
  }

  Result<void> show(const AskedChange& change) { return terminal_.write(change.shown); }

  Result<std::string> ask() {
    static constexpr std::array<std::string_view, 3> kSaid = {"", ", kept so far",
                                                              ", left out so far"};
    const AskedChange& change = changes_[at_];
    std::string letters = "y,n,q,a,d,g,/,j,J,k,K";
    if (change.pieces.size() > 1) letters += ",s";
    if (change.has_lines) letters += ",e";
    return terminal_.ask(fmt::format("({}/{}{}) Keep this change [{},?]? ", at_ + 1,
                                     changes_.size(), kSaid[static_cast<size_t>(choice(at_))],
                                     letters));
  }

  Result<void> act(const std::string& answer) {
    const std::string rest = answer.size() > 1 ? answer.substr(1) : std::string();
    // One empty line may be a mistake. Several mean that the terminal was closed.
    empty_answers_ = answer.empty() ? empty_answers_ + 1 : 0;
    const char quit = empty_answers_ > kMaxEmptyAnswers ? 'q' : '?';
    switch (answer.empty() ? quit : answer.front()) {
      case 'y':
        return decide(Choice::kKeep, false);
      case 'n':
        return decide(Choice::kLeaveOut, false);
      case 'a':
        return decide(Choice::kKeep, true);
      case 'd':
        return decide(Choice::kLeaveOut, true);
      case 'q':
        has_quit_ = is_over_ = true;
        return {};
      case 'j':
        return step_or_say(1, true);
      case 'J':
        return step_or_say(1, false);
      case 'k':
        return step_or_say(-1, true);
      case 'K':
        return step_or_say(-1, false);
      case 'g':
        return go_to(rest);
      case '/':
        return search(rest);
      case 's':
        return split();
      case 'e':
        return edit();
      default:
        return terminal_.write(kHelp);
    }
  }

  Result<void> decide(Choice made, bool is_for_file) {
    const std::string path = changes_[at_].path;
    choices_[changes_[at_].key] = made;
    for (size_t i = at_ + 1; is_for_file && i < changes_.size(); ++i) {
      if (changes_[i].path == path && choice(i) == Choice::kLater) choices_[changes_[i].key] = made;
    }
    if (!step(1, true) && !step(-1, true)) is_over_ = true;
    return {};
  }

  /// Goes to the next change in that direction, or to the next undecided one. Returns false if
  /// there is none.
  bool step(int by, bool is_undecided) {
    const auto count = static_cast<std::ptrdiff_t>(changes_.size());
    for (auto i = static_cast<std::ptrdiff_t>(at_) + by; i >= 0 && i < count; i += by) {
      if (is_undecided && choice(static_cast<size_t>(i)) != Choice::kLater) continue;
      at_ = static_cast<size_t>(i);
      return true;
    }
    return false;
  }

  Result<void> step_or_say(int by, bool is_undecided) {
    if (step(by, is_undecided)) return {};
    return terminal_.write(by > 0 ? "There is no later change like that.\n"
                                  : "There is no earlier change like that.\n");
  }

  Result<void> go_to(std::string number) {
    if (number.empty()) {
      GALLEY_ASSIGN(number, terminal_.ask("Go to which change? "));
    }
    number.erase(0, number.find_first_not_of(' '));
    size_t wanted = 0;
    const auto [rest, code] = std::from_chars(number.data(), number.data() + number.size(), wanted);
    if (code != std::errc() || wanted == 0 || wanted > changes_.size()) {
      return terminal_.write(fmt::format("There are changes 1 to {}.\n", changes_.size()));
    }
    at_ = wanted - 1;
    return {};
  }

  Result<void> search(std::string text) {
    if (text.empty()) {
      GALLEY_ASSIGN(text, terminal_.ask("Search for which letters? "));
    }
    for (size_t i = 1; i <= changes_.size(); ++i) {
      const size_t index = (at_ + i) % changes_.size();
      if (changes_[index].shown.find(text) == std::string::npos) continue;
      at_ = index;
      return {};
    }
    return terminal_.write("No change has these letters.\n");
  }

  Result<void> split() {
    const AskedChange whole = changes_[at_];
    if (whole.pieces.size() < 2) return terminal_.write("This change cannot be split.\n");
    // The key is the concatenation of its parts' keys. Each part ends at its third NUL.
    std::vector<AskedChange> parts;
    size_t begin = 0;
    for (const size_t piece : whole.pieces) {
      size_t end = begin;
      for (int ends = 0; ends < 3; ++ends) end = whole.key.find('\0', end) + 1;
      parts.push_back({{piece}, whole.path, whole.key.substr(begin, end - begin), {}, true});
      GALLEY_TRY(draw(parts.back()));
      begin = end;
    }
    const auto place = changes_.begin() + static_cast<std::ptrdiff_t>(at_);
    changes_.insert(changes_.erase(place), parts.begin(), parts.end());
    return terminal_.write(fmt::format("Split into {} changes.\n", parts.size()));
  }

  Result<void> edit() {
    if (!changes_[at_].has_lines) return terminal_.write("This change has no lines to edit.\n");
    const char* visual = std::getenv("VISUAL");
    const char* plain = std::getenv("EDITOR");
    const std::string editor = visual != nullptr && *visual != '\0' ? visual
                               : plain != nullptr && *plain != '\0' ? plain
                                                                    : "vi";
    const AskedChange& change = changes_[at_];
    const PieceRange hunks{change.pieces.front(), change.pieces.back()};
    GALLEY_ASSIGN(const Workspace* workspace, session_.open());
    GALLEY_ASSIGN(const std::string text, review_.lines_of(*state_, hunks));
    session_.terminal().release_terminal();
    const EditorRequest request{editor, change.path.substr(change.path.rfind('/') + 1),
                                workspace->root_path()};
    const auto edited = edit_by_person(request, text);
    if (!edited) return terminal_.write(printable(edited.error().message) + "\n");
    if (*edited == text) return terminal_.write("Nothing was changed.\n");
    GALLEY_TRY(review_.edit_lines(*state_, hunks, *edited));
    const size_t place = at_;
    GALLEY_TRY(look());
    at_ = std::min(place, changes_.empty() ? 0 : changes_.size() - 1);
    if (changes_.empty()) has_quit_ = is_over_ = true;
    return {};
  }

  Result<int> finish() {
    std::vector<size_t> kept;
    size_t left_out = 0;
    for (size_t i = 0; i < changes_.size(); ++i) {
      const AskedChange& change = changes_[i];
      if (choice(i) == Choice::kLeaveOut) {
        ++left_out;
      } else {
        kept.insert(kept.end(), change.pieces.begin(), change.pieces.end());
      }
    }
    std::sort(kept.begin(), kept.end());
    if (left_out > 0) {
      GALLEY_TRY(review_.keep_only(*state_, kept));
      session_.say(fmt::format("left out {}; back with: {}", counted(left_out, "change"),
                               session_.hint(fmt::format("rollback --tx {} --to {}", review_.tx(),
                                                         Review::kBeforeReview))));
    }
    if (has_quit_ || kept.empty()) {
      session_.say(kept.empty() ? "nothing is left to commit" : "nothing was committed");
      return kExitDone;
    }
    if (left_out > 0) GALLEY_TRY(look_at(kept));
    return commit(kept.size());
  }

  /// Looks at what is staged after the others were left out. It must be what was shown.
  Result<void> look_at(const std::vector<size_t>& kept) {
    GALLEY_ASSIGN(const Proposal shown, state_->pieces.only(kept));
    GALLEY_ASSIGN(state_, review_.look(0));
    if (state_->proposal.id() == shown.id()) return {};
    return fail(ErrorKind::kConflict, "review.changed",
                "something else is staged than what was shown; look at it again");
  }

  Result<int> commit(size_t count) {
    const std::string id = state_->proposal.id().hex().substr(0, kShownProposalDigits);
    GALLEY_TRY(terminal_.write(verdict_text(state_->verdict, has_color())));
    GALLEY_ASSIGN(const std::string answer,
                  terminal_.ask(fmt::format("Commit proposal {} ({})? [y/N] ", id,
                                            counted(count, "change"))));
    if (answer != "y" && answer != "yes") {
      session_.say("nothing was committed");
      return kExitDone;
    }
    GALLEY_ASSIGN(const CommitOutcome outcome, review_.commit(*state_));
    Json document = {{"schema", "galley.commit/1"}, {"ok", true}, {"tx", review_.tx()}};
    return finish_commit(session_, outcome, document);
  }

  Session& session_;
  Review& review_;
  ControllingTerminal& terminal_;
  std::optional<ReviewedState> state_;
  std::vector<AskedChange> changes_;
  std::map<std::string, Choice> choices_;
  size_t at_ = 0;
  int empty_answers_ = 0;
  bool is_over_ = false;
  bool has_quit_ = false;
};

}  // namespace

Result<int> review_on_terminal(Session& session, Review& review) {
  auto terminal = ControllingTerminal::open();
  if (!terminal) {
    return fail(ErrorKind::kRefused, "person.no_terminal",
                "`galley review --tty` asks at a terminal, and there is none");
  }
  session.terminal().release_terminal();
  return TerminalReview(session, review, **terminal).run();
}

}  // namespace galley
