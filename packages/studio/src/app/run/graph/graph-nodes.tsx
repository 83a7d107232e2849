/**
 * All nodes of a graph as one list of buttons at their places: what is drawn is what keyboards and screen readers get. No node
 * has state or subscriptions of its own, because a large graph has hundreds of them.
 */
import { memo } from "react"
import { count, duration, money } from "../../ui/format.ts"
import { Icon, type IconName } from "../../ui/icon.tsx"
import { StatusIcon, statusWord, toneOf } from "../../ui/status.tsx"
import styles from "./graph.module.css"
import type { GraphNode } from "./graph-model.ts"
import type { PlacedNode } from "./layout.ts"
import type { NodeState } from "./node-states.ts"

/** How hot a node is: from 0 to 1, and in words. */
export interface NodeHeatMark {
  readonly share: number
  readonly words: string
  readonly isBad: boolean
}

interface GraphNodesProps {
  readonly nodes: readonly PlacedNode[]
  readonly states: ReadonlyMap<string, NodeState>
  readonly selected: string | undefined
  /** Without a run: only the workflow. */
  readonly isPlain: boolean
  readonly isConnectable: boolean
  /** Too small to read: only boxes with the colours of their states. */
  readonly isFar: boolean
  readonly heat: ReadonlyMap<string, NodeHeatMark> | undefined
}

export const GraphNodes = memo(function GraphNodes(props: GraphNodesProps) {
  const { nodes, states, selected, isPlain, isConnectable, isFar, heat } = props
  return (
    <ul aria-label="Nodes of the graph">
      {nodes.map((placed) => {
        const { key, kind, node, x, y, width, height } = placed
        const shared = {
          id: key,
          state: states.get(key),
          isSelected: selected === key,
          isPlain,
        }
        return (
          <li
            key={key}
            className={styles.place}
            style={{
              transform: `translate(${x}px, ${y}px)`,
              ...(kind !== "node" && { width, height }),
            }}
            aria-hidden={node === undefined || undefined}
          >
            {node === undefined ? (
              <div className={styles.end}>{kind}</div>
            ) : kind === "box" ? (
              <BoxNode {...shared} node={node} />
            ) : (
              <TaskNode
                {...shared}
                node={node}
                mark={heat?.get(node.id)}
                isConnectable={isConnectable}
                isFar={isFar}
              />
            )}
          </li>
        )
      })}
    </ul>
  )
})

interface NodeProps {
  readonly id: string
  readonly node: GraphNode
  readonly state: NodeState | undefined
  readonly isSelected: boolean
  readonly isPlain: boolean
}

const KIND_ICONS: Readonly<Record<string, IconName>> = {
  agent: "spark",
  tool: "tool",
  human: "person",
  handoff: "person",
  condition: "choice",
  decision: "choice",
  switch: "choice",
  loop: "loop",
  map: "many",
  parallel: "many",
  merge: "many",
  workflow: "nested",
}

interface TaskNodeProps extends NodeProps {
  readonly mark: NodeHeatMark | undefined
  readonly isConnectable: boolean
  readonly isFar: boolean
}

const TaskNode = memo(function TaskNode(props: TaskNodeProps) {
  const { id, node, state, isSelected, isPlain, mark, isConnectable, isFar } = props
  return (
    <>
      <button
        type="button"
        className={styles.node}
        data-node={id}
        data-tone={isPlain ? "plain" : state === undefined ? "idle" : toneOf(state.status)}
        data-running={state?.status === "running" || undefined}
        data-heat={mark === undefined ? undefined : mark.isBad ? "bad" : "plain"}
        style={mark && ({ "--heat": `${Math.round(35 * mark.share)}%` } as object)}
        aria-label={nameOf(props, mark)}
        aria-pressed={isSelected}
        title={node.description ?? node.title}
      >
        {!isFar && <NodeFace node={node} state={state} isPlain={isPlain} words={mark?.words} />}
      </button>
      {isConnectable && <i className={styles.port} data-port={id} />}
      {node.nested !== undefined && !isFar && (
        <button type="button" className={styles.unfold} data-toggle={id} aria-label={`Unfold ${node.title}`}>
          Unfold
        </button>
      )}
    </>
  )
})

interface NodeFaceProps extends Pick<NodeProps, "node" | "state" | "isPlain"> {
  readonly words: string | undefined
}

function NodeFace({ node, state, isPlain, words }: NodeFaceProps) {
  const icon = node.isWorker
    ? "many"
    : node.nested === undefined
      ? (KIND_ICONS[node.kind] ?? "box")
      : "nested"
  return (
    <>
      <Icon name={icon} />
      <span className={styles.name}>
        <span className={styles.title}>{node.title}</span>
        <span className={styles.facts}>
          {words ?? (isPlain ? kindWords(node) : factsOf(state, node.isWorker))}
        </span>
      </span>
      {state !== undefined && <StatusIcon status={state.status} />}
      {state !== undefined && state.total > 1 && !node.isWorker && (
        <span className={styles.visits}>×{count(state.total)}</span>
      )}
      {node.isWorker && state !== undefined && <Progress state={state} />}
    </>
  )
}

/** The name, the kind and the state: what the drawing shows, in words. */
function nameOf({ node, state, isPlain }: NodeProps, mark?: NodeHeatMark): string {
  const words = isPlain ? (mark?.words ?? "") : state === undefined ? "not reached" : statusWord(state.status)
  const times = state !== undefined && state.total > 1 ? `, ${state.total} times` : ""
  return `${node.title}, ${node.kind}${words === "" ? "" : `: ${words}`}${times}`
}

/** What the node is, for a graph without a run. */
function kindWords({ kind, isWorker, nested, description }: GraphNode): string {
  if (description !== undefined) return description
  return isWorker ? "once for each item" : nested === undefined ? kind : "workflow"
}

function factsOf(state: NodeState | undefined, isWorker: boolean): string {
  if (state === undefined) return "not reached"
  const took =
    state.lastEnd === undefined || state.active > 0 ? "" : duration(state.lastEnd - state.firstStart)
  const cost = state.usd === undefined ? "" : money(state.usd)
  const progress = isWorker ? `${count(state.done + state.failed)}/${count(state.total)}` : ""
  const retries = state.attempts > state.total ? `${state.attempts - state.total} retried` : ""
  const failed = isWorker && state.failed > 0 ? `${state.failed} failed` : ""
  const words = [progress, failed, took, retries, cost].filter((word) => word !== "")
  return words.length === 0 ? statusWord(state.status) : words.join(" · ")
}

/** A map: how many of the items that have started are done. Failed ones are red. */
function Progress({ state }: { readonly state: NodeState }) {
  const share = (value: number) => `${(100 * value) / Math.max(1, state.total)}%`
  return (
    <span className={styles.progress}>
      <span className={styles.doneShare} style={{ width: share(state.done) }} />
      <span className={styles.failedShare} style={{ width: share(state.failed) }} />
    </span>
  )
}

/** A workflow that is unfolded: the frame around its nodes. */
function BoxNode(props: NodeProps) {
  const { id, node, state, isSelected } = props
  return (
    <div className={styles.box} data-selected={isSelected || undefined}>
      <span className={styles.boxHead}>
        <button
          type="button"
          className={styles.boxName}
          data-node={id}
          aria-label={nameOf(props)}
          aria-pressed={isSelected}
        >
          <Icon name="nested" size={14} />
          {node.title}
          {state !== undefined && <StatusIcon status={state.status} />}
        </button>
        <button type="button" className={styles.fold} data-toggle={id} aria-label={`Fold ${node.title}`}>
          Fold
        </button>
      </span>
    </div>
  )
}
