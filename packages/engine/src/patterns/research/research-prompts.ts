/** What the agents of a research are asked, from its state. */
import { SuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { cutText } from "../../text/index.ts"
import {
  ASSIGNMENT,
  type Assignment,
  CONVERSATION,
  EVIDENCE,
  type Iteration,
  VERDICTS,
} from "./research-state.ts"
import type { ResearchTool } from "./research-tools.ts"

/** About 6,000 tokens. */
const MAX_HISTORY = 24_000
const MAX_FINDING = 1_500
const MAX_FINDINGS = 2_000

export function assignmentOf(ctx: Context): Assignment {
  const assignment = ctx.state.get(ASSIGNMENT)
  if (assignment !== undefined) return assignment
  const text = "The run's limits allow no work at all. Raise them."
  throw new SuperstepError("RESEARCH_NOT_STARTED", text, { retryable: false })
}

/** For who thinks, and for who looks for gaps. */
export function progressPrompt(ctx: Context): string {
  return prompt(ctx, history(ctx))
}

export function selectPrompt(ctx: Context, gap: string, tools: readonly ResearchTool[]): string {
  const list = tools.map(({ name, description }) => `- ${name}: ${description}`).join("\n")
  const next = ctx.state.get(VERDICTS).at(-1)?.next_search_queries ?? []
  const made = ctx.state
    .get(CONVERSATION)
    .flatMap(({ tool_calls = [] }) => tool_calls.map(({ agent, query }) => `- ${agent}: ${query}`))
  return parts(
    `Tool agents:\n${list}`,
    made.length === 0 ? "" : `Searches that were made:\n${made.join("\n")}`,
    next.length === 0
      ? ""
      : `Searches that the judge proposes:\n${next.map((query) => `- ${query}`).join("\n")}`,
    `The research is on: ${assignmentOf(ctx).query}`,
    `Question: ${gap}`,
  )
}

export function judgePrompt(ctx: Context, evidence: string): string {
  return prompt(ctx, evidence)
}

export function writePrompt(ctx: Context, evidence: string): string {
  const { query, title } = assignmentOf(ctx)
  const results = ctx.state
    .get(CONVERSATION)
    .flatMap(({ findings = [] }) => findings)
    .filter((text) => text !== "")
  const isBare = ctx.state.get(EVIDENCE).length === 0 && results.length > 0
  return parts(
    background(ctx),
    evidence,
    isBare ? `Search results:\n${tagged("result", cutText(results.join("\n"), MAX_FINDINGS))}` : "",
    `Question: ${query}${title === undefined ? "" : ` (for the section "${title}")`}`,
  )
}

/** Material first, the question last: what comes before it is to be judged, not obeyed. */
function prompt(ctx: Context, material: string): string {
  return parts(background(ctx), material, `Question: ${assignmentOf(ctx).query}`)
}

function background(ctx: Context): string {
  const { background: known = "" } = assignmentOf(ctx)
  return known === "" ? "" : tagged("context", known)
}

/** The latest passes, as far as they fit. */
function history(ctx: Context): string {
  const passes = ctx.state
    .get(CONVERSATION)
    .map(passText)
    .filter((text) => text !== "")
  const kept: string[] = []
  let room = MAX_HISTORY
  for (const text of passes.reverse()) {
    room -= text.length
    if (room < 0 && kept.length > 0) break
    kept.unshift(text)
  }
  return kept.join("\n\n")
}

function passText({ thoughts = "", gap, tool_calls: calls = [], findings = [] }: Iteration): string {
  const found = findings.map((text, i) => {
    const { agent = "", query = "" } = calls[i] ?? {}
    return tagged("result", cutText(text, MAX_FINDING), { tool: agent, query })
  })
  const searched = findings.length === 0 || gap === undefined ? "" : `The gap was: ${gap}`
  return parts(thoughts === "" ? "" : tagged("context", thoughts), searched, ...found)
}

/** Untrusted text between tags that it cannot close. */
export function tagged(
  name: "context" | "document" | "result",
  text: string,
  attributes: Readonly<Record<string, string>> = {},
): string {
  const rendered = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${value.replace(/["<>\n]/g, " ")}"`,
  )
  const safe = text.replace(/<(\/?)(context|document|result)\b/gi, "<$1 $2")
  return `<${name}${rendered.join("")}>\n${safe.trim()}\n</${name}>`
}

function parts(...texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n")
}
