"""The record of a commit survives the death of its process, and the loss of the log."""

import json
import os
import shutil

import hostile

COMMIT = '"kind":"commit"'


class Records(hostile.HostileCase):
    def state(self, name):
        return self.own_state("audit") / "head" if name == "audit.head" else self.work / ".galley" / name

    def commit(self, name, boot="boot-1"):
        patch = f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+made\n"
        self.galley("apply", "-", stdin=patch.encode(), expect=0, env={"GALLEY_BOOT_ID": boot})

    def reboot(self, boot="boot-2"):
        """Runs the next command under another boot. It recovers pending commits and retires
        them."""
        self.galley("status", expect=0, env={"GALLEY_BOOT_ID": boot})
        self.assertEqual(list(self.state("j").iterdir()), [])

    def records(self):
        lines = self.state("audit.jsonl").read_text().splitlines() if self.state("audit.jsonl").exists() else []
        return [line for line in lines if COMMIT in line]

    def keep_log(self):
        return {name: self.state(name).read_bytes() for name in ("audit.jsonl", "audit.head")}

    def put_log(self, kept):
        for name, content in kept.items():
            self.state(name).write_bytes(content)

    def verify(self, expect):
        result = self.galley("audit", "verify", "--json", expect=expect, env={"GALLEY_BOOT_ID": "boot-2"})
        return [defect["reason"] for defect in json.loads(result.stdout)["defects"]]

    def repair(self):
        return self.galley("doctor", "--repair", expect=(0, 1), env={"GALLEY_BOOT_ID": "boot-2"})

    def test_the_record_of_a_recovered_commit_is_not_lost(self):
        self.commit("one")
        kept = self.keep_log()
        self.commit("two")
        self.put_log(kept)  # the process died before it could write to the log
        self.reboot()
        self.assertEqual(len(self.records()), 2)
        self.assertEqual(self.verify(expect=0), [])

    def test_the_record_of_a_recovered_first_commit_is_not_lost(self):
        self.commit("one")
        for name in ("audit.jsonl", "audit.head"):
            self.state(name).unlink()
        self.reboot()
        self.assertEqual(len(self.records()), 1)
        self.assertEqual(self.verify(expect=0), [])

    def test_a_commit_that_the_log_lacks_is_reported_and_restored(self):
        self.commit("one")
        kept = self.keep_log()
        self.commit("two")
        self.reboot()
        self.put_log(kept)
        self.assertEqual(self.verify(expect=1), ["audit.unrecorded"])
        self.repair()
        self.assertEqual(len(self.records()), 2)
        self.assertEqual(self.verify(expect=0), [])
        self.repair()
        self.assertEqual(len(self.records()), 2)

    def test_a_log_shortened_by_a_power_cut_is_repaired_with_a_record(self):
        self.commit("one")
        self.commit("two")
        self.reboot()
        log = self.state("audit.jsonl")
        os.truncate(log, len(log.read_bytes()) - 20)
        self.assertIn("audit.truncated", self.verify(expect=1))
        self.repair()
        self.assertEqual(len(self.records()), 2)
        # The chain continues, and always shows the place of the lost record.
        self.assertEqual(self.verify(expect=0), ["audit.lost"])
        report = json.loads(self.galley("doctor", "--json", expect=0).stdout)
        audit = [check for check in report["checks"] if check["name"] == "audit"]
        self.assertEqual([check["status"] for check in audit], ["warning"], audit)
        self.commit("three")
        self.assertEqual(self.verify(expect=0), ["audit.lost"])

    def test_a_log_with_zeros_at_its_end_is_repaired(self):
        self.commit("one")
        self.commit("two")
        self.reboot()
        log = self.state("audit.jsonl")
        last = len(log.read_bytes().splitlines(keepends=True)[-1])
        os.truncate(log, log.stat().st_size - last)
        os.truncate(log, log.stat().st_size + last)
        self.assertIn("audit.truncated", self.verify(expect=1))
        self.repair()
        self.assertEqual(self.verify(expect=0), ["audit.lost"])
        self.commit("three")
        self.assertEqual(self.verify(expect=0), ["audit.lost"])

    def test_a_repair_of_zeros_after_the_last_record_reports_no_lost_record(self):
        self.commit("one")
        self.reboot()
        log = self.state("audit.jsonl")
        os.truncate(log, log.stat().st_size + 4096)
        self.repair()
        for words in (("doctor",), ("audit", "verify")):
            said = self.galley(*words, expect=0)
            self.assertIn(b"no record is known to be lost", said.stdout + said.stderr)
            self.assertNotIn(b"were lost", said.stdout + said.stderr)

    def test_a_damaged_log_is_set_aside_by_one_command(self):
        self.commit("one")
        self.commit("two")
        self.reboot()
        log = self.state("audit.jsonl")
        lines = log.read_bytes().splitlines(keepends=True)
        lines[-1] = lines[-1].replace(b"commit", b"c0mmit")
        log.write_bytes(b"".join(lines))
        self.assertIn("audit.changed", self.verify(expect=1))
        self.repair()
        self.assertEqual(self.state("audit.1.jsonl").read_bytes(), b"".join(lines))
        first = json.loads(log.read_text().splitlines()[0])
        self.assertEqual(first["output"]["closed"], "audit.1.jsonl")
        self.assertEqual(first["output"]["last_known_hash"], json.loads(lines[-2])["hash"])
        self.assertEqual(self.verify(expect=0), ["audit.lost"])
        self.commit("three")
        self.assertEqual(json.loads(self.galley("doctor", "--json", expect=0).stdout)["ok"], True)

    def test_a_removed_log_is_reported_and_created_again(self):
        self.commit("one")
        self.reboot()
        for name in ("audit.jsonl", "audit.head"):
            self.state(name).unlink()
        self.assertEqual(self.verify(expect=1), ["audit.unrecorded"])
        self.repair()
        self.assertEqual(len(self.records()), 1)
        self.assertEqual(self.verify(expect=0), [])

    def test_a_log_that_is_not_believed_is_not_verified(self):
        """A copy of a workspace, whose log was changed, and one of another user."""
        self.commit("a")
        copy = self.scratch / "copy"
        shutil.copytree(self.work, copy, symlinks=True)
        log = copy / ".galley" / "audit.jsonl"
        log.write_text("".join(log.read_text().splitlines(keepends=True)[1:]))
        verified = self.galley("audit", "verify", work=copy, expect=1)
        self.assertNotIn(b"whole", verified.stdout)

    def test_a_new_log_is_not_blamed_for_the_old_one(self):
        self.commit("one")
        self.reboot()
        for name in ("audit.jsonl", "audit.head"):
            self.state(name).rename(self.home / name)
        self.commit("two", boot="boot-2")
        self.assertEqual(self.verify(expect=0), [])
        self.repair()
        self.assertEqual(len(self.records()), 1)

    def test_words_in_the_arguments_of_a_call_hide_no_record(self):
        self.commit("one")
        kept = self.keep_log()
        self.commit("two")
        identity = json.loads(self.records()[-1])["execution_id"]
        self.put_log(kept)
        call = json.dumps({"file_path": "x", "content": f'"execution_id":"{identity}"', "execution_id": identity})
        self.galley("call", "Write", call, expect=(0, 1, 2, 3), env={"GALLEY_BOOT_ID": "boot-1"})
        self.reboot()
        self.assertEqual(len(self.records()), 2)


class Limits(hostile.HostileCase):
    def test_a_file_with_more_attributes_than_a_journal_takes_is_left_alone(self):
        readme = self.work / "README.md"
        try:
            for number in range(4200):
                os.setxattr(readme, f"user.{number}", b"v")
        except OSError as error:
            self.skipTest(f"this file system takes no such attributes: {error}")
        old = readme.read_bytes()
        patch = f"--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n {old.decode().splitlines()[0]}\n+more\n"
        result = self.galley("apply", "-", stdin=patch.encode(), expect=3)
        self.assertIn(b"4200 extended attributes", result.stderr)
        self.assertEqual(readme.read_bytes(), old)
        self.galley("log", expect=0)
        self.galley("status", expect=0)


if __name__ == "__main__":
    hostile.main()
