/**
 * Accepts only a single Cypher query that reads nodes and relationships. A database that is open for reading can still
 * read and write files, make network requests and change its own limits; this guard prevents that.
 *
 * G1 The query begins with MATCH, OPTIONAL MATCH, UNWIND, WITH or RETURN, and is the only statement.
 * G2 No clause writes, loads, calls a procedure or switches to another graph. A name that equals a keyword must be in
 *    backquotes.
 * G3 Only functions of the language itself are called: functions of extensions can run queries and load URLs.
 */
import { refused } from "../sql/queries.ts"

const BEGINNINGS = new Set(["match", "optional", "unwind", "with", "return"])

const CLAUSES = new Set(
  `load copy export import install uninstall attach detach nodetach call use create insert merge delete set remove drop
  alter foreach grant deny revoke`.split(/\s+/),
)

/** The namespaces of functions with dotted names. */
const NAMESPACES = new Set(
  "coll date datetime duration localdatetime localtime point time vector".split(/\s+/),
)

/** Functions that change state which other sessions or later queries see. */
const FUNCTIONS = new Set(["nextval", "currval", "setseed"])

/** Returns the query without comments and without a trailing semicolon. */
export function checkCypher(cypher: string): string {
  const { tokens, plain } = cypherText(cypher)
  const [first] = tokens
  if (first === undefined) throw refused("it is empty")
  if (first.kind !== "word" || !BEGINNINGS.has(first.text)) {
    const began = first.text.slice(0, 40).toUpperCase()
    throw refused(`only queries that read are allowed (MATCH … RETURN …), but this begins with ${began}`)
  }
  const end = tokens.findIndex(isSemicolon)
  if (end >= 0 && !tokens.slice(end).every(isSemicolon)) {
    throw refused("only one statement is allowed")
  }
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind === "word" && CLAUSES.has(text) && !isName(tokens, index)) {
      throw refused(
        `${text.toUpperCase()} is not allowed; if it is a name, put it in backquotes: \`${text}\``,
      )
    }
    const isNamed = kind === "word" || kind === "quoted name"
    if (isNamed && tokens[index + 1]?.text === "(") checkFunction(tokens, index)
  }
  return end < 0 ? plain : withoutEnd(plain)
}

function withoutEnd(plain: string): string {
  let end = plain.length
  while (/[\s;]/.test(plain.charAt(end - 1))) end -= 1
  return plain.slice(0, end)
}

function isSemicolon({ kind, text }: CypherToken): boolean {
  return kind === "symbol" && text === ";"
}

/** Whether the word is a property (`n.set`) or a label (`:Call`). A clause never follows these characters. */
function isName(tokens: readonly CypherToken[], index: number): boolean {
  const before = tokens[index - 1]
  if (before?.kind !== "symbol") return false
  if (before.text === ":") return true
  // Not after a number, because 1.SET could be the number 1. and a keyword.
  const owner = tokens[index - 2]
  if (before.text !== "." || owner === undefined) return false
  return owner.kind === "word" || owner.kind === "quoted name" || [")", "]", "}"].includes(owner.text)
}

function checkFunction(tokens: readonly CypherToken[], index: number): void {
  const parts = tokenName(tokens[index]).split(".")
  for (let at = index - 1; at > 0 && tokens[at]?.text === "."; at -= 2) {
    parts.unshift(...tokenName(tokens[at - 1]).split("."))
  }
  const [first = ""] = parts
  const isRefused = parts.length === 1 ? FUNCTIONS.has(first) : !NAMESPACES.has(first)
  if (isRefused) throw refused(`the function ${parts.join(".")} is not allowed`)
}

function tokenName(token: CypherToken | undefined): string {
  if (token?.kind !== "quoted name") return token?.text ?? ""
  return token.text.slice(1, -1).replaceAll("``", "`").normalize("NFKC").toUpperCase().toLowerCase()
}

interface CypherToken {
  /** Words are compared in lower case. A quoted name is never a keyword. */
  readonly kind: "word" | "quoted name" | "text" | "number" | "symbol"
  readonly text: string
}

interface CypherText {
  readonly tokens: readonly CypherToken[]
  /** The same text with comments replaced by spaces, so that the server cannot disagree about where they end. */
  readonly plain: string
}

const LINE_END = /[\n\r\v\f\u0085\u2028\u2029]/
const SPACE = /[\s\p{Z}]/u
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}]/u
const WORD = /[\p{L}\p{M}\p{N}_]+/uy
const DIGIT = /\p{N}/u
const NUMBER = /^(?:[\d_]+[fd]?|0x[\da-f_]+|0o[0-7_]+|\d+e\d*)$/i
const KNOWN_ESCAPES = new Set(["\\", "'", '"', "`", "b", "f", "n", "r", "t"])

/** Far more than a query of a person or a model needs. */
const MAX_CHARACTERS = 100_000

function cypherText(cypher: string): CypherText {
  if (cypher.length > MAX_CHARACTERS) {
    throw refused("it has more than 100,000 characters: pass values as parameters")
  }
  // Neo4j decodes Unicode escapes before it parses quotes, so an escape could end a string.
  if (/\\u/i.test(cypher)) throw refused("it contains a Unicode escape (\\u): write the character itself")
  const tokens: CypherToken[] = []
  let plain = ""
  let at = 0
  while (at < cypher.length) {
    const { end, token, isComment } = next(cypher, at)
    const text = cypher.slice(at, end)
    // Keeps line breaks, so that errors point to the right line.
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
  if (INVISIBLE.test(char)) throw refused("it contains an invisible character: remove it")
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

/** Letters that case folding maps to the same letter are equal: ſ is an s, and the Kelvin sign is a k. */
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
  if (end < 0) throw refused("a comment is not closed")
  return end + 2
}

function endOfText(cypher: string, at: number, quote: string): number {
  for (let end = at + 1; end < cypher.length; end += 1) {
    if (cypher[end] === quote) return end + 1
    if (cypher[end] !== "\\") continue
    end += 1
    const escaped = cypher[end]
    if (escaped !== undefined && !KNOWN_ESCAPES.has(escaped)) {
      throw refused(`a string contains the invalid escape \\${escaped}: write \\\\ for a backslash`)
    }
  }
  throw refused("a string is not closed")
}

/** A doubled backquote does not end the name. */
function endOfName(cypher: string, at: number): number {
  for (let end = at + 1; end < cypher.length; end += 1) {
    if (cypher[end] === "\\") throw refused("a name in backquotes contains a backslash: remove it")
    if (cypher[end] !== "`") continue
    if (cypher[end + 1] !== "`") return end + 1
    end += 1
  }
  throw refused("a name in backquotes is not closed")
}
