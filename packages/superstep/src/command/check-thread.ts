/** A thread is for what remembers. The engine says so too, to those who write workflows in TypeScript. */
import type { OpenedWorkflow } from "./open-workflow.ts"
import { usageError } from "./usage-error.ts"

/** Throws where a definition keeps nothing from run to run. */
export function checkThread({ name, workflow, definition }: OpenedWorkflow): void {
  const channels = [...workflow.program.graph.channels.values()]
  if (definition === undefined || channels.some(({ lasting }) => lasting)) return
  throw usageError(
    `${name} keeps nothing from one run to the next: superstep chat and --thread are for files ` +
      "with agents and no workflow, and for graphs that hold a conversation. Use superstep run.",
  )
}
