#include <algorithm>
#include <cstdlib>

#include "support/scratch_repository.h"
#include "validator_fixture.h"

namespace galley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using TextValidators = ValidatorFixture;

TEST_F(TextValidators, ConflictMarkersInAddedLinesOnly) {
  use("conflict_markers");
  base("old.txt", "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\nend\n");
  propose("old.txt", "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\nEND\n");
  propose("new.txt", "a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n");
  propose("base.txt", "a\n||||||| merged common ancestors\nb\n");
  EXPECT_THAT(findings(),
              ElementsAre("conflict_markers base.txt:2:1", "conflict_markers new.txt:2:1",
                          "conflict_markers new.txt:4:1", "conflict_markers new.txt:6:1"));
}

TEST_F(TextValidators, AnUnderlinedHeadingIsNotAConflictMarker) {
  use("conflict_markers");
  propose("doc.rst", "Heading\n=======\n\n<<<<<<<not\n>>>>>>>>\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(TextValidators, WhitespaceOfAddedLines) {
  use("whitespace");
  base("a.c", "old \nkeep\n");
  propose("a.c", "old \nkeep\nnew \n \tindent\nok\n\n");
  EXPECT_THAT(findings(),
              ElementsAre("whitespace.trailing a.c:3:4", "whitespace.space_before_tab a.c:4:1",
                          "whitespace.blank_at_eof a.c:6:0"));
}

TEST_F(TextValidators, CarriageReturnIsPartOfTheLineEnding) {
  use("whitespace");
  propose("dos.txt", "a\r\nb \r\n");
  EXPECT_THAT(findings(), ElementsAre("whitespace.trailing dos.txt:2:2"));
}

/// `git diff --check` itself says which lines are wrong.
TEST_F(TextValidators, WhitespaceAgreesWithGit) {
  use("whitespace");
  ScratchRepository repository;
  repository.init();
  static const std::vector<std::string> kLines = {"x\n", "x \n",  " \tx\n", "\t x\n", "\n",
                                                  " \n", "y\t\n", "  y\n",  "\t\n",   " \t \tz\n"};
  uint64_t state = 7;
  const auto next = [&state](size_t bound) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<size_t>(state >> 33U) % bound;
  };
  for (int round = 0; round < 40; ++round) {
    // git does not count a blank first line of one byte among the blank ones at the end.
    std::vector<std::string> lines = {"head\n"};
    for (size_t i = 0; i < next(8); ++i) lines.push_back(kLines[next(kLines.size())]);
    std::string before;
    for (const auto& line : lines) before += line;
    for (size_t i = 0; i < 1 + next(4); ++i) {
      lines.insert(lines.begin() + 1 + static_cast<ptrdiff_t>(next(lines.size())),
                   kLines[next(kLines.size())]);
    }
    std::string after;
    for (const auto& line : lines) after += line;

    base("f", before);
    repository.write("f", before);
    repository.git("add f");
    overlay_.restore({});
    propose("f", after);
    std::set<std::string> ours;
    for (const Finding& finding : run().findings) {
      ours.insert("f:" + std::to_string(finding.line) + ": " + finding.message);
    }
    repository.write("f", after);
    repository.git("-c core.whitespace=cr-at-eol diff --check f >out; true");
    std::set<std::string> theirs;
    const std::string output = repository.read("out");
    for (size_t begin = 0; begin < output.size();) {
      const size_t end = output.find('\n', begin);
      std::string line = output.substr(begin, end - begin);
      begin = end + 1;
      if (!line.starts_with("f:")) continue;
      const size_t comma = line.find(", ");
      const size_t colon = line.find(": ");
      std::string first = line.substr(0, comma);
      const auto translate = [&](std::string text) {
        if (text.find("trailing whitespace") != text.npos) return "trailing white space";
        if (text.find("space before tab") != text.npos)
          return "space before tab in the indentation";
        return "new blank line at the end of the file";
      };
      theirs.insert(line.substr(0, colon + 2) + translate(first));
      if (comma != line.npos) {
        theirs.insert(line.substr(0, colon + 2) + translate(line.substr(comma)));
      }
    }
    EXPECT_EQ(ours, theirs) << "before:\n" << before << "after:\n" << after << "git:\n" << output;
  }
}

TEST_F(TextValidators, Utf8) {
  use("utf8");
  base("latin1.txt", "caf\xe9\n");
  propose("latin1.txt", "caf\xe9s\n");
  propose("good.txt", "\xE2\x82\xAC \xF0\x9F\x98\x80\n");
  propose("bad.txt", "ok\nxx\xC3(\n");
  propose("surrogate.txt", "\xED\xA0\x80");
  propose("overlong.txt", "\xC0\xAF");
  propose("binary", std::string("\0\xff", 2));
  EXPECT_THAT(findings(),
              ElementsAre("utf8 bad.txt:2:3", "utf8 overlong.txt:1:1", "utf8 surrogate.txt:1:1"));
}

TEST_F(TextValidators, LineEndingsMustMatchTheExistingOnes) {
  use("line_endings");
  base("dos.txt", "a\r\nb\r\n");
  base("unix.txt", "a\nb\n");
  base("mixed.txt", "a\r\nb\n");
  propose("dos.txt", "a\r\nb\r\nc\n");
  propose("unix.txt", "a\nb\nc\r\n");
  propose("mixed.txt", "a\r\nb\nc\r\n");
  propose("new-mixed.txt", "a\nb\r\n");
  propose("new-dos.txt", "a\r\nb\r\n");
  EXPECT_THAT(findings(), ElementsAre("line_endings dos.txt:3:0", "line_endings new-mixed.txt:2:0",
                                      "line_endings unix.txt:3:0"));
}

TEST_F(TextValidators, LineEndingsCanBeConfigured) {
  use("line_endings", "style = \"lf\"\n");
  propose("new-dos.txt", "a\r\nb\r\n");
  const auto report = run();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].message, "2 added lines end with CRLF in a file of LF");
}

TEST_F(TextValidators, LastNewline) {
  use("last_newline");
  base("without.txt", "a");
  propose("without.txt", "b");
  propose("new.txt", "a\nb");
  propose("empty.txt", "");
  EXPECT_THAT(findings(), ElementsAre("last_newline new.txt:2:0"));
}

TEST_F(TextValidators, TheSizeLimitAppliesToNewAndGrownFiles) {
  use("size", "max_bytes = 10\n");
  base("big", std::string(30, 'x'));
  base("grows", std::string(10, 'x'));
  propose("big", std::string(20, 'x'));
  propose("grows", std::string(11, 'x'));
  propose("new", std::string(11, 'x'));
  propose("ok", std::string(10, 'x'));
  EXPECT_THAT(findings(), ElementsAre("size grows:0:0", "size new:0:0"));
}

TEST_F(TextValidators, Shebang) {
  use("shebang");
  base("already", "#!/bin/sh\n", 0644);
  propose("already", "#!/bin/sh\necho\n");
  propose("script", "#!/bin/sh\n");
  propose("data", "x\n");
  propose("elf", std::string("\x7f"
                             "ELF\0",
                             5));
  ASSERT_TRUE(overlay_.set_mode(rel("data"), 0755));
  ASSERT_TRUE(overlay_.set_mode(rel("elf"), 0755));
  EXPECT_THAT(findings(),
              ElementsAre("shebang.missing data:1:0", "shebang.not_executable script:1:0"));
}

TEST_F(TextValidators, ForbiddenTextInAddedLines) {
  use("forbidden_text", "patterns = ['console\\.log\\(', '(?i)do not commit']\n");
  base("a.js", "console.log(1)\n");
  propose("a.js", "console.log(1)\nx; console.log(2)\n// DO NOT COMMIT\n");
  EXPECT_THAT(findings(), ElementsAre("forbidden_text a.js:2:4", "forbidden_text a.js:3:4"));
}

TEST_F(TextValidators, ACharacterOfAPatternIsACodePoint) {
  const std::string patterns =
      R"(patterns = ['[\x{202A}-\x{202E}\x{2066}-\x{2069}]', '\p{Cyrillic}',
    '^.$', '(?i)caf[ÉÈ]', '[ä]', 'lat.n'])";
  use("forbidden_text", patterns + "\n");
  propose("a", "trojan \xE2\x80\xAE source\nplain\np\xD0\xB0ypal\n");
  propose("b", "\xC3\xB6\ncaf\xC3\xA9\n\xC3\xA9 is no umlaut\n");
  propose("c", "lat\xEDn in bytes\n");
  EXPECT_THAT(findings(),
              ElementsAre("forbidden_text a:1:8", "forbidden_text a:3:2", "forbidden_text b:1:1",
                          "forbidden_text b:2:1", "forbidden_text c:1:1"));
}

/// ASCII in UTF-16.
std::string wide(std::string_view text, bool is_big) {
  std::string bytes;
  for (const char c : text) bytes += is_big ? std::string{'\0', c} : std::string{c, '\0'};
  return bytes;
}

TEST_F(TextValidators, ForbiddenTextAndSecretsInUtf16) {
  const std::string text = "key = 1\r\nAWS_ACCESS_KEY_ID=AKIAQ4XYZ7PLMNB2KDEW\r\n";
  base("known.txt", "\xFF\xFE" + wide(text, false));
  propose("known.txt", "\xFF\xFE" + wide(text + "more\n", false));
  propose("little.txt", "\xFF\xFE" + wide(text, false));
  propose("big.txt", "\xFE\xFF" + wide(text, true));
  propose("unmarked.txt", wide(text, false));
  propose("image.bin", std::string("\x89PNG\0\0\x01\x02\0AKIAQ4XYZ7PLMNB2KDEW", 29));
  use("forbidden_text", "patterns = ['AKI[A]']\n");
  EXPECT_THAT(findings(),
              ElementsAre("forbidden_text big.txt:2:19", "forbidden_text little.txt:2:19",
                          "forbidden_text unmarked.txt:2:19"));
  use("secrets");
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("big.txt:2:"), HasSubstr("little.txt:2:"),
                                      HasSubstr("unmarked.txt:2:")));
}

TEST_F(TextValidators, ADamagedCharacterOfUtf16HidesNoSecret) {
  const std::string text = "AWS_ACCESS_KEY_ID=AKIAQ4XYZ7PLMNB2KDEW\r\n";
  propose("control.txt", "\xFF\xFE" + wide("\x01\n" + text, false));
  propose("half-pair.txt", "\xFE\xFF\xD8" + wide("x\n" + text, true).substr(1));
  propose("none.txt", "\xFF\xFE\xFF\xFF" + wide("\n" + text, false));
  propose("odd.txt", "\xFF\xFE" + wide(text, false) + "x");
  propose("second-half.txt", std::string("\x01\xDC", 2) + wide("\n" + text, false));
  for (const char* validator : {"forbidden_text", "secrets"}) {
    use(validator, validator == std::string_view("secrets") ? "" : "patterns = ['AKI[A]']\n");
    EXPECT_THAT(findings(), ElementsAre(HasSubstr("control.txt:2:"), HasSubstr("half-pair.txt:2:"),
                                        HasSubstr("none.txt:2:"), HasSubstr("odd.txt:1:"),
                                        HasSubstr("second-half.txt:2:")));
  }
}

TEST_F(TextValidators, ADamagedCharacterHidesNoSecretOfALongMarkedFile) {
  std::string marked = "\xFF\xFE";
  for (int i = 0; i < 5'000; ++i) marked += i % 100 == 0 ? "\x28\x20" : "\x2D\x4E";
  marked += "\x01\xDC" + wide("\nAWS_ACCESS_KEY_ID=AKIAQ4XYZ7PLMNB2KDEW\n", false);
  propose("long.txt", marked);
  use("forbidden_text", "patterns = ['AKI[A]']\n");
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("long.txt:2:")));
}

TEST_F(TextValidators, NumbersOfABinaryAreNotUtf16) {
  const auto numbers = [](uint64_t step, size_t count, size_t size) {
    std::string bytes;
    for (uint64_t i = 0; i < count; ++i) {
      for (size_t at = 0; at < size; ++at) bytes += static_cast<char>(i * step >> 8 * at & 0xFFU);
    }
    return bytes;
  };
  propose("numbers.bin", numbers(37, 4'000, 4));
  propose("small.bin", numbers(1, 255, 4).substr(4UL * ' '));
  std::string object = "\177ELF\2\1\1" + std::string(57, '\0');
  for (uint64_t i = 0; i < 500; ++i) {  // relocations: offset, symbol and type, addend
    object += numbers(0x1234 + 7 * i, 2, 8).substr(8) + numbers((i << 32U) | 4U, 2, 8).substr(8) +
              (i % 2 == 0 ? std::string(8, '\xFF') : std::string(8, '\0'));
  }
  propose("object.o", object);
  use("forbidden_text", "patterns = ['[^\\x00-\\x7F]']\n");
  EXPECT_THAT(findings(), ElementsAre());
}

TEST_F(TextValidators, BytesOfAnEightBitFileThatBeginsLikeUtf16AreSearched) {
  const std::string key = "AWS_ACCESS_KEY_ID=AKIAQ4XYZ7PLMNB2KDEW";
  propose("little.txt", "\xFF\xFE" + key);
  propose("big.txt", "\xFE\xFF" + key);
  use("forbidden_text", "patterns = ['AKI[A]']\n");
  EXPECT_THAT(findings(),
              ElementsAre("forbidden_text big.txt:1:21", "forbidden_text little.txt:1:21"));
  use("secrets");
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("big.txt:1:"), HasSubstr("little.txt:1:")));
}

TEST_F(TextValidators, PatternThatDoesNotCompileIsAnErrorWithItsPlace) {
  auto config = parse_config("[[validator]]\nbuiltin = \"forbidden_text\"\npatterns = [\"a(\"]\n",
                             "galley.toml");
  ASSERT_TRUE(config);
  const auto made = make_validators(*config, workspace_.directory(), nullptr, nullptr);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("galley.toml:1: validator `forbidden_text`"));
}

TEST_F(TextValidators, MovedFileIsComparedWithItsOldContent) {
  use("whitespace");
  base("old.c", "bad \n");
  ASSERT_TRUE(overlay_.move(rel("old.c"), rel("new.c")));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(TextValidators, BrokenSymlinksAndLoops) {
  use("symlinks");
  base("target", "x");
  ASSERT_TRUE(overlay_.make_symlink(rel("ok"), "target"));
  ASSERT_TRUE(overlay_.make_symlink(rel("broken"), "nowhere"));
  ASSERT_TRUE(overlay_.make_symlink(rel("loop"), "loop"));
  ASSERT_TRUE(overlay_.make_symlink(rel("to-new"), "dir/made"));
  propose("dir/made", "x");
  EXPECT_THAT(findings(), ElementsAre("symlinks.broken broken:0:0", "symlinks.loop loop:0:0"));
}

TEST_F(TextValidators, CaseCollisionsNamePairsOnce) {
  use("case_collisions");
  base("Makefile", "x");
  propose("makefile", "y");
  propose("new/A", "y");
  propose("new/a", "y");
  EXPECT_EQ(run().findings.size(), 2U);
}

TEST_F(TextValidators, StopsWhenAsked) {
  use("utf8");
  propose("a", "x");
  deadline_ = Deadline::after(clock_, std::chrono::milliseconds(-1));
  EXPECT_FALSE(try_run());
}

TEST_F(TextValidators, FindingsDoNotHaveControlCharacters) {
  use("forbidden_text", "patterns = ['bad.*']\n");
  propose("a", "bad \x1b[31m \xff\n");
  const auto report = run();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_THAT(report.findings[0].message, Not(HasSubstr("\x1b")));
  EXPECT_THAT(report.findings[0].message, Not(HasSubstr("\xff")));
}

}  // namespace
}  // namespace galley
