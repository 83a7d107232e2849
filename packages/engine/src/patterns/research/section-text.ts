/** A section's draft, brought into the report: under its own heading, with the report's numbers of sources. */
import { mapCitations, outsideCode } from "./citations.ts"
import { withoutSourceList } from "./report.ts"

export function sectionText(
  title: string,
  draft: string,
  numberOf: (local: number) => number | undefined,
): string {
  const body = withoutSourceList(withoutHeading(draft.trim()))
  return `# ${title}\n\n${mapCitations(lowered(body), numberOf).trim()}`
}

export function failedSection(title: string, reason: string): string {
  return `# ${title}\n\n[Research failed: ${reason}]`
}

/** Its heading comes from the plan. */
function withoutHeading(text: string): string {
  return text.replace(/^#{1,6}[ \t]+[^\n]*(?:\n+|$)/, "")
}

/** The first level is for sections. */
function lowered(text: string): string {
  return outsideCode(text, (plain) => plain.replace(/^# /gm, "## "))
}
