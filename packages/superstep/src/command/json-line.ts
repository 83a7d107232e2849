/** Data as a line of JSON that any terminal may show. */

// What JSON leaves as it is and a terminal may obey, or a reader of lines may take for the end of one.
const UNSAFE = /[\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/g

/** Without the line break. Equal data as JSON: what is unsafe is escaped, not changed. */
export function jsonLine(value: unknown): string {
  return jsonText(value)
}

/** On several lines, for people. */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent) ?? "null"
  return text.replace(UNSAFE, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`)
}
