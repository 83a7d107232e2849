/** Runs the searches of one pass concurrently. Each has its own result, even if it fails. */
import { SuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { cutText, plainText } from "../../text/index.ts"
import { untilAborted } from "../../tools/index.ts"
import type { Incomplete } from "../failures.ts"
import type { Evidence, Iteration, ResearchTask } from "./research-state.ts"
import type { ResearchCall, ResearchTool, ToolFinding } from "./research-tools.ts"
import { oneLine, searchKey } from "./search-key.ts"

export interface TaskResult {
  readonly output: string
  readonly evidence: readonly Evidence[]
  readonly isFailed: boolean
  readonly incomplete?: readonly Incomplete[] | undefined
  /** An earlier pass made this search, so its evidence is known. */
  readonly isRepeated?: true | undefined
}

/** Runs a search whose tool exists. */
export type MakeSearch = (search: Search, ctx: Context) => Promise<TaskResult>

export interface Search {
  readonly tool: ResearchTool
  readonly task: ResearchTask
  /** How often it failed for this caller before. */
  readonly failures: number
  /** Aborts before the run's signal if time is limited. */
  readonly signal: AbortSignal
}

/** Maximum characters of one tool's output, so that the state of a run stays small. */
const MAX_OUTPUT = 8_000
const MAX_TEXT = 8_000
const MAX_TITLE = 300
const MAX_AUTHOR = 100
const MAX_SOURCES = 20
const MAX_SKIPPED = 20

/** A successful search of an earlier pass is not repeated. */
export async function runTasks(
  tasks: readonly ResearchTask[],
  { tools, made, search }: Searching,
  ctx: Context,
): Promise<TaskResult[]> {
  const earlier = earlierSearches(made)
  return await Promise.all(
    tasks.map(async (task, i): Promise<TaskResult> => {
      const tool = tools.find(({ name }) => name === task.agent)
      if (tool === undefined) {
        const names = tools.map(({ name }) => name).join(", ")
        return failed(`Unknown tool agent "${task.agent}"; available: ${names}.`)
      }
      const { output, failures = 0 } = earlier.get(searchKey(task)) ?? {}
      if (output !== undefined) return { output, evidence: [], isFailed: false, isRepeated: true }
      return await search({ tool, task, failures, signal: ctx.signal }, ctx.scope(`task ${i + 1}`))
    }),
  )
}

export interface Searching {
  readonly tools: readonly ResearchTool[]
  /** The passes so far. */
  readonly made: readonly Iteration[]
  readonly search: MakeSearch
}

interface Earlier {
  /** The output of the search that succeeded. */
  readonly output?: string | undefined
  readonly failures: number
}

function earlierSearches(made: readonly Iteration[]): ReadonlyMap<string, Earlier> {
  const earlier = new Map<string, Earlier>()
  for (const { tool_calls: calls = [], findings = [] } of made) {
    for (const [i, call] of calls.entries()) {
      const key = searchKey(call)
      const { output, failures } = earlier.get(key) ?? { failures: 0 }
      if (call.failed) earlier.set(key, { output, failures: failures + 1 })
      else earlier.set(key, { output: output ?? findings[i] ?? "", failures })
    }
  }
  return earlier
}

/** Runs a search as a recorded step of the pass. */
export const recordedSearch: MakeSearch = ({ tool, task, signal }, ctx) =>
  ctx.step(
    tool.name,
    // If the run has ended, or continues elsewhere, the result is not used.
    () => runTool(tool, task, { signal, clock: ctx.clock }, ctx.signal),
    { usage: () => ({ toolCalls: 1 }) },
  )

/** A failure is a result too, unless `over` shows that the result is no longer needed. */
export async function runTool(
  tool: ResearchTool,
  task: ResearchTask,
  call: ResearchCall,
  over: AbortSignal,
): Promise<TaskResult> {
  try {
    call.signal.throwIfAborted()
    return bounded(tool.name, await untilAborted(tool.run(task, call), call.signal))
  } catch (error) {
    if (over.aborted) throw error
    return searchFailed(tool, error)
  }
}

export function searchFailed({ name }: ResearchTool, error: unknown): TaskResult {
  const reason = error instanceof Error ? error.message : String(error)
  return failed(cutText(plainText(`${name} failed: ${reason}`), MAX_OUTPUT))
}

function failed(output: string): TaskResult {
  return { output, evidence: [], isFailed: true }
}

/** Validates the results of users' own tools. */
function bounded(tool: string, found: ToolFinding): TaskResult {
  const { output, sources, incomplete = [] } = found
  if (typeof output !== "string" || !Array.isArray(sources)) {
    throw new SuperstepError(
      "TOOL_RESULT_INVALID",
      "a tool must return { output, sources }, a string and a list.",
    )
  }
  const evidence = sources.slice(0, MAX_SOURCES).flatMap(({ url, title, text, author, date }): Evidence[] => {
    if (typeof url !== "string" || url.trim() === "") return []
    return [
      {
        url: plainText(url.trim()),
        title: shortText(title ?? url, MAX_TITLE),
        text: cutText(plainText(text ?? output), MAX_TEXT),
        tool,
        ...optional("author", author, MAX_AUTHOR),
        ...optional("date", date, MAX_AUTHOR),
      },
    ]
  })
  const skipped = incomplete.slice(0, MAX_SKIPPED).map(({ source, reason }) => ({
    source: cutText(plainText(String(source)), MAX_TITLE),
    reason: cutText(plainText(String(reason)), MAX_TITLE),
  }))
  return {
    output: cutText(plainText(output), MAX_OUTPUT),
    evidence,
    isFailed: false,
    ...(skipped.length === 0 ? {} : { incomplete: skipped }),
  }
}

function shortText(text: string, most: number): string {
  return cutText(oneLine(plainText(text)), most)
}

function optional(name: "author" | "date", value: unknown, most: number): { author?: string; date?: string } {
  const text = typeof value === "string" ? shortText(value, most) : ""
  return text === "" ? {} : { [name]: text }
}
