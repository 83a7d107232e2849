import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { addressKind, isInNetwork, toNetwork } from "./network-rules.ts"

describe("the kind of an address", () => {
  test.each(["8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.0", "100.63.255.255", "223.255.255.255"])(
    "%s is public",
    (address) => expect(addressKind(address)).toBe("public"),
  )
  test.each(["2606:4700::1111", "2a00:1450:4001:81b::200e", "::ffff:8.8.8.8", "64:ff9b::808:808"])(
    "%s is public",
    (address) => expect(addressKind(address)).toBe("public"),
  )

  test.each([
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "0:0:0:0:0:0:0:1",
    "::7f00:1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::FFFF:10.0.0.1",
    "0:0:0:0:0:ffff:c0a8:0101",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "3fff::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "100::1",
    "4000::1",
    "no address",
    "",
    "127.1",
    "0x7f000001",
  ])("%s is private", (address) => expect(addressKind(address)).toBe("private"))

  test.each([
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "64:ff9b::a9fe:a9fe",
    "100.100.100.200",
    "168.63.129.16",
    "169.254.170.2",
    "169.254.170.23",
    "169.254.1.1",
    "192.0.0.192",
    "fd20:ce::254",
    "fd00:ec2::23",
    "fd00:ec2::254",
    "fd00:0ec2:0:0:0:0:0:254",
  ])("%s is a metadata service", (address) => expect(addressKind(address)).toBe("metadata"))

  test("an IPv4 address embedded in IPv6 has the same kind, in any notation", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const hex = address.split(".").map((part) => Number(part).toString(16).padStart(2, "0"))
        const spelled = [`::ffff:${address}`, `0:0:0:0:0:FFFF:${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`]
        for (const one of spelled) expect(addressKind(one)).toBe(addressKind(address))
      }),
    )
  })

  test("any IPv6 address has a kind, and none outside 2000::/3 is public except embedded IPv4 addresses", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const kind = addressKind(address)
        const known = ["2000::/3", "::ffff:0:0/96", "64:ff9b::/96"].map(toNetwork)
        const bare = (network: string) => toNetwork(network)
        if (kind === "public" && !known.some((network) => isInNetwork(address, network))) {
          // Then it embeds an IPv4 address.
          expect(isInNetwork(address, bare("0.0.0.0/0"))).toBe(true)
        }
      }),
    )
  })
})

describe("a network", () => {
  test("contains by its prefix", () => {
    expect(isInNetwork("10.1.2.3", toNetwork("10.1.0.0/16"))).toBe(true)
    expect(isInNetwork("10.2.2.3", toNetwork("10.1.0.0/16"))).toBe(false)
    expect(isInNetwork("127.0.0.1", toNetwork("127.0.0.1"))).toBe(true)
    expect(isInNetwork("::ffff:127.0.0.1", toNetwork("127.0.0.1"))).toBe(true)
    expect(isInNetwork("fd00::1", toNetwork("fd00::/8"))).toBe(true)
    expect(isInNetwork("192.168.1.129", toNetwork("192.168.1.128/25"))).toBe(true)
    expect(isInNetwork("192.168.1.127", toNetwork("192.168.1.128/25"))).toBe(false)
  })

  test.each(["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "localhost", "10.0.0/8", "::/129"])(
    "%j is none",
    (text) => expect(() => toNetwork(text)).toThrow(TypeError),
  )
})
