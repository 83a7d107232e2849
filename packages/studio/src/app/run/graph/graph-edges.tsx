/** All edges of a graph in one drawing, along the points of the layout. Those that can be asked about are buttons too. */
import { memo } from "react"
import { count } from "../../ui/format.ts"
import styles from "./graph.module.css"
import type { PlacedEdge } from "./layout.ts"

interface GraphEdgesProps {
  readonly edges: readonly PlacedEdge[]
  /** How many messages went along it. */
  readonly countOf: (edge: string) => number
  readonly selected: string | undefined
}

interface GraphLinesProps extends GraphEdgesProps {
  /** Too small to be hit: lines to look at only. */
  readonly isFar: boolean
}

export const GraphLines = memo(function GraphLines({ edges, countOf, selected, isFar }: GraphLinesProps) {
  return (
    <svg className={styles.lines} aria-hidden="true">
      <Arrows />
      {edges.map((edge) => (
        <Line
          key={`${edge.key}|${edge.edge.kind}`}
          placed={edge}
          isTaken={countOf(edge.key) > 0}
          isSelected={selected === edge.key}
          isFar={isFar}
        />
      ))}
    </svg>
  )
})

interface GraphLabelsProps extends GraphEdgesProps {
  /** Without a run: there is nothing to explain about an edge, but every edge can be chosen. */
  readonly isPlain: boolean
}

/** After the nodes, for keyboards. */
export const GraphLabels = memo(function GraphLabels(props: GraphLabelsProps) {
  const { edges, countOf, selected, isPlain } = props
  return (
    <>
      {edges.map((edge) => (
        <Label
          key={`${edge.key}|${edge.edge.kind}`}
          placed={edge}
          times={countOf(edge.key)}
          isSelected={selected === edge.key}
          isPlain={isPlain}
        />
      ))}
    </>
  )
})

/** The heads of all edges: one for each look. */
const Arrows = memo(function Arrows() {
  return (
    <defs>
      {["taken", "idle"].flatMap((state) =>
        ["plain", "error"].map((kind) => (
          <marker
            key={`${state} ${kind}`}
            id={`arrow-${state}-${kind}`}
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path
              d="M0,0 L8,4 L0,8 Z"
              className={styles.arrow}
              data-taken={state === "taken" || undefined}
              data-kind={kind}
            />
          </marker>
        )),
      )}
    </defs>
  )
})

interface LineProps {
  readonly placed: PlacedEdge
  readonly isTaken: boolean
  readonly isSelected: boolean
  readonly isFar: boolean
}

const Line = memo(function Line({ placed: { key, edge, line }, isTaken, isSelected, isFar }: LineProps) {
  const head = `arrow-${isTaken ? "taken" : "idle"}-${edge.kind === "error" ? "error" : "plain"}`
  return (
    <>
      {!isFar && <path d={line} className={styles.hit} data-edge={key} />}
      <path
        d={line}
        className={styles.line}
        data-kind={edge.kind}
        data-taken={isTaken || undefined}
        data-selected={isSelected || undefined}
        markerEnd={`url(#${head})`}
      />
    </>
  )
})

interface LabelProps {
  readonly placed: PlacedEdge
  readonly times: number
  readonly isSelected: boolean
  readonly isPlain: boolean
}

/** Its condition, and how often it was taken. Without either it is seen when the keyboard reaches it. */
const Label = memo(function Label({ placed: { key, edge, label }, times, isSelected, isPlain }: LabelProps) {
  const text = [edge.label, times > 1 ? `×${count(times)}` : ""].filter((part) => part !== "").join(" ")
  if (text === "" && (!isPlain || edge.from === undefined)) return null
  const words = edge.label === "" ? "" : `: ${edge.label}`
  return (
    <button
      type="button"
      className={styles.label}
      data-edge={key}
      data-empty={text === "" || undefined}
      data-taken={times > 0 || undefined}
      aria-label={`${isPlain ? "Edge" : "Why"} ${edge.from ?? "start"} → ${edge.to ?? "output"}${words}`}
      aria-pressed={isSelected}
      title={edge.label}
      style={{ transform: `translate(-50%, -50%) translate(${label.x}px, ${label.y}px)` }}
    >
      {text === "" ? "→" : text}
    </button>
  )
})
