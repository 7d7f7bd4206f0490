"""A minimal server of the Python SDK: one tool, on standard input and output."""

from mcp.server import MCPServer

server = MCPServer("minimal")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


server.run()
