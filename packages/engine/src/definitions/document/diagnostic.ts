/** What is wrong with a definition, and where. Checks write to a report, so that all is told at once. */
import type { Place } from "./place.ts"

export interface Diagnostic {
  readonly severity: "error" | "warning"
  /** For programs, like `UNKNOWN_FIELD`. */
  readonly code: string
  /** For people: a sentence. */
  readonly message: string
  readonly place?: Place
  /** The word that was probably meant: shown as `did you mean …?`. */
  readonly suggestion?: string
}

export class Report {
  readonly #diagnostics: Diagnostic[] = []
  #hasErrors = false

  error(code: string, message: string, place?: Place, suggestion?: string): void {
    this.add([diagnostic("error", code, message, place, suggestion)])
  }

  warning(code: string, message: string, place?: Place, suggestion?: string): void {
    this.add([diagnostic("warning", code, message, place, suggestion)])
  }

  /** What another check has found. */
  add(found: Iterable<Diagnostic>): void {
    for (const one of found) {
      this.#diagnostics.push(one)
      if (one.severity === "error") this.#hasErrors = true
    }
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics
  }

  get hasErrors(): boolean {
    return this.#hasErrors
  }
}

function diagnostic(
  severity: Diagnostic["severity"],
  code: string,
  message: string,
  place: Place | undefined,
  suggestion: string | undefined,
): Diagnostic {
  return {
    severity,
    code,
    message,
    ...(place !== undefined && { place }),
    ...(suggestion !== undefined && { suggestion }),
  }
}
