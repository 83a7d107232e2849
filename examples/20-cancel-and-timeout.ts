/** Cancellation and time limits: the caller cancels a run, a node has a limit per attempt, a run has a total limit. */
import { node, workflow } from "superstep"

/** Simulates a slow service that can be aborted, like fetch with a signal. */
function slowExport(signal: AbortSignal): Promise<string> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  })
}

const exporting = node("export", (_report: string, ctx) => slowExport(ctx.signal))
const impatient = node({
  id: "export",
  timeout: 30,
  run: (_report: string, ctx) => slowExport(ctx.signal),
})

export const patientExport = workflow("patient-export").start(exporting).build()
export const impatientExport = workflow("impatient-export").start(impatient).build()

if (import.meta.filename === process.argv[1]) {
  const run = patientExport.run("sales")
  run.cancel("the report is no longer needed")
  // `run.result` does not throw; awaiting the run itself would.
  const cancelled = await run.result
  console.log(cancelled.status, "-", cancelled.error?.message)

  const timedOut = await impatientExport.run("sales").result
  console.log(timedOut.status, "-", timedOut.error?.message)

  const outOfTime = await patientExport.run("sales", { timeout: 30 }).result
  console.log(outOfTime.status, "-", outOfTime.error?.message)
}
