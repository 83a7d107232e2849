/**
 * What a model writes must be one SELECT that calls no function with effects. The databases themselves are set up to
 * hold without this; it says no early, in clear words, and stops what they leave open: locks that others wait for,
 * ending other sessions, changing one's own limits, SQL inside strings.
 */
import { refused } from "./query-errors.ts"
import { type SqlToken, sqlTokens } from "./sql-tokens.ts"

export interface Dialect {
  readonly beginnings: readonly string[]
  /** Undefined: it may be called. */
  readonly whyRefused: (name: string) => string | undefined
}

/** Gives the tokens, for further checks. */
export function checkSelect(sql: string, dialect: Dialect): readonly SqlToken[] {
  const tokens = sqlTokens(sql)
  if (tokens.every(isSemicolon)) throw refused("it is empty")
  const first = tokens.find(({ kind, text }) => !(kind === "symbol" && text === "(")) ?? tokens[0]
  if (first?.kind !== "name" || !dialect.beginnings.includes(first.text)) {
    const text = first?.text ?? ""
    throw refused(`only one SELECT can be run, and this begins with ${text.slice(0, 40).toUpperCase()}`)
  }
  const end = tokens.findIndex(isSemicolon)
  if (end >= 0 && !tokens.slice(end).every(isSemicolon)) {
    throw refused("only one statement can be run, and these are several")
  }
  for (const [index, { kind, text }] of tokens.entries()) {
    const isName = kind === "name" || kind === "quoted name"
    if (!isName || tokens[index + 1]?.text !== "(") continue
    const why = dialect.whyRefused(text)
    if (why !== undefined) throw refused(`the function ${text} is not allowed: ${why}`)
  }
  return tokens
}

function isSemicolon({ kind, text }: SqlToken): boolean {
  return kind === "symbol" && text === ";"
}
