/** The process that executes a run. */
import { type Holder, processOf, type Store, type StoredRun } from "@superstep/engine"
import type { ShownStatus } from "./status-paint.ts"

/** As far as can be seen from here: whoever claims the run looks closer. */
export async function livingHolder(
  store: Pick<Store, "holders">,
  { holder: id }: StoredRun,
): Promise<Holder | undefined> {
  if (id === undefined) return undefined
  const holder = (await store.holders()).find((one) => one.id === id)
  return holder === undefined || processOf(holder) === "gone" ? undefined : holder
}

/** How a run stands, as people see it: one that nobody executes is stopped, not running. */
export async function shownStatus(store: Pick<Store, "holders">, run: StoredRun): Promise<ShownStatus> {
  if (run.status !== "running") return run.status
  return (await livingHolder(store, run)) === undefined ? "stopped" : "running"
}

/** Its name; what follows tells apart processes that cannot see each other. */
export function machineOf({ machine }: Holder): string {
  return machine.split(" ", 1)[0] as string
}
