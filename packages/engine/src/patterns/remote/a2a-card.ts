/** An agent's card: where it is spoken to, in which version, and whether it streams. */
import { z } from "zod"
import { isSuperstepError, type Json } from "../../core/index.ts"
import type { A2aVersion } from "./a2a-wire.ts"
import { fault } from "./remote-request.ts"

export interface A2aPlace {
  readonly endpoint: string
  readonly version: A2aVersion
  readonly streams: boolean
}

const card = z.object({
  url: z.string().optional(),
  preferredTransport: z.string().optional(),
  additionalInterfaces: z.array(z.object({ url: z.string(), transport: z.string() })).optional(),
  supportedInterfaces: z
    .array(z.object({ url: z.string(), protocolBinding: z.string(), protocolVersion: z.string().optional() }))
    .optional(),
  capabilities: z.object({ streaming: z.boolean().nullish() }).nullish(),
})

const PATHS = ["/.well-known/agent-card.json", "/.well-known/agent.json"]

/** The card's own address, or that of the agent it belongs to. */
export async function findCard(url: string, get: (address: string) => Promise<Json>): Promise<A2aPlace> {
  const base = url.replace(/\/+$/, "")
  const addresses = base.endsWith(".json") ? [base] : PATHS.map((path) => base + path)
  for (const [i, address] of addresses.entries()) {
    try {
      return readCard(await get(address), url)
    } catch (error) {
      const isMissing = isSuperstepError(error, "REMOTE_STATUS_404")
      if (!isMissing || i === addresses.length - 1) throw error
    }
  }
  throw fault("REMOTE_INVALID", `There is no agent card at ${url}.`, false)
}

function readCard(given: Json, url: string): A2aPlace {
  const read = card.safeParse(given)
  if (!read.success) {
    const reason = z.prettifyError(read.error).replace(/\s+/g, " ")
    throw fault("REMOTE_INVALID", `The agent card of ${url} cannot be read: ${reason}`, false)
  }
  const { capabilities, supportedInterfaces = [] } = read.data
  const streams = capabilities?.streaming === true
  const isOurs = (binding: string) => binding.toUpperCase() === "JSONRPC"
  const current = supportedInterfaces.filter(({ protocolBinding }) => isOurs(protocolBinding))
  const newest = current.find(({ protocolVersion = "1" }) => protocolVersion.startsWith("1")) ?? current[0]
  if (newest !== undefined) {
    const version = newest.protocolVersion?.startsWith("0") ? "0" : "1"
    return { endpoint: sameOrigin(newest.url, url), version, streams }
  }
  const endpoint = oldEndpoint(read.data, isOurs)
  if (endpoint === undefined) {
    throw fault("REMOTE_UNSUPPORTED", `The agent at ${url} does not speak JSON-RPC, by its card.`, false)
  }
  return { endpoint: sameOrigin(endpoint, url), version: "0", streams }
}

/** Before 1.0: the main address, unless that is for another transport. */
function oldEndpoint(given: z.infer<typeof card>, isOurs: (binding: string) => boolean): string | undefined {
  const { url, preferredTransport = "JSONRPC", additionalInterfaces = [] } = given
  if (url !== undefined && isOurs(preferredTransport)) return url
  return additionalInterfaces.find(({ transport }) => isOurs(transport))?.url
}

/** A card is not taken at its word about somebody else: keys go where the user said. */
function sameOrigin(endpoint: string, url: string): string {
  const found = URL.canParse(endpoint, url) ? new URL(endpoint, url) : undefined
  if (found?.origin === new URL(url).origin) return found.href
  const text = `The card at ${url} names another place to speak to: ${endpoint}. Give it as endpoint if you trust it.`
  throw fault("REMOTE_ELSEWHERE", text, false)
}
