/** JSON Schemas in definitions: what keeps them from being used is reported at its place. */
import type { Json } from "../core/index.ts"
import { schemaProblems } from "../tools/schema-limits.ts"
import type { Path, Place, Report } from "./document/index.ts"

export interface SchemaPlace {
  readonly report: Report
  readonly path: Path
  place(path: Path, part?: "key"): Place
}

/** `what` is the schema in words, such as `structured_output of agent "a"`. */
export function checkSchema(schema: Json, what: string, { report, path, place }: SchemaPlace): void {
  for (const { path: inside, message } of schemaProblems(schema)) {
    const part = inside.at(-2) === "patternProperties" ? "key" : undefined
    report.error("SCHEMA_INVALID", `${what}: ${message}.`, place([...path, ...inside], part))
  }
}
