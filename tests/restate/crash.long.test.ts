/** The suite of killed processes on Restate: each is a worker that Restate brings its run to, and kills itself around a write. */
import { killTests } from "../crash/kill-suite.ts"
import { deployments } from "./front.test-support.ts"

const newDeployment = deployments(2)
const addresses = new Map<string, string>()

killTests({
  stride: 9,
  random: 0,
  addressOf(_, name) {
    const address = addresses.get(name) ?? newDeployment()
    addresses.set(name, address)
    return address
  },
})
