/**
 * Cypher split into tokens, as far as a guard needs it: which text is code, and which is a string, a name in backquotes
 * or a comment. It must not read as a string or a comment what the database reads as code; where the two could differ,
 * the text is refused.
 */
import { refused } from "../sql/query-errors.ts"

export interface CypherToken {
  /** A word is compared in lower case; what is quoted never is a keyword. */
  readonly kind: "word" | "quoted name" | "text" | "number" | "symbol"
  readonly text: string
}

export interface CypherText {
  readonly tokens: readonly CypherToken[]
  /** The same text with spaces for comments: nobody can disagree about where those end. */
  readonly plain: string
}

const LINE_END = /[\n\r\v\f\u0085\u2028\u2029]/
const SPACE = /[\s\p{Z}]/u
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}]/u
const WORD = /[\p{L}\p{M}\p{N}_]+/uy
const DIGIT = /\p{N}/u
const NUMBER = /^(?:[\d_]+[fd]?|0x[\da-f_]+|0o[0-7_]+|\d+e\d*)$/i
const KNOWN_ESCAPES = new Set(["\\", "'", '"', "`", "b", "f", "n", "r", "t"])

/** A query that a person or a model writes is far shorter. */
const MOST_CHARACTERS = 100_000

export function cypherText(cypher: string): CypherText {
  if (cypher.length > MOST_CHARACTERS) {
    throw refused("it has more than 100,000 characters: give values as parameters")
  }
  // Neo4j turns them into characters before it looks for quotes: in a string they could end it.
  if (/\\u/i.test(cypher)) throw refused("it has a Unicode escape (\\u): write the character itself")
  const tokens: CypherToken[] = []
  let plain = ""
  let at = 0
  while (at < cypher.length) {
    const { end, token, isComment } = next(cypher, at)
    const text = cypher.slice(at, end)
    // Lines stay as they are, so that errors point to the right place.
    plain += isComment === true ? text.replace(/[^\n]/g, " ") : text
    if (token !== undefined) tokens.push(token)
    at = end
  }
  return { tokens, plain }
}

interface Next {
  readonly end: number
  readonly token?: CypherToken
  readonly isComment?: true
}

function next(cypher: string, at: number): Next {
  const char = String.fromCodePoint(cypher.codePointAt(at) as number)
  const two = cypher.slice(at, at + 2)
  if (two === "//") return { end: endOfLine(cypher, at), isComment: true }
  if (two === "/*") return { end: endOfComment(cypher, at), isComment: true }
  if (SPACE.test(char)) return { end: at + char.length }
  if (INVISIBLE.test(char)) throw refused("it has a character that cannot be seen: leave it out")
  if (char === "'" || char === '"') return token(cypher, at, endOfText(cypher, at, char), "text")
  if (char === "`") return token(cypher, at, endOfName(cypher, at), "quoted name")
  WORD.lastIndex = at
  const run = WORD.exec(cypher)?.[0]
  if (run === undefined) return token(cypher, at, at + char.length, "symbol")
  if (!DIGIT.test(char)) return { end: at + run.length, token: { kind: "word", text: folded(run) } }
  // Databases read 1SET as a number and a keyword.
  if (!NUMBER.test(run)) throw refused(`${run.slice(0, 40)} is neither a number nor a name`)
  return token(cypher, at, at + run.length, "number")
}

function token(cypher: string, at: number, end: number, kind: CypherToken["kind"]): Next {
  return { end, token: { kind, text: cypher.slice(at, end) } }
}

/** Letters that become the same in one case or another are the same: ſ is an s, and the Kelvin sign a k. */
function folded(word: string): string {
  return word.normalize("NFKC").toUpperCase().toLowerCase()
}

function endOfLine(cypher: string, at: number): number {
  let end = at
  while (end < cypher.length && !LINE_END.test(cypher[end] as string)) end += 1
  return end
}

/** Comments do not nest. */
function endOfComment(cypher: string, at: number): number {
  const end = cypher.indexOf("*/", at + 2)
  if (end < 0) throw refused("a comment does not end")
  return end + 2
}

function endOfText(cypher: string, at: number, quote: string): number {
  for (let end = at + 1; end < cypher.length; end += 1) {
    if (cypher[end] === quote) return end + 1
    if (cypher[end] !== "\\") continue
    end += 1
    const escaped = cypher[end]
    if (escaped !== undefined && !KNOWN_ESCAPES.has(escaped)) {
      throw refused(`a string has the escape \\${escaped}, which is none: write \\\\ for a backslash`)
    }
  }
  throw refused("a string does not end")
}

/** A doubled backquote does not close. */
function endOfName(cypher: string, at: number): number {
  for (let end = at + 1; end < cypher.length; end += 1) {
    if (cypher[end] === "\\") throw refused("a name in backquotes has a backslash: leave it out")
    if (cypher[end] !== "`") continue
    if (cypher[end + 1] !== "`") return end + 1
    end += 1
  }
  throw refused("a name in backquotes does not end")
}
