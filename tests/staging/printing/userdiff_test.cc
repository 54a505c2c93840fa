#include "staging/printing/userdiff.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "staging/printing/git_diff.h"
#include "support/git_oracle.h"
#include "support/scratch_directory.h"

namespace galley {
namespace {

using testing::Tree;

// Lines that the drivers are meant to tell apart; every file also gets every other language's.
const std::vector<std::string>& sample_lines() {
  static const std::vector<std::string> kLines = {
      "int main(int argc, char **argv) {",
      "  static void helper(void)",
      "label:",
      "public:",
      "  case_label: // note",
      "::global::name(int x)",
      "class Thing : public Base {",
      "struct point;",
      "#define X 1",
      "template <class T>",
      "typedef int number;",
      "def plain(a, b):",
      "    async def later(self):",
      "class Python(object):",
      "    return 1",
      "sub perl_one {",
      "sub perl_two($$) : lvalue {  # note",
      "package Some::Thing;",
      "BEGIN {",
      "=head1 NAME",
      "func goFunction(a int) error {",
      "func (r *T) Method() {",
      "type T struct {",
      "\ttype I interface {",
      "pub fn rusty<T>(x: T) -> T {",
      "    pub(crate) async fn inner() {",
      "impl<T> Trait for Thing<T> {",
      "macro_rules! foo {",
      "mod tests;",
      "  private static final int compute(int a, int b) {",
      "public class Main extends Base {",
      "public record Point(int x, int y) {",
      "    new Thing(argument);",
      "  if (condition) {",
      "    protected override int Value",
      "namespace Some.Thing",
      "  public async Task<int> Run(string[] args)",
      "module Ruby",
      "  def ruby?(x)",
      "class Ruby < Base",
      "fun kotlin(x: Int): Int {",
      "internal data class Pair(val a: Int)",
      "function shell_one {",
      "shell_two() {",
      "function both() {",
      "function spaced ( ) ((",
      "function test_it [[",
      "  shell_three () (",
      "# Heading",
      "### Deeper heading",
      "   ###### deepest",
      "    # code block",
      "<h1>Title</h1>",
      "  <h2 class=\"x\">Other</h2>",
      "<div>",
      ".selector > a {",
      "#id:hover,",
      "@media screen {",
      "  color: red;",
      "\\section{Intro}",
      "\\subsection*{More}",
      "\\textbf{x}",
      "(define (f x)",
      "  (define-syntax g",
      "(let ((a 1))",
      "defmodule Thing do",
      "  defp hidden(x) do",
      "test \"works\" do",
      "public function run($x)",
      "abstract class Php",
      "trait Shared",
      "interface Iface {",
      "- (void)method:(id)arg",
      "+ (instancetype)shared;",
      "@implementation Thing",
      "@interface Thing : NSObject",
      "procedure Ada_One is",
      "   function Two return Integer is new Generic;",
      "with Ada.Text_IO;",
      "package body P is",
      "procedure TForm.Click(Sender: TObject);",
      "  TThing = class(TObject)",
      "",
      "}",
      "  }",
      "x = 1;",
      "long_name_that_goes_on(" + std::string(100, 'a') + " " + ") {",
      "int " + std::string(75, 'b') + "    tail(int)",
      "caf\xc3\xa9_\xff broken(int a)"};
  return kLines;
}

std::string random_file(std::mt19937& random) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    const auto& lines = sample_lines();
    text += lines[random() % lines.size()] + (random() % 12 == 0 ? "  \r\n" : "\n");
  }
  return text;
}

TEST(UserDiff, IsChosenByTheFileExtension) {
  EXPECT_EQ(UserDiff::for_path("a/b.py").name(), "python");
  EXPECT_EQ(UserDiff::for_path("a.b/c.CPP").name(), "cpp");
  EXPECT_EQ(UserDiff::for_path("a.c/README").name(), "");
  EXPECT_EQ(UserDiff::for_path("noext").name(), "");
}

TEST(UserDiff, ThePlainRuleAcceptsLinesThatAreNotIndented) {
  EXPECT_EQ(UserDiff::plain().heading("int f()  ", 80), "int f()");
  EXPECT_EQ(UserDiff::plain().heading("$x", 80), "$x");
  EXPECT_EQ(UserDiff::plain().heading("abcdef", 3), "abc");
  EXPECT_EQ(UserDiff::plain().heading("  indented", 80), std::nullopt);
  EXPECT_EQ(UserDiff::plain().heading("", 80), std::nullopt);
}

// Every driver, over files of mixed lines, against git with the same drivers switched on.
TEST(UserDiff, HeadingsEqualThoseOfGitForEveryLanguage) {
  static const std::vector<std::pair<std::string, std::string>> kDrivers = {
      {"adb", "ada"},     {"sh", "bash"},   {"cc", "cpp"},     {"cs", "csharp"},  {"css", "css"},
      {"ex", "elixir"},   {"go", "golang"}, {"html", "html"},  {"java", "java"},  {"kt", "kotlin"},
      {"md", "markdown"}, {"m", "objc"},    {"pas", "pascal"}, {"pl", "perl"},    {"php", "php"},
      {"py", "python"},   {"rb", "ruby"},   {"rs", "rust"},    {"scm", "scheme"}, {"tex", "tex"},
      {"txt", ""}};
  std::mt19937 random(29);
  Tree before;
  Tree after;
  std::string attributes;
  for (const auto& [extension, driver] : kDrivers) {
    if (!driver.empty()) attributes += "*." + extension + " diff=" + driver + "\n";
    for (int i = 0; i < 12; ++i) {
      const auto name = std::to_string(i) + "." + extension;
      const auto text = random_file(random);
      before[name] = {git_mode::kRegular, text};
      auto changed = text;
      for (size_t at = text.size(); at-- > 0;) {
        if (text[at] == '\n' && random() % 9 == 0) changed.insert(at, "!");
      }
      after[name] = {git_mode::kRegular, changed};
    }
  }
  const ScratchDirectory scratch;
  testing::write_tree(scratch.path() + "/a", before);
  testing::write_tree(scratch.path() + "/b", after);
  testing::write_bytes(scratch.path() + "/attributes", attributes);
  std::map<std::string, std::string> theirs;
  const auto run = testing::run_in(
      scratch.path() + "/a",
      "git init -q . && cp ../attributes .git/info/attributes && git add -A && "
      "tree=$(git write-tree) && git --work-tree=../b add -A && git diff -U0 --cached $tree");
  std::string ours;
  DiffOptions options;
  options.context = 0;
  for (const auto& pair : testing::pairs_of(before, after)) append_git_diff(pair, options, ours);
  // Only the lines that differ are worth reading when this fails.
  const Lines our_lines(ours);
  const Lines their_lines(run.output);
  ASSERT_EQ(our_lines.size(), their_lines.size());
  std::string file;
  for (size_t i = 0; i < our_lines.size(); ++i) {
    if (our_lines[i].substr(0, 6) == "diff -") file = our_lines[i];
    EXPECT_EQ(our_lines[i], their_lines[i]) << file;
  }
}

}  // namespace
}  // namespace galley
