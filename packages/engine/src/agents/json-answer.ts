/** Finds JSON in what a model wrote: alone, in a code block, or inside sentences. In linear time: a model wrote it. */
import type { Json } from "../core/index.ts"

/** The JSON of an answer, which some models wrap in a code block. Undefined where it is not JSON. */
export function jsonAnswer(text: string): { readonly value: Json } | undefined {
  return parsed(withoutFence(text))
}

/** Not one pattern for all of it: that would take the cube of an answer's length. */
function withoutFence(text: string): string {
  const trimmed = text.trim()
  const open = /^```(?:json)?\s*\n/i.exec(trimmed)?.[0]
  return open === undefined || !trimmed.endsWith("```") ? text : trimmed.slice(open.length, -3).trim()
}

/**
 * Everything in an answer that may be meant, the likeliest first: the whole answer, then code blocks from the last one on,
 * then what is in braces or brackets, the longest first.
 */
export function* jsonAnswers(text: string): Generator<Json> {
  const whole = jsonAnswer(text)
  if (whole !== undefined) {
    yield whole.value
    return
  }
  for (const block of [...codeBlocks(text), ...enclosed(text)]) {
    const found = parsed(block)
    if (found !== undefined) yield found.value
  }
}

const MAX_FOUND = 20

function codeBlocks(text: string): string[] {
  const blocks: string[] = []
  const lines = text.split("\n")
  let start = -1
  for (const [at, line] of lines.entries()) {
    if (!line.trimStart().startsWith("```")) continue
    if (start >= 0) blocks.push(lines.slice(start, at).join("\n"))
    start = start >= 0 ? -1 : at + 1
  }
  return blocks.slice(-MAX_FOUND).reverse()
}

/** Openings without an end that are looked at: each costs a walk to the end of the text. */
const MAX_OPEN = 20

function enclosed(text: string): string[] {
  const found: string[] = []
  let open = 0
  let at = 0
  while (at < text.length && open < MAX_OPEN) {
    if (text[at] !== "{" && text[at] !== "[") {
      at++
      continue
    }
    const end = endOf(text, at)
    if (end === undefined) {
      open++
      at++
      continue
    }
    found.push(text.slice(at, end))
    at = end
  }
  return found.sort((a, b) => b.length - a.length).slice(0, MAX_FOUND)
}

/** Where what is opened here is closed again, brackets in strings left aside. */
function endOf(text: string, start: number): number | undefined {
  let depth = 0
  let isString = false
  for (let at = start; at < text.length; at++) {
    const character = text[at]
    if (isString) {
      if (character === "\\") at++
      else if (character === '"') isString = false
      continue
    }
    if (character === '"') isString = true
    else if (character === "{" || character === "[") depth++
    else if ((character === "}" || character === "]") && --depth === 0) return at + 1
  }
  return undefined
}

function parsed(text: string): { readonly value: Json } | undefined {
  try {
    return { value: JSON.parse(text) as Json }
  } catch {
    return undefined
  }
}
