/** What the readers of YAML and JSON tell: by offset, each place in the text once, and not without end. */
import { type Diagnostic, Report } from "./diagnostic.ts"
import type { Lines } from "./place.ts"
import type { Written } from "./written.ts"

export interface ReadResult {
  /** Nothing when the text holds no value. */
  readonly root: Written | undefined
  /** Whether the root is what was meant: false after mistakes that may have torn the structure. */
  readonly sound: boolean
}

/** More than this are the echo of one mistake, or no definition at all. */
const MOST = 100

export class SourceReport {
  readonly #report = new Report()
  readonly #lines: Lines
  readonly #told = { error: new Set<number>(), warning: new Set<number>() }

  constructor(lines: Lines) {
    this.#lines = lines
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#report.diagnostics
  }

  /** No further error is told. */
  get isFull(): boolean {
    return this.#told.error.size >= MOST
  }

  error(code: string, message: string, start: number, end: number, suggestion?: string): void {
    if (isNews(this.#told.error, start))
      this.#report.error(code, message, this.#lines.place(start, end), suggestion)
  }

  warning(code: string, message: string, start: number, end: number): void {
    if (isNews(this.#told.warning, start)) this.#report.warning(code, message, this.#lines.place(start, end))
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
      const message = `${source} is too long to be kept exactly: it becomes ${value}. If it is an id, put it in quotes.`
      this.warning("NUMBER_INEXACT", message, start, end)
    }
  }
}

function isNews(told: Set<number>, start: number): boolean {
  if (told.has(start) || told.size >= MOST) return false
  told.add(start)
  return true
}
