/** A worker that fires and executes the schedules that its workflow declares, until it is killed. */
import { node, Runtime, workflow } from "superstep"
import { openStore } from "../stores.ts"
import { problemsTo } from "./problems.ts"

const [path = "", count = "1"] = process.argv.slice(2)
const schedules = Array.from(
  { length: Number(count) },
  (_, i) =>
    ({
      id: `s${i}`,
      every: 1_000,
      catchUp: "all",
      overlap: "allow",
    }) as const,
)
const tick = workflow("tick", { schedules })
  .start(node("tick", (input: null) => input ?? "done"))
  .build()

const runtime = new Runtime({
  store: openStore(path),
  workflows: [tick],
  maxTakeovers: 1_000,
  onProblem: problemsTo((line) => process.send?.(line)),
})
await runtime.recover()
process.on("disconnect", () => process.exit())
process.send?.("ready")
