// Commands try to escape, and the walls stop them. Everything happens in the sandbox of the test,
// and the targets outside are in temporary directories of the test.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/system/sandbox/world.h"

namespace galley {
namespace {

class SandboxHostile : public SandboxTest {};

/// Python that reports the error of each raw system call.
constexpr const char* kProbe = R"(
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    ctypes.set_errno(0)
    r = libc.syscall(*args)
    return 'done' if r >= 0 else errno.errorcode[ctypes.get_errno()]
)";

void expect_no(World& world, const std::string& script) {
  const CommandResult result = world.sh(script);
  EXPECT_TRUE(result.exit_code.has_value() && *result.exit_code != 0)
      << script << "\n"
      << result.standard_output.text() << result.standard_error.text();
}

TEST_P(SandboxHostile, OutsideCannotBeWrittenByAnyPath) {
  as_user(GetParam(), [] {
    World world;
    const TempDirectory outside;
    const std::string target = outside.path() + "/target";
    for (const std::string& prefix :
         {std::string(), std::string("/proc/self/root"), std::string("/proc/1/root"),
          std::string("/proc/1/cwd"), world.root() + "/../.."}) {
      expect_no(world, "echo x > " + prefix + target);
    }
    EXPECT_TRUE(std::filesystem::is_empty(outside.path()));
    expect_no(world, "echo x > /etc/galley-test");
    expect_no(world, "echo x > /usr/galley-test");
    expect_no(world, "echo x > /galley-test");
    expect_no(world, "mkdir /run/x");
  });
}

TEST_P(SandboxHostile, SecretsOfTheMachineCannotBeRead) {
  as_user(GetParam(), [] {
    (void)setenv("GALLEY_TEST_SECRET", "hunter2", 1);
    World world;
    const CommandResult result = world.sh(
        "env; cat /proc/1/environ /proc/2/environ; cat /etc/shadow; ls /root /home /var/log; cat "
        "/proc/1/maps");
    EXPECT_EQ(result.standard_output.text().find("hunter2"), std::string::npos);
    EXPECT_NE(result.standard_error.text().find("/etc/shadow"), std::string::npos);
    EXPECT_EQ(result.standard_output.text().find("root:"), std::string::npos);
    (void)unsetenv("GALLEY_TEST_SECRET");
  });
}

TEST_P(SandboxHostile, DescriptorsOfOtherProcessesCannotBeUsed) {
  as_user(GetParam(), [] {
    World world;
    const CommandResult result = world.python(R"(
import os
print(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')))
for path in ['/proc/1/fd', '/proc/1/mem', '/proc/1/exe']:
    try:
        os.listdir(path) if path.endswith('fd') else open(path, 'rb').read(1)
        print('reached', path)
    except OSError as e:
        print('no', path)
)");
    EXPECT_EQ(result.standard_output.text(),
              "[0, 1, 2] 4\nno /proc/1/fd\nno /proc/1/mem\nno /proc/1/exe\n");
  });
}

TEST_P(SandboxHostile, MountsNamespacesAndChrootAreRefused) {
  as_user(GetParam(), [] {
    World world;
    expect_no(world, "mount -t tmpfs none /tmp");
    expect_no(world, "mount --bind /etc dir");
    expect_no(world, "umount /proc");
    expect_no(world, "unshare -Ur true");
    expect_no(world, "unshare -m true");
    expect_no(world, "chroot / true");
    expect_no(world, "nsenter -t 1 -m true");
    expect_no(world, "mknod device c 1 3");
    expect_no(world, "mknod whiteout c 0 0");
    expect_no(world, "python3 -c 'import os; os.setuid(12345)'");
  });
}

TEST_P(SandboxHostile, DangerousSystemCallsAreDenied) {
  as_user(GetParam(), [] {
    World world;
    // These are numbers of x86_64; the filter itself uses names.
    const CommandResult result = world.python(std::string(kProbe) + R"(
for name, number in [('keyctl', 250), ('add_key', 248), ('bpf', 321), ('perf_event_open', 298),
                     ('userfaultfd', 323), ('init_module', 175), ('kexec_load', 246),
                     ('open_tree', 428), ('fsopen', 430), ('move_mount', 429), ('setns', 308),
                     ('io_uring_setup', 425), ('clone3', 435), ('open_by_handle_at', 304),
                     ('process_vm_readv', 310), ('reboot', 169), ('pidfd_getfd', 438)]:
    print(name, call(number, 0, 0, 0, 0, 0, 0))
print('ptrace attach', call(101, 16, 1, 0, 0))
print('unshare user', call(272, 0x10000000))
import fcntl, termios
try:
    fcntl.ioctl(0, termios.TIOCSTI, b'x')
    print('TIOCSTI done')
except OSError as e:
    print('TIOCSTI', errno.errorcode[e.errno])
for family in [('vsock', 40), ('packet', 17), ('alg', 38)]:
    try:
        socket.socket(family[1], socket.SOCK_STREAM if family[0] == 'vsock' else socket.SOCK_RAW)
        print(family[0], 'done')
    except OSError as e:
        print(family[0], errno.errorcode[e.errno])
)");
    EXPECT_EQ(result.standard_output.text(),
              "keyctl EPERM\nadd_key EPERM\nbpf EPERM\nperf_event_open EPERM\nuserfaultfd EPERM\n"
              "init_module EPERM\nkexec_load EPERM\nopen_tree EPERM\nfsopen EPERM\n"
              "move_mount EPERM\nsetns EPERM\nio_uring_setup ENOSYS\nclone3 ENOSYS\n"
              "open_by_handle_at EPERM\nprocess_vm_readv EPERM\nreboot EPERM\npidfd_getfd EPERM\n"
              "ptrace attach EPERM\nunshare user EPERM\nTIOCSTI EPERM\nvsock EAFNOSUPPORT\n"
              "packet EAFNOSUPPORT\nalg EAFNOSUPPORT\n")
        << result.standard_error.text();
  });
}

TEST_P(SandboxHostile, CommandHasNoTerminalAndNoPrivileges) {
  as_user(GetParam(), [] {
    World world;
    expect_no(world, "exec 3<>/dev/tty");
    const CommandResult result = world.sh(
        "grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status; "
        "ps -o sid= -p $$ | tr -d ' '; echo $$");
    EXPECT_EQ(result.standard_output.text(),
              "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
              "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
              "2\n2\n");
  });
}

TEST_P(SandboxHostile, SetuidBitsAreNeverProposed) {
  as_user(GetParam(), [] {
    World world;
    expect_no(world, "cp /bin/true tool && chmod 6755 tool");
    const CommandResult result = world.sh("cp /bin/true tool && chmod 2755 tool");
    EXPECT_TRUE(result.effects_staged);
    EXPECT_EQ(world.overlay().node(rel("tool"))->mode, 0755U);
  });
}

TEST_P(SandboxHostile, ProgramsThatSetModesWork) {
  as_user(GetParam(), [] {
    World world;
    const CommandResult result = world.sh(
        "mkdir shared && chmod 2775 shared && cp /bin/true tool && install -m 755 tool one && "
        "cp -p tool two && cp -rp shared three && tar cf - one shared | (mkdir out && tar xpf - -C "
        "out) && python3 -c 'import shutil; shutil.copytree(\"shared\", \"four\")' && "
        "stat -c '%a' one two three out/one out/shared four");
    EXPECT_EQ(result.standard_output.text(), "755\n755\n2775\n755\n2775\n2775\n")
        << result.standard_error.text();
  });
}

TEST_P(SandboxHostile, HardLinksCannotReachOutside) {
  as_user(GetParam(), [] {
    World world;
    expect_no(world, "ln /etc/passwd stolen");
    expect_no(world, "ln /usr/bin/env stolen");
    EXPECT_TRUE(world.changes().empty());
  });
}

TEST_P(SandboxHostile, SymlinkRacesEndAsALinkAndTouchNothing) {
  as_user(GetParam(), [] {
    World world;
    const TempDirectory outside;
    const CommandResult result = world.sh(
        "mkdir race; (while [ ! -e stop ]; do rm -rf race; mkdir race; rm -rf race; ln -s " +
        outside.path() +
        " race; done) & i=0; while [ $i -lt 200 ]; do echo x > race/x; i=$((i+1)); done "
        "2>/dev/null; touch stop; wait; rm -rf race stop; ln -s " +
        outside.path() + " race");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(std::filesystem::is_empty(outside.path()));
    EXPECT_EQ(world.changes(), (std::vector<std::string>{"A race"}));
    EXPECT_EQ(world.overlay().node(rel("race"))->kind, FileKind::kSymlink);
  });
}

TEST_P(SandboxHostile, SpecialFilesLeftBehindRefuseAllChanges) {
  as_user(GetParam(), [] {
    World world;
    CommandResult result = world.sh("echo good > good.txt; mkfifo dir/pipe");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_FALSE(result.effects_staged);
    ASSERT_EQ(result.refused.size(), 1U);
    EXPECT_EQ(result.refused[0].path, "dir/pipe");
    EXPECT_TRUE(world.changes().empty());
    result =
        world.python("import socket; s = socket.socket(socket.AF_UNIX); s.bind('control.sock')");
    ASSERT_EQ(result.refused.size(), 1U);
    EXPECT_EQ(result.refused[0].path, "control.sock");
    result = world.sh("mkfifo pipe; rm pipe; echo good > good.txt");
    EXPECT_TRUE(result.effects_staged);
  });
}

TEST_P(SandboxHostile, AnyNameIsStagedOrRefusedByName) {
  as_user(GetParam(), [] {
    World world;
    CommandResult result = world.python("open(b'caf\\xe9-\\xff', 'w').write('x')");
    EXPECT_TRUE(result.effects_staged);
    EXPECT_EQ(world.changes(), (std::vector<std::string>{"A caf\xe9-\xff"}));
    result = world.python("open('two\\nlines', 'w').write('x')");
    EXPECT_TRUE(result.effects_staged);
    EXPECT_EQ(world.changes(), (std::vector<std::string>{"A caf\xe9-\xff", "A two\nlines"}));
    result = world.python("import os\nfor i in range(300):\n os.mkdir('d'); os.chdir('d')");
    EXPECT_FALSE(result.effects_staged);
    EXPECT_FALSE(result.refused.empty());
  });
}

TEST_P(SandboxHostile, TreesTooDeepForAPathAreErasedAllTheSame) {
  as_user(GetParam(), [] {
    World world;
    const CommandResult result = world.python(
        "import os\nfor i in range(400):\n os.mkdir('d' * 20); os.chdir('d' * 20)\n"
        "open('x', 'w').close(); os.chmod('.', 0); exit(1)");
    EXPECT_EQ(result.exit_code, 1) << result.standard_error.text();
    world.drop_runner();
    EXPECT_TRUE(std::filesystem::is_empty(world.home() + "/run"));
  });
}

TEST_P(SandboxHostile, DeletingEverythingIsAProposalOnly) {
  as_user(GetParam(), [] {
    World world;
    world.put_file(".git/HEAD", "ref: refs/heads/main\n");
    const std::string before = world.picture();
    CommandResult result = world.sh("rm -rf --no-preserve-root / 2>/dev/null; ls -A; true");
    EXPECT_EQ(result.standard_output.text(), ".git\n");
    EXPECT_TRUE(result.effects_staged);
    EXPECT_EQ(world.changes(),
              (std::vector<std::string>{"D a.txt", "D dir", "D dir/b.txt", "D dir/sub",
                                        "D dir/sub/c.txt", "D run.sh"}));
    EXPECT_EQ(world.picture(), before);
  });
}

TEST_P(SandboxHostile, GitAndSageAreReadOnlyAndGalleyIsHidden) {
  as_user(GetParam(), [] {
    World world;
    world.put_file(".git/config", "[core]\n");
    world.put_file(".sage/state", "s");
    world.put_file(".galley/audit.jsonl", "{}");
    for (const char* script :
         {"echo x >> .git/config", "touch .git/hooks", "mv .git gone", "rm -rf .git",
          "echo x > .sage/state", "rm -rf .sage", "cat .galley/audit.jsonl", "ls .galley"}) {
      expect_no(world, script);
    }
    const CommandResult result = world.sh(
        "cat .git/config; mkdir -p .galley sub/.git; echo x > .galley/lock; echo x > "
        "sub/.git/config; echo y > sub/y; mkdir .GIT; echo z > .GIT/config");
    EXPECT_EQ(result.standard_output.text(), "[core]\n");
    EXPECT_TRUE(result.effects_staged);
    EXPECT_EQ(result.protected_paths, 3U);
    EXPECT_EQ(world.changes(), (std::vector<std::string>{"A sub", "A sub/y"}));
  });
}

/// Returns a listening unix socket, abstract if the path begins with NUL.
int listen_at(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(fd, 1), 0);
  return fd;
}

TEST_P(SandboxHostile, SocketsOfTheHostCannotBeReached) {
  as_user(GetParam(), [] {
    World world;
    const TempDirectory outside;
    const std::string abstract = "galley-test-" + std::to_string(getpid());
    const int by_path = listen_at(outside.path() + "/s");
    const int in_tree = listen_at(world.root() + "/s");
    const int by_name = listen_at(std::string(1, '\0') + abstract);
    const int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(bind(tcp, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(tcp, 1), 0);
    ASSERT_EQ(getsockname(tcp, reinterpret_cast<sockaddr*>(&address), &size), 0);
    const std::string program = "import socket\nfor f, a in [(socket.AF_UNIX, '" + outside.path() +
                                "/s'), (socket.AF_UNIX, 's'), (socket.AF_UNIX, '\\0" + abstract +
                                "'), (socket.AF_INET, ('127.0.0.1', " +
                                std::to_string(ntohs(address.sin_port)) +
                                "))]:\n try:\n  socket.socket(f).connect(a); print('reached')\n"
                                " except OSError as e: print('no')\n";
    world.defaults().effects = EffectsRule::kDrop;
    CommandResult result = world.python(program);
    EXPECT_EQ(result.standard_output.text(), "no\nno\nno\nno\n");
    world.defaults().network = NetworkAccess::kHost;
    result = world.python(program);
    // The command shares the host's network. Landlock still blocks what it can block.
    EXPECT_TRUE(result.standard_output.text().starts_with("no\nno\n"));
    EXPECT_TRUE(result.standard_output.text().ends_with("reached\n"));
    for (const int fd : {by_path, in_tree, by_name, tcp}) close(fd);
  });
}

TEST_P(SandboxHostile, OwnLoopbackWorks) {
  as_user(GetParam(), [] {
    World world;
    const CommandResult result = world.python(
        "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); "
        "socket.create_connection(s.getsockname()); print('ok')");
    EXPECT_EQ(result.standard_output.text(), "ok\n") << result.standard_error.text();
  });
}

TEST_P(SandboxHostile, KillAllReachesNoProcessOutside) {
  as_user(GetParam(), [] {
    const pid_t bystander = fork();
    if (bystander == 0) {
      pause();
      _exit(0);
    }
    World world;
    const CommandResult result = world.sh("sleep 60 & kill -9 -1; echo still");
    EXPECT_EQ(result.standard_output.text(), "still\n");
    EXPECT_EQ(kill(bystander, 0), 0);
    EXPECT_EQ(waitpid(bystander, nullptr, WNOHANG), 0);
    (void)kill(bystander, SIGKILL);
    (void)waitpid(bystander, nullptr, 0);
  });
}

TEST_P(SandboxHostile, DaemonsDieWithTheCommand) {
  as_user(GetParam(), [] {
    World world;
    const std::string marker = "3600." + std::to_string(getpid());
    const CommandResult result =
        world.sh("(setsid sh -c 'setsid sleep " + marker + " & setsid sleep " + marker +
                 "' &) ; (trap '' TERM HUP; sleep " + marker + ") & echo started");
    EXPECT_EQ(result.standard_output.text(), "started\n");
    EXPECT_EQ(processes_with(marker), 0);
  });
}

TEST_P(SandboxHostile, MachineSettingsCannotBeWritten) {
  as_user(GetParam(), [] {
    World world;
    for (const char* path : {"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
                             "/proc/sys/vm/drop_caches", "/proc/sys/kernel/hostname"}) {
      expect_no(world, std::string("echo x > ") + path);
    }
    expect_no(world, "hostname other");
    expect_no(world, "date -s 2001-01-01");
  });
}

TEST_P(SandboxHostile, ControlTextIsKeptAsBytesAndShownHarmless) {
  as_user(GetParam(), [] {
    World world;
    const CommandResult result = world.sh("printf '\\033]0;owned\\007\\033[2J'");
    EXPECT_EQ(result.standard_output.head, "\033]0;owned\007\033[2J");
  });
}

INSTANTIATE_TEST_SUITE_P(Users, SandboxHostile, testing::Values(User::kRoot, User::kNobody),
                         [](const auto& test) {
                           return test.param == User::kRoot ? "Root" : "Nobody";
                         });

}  // namespace
}  // namespace galley
