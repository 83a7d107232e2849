/** The SDK's transport for an address: what it may see of our environment, and how much it may send. */
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js"
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { SuperstepError } from "@superstep/engine"
import { namedPrivate, type Resolve } from "@superstep/engine/tools"
import { guardedFetch } from "./guarded-fetch.ts"
import { isProgram, type McpProgram, type McpServerAddress, nameOf } from "./server-address.ts"

export type McpTransport = StdioClientTransport | StreamableHTTPClientTransport | SSEClientTransport

export interface TransportOptions {
  readonly maxMessage: number
  /** Looks a name up. Default: as the system does. */
  readonly resolve?: Resolve | undefined
  /** Told why an address was refused. */
  readonly onRefused: (error: SuperstepError) => void
}

export function makeTransport(address: McpServerAddress, options: TransportOptions): McpTransport {
  const { maxMessage, resolve, onRefused } = options
  if (isProgram(address)) return programTransport(address, maxMessage)
  const { transport = "streamable-http", headers = {} } = address
  const url = new URL(address.url)
  const allowPrivate = address.allowPrivate ?? namedPrivate(url)
  const network = { allowPrivate, resolve }
  const given = {
    fetch: guardedFetch({ server: nameOf(address), maxMessage, network, onRefused }),
    requestInit: { headers: { ...headers } },
  }
  if (transport === "sse") return new SSEClientTransport(url, given)
  return new StreamableHTTPClientTransport(url, given)
}

function programTransport({ command, args = [], env, cwd }: McpProgram, maxMessage: number) {
  return new StdioClientTransport({
    command,
    args: [...args],
    env: environment(env ?? {}),
    stderr: "pipe",
    maxBufferSize: maxMessage,
    ...(cwd === undefined ? {} : { cwd }),
  })
}

/** What programs cannot do without. On Windows that is more. */
const KEPT = process.platform === "win32" ? DEFAULT_INHERITED_ENV_VARS : ["PATH", "HOME"]

function environment(given: Readonly<Record<string, string>>): Record<string, string> {
  // The transport adds some of our own (USER, SHELL, …) to what it is given; undefined takes them back.
  const taken = DEFAULT_INHERITED_ENV_VARS.filter((name) => !KEPT.includes(name))
  const without = Object.fromEntries(taken.map((name) => [name, undefined]))
  return { ...without, ...given } as Record<string, string>
}
