/** The functions that create the agents of a definition, with their tools and guardrails. */

import { existsSync } from "node:fs"
import { platform, release } from "node:os"
import {
  agent,
  backgroundAgents,
  conversation,
  type Guardrail,
  judge,
  lastItems,
  modelPicker,
  patternGuardrail,
  pickedModel,
  rotateModels,
  routeModels,
} from "../../agents/index.ts"
import { isSuperstepError, type Json, SuperstepError } from "../../core/index.ts"
import { nearest, type Path } from "../../document/index.ts"
import { condition, ExpressionError } from "../../expressions/index.ts"
import { readTextFile } from "../../files/index.ts"
import type { Context } from "../../runtime/index.ts"
import {
  api,
  filesystem,
  jsonSchema,
  lsp,
  memory,
  openapi,
  providerTool,
  script,
  shell,
  skills,
  tasks,
  think,
  todo,
  toolsetWith,
  userPrompt,
  webFetch,
} from "../../tools/index.ts"
import { type DocumentReport, tryRead } from "../dialect-input.ts"
import {
  type Arg,
  call,
  definedArgs,
  functionsFrom,
  later,
  type PlanFunctions,
  type Ref,
} from "../plan/index.ts"
import type { GuardrailData } from "./agent-shape.ts"
import { commandHooks } from "./command-hooks.ts"
import { a2aTool, documentSearch } from "./search-tools.ts"

export const agentFunctions: PlanFunctions = {
  ...functionsFrom("superstep/agents", {
    agent,
    backgroundAgents,
    conversation,
    judge,
    lastItems,
    modelPicker,
    patternGuardrail,
    pickedModel,
    rotateModels,
    routeModels,
  }),
  ...functionsFrom("superstep/definitions", {
    a2aTool,
    agentText,
    commandHooks,
    documentSearch,
    expressionGuardrail,
  }),
  ...functionsFrom("superstep/tools", {
    api,
    filesystem,
    jsonSchema,
    lsp,
    memory,
    openapi,
    providerTool,
    script,
    shell,
    skills,
    tasks,
    think,
    todo,
    toolsetWith,
    userPrompt,
    webFetch,
  }),
}

export type Instructions = string | ((input: unknown, ctx: Context) => string | Promise<string>)

export interface AgentTextOptions {
  readonly date?: boolean | undefined
  readonly environment?: boolean | undefined
  /** Read again for every task, up to 1 MB each. One that does not exist is left out, with a warning in the log. */
  readonly files?: readonly string[] | undefined
  /** The folder that must contain them, after resolving links. Default: any. */
  readonly folder?: string | undefined
}

/** Instructions with the date, the environment and project files. */
export function agentText(
  instructions: Instructions,
  options: AgentTextOptions,
): (input: unknown, ctx: Context) => Promise<string> {
  const { date, environment, files = [], folder } = options
  return async (input, ctx) => {
    const own = typeof instructions === "string" ? instructions : await instructions(input, ctx)
    const parts = [own]
    if (date) parts.push(`Today's date: ${new Date(ctx.clock.now()).toISOString().slice(0, 10)}`)
    if (environment) {
      parts.push(`Working directory: ${process.cwd()}\nOperating system: ${platform()} ${release()}`)
    }
    for (const file of files) {
      const text = read(file, folder)
      if (text === undefined) ctx.log("warn", `The prompt file ${file} does not exist, and is left out.`)
      else parts.push(`Instructions from ${file}:\n${text}`)
    }
    return parts.filter((part) => part !== "").join("\n\n")
  }
}

/** Undefined if there is no such file: files such as AGENTS.md are optional. */
function read(file: string, folder: string | undefined): string | undefined {
  if (!existsSync(file)) return undefined
  try {
    return readTextFile(file, { folder })
  } catch (cause) {
    const reason = isSuperstepError(cause) ? cause.message : String(cause)
    const text = `A prompt file cannot be read. ${reason} Create it, or remove it from add_prompt_files.`
    const code = isSuperstepError(cause) ? cause.code : "FILE_UNREADABLE"
    throw new SuperstepError(code, text, { cause, retryable: false })
  }
}

// The guardrails of an agent in a definition: the calls that create them, and the guardrail that an expression defines.

interface GuardrailsInput {
  readonly report: DocumentReport
  /** The agents of the file, by name. */
  readonly agents: ReadonlyMap<string, { readonly ref: Ref }>
  readonly path: Path
}

export function guardrailsArg(guardrails: readonly GuardrailData[] | undefined, input: GuardrailsInput): Arg {
  if (guardrails === undefined || guardrails.length === 0) return undefined
  return guardrails.map((one, i) => guardrailArg(one, { ...input, path: [...input.path, i] }))
}

function guardrailArg(data: GuardrailData, { report, agents, path }: GuardrailsInput): Arg {
  const { name, on, pattern, expression, agent, reason, parallel, tools, on_trip } = data
  const refuse = (message: string, at: Path = path) =>
    report.error("GUARDRAIL_INVALID", `guardrail "${name}": ${message}`, at)
  if ([pattern, expression, agent].filter((one) => one !== undefined).length !== 1) {
    refuse("set one of pattern, expression and agent")
    return undefined
  }
  if (parallel === true && on !== "input")
    refuse("only input guardrails can be parallel", [...path, "parallel"])
  if (tools !== undefined && on !== "tool") refuse("tools requires on: tool", [...path, "tools"])
  if (reason !== undefined && agent !== undefined)
    refuse("the agent provides the reason", [...path, "reason"])
  const shared = definedArgs({ name, on, parallel, tools, onTrip: on_trip as Arg }) ?? {}
  if (agent !== undefined) {
    const judging = agents.get(agent)
    if (judging === undefined) {
      const message = `guardrail "${name}": agent "${agent}" not found in agents`
      report.error("UNKNOWN_AGENT", message, [...path, "agent"], nearest(agent, agents.keys()))
      return undefined
    }
    return call("judge", { ...shared, agent: later(judging.ref) })
  }
  const why = definedArgs({ reason }) ?? {}
  if (pattern !== undefined) {
    checkPattern(name, pattern, (message) => refuse(message, [...path, "pattern"]))
    return call("patternGuardrail", { ...shared, pattern, ...why })
  }
  checkExpression(expression as string, [...path, "expression"], report)
  return call("expressionGuardrail", { ...shared, expression, ...why })
}

function checkPattern(name: string, pattern: string, refuse: (message: string) => void): void {
  try {
    patternGuardrail({ name, on: "input", pattern })
  } catch (error) {
    if (!isSuperstepError(error, "GUARDRAIL_INVALID")) throw error
    refuse(error.message)
  }
}

function checkExpression(text: string, at: Path, report: DocumentReport): void {
  const read = tryRead(text, (one) => condition(one, "steps"))
  if (read instanceof ExpressionError) return report.invalidExpression(read, at)
  const names = GUARDRAIL_ROOTS.map((one) => `$${one}`)
  for (const { root, start, end } of read.references) {
    if (GUARDRAIL_ROOTS.some((one) => one === root)) continue
    const message = `There is no $${root} in a guardrail; use one of ${names.join(", ")}.`
    report.error("UNKNOWN_NAME", message, at, nearest(`$${root}`, names), { from: start, to: end })
  }
}

export interface ExpressionGuardrailOptions
  extends Pick<Guardrail, "name" | "on" | "parallel" | "tools" | "onTrip"> {
  /** A condition over `$text`, `$value`, `$agent` and `$tool`. */
  readonly expression: string
  /** Default: that the expression does not hold. */
  readonly reason?: string | undefined
}

/** What the expression can refer to. */
const GUARDRAIL_ROOTS = ["text", "value", "agent", "tool"] as const

/** Trips when the expression does not hold. */
export function expressionGuardrail(options: ExpressionGuardrailOptions): Guardrail {
  const { expression, reason = `it does not satisfy ${expression}`, ...guardrail } = options
  const read = condition(expression, "steps")
  return {
    ...guardrail,
    check({ text, value, agent, tool = "" }) {
      const values = new Map(Object.entries({ text, value, agent, tool }))
      return read.holds((root) => values.get(root) as Json | undefined) ? undefined : reason
    },
  }
}
