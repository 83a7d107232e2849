/** Held from the start, so that a test framework's fake timers do not stop it. */
const nextTurn = setImmediate

/**
 * Resolves when everything that can happen by itself has happened: every promise that follows from settled
 * ones is settled. What waits for a clock, a person or real IO still waits.
 */
export function settled(): Promise<void> {
  return new Promise((resolve) => nextTurn(resolve))
}
