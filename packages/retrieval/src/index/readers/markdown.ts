/** Markdown: headings become the titles of what is below them, with those above ("Guide › Install"). */
import type { Part } from "../chunks.ts"
import { type Line, linesOf, type TextSource } from "./lines.ts"

const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$/
const FENCE = /^ {0,3}(`{3,}|~{3,})/
const LONGEST_TITLE = 200

export async function* readMarkdown(
  source: TextSource,
  options: {
    readonly title?: string | undefined
    readonly hasLines?: boolean
    readonly signal?: AbortSignal | undefined
  } = {},
): AsyncGenerator<Part> {
  const { hasLines = true, signal } = options
  const headings: string[] = []
  let fence: string | undefined
  const titleNow = () => titleOf([options.title, ...headings])
  yield { section: { title: titleNow() } }
  for await (const { text, line, isCut } of linesOf(source, signal)) {
    const mark = FENCE.exec(text)?.[1]
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence))) {
      fence = fence === undefined ? mark : undefined
    }
    const heading = fence === undefined ? HEADING.exec(text) : null
    if (heading === null) {
      yield { text: isCut ? text : `${text}\n`, ...(hasLines && { line }) }
    } else {
      const [, level = "", name = ""] = heading
      headings.length = Math.min(headings.length, level.length - 1)
      while (headings.length < level.length - 1) headings.push("")
      headings.push(plain(name))
      yield { section: { title: titleNow() } }
    }
  }
}

/** Text that has no marks for anybody. */
export async function* readText(source: TextSource, signal?: AbortSignal): AsyncGenerator<Part> {
  for await (const { text, line, isCut } of linesOf(source, signal)) yield part({ text, line, isCut })
}

function part({ text, line, isCut }: Line): Part {
  return { text: isCut ? text : `${text}\n`, line }
}

/** Without links and emphasis, which nobody searches for. */
function plain(heading: string): string {
  return heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[*_`]+/g, "")
    .trim()
}

function titleOf(names: readonly (string | undefined)[]): string | undefined {
  const path = names.filter((name) => name !== undefined && name !== "")
  // A page's title is often its first heading again.
  const title = path.filter((name, at) => name !== path[at - 1]).join(" › ")
  return title === "" ? undefined : title.slice(0, LONGEST_TITLE)
}
