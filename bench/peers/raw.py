"""A minimal Python client of a Jupyter kernel: sockets and signed messages, nothing stored."""

import hashlib
import hmac
import json
import os
import subprocess
import sys
import tempfile
import uuid

import zmq

KEY = b"bench"


class RawKernel:
    """An ipykernel with a shell and an iopub socket."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        context = zmq.Context.instance()
        path = os.path.join(self.folder.name, "c.json")
        info = {
            "transport": "ipc",
            "ip": os.path.join(self.folder.name, "k"),
            "key": KEY.decode(),
            "signature_scheme": "hmac-sha256",
        }
        ports = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")
        info.update({port: number for number, port in enumerate(ports, 1)})
        with open(path, "w") as file:
            json.dump(info, file)
        # Standard output is for the peer's answers; ipykernel prints a greeting there.
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", path]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.shell = context.socket(zmq.DEALER)
        self.shell.connect(f"ipc://{info['ip']}-1")
        self.iopub = context.socket(zmq.SUB)
        self.iopub.subscribe(b"")
        self.iopub.connect(f"ipc://{info['ip']}-2")
        while True:
            self.send("kernel_info_request", {})
            if self.shell.poll(100):
                self.shell.recv_multipart()
                break
        # Output could be missed until the first message arrives there.
        while not self.iopub.poll(100):
            self.send("kernel_info_request", {})
        while self.iopub.poll(50):
            self.iopub.recv_multipart()
        while self.shell.poll(0):
            self.shell.recv_multipart()

    def send(self, kind, content):
        header = {
            "msg_id": uuid.uuid4().hex,
            "session": "s",
            "username": "u",
            "date": "2020-01-01T00:00:00Z",
            "msg_type": kind,
            "version": "5.3",
        }
        parts = [json.dumps(part).encode() for part in (header, {}, {}, content)]
        signature = hmac.new(KEY, b"".join(parts), hashlib.sha256).hexdigest().encode()
        self.shell.send_multipart([b"<IDS|MSG>", signature, *parts])
        return header["msg_id"]

    def execute(self, code):
        """Runs code and returns the contents of its outputs."""
        sent = self.send(
            "execute_request",
            {
                "code": code,
                "silent": False,
                "store_history": True,
                "allow_stdin": False,
                "user_expressions": {},
            },
        )
        outputs = []
        while True:
            frames = self.iopub.recv_multipart()
            at = frames.index(b"<IDS|MSG>")
            header, parent, content = (json.loads(frames[at + n]) for n in (2, 3, 5))
            if parent.get("msg_id") != sent:
                continue
            if header["msg_type"] == "status" and content["execution_state"] == "idle":
                break
            if header["msg_type"] in ("execute_result", "display_data", "stream", "error"):
                outputs.append((header["msg_type"], content))
        # A request of the start may be answered only now.
        while self.parent(self.shell.recv_multipart()) != sent:
            pass
        return outputs

    @staticmethod
    def parent(frames):
        return json.loads(frames[frames.index(b"<IDS|MSG>") + 3]).get("msg_id")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()
