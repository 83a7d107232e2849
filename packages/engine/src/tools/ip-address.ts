/**
 * What an IP address is for. Everything that is not plainly of the public internet counts as private: an address
 * that is missing in a list of bad ones must not become a good one.
 */
import { isIPv4, isIPv6 } from "node:net"

/** Where clouds hand out keys to whoever asks from inside; one of them has a public address. */
const METADATA = [
  // All that is local to a link: AWS has several in there, for machines, containers and pods.
  "169.254.0.0/16",
  "fd00:ec2::/32",
  // Google over IPv6, Oracle, Alibaba, Azure.
  "fd20:ce::/32",
  "192.0.0.192",
  "100.100.100.200",
  "168.63.129.16",
]

/** Network, length of its prefix: not of the public internet. */
const V4_PRIVATE = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
]

/** The public internet of IPv6 is in here, */
const V6_PUBLIC = ["2000::/3"]
/** without these: tunnels, whose end is an IPv4 address of any kind, tests, and examples. */
const V6_PRIVATE = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"]
/** An IPv4 address in the clothes of an IPv6 one: what counts is the IPv4 address. */
const V6_MAPPED = ["::ffff:0:0/96", "64:ff9b::/96"]

export type AddressKind = "public" | "private" | "metadata"

export interface Network {
  readonly bytes: readonly number[]
  readonly prefix: number
}

/** `10.0.0.0/8`, `fd00::/8`, or a single address. Throws a TypeError when it is none. */
export function toNetwork(text: string): Network {
  const [address = "", length] = text.split("/")
  const bytes = bytesOf(address)
  const most = (bytes?.length ?? 0) * 8
  const prefix = length === undefined ? most : Number(length)
  if (bytes === undefined || !Number.isInteger(prefix) || prefix < 0 || prefix > most || length === "") {
    throw new TypeError(`"${text}" is no address or network`)
  }
  return { bytes, prefix }
}

export function isInNetwork(address: string, network: Network): boolean {
  const bytes = canonical(address)
  return bytes !== undefined && contains(network, bytes)
}

export function addressKind(address: string): AddressKind {
  const bytes = canonical(address)
  if (bytes === undefined) return "private"
  if (isIn(METADATA, bytes)) return "metadata"
  if (bytes.length === 4) return isIn(V4_PRIVATE, bytes) ? "private" : "public"
  return isIn(V6_PUBLIC, bytes) && !isIn(V6_PRIVATE, bytes) ? "public" : "private"
}

const networks = new Map<readonly string[], readonly Network[]>()

/** A list is read when an address is first held against it: most programs never do. */
function isIn(list: readonly string[], bytes: readonly number[]): boolean {
  const known = networks.get(list) ?? list.map(toNetwork)
  networks.set(list, known)
  return known.some((network) => contains(network, bytes))
}

/** The bytes of an address; of the IPv4 address where it stands for one. */
function canonical(address: string): readonly number[] | undefined {
  const bytes = bytesOf(address)
  if (bytes === undefined || bytes.length === 4) return bytes
  return isIn(V6_MAPPED, bytes) ? bytes.slice(12) : bytes
}

function contains(network: Network, bytes: readonly number[]): boolean {
  if (network.bytes.length !== bytes.length) return false
  return bytes.every((byte, index) => {
    const bits = Math.min(8, Math.max(0, network.prefix - index * 8))
    const mask = (0xff << (8 - bits)) & 0xff
    return (byte & mask) === ((network.bytes[index] ?? 0) & mask)
  })
}

/** Addresses with a zone (`fe80::1%eth0`) are none here. */
function bytesOf(address: string): readonly number[] | undefined {
  if (isIPv4(address)) return address.split(".").map(Number)
  if (!isIPv6(address) || address.includes("%")) return undefined
  const [head = "", tail] = address.split("::")
  const start = groups(head)
  const end = tail === undefined ? [] : groups(tail)
  const gap = new Array<number>(16 - start.length - end.length).fill(0)
  return [...start, ...gap, ...end]
}

function groups(text: string): readonly number[] {
  if (text === "") return []
  return text.split(":").flatMap((group) => {
    if (group.includes(".")) return group.split(".").map(Number)
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 0xff]
  })
}
