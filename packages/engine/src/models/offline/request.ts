/** Tells what a user asks from what they give along with it. */
import { type Passage, passage } from "./passage.ts"
import { ASKS, lastQuestion, splitPassages } from "./passages.ts"

export interface Asked {
  readonly request: string
  readonly passages: readonly Passage[]
}

/** Shorter messages are all request. */
const SHORT = 350
const LONGEST = 2_000
const GIVES =
  /^(?:#{1,6}\s*)?(?:\*\*)?(?:context|documents?|background|sources?|evidence|findings|notes?|text|article|data|(?:search )?results|passages?|excerpts?|information|email|ticket|transcript|draft|original response|response|content|facts)(?:\*\*)?\s*:\s*(?:\*\*)?/i
const IMPERATIVE =
  /^(?:please|can you|could you|what|who|when|where|why|how|which|is|are|does|do|did|answer|summari[sz]e|explain|list|write|describe|compare|classify|extract|translate|review|find|tell|give|analy[sz]e|create|rewrite|check)\b/i
const ASKING_KEYS = [
  "question",
  "query",
  "goal",
  "task",
  "request",
  "prompt",
  "message",
  "input",
  "topic",
  "text",
]

export function splitRequest(text: string): Asked {
  const fromJson = splitJson(text)
  if (fromJson !== undefined) return fromJson
  const { rest, passages } = splitPassages(text)
  const { request, given } = splitLabels(rest)
  const said = request === "" ? rest : request
  const kept = given === "" ? passages : [...passages, passage(given, undefined, undefined, 1)]
  if (kept.length > 0 || said.length <= SHORT) return { request: said.slice(0, LONGEST), passages: kept }
  const paragraphs = splitParagraphs(said)
  return { request: paragraphs.request, passages: [passage(paragraphs.given, undefined, undefined, 1)] }
}

/** `Context:` … `Question:` …, in any order. */
function splitLabels(text: string): { request: string; given: string } {
  const request: string[] = []
  const given: string[] = []
  const loose: string[] = []
  let into = loose
  for (const line of text.split("\n")) {
    if (ASKS.test(line)) {
      into = request
      into.push(line.replace(ASKS, ""))
    } else if (GIVES.test(line)) {
      into = given
      into.push(line.replace(GIVES, ""))
    } else into.push(line)
  }
  const join = (lines: string[]) => lines.join("\n").trim()
  const asked = join(request)
  // Without a line that asks, what stands before the first label does; or the last paragraph, where that asks.
  if (asked === "") {
    const last = join(loose) === "" ? lastQuestion(given) : undefined
    return { request: last ?? join(loose), given: join(given) }
  }
  return { request: asked, given: [join(loose), join(given)].filter((part) => part !== "").join("\n\n") }
}

/** A long message: the paragraph that asks, first or last, and the rest as what is given. */
function splitParagraphs(text: string): { request: string; given: string } {
  const paragraphs = text.split(/\n\s*\n/)
  const asks = (paragraph: string | undefined) => {
    const line = paragraph?.trim() ?? ""
    return line.length > 0 && line.length <= SHORT && (/[?:]$/.test(line) || IMPERATIVE.test(line))
  }
  if (paragraphs.length > 1 && asks(paragraphs.at(-1))) {
    return { request: (paragraphs.at(-1) ?? "").trim(), given: paragraphs.slice(0, -1).join("\n\n") }
  }
  if (paragraphs.length > 1 && asks(paragraphs[0])) {
    return {
      request: (paragraphs[0] ?? "").trim().replace(/:$/, ""),
      given: paragraphs.slice(1).join("\n\n"),
    }
  }
  return { request: shortened(text), given: text }
}

/** The sentence of a long text that asks: the last with a question mark, else the first that is an instruction. */
function shortened(text: string): string {
  const sentences = text.split(/(?<=[.!?])\s+|\n+/).map((sentence) => sentence.trim())
  const found =
    sentences.findLast((sentence) => sentence.endsWith("?")) ??
    sentences.find((sentence) => IMPERATIVE.test(sentence)) ??
    sentences.find((sentence) => sentence !== "") ??
    ""
  return found.slice(0, SHORT)
}

/** A message that is a JSON object: the field that asks, and the others as what is given. */
function splitJson(text: string): Asked | undefined {
  if (!text.startsWith("{") || !text.endsWith("}")) return undefined
  let value: Record<string, unknown>
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const key = ASKING_KEYS.find((name) => typeof value[name] === "string")
  const passages = Object.entries(value)
    .filter(([name]) => name !== key)
    .map(([name, item]) => {
      const line = typeof item === "string" ? item : `${name.replaceAll("_", " ")}: ${JSON.stringify(item)}`
      return splitPassages(line)
    })
    .flatMap(({ rest, passages: named }) => [
      ...named,
      ...(rest === "" ? [] : [passage(rest, undefined, undefined, 1)]),
    ])
  return { request: key === undefined ? text.slice(0, SHORT) : String(value[key]), passages }
}
