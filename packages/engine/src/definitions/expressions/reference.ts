/** References: a root and the path after it, as far as it is fixed in the text. */
import { parse } from "@marcbachmann/cel-js"
import type { Token } from "./tokens.ts"

export interface Reference {
  /** Without `$`. In the graph spelling, the first name of a path. */
  readonly root: string
  readonly path: readonly (string | number)[]
  /** Offsets into the source text. */
  readonly start: number
  readonly end: number
}

/**
 * Reads the reference whose root is the token at `at`. It goes on over `.name`, `["name"]`, `[2]` and `[-1]`, and
 * ends before anything that has to be computed, and before a method (`.size()`).
 */
export function readReference(
  tokens: readonly Token[],
  at: number,
): { readonly reference: Reference; readonly next: number } {
  const root = tokens[at] as Token
  const path: (string | number)[] = []
  let next = at + 1
  for (;;) {
    const part = namedPart(tokens, next) ?? bracketedPart(tokens, next)
    if (part === undefined) break
    path.push(part.key)
    next = part.next
  }
  const end = (tokens[next - 1] as Token).end
  return { reference: { root: root.text, path, start: root.start, end }, next }
}

interface Part {
  readonly key: string | number
  readonly next: number
}

function namedPart(tokens: readonly Token[], at: number): Part | undefined {
  const name = tokens[at + 1]
  if (tokens[at]?.text !== "." || name?.kind !== "name" || isSign(tokens[at + 2], "(")) return undefined
  return { key: name.text, next: at + 2 }
}

function bracketedPart(tokens: readonly Token[], at: number): Part | undefined {
  if (!isSign(tokens[at], "[")) return undefined
  const isNegative = isSign(tokens[at + 1], "-")
  const key = tokens[at + (isNegative ? 2 : 1)]
  const next = at + (isNegative ? 4 : 3)
  if (key === undefined || !isSign(tokens[next - 1], "]")) return undefined
  if (key.kind === "number" && /^[0-9]{1,15}$/.test(key.text)) {
    return { key: isNegative ? -Number(key.text) : Number(key.text), next }
  }
  if (key.kind !== "string" || isNegative) return undefined
  const text = literalText(key.text)
  return text === undefined ? undefined : { key: text, next }
}

/** What a string literal says. A wrong escape in it is reported where the whole expression is parsed. */
function literalText(literal: string): string | undefined {
  try {
    const { args } = parse(literal).ast
    return typeof args === "string" ? args : undefined
  } catch {
    return undefined
  }
}

export function isSign(token: Token | undefined, text: string): boolean {
  return token?.kind === "sign" && token.text === text
}
