/**
 * Which addresses on the network an agent may reach.
 *
 * 1. Only http and https, without a name and password in the address.
 * 2. A host that `denyHosts` names is refused; where `allowHosts` is given, so is every host that it does not name.
 * 3. An address that is not public is refused unless `allowPrivate` names it. What hands out the keys of a cloud
 *    must be named itself: `true` does not mean it.
 * 4. All addresses of a name are looked at, and one bad address refuses the name.
 */
import { isIP } from "node:net"
import { SuperstepError } from "../core/index.ts"
import { addressKind, isInNetwork, type Network, toNetwork } from "./ip-address.ts"
import { matchesWord } from "./path-glob.ts"

export interface NetworkRules {
  /** Names of hosts, with `*`: `api.example.com`, `*.example.com`. Absent: all. */
  readonly allowHosts?: readonly string[] | undefined
  readonly denyHosts?: readonly string[] | undefined
  /** Addresses or networks beside the public ones (`127.0.0.1`, `10.1.0.0/16`), or true for all but metadata services. */
  readonly allowPrivate?: boolean | readonly string[] | undefined
}

export interface CheckedRules {
  /** Throws ADDRESS_REFUSED when the URL as it is written may not be fetched. */
  checkUrl(url: URL): void
  /** Throws ADDRESS_REFUSED when one of the addresses that a name has may not be reached. */
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
        throw refused(`${url.protocol}// is not fetched: use http or https.`)
      }
      if (url.username !== "" || url.password !== "") {
        throw refused("An address with a user name or password in it is not fetched.")
      }
      const host = hostOf(url)
      const fits = (pattern: string) => matchesWord(pattern.toLowerCase(), host)
      if (rules.denyHosts?.some(fits) === true) throw refused(`${host} is on the deny list.`)
      if (rules.allowHosts !== undefined && !rules.allowHosts.some(fits)) {
        throw refused(
          `${host} is not on the list of allowed hosts: ${rules.allowHosts.join(", ") || "none"}.`,
        )
      }
      // A connection to an address asks nobody for a name, so this one is checked here.
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
 * The private addresses that whoever wrote an address has named with it: the address itself, or those of this machine for
 * `localhost`. Not what hands out the keys of a cloud, and not what any other name resolves to.
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
    throw new SuperstepError(
      "NETWORK_RULES_INVALID",
      "allowPrivate takes addresses and networks such as 127.0.0.1 or 10.1.0.0/16.",
      { cause, retryable: false },
    )
  }
}

function refused(message: string): SuperstepError {
  return new SuperstepError("ADDRESS_REFUSED", message, { retryable: false })
}
