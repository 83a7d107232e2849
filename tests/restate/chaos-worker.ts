/**
 * A worker of a fleet on Restate, which is killed sooner or later. Each step leaves a line in the trail, and one more if the journal
 * has its result already. Arguments: the store, the trail, the ingresses, the service, the name of its machine.
 */
import { appendFileSync } from "node:fs"
import { restateEndpoint } from "@superstep/restate"
import { problemsTo } from "../fleet/problems.ts"
import { openStore } from "../stores.ts"
import { trip } from "./trip.ts"

const [address = "", trail = "", ingresses = "", service = "", machine = ""] = process.argv.slice(2)
const store = openStore(address)
const leave = (line: string) => appendFileSync(trail, `${line}\n`)
const endpoint = restateEndpoint({
  store,
  workflows: [trip(leave, (runId) => store.read(runId, 0))],
  restate: ingresses.split(","),
  service,
  // Workers see no processes of other machines: they miss each other's heartbeats.
  machine,
  lease: 3_000,
  // Kills are no fault of the runs.
  maxTakeovers: 1_000,
  onProblem: problemsTo(leave),
})
const port = await endpoint.listen({ host: "127.0.0.1" })
process.on("disconnect", () => process.exit())
process.send?.(port)
