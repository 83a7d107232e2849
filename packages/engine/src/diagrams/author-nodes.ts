/**
 * Reduces a diagram to the nodes that its author wrote. Arrows lead through nodes that a definition or a team added, and keep the
 * labels of all their parts. The guard of a step is drawn as part of the step: the step has an arrow for `when` being false. The node
 * that passes the turns of a team around is drawn as the turns themselves, or, if anybody can follow anybody, as a choice.
 */
import {
  type Graph,
  type GraphNode,
  guardedStep,
  isInternal,
  type NodeId,
  passesTurns,
  type Turn,
} from "../core/index.ts"
import type { Arrow, Ends } from "./arrow.ts"

/** The part of a diagram that is reduced, in place. */
interface Drawn {
  readonly graph: Graph
  readonly parts: { readonly id: string }[]
  readonly arrows: Arrow[]
  readonly ends: ReadonlyMap<NodeId, Ends>
  /** Gives a shape the look of a choice. */
  asChoice(id: string): void
}

export function keepAuthorNodes(s: Drawn): void {
  const gone = new Set<string>()
  for (const node of s.graph.nodes) {
    const ends = s.ends.get(node.id)
    if (ends === undefined || node.spec.nested !== undefined) continue
    const step = s.ends.get((guardedStep(node.spec) ?? "") as NodeId)
    if (step !== undefined) foldGuard(s, ends.entry, step)
    else if (passesTurns(node.spec) && isInternal(node.spec)) {
      if (!drawTurns(s, node, ends.entry)) continue
    } else if (!isInternal(node.spec) || !s.arrows.some(({ from }) => from === ends.exit)) continue
    else leadThrough(s, ends.entry)
    gone.add(ends.entry)
  }
  if (gone.size === 0) return
  s.parts.splice(0, s.parts.length, ...s.parts.filter(({ id }) => !gone.has(id)))
  s.arrows.splice(0, s.arrows.length, ...distinct(s.arrows))
}

/** False if a shape stays: the choice of whose turn it is. */
function drawTurns(s: Drawn, { spec }: GraphNode, hub: string): boolean {
  const { turns } = spec
  if (turns === undefined) {
    s.asChoice(hub)
    return false
  }
  const members = new Set(turns.map(({ from }) => exitOf(s, from)))
  const before = s.arrows.filter(({ from, to }) => to === hub && !members.has(from)).map(({ from }) => from)
  const [end = hub] = s.arrows
    .filter(({ from, label }) => from === hub && label === "END")
    .map(({ to }) => to)
  const arrowsOf = ({ from, to, label }: Turn): Arrow[] =>
    (from === undefined ? before : [exitOf(s, from) ?? hub]).map((source) => ({
      from: source,
      to: to === undefined ? end : (s.ends.get(to)?.entry ?? hub),
      style: label === undefined ? "solid" : "dashed",
      label: label ?? "",
    }))
  const others = s.arrows.filter(({ from, to }) => from !== hub && to !== hub)
  s.arrows.splice(0, s.arrows.length, ...others, ...turns.flatMap(arrowsOf))
  return true
}

function exitOf({ ends }: Drawn, node: NodeId | undefined): string | undefined {
  return node === undefined ? undefined : ends.get(node)?.exit
}

/** Arrows to the guard lead to its step; its arrow past the step leaves the step. */
function foldGuard({ arrows }: Drawn, guard: string, step: Ends): void {
  const folded = arrows.flatMap((arrow): Arrow[] => {
    if (arrow.from === guard && arrow.to === step.entry) return []
    if (arrow.from === guard) return [{ ...arrow, from: step.exit, label: "when false", style: "dashed" }]
    return [arrow.to === guard ? { ...arrow, to: step.entry } : arrow]
  })
  arrows.splice(0, arrows.length, ...folded)
}

/** Replaces the arrows to a shape by arrows to all that follows it. */
function leadThrough({ arrows }: Drawn, shape: string): void {
  const on = arrows.filter(({ from }) => from === shape)
  const through = arrows.flatMap((arrow) => {
    if (arrow.from === shape) return []
    return arrow.to === shape ? on.map((next) => joined(arrow, next)) : [arrow]
  })
  arrows.splice(0, arrows.length, ...through)
}

function joined(first: Arrow, next: Arrow): Arrow {
  const styles = [first.style, next.style]
  const style = styles.find((one) => one === "error") ?? styles.find((one) => one === "dashed") ?? "solid"
  const label = [first.label, next.label].filter((one) => one !== "").join(", ")
  return { from: first.from, to: next.to, style, label }
}

function distinct(arrows: readonly Arrow[]): readonly Arrow[] {
  const key = ({ from, to, style, label }: Arrow) => JSON.stringify([from, to, style, label])
  return [...new Map(arrows.map((arrow) => [key(arrow), arrow])).values()]
}
