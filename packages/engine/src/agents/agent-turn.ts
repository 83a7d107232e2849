/**
 * One turn of an agent in a conversation that somebody else keeps: what its model says, and, by a second function, the
 * calls it made. For graphs in which the tools are run by a node of their own. Both are recorded, as in the loop (L1, L2).
 */
import { SuperstepError } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import type { Context } from "../runtime/index.ts"
import type { ToolOutcome } from "../tools/call-tool.ts"
import type { Tool } from "../tools/index.ts"
import type { Agent } from "./agent.ts"
import { type AgentCore, coreOf } from "./agent-core.ts"
import { Guard } from "./agent-limits.ts"
import { type ToolTable, toolTable } from "./agent-tools.ts"
import {
  callsOf,
  readObject,
  replyMessage,
  resultsMessage,
  type ToolCall,
  textOf,
  toolCallsOf,
  userText,
} from "./conversation.ts"
import { isHandoff } from "./hand-off.ts"
import { chooseMessages } from "./history-policy.ts"
import { modelTurn } from "./model-turn.ts"
import { Secrets, secretNames } from "./secrets.ts"
import { outputInvalid, REPAIRS, repairRequest } from "./structured-output.ts"
import { toldAsText } from "./told-as-text.ts"
import { toolTurn } from "./tool-turn.ts"
import { UnknownOutcomes } from "./unknown-outcomes.ts"

export interface TurnOptions {
  /** The conversation so far. */
  readonly messages: readonly Message[]
  /** What it may call beside its own tools. */
  readonly tools?: readonly Tool[] | undefined
  /** What it is told after its own instructions. */
  readonly instructions?: string | undefined
}

export interface Turn {
  /** What is added to the conversation. A repaired answer stands alone, without what it replaces. */
  readonly said: readonly Message[]
  readonly text: string
  /** The text, or the data where the agent has an output schema; undefined where it called tools. */
  readonly answer: unknown
  readonly calls: readonly ToolCall[]
}

export async function agentTurn(agent: Agent, options: TurnOptions, ctx: Context): Promise<Turn> {
  const core = coreOf(agent)
  const { messages } = options
  const tools = await tableOf(core, options.tools ?? [], ctx)
  checkSecrets(core, tools)
  const { instructions, history = "all", repairs = REPAIRS } = core.options
  const own = typeof instructions === "function" ? await instructions(messages as never, ctx) : instructions
  const told = [own ?? "", ...tools.instructions, options.instructions ?? ""].filter((part) => part !== "")
  const system: Message[] = told.length === 0 ? [] : [{ role: "system", content: told.join("\n\n") }]
  const chosen = chooseMessages(history, [...messages])
  const prompt = [...(tools.offered === undefined ? toldAsText(chosen) : chosen)]
  const guard = new Guard(core.name, core.options.limits)
  await guard.begin(ctx)
  const deadline = guard.within(ctx.signal, ctx.clock)
  const signal = deadline?.signal ?? ctx.signal
  try {
    for (let number = 1; ; number++) {
      guard.turn()
      const reply = await modelTurn({
        core,
        tools,
        guards: [guard],
        place: { ctx, signal, path: "", isNested: false },
        signal,
        prompt: [...system, ...prompt],
        responseFormat: core.output.responseFormat,
        number,
        ids: new Set(messages.flatMap(callsOf)),
        secrets: new Secrets(),
      })
      const calls = toolCallsOf(reply)
      const message = replyMessage(reply, new Map(calls.map(({ id, args }) => [id, readObject(args)])))
      const said = message === undefined ? [] : [message]
      const text = textOf(reply)
      if (calls.length > 0) return { said, text, answer: undefined, calls }
      const read = await core.output.read(reply)
      if (read.ok) return { said, text, answer: read.value, calls }
      if (number > repairs) throw outputInvalid(core.name, read.reason, repairs)
      prompt.push(...said, userText(repairRequest(read.reason)))
    }
  } finally {
    deadline?.close()
  }
}

export interface MadeCalls {
  /** The results, as the message that answers the calls. */
  readonly results: Message
  readonly outcomes: readonly ToolOutcome[]
}

export interface CallToolsOptions {
  /** Another tool in the place of each of the agent's own, hand-offs excepted. */
  readonly wrap?: ((tool: Tool) => Tool) | undefined
}

/** Makes an agent's calls, one after the other. */
export async function callTools(
  agent: Agent,
  calls: readonly ToolCall[],
  ctx: Context,
  options: CallToolsOptions = {},
): Promise<MadeCalls> {
  const core = coreOf(agent)
  const tools = await core.tools(ctx)
  const { wrap = (tool) => tool } = options
  const byName = new Map([...tools.byName].map(([name, tool]) => [name, isHandoff(tool) ? tool : wrap(tool)]))
  const guards = [new Guard(core.name, core.options.limits)]
  const outcomes: ToolOutcome[] = []
  for (const call of calls) {
    const turn = {
      agent: core.name,
      options: core.options,
      tools: byName,
      guards,
      secrets: new Secrets(),
    }
    const { outcomes: made } = await toolTurn(
      { ...turn, ctx, signal: ctx.signal, path: "" },
      [call],
      new UnknownOutcomes(),
    )
    outcomes.push(...made)
  }
  return { results: resultsMessage(calls, outcomes), outcomes }
}

/** Calls go by the record, which has no secrets: a tool that needs them would be called for ever. */
function checkSecrets({ name }: AgentCore, { byName }: ToolTable): void {
  for (const tool of byName.keys()) {
    if (secretNames(byName, tool).length === 0) continue
    const text = `The tool "${tool}" of agent "${name}" has secret arguments, and they would not reach the node that makes its calls. Use the agent in a steps workflow, or give it a tool that reads the secret from the environment.`
    throw new SuperstepError("TOOL_SECRET_UNSUPPORTED", text, { fatal: true, retryable: false })
  }
}

async function tableOf(core: AgentCore, more: readonly Tool[], ctx: Context) {
  const table = await core.tools(ctx)
  if (more.length === 0) return table
  return toolTable(core.name, [...table.byName.values(), ...more], table.instructions)
}
