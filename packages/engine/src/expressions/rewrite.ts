/**
 * Rewrites both spellings to one CEL text: references become variables (`r0`, `r1`), names that macros bind become
 * `m_<name>`, and words become symbols. Records the source of every piece of the CEL text.
 *
 * `not` is more than its symbol: it binds weaker than comparisons and stronger than `and`, so it becomes `!( … )` up to
 * the next `and`, `or`, comma or closing bracket.
 */
import { ExpressionError, type Span } from "./expression-error.ts"
import { isSymbol, type Reference, readReference, type Spelling, type Token } from "./syntax.ts"

const MAX_NESTING = 64

export interface Rewritten {
  readonly cel: CelText
  readonly references: readonly Reference[]
  /** The whole text is one reference. */
  readonly isLone: boolean
  /** Offsets in the CEL text of each `in` that was a `not in`. */
  readonly negated: readonly number[]
}

/** An open group: the whole text, or a bracket. */
interface Group {
  readonly opener: Token | undefined
  /** The number of unclosed `!(`. */
  nots: number
  /** The comparison that a second one would chain with. */
  comparison: Token | undefined
  readonly bound: string | undefined
}

const COMPARISONS = new Set(["==", "!=", "<", "<=", ">", ">=", "in", "is"])
const CLOSERS: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{" }
const CONSTANTS: Readonly<Record<string, string>> = {
  true: "true",
  True: "true",
  false: "false",
  False: "false",
  null: "null",
  None: "null",
}
/** Macros bind the name in their first argument. */
export const MACROS: ReadonlySet<string> = new Set(["all", "exists", "exists_one", "map", "filter"])

export function rewrite(list: readonly Token[], spelling: Spelling): Rewritten {
  return new Rewriter(list, spelling).run()
}

class Rewriter {
  readonly #tokens: readonly Token[]
  readonly #spelling: Spelling
  readonly #cel = new CelText()
  readonly #references: Reference[] = []
  readonly #negated: number[] = []
  readonly #groups: Group[] = [{ opener: undefined, nots: 0, comparison: undefined, bound: undefined }]
  #at = 0
  #prefixes = 0

  constructor(list: readonly Token[], spelling: Spelling) {
    this.#tokens = list
    this.#spelling = spelling
  }

  run(): Rewritten {
    while (this.#token().kind !== "end") this.#step()
    const { opener } = this.#group()
    if (opener !== undefined) throw new ExpressionError(`This "${opener.text}" is never closed.`, opener)
    this.#endOperand(this.#token())
    const [first] = this.#references
    return {
      cel: this.#cel,
      references: this.#references,
      isLone: this.#references.length === 1 && this.#cel.text === "r0" && first !== undefined,
      negated: this.#negated,
    }
  }

  #step(): void {
    const token = this.#token()
    const isPrefix = token.text === "!" || token.text === "-" || token.text === "not"
    this.#prefixes = isPrefix ? this.#prefixes + 1 : 0
    if (this.#prefixes > MAX_NESTING) throw tooDeep(token)
    if (token.kind === "root") this.#reference()
    else if (token.kind === "name") this.#name(token)
    else if (token.kind === "symbol") this.#symbol(token)
    else this.#emit(token.text)
  }

  #symbol(token: Token): void {
    switch (token.text) {
      case "(":
      case "[":
      case "{":
        return this.#open(token, undefined)
      case ")":
      case "]":
      case "}":
        return this.#close(token)
      case ".":
        return this.#dot()
      case "?":
        if (isSymbol(this.#token(1), ".")) throw optional(token, this.#token(1))
        this.#endOperand(token)
        break
      case "&&":
      case "||":
      case ":":
      case ",":
        this.#endOperand(token)
        break
      default:
        if (COMPARISONS.has(token.text)) this.#compare(token)
    }
    this.#emit(token.text)
  }

  /** A name that is not part of a path. */
  #name(token: Token): void {
    const constant = Object.hasOwn(CONSTANTS, token.text) ? CONSTANTS[token.text] : undefined
    if (constant !== undefined) return this.#emit(constant)
    switch (token.text) {
      case "and":
      case "or":
        this.#endOperand(token)
        return this.#emit(token.text === "and" ? "&&" : "||")
      case "not":
        return this.#not(token)
      case "in":
        this.#compare(token)
        return this.#emit("in")
      case "is":
        return this.#is(token)
    }
    if (isSymbol(this.#token(1), "(")) return this.#call(token)
    if (this.#groups.some(({ bound }) => bound === token.text)) return this.#emit(`m_${token.text}`)
    if (this.#spelling === "graph") return this.#reference()
    throw new ExpressionError(
      `Unknown name "${token.text}". A reference starts with $, like $${token.text}; text goes in quotes; a key with a dash is written ["a-b"].`,
      token,
    )
  }

  #not(token: Token): void {
    const following = this.#token(1)
    if (following.kind === "name" && following.text === "in") {
      this.#compare(token)
      this.#negated.push(this.#cel.nextOffset)
      return this.#emit("in", 2)
    }
    this.#group().nots++
    this.#emit("!(")
  }

  #is(token: Token): void {
    this.#compare(token)
    const isNot = this.#token(1).text === "not"
    const value = this.#token(isNot ? 2 : 1)
    if (value.kind !== "name" || !Object.hasOwn(CONSTANTS, value.text)) {
      throw new ExpressionError(
        `"is" must be followed by None, True or False. Compare other values with ==.`,
        token,
      )
    }
    this.#emit(isNot ? "!=" : "==", isNot ? 2 : 1)
  }

  #call(token: Token): void {
    const isMethod = isSymbol(this.#tokens[this.#at - 1], ".")
    this.#emit(token.text)
    const variable = this.#token(1)
    const isMacro =
      isMethod && MACROS.has(token.text) && variable.kind === "name" && isSymbol(this.#token(2), ",")
    this.#open(this.#token(), isMacro ? variable.text : undefined)
    if (isMacro) this.#emit(`m_${variable.text}`)
  }

  #reference(): void {
    const { reference, next } = readReference(this.#tokens, this.#at)
    this.#cel.add(`r${this.#references.length}`, reference)
    this.#references.push(reference)
    this.#at = next
  }

  /** A member of a computed value. Any word may be a member's name, so it is written in brackets. */
  #dot(): void {
    const name = this.#token(1)
    if (name.kind !== "name") return this.#emit(".")
    if (!isSymbol(this.#token(2), "(")) return this.#emit(`[${JSON.stringify(name.text)}]`, 2)
    this.#emit(".")
    this.#call(name)
  }

  #open(token: Token, bound: string | undefined): void {
    if (this.#groups.length > MAX_NESTING) throw tooDeep(token)
    this.#groups.push({ opener: token, nots: 0, comparison: undefined, bound })
    this.#emit(token.text)
  }

  #close(token: Token): void {
    this.#endOperand(token)
    const { opener } = this.#group()
    if (opener?.text !== CLOSERS[token.text]) {
      throw new ExpressionError(`This "${token.text}" closes nothing.`, token)
    }
    this.#groups.pop()
    this.#emit(token.text)
  }

  /** Python reads `a < b < c` as two comparisons, CEL as a comparison with a boolean, so chains are refused. */
  #compare(token: Token): void {
    const group = this.#group()
    if (this.#spelling === "graph" && group.comparison !== undefined) {
      throw new ExpressionError(
        `Two comparisons in a row: write "a < b and b < c", or put brackets around one.`,
        { start: group.comparison.start, end: token.end },
      )
    }
    group.comparison = token
  }

  #endOperand(token: Token): void {
    const group = this.#group()
    for (; group.nots > 0; group.nots--) this.#cel.add(")", { start: token.start, end: token.start })
    group.comparison = undefined
  }

  #emit(text: string, count = 1): void {
    const span: Span = { start: this.#token().start, end: this.#token(count - 1).end }
    this.#cel.add(text, span)
    this.#at += count
  }

  #group(): Group {
    return this.#groups[this.#groups.length - 1] as Group
  }

  #token(ahead = 0): Token {
    return this.#tokens[Math.min(this.#at + ahead, this.#tokens.length - 1)] as Token
  }
}

function tooDeep(token: Token): ExpressionError {
  return new ExpressionError(`This is nested deeper than ${MAX_NESTING} levels.`, token)
}

function optional(question: Token, next: Token): ExpressionError {
  const span = { start: question.start, end: next.end }
  return new ExpressionError(
    "Write the path without the question mark: a missing path is not an error.",
    span,
  )
}

interface Piece {
  readonly offset: number
  readonly source: Span
}

/** A CEL text that maps each piece to its source. */
class CelText {
  #text = ""
  readonly #pieces: Piece[] = []

  get text(): string {
    return this.#text
  }

  /** The offset of the next piece. */
  get nextOffset(): number {
    return this.#text === "" ? 0 : this.#text.length + 1
  }

  add(text: string, source: Span): void {
    this.#pieces.push({ offset: this.nextOffset, source })
    this.#text = this.#text === "" ? text : `${this.#text} ${text}`
  }

  /** The source of a part of the CEL text. */
  sourceOf({ start, end }: Span): Span {
    const pieceAt = (at: number) => this.#pieces.findLast(({ offset }) => offset <= at)
    const first = pieceAt(start)
    const last = pieceAt(Math.max(start, end - 1))
    return { start: first?.source.start ?? 0, end: Math.max(first?.source.end ?? 0, last?.source.end ?? 0) }
  }
}
