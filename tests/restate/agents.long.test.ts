/** The suite of killed agents with its processes on Restate: each is a worker that Restate brings the run to, and kills itself. */
import { agentKillTest } from "../agents/kill-suite.ts"
import { deployments } from "./front.test-support.ts"

const newDeployment = deployments(1)
let address: string | undefined

agentKillTest({
  stride: 4,
  addressOf() {
    address ??= newDeployment()
    return address
  },
})
