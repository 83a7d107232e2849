/** What a research knows. It is state of the run, or of a section's part of it: no two ever see each other's. */
import { add, append, type Channel, channel, reducer, replace } from "../../runtime/index.ts"
import type { JudgeAnswer } from "./research-answers.ts"

/** Something that was found, and what it can be cited by. */
export interface Evidence {
  /** An address on the web, or a file with its place. */
  readonly url: string
  readonly title: string
  readonly text: string
  /** The tool that found it. */
  readonly tool: string
}

/** One pass of the loop. */
export interface Iteration {
  readonly iteration: number
  readonly thoughts?: string | undefined
  readonly gap?: string | undefined
  readonly tool_calls?: readonly ToolCallMade[] | undefined
  /** What the tools said, in the order of the calls. */
  readonly findings?: readonly string[] | undefined
}

export interface ToolCallMade {
  readonly agent: string
  readonly query: string
}

/** What is asked, and how long. */
export interface Assignment {
  readonly query: string
  /** Of the section it is for. */
  readonly title?: string | undefined
  readonly background?: string | undefined
  readonly limits: Limits
}

/** A part that is not there is not limited. */
export interface Limits {
  readonly tokens?: number | undefined
  readonly seconds?: number | undefined
  readonly iterations?: number | undefined
}

export const ASSIGNMENT: Channel<Assignment | undefined, Assignment> = channel(
  "assignment",
  replace<Assignment>(),
)
/** Without duplicates, in the order in which it was found: its place is its number. */
export const EVIDENCE: Channel<readonly Evidence[], readonly Evidence[]> = channel(
  "evidence",
  reducer("research.evidence", withEvidence, [] as readonly Evidence[]),
)
export const CONVERSATION: Channel<readonly Iteration[], Iteration> = channel(
  "conversation",
  reducer("research.conversation", withIteration, [] as readonly Iteration[]),
)
/** The judge's word on each pass that is done. */
export const VERDICTS: Channel<readonly JudgeAnswer[], readonly JudgeAnswer[]> = channel(
  "verdicts",
  append<JudgeAnswer>(),
)
/** Seconds that the nodes which are done have taken. */
export const SPENT: Channel<number, number> = channel("spent", add())
/** Why the search ended before it was done. */
export const BREACH: Channel<string | undefined, string> = channel("breach", replace<string>())

/** What is known already keeps its number; of two texts of the same page the longer one stays. */
export function withEvidence(
  current: readonly Evidence[] | undefined,
  more: readonly Evidence[],
): readonly Evidence[] {
  const all = [...(current ?? [])]
  const places = new Map(all.map(({ url }, i) => [sourceKey(url), i]))
  for (const one of more) {
    const key = sourceKey(one.url)
    const place = places.get(key)
    const known = place === undefined ? undefined : all[place]
    if (place === undefined || known === undefined) places.set(key, all.push(one) - 1)
    else if (one.text.length > known.text.length) all[place] = { ...known, text: one.text }
  }
  return all
}

/** The same page under addresses that differ in nothing that matters. */
export function sourceKey(url: string): string {
  if (!/^https?:/i.test(url) || !URL.canParse(url)) return url
  const address = new URL(url)
  address.hash = ""
  for (const name of [...address.searchParams.keys()]) {
    if (/^utm_/i.test(name)) address.searchParams.delete(name)
  }
  return address.href.replace(/\/$/, "")
}

function withIteration(
  current: readonly Iteration[] | undefined,
  { iteration, ...fields }: Iteration,
): readonly Iteration[] {
  const all = current ?? []
  if (!all.some((one) => one.iteration === iteration)) return [...all, { iteration, ...fields }]
  return all.map((one) => (one.iteration === iteration ? { ...one, ...fields } : one))
}
