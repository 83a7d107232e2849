/** Finishes a flow: drops unreachable nodes, refuses endless loops, and adds the nodes where routes end and join. */
import { groupBy } from "../../core/internal.ts"
import type { Drawing, Flow, FlowNode, Target } from "./flow.ts"
import type { Step } from "./step.ts"

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
