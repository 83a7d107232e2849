/**
 * Checks one SELECT for SQLite or MySQL before the database sees it: it begins as a query, it is one statement, and it
 * calls only functions that are known to be harmless. Syntax that the server could parse differently is refused.
 */

/**
 * A query that is not allowed, with the reason. Programs in separate processes use it, so this file must not load the
 * engine.
 */
export class SelectRefused extends Error {}

export interface StrictDialect {
  /** Characters that begin and end a string. */
  readonly strings: string
  /** Characters that begin a quoted name, and how it ends. */
  readonly names: Readonly<Record<string, string>>
  /** A backslash escapes the next character of a string. */
  readonly hasEscapes: boolean
  /** Characters that may have another meaning than an operator. */
  readonly refusedSymbols: string
  /** Functions, by their names in lower case. */
  readonly functions: ReadonlySet<string>
  /** Words that do more than read, or that have another meaning outside of a SELECT. */
  readonly refusedWords: ReadonlySet<string>
}

export interface StrictToken {
  readonly kind: "name" | "quoted name" | "text" | "symbol"
  /** A name without its quotes, in lower case. */
  readonly text: string
}

/** Returns the tokens, for further checks. */
export function checkStrictSelect(sql: string, dialect: StrictDialect): readonly StrictToken[] {
  const tokens = withoutLastSemicolons(strictTokens(sql, dialect))
  if (tokens.length === 0) throw new SelectRefused("it is empty")
  if (tokens.some(({ kind, text }) => kind === "symbol" && text === ";")) {
    throw new SelectRefused("only one statement is allowed")
  }
  const first = tokens.find(({ kind, text }) => !(kind === "symbol" && text === "("))
  if (first?.kind !== "name" || !BEGINNINGS.has(first.text)) {
    throw new SelectRefused(
      `only one SELECT can be run, and this begins with ${beginning(first ?? tokens[0])}`,
    )
  }
  for (const [i, token] of tokens.entries()) {
    if (token.kind === "name" && dialect.refusedWords.has(token.text)) {
      throw new SelectRefused(`${token.text.toUpperCase()} is not allowed`)
    }
    if (token.kind === "symbol" && dialect.refusedSymbols.includes(token.text)) {
      throw new SelectRefused(`the character ${token.text} is not allowed: write literal values`)
    }
    if (isCalled(tokens, i)) checkCall(tokens, i, dialect)
  }
  return tokens
}

const BEGINNINGS: ReadonlySet<string> = new Set(["select", "with", "values", "table"])

function beginning(token: StrictToken | undefined): string {
  return (token?.text ?? "").slice(0, 40).toUpperCase()
}

function isCalled(tokens: readonly StrictToken[], at: number): boolean {
  const { kind } = tokens[at] as StrictToken
  const isName = kind === "name" || kind === "quoted name"
  return isName && isSymbol(tokens[at + 1], "(") && !isColumnList(tokens, at + 1)
}

function checkCall(tokens: readonly StrictToken[], at: number, { functions }: StrictDialect): void {
  const { kind, text } = tokens[at] as StrictToken
  if (kind === "name" && BEFORE_PARENTHESIS.has(text) && !isSymbol(tokens[at - 1], ".")) return
  if (isSymbol(tokens[at - 1], ".")) {
    throw new SelectRefused(
      `the function ${text} is not allowed: functions of a schema may have side effects`,
    )
  }
  if (!functions.has(text)) {
    throw new SelectRefused(`the function ${text} is not allowed: only functions known to be harmless are`)
  }
}

/** Keywords that a parenthesis may follow. None of them is a function's name. */
const BEFORE_PARENTHESIS: ReadonlySet<string> = new Set(
  (
    "all and any as between by case distinct div else end escape except exists filter from having in " +
    "intersect interval is join limit like materialized mod not offset on or over partition regexp rlike row " +
    "select some then union using values when where window with xor glob match recursive cross inner left " +
    "right natural straight_join desc asc binary lateral returning"
  ).split(" "),
)

/** Whether this is the column list of `WITH totals(name, n) AS (…`, which is not a call. */
function isColumnList(tokens: readonly StrictToken[], open: number): boolean {
  let depth = 0
  for (let at = open; at < tokens.length; at += 1) {
    if (isSymbol(tokens[at], "(")) depth += 1
    if (isSymbol(tokens[at], ")")) depth -= 1
    if (depth > 0) continue
    const after = tokens.slice(at + 1, at + 5).map(({ kind, text }) => (kind === "text" ? "'" : text))
    return /^as (?:(?:not )?materialized )?\(/.test(after.join(" "))
  }
  return false
}

function isSymbol(token: StrictToken | undefined, text: string): boolean {
  return token?.kind === "symbol" && token.text === text
}

function withoutLastSemicolons(tokens: readonly StrictToken[]): readonly StrictToken[] {
  let end = tokens.length
  while (end > 0 && isSymbol(tokens[end - 1], ";")) end -= 1
  return tokens.slice(0, end)
}

const SPACE = /[ \t\n\r\f]/
const NAME_START = /[A-Za-z_\u0080-\uffff]/
const NAME = /[\w$\u0080-\uffff]/
/** Only some databases treat a lone carriage return as the end of a line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to refuse.
const AMBIGUOUS = /[\0-\x08\x0b\x0e-\x1f\x7f]|\r(?!\n)/

function strictTokens(
  sql: string,
  { strings, names, hasEscapes }: Pick<StrictDialect, "strings" | "names" | "hasEscapes">,
): StrictToken[] {
  if (AMBIGUOUS.test(sql)) throw new SelectRefused("it contains a control character")
  const tokens: StrictToken[] = []
  let at = 0
  while (at < sql.length) {
    const start = at
    const char = sql[at] as string
    const two = sql.slice(at, at + 2)
    const closing = names[char]
    if (SPACE.test(char)) at += 1
    else if (two === "--") at = endOfLine(sql, at)
    else if (two === "/*") at = endOfComment(sql, at)
    else if (strings.includes(char)) {
      at = endOfQuoted(sql, at, char, hasEscapes)
      tokens.push({ kind: "text", text: sql.slice(start + 1, at - 1) })
    } else if (closing !== undefined) {
      at = endOfQuoted(sql, at, closing, false)
      const text = sql.slice(start + 1, at - 1).replaceAll(closing + closing, closing)
      tokens.push({ kind: "quoted name", text: text.toLowerCase() })
    } else if (NAME_START.test(char)) {
      while (at < sql.length && NAME.test(sql[at] as string)) at += 1
      tokens.push({ kind: "name", text: sql.slice(start, at).toLowerCase() })
    } else if (/[0-9]/.test(char)) {
      // `1e5`, `0x1f`, and `1st`, which some databases parse as a name.
      while (at < sql.length && /[\w$.\u0080-\uffff]/.test(sql[at] as string)) at += 1
      const text = sql.slice(start, at)
      if (!/^(?:0x[\da-f]+|\d+(?:\.\d*)?(?:e\d*)?)$/i.test(text))
        throw new SelectRefused(`${text} is neither a number nor a name`)
      tokens.push({ kind: "text", text })
    } else {
      at += 1
      tokens.push({ kind: "symbol", text: char })
    }
  }
  return tokens
}

/** MySQL parses `--` as two operators unless a space follows. */
function endOfLine(sql: string, at: number): number {
  if (!/^--(?:[ \t\r\n]|$)/.test(sql.slice(at, at + 3))) throw new SelectRefused("write a space after --")
  const end = sql.indexOf("\n", at)
  return end < 0 ? sql.length : end
}

/** MySQL executes the content of some comments, and some databases nest them. */
function endOfComment(sql: string, at: number): number {
  const end = sql.indexOf("*/", at + 2)
  if (end < 0) throw new SelectRefused("a comment is not closed")
  const text = sql.slice(at + 2, end)
  if (/^M?!|^\+/i.test(text) || text.includes("/*"))
    throw new SelectRefused("comments with special meaning are not allowed")
  return end + 2
}

/** Returns the position after the closing quote. A doubled quote does not close. */
function endOfQuoted(sql: string, at: number, quote: string, hasEscapes: boolean): number {
  for (let end = at + 1; end < sql.length; end += 1) {
    if (hasEscapes && sql[end] === "\\") end += 1
    else if (sql[end] === quote) {
      // In SQLite, a doubled closing bracket is not an escape.
      if (quote === "]" || sql[end + 1] !== quote) return end + 1
      end += 1
    }
  }
  throw new SelectRefused("a string or a quoted name is not closed")
}
