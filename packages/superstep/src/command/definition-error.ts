/** A definition that cannot run: everything that is wrong with it, with its source. */
import { SuperstepError } from "@superstep/engine"
import type { Loaded } from "@superstep/engine/definitions"
import type { Terminal } from "./terminal.ts"

class DefinitionError extends SuperstepError {
  readonly loaded: Loaded

  constructor(message: string, loaded: Loaded) {
    super("DEFINITION_INVALID", message, { retryable: false })
    this.loaded = loaded
  }

  print(terminal: Terminal): Promise<void> {
    return printLoaded(this.loaded, terminal)
  }
}

export async function definitionError(loaded: Loaded): Promise<DefinitionError> {
  const { listErrors } = await import("@superstep/engine/definitions")
  return new DefinitionError(listErrors(loaded), loaded)
}

export function isDefinitionError(error: unknown): error is DefinitionError {
  return error instanceof DefinitionError
}

/** The problems with their places, and how many they are; nothing where there are none. */
export async function printLoaded(loaded: Loaded, terminal: Terminal): Promise<void> {
  if (loaded.diagnostics.length === 0) return
  const { printProblems } = await import("@superstep/engine/definitions")
  const { hasColor: color, width } = terminal
  terminal.write(printProblems(loaded, { color, width }))
}
