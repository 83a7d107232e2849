/** Draws steps as a graph of nodes. A block with retries or a timeout is a box: a flow of its own inside one node. */
import { nearest } from "../../document/index.ts"
import type { DocumentReport } from "../dialect-input.ts"
import {
  everyStep,
  type GotoStep,
  hasWorkflow,
  listsIn,
  type MapStep,
  type ParallelStep,
  type Step,
} from "./step-shape.ts"

/** Where a route leads. `end` is the end of the flow; `join` is the end of a branch of a parallel block. */
export type Target =
  | { readonly to: "node"; readonly id: string; readonly isBack?: boolean | undefined }
  | { readonly to: "end" }
  | { readonly to: "join"; readonly block: FlowNode; readonly branch: number }

type Out =
  | { readonly kind: "next"; readonly to: Target }
  | { readonly kind: "choice"; readonly yes: Target; readonly no: Target }
  | { readonly kind: "branches"; readonly to: readonly Target[] }
  | { readonly kind: "items"; readonly worker: FlowNode; readonly to: FlowNode; readonly step: MapStep }
  /** The result of a worker goes to its map. */
  | { readonly kind: "result" }

type FlowKind = "step" | "when" | "box" | "start" | "end" | "pass" | "finish"

export interface FlowNode {
  readonly id: string
  readonly kind: FlowKind
  /** Its step; undefined for the end of the flow. */
  readonly step?: Step | undefined
  readonly inside?: Flow | undefined
  readonly isItem?: boolean | undefined
  /** The step's retries and timeout apply to it. */
  readonly hasPolicies?: boolean | undefined
  out: Out
  onError?: Target | undefined
  /** At the end of a block: the last nodes of its branches. */
  sources?: string[] | undefined
  readonly backs: string[]
}

export interface Flow {
  readonly start: Target
  readonly nodes: FlowNode[]
}

export interface Drawing {
  readonly report: DocumentReport
  /** The list as written, for `goto` by number. */
  readonly written: readonly Step[]
  readonly steps: readonly Step[]
  readonly index: StepIndex
}

interface StepIndex {
  /** In the order of definition, by path. */
  readonly positions: ReadonlyMap<string, number>
  readonly byPath: ReadonlyMap<string, Step>
  /** The ids that a goto can target, by region. */
  readonly regions: ReadonlyMap<string, ReadonlyMap<string, Step>>
  readonly ids: ReadonlySet<string>
}

export function stepIndex(steps: readonly Step[]): StepIndex {
  const all = [...everyStep(steps)]
  const regions = new Map<string, Map<string, Step>>()
  for (const step of all) {
    const region = regions.get(step.region) ?? new Map<string, Step>()
    regions.set(step.region, region.set(step.id, step))
  }
  return {
    positions: new Map(all.map(({ path }, i) => [path, i])),
    byPath: new Map(all.map((step) => [step.path, step])),
    regions,
    ids: new Set(all.map(({ id }) => id)),
  }
}

export function drawFlow(drawing: Drawing): Flow {
  return new Draft(drawing).flow(drawing.steps, { to: "end" })
}

class Draft {
  readonly #drawing: Drawing
  readonly #nodes: FlowNode[] = []
  readonly #reported: Set<string>
  readonly #goals = new Map<string, Target>()

  constructor(drawing: Drawing, reported = new Set<string>()) {
    this.#drawing = drawing
    this.#reported = reported
  }

  flow(list: readonly Step[], next: Target): Flow {
    const start = this.#list(list, next)
    return { start, nodes: this.#nodes }
  }

  /** Returns where the list begins. */
  #list(list: readonly Step[], next: Target): Target {
    const [first] = list
    for (const [i, step] of list.entries()) {
      const after = list[i + 1]
      this.#step(step, after === undefined ? next : this.#entry(after))
    }
    return first === undefined ? next : this.#entry(first)
  }

  #entry(step: Step): Target {
    if (step.data.when !== undefined) return node(`${step.path}?`)
    return step.type === "goto" ? this.#target(step) : node(step.path)
  }

  /** Where a goto leads, followed through other gotos. */
  #target(step: GotoStep): Target {
    const { positions, byPath } = this.#drawing.index
    const passed = new Map<string, { readonly isBack: boolean }>()
    let goal = this.#goals.get(step.path)
    for (let from = step; goal === undefined; goal ??= this.#goals.get(from.path)) {
      const named = this.#targetOf(from)
      const target = byPath.get(named?.enteredAt ?? named?.path ?? "")
      const isBack = (positions.get(target?.path ?? "") ?? 0) <= (positions.get(from.path) ?? 0)
      passed.set(from.path, { isBack })
      if (target === undefined) goal = { to: "end" }
      else if (target.type !== "goto" || target.data.when !== undefined) goal = this.#entry(target)
      else if (passed.has(target.path)) {
        this.#error("LOOP_WITHOUT_END", from, "this goto leads to itself")
        goal = { to: "end" }
      } else from = target
    }
    for (const [path, { isBack }] of [...passed].reverse()) {
      if (goal.to === "node" && isBack) goal = { ...goal, isBack }
      this.#goals.set(path, goal)
    }
    return goal
  }

  #targetOf(step: GotoStep): Step | undefined {
    const { target, region } = step
    const { written, index } = this.#drawing
    const here = index.regions.get(region)
    const byNumber = typeof target === "number" ? index.byPath.get(written[target]?.path ?? "") : undefined
    const found = typeof target === "number" ? byNumber : here?.get(target)
    if (found?.region === region) return found
    if (byNumber !== undefined || index.ids.has(String(target))) {
      this.#error("GOTO_INVALID", step, `"${target}" is in another block, which a goto cannot enter`)
      return undefined
    }
    const message = `there is no step ${typeof target === "number" ? target : `"${target}"`}`
    this.#error("UNKNOWN_STEP", step, message, nearest(String(target), here?.keys() ?? []))
    return undefined
  }

  #error(code: string, step: Step, what: string, suggestion?: string): void {
    if (this.#reported.has(step.where)) return
    this.#reported.add(step.where)
    this.#drawing.report.error(code, `workflow ${step.where}: ${what}`, [...step.at, "goto"], suggestion)
  }

  #add(id: string, kind: FlowKind, step: Step, out: Out, more: Partial<FlowNode> = {}): FlowNode {
    const made: FlowNode = { id, kind, step, out, backs: [], ...more }
    this.#nodes.push(made)
    return made
  }

  #step(step: Step, next: Target): void {
    const { path, data } = step
    if (data.when !== undefined) {
      const yes = step.type === "goto" ? this.#target(step) : node(path)
      this.#add(`${path}?`, "when", step, { kind: "choice", yes, no: next })
    }
    if (step.type === "goto") return
    if (isBoxed(step)) return this.#box(step, next)
    switch (step.type) {
      case "condition": {
        const made = this.#add(path, "step", step, leadsTo(next))
        const [yes, no] = [this.#list(step.yes, next), this.#list(step.no, next)]
        made.out = { kind: "choice", yes, no }
        return
      }
      case "parallel":
        return this.#parallel(step, next)
      case "map":
        return this.#map(step, next)
      default:
        this.#add(path, "step", step, leadsTo(next), continuation(step, next))
    }
  }

  #parallel(step: ParallelStep, next: Target): void {
    const { path } = step
    const start = this.#add(path, "start", step, leadsTo(next))
    const end: FlowNode = { id: `${path}#end`, kind: "end", step, out: leadsTo(next), backs: [] }
    const entries = step.branches.map((branch, i): Target => {
      const to: Target = { to: "join", block: end, branch: i }
      // With on_error: continue, a branch is one node, so that it fails as a whole.
      if (step.data.on_error !== "continue" || isOneNode(branch)) return this.#list([branch], to)
      this.#boxed(branch, [branch], leadsTo(to), {})
      return node(branch.path)
    })
    start.out = { kind: "branches", to: entries }
    this.#nodes.push(end)
  }

  #map(step: MapStep, next: Target): void {
    const { path, body, isSingle } = step
    const [only] = body
    const start = this.#add(path, "start", step, { kind: "result" })
    const worker =
      isSingle && only !== undefined
        ? this.#add(only.path, "step", only, { kind: "result" })
        : this.#boxed({ ...step, path: `${path}/*` }, body, { kind: "result" }, { isItem: true })
    const to = this.#add(`${path}#end`, "end", step, leadsTo(next))
    start.out = { kind: "items", worker, to, step }
  }

  /** Puts the step into one node, which has its policies. */
  #box(step: Step, next: Target): void {
    const { when, retry, timeout, on_error, ...rest } = step.data
    const data = isBlock(step) ? { ...rest, on_error } : rest
    const flags = { hasPolicies: true, ...continuation(step, next) }
    this.#boxed(step, [{ ...step, data } as Step], leadsTo(next), flags)
  }

  #boxed(step: Step, list: readonly Step[], out: Out, more: Partial<FlowNode>): FlowNode {
    const finish = `${step.path}#out`
    const draft = new Draft(this.#drawing, this.#reported)
    const inside = draft.flow(list, node(finish))
    draft.#add(finish, "finish", step, leadsTo({ to: "end" }))
    return this.#add(step.path, "box", step, out, { inside, ...more })
  }
}

function leadsTo(to: Target): Out {
  return { kind: "next", to }
}

function node(id: string): Target {
  return { to: "node", id }
}

/** Retries and timeouts of a block apply to the whole block. */
function isBoxed(step: Step): boolean {
  const { retry, timeout } = step.data
  if (isBlock(step)) return timeout !== undefined || (retry?.max_attempts ?? 0) > 0
  return hasWorkflow(step) && timeout !== undefined
}

function isBlock({ type }: Step): boolean {
  return type === "parallel" || type === "map"
}

function isOneNode(step: Step): boolean {
  if (step.data.when !== undefined || step.data.on_error === "continue") return false
  return listsIn(step).length === 0 || isBoxed(step)
}

/** Where to continue after a failure. Blocks handle the failures of their steps themselves. */
function continuation(step: Step, next: Target): { readonly onError?: Target } {
  return step.data.on_error === "continue" && !isBlock(step) ? { onError: next } : {}
}
