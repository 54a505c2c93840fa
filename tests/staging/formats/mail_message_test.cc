// Mails and commits that git shows: their messages, signatures and order.
#include <gtest/gtest.h>

#include <string>

#include "base/encoding.h"
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
    "This reverts:\n\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n\n",
    "This reverts:\n\ndiff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n\n",
    "```diff\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n```\n\n",
    "g\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n\n",
    "a rule\n\n---\n\nand a quoted patch\n\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n\n",
    "*** Begin Patch\n*** Delete File: g\n*** End Patch\n",
    "```json\n{\"path\": \"g\", \"content\": \"3\"}\n```\n",
    "{\"path\": \"g\", \"edits\": [{\"oldText\": \"3\", \"newText\": \"4\"}]}\n",
    "<tool_call>\n{\"name\": \"Write\", \"arguments\": {\"path\": \"g\"}}\n</tool_call>\n",
    "The answer ends in\n</think>\n",
};

/// The text with `prefix` before each line.
std::string prefixed(const std::string& prefix, const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    out += prefix + text.substr(at, end - at);
    at = end;
  }
  return out;
}

/// The text as git indents it.
std::string indented(const std::string& text) { return prefixed("    ", text); }

const std::string kCommit = "commit 0123456789012345678901234567890123456789";
const std::string kAuthor = "Author: A <a@b>\nDate:   Wed Jan 1 00:00:00 2020 +0000\n\n";

std::string commit_of(const std::string& message, const std::string& rest) {
  return kCommit + " (HEAD -> main)\n" + kAuthor + indented(message) + "\n" + rest;
}

const std::string kQuotedDeletion = "*** Begin Patch\n*** Delete File: g\n*** End Patch\n";
const std::string kQuotedBlock = "g\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n";

TEST(CommitMessage, IsNotReadAsAnEdit) {
  for (const std::string& message : kMailMessages) {
    const std::string patch = f_change("2", "X");
    const std::string shown = commit_of(message, patch);
    EXPECT_EQ(edits_of(shown), "0 f:-2+X") << message;
    EXPECT_EQ(edits_of(commit_of(message, kMailStat + patch)), "0 f:-2+X") << message;
    EXPECT_EQ(edits_of(commit_of("one\n", patch) + commit_of(message, f_change("X", "Y"))),
              "0 f:-2+X; 0 f:-X+Y")
        << message;
    const std::string notes = "Notes (review):\n" + indented(message) + "\n";
    EXPECT_EQ(edits_of(commit_of("one\n", notes + patch)), "0 f:-2+X") << message;
    EXPECT_EQ(edits_of("The commit:\n\n```\n" + shown + "```\n").substr(0, 8), "0 f:-2+X")
        << message;
    const std::string block = "\n" + kQuotedBlock;
    EXPECT_EQ(edits_of("```\n" + commit_of(message, "") + "```\n" + block), "0 g:") << message;
  }
}

TEST(CommitMessage, EndsHeadersOfEveryForm) {
  const std::string rest = indented(kQuotedDeletion) + "\n" + f_change("2", "X");
  for (const std::string head :
       {"commit 0123\nAuthor: A <a@b>\n\n", "commit > 0123456\nAuthor: A <a@b>\n\n",
        "commit -0123456\nAuthor: A <a@b>\n\n", "commit 0123456\trefs/heads/x\nAuthor: A\n\n",
        "commit 0123456 89abcde\nMerge: 1111 2222\nAuthor: A <a@b>\n\n",
        "commit 0123456\nReflog: HEAD@{0} (A <a@b>)\nReflog message: x\nAuthor: A\n\n",
        "commit 0123456\ngpg: Signature made Wed\nPrimary key fingerprint: AB\nAuthor: A\n\n",
        "commit 0123456\nAuthor:     A\nAuthorDate: x\nCommit:     A\nCommitDate: x\n\n",
        "commit 0123456\ntree 0123\nparent 0123\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 "
        "+0000\ngpgsig -----BEGIN\n \n ab\n\n"}) {
    EXPECT_EQ(edits_of(head + rest), "0 f:-2+X") << head;
    EXPECT_EQ(edits_of("Look:\n" + head + rest), "0 f:-2+X") << head;
  }
  EXPECT_EQ(edits_of("tag v1\nTagger: A <a@b>\nDate:   x\n\n" + kQuotedDeletion + "\n" + kCommit +
                     "\n" + kAuthor + rest),
            "0 f:-2+X");
  EXPECT_EQ(
      edits_of("\x1b[33m" + kCommit + "\x1b[m\x1b[33m (\x1b[m)\n" + kAuthor +
               indented(kQuotedDeletion) +
               "\n\x1b[1mdiff --git a/f b/f\x1b[m\n\x1b[1m--- a/f\x1b[m\n\x1b[1m+++ b/f\x1b[m\n"
               "\x1b[36m@@ -1 +1 @@\x1b[m\n\x1b[31m-2\x1b[m\n\x1b[32m+\x1b[m\x1b[32mX\x1b[m\n"),
      "0 f:-2+X");
}

TEST(CommitMessage, MayBeQuotedOrIndentedWithItsPatch) {
  for (const std::string& message : kMailMessages) {
    for (const std::string prefix : {"> ", "> > ", "    ", "\t"}) {
      const std::string shown = prefixed(prefix, commit_of(message, f_change("2", "X")));
      EXPECT_EQ(edits_of("Look:\n\n" + shown), "0 f:-2+X") << shown;
      const std::string mail = prefixed(prefix, mail_of(message, f_change("2", "X")));
      EXPECT_EQ(edits_of(mail + "\nWhat of it?\n"), "0 f:-2+X") << mail;
    }
  }
  EXPECT_EQ(
      edits_of("* " + kCommit + "\n" +
               prefixed("  ", kAuthor + indented(kQuotedDeletion) + "\n" + f_change("2", "X"))),
      "0 f:-2+X")
      << "--graph";
}

TEST(CommitMessage, OfACommitWithoutAPatchIsNoEdit) {
  for (const std::string& message : kMailMessages) {
    EXPECT_EQ(edits_of(commit_of(message, "")), "edit.not_a_patch") << message;
  }
  for (const std::string& text : {commit_of(kQuotedDeletion, ""), kMailHead + kQuotedBlock,
                                  commit_of("one\n", "Notes:\n" + indented(kQuotedBlock))}) {
    for (const EditFormat format : {EditFormat::kAuto, EditFormat::kApplyPatch}) {
      const auto read = read_edits(text, format, {});
      ASSERT_FALSE(read) << text;
      EXPECT_EQ(read.error().reason, "edit.not_a_patch");
      EXPECT_NE(read.error().message.find("only in the message of a commit"), std::string::npos)
          << read.error().message;
    }
  }
}

TEST(CommitMessage, IsTextOnlyBelowTheHeadersOfGit) {
  const std::string patch = "*** Begin Patch\n*** Update File: g\n@@\n-1\n+2\n*** End Patch\n";
  for (const std::string head :
       {"The tests of the\ncommit 0123456 fail.\n\n", "Author: me\n\ncommit 0123456\n\n",
        "Subject: the fix\nFrom: me\n\n", "From: me\nSubject: the fix\nDate: today\n\n",
        "commit message:\nAuthor: me\n\n", "commit 0123456x\nAuthor: me\n\n",
        "tag v1\nTagger: me\n\n", "Author: me\nDate: today\n\n---\n\n"}) {
    EXPECT_EQ(edits_of(head + patch), "0 g:-1+2") << head;
    EXPECT_EQ(edits_of(head + indented(patch)), "0 g:-1+2") << head;
    EXPECT_EQ(edits_of(head + kQuotedBlock), "0 g:") << head;
  }
  EXPECT_EQ(edits_of("From: me\nSubject: x\n\n" + patch + f_change("2", "X")),
            "0 g:-1+2; 1 f:-2+X");
  EXPECT_EQ(edits_of(commit_of("one\n", patch)), "0 g:-1+2") << "not indented";
  EXPECT_EQ(edits_of("commit 0123456\nAuthor: me\n" + patch), "0 g:-1+2") << "no blank line";
}

TEST(CommitMessage, InTheTextOfAnEditStays) {
  const std::string shown = commit_of("- a\n+ b\n" + kQuotedDeletion, "");
  const auto block = read_edits("g\n<<<<<<< SEARCH\n" + shown + "=======\nx\n>>>>>>> REPLACE\n",
                                EditFormat::kAuto, {});
  ASSERT_TRUE(block);
  EXPECT_EQ(block->files.at(0).text_edits.at(0).old_text, shown);
  for (const std::string& content : {shown, shown + shown, kMailHead + "x\n" + kQuotedDeletion}) {
    const auto file = read_edits("`log.txt`\n```\n" + content + "```\n", EditFormat::kAuto, {});
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->files.at(0).whole, content);
  }
  EXPECT_EQ(edits_of("`log.txt`\n```\n" + commit_of(kQuotedBlock, "") + "```\n"), "edit.unread");
  const std::string log = "diff --git a/l b/l\n--- a/l\n+++ b/l\n@@ -1,6 +1,6 @@\n" +
                          prefixed(" ", "commit 0123456\nAuthor: A\n\n    *** Begin Patch\n") +
                          "-2\n+X\n     *** End Patch\n";
  EXPECT_EQ(edits_of(log), "0 l:-2+X") << "context";
}

TEST(MailMessage, IsNotReadAsAPatch) {
  for (const std::string& message : kMailMessages) {
    EXPECT_EQ(edits_of(mail_of(message, f_change("2", "X"))), "0 f:-2+X") << message;
  }
}

TEST(MailMessage, OfAMailOfAnotherProgramIsNotReadAsAPatch) {
  for (const std::string& message : kMailMessages) {
    const std::string mail = mail_of(message, f_change("2", "X"));
    const std::string without_hash = mail.substr(mail.find('\n') + 1);
    EXPECT_EQ(edits_of(without_hash), "0 f:-2+X") << message;
    EXPECT_EQ(edits_of("From a@b Mon Jan  1 00:00:00 2024\n" + without_hash), "0 f:-2+X");
  }
}

TEST(MailMessage, WithoutAListOfFilesEndsAtThePatch) {
  for (const std::string& message : {kQuotedDeletion, kQuotedBlock, std::string("- item\n")}) {
    for (const std::string& rest :
         {message + "\n", message + "---\n\n", "---\n" + message, "---\n" + indented(message)}) {
      const std::string mail = kMailHead + rest + f_change("2", "X") + "-- \n2.39.1\n\n";
      EXPECT_EQ(edits_of(mail), "0 f:-2+X") << mail;
      EXPECT_EQ(edits_of(mail.substr(mail.find('\n') + 1)), "0 f:-2+X") << mail;
      EXPECT_EQ(edits_of("Apply:\n```diff\n" + mail + "```\n" + kQuotedBlock), "0 f:-2+X; 1 g:")
          << mail;
    }
  }
}

TEST(MailMessage, ATextAboveTheListOfFilesIsNotAnEdit) {
  for (const std::string& note : {kQuotedDeletion, kQuotedBlock, std::string("a | 2\n")}) {
    std::string mail = mail_of("x\n", f_change("2", "X"));
    mail.insert(mail.find("---\n") + 4, "\nNotes:\n" + indented(note) + "\n" + note + "\n");
    EXPECT_EQ(edits_of(mail), "0 f:-2+X") << mail;
  }
}

TEST(MailMessage, OfACoverLetterIsText) {
  EXPECT_EQ(edits_of(kMailHead + kQuotedDeletion + "\n-- \n2.39.1\n\n" +
                     mail_of("x\n", f_change("2", "X"))),
            "0 f:-2+X");
}

TEST(MailMessage, AnEditBelowTheSignatureIsRefused) {
  for (const std::string& quoted :
       {kQuotedDeletion, kQuotedBlock,
        std::string("```json\n{\"path\": \"g\", \"content\": \"\"}\n```\n")}) {
    for (const std::string message : {"", "one\n"}) {
      const std::string footer = "-- \n2.39.1\n\n____\nlist@x\n\n" + quoted;
      const std::string mail = mail_of(message, f_change("2", "X"), footer);
      EXPECT_EQ(edits_of(mail), "edit.unread") << quoted;
      EXPECT_EQ(edits_of(mail + "\n" + mail_of("two\n", f_change("X", "Y"))), "edit.unread");
    }
    EXPECT_EQ(edits_of("```diff\n" + mail_of("one\n", f_change("2", "X")) + "```\n" + kQuotedBlock),
              "0 f:-2+X; 1 g:")
        << "the fence ends the mail";
  }
  EXPECT_EQ(edits_of(mail_of("one\n", f_change("2", "X")) + f_change("X", "Y")),
            "0 f:-2+X; 0 f:-X+Y")
      << "another diff";
}

TEST(MailMessage, ARemovedLineOfTheFirstPatchDoesNotEndIt) {
  const std::string table =
      "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n---\n+==\n a | 2\n";
  EXPECT_EQ(edits_of(kMailHead + "message\n---\n" + table), "0 f:---+==");
}

TEST(MailMessage, OfALaterMailIsNotReadAsAPatch) {
  for (const std::string& message : kMailMessages) {
    EXPECT_EQ(edits_of(mail_of("one\n", f_change("2", "X")) + mail_of(message, f_change("X", "Y"))),
              "0 f:-2+X; 1 f:-X+Y")
        << message;
  }
}

TEST(MailMessage, MayHaveLinesOfDigitsAboveTheListOfFiles) {
  const std::string interdiff =
      "Interdiff against v1:\n  diff --git a/f b/f\n  --- a/f\n  +++ b/f\n  @@ -1,3 +1,3 @@\n   1\n"
      "  -0\n  +X\n   3\n";
  const std::string range_diff =
      "Range-diff against v1:\n1:  d80b884 ! 1:  a2b2337 x\n    @@ f\n      1\n     -2\n    -+0\n"
      "    ++X\n      3\n";
  for (const std::string& text :
       {interdiff, range_diff, std::string(" 42\n"), std::string(" 0\n")}) {
    std::string mail = mail_of("x\n", f_change("2", "X"));
    mail.insert(mail.find("---\n") + 4, text + "\n");
    EXPECT_EQ(edits_of(mail), "0 f:-2+X") << text;
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

// --- encoded bodies --------------------------------------------------------------------------

std::string encoded_mail(const std::string& encoding, const std::string& body) {
  return "From: A <a@b>\nSubject: [PATCH] x\nContent-Transfer-Encoding: " + encoding + "\n\n" +
         body;
}

TEST(EncodedMail, IsDecoded) {
  const std::string patch = f_change("2", "caf\xC3\xA9 = 1;");
  std::string quoted = patch;
  quoted.replace(quoted.find("caf\xC3\xA9 = 1;"), 10, "ca=\nf=C3=A9 =3D 1;");
  EXPECT_EQ(edits_of(encoded_mail("quoted-printable", kMailStat + quoted + "--=20\n2.39.1\n")),
            "0 f:-2+caf\xC3\xA9 = 1;");
  EXPECT_EQ(edits_of(encoded_mail("BASE64", base64(kMailStat + patch))), "0 f:-2+caf\xC3\xA9 = 1;");
  EXPECT_EQ(edits_of(encoded_mail("8bit", kMailStat + patch)), "0 f:-2+caf\xC3\xA9 = 1;");
}

TEST(EncodedMail, OfASeriesIsDecodedByItself) {
  const std::string plain = mail_of("one\n", f_change("2", "=3D"));
  std::string second = kMailHead;
  second.insert(second.size() - 1, "Content-Transfer-Encoding: quoted-printable\n");
  EXPECT_EQ(edits_of(plain + second + kMailStat + f_change("=3D3D", "=3D") + "--=20\n2.39.1\n"),
            "0 f:-2+=3D; 1 f:-=3D+=");
}

TEST(EncodedMail, TheNextMailOfAMailboxHasAnEncodingOfItsOwn) {
  const std::string envelope = "From mboxrd@z Thu Jan  1 00:00:00 1970\n";
  const std::string head = "From: A <a@b>\nSubject: [PATCH] x\nContent-Transfer-Encoding:";
  EXPECT_EQ(edits_of(envelope + head + " 8bit\n\n" + kMailStat + f_change("2", "=3D") +
                     "-- \n2.39.1\n\n\n" + envelope + head + "\n\tQuoted-Printable\n\n" +
                     kMailStat + f_change("=3D3D", "=3D") + "--=20\n2.39.1\n"),
            "0 f:-2+=3D; 1 f:-=3D+=");
  EXPECT_EQ(edits_of(envelope + head + " 8bit\n\n" + kMailStat + f_change("2", "=3D") + envelope +
                     head + " quoted-printable\n"),
            "0 f:-2+=3D")
      << "no blank line above";
}

TEST(EncodedMail, PartsHaveAnEncodingOfTheirOwn) {
  const std::string head =
      "From: A <a@b>\nSubject: [PATCH] x\nContent-Type: multipart/signed; micalg=pgp-sha512;\n"
      " protocol=\"application/pgp-signature\"; Boundary=\"one\"\n\nNo part.\n";
  const std::string signature =
      "--one\nContent-Type: application/pgp-signature\n\n-----BEGIN PGP SIGNATURE-----\n\nab=3D\n"
      "-----END PGP SIGNATURE-----\n\n--one--\n";
  EXPECT_EQ(edits_of(head + "--one\nContent-Transfer-Encoding: quoted-printable\n\n" + kMailStat +
                     f_change("2", "=3D") + "--=20\n2.39.1\n" + signature),
            "0 f:-2+=");
  EXPECT_EQ(edits_of(head + "--one\n\ntext\n--one\nContent-Transfer-Encoding: base64\n\n" +
                     base64(f_change("2", "=3D")) + "\n--one--\n"),
            "0 f:-2+=3D");
  EXPECT_EQ(edits_of(head +
                     "--one\nContent-Type: multipart/mixed; boundary=two\n\n--two\n"
                     "content-transfer-encoding: quoted-printable\n\n" +
                     f_change("2", "=3D") + "--two--\n" + signature),
            "0 f:-2+=");
  EXPECT_EQ(
      edits_of(head + "--one\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\n" +
               base64(std::string("\x89PNG\0diff", 9)) + "\n--one\n\n" + f_change("2", "3") +
               "--one--\n"),
      "0 f:-2+3");
}

TEST(EncodedMail, ABodyThatCannotBeDecodedIsReadAsItIs) {
  EXPECT_EQ(edits_of(encoded_mail("quoted-printable", kMailStat + f_change("2", "a=b"))),
            "0 f:-2+a=b");
  EXPECT_EQ(edits_of("int x;\nContent-Transfer-Encoding: base64\n" + f_change("2", "X")),
            "0 f:-2+X");
}

// --- context diffs, series, signatures -----------------------------------------------------------

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
  EXPECT_EQ(edits_of("```diff\n" + series + "```\n" + kQuotedBlock), "0 f:-2+X; 1 f:; 2 g:");
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
