// Each rule is shown a planted sample that breaks it and one that does not.
#include "tests/architecture/rules.h"

#include <gtest/gtest.h>

#include "tests/architecture/source_text.h"
#include "tests/architecture/type_names.h"
#include "tests/architecture/write_access.h"

namespace galley::architecture {
namespace {

TEST(Rules, ToolsCannotSeeTheEngine) {
  EXPECT_EQ(upward_arrows("tools/edit.cc", "#include \"engine/commit/publisher.h\"\n").size(), 1U);
  EXPECT_TRUE(upward_arrows("tools/edit.cc", "#include \"staging/overlay/overlay.h\"\n").empty());
}

TEST(Rules, SidewaysArrowIsFound) {
  EXPECT_EQ(upward_arrows("staging/text/diff.cc", "#include \"staging/git/git.h\"\n").size(), 1U);
}

TEST(Rules, ArrowMayPassThroughARoomBelow) {
  EXPECT_TRUE(upward_arrows("cli/main.cc", "#include \"base/result.h\"\n").empty());
}

TEST(Rules, IncludeOutsideEveryRoomIsFound) {
  EXPECT_EQ(upward_arrows("base/result.cc", "#include \"tests/fake.h\"\n").size(), 1U);
}

TEST(Rules, LibraryOutsideItsDoorIsFound) {
  EXPECT_EQ(wrong_doors("engine/commit/journal.cc", "#include <sqlite3.h>\n").size(), 1U);
  EXPECT_TRUE(wrong_doors("engine/history/index.cc", "#include <sqlite3.h>\n").empty());
  EXPECT_EQ(wrong_doors("tools/registry.cc", "#include <valijson/schema.hpp>\n").size(), 1U);
  EXPECT_TRUE(wrong_doors("tools/schema.cc", "#include <valijson/schema.hpp>\n").empty());
}

TEST(Rules, LibraryWithoutADoorIsFound) {
  EXPECT_EQ(wrong_doors("base/result.cc", "#include <boost/any.hpp>\n").size(), 1U);
  EXPECT_TRUE(wrong_doors("base/result.cc", "#include <string>\n#include <cstring>\n").empty());
}

TEST(Rules, ForeignTypeInAHeaderIsFound) {
  const std::string source = "#include <nlohmann/json.hpp>\n";
  EXPECT_EQ(foreign_types_in_header("tools/tool.h", source).size(), 1U);
  EXPECT_TRUE(foreign_types_in_header("tools/tool.cc", source).empty());
  EXPECT_TRUE(foreign_types_in_header("cli/session.h", source).empty());
  EXPECT_TRUE(foreign_types_in_header("staging/git/git_repository.h", source).empty());
  const std::string forward = "#include <nlohmann/json_fwd.hpp>\n";
  EXPECT_TRUE(foreign_types_in_header("tools/tool.h", forward).empty());
  EXPECT_EQ(foreign_types_in_header("include/galley/tool.h", forward).size(), 1U);
}

TEST(Rules, InstalledHeaderNeedsOnlyInstalledOnes) {
  const std::string header = "include/galley/proposal.h";
  EXPECT_EQ(foreign_types_in_header(header, "#include \"base/result.h\"\n").size(), 1U);
  EXPECT_TRUE(foreign_types_in_header(header, "#include <galley/path.h>\n").empty());
  EXPECT_TRUE(upward_arrows(header, "#include <galley/path.h>\n").empty());
  EXPECT_EQ(upward_arrows(header, "#include <galley/workspace.h>\n").size(), 1U);
  EXPECT_EQ(upward_arrows("tools/a.cc", "#include <galley/verdict.h>\n").size(), 1U);
  EXPECT_EQ(upward_arrows("base/a.cc", "#include <galley/unknown.h>\n").size(), 1U);
}

TEST(Rules, AnUninstalledTypeInAPublicSignatureIsFound) {
  const char* header =
      "class Overlay;\nstruct Proposal;\nclass T {\n public:\n  Proposal all();\n"
      "  const Overlay& overlay();\n  // --- for Galley's own rooms ---\n  void put(Overlay&);\n"
      " private:\n  Overlay* overlay_;\n};\nvoid take(Overlay&);\n";
  EXPECT_EQ(inner_types("include/galley/t.h", header, {"Proposal", "T"}),
            (Violations{"include/galley/t.h:6: Overlay is not installed",
                        "include/galley/t.h:12: Overlay is not installed"}));
}

TEST(Rules, RawSystemCallIsFound) {
  for (const char* line :
       {"int fd = ::open(path, 0);", "std::rename(a, b);", "if (unlinkat(fd, p, 0) != 0) {",
        "return fork_and(execvp(file, args));", "std::ofstream out(path);",
        "for (auto& e : std::filesystem::directory_iterator(p)) {", "x = a && fsync(fd);",
        "return ::fork();"}) {
    EXPECT_EQ(raw_system_calls("engine/commit/publisher.cc", line).size(), 1U) << line;
    EXPECT_TRUE(raw_system_calls("staging/fs/disk_directory.cc", line).empty()) << line;
  }
}

TEST(Rules, MethodsOfOurOwnAreNotSystemCalls) {
  for (const char* line :
       {"auto w = Workspace::open(path);", "directory.rename(a, b);", "overlay->remove(path);",
        "static Result<Workspace> open(const std::string& root);", "// calls ::open(path)",
        "fail(\"::rename(a, b) failed\");", "Result<void> unlink(const RelPath& path);",
        "Overlay::mount(x);"}) {
    EXPECT_TRUE(raw_system_calls("engine/commit/publisher.cc", line).empty()) << line;
  }
}

TEST(Rules, OutputOfTheLibraryIsFound) {
  const std::string source =
      "std::cerr << 1;\nfprintf(stderr, x);\n// printf(x)\nvoid sprintf();\n";
  EXPECT_EQ(output_of_the_library("engine/commit/publisher.cc", source).size(), 2U);
  EXPECT_TRUE(output_of_the_library("cli/terminal.cc", source).empty());
}

std::string function_of(int lines) {
  std::string text = "int f() {\n";
  for (int i = 0; i < lines - 2; ++i) text += "  g();\n";
  return text + "}\n";
}

TEST(Rules, LongFunctionIsFound) {
  EXPECT_EQ(too_long("base/a.cc", function_of(kMaxFunctionLines + 1)).size(), 1U);
  EXPECT_TRUE(too_long("base/a.cc", function_of(kMaxFunctionLines)).empty());
}

TEST(Rules, LongMethodInsideAClassIsFound) {
  const std::string text = "namespace n {\nclass A : public B {\n public:\n" +
                           function_of(kMaxFunctionLines + 1) + "};\n}\n";
  EXPECT_EQ(too_long("base/a.h", text).size(), 1U);
}

TEST(Rules, ALongTableIsNotAFunction) {
  std::string text = "const std::vector<int> kTable = {\n";
  for (int i = 0; i < 100; ++i) text += "  f(1),\n";
  EXPECT_TRUE(too_long("base/a.cc", text + "};\n").empty());
}

TEST(Rules, LongFileIsFound) {
  EXPECT_EQ(too_long("base/a.cc", std::string(kMaxFileLines + 1, '\n')).size(), 1U);
  EXPECT_TRUE(too_long("base/a.cc", std::string(kMaxFileLines, '\n')).empty());
}

TEST(Rules, MissingPragmaForeignFirstHeaderAndVagueNameAreFound) {
  EXPECT_EQ(bad_manners("base/a.h", "struct A {};\n", false).size(), 1U);
  EXPECT_EQ(bad_manners("base/a.cc", "#include <string>\n#include \"base/a.h\"\n", true).size(),
            1U);
  EXPECT_EQ(bad_manners("base/a.h", "#pragma once\nclass FileManager {};\n", false).size(), 1U);
  EXPECT_TRUE(bad_manners("base/a.cc", "#include \"base/a.h\"\n", true).empty());
}

TEST(Rules, AWriterInAReadingRoomIsFound) {
  for (const char* line :
       {"Result<void> put(const WritableDirectory& to);", "std::unique_ptr<WritableFile> file;",
        "auto file = root.open_writable_file(path, OpenMode::kCreateNew);",
        "auto root = open_writable_disk_directory(text);"}) {
    EXPECT_EQ(write_access("staging/overlay/a.cc", line).size(), 1U) << line;
    EXPECT_EQ(write_access("tools/a.h", line).size(), 1U) << line;
    EXPECT_TRUE(write_access("engine/commit/a.cc", line).empty()) << line;
  }
  EXPECT_TRUE(
      write_access("tools/a.cc", "// WritableDirectory\nif (root.is_writable()) {}").empty());
}

TEST(Rules, AConversionFromReadingToWritingIsFound) {
  const char* cast = "auto* all = dynamic_cast<const WritableDirectory*>(&directory);";
  EXPECT_EQ(write_access("engine/commit/a.cc", cast).size(), 1U);
}

TEST(Rules, WorkspaceAccessOutsideOfItsRoomsIsFound) {
  const char* look = "auto& all = WorkspaceAccess::of(*workspace);";
  EXPECT_EQ(write_access("cli/a.cc", look).size(), 1U);
  EXPECT_TRUE(write_access("engine/pipeline/a.cc", look).empty());
}

TEST(Rules, OnlyTypesOfANamespaceAreFound) {
  const auto found = namespace_types(
      "#include <a>\nclass Known;\nnamespace galley {\nclass Declared;\nenum class E : uint8_t "
      "{ kA };\nstruct S { struct Inner { int x; }; enum class Kind { k }; };\n"
      "class [[nodiscard]] C final : public S {\n};\nusing Alias = std::vector<S>;\n"
      "template <class T>\nstruct Box { T value; };\nstruct S::Later { int y; };\n"
      "inline int f(struct S* s) { struct Local { int z; }; return 1; }\n"
      "namespace detail { struct Part {}; }\nnamespace { struct Hidden {}; }\n}\n");
  EXPECT_EQ(found, (std::vector<std::string>{"E", "S", "C", "Alias", "Box", "detail::Part"}));
}

TEST(Rules, RoomsAreReadFromCMake) {
  const auto found = rooms_in_cmake(
      "# galley_room(no)\ngalley_room(base LINK x)\ngalley_room(a/b DEPENDS base\n  c LINK y z)\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].folder, "a/b");
  EXPECT_EQ(found[1].depends, (std::vector<std::string>{"base", "c"}));
}

TEST(SourceText, CommentsAndLiteralsAreRemovedAndLinesStay) {
  const std::string text =
      without_comments_and_literals("a /* x\n y */ \"b\\\"c\" R\"(d\n\"e)\" 'f' 1'000 // g\nh");
  EXPECT_EQ(line_count(text), 4);
  for (char gone : {'x', 'y', 'b', 'c', 'd', 'e', 'f', 'g'}) {
    EXPECT_EQ(text.find(gone), std::string::npos) << gone;
  }
  EXPECT_NE(text.find("1'000"), std::string::npos);
  EXPECT_NE(text.find('h'), std::string::npos);
}

TEST(SourceText, FunctionsAreFoundWithTheirLines) {
  const auto found = functions_of(
      "namespace n {\nint f(int a) {\n  if (a) { g(); }\n  return 1;\n}\nclass C {\n"
      "  C() : x_{1}, y_{f(2)} {}\n  int m() const noexcept { return 2; }\n  int x_;\n};\n"
      "template <class T>\nvoid h(T t)\n{\n  auto l = [&](int x) { return x; };\n}\n}\n");
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[1].first_line, 7);
  EXPECT_EQ(found.front().first_line, 2);
  EXPECT_EQ(found.front().last_line, 5);
  EXPECT_EQ(found.back().first_line, 11);
  EXPECT_EQ(found.back().last_line, 15);
}

}  // namespace
}  // namespace galley::architecture
