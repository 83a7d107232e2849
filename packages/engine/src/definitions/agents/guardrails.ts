/** The guardrails of an agent in a definition: the calls that create them, and the guardrail that an expression defines. */
import { type Guardrail, patternGuardrail } from "../../agents/index.ts"
import { isSuperstepError, type Json } from "../../core/index.ts"
import { nearest, type Path } from "../../document/index.ts"
import { condition, ExpressionError } from "../../expressions/index.ts"
import { type DocumentReport, tryRead } from "../dialect-input.ts"
import { type Arg, call, definedArgs, later, type Ref } from "../plan/index.ts"
import type { GuardrailData } from "./agent-shape.ts"

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
