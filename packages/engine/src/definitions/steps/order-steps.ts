/**
 * Applies two implicit rules of a list of steps. A condition that refers to a later step needs its output, so that step
 * moves to just before the condition. A branch that ends with the agent of a step before the condition loops back to it.
 */
import { ExpressionError } from "../../expressions/index.ts"
import type { DocumentReport } from "../dialect-input.ts"
import { type AgentStep, decidingTexts, type GotoStep, hasOutput, type Step } from "./step.ts"
import type { StepData } from "./step-shape.ts"

export function orderSteps(list: readonly Step[], report: DocumentReport): readonly Step[] {
  const before: Before = new Map()
  return neededFirst(list).map((step) => {
    const result = ordered(step, before, report)
    if (step.type === "agent") before.set(step.agent, before.has(step.agent) ? "several" : step)
    return result
  })
}

type Before = Map<string, AgentStep | "several">

function ordered(step: Step, before: Before, report: DocumentReport): Step {
  switch (step.type) {
    case "condition": {
      const branch = (list: readonly Step[]) => goingBack(orderSteps(list, report), before, report)
      return { ...step, yes: branch(step.yes), no: branch(step.no) }
    }
    case "parallel":
      return { ...step, branches: step.branches.map((branch) => ordered(branch, new Map(), report)) }
    case "map":
      return { ...step, body: orderSteps(step.body, report) }
    default:
      return step
  }
}

/** Moves later steps that a condition refers to to just before it. */
function neededFirst(list: readonly Step[]): readonly Step[] {
  const byId = new Map(list.filter(hasOutput).map((step) => [step.id, step]))
  const positions = new Map(list.map((step, i) => [step, i]))
  const placed = new Set<Step>()
  const result: Step[] = []
  const open = (step: Step): Opened => {
    placed.add(step)
    const needed = new Set(namesIn(step).flatMap((name) => byId.get(name) ?? []))
    // In the order of definition, not of the condition.
    const inOrder = [...needed].sort((a, b) => (positions.get(a) ?? 0) - (positions.get(b) ?? 0))
    return { step, start: result.length, needed: inOrder.values() }
  }
  for (const step of list) {
    // An explicit stack: each of thousands may need the next.
    const stack = placed.has(step) ? [] : [open(step)]
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const { value: other } = top.needed.next()
      if (other === undefined) {
        const first = result[top.start]
        result.push(first === undefined ? top.step : { ...top.step, enteredAt: first.path })
        stack.pop()
      } else if (!placed.has(other)) stack.push(open(other))
    }
  }
  return result
}

interface Opened {
  readonly step: Step
  readonly start: number
  readonly needed: Iterator<Step, undefined>
}

function namesIn(step: Step): string[] {
  return decidingTexts(step).flatMap(({ read }) => {
    if (read instanceof ExpressionError) return []
    return read.references.flatMap(({ root, path: [name] }) =>
      root === "steps" && name !== undefined ? [String(name)] : [],
    )
  })
}

function goingBack(branch: readonly Step[], before: Before, report: DocumentReport): readonly Step[] {
  const last = branch.at(-1)
  if (last?.type !== "agent" || last.data.loop === false) return branch
  const target = before.get(last.agent)
  if (target === undefined || target === "several") return branch
  for (const field of IGNORED) {
    if (last.data[field] === undefined) continue
    const message = `workflow ${last.where}: this step loops back to "${target.id}", so its "${field}" has no effect; set loop: false to make it a separate step`
    report.warning("LOOP_BACK", message, [...last.at, field], undefined, "key")
  }
  const { agent: _, ...common } = last
  const back: GotoStep = { ...common, type: "goto", target: target.id, isAlias: true }
  return [...branch.slice(0, -1), back]
}

const IGNORED: readonly (keyof StepData)[] = ["prompt", "retry", "timeout", "on_error"]
