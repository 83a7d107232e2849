/** A flow as calls: its nodes, and the workflow that wires them. */
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
import { milliseconds, retryArg } from "./step-policies.ts"

interface FlowPlan {
  readonly writer: PlanWriter
  /** The list of steps. */
  readonly steps: Ref
  readonly maxLoops: number | undefined
  /** Names that read as something else: those of agents. */
  readonly agents: readonly string[]
  /** The agent of a step, or the one that has its tool; the workflow of a file. */
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
  const name = nameOf(path, plan)
  const loop = backs.length === 0 ? undefined : { after: [...new Set(backs)], limit: maxLoops }
  const last = out.kind === "next" && out.to.to === "end" ? true : undefined
  switch (kind) {
    case "when":
      return writer.value(
        `${path} when`,
        callWith("conditionStep", [steps, path, String(data.when)], { node: id, loop }),
      )
    case "box": {
      const box = planFlow(node.inside as Flow, `${path} steps`, path, plan)
      const policies = node.hasPolicies
        ? { retry: retryArg(data.retry), timeout: milliseconds(data.timeout) }
        : {}
      return writer.value(
        path,
        callWith("boxStep", [steps, path, box], {
          description: data.description,
          item: node.isItem,
          ...policies,
          loop,
          last,
        }),
      )
    }
    case "start":
      if (step.type !== "map") return writer.value(name, callWith("parallelStart", [steps, path], { loop }))
      return writer.value(name, callWith("mapStart", [steps, path], { over: step.over, loop }))
    case "end": {
      const make = step.type === "map" ? "mapEnd" : "parallelEnd"
      return writer.value(`${path} end`, callWith(make, [steps, path], { last }))
    }
    case "pass":
      return writer.value(id.replace("#", " branch "), callWith("passStep", [steps, id], {}))
    case "finish":
      return writer.value(`${path} out`, callWith("boxEnd", [steps, path], {}))
    case "step":
      return writer.value(name, stepCall(step, plan, { loop, last }))
  }
}

/** What a step's node is called in code: not as its agent is. */
function nameOf(path: string, { agents }: FlowPlan): string {
  return agents.includes(path) ? `${path} step` : path.replaceAll("*", "item")
}

function stepCall(step: Step, plan: FlowPlan, common: ArgObject) {
  const { path, data } = step
  const retry = retryArg(data.retry)
  const { description } = data
  const policies = { description, retry, timeout: milliseconds(data.timeout), ...common }
  const { prompt, choices, schema, to, default: fallback, tool, args } = data
  switch (step.type) {
    case "agent":
      return callWith("agentStep", [plan.steps, path, plan.ref(step)], { prompt, ...policies })
    case "workflow":
    case "team":
    case "research":
      return callWith("workflowStep", [plan.steps, path, plan.ref(step)], { prompt, ...policies })
    case "tool":
      return callWith("toolStep", [plan.steps, path, plan.ref(step)], {
        tool,
        args: args as Arg,
        ...policies,
      })
    case "human": {
      const question = { prompt, choices, schema: schema as Arg, to, default: fallback }
      return callWith("humanStep", [plan.steps, path], { ...question, ...policies })
    }
    case "condition":
      return callWith("conditionStep", [plan.steps, path, step.condition], {
        description,
        retry,
        timeout: policies.timeout,
        loop: common.loop,
      })
    default:
      throw new Error(`A ${step.type} is no single node.`)
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

/** The branches of a block come together. Where failures are passed over, one is as good as an end. */
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
