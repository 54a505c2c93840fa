#!/usr/bin/env python3
"""Measures one call after the other over gRPC and over NATS: a read of a file through `galley serve`, beside an empty
call of the same gRPC server (health) and a bare echo over the same NATS server, in turns. One echo uses the NATS library
of the server; the other one no library, so that it does no more than the protocol needs.

  bench/doors.py BUILD [--calls 500] [--only grpc|nats]
"""

import argparse
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "system"))
ROUNDS = 5
TEXT = "a line of text\n" * 20


def ms_each(call, calls):
    begin = time.perf_counter()
    for number in range(calls):
        call(number)
    return (time.perf_counter() - begin) * 1000 / calls


def measure(title, pairs, calls):
    """Prints the medians of the rounds. The first of the pairs is the base of the ratios."""
    times = {name: [] for name, _ in pairs}
    for name, call in pairs:
        ms_each(call, calls // 5)
    for _ in range(ROUNDS):
        for name, call in pairs:
            times[name].append(ms_each(call, calls))
    base = statistics.median(times[pairs[0][0]])
    print(title)
    for name, taken in times.items():
        middle = statistics.median(taken)
        print(f"  {name:38} {middle:8.3f} ms {middle / base:8.2f}")


def environment(folder):
    own = folder / "config" / "galley"
    own.mkdir(parents=True)
    (own / "config.toml").write_text("unattended = true\n")
    return {**os.environ, "XDG_CONFIG_HOME": str(folder / "config"), "XDG_STATE_HOME": str(folder / "state")}


def over_grpc(build, folder, calls):
    from grpc_client import Client, Server
    os.environ["GALLEY"] = str(build / "galley")
    server = Server(folder / "work", f"unix:{folder}/galley.sock", env=environment(folder))
    client = Client(server.address)
    assert client.execute("fs.read", {"path": "a.txt"}).success
    # Both send and take bytes, so neither has the time in which Python makes and reads messages.
    check = client.channel.unary_unary("/grpc.health.v1.Health/Check")
    execute = client.channel.unary_unary("/aios.tools.ToolRegistry/Execute")
    request = client.request("fs.read", {"path": "a.txt"}).SerializeToString()
    size = len(execute(request))

    def read(_):
        assert len(execute(request)) >= size - 8  # the time may have fewer digits

    measure("gRPC", [("health", lambda _: check(b"")), ("Execute of fs.read", read)], calls)
    client.close()
    server.end()


def echo(port, is_ready):
    """Answers each request on `echo` with its own bytes, and does no more than the protocol needs. A process of its own."""
    server = socket.create_connection(("127.0.0.1", port))
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    lines = server.makefile("rb")
    server.sendall(b'CONNECT {"verbose":false}\r\nSUB echo 1\r\nPING\r\n')
    while (line := lines.readline()) != b"PONG\r\n":
        pass
    is_ready.set()
    while line := lines.readline():
        if line == b"PING\r\n":
            server.sendall(b"PONG\r\n")
        if not line.startswith(b"MSG "):
            continue
        _, _, _, reply, size = line.split()
        server.sendall(b"PUB %s %s\r\n%s" % (reply, size, lines.read(int(size) + 2)))


def library_echo(folder, address):
    subprocess.run(["c++", "-O2", "-o", folder / "echo", ROOT / "bench" / "nats_echo.cc", "-lnats"], check=True)
    responder = subprocess.Popen([folder / "echo", address], stdout=subprocess.PIPE)
    assert responder.stdout.readline() == b"ready\n"
    return responder


def over_nats(build, folder, calls):
    from nats_client import LinesOf, NatsClient, NatsServer
    server = NatsServer(folder / "nats")
    with_library = library_echo(folder, server.address)
    door = subprocess.Popen([build / "galley-serve-nats", "--workspace", folder / "work", "--address", server.address],
                            stderr=subprocess.PIPE, env=environment(folder))
    LinesOf(door).wait_for("serving ")
    is_ready = multiprocessing.Event()
    responder = multiprocessing.Process(target=echo, args=(server.port, is_ready))
    responder.start()
    is_ready.wait()
    client = NatsClient(server.port)
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    begun = time.time_ns()

    def request(number):
        return json.dumps({"id": "x", "payload": {"sessionId": "s", "callId": f"{time.time_ns() - begun}-{number}", "action": "read",
                                                  "path": "workspace/a.txt"}}).encode()

    def read(number):
        assert client.request("nachos.tool.filesystem.request", request(number))["payload"]["result"] == TEXT

    measure("NATS", [("a bare echo with the same library", lambda number: client.request("library.echo", request(number))),
                     ("a bare echo without a library", lambda number: client.request("echo", request(number))),
                     ("a read of the tool filesystem", read)], calls)
    for process in (responder, with_library):
        process.terminate()
    responder.join()
    with_library.wait()
    door.terminate()
    door.wait()
    client.close()
    server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--only", choices=("grpc", "nats"))
    options = parser.parse_args()
    build = options.build.resolve()
    for name, run in (("grpc", over_grpc), ("nats", over_nats)):
        if options.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            work = Path(scratch) / "work"
            (work / "workspace").mkdir(parents=True)
            (work / "a.txt").write_text(TEXT)
            (work / "workspace" / "a.txt").write_text(TEXT)
            run(build, Path(scratch), options.calls)


main()
