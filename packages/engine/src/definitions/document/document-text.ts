/** Data as the text of a file, which reads back as the same data. */
import { stringify } from "yaml"
import type { Json } from "../../core/index.ts"

/** Ends with a line break. */
export function documentText(data: Json, format: "yaml" | "json"): string {
  if (format === "json") return `${JSON.stringify(data, null, 2)}\n`
  // Long texts stay on their lines, and equal parts are written each time: people edit them apart.
  return stringify(data, { lineWidth: 0, aliasDuplicateObjects: false })
}
