/** A flow as calls: its nodes, and the workflow that wires them. */
import { milliseconds } from "../duration.ts"
import {
  type Arg,
  type ArgObject,
  call,
  callWith,
  type PlanWriter,
  type Ref,
  SUPERSTEPS,
  type WorkflowWriter,
} from "../plan/index.ts"
import type { Flow, FlowNode, Target } from "./flow.ts"
import type { Step } from "./step.ts"
import type { StepData } from "./step-shape.ts"

interface FlowPlan {
  readonly writer: PlanWriter
  readonly steps: Ref
  readonly maxLoops: number | undefined
  /** Names of agents, which nodes do not take. */
  readonly agents: readonly string[]
  /** The agent, team or workflow of a step. */
  ref(step: Step): Ref
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

/** The name of a step's node in code, which is not its agent's. */
function valueName(path: string, { agents }: FlowPlan): string {
  return agents.includes(path) ? `${path} step` : path.replaceAll("*", "item")
}

function stepCall(step: Step, plan: FlowPlan, { loop, last }: ArgObject) {
  const { path, data } = step
  const { description, prompt, choices, schema, to, default: fallback, tool, args } = data
  const policies = { description, ...policiesOf(data), loop }
  const made = (make: string, more: readonly Arg[], options: ArgObject) =>
    callWith(make, [plan.steps, path, ...more], { ...options, ...policies, last })
  switch (step.type) {
    case "agent":
      return made("agentStep", [plan.ref(step)], { prompt })
    case "workflow":
    case "team":
    case "research":
      return made("workflowStep", [plan.ref(step)], { prompt })
    case "tool":
      return made("toolStep", [plan.ref(step)], { tool, args: args as Arg })
    case "human":
      return made("humanStep", [], { prompt, choices, schema: schema as Arg, to, default: fallback })
    case "condition":
      return callWith("conditionStep", [plan.steps, path, step.condition], policies)
    default:
      throw new Error(`A ${step.type} step is not a single node.`)
  }
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
