/**
 * Our server on the standard streams of its process: one client, which started it. It ends with its client. Nothing else
 * may write to the standard output meanwhile.
 */
import type { Readable, Writable } from "node:stream"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import type { ServedTools, ServeMcpOptions } from "./served-tools.ts"
import { newSession } from "./session.ts"

export interface StdioTransport {
  readonly transport: "stdio"
  /** Default: those of the process. */
  readonly input?: Readable | undefined
  readonly output?: Writable | undefined
}

export interface StdioMcpServer {
  /** Resolves when the client has left, or `close` was called. */
  readonly closed: Promise<void>
  close(): Promise<void>
}

export function serveOnStdio(
  tools: ServedTools,
  options: ServeMcpOptions,
  { input = process.stdin, output = process.stdout }: StdioTransport,
): StdioMcpServer {
  const { server } = newSession(tools, options)
  const close = async () => {
    await server.close()
  }
  const closed = new Promise<void>((resolve, reject) => {
    server.onclose = () => {
      input.off("end", close).off("close", close)
      output.off("error", close)
      tools.close().then(resolve, reject)
    }
  })
  // The SDK's transport does not notice that its client is gone.
  input.once("end", close).once("close", close)
  output.once("error", close)
  const connected = server.connect(new StdioServerTransport(input, output))
  return {
    closed: connected.then(() => closed),
    async close() {
      await connected
      await close()
      await closed
    },
  }
}
