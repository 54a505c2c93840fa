"""Bare repositories over HTTP, for tests: git-http-backend(1) behind a server of Python."""

import http.server
import os
import subprocess
import threading


class GitHttpServer:
    """Serves the repositories of a folder. `needs_password`: it lets nobody in."""

    def __init__(self, folder, needs_password=False):
        backend = subprocess.run(["git", "--exec-path"], capture_output=True, check=True).stdout.decode().strip() + "/git-http-backend"

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def body(self):
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def answer(self):
                body = self.body()
                if needs_password:
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="test"')
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                path, _, query = self.path.partition("?")
                environment = {
                    "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                    "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "REMOTE_USER": "test", "CONTENT_LENGTH": str(len(body)),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
                said = subprocess.run([backend], input=body, env=environment, capture_output=True, check=False).stdout
                head, _, data = said.partition(b"\r\n\r\n")
                headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
                self.send_response(int(headers.pop("Status", "200").split()[0]))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}/"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
