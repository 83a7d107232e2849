/** `agent(…)`: a model with instructions and tools. A node of a workflow, a workflow by itself, and a tool of other agents. */
import { type Node, type NodePolicies, type Workflow, workflow } from "../builder/index.ts"
import type { NodeId } from "../core/index.ts"
import { omitUndefined } from "../core/internal.ts"
import type { Message } from "../models/index.ts"
import { append, type Channel, type Context, channel, type Schema } from "../runtime/index.ts"
import { jsonSchema } from "../tools/internal.ts"
import { agentTool } from "./agent-as-tool.ts"
import {
  type Agent,
  type AgentCore,
  type AgentOptions,
  CORE,
  coreOf,
  type SomeAgentOptions,
} from "./agent-core.ts"
import { runAgent, runNested } from "./agent-loop.ts"
import { checkFiles } from "./agent-prompt.ts"
import { plainInput } from "./conversation.ts"
import type { Guardrail } from "./guardrails.ts"
import { isToolset, makeCore } from "./make-core.ts"
import { pathOfContext, withPath } from "./step-plan.ts"
import { alreadyRead } from "./structured-output.ts"

export function agent<Out, In = unknown, Needs = unknown>(
  options: AgentOptions<In, Needs> & { readonly output: Schema<Out> },
): Agent<In, Out, Needs>
export function agent<In = unknown, Needs = unknown>(
  options: AgentOptions<In, Needs>,
): Agent<In, string, Needs>
export function agent(options: SomeAgentOptions & { readonly output?: Schema | undefined }): Agent {
  const { name, description, input, output, messages } = options
  const core = makeCore(options, output)
  const { retry, timeout, concurrency, flow, placement, maxVisits, budget, onError } = options
  const run = (message: unknown, ctx: Context) => runAgent(core, message, ctx)
  const definition: Node["definition"] = Object.freeze({
    kind: "agent",
    handlers: [
      { schema: input as Schema | undefined, check: (message: unknown) => checkFiles(core, message), run },
    ],
    output: alreadyRead(output),
    warnings: core.warnings,
    ...omitUndefined({
      description,
      retry,
      timeout,
      concurrency,
      flow,
      placement,
      maxVisits,
      budget,
      onError,
    }),
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
    run: (message, runOptions) => asWorkflow().run(plainInput(message), runOptions),
    stream: (message, runOptions) => asWorkflow().stream(plainInput(message), runOptions),
    resume: (runId, resumeOptions) => asWorkflow().resume(runId, resumeOptions),
    asNode: (nodeOptions) => asWorkflow().asNode(nodeOptions),
    asTool: (toolOptions = {}) => agentTool(core, toolOptions),
    async close() {
      const listed = typeof options.tools === "function" ? [] : (options.tools ?? [])
      const closing = listed.map(async (one) => (isToolset(one) ? await one.close?.() : undefined))
      // A toolset that fails to close does not keep the others open.
      const failed = (await Promise.allSettled(closing)).find(({ status }) => status === "rejected")
      if (failed?.status === "rejected") throw failed.reason
    },
  }
  return Object.freeze(self)
}

export function isAgent(value: unknown): value is Agent {
  return typeof value === "object" && value !== null && CORE in value
}

/** A channel for a conversation that continues across tasks; with a thread, across runs. */
export function conversation(key = "messages"): Channel<readonly Message[], readonly Message[]> {
  // The model's types allow binary data in a message; here it is base64, and other binary data is rejected when written.
  const kind = append<Message>() as never
  return channel<readonly Message[], readonly Message[]>(key, kind, { persist: true })
}

export interface AgentNodeOptions<In, Out, Sent> extends NodePolicies {
  readonly id: NodeId
  /** Converts a message to the agent's input. Default: the message itself. */
  readonly input?: ((message: In, ctx: Context) => unknown) | undefined
  /** Converts an answer to what the node sends. Default: the answer itself. */
  readonly output?: ((answer: Out, ctx: Context, message: In) => Sent) | undefined
}

/** An agent as a node with its own id. */
export function agentNode<In, Out, Sent = Out>(
  agent: Agent<never, Out>,
  options: AgentNodeOptions<In, Out, Sent>,
): Node<In, Awaited<Sent>> {
  const { id, input, output, ...policies } = options
  const core = coreOf(agent as unknown as Agent)
  const run = async (message: In, ctx: Context) => {
    const value = input === undefined ? message : await input(message, ctx)
    const answer = (await runAgent(core, value, ctx)) as Out
    // A guardrail has sent its trip to another node.
    if (answer === undefined) return undefined as Sent
    return output === undefined ? answer : await output(answer, ctx, message)
  }
  const definition = Object.freeze({
    kind: "agent",
    handlers: [
      {
        check: (message: unknown) => (input === undefined ? checkFiles(core, message) : undefined),
        run: run as never,
      },
    ],
    warnings: core.warnings,
    ...policies,
  })
  return Object.freeze({ id, definition }) as Node<In, Awaited<Sent>>
}

// An agent as a guardrail: it reads the checked text in a conversation of its own, and returns a verdict.

export interface JudgeOptions extends Pick<Guardrail, "name" | "on" | "parallel" | "tools" | "onTrip"> {
  /** The agent's instructions define what trips the guardrail. Use a function for agents that refer to each other. */
  readonly agent: Agent | (() => Agent)
}

interface Verdict {
  readonly trips: boolean
  readonly reason: string
}

const VERDICT = jsonSchema({
  type: "object",
  properties: {
    trips: { type: "boolean", description: "Whether your instructions forbid this." },
    reason: { type: "string", description: "Why, in one sentence." },
  },
  required: ["trips", "reason"],
  additionalProperties: false,
}) as Schema<Verdict>

/** The judge's calls are recorded steps of the task, and count against its budgets. */
export function judge({ agent, ...guardrail }: JudgeOptions): Guardrail {
  let core: AgentCore | undefined
  return {
    ...guardrail,
    durable: true,
    async check({ text, tool }, ctx) {
      core ??= judgeCore(typeof agent === "function" ? agent() : agent)
      const asked = tool === undefined ? text : `A call of the tool "${tool}" with the arguments ${text}`
      const { idempotencyKey, signal } = ctx
      const call = {
        id: guardrail.name,
        agent: core.name,
        tool: "judge",
        signal,
        idempotencyKey,
        ctx,
        context: undefined,
        progress: () => {},
      }
      const nested = withPath(call, pathOfContext(ctx))
      const { trips, reason } = (await runNested(core, asked, nested)) as Verdict
      return trips ? reason : undefined
    },
  }
}

/** The same agent, with a verdict as its output. */
function judgeCore(agent: Agent): AgentCore {
  const { options } = coreOf(agent)
  return makeCore({ ...options, messages: undefined, handoffs: undefined, input: undefined }, VERDICT)
}
