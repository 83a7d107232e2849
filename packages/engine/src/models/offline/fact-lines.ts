/**
 * Rows of a table and relationships of a graph as items of a list, so that each can be quoted by itself: a row with the
 * names of its columns. Titles are headings, and the query that a table came from says nothing.
 */
const LONGEST_TITLE = 200
const CELLS = " | "
const QUERY = /^SQL:\s*(?:select|with)\b/i
const RELATIONSHIP = /\S -\[[^\]\n]{1,200}\]-> \S/

export function factLines(lines: readonly string[]): string[] {
  const facts: string[] = []
  let columns: readonly string[] | undefined
  lines.forEach((line, at) => {
    if (QUERY.test(line)) return
    const cells = cellsOf(line)
    if (cells === undefined) {
      columns = undefined
      const mark = RELATIONSHIP.test(line) ? "- " : isTitle(line, lines[at + 1]) ? "# " : ""
      facts.push(`${mark}${line}`)
    } else if (columns?.length === cells.length) facts.push(rowOf(columns, cells))
    else columns = cells
  })
  return facts
}

/** `Guide › Install`, or a name that the next line begins with and tells more of. */
function isTitle(line: string, next: string | undefined): boolean {
  if (line.length > LONGEST_TITLE || line.trim() === "") return false
  return line.includes(" › ") || next?.startsWith(`${line} (`) === true
}

/** Tables of Markdown, with bars around them, are texts like any other. */
function cellsOf(line: string): string[] | undefined {
  return line.includes(CELLS) && !line.trimStart().startsWith("|") ? line.split(CELLS) : undefined
}

function rowOf(columns: readonly string[], cells: readonly string[]): string {
  const named = columns.map((name, i) => [name.trim(), cells[i]?.trim() ?? ""] as const)
  const told = named.filter(([, value]) => value !== "")
  return `- ${told.map(([name, value]) => `${name}: ${value}`).join(", ")}`
}
