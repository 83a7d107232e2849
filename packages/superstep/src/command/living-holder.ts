/** The process that has a run at work. */
import { hostname } from "node:os"
import type { Holder, Store, StoredRun } from "@superstep/engine"

/** As far as can be seen from here: whoever takes the run up looks closer. */
export async function livingHolder(
  store: Pick<Store, "holders">,
  { holder: id }: StoredRun,
  now: number,
): Promise<Holder | undefined> {
  if (id === undefined) return undefined
  const holder = (await store.holders()).find((one) => one.id === id)
  if (holder === undefined || holder.until < now) return undefined
  return machineOf(holder) !== hostname() || isRunning(holder.pid) ? holder : undefined
}

/** Its name; what follows tells apart processes that cannot see each other. */
export function machineOf({ machine }: Holder): string {
  return machine.split(" ", 1)[0] as string
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}
