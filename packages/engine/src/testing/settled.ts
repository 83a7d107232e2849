import { modulesLoaded } from "../core/module-load.ts"

/** Held from the start, so that a test framework's fake timers do not stop it. */
const nextTurn = setImmediate

/**
 * Resolves when everything that can happen by itself has happened: every promise that follows from settled
 * ones is settled, and modules that the engine loads on first use are there. What waits for a clock, a person or other
 * real IO still waits.
 */
export async function settled(): Promise<void> {
  for (;;) {
    await new Promise<void>((resolve) => nextTurn(resolve))
    const loading = modulesLoaded()
    if (loading === undefined) return
    await loading
  }
}
