/** The author and the date in the front matter of Markdown: lines `name: value` between two lines `---` at the beginning. */
import { calendarDate, cutText } from "@superstep/engine/text"
import type { DocumentFacts } from "../chunks.ts"

const MAX_LINES = 200
const MAX_AUTHOR_LENGTH = 100
const FIELD = /^(authors?|date|published|created)[ \t]*:(.*)$/i

/** Takes the lines of a document, one by one, and says when the front matter has ended. */
export class FrontMatter {
  #lines = 0
  #isOver = false
  #authors: string[] = []
  #date: string | undefined
  /** Within a list of authors that has a line for each. */
  #isList = false

  /** What is known, at the line that ends the front matter. */
  take(line: string): DocumentFacts | undefined {
    if (this.#isOver) return undefined
    this.#lines += 1
    const text = line.trimEnd()
    if (this.#lines === 1) {
      this.#isOver = text !== "---"
      return undefined
    }
    if (text === "---" || text === "...") {
      this.#isOver = true
      return this.#facts()
    }
    this.#isOver = this.#lines > MAX_LINES
    this.#read(text)
    return undefined
  }

  #read(text: string): void {
    const [, name = "", value = ""] = FIELD.exec(text.slice(0, 1_000)) ?? []
    const item = /^\s*-\s+(.*)$/.exec(text.slice(0, 1_000))?.[1]
    if (item !== undefined && this.#isList) this.#authors.push(...names(item))
    else this.#isList = false
    if (/^author/i.test(name)) {
      this.#isList = value.trim() === ""
      this.#authors.push(...names(value))
    } else if (name !== "") this.#date ??= calendarDate(unquoted(value))
  }

  #facts(): DocumentFacts | undefined {
    const author = cutText([...new Set(this.#authors)].join(", "), MAX_AUTHOR_LENGTH)
    if (author === "" && this.#date === undefined) return undefined
    return { ...(author !== "" && { author }), ...(this.#date !== undefined && { date: this.#date }) }
  }
}

/** `Ada`, `"Ada"`, `[Ada, Grace]`, `name: Ada`. */
function names(value: string): string[] {
  const list = value.trim().replace(/^\[|\]$/g, "")
  return (list === value.trim() ? [list] : list.split(","))
    .map((one) => unquoted(one.replace(/^\s*name[ \t]*:/i, "")))
    .filter((one) => one !== "")
}

function unquoted(value: string): string {
  return value
    .trim()
    .replace(/^(["'])(.*)\1$/, "$2")
    .replace(/\s+/g, " ")
    .trim()
}
