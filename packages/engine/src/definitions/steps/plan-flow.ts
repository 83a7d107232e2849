/** Plans a flow as calls: its nodes, and the workflow that wires them. */

import { groupBy } from "../../core/internal.ts"
import { milliseconds } from "../flow.ts"
import {
  type Arg,
  type ArgObject,
  call,
  callWith,
  definedArgs,
  type PlanWriter,
  type Ref,
  SUPERSTEPS,
  type WorkflowWriter,
} from "../plan/index.ts"
import type { Drawing, Flow, FlowNode, Target } from "./flow.ts"
import type { BudgetData, Step, StepData } from "./step-shape.ts"

interface FlowPlan {
  readonly writer: PlanWriter
  readonly steps: Ref
  readonly maxLoops: number | undefined
  /** Names of agents, which nodes must not use. */
  readonly agents: readonly string[]
  /** The agent, team or workflow of a step. */
  ref(step: Step): Ref
  /** The limits of a step. */
  flow(step: Step): ArgObject | undefined
  /** Of steps that do not set it themselves. */
  readonly priorOutputs: StepData["prior_outputs"]
}

export function planFlow(
  flow: Flow,
  name: string,
  title: string,
  plan: FlowPlan,
  options: ArgObject = {},
): Ref {
  const refs = new Map<string, Ref>()
  for (const node of flow.nodes) refs.set(node.id, planNode(node, plan))
  const workflow = plan.writer.workflow(name, title, {
    ...options,
    schedule: "flow",
    limits: { supersteps: SUPERSTEPS },
    state: call("stepsState"),
  })
  const known = (id: string) => refs.get(id) as Ref
  workflow.wire("start", refOf(flow.start, known))
  for (const node of flow.nodes) wireNode(workflow, node, known)
  return workflow.done()
}

function planNode(node: FlowNode, plan: FlowPlan): Ref {
  const { writer, steps, maxLoops } = plan
  const { id, kind, step, backs, out } = node
  if (step === undefined) return writer.value("end", call("stepsEnd", steps))
  const { path, data } = step
  const name = valueName(path, plan)
  const loop = backs.length === 0 ? undefined : { after: [...new Set(backs)], limit: maxLoops }
  const last = out.kind === "next" && out.to.to === "end" ? true : undefined
  const value = (wanted: string, make: string, args: readonly Arg[], options: ArgObject = {}) =>
    writer.value(wanted, callWith(make, [steps, ...args], options))
  switch (kind) {
    case "when":
      return value(`${path} when`, "conditionStep", [path, String(data.when)], { node: id, loop })
    case "box": {
      const box = planFlow(node.inside as Flow, `${path} steps`, path, plan)
      const { description } = data
      const policies = node.hasPolicies ? policiesOf(data) : {}
      return value(path, "boxStep", [path, box], { description, item: node.isItem, ...policies, loop, last })
    }
    case "start":
      if (step.type !== "map") return value(name, "parallelStart", [path], { loop })
      return value(name, "mapStart", [path], { over: step.over, loop })
    case "end":
      return value(`${path} end`, step.type === "map" ? "mapEnd" : "parallelEnd", [path], { last })
    case "pass":
      return value(id.replace("#", " branch "), "passStep", [id])
    case "finish":
      return value(`${path} out`, "boxEnd", [path])
    case "step":
      return writer.value(name, stepCall(step, plan, { loop, last }))
  }
}

function policiesOf({ retry, timeout }: StepData): ArgObject {
  return { retry: retryArg(retry), timeout: timeout === undefined ? undefined : milliseconds(timeout) }
}

/** The name of a step's node in code, which differs from its agent's name. */
function valueName(path: string, { agents }: FlowPlan): string {
  return agents.includes(path) ? `${path} step` : path.replaceAll("*", "item")
}

function stepCall(step: Step, plan: FlowPlan, { loop, last }: ArgObject) {
  const { path, data } = step
  const { description, prompt, choices, schema, to, default: fallback, signal, tool, args } = data
  const policies = [{ description }, policiesOf(data), { loop }]
  const priorOutputs = idsOf(data.prior_outputs ?? plan.priorOutputs)
  const budget = budgetArg(data.budget)
  const limits = { flow: plan.flow(step), placement: loop === undefined ? data.placement : undefined }
  const made = (make: string, more: readonly Arg[], ...options: readonly ArgObject[]) =>
    callWith(make, [plan.steps, path, ...more], ...options, ...policies, { last })
  switch (step.type) {
    case "agent":
      return made("agentStep", [plan.ref(step)], { prompt, priorOutputs, budget }, limits)
    case "workflow":
    case "team":
      return made("workflowStep", [plan.ref(step)], { prompt, priorOutputs, budget })
    case "research":
      return made("workflowStep", [plan.ref(step)], { prompt, priorOutputs })
    case "tool":
      return made("toolStep", [plan.ref(step)], { tool, args: args as Arg, budget }, limits)
    case "function": {
      const options = { args: args as Arg, schema: schema as Arg }
      return made("functionStep", [plan.ref(step)], options, limits)
    }
    case "human":
      return made("humanStep", [], { prompt, choices, schema: schema as Arg, to, default: fallback })
    case "wait":
      return made("waitStep", [], { signal, schema: schema as Arg, default: fallback })
    case "condition":
      return callWith("conditionStep", [plan.steps, path, step.condition], ...policies)
    default:
      throw new Error(`A ${step.type} step is not a single node.`)
  }
}

/** Absent for all outputs, which is the default. */
function idsOf(prior: StepData["prior_outputs"]): readonly string[] | undefined {
  return prior === false ? [] : Array.isArray(prior) ? prior : undefined
}

export function budgetArg(budget: BudgetData | undefined): ArgObject | undefined {
  if (budget === undefined) return undefined
  const { tokens, usd, model_calls, tool_calls, iterations, allow_unpriced } = budget
  return definedArgs({
    tokens,
    usd,
    modelCalls: model_calls,
    toolCalls: tool_calls,
    iterations,
    allowUnpriced: allow_unpriced,
  })
}

function refOf(target: Target, known: (id: string) => Ref): Ref {
  return known(target.to === "node" ? target.id : target.to === "join" ? target.block.id : "#end")
}

function wireNode(workflow: WorkflowWriter, node: FlowNode, known: (id: string) => Ref): void {
  const { id, out, onError, step } = node
  const ref = known(id)
  if (node.sources !== undefined) wireJoin(workflow, node, node.sources.map(known), ref)
  if (out.kind === "next" && out.to.to === "node") workflow.wire("edge", ref, known(out.to.id))
  if (out.kind === "choice") {
    const [yes, no] = [refOf(out.yes, known), refOf(out.no, known)]
    if (yes.name === no.name) workflow.wire("edge", ref, yes)
    else workflow.wire("switch", ref, [{ when: call("holds"), to: yes, label: "true" }], no)
  }
  if (out.kind === "branches") {
    const targets = out.to.map((target) => refOf(target, known))
    if (targets.length > 1) workflow.wire("fanOut", ref, targets)
    else workflow.wire("edge", ref, targets[0])
  }
  if (out.kind === "items") {
    const settle = step?.data.on_error === "continue" ? true : undefined
    const { concurrency } = out.step.data
    const options = concurrency === undefined && settle === undefined ? undefined : { concurrency, settle }
    workflow.wire("map", ref, known(out.worker.id), known(out.to.id), options)
  }
  if (onError !== undefined) workflow.wire("onError", ref, refOf(onError, known))
}

/** Joins the branches of a block. With on_error: continue, a failure ends a branch too. */
function wireJoin(workflow: WorkflowWriter, { step }: FlowNode, sources: readonly Ref[], end: Ref): void {
  const [only] = sources
  const passesOver = step?.data.on_error === "continue"
  if (sources.length > 1) {
    workflow.wire("fanIn", sources, end, passesOver ? { join: call("settle") } : undefined)
  } else if (only !== undefined) {
    workflow.wire("edge", only, end)
    if (passesOver) workflow.wire("onError", only, end)
  }
}

/** `max_attempts` counts retries; `attempts` counts the first attempt too. */
function retryArg(retry: StepData["retry"]): ArgObject | undefined {
  const { max_attempts = 0, backoff, initial_delay_seconds, on } = retry ?? {}
  if (max_attempts === 0) return undefined
  return {
    attempts: max_attempts + 1,
    backoff: backoff === "exponential" ? backoff : undefined,
    delay: initial_delay_seconds === undefined ? undefined : Math.round(initial_delay_seconds * 1_000),
    matching: typeof on === "string" ? [on] : on,
  }
}

/** Finishes a flow: drops unreachable nodes, refuses endless loops, and adds the nodes where routes end and join. */

export function finalizeFlow(flow: Flow, drawing: Drawing): void {
  dropUnreachable(flow, drawing)
  refuseEndless(flow, drawing)
  const byId = new Map(flow.nodes.map((node) => [node.id, node]))
  for (const node of flow.nodes) {
    for (const target of targetsOf(node)) {
      if (target.to === "node" && target.isBack) byId.get(target.id)?.backs.push(node.id)
    }
  }
  addEndNodes(flow)
  assignJoinSources(flow)
  for (const { inside } of flow.nodes) if (inside !== undefined) finalizeFlow(inside, drawing)
}

function targetsOf(node: FlowNode): readonly Target[] {
  return node.onError === undefined ? targetsAfter(node) : [...targetsAfter(node), node.onError]
}

function targetsAfter({ out }: FlowNode): readonly Target[] {
  switch (out.kind) {
    case "next":
      return [out.to]
    case "choice":
      return [out.yes, out.no]
    case "branches":
      return out.to
    case "items":
      return [out.worker, out.to].map(({ id }) => ({ to: "node", id }))
    case "result":
      return []
  }
}

/** The node that a target leads to; undefined if it ends the flow. */
function idOf(target: Target): string | undefined {
  if (target.to === "end") return undefined
  return target.to === "node" ? target.id : target.block.id
}

/** Steps that count their repetitions, and those of sub-workflows, execute with the run. */
export function reportPlacements({ nodes }: Flow, drawing: Drawing, isInside = false): void {
  for (const { kind, step, inside, backs } of nodes) {
    if (inside !== undefined) reportPlacements(inside, drawing, true)
    if (kind !== "step" || step?.data.placement !== "spread" || (!isInside && backs.length === 0)) continue
    const what = isInside ? "in a branch or an item of several steps" : "that is part of a loop"
    drawing.report.unsupported(`"placement: spread" of a step ${what}`, [...step.at, "placement"])
  }
}

function dropUnreachable(flow: Flow, { report }: Drawing): void {
  const byId = new Map(flow.nodes.map((node) => [node.id, node]))
  const seen = new Set<string>()
  const stack = [idOf(flow.start)]
  while (stack.length > 0) {
    const id = stack.pop()
    const node = id === undefined ? undefined : byId.get(id)
    if (node === undefined || seen.has(node.id)) continue
    seen.add(node.id)
    stack.push(...targetsOf(node).map(idOf))
  }
  const dropped = new Set<string>()
  for (const { id, step } of flow.nodes) {
    if (seen.has(id) || step === undefined || isWithin(step, dropped)) continue
    dropped.add(JSON.stringify(step.at))
    const message = `workflow ${step.where}: step "${step.id}" is unreachable and never runs`
    report.warning("UNREACHABLE_STEP", message, step.at)
  }
  flow.nodes.splice(0, flow.nodes.length, ...flow.nodes.filter(({ id }) => seen.has(id)))
}

/** Whether it is inside of a step that is already reported. */
function isWithin({ at }: Step, places: ReadonlySet<string>): boolean {
  return at.some((_, i) => places.has(JSON.stringify(at.slice(0, i + 1))))
}

/** A loop without an exit would always reach its limit. */
function refuseEndless(flow: Flow, { report }: Drawing): void {
  const before = groupBy(
    flow.nodes.flatMap((node) => {
      // The step after a map follows its end, not its worker.
      const leads = node.out.kind === "items" ? [node.out.to.id] : targetsAfter(node).map(idOf)
      return leads.map((id) => [id, node] as const)
    }),
  )
  const ending = new Set<FlowNode>()
  const stack = [...(before.get(undefined) ?? [])]
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (ending.has(node)) continue
    ending.add(node)
    stack.push(...(before.get(node.id) ?? []))
  }
  const stuck = flow.nodes.find(
    (node) => !ending.has(node) && node.out.kind !== "result" && node.step !== undefined,
  )
  if (stuck?.step === undefined) return
  const { where, at, id } = stuck.step
  const message = `workflow ${where}: the loop that starts at step "${id}" never ends; put its goto into a branch of a condition`
  report.error("LOOP_WITHOUT_END", message, at)
}

/** Adds a node where the flow ends on a condition or a failure. */
function addEndNodes(flow: Flow): void {
  const end: FlowNode = { id: "#end", kind: "finish", out: { kind: "next", to: { to: "end" } }, backs: [] }
  const toEnd: Target = { to: "node", id: end.id }
  let isUsed = false
  const moved = (target: Target): Target => {
    if (target.to !== "end") return target
    isUsed = true
    return toEnd
  }
  for (const node of flow.nodes) {
    if (node.out.kind === "choice")
      node.out = { ...node.out, yes: moved(node.out.yes), no: moved(node.out.no) }
    if (node.onError !== undefined) node.onError = moved(node.onError)
  }
  if (isUsed) flow.nodes.push(end)
}

/** Gives each branch of a parallel block exactly one last node. */
function assignJoinSources(flow: Flow): void {
  const leading = new Map<FlowNode, FlowNode[][]>()
  for (const node of flow.nodes) {
    for (const target of new Set(targetsOf(node))) {
      if (target.to !== "join") continue
      const branches = leading.get(target.block) ?? []
      leading.set(target.block, branches)
      const lastNodes = branches[target.branch] ?? []
      branches[target.branch] = lastNodes
      lastNodes.push(node)
    }
  }
  const nodes = flow.nodes.flatMap((node) => {
    if (node.kind !== "end" || node.step?.type !== "parallel") return [node]
    const passes: FlowNode[] = []
    node.sources = (leading.get(node) ?? []).map((lastNodes, branch) =>
      sourceOf(node, branch, lastNodes, passes),
    )
    return [...passes, node]
  })
  flow.nodes.splice(0, flow.nodes.length, ...nodes)
}

/** The last node of a branch; a new one if the branch ends in several places. */
function sourceOf(end: FlowNode, branch: number, lastNodes: readonly FlowNode[], passes: FlowNode[]): string {
  const isHere = (target: Target | undefined) =>
    target?.to === "join" && target.block === end && target.branch === branch
  const [only] = lastNodes
  if (lastNodes.length === 1 && only?.out.kind === "next" && !isHere(only.onError)) return only.id
  const pass: FlowNode = {
    id: `${end.step?.path}#${branch + 1}`,
    kind: "pass",
    step: end.step,
    out: { kind: "next", to: { to: "join", block: end, branch } },
    backs: [],
  }
  passes.push(pass)
  const moved = (target: Target): Target => (isHere(target) ? { to: "node", id: pass.id } : target)
  for (const node of lastNodes) {
    if (node.out.kind === "next") node.out = { kind: "next", to: moved(node.out.to) }
    if (node.out.kind === "choice")
      node.out = { kind: "choice", yes: moved(node.out.yes), no: moved(node.out.no) }
    if (node.onError !== undefined) node.onError = moved(node.onError)
  }
  return pass.id
}
