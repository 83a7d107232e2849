/** Where a run stands with all its sub-workflows, from their machines; the run's own comes first. */
import type { Machine, RunStatus } from "../core/index.ts"

export function standingOf(machines: readonly Machine[]): RunStatus {
  const [root] = machines as [Machine]
  if (root.isOver()) return root.status
  if (machines.some((machine) => machine.isBusy())) return "running"
  return machines.some(({ status }) => status === "waiting") ? "waiting" : "running"
}
