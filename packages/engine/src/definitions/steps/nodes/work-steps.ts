/** Steps that are one node: an agent, another workflow, a question to a person, a wait, a tool call, a condition. */
import type { Agent } from "../../../agents/index.ts"
import { type AgentCore, coreOf, textOf as replyText, runAgent } from "../../../agents/internal.ts"
import type { Json } from "../../../core/index.ts"
import { condition, template } from "../../../expressions/index.ts"
import type { Terminate } from "../../../patterns/teams/index.ts"
import { recordDecision } from "../../../runtime/index.ts"
import { jsonSchema } from "../../../tools/index.ts"
import { functionCaller, type StepFunction } from "../../call-function.ts"
import { type DefinitionNode, type SubWorkflow, toolCaller } from "../../definition.ts"
import type { StepList } from "./step-list.ts"
import { currentViews, leave, makeNode, type StepNodeOptions, type StepToken, scopeOf } from "./step-node.ts"
import type { View } from "./view.ts"

export interface AgentStepOptions extends StepNodeOptions {
  /** Replaces the user's prompt, after the outputs of earlier steps. */
  readonly prompt?: string | undefined
  /** The ids of the earlier steps whose outputs the prompt begins with. Default: all. */
  readonly priorOutputs?: readonly string[] | undefined
}

export function agentStep(
  steps: StepList,
  id: string,
  agent: Agent,
  options: AgentStepOptions = {},
): DefinitionNode {
  const { prompt, priorOutputs, last, ...policies } = options
  const own = prompt === undefined ? undefined : template(prompt, "steps")
  const core = coreOf(agent)
  const asked = core.output.responseFormat === undefined ? core : withText(core)
  return makeNode(steps, id, { kind: "agent", ...policies }, async (view, ctx) => {
    const text = view.promptText(own?.render(scopeOf(view)), priorOutputs)
    currentViews.set(ctx.signal, view)
    const answer = await runAgent(asked, text, ctx)
    if (asked === core) return leave(view, ctx, { agent: core.name, output: answer as Json }, last)
    const { text: output, value } = answer as TextAndValue
    return leave(view, ctx, { agent: core.name, output, value: value as Json }, last)
  })
}

interface TextAndValue {
  readonly text: string
  readonly value: unknown
}

/** The same agent; its answer also has the model's text. */
function withText(core: AgentCore): AgentCore {
  const { output } = core
  const read: typeof output.read = async (reply) => {
    const answer = await output.read(reply)
    if (!answer.ok) return answer
    return { ok: true, value: { text: replyText(reply), value: answer.value } satisfies TextAndValue }
  }
  return { ...core, output: { ...output, read } }
}

export type WorkflowStepOptions = AgentStepOptions

/** Its output is the last output of the workflow. */
export function workflowStep(
  steps: StepList,
  id: string,
  workflow: SubWorkflow,
  options: WorkflowStepOptions = {},
): DefinitionNode {
  const { prompt, priorOutputs, last, ...policies } = options
  const own = prompt === undefined ? undefined : template(prompt, "steps")
  return makeNode(steps, id, { kind: "workflow", nested: workflow, ...policies }, async (view, ctx) => {
    const text = view.promptText(own?.render(scopeOf(view)), priorOutputs)
    const outputs = await ctx.call<string, Json>(workflow, text)
    return leave(view, ctx, { output: outputs.at(-1) ?? null }, last)
  })
}

export interface HumanStepOptions extends StepNodeOptions {
  readonly prompt: string
  readonly choices?: readonly Json[] | undefined
  readonly schema?: Json | undefined
  readonly to?: string | undefined
  readonly default?: Json | undefined
}

/** `timeout` is the time to answer. */
export function humanStep(steps: StepList, id: string, options: HumanStepOptions): DefinitionNode {
  const { prompt, choices, schema, to, default: fallback, timeout, last, ...policies } = options
  const read = template(prompt, "steps")
  const shape = choices === undefined ? schema : { enum: choices }
  const answers = shape === undefined ? {} : { schema: jsonSchema<Json>(shape) }
  return makeNode(steps, id, { kind: "human", ...policies }, async (view, ctx) => {
    const question = read.render(scopeOf(view))
    const output = await ctx.ask<Json>({ prompt: question, ...answers, to, timeout, default: fallback })
    return leave(view, ctx, { output }, last)
  })
}

export interface WaitStepOptions extends StepNodeOptions {
  /** The name of the signal. */
  readonly signal: string
  readonly schema?: Json | undefined
  readonly default?: Json | undefined
}

/** Its output is the value of the signal. `timeout` is the time until the default is the value, or the step fails. */
export function waitStep(steps: StepList, id: string, options: WaitStepOptions): DefinitionNode {
  const { signal, schema: shape, default: fallback, timeout, last, ...policies } = options
  const schema = shape === undefined ? undefined : jsonSchema<Json>(shape)
  return makeNode(steps, id, { kind: "wait", ...policies }, async (view, ctx) => {
    const output = await ctx.waitFor<Json>(signal, { schema, timeout, default: fallback })
    return leave(view, ctx, { output }, last)
  })
}

export interface ToolStepOptions extends StepNodeOptions {
  readonly tool: string
  /** Strings may be templates; a template of one expression keeps its type. */
  readonly args?: Json | undefined
}

export function toolStep(
  steps: StepList,
  id: string,
  agent: Agent,
  options: ToolStepOptions,
): DefinitionNode {
  const { tool, args = {}, last, ...policies } = options
  const scope = (view: View, _: unknown, revealed?: string[]) => scopeOf(view, revealed)
  const callTool = toolCaller(agent, { tool, args, spelling: "steps", scope })
  return makeNode(steps, id, { kind: "tool", ...policies }, async (view, ctx) =>
    leave(view, ctx, { output: await callTool(view.path, view, ctx) }, last),
  )
}

export interface FunctionStepOptions extends StepNodeOptions {
  /** Strings may be templates; a template of one expression keeps its type. Default: the prompt, as `input`. */
  readonly args?: Json | undefined
  /** JSON Schema of the result. */
  readonly schema?: Json | undefined
}

/** Its output is what the function returns, as JSON. */
export function functionStep(
  steps: StepList,
  id: string,
  run: StepFunction,
  options: FunctionStepOptions = {},
): DefinitionNode {
  const { args = { input: "{{ $input }}" }, schema, last, ...policies } = options
  const call = functionCaller(run, { args, schema, spelling: "steps", scope: (view: View) => scopeOf(view) })
  return makeNode(steps, id, { kind: "function", ...policies }, async (view, ctx) =>
    leave(view, ctx, { output: await call(view.path, view, ctx) }, last),
  )
}

export interface ConditionStepOptions extends Omit<StepNodeOptions, "last"> {
  /** The node's id, if the condition decides whether another step runs. */
  readonly node?: string | undefined
}

export function conditionStep(
  steps: StepList,
  id: string,
  text: string,
  options: ConditionStepOptions = {},
): DefinitionNode {
  const { node, ...policies } = options
  const read = condition(text, "steps")
  return makeNode(
    steps,
    id,
    { kind: "condition", id: node, name: node && `when ${id}`, ...policies },
    (view, ctx): StepToken => {
      const { holds, operands } = read.decide(scopeOf(view))
      recordDecision(ctx, { condition: text, holds, operands })
      return { after: ctx.node, holds }
    },
  )
}

/** The case of a switch after a condition. */
export function holds(): (token: StepToken) => boolean {
  return (token) => token.holds === true
}

/** The names that `terminate` of a team can refer to. */
export const TEAM_ROOTS = ["last", "speaker", "round"] as const

/** When a team ends: `$last` is the last message, `$speaker` its author, `$round` the number of turns. */
export function teamEnds(text: string): Terminate {
  const read = condition(text, "steps")
  return (messages, round) => {
    const { text: last = "", speaker = "" } = messages.at(-1) ?? {}
    const values = new Map<string, string | number>(Object.entries({ last, speaker, round }))
    return read.holds((root) => values.get(root))
  }
}
