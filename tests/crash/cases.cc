#include "crash/cases.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "doubles/memory_directory.h"

namespace galley {
namespace {

void rich_tree(const WritableDirectory& ws) {
  put_file(ws, "changed", "old content of a changed file", 0751);
  put_file(ws, "deleted", "deleted");
  put_file(ws, "renamed", "renamed");
  put_file(ws, "swap_a", "A");
  put_file(ws, "swap_b", "B");
  put_file(ws, "mode", "mode");
  put_file(ws, "file_to_dir", "file");
  put_file(ws, "dir_to_file/in", "in");
  put_file(ws, "dir_to_file/sub/deep", "deep");
  put_file(ws, "file_to_link", "file");
  ASSERT_TRUE(ws.make_symlink(rel("link_to_file"), "changed"));
  ASSERT_TRUE(ws.make_symlink(rel("link_to_link"), "changed"));
  put_file(ws, "emptied/only", "only");
  put_file(ws, "untouched", "untouched");
}

void rich_change(ChangeBuilder& change) {
  change.write("changed", "new content", 0751).remove("deleted").rename("renamed", "moved/here");
  change.directory("moved").rename("swap_a", "swap_b").rename("swap_b", "swap_a");
  change.mode("mode", 0755).directory("file_to_dir").write("file_to_dir/child", "child");
  change.remove("dir_to_file/in").remove("dir_to_file/sub").remove("dir_to_file/sub/deep");
  change.write("dir_to_file", "now a file").link("file_to_link", "untouched");
  change.write("link_to_file", "real").link("link_to_link", "untouched");
  change.remove("emptied/only").remove("emptied").directory("new/empty").directory("new");
  change.write("created", "created", 0600);
}

void two_files(const WritableDirectory& ws) {
  put_file(ws, "a", "old a");
  put_file(ws, "b", "old b, somewhat longer");
  put_file(ws, "c", "old c");
}

void closed_folder(const WritableDirectory& ws) {
  put_file(ws, "d/f", "f");
  put_file(ws, "d/sub/g", "g", 0444);
  put_file(ws, "plain", "plain");
  ASSERT_TRUE(ws.set_mode(rel("d/sub"), 0555));
  ASSERT_TRUE(ws.set_mode(rel("d"), 0500));
}

/// Shapes for a user who is not root; root runs them, too.
std::vector<CrashCase> make_mode_cases() {
  std::vector<CrashCase> cases;
  cases.push_back({"read-only files",
                   [](const WritableDirectory& ws) {
                     put_file(ws, "a", "old a", 0444);
                     put_file(ws, "b", "old b", 0555);
                     put_file(ws, "c", "old c", 0400);
                     put_file(ws, "d", "d", 0440);
                   },
                   [](auto& c) {
                     c.write("a", "new a", 0444).write("b", "new b", 0555).remove("c");
                     c.write("n", "new", 0400).write("m", "new m", 0511).mode("d", 0500);
                   }});
  CrashCase unreadable = {"unreadable files", two_files, [](auto& c) {
                            c.write("a", "new a", 0000).write("b", "new b, long", 0200);
                            c.mode("c", 0000).write("n", "n", 0000).write("m", "m", 0300);
                          }};
  unreadable.is_unreadable = true;
  cases.push_back(unreadable);
  cases.push_back({"a folder is closed",
                   [](const WritableDirectory& ws) {
                     put_file(ws, "d/f", "f");
                     put_file(ws, "d/g", "g");
                   },
                   [](auto& c) {
                     c.mode("d", 0500).write("d/f", "new f").write("d/n", "n", 0444);
                     c.remove("d/g").directory("e", 0555).write("e/x", "x");
                   }});
  cases.push_back({"a folder is opened", closed_folder, [](auto& c) {
                     c.mode("d", 0755).write("d/f", "new f").write("d/n", "n").write("plain", "p");
                     c.mode("d/sub", 0500).write("d/sub/g", "new g", 0444);
                   }});
  cases.push_back({"a closed folder goes", closed_folder, [](auto& c) {
                     c.remove("d/f").remove("d/sub/g").remove("d/sub").remove("d");
                     c.write("plain", "new");
                   }});
  cases.push_back({"a closed folder becomes a file", closed_folder, [](auto& c) {
                     c.remove("d/f").remove("d/sub/g").remove("d/sub").write("d", "file", 0444);
                     c.directory("plain", 0500).write("plain/x", "x");
                   }});
  CrashCase hidden = {"a folder is hidden",
                      [](const WritableDirectory& ws) {
                        put_file(ws, "d/f", "f");
                        put_file(ws, "e/f", "f");
                      },
                      [](auto& c) {
                        c.mode("d", 0000).write("d/f", "new f").mode("e", 0300).write("e/n", "n");
                        c.directory("n", 0100).write("n/x", "x", 0000);
                      }};
  hidden.is_unreadable = true;
  cases.push_back(hidden);
  cases.push_back({"foreign groups",
                   [](const WritableDirectory& ws) {
                     constexpr uint32_t kKeep = UINT32_MAX;
                     put_file(ws, "a", "old a", 0664);
                     put_file(ws, "b", "old b", 0660);
                     put_file(ws, "d/x", "x", 0604);
                     ASSERT_TRUE(ws.set_owner(rel("a"), kKeep, kSecondGroup));
                     ASSERT_TRUE(ws.set_owner(rel("b"), kKeep, kForeignGroup));
                     ASSERT_TRUE(ws.set_owner(rel("d/x"), kKeep, kForeignGroup));
                     ASSERT_TRUE(ws.set_owner(rel("d"), kKeep, kSecondGroup));
                     ASSERT_TRUE(ws.set_mode(rel("d"), 02775));
                   },
                   [](auto& c) {
                     c.write("a", "new a", 0664).write("b", "new b", 0660).write("d/x", "y", 0604);
                     c.write("d/n", "n").directory("d/sub").write("d/sub/m", "m");
                   }});
  CrashCase every = {"every mode",
                     [](const WritableDirectory& ws) {
                       for (uint32_t bits = 0; bits < 8; ++bits) {
                         put_file(ws, "m" + std::to_string(bits), "m");
                       }
                     },
                     [](auto& c) {
                       for (uint32_t bits = 0; bits < 8; ++bits) {
                         const std::string name = std::to_string(bits);
                         c.write("n" + name, "new " + name, bits << 6U | bits);
                         c.mode("m" + name, bits << 6U | bits << 3U);
                       }
                     }};
  every.is_unreadable = true;
  cases.push_back(every);
  return cases;
}

std::vector<CrashCase> make_cases() {
  std::vector<CrashCase> cases;
  cases.push_back({"change one", two_files, [](auto& c) { c.write("a", "new a"); }});
  cases.push_back({"change three", two_files, [](auto& c) {
                     c.write("a", "new a").write("b", "").write("c", "new c and more");
                   }});
  cases.push_back({"create", two_files, [](auto& c) {
                     c.write("n", "n").write("d/x", "x").directory("d").write("empty", "");
                   }});
  cases.push_back({"delete", two_files, [](auto& c) { c.remove("a").remove("b"); }});
  cases.push_back(
      {"delete a tree",
       [](const WritableDirectory& ws) {
         put_file(ws, "d/e/f", "f");
         ASSERT_TRUE(ws.make_symlink(rel("d/e/outside"), "/usr/bin/env"));
       },
       [](auto& c) { c.remove("d/e/outside").remove("d/e/f").remove("d/e").remove("d"); }});
  cases.push_back({"rename", two_files, [](auto& c) { c.rename("a", "d/a").directory("d"); }});
  cases.push_back(
      {"rename chain", two_files, [](auto& c) { c.rename("b", "z").rename("a", "b"); }});
  cases.push_back({"swap", two_files, [](auto& c) { c.rename("a", "b").rename("b", "a"); }});
  cases.push_back({"cycle of three", two_files,
                   [](auto& c) { c.rename("a", "b").rename("b", "c").rename("c", "a"); }});
  cases.push_back({"rename a directory",
                   [](const WritableDirectory& ws) { put_file(ws, "d/f", "f"); },
                   [](auto& c) { c.directory("e").rename("d/f", "e/f").remove("d"); }});
  cases.push_back({"file to directory", two_files,
                   [](auto& c) { c.directory("a").write("a/x", "x").write("a/y", "y"); }});
  cases.push_back(
      {"directory to file",
       [](const WritableDirectory& ws) {
         put_file(ws, "d/x", "x");
         put_file(ws, "d/e/y", "y");
       },
       [](auto& c) { c.remove("d/x").remove("d/e/y").remove("d/e").write("d", "file"); }});
  cases.push_back({"links",
                   [](const WritableDirectory& ws) {
                     put_file(ws, "f", "f");
                     ASSERT_TRUE(ws.make_symlink(rel("l"), "f"));
                     ASSERT_TRUE(ws.make_symlink(rel("m"), "f"));
                     ASSERT_TRUE(ws.make_symlink(rel("gone"), "f"));
                   },
                   [](auto& c) {
                     c.link("f", "elsewhere").write("l", "file").link("m", "l");
                     c.remove("gone").link("fresh", "f");
                   }});
  cases.push_back({"modes",
                   [](const WritableDirectory& ws) {
                     put_file(ws, "f", "f");
                     put_file(ws, "d/g", "g");
                     put_file(ws, "linked", "l");
                     ASSERT_TRUE(ws.make_hard_link(rel("linked"), ws, rel("other_name")));
                   },
                   [](auto& c) {
                     c.mode("linked", 0755);
                     c.mode("f", 0755).mode("d", 0555).mode("d/g", 0600).write("d/h", "h");
                   }});
  cases.push_back({"six operations",
                   [](const WritableDirectory& ws) {
                     for (const auto* name : {"a", "b", "c", "d"}) put_file(ws, name, name);
                   },
                   [](auto& c) {
                     c.write("a", "new a").write("b", "new b").write("c", "new c");
                     c.write("n", "new n").write("m", "new m").remove("d");
                   }});
  if (geteuid() == 0) {
    CrashCase owners = {"owners",
                        [](const WritableDirectory& ws) {
                          put_file(ws, "a", "a");
                          put_file(ws, "b", "old b", 0640);
                          put_file(ws, "d/f", "f");
                          put_file(ws, "e/f", "f");
                        },
                        [](auto& c) {
                          c.give("a", kGivenUser).write("b", "new b", 0600).give("b", kGivenUser);
                          c.give("d", kGivenUser).mode("e", 0500).give("e", kGivenUser);
                          c.write("n", "n").give("n", kGivenUser).mode("d/f", 0600);
                        }};
    owners.is_for_root = true;
    cases.push_back(owners);
  }
  cases.push_back({"rich", rich_tree, rich_change});
  return cases;
}

}  // namespace

bool is_full() { return std::getenv("GALLEY_CRASH_FULL") != nullptr; }

CrashCase as_user(CrashCase shape) {
  shape.name += " as a user";
  shape.is_as_user = true;
  return shape;
}

std::vector<CrashCase> make_all_cases() {
  std::vector<CrashCase> all;
  for (const auto& shape : make_cases()) {
    all.push_back(shape);
    if (is_full() && !shape.is_for_root) all.push_back(as_user(shape));
  }
  for (const auto& shape : make_mode_cases()) {
    all.push_back(shape);
    all.push_back(as_user(shape));
  }
  return all;
}

const std::vector<CrashCase>& crash_cases() {
  static const auto cases = make_all_cases();
  return cases;
}

const CrashCase& crash_case(std::string_view name) {
  for (const auto& shape : crash_cases()) {
    if (shape.name == name) return shape;
  }
  for (const auto& shape : make_cases()) {
    static std::map<std::string, CrashCase, std::less<>> others;
    const CrashCase& made =
        others.try_emplace(shape.name + " as a user", as_user(shape)).first->second;
    if (made.name == name) return made;
  }
  ADD_FAILURE() << "no case " << name;
  return crash_cases().front();
}

int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

size_t stride_of(const CrashCase& shape, size_t stride) {
  const bool is_large = shape.name.starts_with("rich") || shape.name.starts_with("every mode");
  return is_full() || !is_large ? 1 : stride;
}

Result<PublishOutcome> publish_through(const CaseWorkspace& workspace,
                                       const std::shared_ptr<FaultPlan>& plan) {
  const auto spoiled = make_fault_directory(open_memory_tree(workspace.tree), plan);
  return publish(*spoiled, *workspace.proposal);
}

std::string name_of_test(const CrashCase& shape) {
  std::string name = shape.name;
  for (char& c : name) {
    if (c == ' ' || c == '-') c = '_';
  }
  return name;
}

namespace {

/// Everything gets the user's id, and his group where the shape gave it none.
void give_away(const WritableDirectory& directory, uint32_t group) {
  const auto give = [&](const RelPath& path) {
    const auto stat = directory.stat(path);
    ASSERT_TRUE(stat);
    ASSERT_TRUE(directory.set_owner(path, kUserId, stat->gid == group ? kUserId : stat->gid));
    // A change of owner clears bits.
    if (stat->kind != FileKind::kSymlink) {
      ASSERT_TRUE(directory.set_mode(path, stat->mode));
    }
  };
  const auto entries = directory.list();
  ASSERT_TRUE(entries);
  for (const auto& entry : *entries) {
    if (entry.kind == FileKind::kDirectory) {
      const auto below = directory.open_writable_directory(rel(entry.name));
      ASSERT_TRUE(below);
      give_away(**below, group);
    } else {
      give(rel(entry.name));
    }
  }
  give(RelPath::root());
}

/// In memory it is the user that runs the test, since `.galley` must be his, without root's rights.
MemoryUser user_of_cases() { return MemoryUser{geteuid(), getegid(), {kSecondGroup}}; }

}  // namespace

void prepare_tree(const CrashCase& shape, const WritableDirectory& directory) {
  shape.prepare(directory);
  const bool is_on_disk = memory_tree_of(directory) == nullptr;
  if (shape.is_as_user && is_on_disk) give_away(directory, directory.stat(RelPath::root())->gid);
}

void prepare_case(const CrashCase& shape, const WritableDirectory& directory) {
  prepare_tree(shape, directory);
  if (auto* tree = memory_tree_of(directory); tree != nullptr && shape.is_as_user) {
    tree->user = user_of_cases();
  }
  prepare_history(directory);
}

void prepare_history(const WritableDirectory& directory) {
  // So that the state directory stands and the history is not empty.
  const auto first = publish(directory, ChangeBuilder(directory).write("first", "1").proposal());
  ASSERT_TRUE(first) << first.error().message;
}

Proposal propose_case(const CrashCase& shape, const WritableDirectory& directory) {
  ChangeBuilder change(directory);
  shape.change(change);
  return change.proposal();
}

TreePicture picture_after(const CrashCase& shape) {
  const auto directory = open_memory_tree(std::make_shared<MemoryTree>());
  prepare_case(shape, *directory);
  const auto done = publish(*directory, propose_case(shape, *directory));
  EXPECT_TRUE(done && std::holds_alternative<Receipt>(*done)) << shape.name;
  return picture_of(*directory);
}

namespace {

MemoryNodePtr copy_of(const MemoryNodePtr& node, std::map<const MemoryNode*, MemoryNodePtr>& done) {
  auto& copy = done[node.get()];
  if (copy != nullptr) return copy;
  copy = std::make_shared<MemoryNode>(*node);
  copy->locks.clear();
  const MemoryNodePtr made = copy;  // the map may grow below
  for (auto& [name, child] : made->entries) child = copy_of(child, done);
  return made;
}

/// Made once a shape: a matrix needs it again for each of its cases.
const CaseWorkspace& prepared_case(const CrashCase& shape) {
  static std::map<std::string, CaseWorkspace> prepared;
  CaseWorkspace& made = prepared[shape.name];
  if (made.tree != nullptr) return made;
  made.tree = std::make_shared<MemoryTree>();
  made.directory = open_memory_tree(made.tree);
  prepare_case(shape, *made.directory);
  made.proposal = std::make_unique<Proposal>(propose_case(shape, *made.directory));
  made.before = picture_of(*made.directory);
  made.after = picture_after(shape);
  return made;
}

}  // namespace

std::shared_ptr<MemoryTree> copy_of(const MemoryTree& tree) {
  auto copy = std::make_shared<MemoryTree>();
  std::map<const MemoryNode*, MemoryNodePtr> done;
  copy->root = copy_of(tree.root, done);
  copy->next_inode = tree.next_inode;
  copy->now_ns = tree.now_ns;
  copy->capacity_bytes = tree.capacity_bytes;
  copy->used_bytes = tree.used_bytes;
  copy->user = tree.user;
  return copy;
}

CaseWorkspace make_case(const CrashCase& shape) {
  const CaseWorkspace& prepared = prepared_case(shape);
  CaseWorkspace made;
  made.tree = copy_of(*prepared.tree);
  made.directory = open_memory_tree(made.tree);
  made.proposal = std::make_unique<Proposal>(*prepared.proposal);
  made.before = prepared.before;
  made.after = prepared.after;
  return made;
}

RelPath in_state(const WritableDirectory& workspace, const std::string& place) {
  const auto state = StateDirectory::open(workspace);
  GALLEY_CHECK(state && *state);
  return rel(".galley/" + (*state)->own(place).str());
}

std::vector<std::string> litter_of(const WritableDirectory& workspace) {
  std::vector<std::string> litter;
  const auto root = workspace.open_writable_directory(rel(".galley"));
  if (!root) return litter;
  const auto names_in = [&](const char* name) {
    std::vector<std::string> names;
    const auto directory = (*root)->open_writable_directory(rel(name));
    if (!directory) return names;
    const auto entries = (*directory)->list();
    if (!entries) return names;
    for (const auto& entry : *entries) names.push_back(entry.name);
    return names;
  };
  const auto journals = names_in("j");
  for (const auto& name : names_in("slot")) {
    // The caught inodes of a finished transaction are kept for late writers until it is retired.
    const bool is_kept = std::count(journals.begin(), journals.end(), name + ".j") > 0;
    if (!is_kept) litter.push_back("slot/" + name);
  }
  for (const auto& name : names_in("wait")) litter.push_back("wait/" + name);
  for (const auto& name : names_in("rescue")) litter.push_back("rescue/" + name);
  for (const auto& name : names_in("quarantine")) litter.push_back("quarantine/" + name);
  static const std::set<std::string> kExpected = {"format", "lock", "j",    "undo",
                                                  "slot",   "wait", "blob", ".gitignore"};
  const auto entries = (*root)->list();
  if (!entries) return litter;
  for (const auto& entry : *entries) {
    if (kExpected.count(entry.name) == 0) litter.push_back(entry.name);
  }
  return litter;
}

std::string difference(const TreePicture& have, const TreePicture& want) {
  std::string text;
  for (const auto& [path, value] : have) {
    const auto found = want.find(path);
    if (found == want.end())
      text += "  + " + path + " = " + value + "\n";
    else if (found->second != value)
      text += "  ~ " + path + " = " + value + "\n";
  }
  for (const auto& [path, value] : want) {
    if (have.count(path) == 0) text += "  - " + path + " = " + value + "\n";
  }
  return text;
}

void CrashRow::judge(const WritableDirectory& workspace, const TreePicture& before,
                     const TreePicture& after, const std::string& where) {
  ++cases_;
  const TreePicture now = picture_of(workspace);
  was_new_ = now != before;
  if (now == before) {
    ++old_;
  } else if (now == after) {
    ++new_;
  } else {
    ++mixed_;
    ADD_FAILURE() << operation_ << ", " << where << ": mixed tree; against old:\n"
                  << difference(now, before) << "against new:\n"
                  << difference(now, after);
  }
  const auto litter = litter_of(workspace);
  if (litter.empty()) return;
  ++litter_;
  ADD_FAILURE() << operation_ << ", " << where << ": litter " << litter.front();
}

void CrashRow::judge_next(const WritableDirectory& workspace, const std::string& where,
                          const std::string& boot) {
  const AsRoot as_root(workspace);
  ChangeBuilder next(workspace);
  next.write("made-after-the-crash", "next");
  PublisherOptions options = test_options();
  options.boot_id = boot;
  const auto outcome = publish(workspace, next.proposal(), options);
  ASSERT_TRUE(outcome) << where << ": " << outcome.error().message;
  const auto* receipt = std::get_if<Receipt>(&*outcome);
  ASSERT_NE(receipt, nullptr) << where;
  EXPECT_EQ(receipt->id.value, was_new_ ? 3U : 2U) << where << ": the number of the next commit";
}

void CrashRow::judge_history(const WritableDirectory& workspace, const TreePicture& tree,
                             bool is_old, const std::string& where) {
  judge(workspace, tree, tree, where);
  if (is_old || old_ == 0) return;
  --old_;
  ++new_;
}

CrashRow::~CrashRow() {
  std::printf("CRASH | %-34s | %5zu | %6zu | %6zu | %6zu | %7zu | %5zu | %6zu\n",
              operation_.c_str(), calls_, cases_, old_, new_, refused_, mixed_, litter_);
}

}  // namespace galley
