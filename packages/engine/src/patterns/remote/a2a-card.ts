/** Reads an agent card: the endpoint, the protocol version, and whether the agent streams. */
import { z } from "zod"
import { isSuperstepError, type Json } from "../../core/index.ts"
import type { A2aVersion } from "./a2a-wire.ts"
import { fault, placeOf } from "./remote-request.ts"

export interface A2aPlace {
  readonly endpoint: string
  readonly version: A2aVersion
  readonly streams: boolean
  /** The tenant, where several share one address. */
  readonly tenant?: string | undefined
}

const card = z.object({
  url: z.string().optional(),
  preferredTransport: z.string().optional(),
  additionalInterfaces: z.array(z.object({ url: z.string(), transport: z.string() })).optional(),
  supportedInterfaces: z
    .array(
      z.object({
        url: z.string(),
        protocolBinding: z.string(),
        protocolVersion: z.string().optional(),
        tenant: z.string().optional(),
      }),
    )
    .optional(),
  capabilities: z.object({ streaming: z.boolean().nullish() }).nullish(),
})

const PATHS = ["/.well-known/agent-card.json", "/.well-known/agent.json"]

/** The card's own address, or that of the agent it belongs to. */
export async function findCard(url: string, get: (address: string) => Promise<Json>): Promise<A2aPlace> {
  for (const address of addressesOf(url)) {
    try {
      return readCard(await get(address), url)
    } catch (error) {
      if (!isSuperstepError(error, "REMOTE_STATUS_404")) throw error
    }
  }
  const text = `There is no agent card at ${placeOf(url)}. Pass the card's URL as url, or the agent's URL as endpoint.`
  throw fault("REMOTE_NO_CARD", text, false)
}

function addressesOf(url: string): readonly string[] {
  const { pathname } = new URL(url)
  if (pathname.endsWith(".json")) return [url]
  return PATHS.map((path) => {
    const address = new URL(url)
    address.pathname = pathname.replace(/(?<!\/)\/+$/, "") + path
    return address.href
  })
}

function readCard(json: Json, url: string): A2aPlace {
  const read = card.safeParse(json)
  if (!read.success) {
    const reason = z.prettifyError(read.error).replace(/\s+/g, " ")
    throw fault("REMOTE_INVALID", `The agent card at ${placeOf(url)} is unreadable: ${reason}`, false)
  }
  const { capabilities, supportedInterfaces = [] } = read.data
  const streams = capabilities?.streaming === true
  const isOurs = (binding: string) => binding.toUpperCase() === "JSONRPC"
  const current = supportedInterfaces.filter(({ protocolBinding }) => isOurs(protocolBinding))
  const newest = current.find(({ protocolVersion = "1" }) => protocolVersion.startsWith("1")) ?? current[0]
  if (newest !== undefined) {
    const version = newest.protocolVersion?.startsWith("0") ? "0" : "1"
    const tenant = newest.tenant ? { tenant: newest.tenant } : {}
    return { endpoint: sameOrigin(newest.url, url), version, streams, ...tenant }
  }
  const endpoint = oldEndpoint(read.data, isOurs)
  if (endpoint === undefined) {
    throw fault(
      "REMOTE_UNSUPPORTED",
      `The agent at ${placeOf(url)} does not support JSON-RPC, according to its card.`,
      false,
    )
  }
  return { endpoint: sameOrigin(endpoint, url), version: "0", streams }
}

/** Before 1.0: the main address, unless it uses another transport. */
function oldEndpoint(parsed: z.infer<typeof card>, isOurs: (binding: string) => boolean): string | undefined {
  const { url, preferredTransport = "JSONRPC", additionalInterfaces = [] } = parsed
  if (url !== undefined && isOurs(preferredTransport)) return url
  return additionalInterfaces.find(({ transport }) => isOurs(transport))?.url
}

/** Keys go only to the origin that the user named, whatever the card says. */
function sameOrigin(endpoint: string, url: string): string {
  const found = URL.canParse(endpoint, url) ? new URL(endpoint, url) : undefined
  if (found?.origin === new URL(url).origin) return found.href
  const text = `The card at ${placeOf(url)} names another endpoint: ${endpoint}. Pass it as endpoint if you trust it.`
  throw fault("REMOTE_ELSEWHERE", text, false)
}
