/** The JSON Schema of a tool's arguments, for tools that are written without a schema library. */
import type { Json } from "../core/index.ts"

/** Takes exactly these; `required` names those that cannot be left out. */
export function argsSchema(properties: Readonly<Record<string, Json>>, required: readonly string[]): Json {
  return { type: "object", properties, required, additionalProperties: false }
}
