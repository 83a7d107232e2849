/** A section's draft, brought into the report: under its own heading, with the report's numbers of sources. */
import { mapCitations } from "./citations.ts"
import { outsideCode } from "./markdown/markdown-code.ts"
import { ownWords, type Source } from "./report.ts"

/** `numberOf` knows what number one of the section's own sources has in the report. */
export function sectionText(
  title: string,
  draft: { readonly text: string; readonly sources: readonly Source[] },
  numberOf: (source: Source) => number,
): string {
  const { text, sources } = draft
  const body = lowered(ownWords(withoutHeading(text.trim(), title), sources))
  const numbered = mapCitations(body, (local) => {
    const source = sources[local - 1]
    return source === undefined ? undefined : numberOf(source)
  })
  return `# ${title}\n\n${numbered.trim()}`
}

export function failedSection(title: string, reason: string): string {
  return `# ${title}\n\n[Research failed: ${reason.replace(/\s+/g, " ").trim()}]`
}

/** Its heading comes from the plan; a deeper one belongs to the text, unless it says the same. */
function withoutHeading(text: string, title: string): string {
  const [whole = "", signs, said = ""] = /^(#{1,6})[ \t]+([^\n]*)(?:\n+|$)/.exec(text) ?? []
  const isTitle = signs === "#" || said.trim().toLowerCase() === title.toLowerCase()
  return isTitle ? text.slice(whole.length) : text
}

/** The first level is for sections. */
function lowered(text: string): string {
  return outsideCode(text, (plain) => plain.replace(/^# /gm, "## "))
}
