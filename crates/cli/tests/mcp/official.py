"""The official Python client, driven line by line: a JSON object in, one out.

Usage: official.py MODE stdio COMMAND...   or   official.py MODE http URL TOKEN
MODE is `legacy` for the handshake, or a protocol version for requests that stand alone.
"""

import asyncio
import json
import os
import sys

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation


async def lines():
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        yield json.loads(line)


async def call(client, step):
    told = []

    async def progress(done, total, message):
        told.append({"progress": done, "total": total, "message": message})

    arguments = (step["name"], step.get("arguments", {}))
    if "until" not in step:
        result = await client.call_tool(*arguments, progress_callback=progress)
        return {**plain(result), "progress": told}
    # Given up as soon as the file is there.
    with anyio.CancelScope() as scope:

        async def watch():
            while not os.path.exists(step["until"]):
                await anyio.sleep(0.01)
            scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            await client.call_tool(*arguments, progress_callback=progress)
            scope.cancel()
    return {"given_up": True, "progress": told}


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def answer(client, step):
    match step["do"]:
        case "call":
            return await call(client, step)
        case "tools":
            return plain(await client.list_tools())
        case "prompts":
            return plain(await client.list_prompts())
        case "prompt":
            return plain(await client.get_prompt(step["name"], step.get("arguments", {})))
        case "resources":
            return plain(await client.list_resources())
        case "read":
            return plain(await client.read_resource(step["uri"]))
        case "version":
            return {"version": client.protocol_version}
    raise ValueError(step["do"])


async def main():
    mode, way, *rest = sys.argv[1:]
    async with httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {rest[1]}"} if way == "http" else {}, timeout=120
    ) as http:
        if way == "http":
            transport = streamable_http_client(rest[0], http_client=http)
        else:
            server = StdioServerParameters(command=rest[0], args=rest[1:], env=dict(os.environ))
            transport = stdio_client(server)
        info = Implementation(name="official", version="1")
        async with Client(transport, mode=mode, client_info=info) as client:
            async for step in lines():
                try:
                    said = await answer(client, step)
                except MCPError as error:
                    said = {"error": {"code": error.error.code, "message": error.error.message}}
                print(json.dumps(said), flush=True)


anyio.run(main)
