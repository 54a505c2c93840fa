#include "staging/sandbox/fixed_time.h"

#include <gtest/gtest.h>

#include "support/temp_directory.h"

namespace galley {
namespace {

TEST(FixedTime, TheLibraryIsFoundWhereItIsInstalled) {
  TempDirectory tree;
  tree.write("two/libfaketimeMT.so.1", "");
  tree.write("three/libfaketimeMT.so.1", "");
  const std::string two = tree.path() + "/two/libfaketimeMT.so.1";
  EXPECT_EQ(fixed_time_library({tree.path() + "/one", two, tree.path() + "/three"}), two);
  EXPECT_EQ(fixed_time_library({tree.path() + "/one", tree.path()}), "") << "a folder is none";
  EXPECT_EQ(fixed_time_library({}), "");
}

TEST(FixedTime, WithoutTheLibraryACommandIsRefused) {
  const auto refused = check_fixed_clock("", "/bin/sh");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "sandbox.no_fixed_clock");
  EXPECT_NE(refused.error().message.find("libfaketime"), std::string::npos);
}

TEST(FixedTime, AProgramWithoutTheDynamicLoaderIsRefused) {
  EXPECT_TRUE(check_fixed_clock("/lib/faketime.so", "/bin/sh"));
  TempDirectory tree;
  tree.write("script", "#!/bin/sh\n");
  EXPECT_TRUE(check_fixed_clock("/lib/faketime.so", tree.path() + "/script"));
  EXPECT_TRUE(check_fixed_clock("/lib/faketime.so", tree.path() + "/not-there"));
  std::string header(
      "\x7f"
      "ELF\2\1\1",
      7);
  header.resize(64, '\0');
  tree.write("static", header);
  EXPECT_FALSE(check_fixed_clock("/lib/faketime.so", tree.path() + "/static"));
  header[4] = 1;  // of 32 bits
  tree.write("small", header);
  EXPECT_FALSE(check_fixed_clock("/lib/faketime.so", tree.path() + "/small"));
}

TEST(FixedTime, LocaleZoneAndEpochAreFixed) {
  const auto all = deterministic_environment("/lib/faketime.so");
  EXPECT_EQ(all.at("SOURCE_DATE_EPOCH"), "315532800");
  EXPECT_EQ(all.at("TZ"), "UTC");
  EXPECT_EQ(all.at("LC_ALL"), "C.UTF-8");
}

TEST(FixedTime, WithTheLibraryTheClockIsFixedAndTheMonotonicClockRuns) {
  const auto all = deterministic_environment("/lib/faketime.so");
  EXPECT_EQ(all.at("LD_PRELOAD"), "/lib/faketime.so");
  EXPECT_EQ(all.at("FAKETIME"), "1980-01-01 00:00:00");
  EXPECT_TRUE(all.contains("FAKERANDOM_SEED"));
  EXPECT_EQ(all.at("FAKETIME_DONT_FAKE_MONOTONIC"), "1");
  EXPECT_NE(determinism_notes("/lib/faketime.so").front().find("/lib/faketime.so"),
            std::string::npos);
}

}  // namespace
}  // namespace galley
