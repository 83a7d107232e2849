/** Graphs for diagrams: of any size, with every kind of edge and node, cycles and nested workflows. */
import { compileGraph, type EdgeGroup, type Graph, type NodeSpec, validateGraph } from "../core/index.ts"

const KINDS = ["node", "agent", "tool", "human", "condition", "merge", "state", "handoff", "end", "http"]
const WORDS = [
  "check",
  "credit_score",
  "write the report",
  "検査する",
  "naïve",
  "a-b/c.d",
  "<b>&",
  "x",
  "🚀 launch",
]
const LABELS = [
  undefined,
  undefined,
  "large",
  "more than ten thousand, and not yet approved by anyone",
  "検査",
  "",
]

/** Numbers from 0 to below `n`, the same for a seed (mulberry32). */
function numbers(seed: number): (n: number) => number {
  let state = seed >>> 0
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * n) | 0
  }
}

/** A graph of about `size` nodes, without edges that the graph rules forbid. */
export function randomWorkflow(seed: number, size: number, depth = 1): Graph {
  const next = numbers(seed)
  const pick = <T>(list: readonly T[]): T => list[next(list.length)] as T
  const ids = Array.from({ length: size }, (_, i) => `${pick(WORDS)} ${i}`)
  const nodes = ids.map((id, i): NodeSpec => {
    const nested = depth > 0 && next(8) === 0 ? randomWorkflow(seed + i, 1 + next(5), depth - 1) : undefined
    return nested === undefined ? { id, kind: pick(KINDS) } : { id, kind: "workflow", nested }
  })
  const workers = ids.filter((_, i) => i % 7 === 3).map((from) => ({ from, id: `worker of ${from}` }))
  nodes.push(...workers.map(({ id }) => ({ id, kind: pick(KINDS) })))
  // A spine, so that everything is reachable; then other edges.
  const edges: EdgeGroup[] = ids.slice(1).map((to, i) => {
    const from = ids[Math.max(0, i - next(4))] as string
    return { kind: "single", from, to, label: pick(LABELS) }
  })
  for (const { from, id } of workers) {
    const to = next(2) === 0 ? pick(ids) : undefined
    const group: EdgeGroup = { kind: "map", from, worker: id, to, concurrency: 2, settle: true }
    edges.push(group)
  }
  const name = `${pick(WORDS)} of ${size}`
  const spec = (all: readonly EdgeGroup[]) => ({
    name,
    start: ids[0],
    nodes,
    edges: all,
    outputs: ids.filter((_, i) => i % 5 === 0 || i === size - 1),
    limits: { loops: 3 },
    onLimit: size > 2 && seed % 3 === 0 ? ids.at(-1) : undefined,
  })
  const valid = (group: EdgeGroup) => validateGraph(spec([...edges, group])).problems.length === 0
  for (let i = 0; i < Math.min(size, 12); i++) {
    const group = randomGroup(
      () => pick(ids),
      next,
      () => pick(LABELS),
    )
    if (valid(group)) edges.push(group)
  }
  return compileGraph(spec(edges)).graph
}

function randomGroup(
  node: () => string,
  next: (n: number) => number,
  label: () => string | undefined,
): EdgeGroup {
  switch (next(5)) {
    case 0:
      return {
        kind: "fan-out",
        from: node(),
        to: [node(), node(), node()],
        selective: next(2) === 0,
        label: label(),
      }
    case 1:
      return { kind: "fan-in", from: [node(), node()], to: node(), join: { kind: "settle" }, timeout: 50 }
    case 2:
      return {
        kind: "switch",
        from: node(),
        cases: [
          { to: node(), conditional: true, max: 2, label: label() },
          { to: next(2) === 0 ? node() : undefined, conditional: false },
        ],
      }
    case 3:
      return { kind: "error", from: node(), to: node() }
    default:
      return { kind: "single", from: node(), to: node(), conditional: true, max: 2, label: label() }
  }
}
