/**
 * Whether an address, as it is written, may be of the public internet. What a name resolves to is checked when a request is
 * made, by the rules of `tools/network-rules.ts`; here a file is told at once.
 */
import { isIP } from "node:net"
import type { Json } from "../../core/index.ts"
import { addressKind } from "../../tools/ip-address.ts"
import { hostOf } from "../../tools/network-rules.ts"

/** Names that are only known inside of a network. */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa)$/

export function isPublicAddress(address: Json | undefined): boolean {
  if (typeof address !== "string" || !/^https?:\/\//i.test(address)) return false
  // A host with an argument in it could be any.
  const [, authority = ""] = /^https?:\/\/([^/?#]*)/i.exec(address) ?? []
  if (/[{}$\\]/.test(authority) || !URL.canParse(address)) return false
  const host = hostOf(new URL(address))
  if (isIP(host) !== 0) return addressKind(host) === "public"
  return host.includes(".") && !PRIVATE_NAME.test(host)
}
