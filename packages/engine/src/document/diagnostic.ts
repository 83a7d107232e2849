/** Problems of a definition, and where they are. Checks write to a report, so that one run finds every problem. */
import type { Json } from "../core/index.ts"

/** Positions in source text: offsets, and the lines and columns that people use. */

/** A position in source text, as editors show it. */
export interface SourceRange {
  readonly file: string
  /** From 1. */
  readonly line: number
  /** From 1, counted like editors do: in UTF-16 units, of which most characters are one. */
  readonly column: number
  /** At least 1. The range ends with the line, or has length 1 directly after its last character. */
  readonly length: number
}

/** The path to a value: keys of mappings and indexes of lists. */
export type Path = readonly (string | number)[]

/** A part of a value: its key, all of it, or a range of characters inside a string. */
export type Part = "key" | "value" | { readonly from: number; readonly to: number }

const LINE_BREAK = /\r\n|\n|\r/g

/** The lines of a source, without their breaks and without a byte order mark. */
export function linesOf(text: string): string[] {
  return withoutMark(text).split(/\r\n|\n|\r/)
}

/** Removes all byte order marks: tools that join files leave several. */
export function withoutMark(text: string): string {
  return text.replace(/^\uFEFF+/, "")
}

/** Converts offsets to positions. Lines are split on first use. */
export class Lines {
  readonly #file: string
  readonly #text: string
  #starts: number[] | undefined

  constructor(file: string, text: string) {
    this.#file = file
    this.#text = text
  }

  /** The source range between two offsets. If it spans several lines, the part on the first line. */
  place(start: number, end: number): SourceRange {
    const starts = this.#lineStarts()
    const from = Math.min(Math.max(start, 0), this.#text.length)
    const line = lineAt(starts, from)
    const lineStart = starts[line] ?? 0
    const lineEnd = this.#endOf(line)
    const at = Math.min(from, lineEnd)
    const length = Math.max(1, Math.min(end, lineEnd) - at)
    return { file: this.#file, line: line + 1, column: at - lineStart + 1, length }
  }

  #lineStarts(): number[] {
    if (this.#starts !== undefined) return this.#starts
    const starts = [0]
    for (const found of this.#text.matchAll(LINE_BREAK)) starts.push(found.index + found[0].length)
    this.#starts = starts
    return starts
  }

  #endOf(line: number): number {
    const next = this.#lineStarts()[line + 1]
    if (next === undefined) return this.#text.length
    return this.#text.slice(next - 2, next) === "\r\n" ? next - 2 : next - 1
  }
}

function lineAt(starts: readonly number[], offset: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}

/** The strings in data, with their paths. */
export function* textsIn(value: Json | undefined, at: Path): Generator<readonly [Path, string]> {
  if (typeof value === "string") yield [at, value]
  else if (Array.isArray(value)) for (const [i, one] of value.entries()) yield* textsIn(one, [...at, i])
  else if (typeof value === "object" && value !== null) {
    for (const [name, one] of Object.entries(value)) yield* textsIn(one as Json, [...at, name])
  }
}

export interface Diagnostic {
  readonly severity: "error" | "warning"
  /** For programs, like `UNKNOWN_FIELD`. */
  readonly code: string
  /** For people: a sentence. */
  readonly message: string
  readonly place?: SourceRange
  /** The word that was probably meant, for `did you mean …?`. */
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

  /** Adds the findings of another check. */
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

/** Further diagnostics are mostly consequences of one mistake. */
const MAX_REPORTED = 100

/** For the YAML and JSON readers: reports by offset, at most one diagnostic per offset, and a limited number of them. */
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

  /** Whether further errors are dropped. */
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
