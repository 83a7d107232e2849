/** The suites of fleets, with their workers on Restate: runs, limits of runs and nodes, and signals while workers are killed. */
import { fleetTest } from "../fleet/fleet-suite.ts"
import { queueTest } from "../fleet/queue-suite.ts"
import { signalTest } from "../fleet/signal-suite.ts"
import { slotTest } from "../fleet/slot-suite.ts"
import { deployments } from "./front.test-support.ts"

const newDeployment = deployments(4)

fleetTest({ runs: 24, kills: 4 }, newDeployment)
queueTest(newDeployment, { big: 40, kills: 3 })
slotTest(newDeployment, { runs: 30, kills: 3 })
signalTest(newDeployment, { signals: 8, kills: 4 })
