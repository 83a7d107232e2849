/**
 * What a model writes must be one query that reads nodes and relationships. Open for reading only, the databases still
 * read and write files, call out and change their own limits: these words are what stops that.
 *
 * G1 It begins with MATCH, OPTIONAL MATCH, UNWIND, WITH or RETURN, and is the only statement.
 * G2 No clause in it writes, loads, calls a procedure or goes to another graph. A name that looks like one goes in backquotes.
 * G3 No function is called but those that the language itself has: extensions have some that run queries and load addresses.
 */
import { refused } from "../sql/query-errors.ts"
import { type CypherToken, cypherText } from "./cypher-tokens.ts"

const BEGINNINGS = new Set(["match", "optional", "unwind", "with", "return"])

const CLAUSES = new Set(
  `load copy export import install uninstall attach detach nodetach call use create insert merge delete set remove drop
  alter foreach grant deny revoke`.split(/\s+/),
)

/** The first part of names of functions that have several. */
const NAMESPACES = new Set(
  "coll date datetime duration localdatetime localtime point time vector".split(/\s+/),
)

/** They change something that others see, or that the next query meets. */
const FUNCTIONS = new Set(["nextval", "currval", "setseed"])

/** The query as it may be run: without comments, and without a semicolon at its end. */
export function checkCypher(cypher: string): string {
  const { tokens, plain } = cypherText(cypher)
  const [first] = tokens
  if (first === undefined) throw refused("it is empty")
  if (first.kind !== "word" || !BEGINNINGS.has(first.text)) {
    const began = first.text.slice(0, 40).toUpperCase()
    throw refused(`only a query that reads can be run (MATCH … RETURN …), and this begins with ${began}`)
  }
  const end = tokens.findIndex(isSemicolon)
  if (end >= 0 && !tokens.slice(end).every(isSemicolon)) {
    throw refused("only one statement can be run, and these are several")
  }
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind === "word" && CLAUSES.has(text) && !isName(tokens, index)) {
      throw refused(
        `${text.toUpperCase()} is not allowed; a name that is like it goes in backquotes: \`${text}\``,
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

/** A property (`n.set`) or a label (`:Call`): nowhere does a clause come after these. */
function isName(tokens: readonly CypherToken[], index: number): boolean {
  const before = tokens[index - 1]
  if (before?.kind !== "symbol") return false
  if (before.text === ":") return true
  // Not after a number: 1.SET could be the number 1. and a keyword.
  const owner = tokens[index - 2]
  if (before.text !== "." || owner === undefined) return false
  return owner.kind === "word" || owner.kind === "quoted name" || [")", "]", "}"].includes(owner.text)
}

function checkFunction(tokens: readonly CypherToken[], index: number): void {
  const parts = nameOf(tokens[index]).split(".")
  for (let at = index - 1; at > 0 && tokens[at]?.text === "."; at -= 2) {
    parts.unshift(...nameOf(tokens[at - 1]).split("."))
  }
  const [first = ""] = parts
  const isRefused = parts.length === 1 ? FUNCTIONS.has(first) : !NAMESPACES.has(first)
  if (isRefused) throw refused(`the function ${parts.join(".")} is not allowed`)
}

function nameOf(token: CypherToken | undefined): string {
  if (token?.kind !== "quoted name") return token?.text ?? ""
  return token.text.slice(1, -1).replaceAll("``", "`").normalize("NFKC").toUpperCase().toLowerCase()
}
