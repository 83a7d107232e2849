import { isDeepStrictEqual } from "node:util"

/** Which fields of two things differ, as data, or undefined when none does. */
export function difference(a: object, b: object): string | undefined {
  const [one, other] = [JSON.stringify(a), JSON.stringify(b)]
  if (one === other) return undefined
  const left = JSON.parse(one) as Record<string, unknown>
  const right = JSON.parse(other) as Record<string, unknown>
  const fields = [...new Set([...Object.keys(left), ...Object.keys(right)])]
  const differing = fields.filter((field) => !isDeepStrictEqual(left[field], right[field]))
  if (differing.length === 0) return undefined
  return differing
    .map((field) => `${field} is ${JSON.stringify(left[field])}, not ${JSON.stringify(right[field])}`)
    .join("; ")
}
