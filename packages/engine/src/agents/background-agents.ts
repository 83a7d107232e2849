/**
 * Agents that work in the background: the agent that starts them continues, and reads their answers later.
 *
 * B1 A background agent works inside the task of the agent that started it: its calls are recorded steps of the task and count
 *    against its budgets.
 * B2 After a crash it is started again and continues from its records. What the other agent has seen of it is recorded.
 * B3 It ends with that task: what still works then is stopped.
 */
import type { Json } from "../core/index.ts"
import type { Context } from "../runtime/index.ts"
import { type Tool, type ToolCallContext, type Toolset, tool } from "../tools/index.ts"
import { callWith, objectInput, toJson } from "../tools/internal.ts"
import { type TransferArgs, taskText, transferInput } from "./agent-as-tool.ts"
import { type Agent, coreOf } from "./agent-core.ts"
import { runNested } from "./agent-loop.ts"
import { agentByName, listAgents } from "./hand-off.ts"

const MAX_RUNNING = 20
const MAX_TASKS = 100

interface BackgroundTask {
  readonly id: string
  readonly agent: string
  status: "running" | "completed" | "failed" | "stopped"
  /** Its answer, or why it failed. */
  result?: Json
  readonly stop: AbortController
  /** Never rejects. */
  readonly ended: Promise<void>
}

type Tasks = Map<string, BackgroundTask>

export function backgroundAgents(agents: readonly Agent[] | (() => readonly Agent[])): Toolset {
  const tasksOf = new WeakMap<Context, Tasks>()
  return {
    name: "background_agents",
    instructions:
      "Start work that does not depend on other work with run_background_agent, continue, and collect the answers with view_background_agent. What is still running when you answer is stopped.",
    tools(ctx) {
      const tasks: Tasks = new Map()
      tasksOf.set(ctx, tasks)
      return backgroundTools(typeof agents === "function" ? agents() : agents, tasks)
    },
    async taskEnded(ctx) {
      const tasks = [...(tasksOf.get(ctx)?.values() ?? [])]
      for (const one of tasks) stop(one)
      await Promise.all(tasks.map(({ ended }) => ended))
    },
  }
}

function backgroundTools(agents: readonly Agent[], tasks: Tasks): readonly Tool[] {
  const known = (id: string): BackgroundTask => {
    const found = tasks.get(id)
    if (found !== undefined) return found
    throw new Error(`There is no background task "${id}". list_background_agents shows their ids.`)
  }
  const TASK_ID = { type: "string", minLength: 1, description: "The id that run_background_agent returned." }
  // All are durable: they run again after a restart, so that the tasks exist again. A status that may differ then is a step.
  return [
    {
      name: "run_background_agent",
      description: `Starts an agent on a task and returns at once with the id of the task. The agent knows nothing but what the task says. Agents:\n${listAgents(agents)}`,
      ...transferInput(agents),
      durable: true,
      run(args: TransferArgs, call: ToolCallContext) {
        const running = [...tasks.values()].filter(({ status }) => status === "running").length
        if (running >= MAX_RUNNING || tasks.size >= MAX_TASKS) {
          const text = `No more than ${MAX_RUNNING} agents work in the background at once, and ${MAX_TASKS} in all. Do the task with what you have.`
          throw new Error(text)
        }
        const task = begin(agentByName(agents, args), taskText(args), call)
        tasks.set(task.id, task)
        return shown(task)
      },
    } as Tool,
    tool({
      name: "list_background_agents",
      description: "Lists the background tasks with their status.",
      durable: true,
      approval: "never",
      run: (_: unknown, { ctx }) => ctx.step("list", () => ({ tasks: [...tasks.values()].map(shown) })),
    }),
    tool({
      name: "view_background_agent",
      description: "Waits until a background task has ended and returns its answer.",
      input: objectInput(
        { task_id: TASK_ID, wait: { type: "boolean", description: "False: returns its status at once." } },
        ["task_id"],
      ),
      durable: true,
      approval: "never",
      async run({ task_id, wait = true }: { task_id: string; wait?: boolean }, { ctx }) {
        const task = known(task_id)
        if (!wait) return await ctx.step("view", () => withResult(task))
        await task.ended
        return withResult(task)
      },
    }),
    tool({
      name: "stop_background_agent",
      description: "Stops a background task.",
      input: objectInput({ task_id: TASK_ID }, ["task_id"]),
      durable: true,
      approval: "never",
      async run({ task_id }: { task_id: string }, { ctx }) {
        const task = known(task_id)
        const wasRunning = await ctx.step("stop", () => task.status === "running")
        if (wasRunning) stop(task)
        await task.ended
        return shown(task)
      },
    }),
  ]
}

function begin(agent: Agent, text: string, call: ToolCallContext): BackgroundTask {
  const stopper = new AbortController()
  // Not the signal of the call, which ends before the work does.
  const signal = AbortSignal.any([call.ctx.signal, stopper.signal])
  const work = runNested(coreOf(agent), text, callWith(call, { signal: () => signal }))
  const end = (status: "completed" | "failed", result: Json) => {
    if (task.status !== "running") return
    task.status = status
    task.result = result
  }
  const task: BackgroundTask = {
    id: call.id,
    agent: agent.name,
    status: "running",
    stop: stopper,
    ended: work.then(
      (answer) => end("completed", toJson(answer, call.tool)),
      (error: unknown) => end("failed", error instanceof Error ? error.message : String(error)),
    ),
  }
  return task
}

function stop(task: BackgroundTask): void {
  if (task.status !== "running") return
  task.status = "stopped"
  task.stop.abort(new Error("The background task was stopped."))
}

function shown({ id, agent, status }: BackgroundTask): { task_id: string; agent: string; status: string } {
  return { task_id: id, agent, status }
}

function withResult(task: BackgroundTask): Json {
  return { ...shown(task), ...(task.result !== undefined && { result: task.result }) }
}
