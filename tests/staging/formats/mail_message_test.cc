// Mails of git: their messages, signatures and order.
#include <gtest/gtest.h>

#include <string>

#include "staging/formats/read_edits.h"

namespace galley {
namespace {

const std::string kMailHead =
    "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"
    "From: A <a@b>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] x\n\n";
const std::string kMailStat = "---\n f | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n";

std::string f_change(const std::string& from, const std::string& to) {
  return "diff --git a/f b/f\nindex 01e79c3..9999999 100644\n--- a/f\n+++ b/f\n"
         "@@ -1,3 +1,3 @@\n 1\n-" +
         from + "\n+" + to + "\n 3\n";
}

std::string mail_of(const std::string& message, const std::string& patch,
                    const std::string& signature = "-- \n2.39.1\n\n") {
  return kMailHead + message + kMailStat + patch + signature;
}

/// The edits as "part path:lines", or the reason of the refusal.
std::string edits_of(const std::string& text) {
  const auto set = read_edits(text, EditFormat::kAuto, {});
  if (!set) return set.error().reason;
  std::string out;
  for (const FileEdit& file : set->files) {
    out += (out.empty() ? "" : "; ") + std::to_string(file.part) + " " + file.path + ":";
    for (const Hunk& hunk : file.hunks) {
      for (const HunkLine& line : hunk.lines) {
        if (line.role == LineRole::kContext) continue;
        out += line.role == LineRole::kAdded ? "+" : "-";
        out += line.text.substr(0, line.text.find('\n'));
      }
    }
  }
  return out;
}

const std::vector<std::string> kMailMessages = {
    "plain\n",
    "*** Begin Patch\n*** Update File: f\n@@\n-1\n+4\n*** End Patch\n",
    "*****************************\n* banner                     *\n"
    "*****************************\n",
    "@@ note\n",
    "- first thing\n- second thing\n@@foo is used\n",
    "--- old\n+++ new\nhello\n",
    "Binary files x and y differ\n",
    "diff --cc foo\n",
    "Index: foo\n",
    "+ new feature\n",
    "-O2 is used\n",
    "+1 from me\n",
    "- item\n",
};

TEST(MailMessage, IsNotReadAsAPatch) {
  for (const std::string& message : kMailMessages) {
    EXPECT_EQ(edits_of(mail_of(message, f_change("2", "X"))), "0 f:-2+X") << message;
  }
}

TEST(MailMessage, OfALaterMailIsNotReadAsAPatch) {
  for (const std::string& message : kMailMessages) {
    EXPECT_EQ(edits_of(mail_of("one\n", f_change("2", "X")) + mail_of(message, f_change("X", "Y"))),
              "0 f:-2+X; 1 f:-X+Y")
        << message;
  }
}

TEST(MailMessage, EndsAtATraditionalHeader) {
  const std::string plain = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n 1\n-2\n+X\n 3\n";
  EXPECT_EQ(edits_of(kMailHead + "message\n\n" + plain), "0 f:-2+X");
}

TEST(MailMessage, NotesBelowItAreNotLostChanges) {
  EXPECT_EQ(edits_of(mail_of("one\n", f_change("2", "X")) +
                     mail_of("two\n", "+1 from me\n-O2 is used\n\n" + f_change("X", "Y"))),
            "0 f:-2+X; 1 f:-X+Y");
}

TEST(MailMessage, StarsWithoutAContextDiffAreProse) {
  const std::string stars = "****************\n";
  EXPECT_EQ(edits_of(stars + "* banner\n" + stars + f_change("2", "X")), "0 f:-2+X");
  EXPECT_EQ(edits_of("*** f\n--- f\n" + stars + "*** 1,3 ****\n  1\n! 2\n  3\n--- 1,3 ----\n"),
            "edit.unsupported_diff");
}

TEST(MailMessage, EachMailOfASeriesIsAPart) {
  const std::string move =
      "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n";
  const std::string series = mail_of("one\n", f_change("2", "X")) + mail_of("two\n", move);
  EXPECT_EQ(edits_of(series), "0 f:-2+X; 1 f:");
  EXPECT_EQ(edits_of(series + "g\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"),
            "0 f:-2+X; 1 f:; 2 g:");
  const std::string sha256(64, 'a');
  EXPECT_EQ(edits_of(f_change("2", "X") + "From " + sha256 + " Mon\n" + kMailStat + move),
            "0 f:-2+X; 1 f:");
}

TEST(MailMessage, ASignatureMayBeAnyText) {
  for (const std::string signature :
       {"-- \nb4 0.12.3\n\n", "-- \nAnna Smith\n", "-- \n\n", "--\nmailing list\n", "-- \n--\n",
        "-- \nGitGitGadget\n\n", "-- \n2.39.1.windows.1\n\n"}) {
    EXPECT_EQ(edits_of(mail_of("one\n", f_change("2", "X"), signature)), "0 f:-2+X") << signature;
    EXPECT_EQ(edits_of(mail_of("one\n", f_change("2", "X"), signature) +
                       mail_of("two\n", f_change("X", "Y"), signature)),
              "0 f:-2+X; 1 f:-X+Y")
        << signature;
  }
}

}  // namespace
}  // namespace galley
