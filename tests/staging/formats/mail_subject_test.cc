#include "staging/formats/read_edits.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

const std::string kFrom =
    "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n";

std::string of(const std::string& headers) {
  return mail_subject(kFrom + headers + "\nbody\nSubject: not this\n---\ndiff --git a/f b/f\n");
}

TEST(MailSubject, TheSubjectIsCleanedAsByGitAm) {
  EXPECT_EQ(of("From: A <a@b>\nSubject: [PATCH] fix it\n"), "fix it");
  EXPECT_EQ(of("From: A <a@b>\nSubject: Re: [PATCH v2 1/2]  fix   it \n"), "fix it");
  EXPECT_EQ(of("From: A <a@b>\nSubject: [RFC][PATCH] room: fix [x]\n"), "room: fix [x]");
  EXPECT_EQ(of("From: A <a@b>\r\nDate: x\r\nSubject: [PATCH] a\r\n b\r\n\tc\r\nTo: d\r\n"),
            "a b c");
}

TEST(MailSubject, EncodedWordsAreDecoded) {
  EXPECT_EQ(
      of("From: A <a@b>\nSubject: [PATCH] =?UTF-8?q?na=C3=AFve=20=C3=BC?=\n =?utf-8?Q?ber_x?=\n"),
      "na\xC3\xAFve \xC3\xBC"
      "ber x");
  EXPECT_EQ(of("From: A <a@b>\nSubject: =?UTF-8?B?w7xiZXI=?= us\n"),
            "\xC3\xBC"
            "ber us");
  EXPECT_EQ(of("From: A <a@b>\nSubject: =?latin9?q?x?=\n"), "=?latin9?q?x?=");
  EXPECT_EQ(of("From: A <a@b>\nSubject: =?UTF-8?q?a=0Ab=1B?=\n"), "a b ");
}

// Limit: kMaxSubjectBytes of staging/formats/read_edits.h
TEST(MailSubject, SeveralMailsAreJoined) {
  const std::string one = kFrom + "From: A <a@b>\nSubject: [PATCH 1/2] one\n\n---\ndiff\n";
  const std::string two = kFrom + "From: A <a@b>\nSubject: [PATCH 2/2] two\n\n---\ndiff\n";
  EXPECT_EQ(mail_subject(one + two), "one; two");
  std::string many;
  for (int i = 0; i < 400; ++i) many += two;
  const std::string subject = mail_subject(many);
  EXPECT_LT(subject.size(), kMaxSubjectBytes + 50);
  EXPECT_NE(subject.find("more)"), std::string::npos);
}

TEST(MailSubject, TextThatIsNotAMailHasNoSubject) {
  EXPECT_EQ(mail_subject(""), "");
  EXPECT_EQ(mail_subject("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-Subject: x\n+From: y\n"), "");
  EXPECT_EQ(mail_subject("Here is it:\nSubject: x\n"), "");
  EXPECT_EQ(mail_subject("Subject: x\nNo sender here\n"), "");
  EXPECT_EQ(mail_subject("From: a\nSubject: saved alone\n\n---\n"), "saved alone");
  EXPECT_EQ(mail_subject(kFrom), "");
}

}  // namespace
}  // namespace galley
