"""Trivial cells through a gateway with Jupyter's own client: websocket-client with its defaults.

The connection is opened as `GatewayKernelClient` of jupyter_server opens it, and its messages are JSON.
"""

import json
import sys
import uuid

import websocket

from gateway import Gateway, serve

gateway = Gateway(*sys.argv[1:3])
kernel = gateway.start_kernel()
socket = websocket.create_connection(
    gateway.url.replace("http", "ws", 1) + gateway.channels(kernel),
    timeout=60,
    enable_multithread=True,
    header=["Authorization: token " + gateway.token],
)


def execute(code):
    name = uuid.uuid4().hex
    header = {
        "msg_id": name,
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
    socket.send(
        json.dumps(
            {
                "channel": "shell",
                "header": header,
                "parent_header": {},
                "metadata": {},
                "content": content,
                "buffers": [],
            }
        )
    )
    replied = idle = False
    while not (replied and idle):
        message = json.loads(socket.recv())
        if message["parent_header"].get("msg_id") != name:
            continue
        replied = replied or message["msg_type"] == "execute_reply"
        idle = idle or message["content"].get("execution_state") == "idle"


def run(count):
    for _ in range(count):
        execute("pass")
    return count


serve(run)
socket.close()
gateway.end_kernel(kernel)
