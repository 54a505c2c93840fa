// A command sees the proposed tree, and its changes are staged.
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "staging/overlay/change_set.h"
#include "staging/sandbox/live_run.h"
#include "staging/sandbox/sandbox.h"
#include "tests/system/sandbox/world.h"

namespace galley {
namespace {

class SandboxBasics : public SandboxTest {};

TEST_P(SandboxBasics, SeesTheProposedTreeAndStagesItsEffects) {
  as_user(GetParam(), [] {
    World world;
    const std::string before = world.picture();
    ASSERT_TRUE(world.overlay().write(rel("a.txt"), "proposed\n").has_value());
    ASSERT_TRUE(world.overlay().put(rel("dir/b.txt"), Node{}).has_value());
    const CommandResult result = world.sh(
        "cat a.txt; ls dir; echo made > dir/new.txt; echo more >> a.txt; rm run.sh; chmod 600 "
        "dir/sub/c.txt; ln -s ../a.txt dir/link");
    EXPECT_EQ(result.exit_code, 0) << result.standard_error.text();
    EXPECT_EQ(result.standard_output.text(), "proposed\nsub\n");
    EXPECT_TRUE(result.effects_staged);
    EXPECT_EQ(result.level, SandboxLevel::kNamespaces);
    EXPECT_NE(result.walls.find("seccomp"), std::string::npos);
    EXPECT_EQ(world.changes(),
              (std::vector<std::string>{"M a.txt", "D dir/b.txt", "A dir/link", "A dir/new.txt",
                                        "M dir/sub/c.txt", "D run.sh"}));
    EXPECT_EQ(**world.overlay().read(rel("a.txt")), "proposed\nmore\n");
    EXPECT_EQ(*world.overlay().read_link(rel("dir/link")), "../a.txt");
    EXPECT_EQ(world.overlay().node(rel("dir/sub/c.txt"))->mode, 0600U);
    EXPECT_EQ(world.picture(), before);
  });
}

TEST_P(SandboxBasics, AProgramOfARunStartsOnlyWhenTheRunIsOnRecord) {
  as_user(GetParam(), [] {
    World world;
    const TempDirectory upper;
    const TempDirectory lower;
    SandboxOptions sandbox;
    sandbox.workspace = world.root();
    sandbox.helper = helper_program();
    Command command;
    command.argv = {"sh", "-c", "echo > ran"};
    for (const bool is_recorded : {false, true}) {
      LiveOptions live;
      live.homes = {upper.path(), lower.path()};
      const std::string ran = live.homes.upper + "/upper/ran";
      live.before_program = [&](const LiveRun&) -> Result<void> {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));  // enough for a shell to start
        EXPECT_FALSE(std::filesystem::exists(ran));
        if (is_recorded) return {};
        return fail(ErrorKind::kIo, "io.no_space", "the note cannot be written");
      };
      auto run = start_live_run(sandbox, command, live, world.overlay());
      EXPECT_EQ(run.has_value(), is_recorded);
      if (!run) {
        EXPECT_EQ(run.error().reason, "io.no_space");
        EXPECT_FALSE(std::filesystem::exists(ran));
        continue;
      }
      pollfd ended{(*run)->control(), POLLIN, 0};
      EXPECT_EQ(poll(&ended, 1, -1), 1);
      EXPECT_EQ((*run)->result()->exit_code, 0);
      EXPECT_TRUE(std::filesystem::exists(ran));
    }
  });
}

TEST_P(SandboxBasics, NextCommandSeesChangesOfTheLastOne) {
  as_user(GetParam(), [] {
    World world;
    world.sh("mkdir -p out/x && echo 1 > out/x/one && rm -r dir");
    world.sh("echo 2 > out/x/two; mkdir dir; echo z > dir/z");
    const CommandResult result = world.sh("cat out/x/*; ls dir");
    EXPECT_EQ(result.standard_output.text(), "1\n2\nz\n");
    EXPECT_EQ(world.changes(),
              (std::vector<std::string>{"D dir/b.txt", "D dir/sub", "D dir/sub/c.txt", "A dir/z",
                                        "A out", "A out/x", "A out/x/one", "A out/x/two"}));
  });
}

TEST_P(SandboxBasics, FailedCommandStagesNothingUnlessAsked) {
  as_user(GetParam(), [] {
    World world;
    CommandResult result = world.sh("echo x > left.txt; exit 3");
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_FALSE(result.effects_staged);
    EXPECT_TRUE(world.changes().empty());
    world.defaults().effects = EffectsRule::kStageAlways;
    result = world.sh("echo x > left.txt; exit 3");
    EXPECT_TRUE(result.effects_staged);
    EXPECT_EQ(world.changes(), (std::vector<std::string>{"A left.txt"}));
  });
}

TEST_P(SandboxBasics, DroppedEffectsCanStillBeCollected) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().effects = EffectsRule::kDrop;
    world.defaults().collect = {rel("report.json"), rel("a.txt"), rel("missing")};
    const CommandResult result = world.sh("echo '{}' > report.json");
    EXPECT_TRUE(world.changes().empty());
    ASSERT_EQ(result.collected.size(), 2U);
    EXPECT_EQ(result.collected.at(rel("report.json")), "{}\n");
    EXPECT_EQ(result.collected.at(rel("a.txt")), "alpha\n");
  });
}

TEST_P(SandboxBasics, IgnoredOutputsStayInTheScratchLayer) {
  as_user(GetParam(), [] {
    SandboxOptions options;
    options.is_ignored = [](const RelPath& path, bool, const Deadline&) {
      const bool is_ignored =
          path.str() == "build" || path.is_below(rel("build")) || path.str().ends_with(".o");
      return is_ignored ? IgnoreAnswer::kIgnored : IgnoreAnswer::kCounts;
    };
    World world(std::move(options));
    CommandResult result =
        world.sh("mkdir build obj; echo o > build/out; echo o > obj/x.o; echo c > y.c");
    EXPECT_EQ(result.ignored_paths, 2U);
    EXPECT_EQ(world.changes(), (std::vector<std::string>{"A y.c"}));
    result = world.sh("cat build/out obj/x.o; echo 2 >> build/out; echo n > build/n; rm obj/x.o");
    EXPECT_EQ(result.standard_output.text(), "o\no\n");
    result = world.sh("cat build/out build/n; ls obj");
    EXPECT_EQ(result.standard_output.text(), "o\n2\nn\n");
    EXPECT_EQ(world.changes(), (std::vector<std::string>{"A y.c"}));
    world.defaults().propose_ignored = true;
    world.sh("echo p > build/proposed");
    EXPECT_EQ(world.changes(), (std::vector<std::string>{"A build", "A build/proposed", "A y.c"}));
  });
}

TEST_P(SandboxBasics, UnchangedCopyUpsAreNotAChange) {
  as_user(GetParam(), [] {
    World world;
    const CommandResult result = world.sh(
        "touch a.txt; chmod 644 dir/b.txt; cat dir/sub/c.txt > t; cat t > dir/sub/c.txt; "
        "rm t; chmod 755 dir");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(world.changes().empty());
  });
}

TEST_P(SandboxBasics, KeptDirectoriesPersistAndAreNotStaged) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().effects = EffectsRule::kDrop;
    world.defaults().keep = {rel("cache")};
    world.defaults().keep_name = "lint";
    world.sh("echo warm > cache/state; echo gone > other");
    CommandResult result = world.sh("cat cache/state; ls");
    EXPECT_EQ(result.standard_output.text(), "warm\na.txt\ncache\ndir\nrun.sh\n");
    world.defaults().keep_name = "another";
    result = world.sh("ls cache");
    EXPECT_EQ(result.standard_output.text(), "");
    world.defaults().effects = EffectsRule::kStageAlways;
    world.sh("echo x > cache/x");
    EXPECT_TRUE(world.changes().empty());
  });
}

TEST_P(SandboxBasics, InputEnvironmentAndWorkingDirectoryArrive) {
  as_user(GetParam(), [] {
    World world;
    Command command;
    command.argv = {"sh", "-c", "cat; pwd; echo $COLOUR; echo $0"};
    command.input = std::string(300'000, 'x') + "end\n";
    command.environment["COLOUR"] = "green";
    command.working_directory = rel("dir/sub");
    command.limits.max_stdout_bytes = 1'000'000;
    const CommandResult result = world.run(command);
    EXPECT_EQ(result.standard_output.text(),
              command.input + world.root() + "/dir/sub\ngreen\nsh\n");
  });
}

TEST_P(SandboxBasics, ProgramOfTheWorkspaceRunsByItsRelativePath) {
  as_user(GetParam(), [] {
    World world;
    Command command;
    command.argv = {"./run.sh", "one"};
    EXPECT_EQ(world.run(command).standard_output.text(), "ran one\n");
    command.working_directory = rel("dir");
    command.argv = {"../run.sh"};
    EXPECT_EQ(world.run(command).standard_output.text(), "ran\n");
  });
}

TEST_P(SandboxBasics, MissingAndUnrunnableProgramsAreErrors) {
  as_user(GetParam(), [] {
    World world;
    Command command;
    command.argv = {"./nothing"};
    EXPECT_EQ(world.try_run(command).error().reason, "sandbox.program_not_found");
    command.argv = {"./a.txt"};
    EXPECT_EQ(world.try_run(command).error().reason, "sandbox.program_not_runnable");
    command.argv = {};
    EXPECT_EQ(world.try_run(command).error().reason, "sandbox.bad_command");
    command.argv = {"true"};
    command.environment["A=B"] = "x";
    EXPECT_EQ(world.try_run(command).error().reason, "sandbox.bad_command");
    command.environment.clear();
    command.working_directory = rel("no/such");
    EXPECT_EQ(world.try_run(command).error().kind, ErrorKind::kRefused);
  });
}

TEST_P(SandboxBasics, OutputStreamsThroughTheCallback) {
  as_user(GetParam(), [] {
    World world;
    std::string out;
    std::string err;
    world.defaults().on_output = [&](OutputStream stream, std::string_view text) {
      (stream == OutputStream::kStdout ? out : err) += text;
    };
    world.defaults().limits.max_stdout_bytes = 10;
    const CommandResult result = world.sh("seq 1 100; echo oops >&2");
    EXPECT_EQ(out, "1\n2\n3\n100\n");
    EXPECT_EQ(err, "oops\n");
    EXPECT_EQ(result.standard_output.omitted_bytes, 282U);
  });
}

TEST_P(SandboxBasics, DeterministicCommandsSeeAFixedWorld) {
  as_user(GetParam(), [] {
    (void)setenv("TZ", "Asia/Tokyo", 1);
    World world;
    world.defaults().is_deterministic = true;
    const CommandResult result = world.sh("date -d @$SOURCE_DATE_EPOCH; env | cut -d= -f1");
    EXPECT_EQ(result.standard_output.head.substr(0, 29), "Tue Jan  1 00:00:00 UTC 1980\n");
    (void)unsetenv("TZ");
  });
}

TEST_P(SandboxBasics, ValidatorsRunSideBySideOnOneProposal) {
  as_user(GetParam(), [] {
    World world;
    ASSERT_TRUE(world.overlay().write(rel("a.txt"), "judge me\n").has_value());
    const Proposal proposal = Proposal::freeze(world.overlay());
    const auto workspace = open_writable_disk_directory(world.root());
    SystemClock clock;
    std::vector<std::thread> threads;
    std::vector<std::string> seen(4);
    for (std::string& text : seen) {
      threads.emplace_back([&] {
        Overlay overlay = overlay_of(proposal, **workspace, clock);
        Command command;
        command.argv = {"sh", "-c", "cat a.txt; echo mine > a.txt"};
        command.effects = EffectsRule::kDrop;
        const auto result = world.runner().run(command, overlay);
        text = result ? result->standard_output.text() : result.error().message;
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& text : seen) EXPECT_EQ(text, "judge me\n");
  });
}

TEST_P(SandboxBasics, NothingIsLeftOfTheLayers) {
  as_user(GetParam(), [] {
    World world;
    world.sh("mkdir -p deep/er; echo x > deep/er/x; chmod 000 deep/er/x; chmod 000 deep/er");
    world.drop_runner();
    EXPECT_TRUE(std::filesystem::is_empty(world.home() + "/run"));
  });
}

TEST_P(SandboxBasics, PrivateHomeOfLayersIsRemovedWithTheRunner) {
  as_user(GetParam(), [] {
    const TempDirectory own;
    const TempDirectory workspace;
    (void)setenv("TMPDIR", own.path().c_str(), 1);
    SystemClock clock;
    SandboxOptions options;
    options.workspace = workspace.path();
    options.helper = helper_program();
    {
      const auto runner = make_sandbox(options, clock);
      (void)unsetenv("TMPDIR");
      ASSERT_TRUE(runner.has_value());
      Overlay overlay(workspace.directory(), make_memory_store(), clock);
      Command command;
      command.argv = {"sh", "-c", "echo x > x"};
      EXPECT_TRUE((*runner)->run(command, overlay).has_value());
      EXPECT_FALSE(std::filesystem::is_empty(own.path()));
    }
    EXPECT_TRUE(std::filesystem::is_empty(own.path()));
    EXPECT_TRUE(std::filesystem::is_empty(workspace.path()));
  });
}

INSTANTIATE_TEST_SUITE_P(Users, SandboxBasics, testing::Values(User::kRoot, User::kNobody),
                         [](const auto& test) {
                           return test.param == User::kRoot ? "Root" : "Nobody";
                         });

}  // namespace
}  // namespace galley
