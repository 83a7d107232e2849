/**
 * Steps as a graph: which node comes after which. Branches that end in several places, and ways that end on something that
 * is no step, get a node of their own. A block that is tried again, or limited in time, as a whole is a flow inside a node.
 */
import { type Document, nearest, type Report } from "../document/index.ts"
import {
  everyStep,
  type GotoStep,
  hasWorkflow,
  listsIn,
  type MapStep,
  type ParallelStep,
  type Step,
} from "./step.ts"

/** Where a way leads. `end` is the end of the flow; a branch ends at the end of its block. */
export type Target =
  | { readonly to: "node"; readonly id: string; readonly isBack?: boolean | undefined }
  | { readonly to: "end" }
  | { readonly to: "join"; readonly block: FlowNode; readonly branch: number }

type Out =
  | { readonly kind: "next"; readonly to: Target }
  | { readonly kind: "choice"; readonly yes: Target; readonly no: Target }
  | { readonly kind: "branches"; readonly to: readonly Target[] }
  | { readonly kind: "items"; readonly worker: FlowNode; readonly to: FlowNode; readonly step: MapStep }
  /** What a worker gives belongs to its map. */
  | { readonly kind: "result" }

type FlowKind = "step" | "when" | "box" | "start" | "end" | "pass" | "finish"

export interface FlowNode {
  readonly id: string
  readonly kind: FlowKind
  /** The step it is made of; a finish has none. */
  readonly step?: Step | undefined
  /** The flow inside a box. */
  readonly inside?: Flow | undefined
  readonly isItem?: boolean | undefined
  /** It has the step's retries and time limit on it. */
  readonly hasPolicies?: boolean | undefined
  out: Out
  onError?: Target | undefined
  /** Of the end of a block: the nodes that its branches end with. */
  sources?: string[] | undefined
  /** Nodes that lead back to it. */
  readonly backs: string[]
}

export interface Flow {
  readonly start: Target
  readonly nodes: FlowNode[]
}

export interface Drawing {
  readonly document: Document
  readonly report: Report
  /** The list as it is written, for `goto` by number. */
  readonly written: readonly Step[]
  readonly steps: readonly Step[]
  readonly index: StepIndex
}

interface StepIndex {
  /** In the order of definition, by path. */
  readonly positions: ReadonlyMap<string, number>
  readonly byPath: ReadonlyMap<string, Step>
  /** The ids that a goto can name, by region. */
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

/** One flow being drawn. */
class Draft {
  readonly #drawing: Drawing
  readonly #nodes: FlowNode[] = []
  readonly #told: Set<string>
  /** Where gotos lead, by path. */
  readonly #goals = new Map<string, Target>()

  constructor(drawing: Drawing, told = new Set<string>()) {
    this.#drawing = drawing
    this.#told = told
  }

  flow(list: readonly Step[], next: Target): Flow {
    const start = this.#list(list, next)
    return { start, nodes: this.#nodes }
  }

  /** Gives where the list begins. */
  #list(list: readonly Step[], next: Target): Target {
    const [first] = list
    for (const [i, step] of list.entries()) {
      const after = list[i + 1]
      this.#step(step, after === undefined ? next : this.#entry(after))
    }
    return first === undefined ? next : this.#entry(first)
  }

  /** Where a step begins. */
  #entry(step: Step): Target {
    if (step.data.when !== undefined) return node(`${step.path}?`)
    return step.type === "goto" ? this.#goal(step) : node(step.path)
  }

  /** Where a goto leads, over others that lead on. */
  #goal(step: GotoStep): Target {
    const { positions, byPath } = this.#drawing.index
    const ways = new Map<string, { readonly isBack: boolean }>()
    let goal = this.#goals.get(step.path)
    for (let from = step; goal === undefined; goal ??= this.#goals.get(from.path)) {
      const named = this.#targetOf(from)
      const target = byPath.get(named?.enteredAt ?? named?.path ?? "")
      const isBack = (positions.get(target?.path ?? "") ?? 0) <= (positions.get(from.path) ?? 0)
      ways.set(from.path, { isBack })
      if (target === undefined) goal = { to: "end" }
      else if (target.type !== "goto" || target.data.when !== undefined) goal = this.#entry(target)
      else if (ways.has(target.path)) {
        this.#error("LOOP_WITHOUT_END", from, "this goto leads to itself")
        goal = { to: "end" }
      } else from = target
    }
    for (const [path, { isBack }] of [...ways].reverse()) {
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
      this.#error("GOTO_INVALID", step, `"${target}" is in another block; a goto stays in its own`)
      return undefined
    }
    const text = `there is no step ${typeof target === "number" ? target : `"${target}"`} to go to`
    this.#error("UNKNOWN_STEP", step, text, nearest(String(target), here?.keys() ?? []))
    return undefined
  }

  #error(code: string, step: Step, what: string, suggestion?: string): void {
    const { document, report } = this.#drawing
    // A goto is looked at from several sides.
    if (this.#told.has(step.where)) return
    this.#told.add(step.where)
    const text = `workflow ${step.where}: ${what}`
    report.error(code, text, document.place([...step.at, "goto"]), suggestion)
  }

  #add(given: Omit<FlowNode, "backs">): FlowNode {
    const made: FlowNode = { ...given, backs: [] }
    this.#nodes.push(made)
    return made
  }

  #step(step: Step, next: Target): void {
    const { path, data } = step
    if (data.when !== undefined) {
      const yes = step.type === "goto" ? this.#goal(step) : node(path)
      this.#add({ id: `${path}?`, kind: "when", step, out: { kind: "choice", yes, no: next } })
    }
    if (step.type === "goto") return
    if (isBoxed(step)) return this.#box(step, next)
    switch (step.type) {
      case "condition": {
        const made = this.#add({ id: path, kind: "step", step, out: { kind: "next", to: next } })
        const [yes, no] = [this.#list(step.yes, next), this.#list(step.no, next)]
        made.out = { kind: "choice", yes, no }
        return
      }
      case "parallel":
        return this.#parallel(step, next)
      case "map":
        return this.#map(step, next)
      default:
        this.#add({
          id: path,
          kind: "step",
          step,
          out: { kind: "next", to: next },
          ...passedOver(step, next),
        })
    }
  }

  #parallel(step: ParallelStep, next: Target): void {
    const { path } = step
    const start = this.#add({ id: path, kind: "start", step, out: { kind: "next", to: next } })
    const end: FlowNode = { id: `${path}#end`, kind: "end", step, out: { kind: "next", to: next }, backs: [] }
    const entries = step.branches.map((branch, i): Target => {
      const to: Target = { to: "join", block: end, branch: i }
      // With failures passed over, a branch is one node: what fails in it fails as a whole.
      if (step.data.on_error !== "continue" || isOneNode(branch)) return this.#list([branch], to)
      this.#boxed(branch, [branch], { kind: "next", to }, {})
      return node(branch.path)
    })
    start.out = { kind: "branches", to: entries }
    this.#nodes.push(end)
  }

  #map(step: MapStep, next: Target): void {
    const { path, body, isSingle } = step
    const [only] = body
    const start = this.#add({ id: path, kind: "start", step, out: { kind: "result" } })
    const worker =
      isSingle && only !== undefined
        ? this.#add({ id: only.path, kind: "step", step: only, out: { kind: "result" } })
        : this.#boxed({ ...step, path: `${path}/*` }, body, { kind: "result" }, { isItem: true })
    const to = this.#add({ id: `${path}#end`, kind: "end", step, out: { kind: "next", to: next } })
    start.out = { kind: "items", worker, to, step }
  }

  /** The step as a whole in one node, with its policies on it; inside it has none. */
  #box(step: Step, next: Target): void {
    const { when, retry, timeout, on_error, ...rest } = step.data
    const data = isBlock(step) ? { ...rest, on_error } : rest
    const box = this.#boxed(
      step,
      [{ ...step, data } as Step],
      { kind: "next", to: next },
      { hasPolicies: true },
    )
    box.onError = passedOver(step, next).onError
  }

  #boxed(
    step: Step,
    list: readonly Step[],
    out: Out,
    flags: Pick<FlowNode, "isItem" | "hasPolicies">,
  ): FlowNode {
    const finish = `${step.path}#out`
    const inside = new Draft(this.#drawing, this.#told).flow(list, node(finish))
    inside.nodes.push({
      id: finish,
      kind: "finish",
      step,
      out: { kind: "next", to: { to: "end" } },
      backs: [],
    })
    return this.#add({ id: step.path, kind: "box", step, inside, out, ...flags })
  }
}

function node(id: string): Target {
  return { to: "node", id }
}

/** Blocks fail as a whole, so what is tried again, and timed, is the whole. */
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

/** A block passes over what fails in it, by itself. */
function passedOver(step: Step, next: Target): { readonly onError?: Target } {
  return step.data.on_error === "continue" && !isBlock(step) ? { onError: next } : {}
}
