#include "cli/option_table.h"

#include <array>

namespace galley {
namespace {

void add_filter(CLI::App* command, EditArguments& edit, const char* name, bool is_include) {
  command
      ->add_option_function<std::string>(
          name,
          [&edit, is_include](const std::string& pattern) {
            edit.filters.emplace_back(is_include, pattern);
          },
          is_include ? "Only paths that match" : "Not paths that match")
      ->trigger_on_parse()
      ->type_name("GLOB");
}

/// Returns the two options with which the caller says whether a document was cut off.
std::array<CLI::Option*, 2> add_ending(CLI::App* command, EditArguments& edit) {
  CLI::Option* complete = command->add_flag(
      "--complete", edit.is_complete,
      "The document is whole: take a last hunk with too few lines, and all of each fence");
  CLI::Option* truncated =
      command->add_flag("--truncated", edit.is_truncated,
                        "The document may be cut off: refuse a last hunk with too few lines");
  truncated->excludes(complete);
  return {complete, truncated};
}

void add_edit_options(OptionTable& table, CLI::App* command) {
  EditArguments& edit = table.arguments().edit;
  add_option(command, "inputs FILE", edit.inputs,
             "Patches or edit documents, in order; none or - is standard input");
  table.add_choice(
      command, "--format FORMAT", edit.format,
      {"auto", "unified", "apply_patch", "search_replace", "edits", "calls", "tool_text"},
      "auto, unified, apply_patch, search_replace, edits, calls or tool_text");
  command->add_flag("--strict", edit.strict, "Apply only exactly where the edit says");
  if (command->get_name() != "explain") {
    command->add_flag("--check", edit.check, "Only say whether it applies");
  }
  command->add_flag("-R,--reverse", edit.reverse, "Apply in reverse");
  command->add_flag("--recount", edit.recount,
                    "Ignore the line counts in hunk headers, and a missing end");
  add_ending(command, edit);
  command->add_flag("--unidiff-zero", edit.unidiff_zero, "Take hunks without context");
  command->add_flag("--ignore-whitespace,--ignore-space-change", edit.ignore_whitespace,
                    "Ignore white space in context lines");
  command->add_flag("--allow-empty", edit.allow_empty, "Accept an empty patch");
  const std::string verb = command->get_name() == "apply"   ? "Commit "
                           : command->get_name() == "stage" ? "Stage "
                                                            : "Show ";
  command->add_flag("--reject", edit.reject, verb + "what fits, report the rest");
  add_option(command, "-p N", edit.strip, "Components to take off paths");
  add_option(command, "-C N", edit.context, "Context lines that must match");
  table.add_choice(command, "--whitespace ACTION", edit.whitespace,
                   {"nowarn", "warn", "fix", "error", "error-all"}, "nowarn, warn, fix or error");
  add_option(command, "--directory ROOT", edit.directory, "Put before every path");
  add_filter(command, edit, "--include", true);
  add_filter(command, edit, "--exclude", false);
  add_list(command, "--only FILE", edit.only, (verb + "only FILE or FILE:HUNK").c_str());
  add_list(command, "--except FILE", edit.except, (verb + "all but FILE or FILE:HUNK").c_str());
  add_list(command, "--choose ID", edit.choose, "Choose a place that an ambiguity named");
}

void add_fix(OptionTable& table, CLI::App* command) {
  command->add_flag("--fix", table.arguments().fix,
                    "First apply the fixes of the validators with fix = true");
}

void add_check_command(OptionTable& table) {
  CheckArguments& check = table.arguments().check;
  if (CLI::App* command =
          table.add("check", "Ask the gate about the index, a commit, a range or a patch")) {
    const std::array<CLI::Option*, 6> sources = {
        command->add_flag("--staged", check.staged,
                          "What git commit would take; this is the default"),
        command->add_flag("--worktree", check.worktree,
                          "All that differs from HEAD, untracked files too"),
        add_option(command, "--commit REV", check.commit, "One commit, against its parents"),
        add_option(command, "--range A..B", check.range, "What B brings, judged by the rules of A"),
        add_option(command, "--tx ID", table.arguments().tx, "An open transaction"),
        add_option(command, "patch PATCH", check.patch,
                   "An edit document, put onto HEAD; - is standard input")};
    for (CLI::Option* ending : add_ending(command, table.arguments().edit)) {
      ending->needs(sources.back());
    }
    for (CLI::Option* source : sources) {
      for (CLI::Option* other : sources) {
        if (other != source) source->excludes(other);
      }
    }
    command->add_flag("--fix", table.arguments().fix,
                      "First stage the fixes of the validators with fix = true");
    command->add_flag("--only-new", check.only_new,
                      "Count only findings that the unchanged files do not have");
    table.add_reports(command);
    table.add_verdicts(command);
  }
}

}  // namespace

void add_edit_commands(OptionTable& table) {
  add_check_command(table);
  if (CLI::App* edits = table.add_group("edits", "Explain how documents of edits are read")) {
    add_edit_options(table, table.add_member(edits, "explain",
                                             "Show step by step how edits are read and placed"));
  }
  if (CLI::App* preview =
          table.add("preview", "Show the diff of an edit and the gate's verdict; write nothing")) {
    add_edit_options(table, preview);
    table.add_diff_options(preview, true);
    table.add_reports(preview);
    table.add_html(preview);
    table.add_quiet(preview, "Print nothing: the exit status is the verdict");
    add_fix(table, preview);
  }
  if (CLI::App* apply = table.add("apply", "Preview, then commit all of it or nothing")) {
    add_edit_options(table, apply);
    table.add_diff_options(apply, true);
    table.add_conflict(apply);
    table.add_message(apply);
    table.add_dry_run(apply, "Do what preview does");
    table.add_transcript(apply);
    apply->get_option("--transcript")->excludes(apply->get_option("--dry-run"));
    add_fix(table, apply);
  }
  table.begin_group(kTransactionGroup);
  if (CLI::App* stage = table.add("stage", "Put an edit into a transaction; commit it later")) {
    table.add_tx(stage);
    table.add_begin(stage);
    add_edit_options(table, stage);
    table.add_dry_run(stage, "As --check");
  }
}

}  // namespace galley
