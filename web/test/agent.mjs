// An agent that works in the host's notebooks over MCP, with the protocol's own client.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { program, target } from './kit.mjs'

const sdk = (name) =>
  import(
    pathToFileURL(
      join(target, 'node/mcp-clients/node_modules/@modelcontextprotocol/sdk/dist/esm/client', name),
    )
  )
const { Client } = await sdk('index.js')
const { StdioClientTransport } = await sdk('stdio.js')
const { StreamableHTTPClientTransport } = await sdk('streamableHttp.js')

export class Agent {
  /** Connects over standard streams, or over HTTP to the host. The agent disconnects when the test ends. */
  static async join(bed, name = 'Agent', over = 'stdio') {
    const agent = new Agent()
    agent.client = new Client({ name, version: '1.0.0' })
    const transport =
      over === 'stdio'
        ? new StdioClientTransport({
            command: program,
            args: ['mcp'],
            cwd: bed.work,
            env: bed.environment,
            stderr: 'ignore',
          })
        : new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${bed.port}/mcp`), {
            requestInit: { headers: { authorization: `Bearer ${bed.run('status', '--token').trim()}` } },
          })
    bed.agents.push(agent)
    await agent.client.connect(transport)
    return agent
  }

  /** Calls a tool; returns its text, or throws an error with it. */
  async call(name, args) {
    const { content, isError } = await this.client.callTool({ name, arguments: args })
    const text = content.map((part) => part.text ?? '').join('')
    if (isError) throw new Error(text)
    return text
  }

  read(notebook, ...cells) {
    return this.call('get_notebook_cells', { notebook, ...(cells.length > 0 ? { cells } : {}) })
  }

  update(notebook, cell, content, more = {}) {
    return this.call('update_notebook_cell', { notebook, cell, content, ...more })
  }

  leave() {
    return this.client.close()
  }
}
