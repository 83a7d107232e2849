/** A value without what looks like a secret: fields with secret names, and keys by their shape. For what leaves the studio. */
import { isSecretName, KEY_PATTERNS, MASK } from "@superstep/engine/text"

export function withoutSecrets(value: unknown): unknown {
  if (typeof value === "string") return cleanText(value)
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      isSecretName(name) && (typeof one === "string" || typeof one === "object") ? MASK : withoutSecrets(one),
    ]),
  )
}

function cleanText(text: string): string {
  let clean = text
  for (const [pattern, replacement] of KEY_PATTERNS) clean = clean.replace(pattern, replacement)
  return clean
}
