/**
 * The events of a research for user interfaces: a projection of the run's event stream, live or from a store. It needs no
 * storage of its own.
 */
import { addUsage, type Json, type Usage } from "../../core/index.ts"
import type { RunEvent } from "../../runtime/index.ts"
import type { Way } from "./research-loop.ts"
import type { ResearchTask } from "./research-state.ts"

export type ResearchEventType =
  | "started"
  | "searching"
  | "search_complete"
  | "judging"
  | "judge_complete"
  | "looping"
  | "synthesizing"
  | "streaming"
  | "complete"
  | "error"

export interface ResearchEvent {
  readonly type: ResearchEventType
  readonly message: string
  /** Has `section` if the event belongs to one. */
  readonly data: { readonly [key: string]: Json }
  /** The pass of the loop, from 1. 0 before the first. */
  readonly iteration: number
  /** Milliseconds since the epoch. */
  readonly time: number
}

/** A section of a deep research. */
export interface ResearchSection {
  /** From 1. */
  readonly number: number
  readonly of: number
  readonly title: string
}

/** `for await (const event of researchEvents(research.stream(question)))`. Ends with `complete` or `error`. */
export async function* researchEvents(
  events: AsyncIterable<RunEvent>,
): AsyncGenerator<ResearchEvent, void, void> {
  const projection = new ResearchProjection()
  for await (const event of events) yield* projection.add(event)
}

type Projected = Pick<ResearchEvent, "type" | "message"> & Partial<Pick<ResearchEvent, "data" | "iteration">>

/** Translates the events of a run, one by one, into research events. */
export class ResearchProjection {
  readonly #sections = new Map<string, ResearchSection>()
  /** The current pass of each workflow of the run. */
  readonly #passes = new Map<string, number>()
  #usage: Usage = {}
  #report: Json | undefined

  add(event: RunEvent): ResearchEvent[] {
    const projected = this.#read(event)
    if (projected === undefined) return []
    const frame = event.path.join("/")
    const section = this.#sections.get(frame)
    const { type, message, data = {}, iteration = this.#passes.get(frame) ?? 0 } = projected
    const where = section === undefined ? {} : { section: section as unknown as Json }
    return [{ type, message, data: { ...data, ...where }, iteration, time: event.at }]
  }

  #read(event: RunEvent): Projected | undefined {
    const isRun = event.path.length === 0
    switch (event.type) {
      case "run.started":
        return isRun
          ? { type: "started", message: `Research on: ${text(event.input)}`, data: { query: event.input } }
          : undefined
      case "task.started":
        return this.#started(event)
      case "task.finished":
        return finished(event.node, event.sends[0]?.value)
      case "model.delta":
        if (event.kind !== "text" || !WRITERS.has(event.node)) return undefined
        return { type: "streaming", message: event.text, data: { offset: event.offset } }
      case "usage.recorded":
        if (isRun) this.#usage = addUsage(this.#usage, event.usage)
        return undefined
      case "output":
        if (isRun) this.#report = event.value
        return undefined
      case "run.finished":
        return isRun ? this.#ended(event) : undefined
      default:
        return undefined
    }
  }

  #started({
    path,
    node,
    task,
    input,
    attempt,
  }: Extract<RunEvent, { type: "task.started" }>): Projected | undefined {
    const frame = path.join("/")
    const fields = isRecord(input) ? input : {}
    if (node === "section") {
      const { index, of, title } = fields as unknown as { index: number; of: number; title: string }
      this.#sections.set([...path, `${node}#${task}`].join("/"), { number: index + 1, of, title })
      return undefined
    }
    if (attempt > 1) return undefined
    const way = fields as unknown as Partial<Way>
    if (node === "think") {
      const iteration = (way.iteration ?? 0) + 1
      this.#passes.set(frame, iteration)
      return iteration === 1 ? undefined : { type: "looping", message: `Pass ${iteration}` }
    }
    if (node === "search") {
      const tasks = Array.isArray(way.tasks) ? (way.tasks as readonly ResearchTask[]) : []
      const queries = tasks.map(({ agent, query }) => `${agent} "${query}"`).join(", ")
      return {
        type: "searching",
        message: `Searching: ${queries}`,
        data: { tasks: tasks as unknown as Json },
      }
    }
    if (node === "judge") return { type: "judging", message: "Judging the evidence" }
    if (node === "synthesize") return { type: "synthesizing", message: "Assembling the report" }
    if (node !== "write") return undefined
    const section = this.#sections.get(frame)
    return {
      type: "synthesizing",
      message: section === undefined ? "Writing the report" : `Writing the section "${section.title}"`,
    }
  }

  #ended({ status, error }: Extract<RunEvent, { type: "run.finished" }>): Projected {
    const usage = this.#usage as { readonly [key: string]: Json }
    if (status === "completed") {
      return { type: "complete", message: "Research complete", data: { report: this.#report ?? null, usage } }
    }
    const message = error?.message ?? `The run ended with status ${status}.`
    return {
      type: "error",
      message,
      data: { status, usage, ...(error === undefined ? {} : { code: error.code }) },
    }
  }
}

const WRITERS = new Set(["write", "synthesize"])

function finished(node: string, sent: Json | undefined): Projected | undefined {
  if (!isRecord(sent)) return undefined
  const { found = 0, failed = 0, reasons, repeated = 0, verdict, message } = sent as unknown as Partial<Way>
  switch (node) {
    case "search": {
      const lost = failed === 0 ? "" : `, ${counted(failed, "search", "searches")} failed`
      const again = repeated === 0 ? "" : `, ${counted(repeated, "search", "searches")} repeated`
      return {
        type: "search_complete",
        message: `${counted(found, "new source", "new sources")}${lost}${again}`,
        data: {
          sources: found,
          failed,
          ...(reasons !== undefined && { reasons }),
          ...(repeated > 0 && { repeated }),
        },
      }
    }
    case "judge":
      if (verdict === undefined) return undefined
      return {
        type: "judge_complete",
        message: verdict.sufficient ? "The evidence is sufficient" : "The evidence is not sufficient yet",
        data: verdict as unknown as { readonly [key: string]: Json },
      }
    case "budget":
      return message === undefined ? undefined : { type: "error", message, data: { code: "BUDGET_EXCEEDED" } }
    case "section": {
      const { reason, title, index } = sent as { reason?: string; title: string; index: number }
      if (reason === undefined) return undefined
      return { type: "error", message: `Research failed: ${reason}`, data: { number: index + 1, title } }
    }
    default:
      return undefined
  }
}

function isRecord(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}

function text(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value)
}
