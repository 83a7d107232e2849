/**
 * Finds the quotable passages of a string: tagged documents, blocks under `[1] file.md`, `[name]:` or `Source: file.md`,
 * tables, JSON. The rest is the author's own text or request.
 */
import { parseIfJson } from "../redact.ts"

/** A piece of text that can be quoted. */
export interface Passage {
  readonly text: string
  /** The source, as the prompt names it. */
  readonly source?: string | undefined
  /** Its number in the prompt. */
  readonly number?: number | undefined
  /** Sources that its sentences cite by number: `[1]` … `Sources:` `[1] file.md`. */
  readonly cited?: ReadonlyMap<number, string> | undefined
  /** False for earlier messages and instructions: they are quoted only if they match the request. */
  readonly isMaterial: boolean
}

interface Split {
  /** The text without its passages. */
  readonly rest: string
  readonly passages: readonly Passage[]
}

/** The list of sources at the end of an answer. */
const TRAILER =
  /\n(?:\*\*)?(?:Sources|References)(?:\*\*)?:[ \t]*\n((?:[ \t]*[-*]?[ \t]*\[\d{1,3}\][^\n]*(?:\n|$))+)\s*$/i
const TRAILER_REACH = 4_000

export function passage(text: string, more: Partial<Passage> = {}): Passage {
  const tail = Math.max(0, text.length - TRAILER_REACH)
  const trailer = TRAILER.exec(text.slice(tail))
  if (trailer === null) return { isMaterial: true, ...more, text: text.trim() }
  const listed = [...(trailer[1] ?? "").matchAll(/\[(\d{1,3})\][ \t]*([^\n]+)/g)]
  const cited = new Map(listed.map(([, number, name = ""]) => [Number(number), cleanSource(name)]))
  return { isMaterial: true, ...more, text: text.slice(0, tail + trailer.index).trim(), cited }
}

function cleanSource(source: string): string {
  return source
    .replace(/\s{0,9}\((?:score|relevance)[^()]*\)\s*$/i, "")
    .replace(/^["'*]{1,3}|["'*:,]{1,3}$/g, "")
    .trim()
}

export function splitPassages(text: string): Split {
  const tagged = takeTagged(text)
  const blocks = takeBlocks(tagged.rest)
  return { rest: blocks.rest.trim(), passages: [...tagged.passages, ...blocks.passages] }
}

/** Tags whose content is quotable. */
const OPENING =
  /<(documents?|docs?|context|source|file|passage|result|article|search_results?|snippet|chunk|evidence|data)\b([^<>]{0,500})>/gi

function takeTagged(text: string): Split {
  const rest: string[] = []
  const passages: Passage[] = []
  // An end tag that is missing is searched for once.
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
    passages.push(...taggedPassages(attributes, text.slice(start, end)))
    from = end + name.length + 3
    opening.lastIndex = from
  }
  return { rest: from === 0 ? text : [...rest, text.slice(from)].join("\n\n"), passages }
}

function taggedPassages(attributes: string, body: string): Passage[] {
  const inner = /<(source|title|url)>([^<]{1,300})<\/\1>/i.exec(body)?.[2]?.trim()
  if (inner === undefined || /<document\b/i.test(body)) {
    const { rest, passages } = splitPassages(body)
    if (passages.length > 0) return rest === "" ? [...passages] : [...passages, passage(rest)]
  }
  const attribute = (names: string) =>
    new RegExp(`\\b(?:${names})\\s*=\\s*["']([^"']+)["']`, "i").exec(attributes)?.[1]
  const index = attribute("index|number|n|id")
  const number = index !== undefined && /^\d{1,3}$/.test(index) ? Number(index) : undefined
  const source = attribute("source|name|path|file|filename|title|url|href|src") ?? inner
  const content = body
    .replace(/<(source|title|url)>[^<]{1,300}<\/\1>/gi, "")
    .replace(/<\/?[a-z_]{1,40}>/gi, "")
  return [passage(content, { source: source ?? (number === undefined ? index : undefined), number })]
}

const FILE = String.raw`[\w@./\\-]{0,200}[\w-]\.[A-Za-z][A-Za-z0-9]{0,4}(?::\d+)?(?:#[\w-]+)?`
const ADDRESS = String.raw`https?:\/\/[^\s\])>]+`
const HEADS: readonly RegExp[] = [
  // [1] file.md (score 0.8): text
  new RegExp(
    String.raw`^\[(?<number>\d{1,3})\]\s*(?<source>${ADDRESS}|\(?${FILE}\)?)(?:\s*\([^)\n]*\))?\s*(?:[:—–-]\s*|$)(?<text>.*)$`,
  ),
  // [1] A title
  /^\[(?<number>\d{1,3})\]\s*(?<source>[^\n.!?]{1,80}?)(?:\s*\(score [^)\n]*\))?$/,
  // [file.md] text
  new RegExp(String.raw`^\[(?<source>${ADDRESS}|${FILE})\]\s*:?\s*(?<text>.*)$`),
  // [name]:
  /^\[(?<name>[^\]\n]{1,200})\]:\s*$/,
  // Source: file.md
  new RegExp(
    String.raw`^(?:#{1,6}\s*)?(?:\*\*)?(?:source|file|document|doc|url|page|path)(?:\s*(?<number>\d{1,3}))?(?:\*\*)?\s*:\s*(?<source>${ADDRESS}|[^\n]{1,120}?)\s*$`,
    "i",
  ),
  // # file.md, --- file.md ---
  new RegExp(String.raw`^(?:#{1,6}|-{3,}|={3,})\s*(?<source>${ADDRESS}|${FILE})\s*(?:-{3,}|={3,})?\s*$`),
  // file.md:
  new RegExp(String.raw`^(?<source>${FILE})\s*:\s*$`),
]
const MAY_BE_HEAD = /^(?:\[|[#=*-]{1,6}|source|file|document|doc|url|page|path|[\w@./\\-]{1,200}\s*:$)/i
const HEAD_REACH = 300
/** `--- a word ---` starts or ends a part of the prompt. */
const RULE = /^-{3,} [^\n]{1,80} -{3,}$/
/** Labels before the request, and before its material. */
const REQUEST_LABEL =
  /^(?:#{1,6}\s*)?(?:\*\*)?(?:user(?:'s)? )?(?:question|query|goal|task|request|prompt|q)(?:\*\*)?\s*:\s*(?:\*\*)?/i
const MATERIAL_LABEL =
  /^(?:#{1,6}\s*)?(?:\*\*)?(?:context|documents?|background|sources?|evidence|findings|notes?|text|article|data|(?:search )?results|passages?|excerpts?|information|email|ticket|transcript|draft|response|content|facts)(?:\*\*)?\s*:\s*(?:\*\*)?/i
/** A label of instructions, which are not quotable. */
const INSTRUCTIONS_LABEL = /^(?:#{1,6}\s*)?(?:\*\*)?(?:instructions?|rules?)(?:\*\*)?\s*:\s*(?:\*\*)?/i

interface Block {
  readonly source?: string | undefined
  readonly number?: number | undefined
  readonly lines: string[]
}

function takeBlocks(text: string): Split {
  const rest: string[] = []
  const passages: Passage[] = []
  let open: Block | undefined
  const close = () => {
    if (open?.lines.some((line) => line.trim() !== "")) passages.push(...blockPassages(open))
    open = undefined
  }
  // A list of sources at the end of a block belongs to that block.
  let isList = false
  for (const line of text.split("\n")) {
    isList = isList ? /^\s*[-*]?\s*\[\d/.test(line) : /^\**(?:Sources|References)\**:\s*$/i.test(line)
    const head = isList ? undefined : headOf(line.trim())
    if (head !== undefined || REQUEST_LABEL.test(line) || RULE.test(line)) close()
    if (head !== undefined) open = head
    else if (!RULE.test(line)) (open?.lines ?? rest).push(line)
  }
  const asked = open === undefined ? undefined : takeLastQuestion(open.lines)
  close()
  if (asked !== undefined) rest.push("", asked)
  return { rest: rest.join("\n"), passages }
}

function headOf(line: string): Block | undefined {
  if (!MAY_BE_HEAD.test(line)) return undefined
  const start = line.slice(0, HEAD_REACH)
  for (const head of HEADS) {
    const { source, number, name, text } = head.exec(start)?.groups ?? {}
    if ((source ?? name) === undefined || (text === undefined && line.length > HEAD_REACH)) continue
    const first = `${text ?? ""}${line.slice(HEAD_REACH)}`
    return {
      source: source === undefined ? undefined : cleanSource(source),
      number: number === undefined ? undefined : Number(number),
      lines: first === "" ? [] : [first],
    }
  }
  return undefined
}

function blockPassages({ source, number, lines }: Block): Passage[] {
  const data = source === undefined ? parseIfJson(lines.join("\n").trim()) : undefined
  if (data !== undefined) return jsonPassages(data)
  const [title = "", next] = lines
  const isTitled = source !== undefined && next !== undefined && /^[^|#]{1,200}[^|.!?:;\s]$/.test(title)
  const marked = isTitled ? [`# ${title}`, ...lines.slice(1)] : lines
  return [passage(tableLines(marked).join("\n"), { source, number })]
}

/** Converts the rows of a table `a | b`, with or without outer bars, to list items with the names of their columns. */
function tableLines(lines: readonly string[]): string[] {
  let columns: readonly string[] | undefined
  return lines.flatMap((line) => {
    if (!line.includes(" | ")) {
      columns = undefined
      return [line]
    }
    const cells = line.replace(/^\s*\|\s?|\s?\|\s*$/g, "").split(" | ")
    if (cells.every((cell) => /^[\s:|-]*$/.test(cell))) return []
    if (columns?.length !== cells.length) {
      columns = cells
      return []
    }
    const values = columns.map((name, i) => [name.trim(), cells[i]?.trim() ?? ""] as const)
    return [`- ${values.flatMap(([name, value]) => (value === "" ? [] : [`${name}: ${value}`])).join(", ")}`]
  })
}

/** Removes a short question in a paragraph of its own from the end of the lines: it belongs to the request. */
function takeLastQuestion(lines: string[]): string | undefined {
  const at = lines.findLastIndex((line) => line.trim() !== "")
  const line = lines[at]?.trim() ?? ""
  if (at < 1 || lines[at - 1]?.trim() !== "" || line.length > SHORT) return undefined
  if (!/\?$|^(?:please|answer|summari[sz]e|explain|list|write|describe|compare)\b/i.test(line))
    return undefined
  lines.length = at
  return line
}

/** A message of at most this many characters is the request as a whole, unless it has passages. */
const SHORT = 350
const MAX_REQUEST = 2_000

/** Splits the last message into its request and its passages. */
export function splitRequest(text: string): { request: string; passages: readonly Passage[] } {
  const data = parseIfJson(text)
  if (typeof data === "object" && data !== null && !Array.isArray(data)) return splitFields(data)
  const { rest, passages } = splitPassages(text)
  const { asked, material } = splitLabels(rest)
  const kept = material === "" ? passages : [...passages, passage(material)]
  const request = asked === "" && kept.length === 0 ? rest : asked
  if (kept.length > 0 || request.length <= SHORT)
    return { request: request.slice(0, MAX_REQUEST), passages: kept }
  return splitLong(request)
}

/**
 * Splits at `Context:` and `Question:` labels, in any order. Without a question label, the text before the first label is
 * the request.
 */
function splitLabels(text: string): { asked: string; material: string } {
  const [asks, material, loose, instructed]: [string[], string[], string[], string[]] = [[], [], [], []]
  const isAsked = text.split("\n").some((line) => REQUEST_LABEL.test(line))
  let into = loose
  for (const line of text.split("\n")) {
    const label = [REQUEST_LABEL, MATERIAL_LABEL, ...(isAsked ? [INSTRUCTIONS_LABEL] : [])].find((one) =>
      one.test(line),
    )
    if (label !== undefined)
      into = label === REQUEST_LABEL ? asks : label === MATERIAL_LABEL ? material : instructed
    into.push(label === undefined ? line : line.replace(label, ""))
  }
  const joined = (lines: readonly string[]) => lines.join("\n").trim()
  if (joined(asks) !== "")
    return { asked: joined(asks), material: joined([...loose, "", ...tableLines(material)]) }
  const last = joined(loose) === "" ? takeLastQuestion(material) : undefined
  return { asked: last ?? joined(loose), material: joined(tableLines(material)) }
}

/**
 * Splits a long message without labels: the request is its last or first paragraph if that is short, else its last
 * question.
 */
function splitLong(text: string): { request: string; passages: readonly Passage[] } {
  const paragraphs = text.split(/\n\s*\n/).map((paragraph) => paragraph.trim())
  const ends = [paragraphs.at(-1) ?? "", paragraphs[0] ?? ""]
  const request = ends.find((one) => one !== "" && one.length <= SHORT)
  if (request !== undefined && paragraphs.length > 1) {
    const material = paragraphs.filter((one) => one !== request).join("\n\n")
    return { request: request.replace(/:$/, ""), passages: [passage(material)] }
  }
  const sentences = text.split(/(?<=[.!?])\s+|\n+/)
  const question = sentences.findLast((one) => one.endsWith("?")) ?? sentences[0] ?? ""
  return { request: question.trim().slice(0, SHORT), passages: [passage(text)] }
}

const ASKING_FIELDS = "question query goal task request prompt message input topic text".split(" ")

function splitFields(data: object): { request: string; passages: readonly Passage[] } {
  const request = fieldOf(data, ASKING_FIELDS) ?? lineOf(data).slice(0, SHORT)
  const material = Object.entries(data).filter(([, value]) => value !== request)
  const texts = material.map(([name, value]) =>
    typeof value === "string" ? value : lineOf({ [name]: value }),
  )
  return { request, passages: texts.map((text) => passage(text)) }
}

const TEXT_FIELDS = "text content snippet body output summary description excerpt answer result".split(" ")
/** Fields with the location of something. */
export const PLACE_FIELDS = "url path file filename file_path uri".split(" ")
const SOURCE_FIELDS = [...PLACE_FIELDS, "source", "link", "title"]
const MAX_ROWS = 200

/** Data as passages: one for each row of a list, with its text field if it has one, else a line of its values. */
export function jsonPassages(value: unknown, place?: string): Passage[] {
  const lists = typeof value === "object" && value !== null ? Object.values(value).filter(isRowList) : []
  const rows = Array.isArray(value) ? value : lists.length === 1 ? lists[0] : undefined
  return (rows ?? [value]).slice(0, MAX_ROWS).map((row) => {
    const text = fieldOf(row, TEXT_FIELDS)
    const source = fieldOf(row, SOURCE_FIELDS) ?? place
    const isText = text !== undefined && (text.length > 40 || source !== undefined)
    return passage(isText ? text : lineOf(row), { source })
  })
}

function isRowList(value: unknown): value is unknown[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((row) => typeof row === "object" && row !== null)
  )
}

/** The value of the first field that contains text. */
export function fieldOf(value: unknown, names: readonly string[]): string | undefined {
  if (typeof value !== "object" || value === null) return undefined
  const found = names.map((name) => (value as Readonly<Record<string, unknown>>)[name])
  return found.find((one): one is string => typeof one === "string" && one.trim() !== "")?.trim()
}

/** `name: Paris, temperature: 21` */
function lineOf(value: unknown, depth = 0): string {
  if (value === null || value === undefined) return "none"
  if (typeof value !== "object") return String(value).trim()
  if (depth > 4) return "…"
  if (Array.isArray(value))
    return value
      .slice(0, 20)
      .map((item) => lineOf(item, depth + 1))
      .join(", ")
  const fields = Object.entries(value).map(
    ([key, item]) => `${key.replaceAll("_", " ")}: ${lineOf(item, depth + 1)}`,
  )
  return fields.join(", ")
}
