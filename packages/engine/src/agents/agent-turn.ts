/**
 * One turn of an agent in a conversation that its caller keeps: `agentTurn` calls the model, `callTools` makes its tool
 * calls. For graphs in which a separate node runs the tools. Both are recorded, as in the loop (L1, L2).
 */
import { SuperstepError } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import type { Context } from "../runtime/index.ts"
import type { Tool } from "../tools/index.ts"
import type { ToolOutcome } from "../tools/internal.ts"
import { type Agent, type AgentCore, coreOf } from "./agent-core.ts"
import { Guard } from "./agent-limits.ts"
import { systemPrompt } from "./agent-prompt.ts"
import { fittingStep } from "./agent-step.ts"
import { changedCore } from "./changed-agent.ts"
import {
  callsOf,
  replyMessage,
  resultsMessage,
  type ToolCall,
  textOf,
  toolCallsOf,
  visibleArgs,
} from "./conversation.ts"
import { isHandoff } from "./hand-off.ts"
import { toolTable } from "./make-core.ts"
import { HookedVisits } from "./middleware.ts"
import { Secrets, secretNames, UnknownOutcomes } from "./secrets.ts"
import { type ToolTable, taskScope } from "./step-plan.ts"
import { AnswerReader } from "./structured-output.ts"
import { toolTurn } from "./tool-turn.ts"

export interface TurnOptions {
  /** The conversation so far. */
  readonly messages: readonly Message[]
  /** Additional tools. */
  readonly tools?: readonly Tool[] | undefined
  /** Additional instructions, after the agent's own. */
  readonly instructions?: string | undefined
}

export interface Turn {
  /** The messages to add to the conversation. A repaired answer is added without the answers that it replaces. */
  readonly added: readonly Message[]
  readonly text: string
  /** The text, or the data if the agent has an output schema; undefined if it called tools. */
  readonly answer: unknown
  readonly calls: readonly ToolCall[]
}

export async function agentTurn(agent: Agent, options: TurnOptions, ctx: Context): Promise<Turn> {
  const core = changedCore(coreOf(agent), ctx)
  const { messages } = options
  const tools = await toolsOf(core, options.tools ?? [], ctx, messages)
  checkSecrets(core, tools)
  const conversation = [...messages]
  const guard = new Guard(core.name, core.options.limits, core.options.budget)
  const scope = taskScope(ctx)
  const deadline = await guard.begin(ctx, ctx.signal)
  if (deadline !== undefined) scope.signal = deadline.signal
  const about = hookInfo(core, messages, ctx)
  const visits = new HookedVisits()
  const begun = core.hooks === undefined ? "" : await visits.begin(core.hooks, about(0))
  const more = [options.instructions ?? "", begun].filter((part) => part !== "").join("\n\n")
  const system = await systemPrompt(core, tools, messages, ctx, more)
  const speaker = { core, tools, scope, guards: [guard], secrets: new Secrets(), about }
  const reader = new AnswerReader(core)
  const ids = new Set(messages.flatMap(callsOf))
  let asked = 0
  let tokens: number | undefined
  try {
    for (let number = 1; ; number++) {
      guard.turn()
      const { responseFormat } = core.output
      const { toolChoice } = core.options
      const request = {
        system,
        messages: conversation,
        responseFormat,
        toolChoice,
        number,
        asked,
        ids,
        tokens,
      }
      const step = await fittingStep(speaker, request, async () => conversation)
      const { reply, retry } = step
      tokens = step.tokens
      asked += step.asked
      if (retry !== undefined) {
        conversation.push(...retry)
        continue
      }
      const calls = toolCallsOf(reply)
      const message = replyMessage(reply, visibleArgs(calls))
      const added = message === undefined ? [] : [message]
      const text = textOf(reply)
      if (calls.length > 0) return { added, text, answer: undefined, calls }
      const answer = await reader.read(reply)
      if ("value" in answer) {
        await visits.end({ answer: answer.value })
        return { added, text, answer: answer.value, calls }
      }
      conversation.push(...added, ...(answer.repair === undefined ? [] : [answer.repair]))
    }
  } catch (error) {
    if (!ctx.signal.aborted) await visits.end({ error })
    throw error
  } finally {
    deadline?.close()
    await tools.end?.()
  }
}

export interface MadeCalls {
  /** The results as a message. */
  readonly results: Message
  readonly outcomes: readonly ToolOutcome[]
}

export interface CallToolsOptions {
  /** Runs instead of the agent's own tools, except hand-offs. */
  readonly wrap?: ((tool: Tool) => Tool) | undefined
}

/** Makes an agent's tool calls, one after the other. */
export async function callTools(
  agent: Agent,
  calls: readonly ToolCall[],
  ctx: Context,
  options: CallToolsOptions = {},
): Promise<MadeCalls> {
  const { wrap = (tool) => tool } = options
  const core = coreOf(agent)
  const table = await core.tools(ctx, undefined)
  const byName = new Map([...table.byName].map(([name, tool]) => [name, isHandoff(tool) ? tool : wrap(tool)]))
  const active = {
    core,
    tools: { ...table, byName },
    scope: taskScope(ctx),
    guards: [new Guard(core.name, core.options.limits, core.options.budget)],
    secrets: new Secrets(),
    about: hookInfo(core, undefined, ctx),
  }
  const outcomes: ToolOutcome[] = []
  try {
    for (const call of calls) {
      const made = await toolTurn(active, [call], new UnknownOutcomes())
      if (made.limit !== undefined) throw made.limit
      outcomes.push(...made.outcomes)
    }
  } finally {
    await table.end?.()
  }
  return { results: resultsMessage(calls, outcomes), outcomes }
}

function hookInfo({ name: agent }: AgentCore, input: unknown, ctx: Context) {
  return (step: number) => ({ agent, step, input, steps: [], ctx })
}

/** The calls are read from the record, which has no secrets: the model would repeat a call that needs them forever. */
function checkSecrets({ name }: AgentCore, { byName }: ToolTable): void {
  for (const tool of byName.keys()) {
    if (secretNames(byName, tool).length === 0) continue
    const text = `The tool "${tool}" of agent "${name}" has secret arguments, which would not reach the node that makes its calls. Use the agent in a steps workflow, or use a tool that reads the secret from the environment.`
    throw new SuperstepError("TOOL_SECRET_UNSUPPORTED", text, { fatal: true, retryable: false })
  }
}

async function toolsOf(
  core: AgentCore,
  more: readonly Tool[],
  ctx: Context,
  input: unknown,
): Promise<ToolTable> {
  const table = await core.tools(ctx, input)
  if (more.length === 0) return table
  return { ...table, ...toolTable(core.name, [...table.byName.values(), ...more], table.instructions) }
}
