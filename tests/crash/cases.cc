#include "crash/cases.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "staging/fs/memory_tree.h"

namespace galley {
namespace {

void rich_tree(const Directory& ws) {
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

void two_files(const Directory& ws) {
  put_file(ws, "a", "old a");
  put_file(ws, "b", "old b, somewhat longer");
  put_file(ws, "c", "old c");
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
  cases.push_back({"delete a tree", [](const Directory& ws) { put_file(ws, "d/e/f", "f"); },
                   [](auto& c) { c.remove("d/e/f").remove("d/e").remove("d"); }});
  cases.push_back({"rename", two_files, [](auto& c) { c.rename("a", "d/a").directory("d"); }});
  cases.push_back(
      {"rename chain", two_files, [](auto& c) { c.rename("b", "z").rename("a", "b"); }});
  cases.push_back({"swap", two_files, [](auto& c) { c.rename("a", "b").rename("b", "a"); }});
  cases.push_back({"cycle of three", two_files,
                   [](auto& c) { c.rename("a", "b").rename("b", "c").rename("c", "a"); }});
  cases.push_back({"rename a directory", [](const Directory& ws) { put_file(ws, "d/f", "f"); },
                   [](auto& c) { c.directory("e").rename("d/f", "e/f").remove("d"); }});
  cases.push_back({"file to directory", two_files,
                   [](auto& c) { c.directory("a").write("a/x", "x").write("a/y", "y"); }});
  cases.push_back(
      {"directory to file",
       [](const Directory& ws) {
         put_file(ws, "d/x", "x");
         put_file(ws, "d/e/y", "y");
       },
       [](auto& c) { c.remove("d/x").remove("d/e/y").remove("d/e").write("d", "file"); }});
  cases.push_back({"links",
                   [](const Directory& ws) {
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
                   [](const Directory& ws) {
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
                   [](const Directory& ws) {
                     for (const auto* name : {"a", "b", "c", "d"}) put_file(ws, name, name);
                   },
                   [](auto& c) {
                     c.write("a", "new a").write("b", "new b").write("c", "new c");
                     c.write("n", "new n").write("m", "new m").remove("d");
                   }});
  cases.push_back({"rich", rich_tree, rich_change});
  return cases;
}

}  // namespace

const std::vector<CrashCase>& crash_cases() {
  static const auto cases = make_cases();
  return cases;
}

const CrashCase& crash_case(std::string_view name) {
  for (const auto& shape : crash_cases()) {
    if (shape.name == name) return shape;
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
  const bool is_full = std::getenv("GALLEY_CRASH_FULL") != nullptr;
  return is_full || shape.name != "rich" ? 1 : stride;
}

void prepare_case(const CrashCase& shape, const Directory& directory) {
  shape.prepare(directory);
  // So that the state directory stands and the history is not empty.
  const auto first = publish(directory, ChangeBuilder(directory).write("first", "1").proposal());
  ASSERT_TRUE(first) << first.error().message;
}

Proposal propose_case(const CrashCase& shape, const Directory& directory) {
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

std::vector<std::string> litter_of(const Directory& workspace) {
  std::vector<std::string> litter;
  const auto root = workspace.open_directory(rel(".galley"));
  if (!root) return litter;
  const auto names_in = [&](const char* name) {
    std::vector<std::string> names;
    const auto directory = (*root)->open_directory(rel(name));
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

void CrashRow::judge(const Directory& workspace, const TreePicture& before,
                     const TreePicture& after, const std::string& where) {
  ++cases_;
  const TreePicture now = picture_of(workspace);
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

void CrashRow::judge_history(const Directory& workspace, const TreePicture& tree, bool is_old,
                             const std::string& where) {
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
