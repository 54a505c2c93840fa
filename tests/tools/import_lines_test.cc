#include "tools/perform.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

/// `module:line module:line`.
std::string found(std::string_view file, std::string_view text) {
  std::string all;
  for (const ImportLine& one : import_lines(import_language(file), text)) {
    all += (all.empty() ? "" : " ") + one.module + ":" + std::to_string(one.line);
  }
  return all;
}

TEST(ImportLines, AreFoundInTheCommonLanguages) {
  EXPECT_EQ(found("a.cc", "#include <vector>\n # include \"x/y.h\"\n// include z\n"),
            "vector:1 x/y.h:2");
  EXPECT_EQ(found("a.py", "import os\nfrom .a.b import c\nimport x as y, z\n"),
            "os:1 .a.b:2 x:3 z:3");
  EXPECT_EQ(found("a.ts",
                  "import { a } from \"./a\";\nimport 'b';\nexport * from 'c'\n"
                  "const d = require('d'); import('e')\n} from 'f';\n"),
            "./a:1 b:2 c:3 d:4 f:5");
  EXPECT_EQ(found("a.go", "import \"fmt\"\nimport (\n\t\"os\"\n\tl \"x/log\"\n)\nvar s = \"no\"\n"),
            "fmt:1 os:3 x/log:4");
  EXPECT_EQ(found("a.rs", "use std::io;\npub(crate) use a::b;\nextern crate d;\n"),
            "std::io:1 a::b:2 d:3");
  EXPECT_EQ(found("A.java", "import java.util.List;\nimport static a.B.*;\n"),
            "java.util.List:1 a.B.*:2");
  EXPECT_EQ(found("a.rb", "require 'json'\nrequire_relative \"b\"\n"), "json:1 b:2");
  EXPECT_EQ(found("a.php", "use A\\B;\nrequire_once('c.php');\n"), "A\\B:1 c.php:2");
  EXPECT_EQ(found("a.cs", "using System.Text;\nusing (var x = y)\n"), "System.Text:1");
  EXPECT_EQ(found("a.sh", "source ./lib.sh\n. \"x.sh\"\n"), "./lib.sh:1 x.sh:2");
  EXPECT_EQ(found("a.css", "@import url(\"b.css\");\n"), "b.css:1");
  EXPECT_EQ(found("a.swift", "import Foundation\n"), "Foundation:1");
}

TEST(ImportLines, OtherFilesHaveNoImports) {
  EXPECT_EQ(import_language("README"), "");
  EXPECT_EQ(import_language("a.txt"), "");
  EXPECT_EQ(found("a.txt", "import os\n"), "");
}

TEST(ImportLines, AreFoundAmongAnyBytesAndLongLines) {
  EXPECT_EQ(found("a.py", std::string("import os\n\xff\xfe\0import\n", 21)), "os:1");
  EXPECT_EQ(found("a.py", std::string(100'000, 'x') + "\nimport os\n"), "os:2");
  EXPECT_EQ(found("a.py", ""), "");
}

}  // namespace
}  // namespace galley
