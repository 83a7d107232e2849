/** Workflows and agents as the tools of an MCP server: what clients see, and what a call does. */

import { type CallToolResult, ErrorCode, McpError, type Tool } from "@modelcontextprotocol/sdk/types.js"
import {
  type Json,
  memoryStore,
  Runtime,
  type Schema,
  SuperstepError,
  type Workflow,
} from "@superstep/engine"
import { type CallExtra, RESULT_SCHEMA, RunCalls, type RunPolicies } from "./run-calls.ts"

export interface ServedWorkflow {
  readonly workflow: Workflow
  /** The tool's name. Default: the workflow's, with invalid characters replaced. */
  readonly name?: string | undefined
  /** Tells a model when to call it. Default: the workflow's description. */
  readonly description?: string | undefined
  /** Its input, if the start node declares none. */
  readonly input?: Schema | undefined
}

export interface ServeMcpOptions extends RunPolicies {
  /** The server's name. Default `superstep`. */
  readonly name?: string | undefined
  readonly version?: string | undefined
  /** Instructions for clients. */
  readonly instructions?: string | undefined
  readonly workflows?: readonly (Workflow | ServedWorkflow)[] | undefined
  readonly agents?: readonly (Workflow | ServedWorkflow)[] | undefined
  /** Executes and stores the runs; it must have the workflows. Absent: runs are in memory, and end with the process. */
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

const MAX_FINISHED_RUNS = 100

export function servedTools(options: ServeMcpOptions): ServedTools {
  const { limits, timeout, budget } = options
  const entries = [...(options.workflows ?? []), ...(options.agents ?? [])].map(entryOf)
  if (entries.length === 0) throw invalid("name workflows or agents to serve.")
  const workflows = [...new Set(entries.map(({ workflow }) => workflow))]
  const own =
    options.runtime === undefined
      ? new Runtime({ store: memoryStore(), workflows, retention: { keep: MAX_FINISHED_RUNS } })
      : undefined
  const calls = new RunCalls(options.runtime ?? (own as Runtime), workflows, { limits, timeout, budget })
  const tools = new Map<string, ServedTool>()
  for (const tool of [
    ...entries.map((entry) => workflowTool(entry, calls)),
    answerTool(calls),
    cancelTool(calls),
  ]) {
    const { name } = tool.listed
    if (tools.has(name)) throw invalid(`two tools are named "${name}". Rename one of them.`)
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

function entryOf(served: Workflow | ServedWorkflow): ServedWorkflow {
  return "workflow" in served ? served : { workflow: served }
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

const RUN = { type: "string", description: "The id of the run." }

function answerTool(calls: RunCalls): ServedTool {
  return {
    listed: {
      name: "answer_run",
      description:
        "Answers a question that a run asks a person, and continues the run. Send the person's own answer, never one of yours.",
      inputSchema: {
        type: "object",
        properties: {
          run: RUN,
          request: { type: "string", description: "The id of the question; optional if there is only one." },
          answer: { description: "The answer, in the form that the question requires." },
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
      description: "Cancels a run that waits for an answer which will not come.",
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
  throw invalid(`invalid tool name ${JSON.stringify(name)}. Use at most 64 letters, digits, "_" and "-".`)
}

function invalid(reason: string): SuperstepError {
  return new SuperstepError("MCP_SERVE_INVALID", `serveMcp: ${reason}`, { retryable: false })
}

/** The input of a workflow as the arguments of a tool, which must be an object. */
interface InputShape {
  readonly schema: ObjectSchema
  /** The workflow's input, from the arguments that a client sent. */
  readonly inputOf: (args: Readonly<Record<string, unknown>>) => unknown
}

type ObjectSchema = { readonly type: "object"; readonly [key: string]: unknown }

/** An object schema of the start node unchanged; any other under `input`; text if none is declared. */
function inputShape({ program }: Workflow, declared: Schema | undefined): InputShape {
  const handlers = program.nodes[program.graph.start]?.handlers ?? []
  const schemas = declared === undefined ? handlers.map(({ schema }) => schema) : [declared]
  const known = schemas.map(jsonSchemaOf)
  const [first] = known
  if (known.length === 1 && isObjectSchema(first)) return { schema: plain(first), inputOf: (args) => args }
  const isKnown = known.length > 0 && known.every((schema) => schema !== undefined)
  const input = !isKnown ? TEXT : known.length === 1 ? (first as Json) : { anyOf: known as Json[] }
  return {
    schema: { type: "object", properties: { input }, required: ["input"], additionalProperties: false },
    inputOf: ({ input: value }) => value,
  }
}

const TEXT: Json = { type: "string", description: "The input of the run." }

function isObjectSchema(schema: Json | undefined): schema is ObjectSchema & Json {
  return typeof schema === "object" && schema !== null && "type" in schema && schema.type === "object"
}

function plain({ $schema: _, ...schema }: ObjectSchema): ObjectSchema {
  return schema as ObjectSchema
}

interface StandardJsonSchema {
  readonly jsonSchema?: { input(options: { readonly target: string }): Json } | undefined
}

/** If its library supports Standard JSON Schema. */
function jsonSchemaOf(schema: Schema | undefined): Json | undefined {
  const standard = schema?.["~standard"] as StandardJsonSchema | undefined
  try {
    return standard?.jsonSchema?.input({ target: "draft-2020-12" })
  } catch {
    // A transform, a function: checked when the run starts.
    return undefined
  }
}
