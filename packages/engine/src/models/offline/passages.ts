/**
 * Finds the passages in a text that names them: prior step outputs, tagged documents, blocks under `[1] file.md` or
 * `Source: file.md`. What is left is what somebody says or asks.
 */
import { factLines } from "./fact-lines.ts"
import { jsonPassages } from "./json-passages.ts"
import { cleanSource, type Passage, passage } from "./passage.ts"

interface Split {
  /** The text without its passages. */
  readonly rest: string
  readonly passages: readonly Passage[]
}

/** Tags whose content is something to quote. */
const OPENING =
  /<(documents?|docs?|context|source|file|passage|result|article|search_results?|snippet|chunk|evidence|data)\b([^<>]{0,500})>/gi
const PRIOR = "--- Prior Step Outputs ---"
const PRIOR_END = "--- End Prior Step Outputs ---"
/** `[par/gen (agent: generator)]:`, or `[notes]:` of a step without an agent. */
const PRIOR_STEP = /^\[[^\]\n]{1,200}(?: \(agent: [^)\n]*\)\]:[ \t]*\n?|\]:[ \t]*\n)/gm
const HEAD_REACH = 300

export function splitPassages(text: string, weight = 1): Split {
  const passages: Passage[] = []
  const untagged = takeTagged(takePrior(text, passages, weight), passages, weight)
  const blocks = splitBlocks(untagged, weight)
  return { rest: blocks.rest.trim(), passages: [...passages, ...blocks.passages] }
}

function takePrior(text: string, into: Passage[], weight: number): string {
  const start = text.indexOf(PRIOR)
  const end = start < 0 ? -1 : text.lastIndexOf(PRIOR_END)
  if (end < start || start < 0) return text
  const block = text.slice(start + PRIOR.length, end)
  const cuts = [...block.matchAll(PRIOR_STEP)]
  cuts.forEach((cut, index) => {
    const until = cuts[index + 1]?.index ?? block.length
    into.push(...output(block.slice(cut.index + cut[0].length, until).trim(), weight))
  })
  return `${text.slice(0, start)}\n\n${text.slice(end + PRIOR_END.length)}`
}

/** What a step has said; the output of a tool is data. */
function output(text: string, weight: number): Passage[] {
  if (/^[[{]/.test(text)) {
    try {
      return jsonPassages(JSON.parse(text), undefined, weight)
    } catch {
      // A text that only begins like data.
    }
  }
  return [passage(text, undefined, undefined, weight)]
}

/** One pass, whatever is left open: a tag that is not closed once is not looked for again. */
function takeTagged(text: string, into: Passage[], weight: number): string {
  const rest: string[] = []
  const unclosed = new Set<string>()
  const opening = new RegExp(OPENING)
  let from = 0
  for (let tag = opening.exec(text); tag !== null; tag = opening.exec(text)) {
    const [whole, name = "", attributes = ""] = tag
    const start = tag.index + whole.length
    const end = unclosed.has(name) ? -1 : text.indexOf(`</${name}>`, start)
    if (end < 0) {
      unclosed.add(name)
      continue
    }
    rest.push(text.slice(from, tag.index))
    take(into, attributes, text.slice(start, end), weight)
    from = end + name.length + 3
    opening.lastIndex = from
  }
  return from === 0 ? text : [...rest, text.slice(from)].join("\n\n")
}

function take(into: Passage[], attributes: string, body: string, weight: number): void {
  const attribute = (names: string) =>
    new RegExp(`\\b(?:${names})\\s*=\\s*["']([^"']+)["']`, "i").exec(attributes)?.[1]
  const inner = /<(source|title|url)>([^<]{1,300})<\/\1>/i.exec(body)?.[2]?.trim()
  if (inner === undefined || /<document\b/i.test(body)) {
    const within = splitPassages(body, weight)
    if (within.passages.length > 0) {
      into.push(...within.passages)
      if (within.rest !== "") into.push(passage(within.rest, undefined, undefined, weight))
      return
    }
  }
  const source = attribute("source|name|path|file|filename|title|url|href|src") ?? inner
  const index = attribute("index|number|n|id")
  const number = index !== undefined && /^\d{1,3}$/.test(index) ? Number(index) : undefined
  const content = body
    .replace(/<(source|title|url)>[^<]{1,300}<\/\1>/gi, "")
    .replace(/<\/?[a-z_]{1,40}>/gi, "")
  into.push(passage(content, source ?? (number === undefined ? index : undefined), number, weight))
}

const FILE = String.raw`[\w@./\\-]*[\w-]\.[A-Za-z][A-Za-z0-9]{0,4}(?::\d+)?(?:#[\w-]+)?`
const URL_LIKE = String.raw`https?:\/\/[^\s\])>]+`
const HEADS: readonly RegExp[] = [
  // [1] file.md (score 0.8): text
  new RegExp(
    String.raw`^\[(?<number>\d{1,3})\]\s*(?<source>${URL_LIKE}|\(?${FILE}\)?)(?:\s*\([^)\n]*\))?\s*(?:[:—–-]\s*|$)(?<text>.*)$`,
  ),
  // [1] A title / [file.md]
  /^\[(?<number>\d{1,3})\]\s*(?<source>[^\n.!?]{1,80}?)(?:\s*\(score [^)\n]*\))?$/,
  new RegExp(String.raw`^\[(?<source>${URL_LIKE}|${FILE})\]\s*:?\s*(?<text>.*)$`),
  // Source: file.md, # file.md, --- file.md ---, file.md:
  new RegExp(
    String.raw`^(?:#{1,6}\s*)?(?:\*\*)?(?:source|file|document|doc|url|page|path)(?:\s*(?<number>\d{1,3}))?(?:\*\*)?\s*:\s*(?<source>${URL_LIKE}|[^\n]{1,120}?)\s*$`,
    "i",
  ),
  new RegExp(String.raw`^(?:#{1,6}|-{3,}|={3,})\s*(?<source>${URL_LIKE}|${FILE})\s*(?:-{3,}|={3,})?\s*$`),
  new RegExp(String.raw`^(?<source>${FILE})\s*:\s*$`),
]
/** Lines that end a block: somebody speaks again. */
export const ASKS =
  /^(?:#{1,6}\s*)?(?:\*\*)?(?:user(?:'s)? )?(?:question|query|goal|task|request|prompt|q)(?:\*\*)?\s*:\s*(?:\*\*)?/i

function splitBlocks(text: string, weight: number): Split {
  const rest: string[] = []
  const passages: Passage[] = []
  let open: { source: string; number: number | undefined; lines: string[] } | undefined
  const close = () => {
    if (open?.lines.some((line) => line.trim() !== "")) {
      passages.push(passage(factLines(open.lines).join("\n"), open.source, open.number, weight))
    }
    open = undefined
  }
  for (const line of text.split("\n")) {
    const head = headOf(line.trim())
    if (head !== undefined) {
      close()
      open = { source: head.source, number: head.number, lines: head.text === "" ? [] : [head.text] }
    } else if (ASKS.test(line)) {
      close()
      rest.push(line)
    } else (open?.lines ?? rest).push(line)
  }
  const asked = open === undefined ? undefined : lastQuestion(open.lines)
  close()
  if (asked !== undefined) rest.push("", asked)
  return { rest: rest.join("\n"), passages }
}

const MAY_BE_HEAD = /^(?:\[|[#=*-]{1,6}|source|file|document|doc|url|page|path|[\w@./\\-]{1,200}\s*:$)/i

function headOf(line: string): { source: string; number: number | undefined; text: string } | undefined {
  if (!MAY_BE_HEAD.test(line)) return undefined
  const start = line.slice(0, HEAD_REACH)
  for (const head of HEADS) {
    const { source, number, text } = head.exec(start)?.groups ?? {}
    if (source === undefined || (text === undefined && line.length > HEAD_REACH)) continue
    return {
      source: cleanSource(source),
      number: number === undefined ? undefined : Number(number),
      text: `${text ?? ""}${line.slice(HEAD_REACH)}`,
    }
  }
  return undefined
}

/** A short question in a paragraph of its own at the end of the last block is not part of it: taken from the lines. */
export function lastQuestion(lines: string[]): string | undefined {
  let at = lines.length - 1
  while (at > 0 && lines[at]?.trim() === "") at--
  const line = lines[at]?.trim() ?? ""
  if (at < 1 || lines[at - 1]?.trim() !== "" || line.length > 300) return undefined
  const isAsked =
    line.endsWith("?") || /^(?:please|answer|summari[sz]e|explain|list|write|describe|compare)\b/i.test(line)
  if (!isAsked) return undefined
  lines.length = at
  return line
}
