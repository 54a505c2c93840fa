#include "engine/git_hooks/hook_script.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

TEST(HookScript, IsRecognisedAsGalleys) {
  for (const HookKind& kind : hook_kinds()) {
    EXPECT_EQ(hook_author(hook_script(kind)), HookAuthor::kGalley) << kind.name;
  }
}

TEST(HookScript, OneByteMoreOrLessMakesItChanged) {
  const std::string script = hook_script(*find_hook_kind("pre-commit"));
  EXPECT_EQ(hook_author(script + "\n"), HookAuthor::kChanged);
  EXPECT_EQ(hook_author(script.substr(0, script.size() - 1)), HookAuthor::kChanged);
}

TEST(HookScript, ForeignTextIsNotRecognisedAsGalleys) {
  for (const char* text : {"", "#!/bin/sh\n", "#!/bin/sh\nexit 0\n", "#!/bin/sh\n# galley-hook 1 ",
                           "# galley-hook 1 00\n", "#!/bin/bash\n# galley-hook 1 00\n"}) {
    EXPECT_EQ(hook_author(text), HookAuthor::kOther) << text;
  }
}

TEST(HookScript, OnlyAJudgingHookRefusesIfGalleyIsMissing) {
  for (const HookKind& kind : hook_kinds()) {
    const std::string script = hook_script(kind);
    const size_t missing = script.find("finds no galley");
    const bool refuses = missing != script.npos && script.find("exit 1\n", missing) != script.npos;
    EXPECT_EQ(refuses, kind.judges) << kind.name;
  }
}

TEST(HookScript, OtherNamesAreNotHooks) {
  EXPECT_EQ(find_hook_kind("pre-rebase"), nullptr);
  EXPECT_EQ(find_hook_kind(""), nullptr);
}

}  // namespace
}  // namespace galley
