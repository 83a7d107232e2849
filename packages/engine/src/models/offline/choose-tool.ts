/**
 * Chooses a tool by meaning and writes its arguments from the request.
 *
 * 1. No call is made twice for one user message.
 * 2. Unless a call is demanded, a tool is called only when the request speaks of it and its arguments are in the text.
 * 3. A hand-off is made only when the other agent is nearer to the request than the one that is asked.
 */
import type { LanguageModelV3CallOptions, LanguageModelV3FunctionTool } from "@ai-sdk/provider"
import { type ClueKind, clueKind, EXACT, findClues } from "./clues.ts"
import { fillJson } from "./fill-json.ts"
import { isSchema, type SchemaNode, schemaMap, strings } from "./json-schema.ts"
import { knowledgeOf } from "./knowledge.ts"
import { optionOf as describedLabel } from "./label.ts"
import { best, type Likeness, likenesses, type Option } from "./meaning.ts"
import { isHandoff, type Reading } from "./reading.ts"
import { canonical, isRecord } from "./schema-check.ts"

export interface Chosen {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

type Tools = Pick<LanguageModelV3CallOptions, "tools" | "toolChoice">

/** A tool needs this much in common with the request: its name meant, or two words of its description. */
const LEAST = 1.5
const MOST_AT_ONCE = 4
/** Tools for a model's own thoughts, which this one has none of. */
const INWARD = /^(?:think|todo(?:_\w+)?)$/i

export function chooseCalls(
  reading: Reading,
  { tools = [], toolChoice = { type: "auto" } }: Tools,
): Chosen[] {
  const functions = tools.filter((tool) => tool.type === "function")
  if (toolChoice.type === "none" || functions.length === 0) return []
  if (toolChoice.type === "tool") {
    const named = functions.find(({ name }) => name === toolChoice.toolName)
    return named === undefined ? [] : [{ name: named.name, args: write(reading, named).args }]
  }
  const meant = ranked(reading, functions)
  for (const { tool, likeness } of meant) {
    if (likeness.score < LEAST || INWARD.test(tool.name)) continue
    const calls = callsOf(reading, tool)
    if (calls.length > 0) return calls
  }
  if (toolChoice.type !== "required") return []
  const [first] = meant
  return first === undefined ? [] : [{ name: first.tool.name, args: write(reading, first.tool).args }]
}

interface Meant {
  readonly tool: LanguageModelV3FunctionTool
  readonly likeness: Likeness
}

/** The tools, nearest to what is still open of the request first. */
function ranked(reading: Reading, tools: readonly LanguageModelV3FunctionTool[]): Meant[] {
  const { request, calls } = reading
  const options = tools.map(optionOf)
  const likes = likenesses(request, options).map((like, index) => ({
    ...like,
    score: like.score + (isAboutItsInput(request, tools[index]) ? LEAST : 0),
  }))
  const made = new Set(calls.map(({ name }) => name).filter((name) => !isHandoff(name)))
  // What a call has answered to is done with; another tool must be named by what is left.
  const done = new Set(
    tools.flatMap(({ name }, index) => (made.has(name) ? (likes[index]?.heard ?? []) : [])),
  )
  const found = tools.map((tool, index) => {
    const likeness = likes[index] ?? { score: 0, named: [], heard: [] }
    if (made.size === 0)
      return { tool, likeness: leadsOn(tool) ? handoff(reading, tool, likeness) : likeness }
    const isOpen = made.has(tool.name) || likeness.named.some((root) => !done.has(root))
    return { tool, likeness: isOpen && !leadsOn(tool) ? likeness : { ...likeness, score: 0 } }
  })
  return found.sort((a, b) => b.likeness.score - a.likeness.score)
}

const LOOKS = /^(?:read|get|fetch|open|view|load|show|calc|eval|comput|math)/i

/** A tool that only looks at something is meant when the request names such a thing: a path, an address, a sum. */
function isAboutItsInput(request: string, tool: LanguageModelV3FunctionTool | undefined): boolean {
  if (tool === undefined || !LOOKS.test(tool.name)) return false
  const kinds = strings(schemaMap(tool.inputSchema as SchemaNode).required).map(clueKind)
  return kinds.some((kind) => kind !== undefined && ABOUT.has(kind) && findClues(kind, request).length > 0)
}

const ABOUT: ReadonlySet<ClueKind> = new Set(["path", "url", "expression"])

/** Hand-offs, and tasks that are given to one of several others. */
function leadsOn({ name }: LanguageModelV3FunctionTool): boolean {
  return isHandoff(name) || name === "transfer_task"
}

function optionOf({ name, description, inputSchema }: LanguageModelV3FunctionTool): Option {
  return { name, description, also: Object.keys(schemaMap(schemaMap(inputSchema as SchemaNode).properties)) }
}

/**
 * A hand-off counts by where it leads: by its own name and description, or by the nearest of its targets, and only when
 * that is nearer than what the asked agent is there for.
 */
function handoff(
  { request, instructions }: Reading,
  tool: LanguageModelV3FunctionTool,
  likeness: Likeness,
): Likeness {
  const targets = targetsOf(tool)
  const about = `${tool.description ?? ""}\n${instructions}`
  const options: Option[] =
    targets.length > 0
      ? targets.map((name) => describedLabel(name, undefined, about))
      : [
          {
            name: tool.name.replace(/^(?:hand_?off|route|transfer)(?:_to)?_?/i, ""),
            description: tool.description,
          },
        ]
  const scores = likenesses(request, options).map(({ score }) => score)
  const at = best(scores)
  const own = targets.length > 0 ? 0 : overlapWith(request, ownWords(instructions))
  const score = at < 0 ? 0 : (scores[at] ?? 0)
  return { ...likeness, score: score > 0 && score >= own ? Math.max(score, LEAST) + 1 : 0 }
}

function targetsOf({ inputSchema }: LanguageModelV3FunctionTool): string[] {
  const properties = Object.values(schemaMap(schemaMap(inputSchema as SchemaNode).properties))
  return properties.flatMap((part) => (isRecord(part) ? strings(part.enum) : []))
}

/** The first sentence of the instructions says what the agent itself is for. */
function ownWords(instructions: string): string {
  return instructions.split(/(?<=[.!?])\s|\n/)[0] ?? ""
}

function overlapWith(request: string, text: string): number {
  return likenesses(request, [{ name: "", description: text }])[0]?.score ?? 0
}

/** Calls of one tool: one for each path or address that the request names, where it takes a single one. */
function callsOf(reading: Reading, tool: LanguageModelV3FunctionTool): Chosen[] {
  const made = new Set(
    reading.calls.filter(({ name }) => name === tool.name).map(({ input }) => canonical(parsed(input))),
  )
  const found: Chosen[] = []
  for (const request of requestsFor(reading.request, tool)) {
    const { args, isMadeUp } = write({ ...reading, request }, tool)
    const key = canonical(args)
    if (isMadeUp || made.has(key)) continue
    made.add(key)
    found.push({ name: tool.name, args })
  }
  // A tool that has been called is called again only for something else that was named.
  return made.size > found.length && !namesMore(reading, tool) ? [] : found
}

function namesMore({ request }: Reading, tool: LanguageModelV3FunctionTool): boolean {
  return requestsFor(request, tool).length > 1
}

function requestsFor(request: string, { inputSchema }: LanguageModelV3FunctionTool): string[] {
  const required = strings(schemaMap(inputSchema as SchemaNode).required)
  const exact = required.filter((name) => EXACT.has(clueKind(name) ?? "person"))
  const [only] = exact
  const kind = exact.length === 1 && required.length === 1 && only !== undefined ? clueKind(only) : undefined
  const clues = kind === undefined ? [] : [...new Set(findClues(kind, request))]
  if (clues.length < 2) return [request]
  return clues
    .slice(0, MOST_AT_ONCE)
    .map((clue) =>
      clues.reduce((text, other) => (other === clue ? text : text.replaceAll(other, " ")), request),
    )
}

interface Written {
  readonly args: Readonly<Record<string, unknown>>
  /** Something that it needs is neither in the request nor in what was said before. */
  readonly isMadeUp: boolean
}

function write(reading: Reading, tool: LanguageModelV3FunctionTool): Written {
  const schema = isSchema(tool.inputSchema) ? (tool.inputSchema as SchemaNode) : {}
  const knowledge = knowledgeOf(
    { ...reading, instructions: `${tool.description ?? ""}\n${reading.instructions}` },
    true,
  )
  const filled = fillJson(schema, knowledge)
  const required = new Set(strings(schemaMap(schema).required))
  return {
    args: isRecord(filled) ? filled : {},
    isMadeUp: knowledge.madeUp.some((name) => required.has(name)),
  }
}

function parsed(input: unknown): unknown {
  if (typeof input !== "string") return input
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
