/**
 * Which addresses on the network an agent may reach.
 *
 * 1. Only http and https, without a name and password in the address.
 * 2. A host in `denyHosts` is refused. With `allowHosts`, so is every host that is not in it.
 * 3. An address that is not public is refused unless `allowPrivate` names it. The metadata services of clouds must be
 *    named themselves: `true` does not include them.
 * 4. All addresses of a name are checked, and one bad address refuses the name.
 *
 * An address is public only if it is known to be part of the public internet: an address that is missing from a list of
 * private ones must not count as public.
 */
import { isIP } from "node:net"
import ipaddr from "ipaddr.js"
import type { SuperstepError } from "../../core/index.ts"
import { terminalError } from "../../core/internal.ts"
import { matchesWord } from "../glob.ts"

export interface NetworkRules {
  /** Names of hosts, with `*`: `api.example.com`, `*.example.com`. Absent: all. */
  readonly allowHosts?: readonly string[] | undefined
  readonly denyHosts?: readonly string[] | undefined
  /** Addresses or networks besides the public ones (`127.0.0.1`, `10.1.0.0/16`), or true for all but metadata services. */
  readonly allowPrivate?: boolean | readonly string[] | undefined
}

export interface CheckedRules {
  /** Throws ADDRESS_REFUSED if the URL may not be fetched. */
  checkUrl(url: URL): void
  /** Throws ADDRESS_REFUSED if one of the addresses of a name may not be reached. */
  checkAddresses(host: string, addresses: readonly string[]): void
}

export function networkRules(rules: NetworkRules): CheckedRules {
  const named = networksOf(rules.allowPrivate)
  const isAllowed = (address: string) => {
    if (named.some((network) => isInNetwork(address, network))) return true
    const kind = addressKind(address)
    return kind === "public" || (kind === "private" && rules.allowPrivate === true)
  }

  const checkAddresses = (host: string, addresses: readonly string[]) => {
    if (addresses.length > 0 && addresses.every(isAllowed)) return
    throw refused(
      `${host} is at an address that is not on the public internet. Its owner can allow it (allowPrivate).`,
    )
  }

  return {
    checkAddresses,

    checkUrl(url) {
      if (url.protocol !== "http:" && url.protocol !== "https:") {
        throw refused(`${url.protocol}// is not supported: use http or https.`)
      }
      if (url.username !== "" || url.password !== "") {
        throw refused("URLs with a user name or password are not allowed.")
      }
      const host = hostOf(url)
      const fits = (pattern: string) => matchesWord(pattern.toLowerCase(), host)
      if (rules.denyHosts?.some(fits) === true) throw refused(`${host} is on the deny list.`)
      if (rules.allowHosts !== undefined && !rules.allowHosts.some(fits)) {
        const allowed = rules.allowHosts.join(", ") || "none"
        throw refused(`${host} is not on the list of allowed hosts: ${allowed}.`)
      }
      // A connection to an address looks up no name, so the address is checked here.
      if (isIP(host) !== 0) checkAddresses(host, [host])
    },
  }
}

/** In lower case, without the brackets of an IPv6 address and without a dot at the end. */
export function hostOf(url: URL): string {
  return url.hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
}

/**
 * The private addresses that the author of a URL names with it: the address itself, or those of this machine for
 * `localhost`. Neither metadata services nor what any other name resolves to.
 */
export function namedPrivate(url: URL): readonly string[] {
  const host = hostOf(url)
  if (host === "localhost") return ["127.0.0.0/8", "::1"]
  return isIP(host) !== 0 && addressKind(host) === "private" ? [host] : []
}

function networksOf(allowed: NetworkRules["allowPrivate"]): readonly Network[] {
  if (typeof allowed !== "object") return []
  try {
    return allowed.map(toNetwork)
  } catch (cause) {
    const text = "allowPrivate takes addresses and networks such as 127.0.0.1 or 10.1.0.0/16."
    throw terminalError("NETWORK_RULES_INVALID", text, cause)
  }
}

function refused(message: string): SuperstepError {
  return terminalError("ADDRESS_REFUSED", message)
}

type Address = ipaddr.IPv4 | ipaddr.IPv6
export type Network = readonly [address: Address, prefix: number]

/** `10.0.0.0/8`, `fd00::/8`, or a single address. Throws a TypeError if it is neither. */
export function toNetwork(text: string): Network {
  const [host = "", length] = text.split("/")
  const address = parseAddress(host)
  const bits = address?.kind() === "ipv4" ? 32 : 128
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : bits + 1
  if (address === undefined || prefix > bits) throw new TypeError(`"${text}" is not an address or network`)
  return [address, prefix]
}

export function isInNetwork(address: string, network: Network): boolean {
  const found = canonical(address)
  return found !== undefined && contains(network, found)
}

interface KnownNetworks {
  /** Metadata services of clouds, which hand out keys to any internal caller; one of them has a public address. */
  readonly metadata: readonly Network[]
  /** IPv6 addresses that embed an IPv4 address, which is the one to check. */
  readonly embeddedV4: readonly Network[]
  /** The public internet of IPv6, with special networks in it. */
  readonly publicV6: Network
}

let known: KnownNetworks | undefined

/** Parsed when the first address is checked, not when the module is imported. */
function knownNetworks(): KnownNetworks {
  known ??= {
    metadata: [
      // All link-local addresses: AWS has several, for machines, containers and pods.
      "169.254.0.0/16",
      "fd00:ec2::/32",
      // Google over IPv6, Oracle, Alibaba, Azure.
      "fd20:ce::/32",
      "192.0.0.192",
      "100.100.100.200",
      "168.63.129.16",
    ].map(toNetwork),
    embeddedV4: ["::ffff:0:0/96", "64:ff9b::/96"].map(toNetwork),
    publicV6: toNetwork("2000::/3"),
  }
  return known
}

export type AddressKind = "public" | "private" | "metadata"

export function addressKind(text: string): AddressKind {
  const address = canonical(text)
  if (address === undefined) return "private"
  const { metadata, publicV6 } = knownNetworks()
  if (metadata.some((network) => contains(network, address))) return "metadata"
  // ipaddr.js calls every IPv6 address that is in none of its ranges "unicast".
  const isPublic = address.range() === "unicast" && (address.kind() === "ipv4" || contains(publicV6, address))
  return isPublic ? "public" : "private"
}

function canonical(text: string): Address | undefined {
  const address = parseAddress(text)
  if (address === undefined) return undefined
  const isEmbedded = knownNetworks().embeddedV4.some((network) => contains(network, address))
  return isEmbedded ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address
}

function contains([network, prefix]: Network, address: Address): boolean {
  return network.kind() === address.kind() && address.match(network, prefix)
}

/**
 * Accepts only the notation of Node: ipaddr.js also parses `0x7f.1` and `127.1`. An address with a zone (`fe80::1%eth0`)
 * is invalid.
 */
function parseAddress(text: string): Address | undefined {
  return isIP(text) === 0 || text.includes("%") ? undefined : ipaddr.parse(text)
}
