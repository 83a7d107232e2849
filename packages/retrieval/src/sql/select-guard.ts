/**
 * Accepts only a single SELECT that calls no function with side effects. The databases are configured to be safe without
 * this check. It refuses early, with a clear message, and blocks what the databases allow: locks, ending other sessions,
 * changing the session's limits, SQL inside strings.
 */
import { refused } from "./queries.ts"

export interface Dialect {
  readonly beginnings: readonly string[]
  /** Undefined: the function may be called. */
  readonly whyRefused: (name: string) => string | undefined
}

/** Returns the tokens, for further checks. */
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
    throw refused("only one statement is allowed")
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

export interface SqlToken {
  /** A name as it is compared: in lower case, or unchanged between double quotes. */
  readonly kind: "name" | "quoted name" | "text" | "symbol"
  readonly text: string
}

/** All characters that one of the databases treats as a space. */
const SPACE = /[\s\u00a0\u200b\u2060\ufeff]/
const NAME_START = /[A-Za-z_\u0080-\uffff]/
const NAME = /[\w$\u0080-\uffff]/
const DOLLAR_TAG = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y

export function sqlTokens(sql: string): SqlToken[] {
  if (sql.includes("\0")) throw refused("it contains a NUL character")
  const tokens: SqlToken[] = []
  // A string that continues after a line break follows the rules of its first part.
  let afterEscapes = false
  let at = 0
  while (at < sql.length) {
    const start = at
    const char = sql[at] as string
    const next = sql[at + 1]
    if (SPACE.test(char)) at += 1
    else if (char === "-" && next === "-") at = endOfLine(sql, at)
    else if (char === "/" && next === "*") at = endOfComment(sql, at)
    else if (char === "'") {
      if (afterEscapes) throw refused("a string with escapes continues in a second part: write it as one")
      at = endOfQuoted(sql, at, "'", false)
      tokens.push({ kind: "text", text: sql.slice(start, at) })
    } else if (char === '"') {
      at = endOfQuoted(sql, at, '"', false)
      tokens.push({ kind: "quoted name", text: sql.slice(start + 1, at - 1).replaceAll('""', '"') })
      afterEscapes = false
    } else if (NAME_START.test(char) && !SPACE.test(char)) {
      at = endOfName(sql, at)
      const name = sql.slice(start, at).toLowerCase()
      afterEscapes = name === "e" && sql[at] === "'"
      if (afterEscapes) {
        at = endOfQuoted(sql, at, "'", true)
        tokens.push({ kind: "text", text: sql.slice(start, at) })
      } else if (name === "u" && sql[at] === "&" && sql[at + 1] === '"') {
        throw refused('names with Unicode escapes (U&"…") are not allowed: write the name itself')
      } else tokens.push({ kind: "name", text: name })
    } else {
      afterEscapes = false
      const tag = char === "$" ? dollarTag(sql, at) : undefined
      if (tag !== undefined) {
        const end = sql.indexOf(tag, at + tag.length)
        if (end < 0) throw refused(`the string that begins with ${tag} is not closed`)
        at = end + tag.length
      } else at += 1
      tokens.push({ kind: tag === undefined ? "symbol" : "text", text: sql.slice(start, at) })
    }
  }
  return tokens
}

function endOfLine(sql: string, at: number): number {
  let end = at
  while (end < sql.length && sql[end] !== "\n" && sql[end] !== "\r") end += 1
  return end
}

/** Comments nest. */
function endOfComment(sql: string, at: number): number {
  let depth = 0
  for (let end = at; end < sql.length; end += 1) {
    const two = sql.slice(end, end + 2)
    if (two === "/*") depth += 1
    else if (two === "*/") depth -= 1
    else continue
    end += 1
    if (depth === 0) return end + 1
  }
  throw refused("a comment is not closed")
}

/** Returns the position after the closing quote. A doubled quote does not close. */
function endOfQuoted(sql: string, at: number, quote: string, hasEscapes: boolean): number {
  for (let end = at + 1; end < sql.length; end += 1) {
    if (hasEscapes && sql[end] === "\\") end += 1
    else if (sql[end] === quote) {
      if (sql[end + 1] !== quote) return end + 1
      end += 1
    }
  }
  throw refused(`a ${quote === "'" ? "string" : "quoted name"} is not closed`)
}

function endOfName(sql: string, at: number): number {
  let end = at
  while (end < sql.length && NAME.test(sql[end] as string) && !SPACE.test(sql[end] as string)) end += 1
  return end
}

function dollarTag(sql: string, at: number): string | undefined {
  DOLLAR_TAG.lastIndex = at
  return DOLLAR_TAG.exec(sql)?.[0]
}
