import { killTests, proofCounts } from "../crash/kill-suite.ts"
import { newAddress } from "./schemas.test-support.ts"

const addresses = new Map<string, string>()

killTests({
  ...proofCounts({ stride: 7, random: 0 }),
  addressOf(_, name) {
    const address = addresses.get(name) ?? newAddress()
    addresses.set(name, address)
    return address
  },
})
