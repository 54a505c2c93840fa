"""A real nats-server for tests, and a client of its text protocol
(https://docs.nats.io/reference/reference-protocols/nats-protocol)."""

import http.client
import itertools
import json
import re
import shutil
import socket
import subprocess
import threading
import uuid

MONITORS = re.compile(r"Starting http monitor on [\d.]+:(\d+)")
LISTENS = re.compile(r"Listening for client connections on [\d.]+:(\d+)")


def nats_server_program():
    return shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/sbin")


class LinesOf:
    """The lines of a process's stderr, read by a thread, to wait for one of them."""

    def __init__(self, process):
        self.lines = []
        self._new = threading.Condition()
        self._has_ended = False
        self._reader = threading.Thread(target=self._read, args=(process.stderr,), daemon=True)
        self._reader.start()

    def _read(self, stream):
        for line in stream:
            with self._new:
                self.lines.append(line.decode(errors="replace").rstrip("\n"))
                self._new.notify_all()
        stream.close()
        with self._new:
            self._has_ended = True
            self._new.notify_all()

    def wait_for(self, pattern, after=0, timeout=60):
        """Returns the match, and the number of the next line."""
        found = []

        def has_come():
            for number, line in enumerate(self.lines[after:], after):
                match = re.search(pattern, line)
                if match:
                    found[:] = [match, number + 1]
                    return True
            return self._has_ended

        with self._new:
            self._new.wait_for(has_come, timeout)
        assert found, f"no line {pattern!r} in {self.lines}"
        return found

    def text(self):
        """Returns everything, after the process ended."""
        self._reader.join(60)
        return "\n".join(self.lines)


class NatsServer:
    """A server on a free port of this machine. `configuration` is added to its file."""

    def __init__(self, folder, configuration="", port=-1, has_jetstream=True):
        folder.mkdir(exist_ok=True)
        self.folder, self.configuration = folder, configuration
        file = folder / "server.conf"
        jetstream = f'jetstream {{ store_dir: "{folder}/js" }}\n' if has_jetstream else ""
        file.write_text(f'host: 127.0.0.1\nport: {port}\nhttp: "127.0.0.1:-1"\n{jetstream}{configuration}\n')
        self.process = subprocess.Popen([nats_server_program(), "-c", file], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        self.log = LinesOf(self.process)
        self.port = int(self.log.wait_for(LISTENS)[0][1])
        self.log.wait_for("Server is ready")
        self.monitor = int(self.log.wait_for(MONITORS)[0][1])
        self.address = f"nats://127.0.0.1:{self.port}"

    def connections(self):
        """Returns how many clients the server knows."""
        monitor = http.client.HTTPConnection("127.0.0.1", self.monitor, timeout=60)
        monitor.request("GET", "/connz")
        number = json.loads(monitor.getresponse().read())["num_connections"]
        monitor.close()
        return number

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.log.text()

    def restarted(self):
        """Stops this server, and returns a new one on the same port."""
        self.stop()
        return self.again()

    def again(self):
        """Returns a new one on the same port, after stop()."""
        return NatsServer(self.folder, self.configuration, self.port)


class NatsClient:
    """Publishes, subscribes and sends requests. Each subscription keeps its messages in order."""

    def __init__(self, port, user=None, password=None, tls=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.stream = self.socket.makefile("rb")
        self.numbers = itertools.count(1)
        self.messages = {}
        self.stream.readline()  # INFO
        if tls:
            self.stream.close()
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
            self.stream = self.socket.makefile("rb")
        options = {"verbose": False, "pedantic": False, "name": "test", "lang": "python", "version": "1",
                   "headers": True, "no_responders": True, "protocol": 1}
        if user:
            options |= {"user": user, "pass": password}
        self.inbox = f"_INBOX.{uuid.uuid4().hex}"
        self.send(b"CONNECT " + json.dumps(options).encode() + b"\r\n")
        self.inbox_number = self.subscribe(f"{self.inbox}.*")

    def close(self):
        self.stream.close()
        self.socket.close()

    def send(self, raw):
        self.socket.sendall(raw)

    def subscribe(self, subject):
        number = str(next(self.numbers))
        self.messages[number] = []
        self.send(f"SUB {subject} {number}\r\n".encode())
        self.flush()
        return number

    def publish(self, subject, data, reply=""):
        self.send(f"PUB {subject} {reply} {len(data)}\r\n".encode() + data + b"\r\n")

    def publish_with_headers(self, subject, headers, data):
        """`headers` is the whole block, with its version and the blank line at its end."""
        self.send(f"HPUB {subject} {len(headers)} {len(headers) + len(data)}\r\n".encode() + headers + data + b"\r\n")

    def flush(self):
        self.send(b"PING\r\n")
        while self._take() != "PONG":
            pass

    def _take(self):
        """Reads one operation of the server and returns its name."""
        line = self.stream.readline().decode()
        if not line:
            raise ConnectionError("the server closed the connection")
        name, *words = line.split()
        if name in ("MSG", "HMSG"):
            data = self.stream.read(int(words[-1]) + 2)[:-2]
            headers = data[:int(words[-2])] if name == "HMSG" else b""
            self.messages[words[1]].append((words[0], headers, data[len(headers):]))
        elif name == "PING":
            self.send(b"PONG\r\n")
        elif name == "-ERR":
            raise ConnectionError(line.strip())
        return name

    def next(self, number):
        """Returns subject, headers and data of the next message of a subscription."""
        while not self.messages[number]:
            self._take()
        return self.messages[number].pop(0)

    def start_request(self, subject, data):
        """Sends a request and returns the subject of its reply."""
        reply = f"{self.inbox}.{next(self.numbers)}"
        self.publish(subject, data, reply)
        return reply

    def reply_to(self, reply):
        """Returns the reply as JSON. Other replies are kept."""
        while True:
            for message in self.messages[self.inbox_number]:
                if message[0] != reply:
                    continue
                self.messages[self.inbox_number].remove(message)
                assert b"503" not in message[1], "nothing serves this subject"
                return json.loads(message[2])
            self._take()

    def request(self, subject, data):
        """Sends bytes, or a document as JSON, and returns the reply as JSON."""
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        return self.reply_to(self.start_request(subject, data))
