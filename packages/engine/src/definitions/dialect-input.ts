/** The input of a dialect's compiler: a report by path, the plan to write, and access to other files. */
import type { z } from "zod"
import type { Json } from "../core/index.ts"
import {
  type Document,
  type FieldsBy,
  type Path,
  type Report,
  readShape,
  type SourceRange,
  type UnknownField,
} from "../document/index.ts"
import { ExpressionError, type Reference } from "../expressions/index.ts"
import { schemaProblems } from "../tools/internal.ts"
import type { DefinitionPaths, LoadOptions } from "./definition.ts"
import type { PlanWriter, Ref } from "./plan/index.ts"
import { secretNotShown } from "./variables.ts"

export interface DialectInput {
  readonly report: DocumentReport
  readonly writer: PlanWriter
  readonly options: LoadOptions
  readonly paths: DefinitionPaths
  /** Parses another file. Its problems are reported. */
  read(file: string, named?: SourceRange): Document | undefined
  /** The workflow of another file. Its problems are reported where this document names the file. */
  include(file: string, named: SourceRange): Ref | undefined
}

type Part = Parameters<Document["place"]>[1]

/** Reports the problems of one document, each at a path of its data. */
export class DocumentReport {
  readonly document: Document
  readonly all: Report

  constructor(document: Document, all: Report) {
    this.document = document
    this.all = all
  }

  error(code: string, message: string, path: Path, suggestion?: string, part?: Part): void {
    this.all.error(code, message, this.at(path, part), suggestion)
  }

  warning(code: string, message: string, path: Path, suggestion?: string, part?: Part): void {
    this.all.warning(code, message, this.at(path, part), suggestion)
  }

  at(path: Path, part?: Part): SourceRange {
    return this.document.place(asWritten(this.document, path), part)
  }

  /** The data in this shape. Undefined if it does not match; the mismatches are reported. */
  read<T>(shape: z.ZodType<T>, fields?: FieldsBy): T | undefined {
    const { value, diagnostics, misspelt } = readShape(this.document, shape, [], fields)
    if (misspelt !== undefined) MISSPELT.set(this.document, misspelt)
    this.all.add(diagnostics)
    return value
  }

  /** Whether the mapping was written with a field that does not exist: what is missing in it may be that one. */
  hasUnknownField(path: Path, data: object): boolean {
    return Object.keys(this.#written(path) ?? {}).some((field) => !Object.hasOwn(data, field))
  }

  /** Whether the author wrote the field. A misspelt one was reported, and is read as the one that was probably meant. */
  hasField(path: Path): boolean {
    return this.#written(path) !== undefined
  }

  #written(path: Path): unknown {
    let written: unknown = this.document.data
    for (const part of path) written = (written as Record<string | number, unknown> | undefined)?.[part]
    return written
  }

  /** Names the other places of a problem that is reported once; empty if there are none. */
  alsoAt(paths: readonly Path[]): string {
    const lines = [...new Set(paths.map((path) => this.at(path).line))]
    const listed = new Intl.ListFormat("en").format(lines.map(String))
    return lines.length === 0 ? "" : ` (also in ${lines.length === 1 ? "line" : "lines"} ${listed})`
  }

  /** Warns about a field that is accepted and has no effect. */
  unsupported(what: string, path: Path, part?: Part): void {
    this.warning("NOT_SUPPORTED", `${what} is not supported and has no effect.`, path, undefined, part)
  }

  /** `what` names the JSON Schema, such as `the structured_output of agent "a"`. */
  checkSchema(schema: Json, what: string, path: Path): void {
    for (const { path: inside, message } of schemaProblems(schema)) {
      const part = inside.at(-2) === "patternProperties" ? "key" : undefined
      this.error("SCHEMA_INVALID", `${what}: ${message}.`, [...path, ...inside], undefined, part)
    }
  }

  invalidExpression({ message, start, end }: ExpressionError, path: Path): void {
    this.error("EXPRESSION_INVALID", message, path, undefined, { from: start, to: end })
  }

  /** Warns where a secret appears in something that is recorded, which is everything but the arguments of a tool. */
  secretShown(written: string, name: string, path: Path, { start, end }: Reference): void {
    if (path.includes("args")) return
    const message = secretNotShown(written, name)
    this.warning("SECRET_NOT_SHOWN", message, path, undefined, { from: start, to: end })
  }
}

/** Fields that are read by the name that was meant. */
const MISSPELT = new WeakMap<Document, readonly UnknownField[]>()

/** The path with the names that the document has. */
function asWritten(document: Document, path: Path): Path {
  const misspelt = MISSPELT.get(document)
  if (misspelt === undefined) return path
  const written: (string | number)[] = []
  for (const part of path) {
    const found = misspelt.find(
      (one) =>
        one.meant === part &&
        one.path.length === written.length + 1 &&
        written.every((name, i) => name === one.path[i]),
    )
    written.push(found?.path.at(-1) ?? part)
  }
  return written
}

/** Returns the parsed expression or template, or the error in it. */
export function tryRead<T>(text: string, reader: (text: string) => T): T | ExpressionError {
  try {
    return reader(text)
  } catch (error) {
    if (error instanceof ExpressionError) return error
    throw error
  }
}
