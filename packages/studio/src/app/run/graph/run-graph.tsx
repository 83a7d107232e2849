/**
 * The run on its graph. The layout is computed once for the graph and what is unfolded; only states change afterwards, so the
 * camera and the lines stay where they are.
 */
import { useCallback, useMemo, useState } from "react"
import { Empty, Failure, Loading } from "../../ui/states.tsx"
import type { RunHistory } from "../history.ts"
import { nodeKey, nodePath, parseTaskKey } from "../keys.ts"
import type { RunViewProps } from "../run-view-props.ts"
import type { Selection } from "../selection.ts"
import { fitted, isFar } from "./camera.ts"
import { Canvas } from "./canvas.tsx"
import styles from "./graph.module.css"
import { GraphLabels, GraphLines } from "./graph-edges.tsx"
import type { GraphModel } from "./graph-model.ts"
import { GraphNodes, type NodeHeatMark } from "./graph-nodes.tsx"
import { layoutOf } from "./layout.ts"
import { nodeStates } from "./node-states.ts"

interface RunGraphProps extends Omit<RunViewProps, "run" | "view"> {
  readonly model: GraphModel | undefined
  readonly error: unknown
  /** Somebody drew a line from one node to another. Undefined: none can be drawn. */
  readonly onConnect?: ((from: string, to: string) => void) | undefined
  /** What is drawn, for a graph that somebody edits: another one is fitted into the view again. */
  readonly drawing?: string | undefined
  /** Figures over many runs, by node, for a graph without a run. */
  readonly heat?: ReadonlyMap<string, NodeHeatMark> | undefined
}

export function RunGraph(props: RunGraphProps) {
  const { model, error, history, version, point, selection, select, onConnect, drawing, heat } = props
  const [{ unfolded, toggled }, setUnfolded] = useState<Unfolded>({ unfolded: new Set(), toggled: undefined })
  const [zoom, setZoom] = useState<"near" | "far">()
  const layout = useMemo(
    () => (model === undefined ? undefined : layoutOf(model, unfolded)),
    [model, unfolded],
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version says when the history grew
  const states = useMemo(() => nodeStates(history, point, unfolded), [history, version, point, unfolded])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version says when the history grew
  const countOf = useCallback((edge: string) => history.countOf(edge, point), [history, version, point])
  if (error !== null && error !== undefined && layout === undefined) return <Failure error={error} />
  if (layout === undefined) return <Loading lines={8} label="Loading the graph" />
  if (layout.nodes.length === 0) return <Empty title="This workflow has no nodes" />
  const isPlain = history.length === 0
  // Before the camera knows its screen, which is never larger than the window.
  const isFarAway =
    zoom === undefined
      ? isFar(fitted(layout, { width: innerWidth, height: innerHeight }).zoom)
      : zoom === "far"
  const selected = selectedKey(history, selection)
  return (
    <div className={styles.graph} data-far={isFarAway || undefined}>
      <Canvas
        width={layout.width}
        height={layout.height}
        drawing={drawing}
        anchor={layout.nodes.find(({ key }) => key === toggled)}
        isInPage={heat !== undefined}
        onZoom={(now) => setZoom(isFar(now) ? "far" : "near")}
        onConnect={onConnect}
        onPick={(target) => {
          const picked = target.closest("[data-toggle], [data-node], [data-edge]")
          const toggle = picked?.getAttribute("data-toggle")
          const node = picked?.getAttribute("data-node")
          const edge = picked?.getAttribute("data-edge")
          if (typeof toggle === "string")
            setUnfolded({ unfolded: changed(unfolded, toggle), toggled: toggle })
          else if (typeof node === "string") select({ kind: "node", key: node })
          else select(typeof edge === "string" ? { kind: "edge", key: edge } : undefined)
        }}
      >
        <GraphLines edges={layout.edges} countOf={countOf} selected={selected} isFar={isFarAway} />
        <GraphNodes
          nodes={layout.nodes}
          states={states}
          selected={selected}
          isPlain={isPlain}
          isFar={isFarAway}
          isConnectable={onConnect !== undefined}
          heat={heat}
        />
        {!isFarAway && (
          <GraphLabels edges={layout.edges} countOf={countOf} selected={selected} isPlain={isPlain} />
        )}
      </Canvas>
    </div>
  )
}

interface Unfolded {
  readonly unfolded: ReadonlySet<string>
  /** The workflow that was unfolded or folded last: it stays where it is. */
  readonly toggled: string | undefined
}

function changed(unfolded: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(unfolded)
  if (!next.delete(key)) next.add(key)
  return next
}

function selectedKey(history: RunHistory, selection: Selection | undefined): string | undefined {
  if (selection?.kind === "node" || selection?.kind === "edge") return selection.key
  return selection?.kind === "task" ? nodeOfTask(history, selection.key) : undefined
}

function nodeOfTask({ outline }: RunHistory, key: string): string | undefined {
  const { path, task } = parseTaskKey(key)
  const index = outline.indexOf(path, task)
  const found = index === undefined ? undefined : outline.tasks[index]
  return found === undefined ? undefined : nodeKey(nodePath(path), found.node)
}
