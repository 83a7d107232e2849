/**
 * Watches one call of a handler for mistakes that show only after a restart, or only in another node: an input that the
 * handler changed, and records of the journal that it did not ask for again.
 */
export interface HandlerWatch {
  /** The handler asks for a step, an answer, a sleep or a call. */
  asks(key: string): void
  returned(): void
  threw(): void
}

/** `recorded` is what the journal has of this attempt, by key: a handler that does the same again asks for all of it. */
export function watchHandler(
  name: string,
  input: unknown,
  recorded: ReadonlySet<string>,
  onBroken: (problem: string) => void,
): HandlerWatch {
  const before = JSON.stringify(input)
  const asked = new Set<string>()

  const checkInput = () => {
    const after = JSON.stringify(input)
    if (after === before) return
    onBroken(
      `handler changed its input: ${name} got ${before} and left ${after}. Other nodes, and the same node ` +
        "after a restart, may see either. Return a new value instead",
    )
  }
  return {
    asks: (key) => void asked.add(key),
    returned() {
      checkInput()
      const missing = [...recorded].filter((key) => !asked.has(key)).map((key) => `"${key}"`)
      if (missing.length === 0) return
      onBroken(
        `handler did not ask again for what is on record: ${name} returned without ${missing.join(", ")}. A handler that ` +
          "starts again must make the same steps, questions, sleeps and calls: what it decides by time, chance or data " +
          "outside of the run belongs into a step",
      )
    },
    threw: checkInput,
  }
}
