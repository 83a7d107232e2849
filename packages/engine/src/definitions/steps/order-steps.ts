/**
 * The two things that a list of steps means without saying so. A condition that names a step after it needs its output:
 * that step runs just before, and not again in its own place. And a branch that ends with the agent of a step before the
 * condition goes back to that step.
 */
import type { Document, Report } from "../document/index.ts"
import { ExpressionError } from "../expressions/index.ts"
import { type AgentStep, type GotoStep, hasOutput, type Step } from "./step.ts"
import type { StepData } from "./step-shape.ts"
import { stepTexts } from "./step-texts.ts"

interface Ordering {
  readonly document: Document
  readonly report: Report
}

export function orderSteps(list: readonly Step[], ordering: Ordering): readonly Step[] {
  const before: Before = new Map()
  return neededFirst(list).map((step) => {
    const result = ordered(step, before, ordering)
    if (step.type === "agent") before.set(step.agent, before.has(step.agent) ? "several" : step)
    return result
  })
}

/** By agent, the step that runs it. */
type Before = Map<string, AgentStep | "several">

function ordered(step: Step, before: Before, ordering: Ordering): Step {
  switch (step.type) {
    case "condition": {
      const branch = (list: readonly Step[]) => goingBack(orderSteps(list, ordering), before, ordering)
      return { ...step, yes: branch(step.yes), no: branch(step.no) }
    }
    case "parallel":
      return { ...step, branches: step.branches.map((branch) => ordered(branch, new Map(), ordering)) }
    case "map":
      return { ...step, body: orderSteps(step.body, ordering) }
    default:
      return step
  }
}

/** What a condition names and comes later is moved to just before it. */
function neededFirst(list: readonly Step[]): readonly Step[] {
  const byId = new Map(list.filter(hasOutput).map((step) => [step.id, step]))
  const positions = new Map(list.map((step, i) => [step, i]))
  const placed = new Set<Step>()
  const result: Step[] = []
  const open = (step: Step): Opened => {
    placed.add(step)
    const needed = new Set(namesIn(step).flatMap((name) => byId.get(name) ?? []))
    // In the order of definition, however the condition names them.
    const inOrder = [...needed].sort((a, b) => (positions.get(a) ?? 0) - (positions.get(b) ?? 0))
    return { step, start: result.length, needed: inOrder.values() }
  }
  for (const step of list) {
    // A stack of our own: each may need the next, and there may be thousands.
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

/** A step whose needs are being placed. */
interface Opened {
  readonly step: Step
  /** Where the first of them comes. */
  readonly start: number
  readonly needed: Iterator<Step, undefined>
}

/** The steps that decide whether it runs, or which way it goes. */
function namesIn(step: Step): string[] {
  return stepTexts(step).flatMap(({ decides, read }) => {
    if (!decides || read instanceof ExpressionError) return []
    return read.references.flatMap(({ root, path: [name] }) =>
      root === "steps" && name !== undefined ? [String(name)] : [],
    )
  })
}

function goingBack(branch: readonly Step[], before: Before, { document, report }: Ordering): readonly Step[] {
  const last = branch.at(-1)
  if (last?.type !== "agent" || last.data.loop === false) return branch
  const target = before.get(last.agent)
  if (target === undefined || target === "several") return branch
  for (const field of IGNORED) {
    if (last.data[field] === undefined) continue
    const text = `workflow ${last.where}: it goes back to "${target.id}", so its "${field}" does nothing; for a step of its own, write loop: false`
    report.warning("LOOP_BACK", text, document.place([...last.at, field], "key"))
  }
  const { agent: _, ...common } = last
  const back: GotoStep = { ...common, type: "goto", target: target.id, isAlias: true }
  return [...branch.slice(0, -1), back]
}

const IGNORED: readonly (keyof StepData)[] = ["prompt", "retry", "timeout", "on_error"]
