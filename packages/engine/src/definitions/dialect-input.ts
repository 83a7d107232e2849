/** The input of a dialect's compiler: a report by path, the plan to write, and access to other files. */
import type { z } from "zod"
import type { Json } from "../core/index.ts"
import { type Document, type Path, type Report, readShape, type SourceRange } from "../document/index.ts"
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
    return this.document.place(path, part)
  }

  /** The data in this shape. Undefined if it does not match; the mismatches are reported. */
  read<T>(shape: z.ZodType<T>): T | undefined {
    const { value, diagnostics } = readShape(this.document, shape)
    this.all.add(diagnostics)
    return value
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

/** Returns the parsed expression or template, or the error in it. */
export function tryRead<T>(text: string, reader: (text: string) => T): T | ExpressionError {
  try {
    return reader(text)
  } catch (error) {
    if (error instanceof ExpressionError) return error
    throw error
  }
}
