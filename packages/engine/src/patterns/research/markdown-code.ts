/** Code in Markdown, which is left as it is. Where a reader of Markdown might see no code, there is none here either. */

const FENCED = String.raw`^ {0,3}(?<fence>\`{3,}|~{3,})[^\n\`]*(?:\n(?:[\s\S]*?\n)??(?: {0,3}\k<fence>[\`~]*[ \t]*$)|\n[\s\S]*|$)`
/** In a list, further to the right; there it must end. */
const INDENTED = String.raw`^[ \t]{4,}(?<inner>\`{3,}|~{3,})[^\n\`]*\n(?:[\s\S]*?\n)??[ \t]*\k<inner>[\`~]*[ \t]*$`
const INLINE = String.raw`(?<![\\\`])(?<ticks>\`+)(?!\`)[^\n]*?(?<!\`)\k<ticks>(?!\`)`
const CODE = new RegExp(`${FENCED}|${INDENTED}|${INLINE}`, "gm")

/** Changes what is not code. */
export function outsideCode(text: string, change: (plain: string) => string): string {
  let changed = ""
  let at = 0
  for (const { 0: code, index } of text.matchAll(CODE)) {
    changed += change(text.slice(at, index)) + code
    at = index + code.length
  }
  return changed + change(text.slice(at))
}

/** As long as the text, its lines at the same places, with nothing to be read where there is code. */
export function codeMasked(text: string): string {
  return text.replace(CODE, (code) => "x".repeat(code.length))
}
