/** The server of one client, on any transport and in any revision of the protocol. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server"
import { VERSION } from "../version.ts"
import { readState, type ToolCall } from "./run-calls.ts"
import type { ServedTools } from "./served-tools.ts"

export interface SessionOptions {
  /** The server's name. Default `superstep`. */
  readonly name?: string | undefined
  readonly version?: string | undefined
  /** Instructions for clients. */
  readonly instructions?: string | undefined
}

export interface Session {
  readonly server: Server
  /** The number of pending calls. */
  readonly calls: () => number
}

/** How often a call may show forms to its user. A run may ask this many times in one call. */
const MAX_ROUNDS = 100

export function newSession(tools: ServedTools, options: SessionOptions): Session {
  const { name = "superstep", version = VERSION, instructions } = options
  // Not `McpServer`, which takes only schemas of libraries: ours are JSON Schemas.
  const server = new Server(
    { name, version },
    {
      capabilities: { tools: {} },
      inputRequired: { maxRounds: MAX_ROUNDS },
      ...(instructions === undefined ? {} : { instructions }),
    },
  )
  let pending = 0
  // One number for all calls: a call that continues after a form continues its progress.
  let steps = 0

  const callOf = ({ mcpReq }: ServerContext): ToolCall => {
    const { signal, _meta, envelope, inputResponses } = mcpReq
    const sent = (envelope as Readonly<Record<string, ClientCapabilities>> | undefined)?.[
      CLIENT_CAPABILITIES_META_KEY
    ]
    const progressToken = _meta?.progressToken
    const state = mcpReq.requestState<string>()
    return {
      signal,
      showsForms: hasForms(sent ?? server.getClientCapabilities()),
      continued: state === undefined ? undefined : { state: readState(state), replies: inputResponses },
      progress:
        progressToken === undefined
          ? undefined
          : async (message) => {
              steps += 1
              const params = { progressToken, progress: steps, message }
              await mcpReq.notify({ method: "notifications/progress", params })
            },
    }
  }

  server.setRequestHandler("tools/list", () => ({ tools: [...tools.listed] }))
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    pending += 1
    try {
      return await tools.call(params.name, params.arguments ?? {}, callOf(context))
    } finally {
      pending -= 1
    }
  })
  return { server, calls: () => pending }
}

/** A client that names no mode has forms. */
function hasForms(capabilities: ClientCapabilities | undefined): boolean {
  const { elicitation } = capabilities ?? {}
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}
