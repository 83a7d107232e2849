/** The searches of one pass: all at the same time, each a recorded step with a result of its own, also where it fails. */
import { SuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { cutText, plainText } from "../../text/index.ts"
import { untilAborted } from "../../tools/index.ts"
import type { ResearchTask } from "./research-answers.ts"
import type { Evidence } from "./research-state.ts"
import type { ResearchTool, ToolFinding } from "./research-tools.ts"

export interface TaskResult {
  readonly output: string
  readonly evidence: readonly Evidence[]
  readonly isFailed: boolean
}

/** What one tool's word may have in characters, so that the state of a run stays small. */
const MOST_OUTPUT = 8_000
const MOST_TEXT = 8_000
const MOST_TITLE = 300
const MOST_SOURCES = 20

export async function runTasks(
  tasks: readonly ResearchTask[],
  tools: readonly ResearchTool[],
  ctx: Context,
): Promise<TaskResult[]> {
  return await Promise.all(
    tasks.map((task, i) => runTask(task, tools, ctx.scope(`task ${i + 1}`), ctx.signal)),
  )
}

async function runTask(
  task: ResearchTask,
  tools: readonly ResearchTool[],
  ctx: Context,
  signal: AbortSignal,
): Promise<TaskResult> {
  const tool = tools.find(({ name }) => name === task.agent)
  if (tool === undefined) {
    const names = tools.map(({ name }) => name).join(", ")
    return failed(`There is no tool agent "${task.agent}"; there are ${names}.`)
  }
  return await ctx.step(
    tool.name,
    async () => {
      try {
        signal.throwIfAborted()
        const found = await untilAborted(tool.run(task, { signal, clock: ctx.clock }), signal)
        return bounded(tool.name, found)
      } catch (error) {
        // The run itself is over, or goes on elsewhere: there is nobody to read a result.
        if (ctx.signal.aborted) throw error
        const reason = error instanceof Error ? error.message : String(error)
        return failed(cutText(plainText(`${tool.name} failed: ${reason}`), MOST_OUTPUT))
      }
    },
    { usage: () => ({ toolCalls: 1 }) },
  )
}

function failed(output: string): TaskResult {
  return { output, evidence: [], isFailed: true }
}

/** What users' own tools give is looked at before it is taken in. */
function bounded(tool: string, found: ToolFinding): TaskResult {
  const { output, sources } = found
  if (typeof output !== "string" || !Array.isArray(sources)) {
    throw new SuperstepError("TOOL_RESULT_INVALID", "a tool gives { output, sources }, a text and a list.")
  }
  const evidence = sources.slice(0, MOST_SOURCES).flatMap(({ url, title, text }): Evidence[] => {
    if (typeof url !== "string" || url.trim() === "") return []
    const said = text ?? output
    return [
      {
        url: plainText(url.trim()),
        title: cutText(
          plainText(title ?? url)
            .replace(/\s+/g, " ")
            .trim(),
          MOST_TITLE,
        ),
        text: cutText(plainText(said), MOST_TEXT),
        tool,
      },
    ]
  })
  return { output: cutText(plainText(output), MOST_OUTPUT), evidence, isFailed: false }
}
