#include "staging/sandbox/syntax_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/syntax_component.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

std::string reason_of(const Result<std::vector<SyntaxAnswer>>& answers) {
  return answers ? std::string() : answers.error().reason;
}

SyntaxText text_of(std::string_view text) { return {SyntaxLanguage::kC, text, "a.c"}; }

TEST(SyntaxProgram, WhenTheProgramEndsWithoutAnAnswerTheErrorNamesTheText) {
  const auto answers = SyntaxProgram("/bin/true").parse({text_of("x")}, {});
  EXPECT_EQ(reason_of(answers), "syntax.died");
  EXPECT_NE(answers.error().message.find("a.c"), std::string::npos) << answers.error().message;
}

TEST(SyntaxProgram, AWrongGreetingIsReportedAsAnotherVersion) {
  const auto answers = SyntaxProgram("/bin/cat").parse({text_of("x")}, {});
  EXPECT_EQ(reason_of(answers), "syntax.died");
  EXPECT_NE(answers.error().message.find("version"), std::string::npos);
}

TEST(SyntaxProgram, AMissingProgramIsReportedAsNotInstalled) {
  EXPECT_EQ(reason_of(SyntaxProgram("/nowhere/galley-syntax").parse({text_of("x")}, {})),
            "syntax.not_installed");
}

// Limit: kMaxSyntaxRun of staging/sandbox/syntax_program.h
TEST(SyntaxProgram, AStopEndsAChildThatNeverAnswers) {
  const TempDirectory place;
  place.write("endless", "#!/bin/sh\nexec sleep 1000\n", 0755);
  int asked = 0;
  const auto answers = SyntaxProgram(place.path() + "/endless").parse({text_of("x")}, [&asked] {
    return ++asked > 2;
  });
  EXPECT_EQ(reason_of(answers), "syntax.stopped");
}

TEST(SyntaxProgram, OutputAfterTheAnswersIsIgnored) {
  const TempDirectory place;
  place.write("flood", "#!/bin/sh\nprintf 'galley-syntax 1\\n'\nexec cat /dev/zero\n", 0755);
  const auto answers = SyntaxProgram(place.path() + "/flood").parse({text_of("x")}, {});
  ASSERT_TRUE(answers) << "the first bytes are an answer";
  EXPECT_TRUE(answers->at(0).errors.empty());
}

class SyntaxComponent : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_syntax_component()) GTEST_SKIP() << "galley-syntax is not built (GALLEY_SYNTAX)";
  }
  SyntaxProgram program_{std::string(GALLEY_BINARY_DIR) + "/galley-syntax"};
};

TEST_F(SyntaxComponent, ReportsErrorsInEachLanguage) {
  const std::vector<SyntaxText> texts = {
      {SyntaxLanguage::kC, "int f(void) { return g(1; }\n", "a.c"},
      {SyntaxLanguage::kCpp, "struct A { int x() { return 1; };\n", "a.cc"},
      {SyntaxLanguage::kCHeader, "namespace a { class B;\n", "a.h"},
      {SyntaxLanguage::kPython, "def f(:\n  pass\n", "a.py"},
      {SyntaxLanguage::kJavaScript, "const a = [1, 2;\n", "a.js"},
      {SyntaxLanguage::kTypeScript, "let a: Map<string, {b: c> = 1;\n", "a.ts"},
      {SyntaxLanguage::kTsx, "const a = <b c={d></b>;\n", "a.tsx"},
      {SyntaxLanguage::kCSharp, "class A { void F() { G(1; } }\n", "a.cs"}};
  const auto answers = program_.parse(texts, {});
  ASSERT_TRUE(answers) << answers.error().message;
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_FALSE(answers->at(i).errors.empty()) << texts[i].name;
  }
}

TEST_F(SyntaxComponent, FindsNoErrorsInCorrectTexts) {
  const std::vector<SyntaxText> texts = {
      {SyntaxLanguage::kC, "#ifdef A\nint f(void) {\n#else\nint g(void) {\n#endif\n return 1; }\n",
       "a.c"},
      {SyntaxLanguage::kCpp, "auto f = [](auto&&... x) requires true { return (x + ...); };\n",
       "a.cc"},
      {SyntaxLanguage::kCHeader, "class B { public: int x = 1; };\n", "a.h"},
      {SyntaxLanguage::kPython, "match a:\n  case [1, *b]:\n    print(f\"{b!r:>{c}}\")\n", "a.py"},
      {SyntaxLanguage::kJavaScript, "const a = <b>{c?.d ?? `${e}`}</b>;\n", "a.js"},
      {SyntaxLanguage::kTypeScript, "let a: import(\"b\").C<D> = e satisfies F;\n", "a.ts"},
      {SyntaxLanguage::kTsx, "const a = <B<C> d={(e: F) => <g />} />;\n", "a.tsx"},
      {SyntaxLanguage::kCSharp, "record A(int B);\nclass C { string D => $\"{1 + 1}\"; }\n",
       "a.cs"}};
  const auto answers = program_.parse(texts, {});
  ASSERT_TRUE(answers) << answers.error().message;
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(answers->at(i).errors.empty()) << texts[i].name;
  }
}

TEST_F(SyntaxComponent, ManyTextsAreParsedByChildrenAndAnsweredInOrder) {
  const std::string good(kSyntaxShareBytes / 4, '\n');
  const std::string bad = good + "int x = (;\n";
  std::vector<SyntaxText> texts;
  for (int i = 0; i < 20; ++i) texts.push_back(text_of(i % 3 == 0 ? bad : good));
  const auto answers = program_.parse(texts, {});
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->size(), 20U);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(answers->at(i).errors.empty(), i % 3 != 0) << i;
}

// Limit: kMaxSyntaxFileMs of staging/sandbox/syntax/wire.h
TEST_F(SyntaxComponent, DeepNestingNeitherCrashesNorHangs) {
  const std::string deep(50'000, '(');
  for (const auto language : {SyntaxLanguage::kC, SyntaxLanguage::kPython, SyntaxLanguage::kTsx}) {
    const auto answers = program_.parse({{language, deep, "deep"}}, {});
    ASSERT_TRUE(answers) << answers.error().message;
    EXPECT_TRUE(answers->at(0).gave_up || !answers->at(0).errors.empty());
  }
}

// libtree-sitter 0.20.7 counts the children of a node with 16 bits.
TEST_F(SyntaxComponent, ATextThatCrashesTheLibraryIsNamedAndLaterTextsAreParsed) {
  const std::string deep(200'000, '(');
  const auto answers = program_.parse({{SyntaxLanguage::kC, deep, "deep.c"}}, {});
  if (!answers) {
    EXPECT_EQ(reason_of(answers), "syntax.died");
    EXPECT_NE(answers.error().message.find("at deep.c"), std::string::npos);
  }
  EXPECT_TRUE(program_.parse({text_of("int x;\n")}, {}));
}

/// Reads a file of /proc whole.
std::string text_of_file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Limit: kMaxSyntaxMemory of staging/sandbox/syntax/wire.h
TEST_F(SyntaxComponent, IsConfinedBeforeItReadsItsFirstByte) {
  int to_child[2];
  int from_child[2];
  ASSERT_EQ(pipe2(to_child, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(from_child, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_child[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from_child[1], STDOUT_FILENO);
  std::string path = program_.path();
  char* argv[] = {path.data(), nullptr};
  char* environment[] = {nullptr};
  pid_t pid = -1;
  ASSERT_EQ(posix_spawn(&pid, path.c_str(), &actions, nullptr, argv, environment), 0);
  posix_spawn_file_actions_destroy(&actions);
  std::string greeting(kSyntaxGreeting.size(), '\0');
  ASSERT_EQ(read(from_child[0], greeting.data(), greeting.size()),
            static_cast<ssize_t>(greeting.size()));
  EXPECT_EQ(greeting, kSyntaxGreeting);
  const std::string process = "/proc/" + std::to_string(pid);
  const std::string status = text_of_file(process + "/status");
  EXPECT_NE(status.find("Seccomp:\t2"), std::string::npos) << status;
  EXPECT_NE(status.find("NoNewPrivs:\t1"), std::string::npos) << status;
  const std::string limits = text_of_file(process + "/limits");
  EXPECT_NE(limits.find(std::to_string(kMaxSyntaxMemory)), std::string::npos) << limits;
  for (const int fd : {to_child[0], to_child[1], from_child[0], from_child[1]}) close(fd);
  waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace galley
