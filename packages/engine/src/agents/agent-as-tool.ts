/**
 * Agents and workflows as tools: each runs in a conversation or a journal scope of its own, and its answer is the result.
 */
import { type Json, SuperstepError } from "../core/index.ts"
import { type Callable, type CallOptions, jsonSchemaOf, type Schema, validate } from "../runtime/index.ts"
import type { ApprovalRules, ParsedArgs, Tool } from "../tools/index.ts"
import { type Agent, type AgentCore, type AgentToolOptions, coreOf } from "./agent-core.ts"
import { runNested } from "./agent-loop.ts"
import { agentByName, listAgents, parseAgentRef, toolNameOf } from "./hand-off.ts"

export function agentTool(core: AgentCore, options: AgentToolOptions): Tool {
  const { name = toolNameOf(core.name), approval } = options
  const description = options.description ?? core.description ?? `Asks the agent "${core.name}".`
  const schema = core.options.input
  const shape = jsonSchemaOf(schema, "input")
  const { inputOf, ...args } =
    schema !== undefined && isObjectShape(shape)
      ? schemaArgs(schema, shape as Json)
      : textArgs("The question for the agent, with everything that it needs to know.")
  const run: Tool["run"] = (value, call) => runNested(core, inputOf(value), call)
  return { name, description, approval, durable: true, ...args, run } as Tool
}

function isObjectShape(shape: Json | undefined): boolean {
  return typeof shape === "object" && shape !== null && "type" in shape && shape.type === "object"
}

export interface WorkflowToolOptions<Args> extends CallOptions {
  /** The model uses it to decide when to call the tool. */
  readonly description: string
  readonly name?: string | undefined
  /** What the model passes: an object. Default: `{ input }`, a string that becomes the workflow's input. */
  readonly input?: Schema<Args> | undefined
  readonly approval?: "always" | "never" | ApprovalRules | undefined
  readonly fatal?: boolean | undefined
}

/** The workflow runs inside the agent's task. A single output is the result; several outputs are a list. */
export function workflowTool<In, Out>(workflow: Callable<In, Out>, options: WorkflowToolOptions<In>): Tool {
  const { name = toolNameOf(workflow.name), description, input, approval, fatal, onRequest } = options
  const shape = input === undefined ? undefined : jsonSchemaOf(input as Schema, "input")
  if (input !== undefined && shape === undefined) {
    const text = `Tool "${name}": its input schema has no JSON Schema; use a schema library that provides one.`
    throw new SuperstepError("TOOL_INVALID", text)
  }
  const { inputOf, ...args } =
    shape === undefined ? textArgs("The input of the workflow.") : schemaArgs(input as Schema, shape)
  const run: Tool["run"] = async (value, { ctx }) => {
    const outputs = await ctx.call(workflow, inputOf(value) as In, { onRequest })
    return outputs.length === 1 ? outputs[0] : outputs
  }
  return { name, description, approval, fatal, durable: true, ...args, run } as Tool
}

/** The arguments of a tool that wraps an agent or a workflow. */
interface InputArgs extends Pick<Tool, "parameters" | "parse"> {
  inputOf(args: unknown): unknown
}

function schemaArgs(schema: Schema, shape: Json): InputArgs {
  return {
    parameters: shape,
    async parse(args): Promise<ParsedArgs> {
      const checked = await validate(schema, args)
      return checked.ok ? { ok: true, args: checked.value } : checked
    },
    inputOf: (args) => args,
  }
}

function textArgs(description: string): InputArgs {
  return {
    parameters: {
      type: "object",
      properties: { input: { type: "string", description } },
      required: ["input"],
      additionalProperties: false,
    },
    parse(args) {
      const { input } = (args ?? {}) as { input?: unknown }
      return typeof input === "string" ? { ok: true, args } : { ok: false, reason: "input must be a string" }
    },
    inputOf: (args) => (args as { input: string }).input,
  }
}

export interface TransferArgs {
  readonly agent: string
  readonly task: string
  readonly expected_output?: string | undefined
}

/** `transfer_task`: delegates a task to one of several agents. */
export function transferTool(agents: readonly Agent[]): Tool {
  return {
    name: "transfer_task",
    description: `Gives a task to another agent and returns its answer. The agent knows nothing but what the task says. Agents:\n${listAgents(agents)}`,
    ...transferInput(agents),
    durable: true,
    run: (args: TransferArgs, call) => runNested(coreOf(agentByName(agents, args)), taskText(args), call),
  } as Tool
}

export function taskText({ task, expected_output }: TransferArgs): string {
  return expected_output === undefined || expected_output === ""
    ? task
    : `${task}\n\nExpected output: ${expected_output}`
}

/** The arguments of tools that give a task to one of several agents. */
export function transferInput(agents: readonly Agent[]): Pick<Tool, "parameters" | "parse"> {
  return {
    parameters: {
      type: "object",
      properties: {
        agent: {
          type: "string",
          enum: agents.map(({ name }) => name),
          description: "The agent that does the task.",
        },
        task: { type: "string", description: "The task, with everything that is needed to do it." },
        expected_output: { type: "string", description: "What the answer should look like." },
      },
      required: ["agent", "task", "expected_output"],
      additionalProperties: false,
    },
    parse(args) {
      const { task, expected_output } = (args ?? {}) as Partial<TransferArgs>
      if (typeof task !== "string" || task === "") return { ok: false, reason: "task must be a string" }
      if (expected_output !== undefined && typeof expected_output !== "string") {
        return { ok: false, reason: "expected_output must be a string" }
      }
      return parseAgentRef(agents, args)
    },
  }
}
