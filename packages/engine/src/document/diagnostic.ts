/** What is wrong with a definition, and where. Checks write to a report, so that one run names every problem. */
import type { Lines, SourceRange } from "./source-range.ts"

export interface Diagnostic {
  readonly severity: "error" | "warning"
  /** For programs, like `UNKNOWN_FIELD`. */
  readonly code: string
  /** For people: a sentence. */
  readonly message: string
  readonly place?: SourceRange
  /** The word that was probably meant: shown as `did you mean …?`. */
  readonly suggestion?: string
}

export class Report {
  readonly #diagnostics: Diagnostic[] = []
  #hasErrors = false

  error(code: string, message: string, place?: SourceRange, suggestion?: string): void {
    this.#add("error", code, message, place, suggestion)
  }

  warning(code: string, message: string, place?: SourceRange, suggestion?: string): void {
    this.#add("warning", code, message, place, suggestion)
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

  #add(
    severity: Diagnostic["severity"],
    code: string,
    message: string,
    place?: SourceRange,
    suggestion?: string,
  ): void {
    const optional = { ...(place && { place }), ...(suggestion !== undefined && { suggestion }) }
    this.add([{ severity, code, message, ...optional }])
  }
}

/** More than this are the echo of one mistake, or no definition at all. */
const MAX_REPORTED = 100

/** For the readers of YAML and JSON: by offset, one diagnostic for each offset, and a limited number of them. */
export class SourceReport {
  readonly #report = new Report()
  readonly #lines: Lines
  readonly #reported = { error: new Set<number>(), warning: new Set<number>() }

  constructor(lines: Lines) {
    this.#lines = lines
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#report.diagnostics
  }

  /** No further error is reported. */
  get isFull(): boolean {
    return this.#reported.error.size >= MAX_REPORTED
  }

  error(code: string, message: string, start: number, end: number, suggestion?: string): void {
    this.#add("error", code, message, start, end, suggestion)
  }

  lineOf(offset: number): number {
    return this.#lines.place(offset, offset).line
  }

  duplicateKey(
    name: string,
    key: { readonly start: number; readonly end: number },
    first: { readonly start: number },
  ): void {
    const message = `The key ${JSON.stringify(name)} is already on line ${this.lineOf(first.start)}.`
    this.error("DUPLICATE_KEY", message, key.start, key.end)
  }

  checkNumber(value: number, source: string, start: number, end: number): void {
    if (!Number.isFinite(value)) {
      this.error("NOT_JSON", `${source} is not a number that JSON can hold.`, start, end)
    } else if (Number.isInteger(value) && !Number.isSafeInteger(value) && /^[-+]?\d+$/.test(source)) {
      const message = `${source} is too long to be represented exactly: it becomes ${value}. If it is an id, put it in quotes.`
      this.#add("warning", "NUMBER_INEXACT", message, start, end)
    }
  }

  #add(
    severity: Diagnostic["severity"],
    code: string,
    message: string,
    start: number,
    end: number,
    suggestion?: string,
  ): void {
    const reported = this.#reported[severity]
    if (reported.has(start) || reported.size >= MAX_REPORTED) return
    reported.add(start)
    this.#report[severity](code, message, this.#lines.place(start, end), suggestion)
  }
}
