/** `agent(…)`: a model with instructions and tools. A node of a workflow, a workflow by itself, and a tool of other agents. */
import { type Node, type Workflow, workflow } from "../builder/index.ts"
import type { Json } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import {
  append,
  type Channel,
  type Context,
  channel,
  jsonSchemaOf,
  type Schema,
  validate,
} from "../runtime/index.ts"
import type { ApprovalRules, ParsedArgs, Tool } from "../tools/index.ts"
import { type AgentCore, CORE, makeCore } from "./agent-core.ts"
import { runAgent, runNested } from "./agent-loop.ts"
import type { AgentOptions, SomeAgentOptions } from "./agent-options.ts"
import { isToolset } from "./agent-tools.ts"
import { toolNameOf } from "./fellow-agents.ts"
import { alreadyRead } from "./structured-output.ts"

export interface Agent<In = never, Out = unknown> extends Node<In, Out>, Workflow<In, Out> {
  /** The agent as a tool of another one: it works in a conversation of its own, and its answer is the result. */
  asTool(options?: AgentToolOptions): Tool
  /** Closes what its toolsets have opened. */
  close(): Promise<void>
  /** For the engine. */
  readonly [CORE]: AgentCore
}

export interface AgentToolOptions {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly approval?: "always" | "never" | ApprovalRules | undefined
}

export function agent<Out, In = unknown>(
  options: AgentOptions<In> & { readonly output: Schema<Out> },
): Agent<In, Out>
export function agent<In = unknown>(options: AgentOptions<In>): Agent<In, string>
export function agent(options: SomeAgentOptions & { readonly output?: Schema | undefined }): Agent {
  const { name, description, input, output, messages } = options
  const core = makeCore(options, output)
  const { retry, timeout, concurrency, maxVisits, budget, onError } = options
  const definition: Node["definition"] = Object.freeze({
    kind: "agent",
    handlers: [
      {
        schema: input as Schema | undefined,
        run: (given: unknown, ctx: Context) => runAgent(core, given, ctx),
      },
    ],
    output: alreadyRead(output),
    ...given({ description, retry, timeout, concurrency, maxVisits, budget, onError }),
  })
  let alone: Workflow | undefined
  const asWorkflow = (): Workflow => {
    alone ??= workflow(name, { description, state: messages === undefined ? [] : [messages] })
      .start(self as Node)
      .build() as Workflow
    return alone
  }
  const self: Agent = {
    id: name,
    definition,
    name,
    description,
    [CORE]: core,
    get program() {
      return asWorkflow().program
    },
    get warnings() {
      return asWorkflow().warnings
    },
    run: (given, runOptions) => asWorkflow().run(given, runOptions),
    stream: (given, runOptions) => asWorkflow().stream(given, runOptions),
    resume: (runId, resumeOptions) => asWorkflow().resume(runId, resumeOptions),
    asNode: (nodeOptions) => asWorkflow().asNode(nodeOptions),
    asTool: (toolOptions = {}) => agentTool(core, toolOptions),
    async close() {
      const closing = (options.tools ?? []).map(async (one) =>
        isToolset(one) ? await one.close?.() : undefined,
      )
      // One that cannot be closed keeps none of the others open.
      const failed = (await Promise.allSettled(closing)).find(({ status }) => status === "rejected")
      if (failed?.status === "rejected") throw failed.reason
    },
  }
  return Object.freeze(self)
}

export function isAgent(given: unknown): given is Agent {
  return typeof given === "object" && given !== null && CORE in given
}

/** A channel for a conversation that goes on: with a thread, from run to run. */
export function conversation(key = "messages"): Channel<readonly Message[], readonly Message[]> {
  return channel(key, append<Message>(), { lasting: true })
}

function given<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>
}

function agentTool(core: AgentCore, options: AgentToolOptions): Tool {
  const { name = toolNameOf(core.name), approval } = options
  const description = options.description ?? core.description ?? `Asks the agent "${core.name}".`
  const schema = core.options.input
  const shape = jsonSchemaOf(schema, "input")
  const common = { name, description, approval, durable: true }
  if (schema !== undefined && isObjectShape(shape)) {
    return {
      ...common,
      parameters: shape as Json,
      parse: async (args): Promise<ParsedArgs> => {
        const checked = await validate(schema, args)
        return checked.ok ? { ok: true, args: checked.value } : checked
      },
      run: (args: unknown, call) => runNested(core, args, call),
    } as Tool
  }
  return {
    ...common,
    parameters: {
      type: "object",
      properties: {
        input: { type: "string", description: "What the agent is asked, with all that it needs to know." },
      },
      required: ["input"],
      additionalProperties: false,
    },
    parse: (args): ParsedArgs => {
      const { input } = (args ?? {}) as { input?: unknown }
      return typeof input === "string" ? { ok: true, args } : { ok: false, reason: "input must be a text" }
    },
    run: ({ input }: { input: string }, call) => runNested(core, input, call),
  } as Tool
}

function isObjectShape(shape: Json | undefined): boolean {
  return typeof shape === "object" && shape !== null && "type" in shape && shape.type === "object"
}
