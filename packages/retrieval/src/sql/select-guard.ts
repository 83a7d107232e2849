/**
 * What a model writes must be one SELECT that calls no function with effects. The databases themselves are set up to
 * hold without this; it says no early, in clear words, and stops what they leave open: locks that others wait for,
 * ending other sessions, changing one's own limits, SQL inside strings.
 */
import { refused } from "./query-errors.ts"
import { type SqlToken, sqlTokens } from "./sql-tokens.ts"

export interface Dialect {
  readonly beginnings: readonly string[]
  readonly isRefusedFunction: (name: string) => boolean
}

export function checkSelect(sql: string, dialect: Dialect): void {
  const tokens = sqlTokens(sql)
  const first = tokens[0]
  if (first === undefined) throw refused("it is empty")
  if (!begins(tokens, dialect)) {
    throw refused(`only one SELECT can be run, and this begins with ${first.text.slice(0, 40).toUpperCase()}`)
  }
  const end = tokens.findIndex(({ kind, text }) => kind === "symbol" && text === ";")
  if (end >= 0 && tokens.slice(end).some(({ text }) => text !== ";")) {
    throw refused("only one statement can be run, and these are several")
  }
  for (const [index, { kind, text }] of tokens.entries()) {
    const isName = kind === "name" || kind === "quoted name"
    if (isName && tokens[index + 1]?.text === "(" && dialect.isRefusedFunction(text)) {
      throw refused(`the function ${text} is not allowed`)
    }
  }
}

function begins(tokens: readonly SqlToken[], { beginnings }: Dialect): boolean {
  const first = tokens.find(({ kind, text }) => !(kind === "symbol" && text === "("))
  return first?.kind === "name" && beginnings.includes(first.text)
}
