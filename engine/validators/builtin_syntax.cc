#include <fmt/core.h>

#include "engine/validators/builtin.h"
#include "engine/validators/file_validator.h"
#include "engine/validators/syntax_rule.h"
#include "staging/sandbox/syntax_program.h"

namespace galley {
namespace {

/// The maximum number of bytes parsed at once, so that a change of any size needs little memory.
constexpr size_t kBatchBytes = size_t{16} << 20U;

class SyntaxValidator final : public FileValidator {
 public:
  SyntaxValidator(const ValidatorConfig& config, ValidatorCache* cache)
      : FileValidator(
            config, cache,
            {.default_paths = {"*.c",   "*.h",   "*.cc",  "*.cpp", "*.cxx", "*.c++", "*.hh",
                               "*.hpp", "*.hxx", "*.h++", "*.py",  "*.pyi", "*.js",  "*.jsx",
                               "*.mjs", "*.cjs", "*.ts",  "*.mts", "*.cts", "*.tsx", "*.cs"},
             .max_bytes = kMaxSyntaxBytes}),
        program_(SyntaxProgram::find()) {}

 protected:
  [[nodiscard]] std::string fingerprint() const override {
    return program_ ? program_->identity() : std::string();
  }

  [[nodiscard]] Result<void> check_all(const ValidatorContext& context,
                                       const std::vector<const Change*>& selected,
                                       std::vector<Finding>& findings) const override {
    std::vector<Parsed> batch;
    size_t bytes = 0;
    for (const Change* change : selected) {
      FindingSink sink(config(), change->path.str(), findings);
      GALLEY_ASSIGN(auto file, load(context.tree, *change, sink));
      if (!file) continue;
      const auto language = syntax_language(change->path.str(), *file->text);
      if (!language) continue;
      bytes += file->text->size();
      batch.push_back({std::move(*file), *language, {}});
      if (bytes < kBatchBytes) continue;
      GALLEY_TRY(check_batch(context, batch, findings));
      batch.clear();
      bytes = 0;
    }
    return check_batch(context, batch, findings);
  }

 private:
  struct Parsed {
    LoadedFile file;
    SyntaxLanguage language;
    SyntaxAnswer answer;
  };

  /// Parses the proposed texts, and for those with errors also the old texts.
  Result<void> check_batch(const ValidatorContext& context, std::vector<Parsed>& batch,
                           std::vector<Finding>& findings) const {
    if (batch.empty()) return {};
    if (!program_) return fail(program_.error());
    std::vector<SyntaxText> texts;
    for (const Parsed& one : batch) {
      texts.push_back({one.language, *one.file.text, one.file.change->path.str()});
    }
    const auto should_stop = [&context] { return context.should_stop(); };
    GALLEY_ASSIGN(auto answers, program_->parse(texts, should_stop));
    std::vector<const Parsed*> bad;
    for (size_t i = 0; i < batch.size(); ++i) {
      batch[i].answer = std::move(answers[i]);
      if (batch[i].answer.gave_up) {
        add_gave_up(batch[i], findings);
      } else if (!batch[i].answer.errors.empty()) {
        bad.push_back(&batch[i]);
      }
    }
    return compare(context, bad, findings);
  }

  Result<void> compare(const ValidatorContext& context, const std::vector<const Parsed*>& bad,
                       std::vector<Finding>& findings) const {
    std::vector<Content> contents;
    std::vector<SyntaxText> texts;
    for (const Parsed* one : bad) {
      const Change& origin = *one->file.origin;
      Content before;
      if (origin.before.kind == FileKind::kRegular && origin.before.size <= kMaxSyntaxBytes) {
        GALLEY_ASSIGN(before, context.tree.read_before(origin));
        texts.push_back({one->language, *before, one->file.change->path.str()});
      }
      contents.push_back(std::move(before));
    }
    const auto should_stop = [&context] { return context.should_stop(); };
    GALLEY_ASSIGN(const auto answers, program_->parse(texts, should_stop));
    size_t next = 0;
    for (size_t i = 0; i < bad.size(); ++i) {
      const ParsedText after{*bad[i]->file.text, bad[i]->answer};
      std::optional<SyntaxComplaint> complaint;
      if (contents[i] == nullptr) {
        complaint = broken_syntax(bad[i]->language, nullptr, after);
      } else {
        const ParsedText before{*contents[i], answers[next++]};
        if (before.answer.gave_up) continue;
        complaint = broken_syntax(bad[i]->language, &before, after);
      }
      if (complaint) add(*bad[i], *complaint, findings);
    }
    return {};
  }

  void add(const Parsed& one, const SyntaxComplaint& complaint,
           std::vector<Finding>& findings) const {
    FindingSink sink(config(), one.file.change->path.str(), findings);
    const auto [line, column] = FindingSink::place(*one.file.text, complaint.offset);
    sink.add("syntax.error", line, column, complaint.message,
             "fix the syntax; errors from before this change are not counted");
    const auto [end_line, end_column] = FindingSink::place(*one.file.text, complaint.end);
    findings.back().end_line = end_line;
    findings.back().end_column = end_column;
  }

  void add_gave_up(const Parsed& one, std::vector<Finding>& findings) const {
    FindingSink sink(config(), one.file.change->path.str(), findings);
    sink.add("syntax.too_slow", 0, 0,
             fmt::format("it took longer than {} ms to parse", kMaxSyntaxFileMs),
             "leave the file out of this validator's `paths`");
  }

  Result<SyntaxProgram> program_;
};

}  // namespace

ValidatorPtr make_syntax_validator(const ValidatorConfig& config, ValidatorCache* cache) {
  return std::make_unique<SyntaxValidator>(config, cache);
}

}  // namespace galley
