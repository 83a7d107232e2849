/** Standard Schema at the border: any library's schema checks what comes in. */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { Json } from "../core/index.ts"
import { andThen, fromUser } from "./maybe-promise.ts"

export type Schema<Output = unknown> = StandardSchemaV1<unknown, Output>

export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string }

export function validate(schema: Schema, value: unknown): Validated | Promise<Validated> {
  return andThen(fromUser(schema["~standard"].validate(value)), toValidated)
}

function toValidated(result: StandardSchemaV1.Result<unknown>): Validated {
  if (result.issues === undefined) return { ok: true, value: result.value }
  return { ok: false, reason: result.issues.map(printIssue).join("; ") }
}

function printIssue({ message, path }: StandardSchemaV1.Issue): string {
  if (path === undefined || path.length === 0) return message
  const keys = path.map((part) => String(typeof part === "object" ? part.key : part))
  return `${keys.join(".")}: ${message}`
}

/** The schema as JSON Schema, where its library can say it (Standard JSON Schema); undefined where it cannot. */
export function jsonSchemaOf(schema: Schema | undefined, direction: "input" | "output"): Json | undefined {
  const standard = schema?.["~standard"] as StandardWithJson | undefined
  try {
    return standard?.jsonSchema?.[direction]({ target: "draft-2020-12" })
  } catch {
    // Some schemas (a function, a transform) have no JSON Schema; they are checked at run time alone.
    return undefined
  }
}

interface StandardWithJson {
  jsonSchema?: Record<"input" | "output", (options: { target: string }) => Json>
}
