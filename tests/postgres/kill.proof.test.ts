import { inject } from "vitest"
import { killTests } from "../crash/kill-suite.ts"
import { newAddress } from "./schemas.test-support.ts"

const addresses = new Map<string, string>()

killTests({
  stride: inject("isProof") ? 3 : 7,
  random: inject("isProof") ? 6 : 0,
  addressOf(_, name) {
    const address = addresses.get(name) ?? newAddress()
    addresses.set(name, address)
    return address
  },
})
