/** A worker of the crash scenarios on Restate. It kills itself at the call of a handler or step that it is given; 0: never. */
import { restateEndpoint } from "@superstep/restate"
import { type ScenarioName, scenarios } from "../crash/scenarios/index.ts"
import { openStore } from "../stores.ts"

const [address = "", restate = "", service = "", machine = "", dies = "0"] = process.argv.slice(2)
let calls = 0
const watch = () => {
  if (++calls === Number(dies)) process.kill(process.pid, "SIGKILL")
}
const workflows = (Object.keys(scenarios) as ScenarioName[]).map((name) => scenarios[name](watch).workflow)
const endpoint = restateEndpoint({
  store: openStore(address),
  workflows,
  restate,
  service,
  machine,
  lease: 2_000,
  // Kills are no fault of the runs.
  maxTakeovers: 1_000,
})
const port = await endpoint.listen({ host: "127.0.0.1" })
process.on("disconnect", () => process.exit())
process.send?.(port)
