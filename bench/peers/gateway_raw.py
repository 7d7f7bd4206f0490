"""Trivial cells through a gateway with a minimal client: a bare socket for each kernel, which sends and
acknowledges at once, and only the end of a message parsed."""

import base64
import json
import os
import selectors
import socket
import struct
import sys
import uuid
from urllib.parse import urlsplit

from gateway import Gateway, serve

PARTS = "v1.kernel.websocket.jupyter.org"


class RawKernel:
    def __init__(self, gateway):
        self.gateway, self.id = gateway, gateway.start_kernel()
        address = urlsplit(gateway.url)
        self.socket = socket.create_connection((address.hostname, address.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            (
                "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: %s\r\n"
                "Authorization: token %s\r\n\r\n"
                % (gateway.channels(self.id), address.netloc, key, PARTS, gateway.token)
            ).encode()
        )
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            self.read()
        head, self.data = self.data.split(b"\r\n\r\n", 1)
        assert b" 101 " in head.split(b"\r\n")[0], head
        self.in_parts = PARTS.encode() in head

    def read(self):
        # The system resets this option repeatedly.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        more = self.socket.recv(1 << 20)
        assert more, "the gateway hung up"
        self.data += more

    def execute(self, code):
        self.name = uuid.uuid4().hex
        self.replied = self.idle = False
        header = {
            "msg_id": self.name,
            "session": "s",
            "username": "u",
            "date": "2020-01-01T00:00:00Z",
            "msg_type": "execute_request",
            "version": "5.3",
        }
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "allow_stdin": False,
            "user_expressions": {},
        }
        if self.in_parts:
            parts = [b"shell"] + [json.dumps(part).encode() for part in (header, {}, {}, content)]
            offsets = [8 * (len(parts) + 2)]
            for part in parts:
                offsets.append(offsets[-1] + len(part))
            self.send(2, struct.pack("<%dQ" % (len(offsets) + 1), len(offsets), *offsets) + b"".join(parts))
        else:
            self.send(
                1,
                json.dumps(
                    {
                        "channel": "shell",
                        "header": header,
                        "parent_header": {},
                        "metadata": {},
                        "content": content,
                        "buffers": [],
                    }
                ).encode(),
            )

    def send(self, kind, payload):
        # A mask of zeros leaves the payload as it is.
        assert 126 <= len(payload) < 1 << 16
        self.socket.sendall(
            struct.pack(">BBH", 0x80 | kind, 0x80 | 126, len(payload)) + b"\0\0\0\0" + payload
        )

    def is_done(self):
        """Reads available bytes. Returns whether the cell has ended."""
        self.read()
        while True:
            if len(self.data) < 2:
                break
            kind, length, start = self.data[0] & 15, self.data[1], 2
            if length >= 126:
                start = 4 if length == 126 else 10
                if len(self.data) < start:
                    break
                length = struct.unpack(">H" if length == 126 else ">Q", self.data[2:start])[0]
            if len(self.data) < start + length:
                break
            payload, self.data = self.data[start : start + length], self.data[start + length :]
            if kind in (1, 2):
                self.take(payload)
        return self.replied and self.idle

    def take(self, payload):
        if self.in_parts:
            count = struct.unpack_from("<Q", payload)[0]
            offsets = struct.unpack_from("<%dQ" % count, payload, 8)
            header, parent, content = (json.loads(payload[offsets[n] : offsets[n + 1]]) for n in (1, 2, 4))
        else:
            message = json.loads(payload)
            header, parent, content = message["header"], message["parent_header"], message["content"]
        if parent.get("msg_id") == self.name:
            self.replied = self.replied or header["msg_type"] == "execute_reply"
            self.idle = self.idle or content.get("execution_state") == "idle"

    def close(self):
        self.socket.close()
        self.gateway.end_kernel(self.id)


gateway = Gateway(*sys.argv[1:3])
kernels = [RawKernel(gateway) for _ in range(int(sys.argv[3]))]


def run(count):
    with selectors.DefaultSelector() as selector:
        left = {}
        for kernel in kernels:
            left[kernel] = count
            selector.register(kernel.socket, selectors.EVENT_READ, kernel)
            kernel.execute("pass")
        while left:
            for key, _ in selector.select():
                kernel = key.data
                if not kernel.is_done():
                    continue
                left[kernel] -= 1
                if left[kernel]:
                    kernel.execute("pass")
                else:
                    del left[kernel]
                    selector.unregister(kernel.socket)
    return count * len(kernels)


serve(run)
for kernel in kernels:
    kernel.close()
