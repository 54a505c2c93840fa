// Mails of git: their messages, signatures and order.
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
};

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
