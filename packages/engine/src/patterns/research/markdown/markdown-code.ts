/** Code in Markdown, which is left as it is. */
import { isCheapMarkdown } from "./markdown-cost.ts"
import { markdownParts, type Range } from "./markdown-parts.ts"

/** Changes what is not code. */
export function outsideCode(text: string, change: (plain: string) => string): string {
  let changed = ""
  let at = 0
  for (const { start, end } of codeIn(text)) {
    changed += change(text.slice(at, start)) + text.slice(start, end)
    at = end
  }
  return changed + change(text.slice(at))
}

/** As long as the text, its lines at the same places, with nothing to be read where there is code. */
export function codeMasked(text: string): string {
  let masked = ""
  let at = 0
  for (const { start, end } of codeIn(text)) {
    masked += text.slice(at, start) + text.slice(start, end).replace(/[^\n]/g, "x")
    at = end
  }
  return masked + text.slice(at)
}

/** None in a text that is too costly to parse, which loses its markup anyway. */
function codeIn(text: string): readonly Range[] {
  return isCheapMarkdown(text) ? markdownParts(text, "github").code : []
}
