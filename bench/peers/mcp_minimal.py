"""The least that a server of the Python SDK can be: one tool, on standard input and output."""

from mcp.server import MCPServer

server = MCPServer("minimal")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


server.run()
