/** Workflows and agents as the tools of an MCP server: what clients see, and what a call of each does. */
import { type CallToolResult, ErrorCode, McpError, type Tool } from "@modelcontextprotocol/sdk/types.js"
import { memoryStore, Runtime, type Schema, SuperstepError, type Workflow } from "@superstep/engine"
import { RESULT_SCHEMA } from "./call-result.ts"
import { inputShape } from "./input-shape.ts"
import { type CallExtra, RunCalls, type RunPolicies } from "./run-calls.ts"

export interface ServedWorkflow {
  readonly workflow: Workflow
  /** The tool's name. Default: the workflow's, as far as clients take it. */
  readonly name?: string | undefined
  /** What a model decides by. Default: the workflow's description. */
  readonly description?: string | undefined
  /** What it takes, where its start node does not say. */
  readonly input?: Schema | undefined
}

export interface ServeMcpOptions extends RunPolicies {
  /** How the server calls itself. Default `superstep`. */
  readonly name?: string | undefined
  readonly version?: string | undefined
  /** What clients are told about its use. */
  readonly instructions?: string | undefined
  readonly workflows?: readonly (Workflow | ServedWorkflow)[] | undefined
  readonly agents?: readonly (Workflow | ServedWorkflow)[] | undefined
  /** Where the runs are kept; it must have the workflows. Absent: in memory, gone with the process. */
  readonly runtime?: Runtime | undefined
}

type Args = Readonly<Record<string, unknown>>

interface ServedTool {
  readonly listed: Tool
  readonly call: (args: Args, extra: CallExtra) => Promise<CallToolResult>
}

export interface ServedTools {
  readonly listed: readonly Tool[]
  call(name: string, args: Args, extra: CallExtra): Promise<CallToolResult>
  close(): Promise<void>
}

const KEPT_RUNS = 100

export function servedTools(options: ServeMcpOptions): ServedTools {
  const { limits, timeout, budget } = options
  const entries = [...(options.workflows ?? []), ...(options.agents ?? [])].map(entryOf)
  if (entries.length === 0) throw invalid("give it workflows or agents to serve.")
  const workflows = [...new Set(entries.map(({ workflow }) => workflow))]
  const own =
    options.runtime === undefined
      ? new Runtime({ store: memoryStore(), workflows, retention: { keep: KEPT_RUNS } })
      : undefined
  const calls = new RunCalls(options.runtime ?? (own as Runtime), workflows, { limits, timeout, budget })
  const tools = new Map<string, ServedTool>()
  for (const tool of [
    ...entries.map((entry) => workflowTool(entry, calls)),
    answerTool(calls),
    cancelTool(calls),
  ]) {
    const { name } = tool.listed
    if (tools.has(name)) throw invalid(`two tools are called "${name}"; give one of them another name.`)
    tools.set(name, tool)
  }
  return {
    listed: [...tools.values()].map(({ listed }) => listed),
    async call(name, args, extra) {
      const tool = tools.get(name)
      if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no tool "${name}".`)
      return await tool.call(args, extra)
    },
    async close() {
      await own?.close()
    },
  }
}

function entryOf(given: Workflow | ServedWorkflow): ServedWorkflow {
  return "workflow" in given ? given : { workflow: given }
}

function workflowTool({ workflow, name, description, input }: ServedWorkflow, calls: RunCalls): ServedTool {
  const shape = inputShape(workflow, input)
  return {
    listed: {
      name: checkedName(name ?? workflow.name.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 64)),
      description: description ?? workflow.description ?? `Runs the workflow "${workflow.name}".`,
      inputSchema: shape.schema as Tool["inputSchema"],
      outputSchema: RESULT_SCHEMA,
    },
    call: (args, extra) => calls.start(workflow, shape.inputOf(args), extra),
  }
}

const RUN = { type: "string", description: "The id of the run, as it was told." }

function answerTool(calls: RunCalls): ServedTool {
  return {
    listed: {
      name: "answer_run",
      description:
        "Answers what a run asks a person, and goes on with the run. Give the person's own answer, never one of yours.",
      inputSchema: {
        type: "object",
        properties: {
          run: RUN,
          request: { type: "string", description: "Which question; may be left out when there is one." },
          answer: { description: "The answer, in the form that the question asks for." },
        },
        required: ["run", "answer"],
        additionalProperties: false,
      },
      outputSchema: RESULT_SCHEMA,
    },
    call: (args, extra) => calls.answer(args, extra),
  }
}

function cancelTool(calls: RunCalls): ServedTool {
  return {
    listed: {
      name: "cancel_run",
      description: "Ends a run that waits for an answer which will not come.",
      inputSchema: {
        type: "object",
        properties: { run: RUN, reason: { type: "string" } },
        required: ["run"],
        additionalProperties: false,
      },
    },
    call: (args) => calls.cancel(args),
  }
}

function checkedName(name: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return name
  throw invalid(
    `a tool cannot be called ${JSON.stringify(name)}: use letters, digits, "_" and "-", at most 64.`,
  )
}

function invalid(reason: string): SuperstepError {
  return new SuperstepError("MCP_SERVE_INVALID", `serveMcp: ${reason}`, { retryable: false })
}
