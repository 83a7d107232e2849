/** One run: graph, timeline, events or chat, with one selection and one point in time for all of them. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import { useLocation } from "wouter"
import { useRun, useRunGraph } from "../api/queries.ts"
import { useAddress } from "../frame/address.ts"
import { Bar } from "../frame/frame.tsx"
import { shortId } from "../ui/format.ts"
import { Failure, Loading } from "../ui/states.tsx"
import { Status } from "../ui/status.tsx"
import { Tabs } from "../ui/tabs.tsx"
import { Chat } from "./chat.tsx"
import { Events } from "./events.tsx"
import { Fork } from "./fork.tsx"
import { graphModel } from "./graph/graph-model.ts"
import { RunGraph } from "./graph/run-graph.tsx"
import { Inspector } from "./inspector/inspector.tsx"
import { NamesContext, NodeNames } from "./node-names.ts"
import styles from "./run.module.css"
import { RunActions } from "./run-actions.tsx"
import { Scrubber } from "./scrubber.tsx"
import { parseAt, parseSelection, printSelection, type Selection } from "./selection.ts"
import { Timeline } from "./timeline/timeline.tsx"
import { useRunAt } from "./use-run.ts"

const VIEWS = [
  { id: "graph", label: "Graph" },
  { id: "timeline", label: "Timeline" },
  { id: "events", label: "Events" },
  { id: "chat", label: "Chat" },
] as const
type View = (typeof VIEWS)[number]["id"]

export default function Run({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const id = decodeURIComponent(params.run ?? "")
  return <RunScreen key={id} id={id} />
}

function RunScreen({ id }: { readonly id: string }) {
  const [query, setAddress] = useAddress()
  const [, navigate] = useLocation()
  const row = useRun(id)
  const graph = useRunGraph(id)
  const [at, setAt] = usePoint(query.get("at"), setAddress)
  const following = useRunAt(id, at)
  const { history, state, view } = following
  // Tokens change neither: what follows from events is not computed again for them.
  const version = history.length + history.logged
  const [isInspectorOpen, setInspectorOpen] = useState(true)

  const selText = query.get("sel")
  const selection = useMemo(() => parseSelection(selText), [selText])
  const chosen = VIEWS.find(({ id: one }) => one === query.get("v"))?.id ?? "graph"
  const point = at === undefined ? history.length : Math.min(at, history.length)
  const model = useMemo(
    () => (graph.data === undefined ? undefined : graphModel(graph.data.graph)),
    [graph.data],
  )
  const names = useMemo(() => new NodeNames(model), [model])

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new function for each render would renew all views
  const select = useCallback((next: Selection | undefined) => {
    setAddress({ sel: next === undefined ? undefined : printSelection(next) }, { replace: true })
    if (next !== undefined) setInspectorOpen(true)
  }, [])
  // What the stream brought stays on the screen, even if the row of the run did not arrive.
  if (row.isError && row.data === undefined && history.length === 0) {
    return (
      <>
        <Bar trail={[{ name: "Runs", href: "/runs" }, { name: shortId(id) }]} />
        <Failure error={row.error} retry={() => void row.refetch()} />
      </>
    )
  }
  const isLoading = state === "loading" && history.length === 0
  // Until the events have arrived, the row knows best.
  const status = isLoading ? row.data?.status : view.status
  const shared = { run: id, history, version, view, point, selection, select }
  return (
    <NamesContext.Provider value={names}>
      <Bar
        trail={[
          { name: "Runs", href: "/runs" },
          { name: row.data === undefined ? shortId(id) : `${row.data.workflow} ${shortId(id)}` },
        ]}
        aside={status !== undefined && <Status status={status} isChip />}
      >
        {row.data !== undefined && <RunActions run={row.data} history={history} isPast={at !== undefined} />}
      </Bar>
      <div className={styles.layout} data-inspector={isInspectorOpen || undefined}>
        <section className={styles.stage} aria-label="Run">
          <Tabs
            label="Views of the run"
            tabs={VIEWS}
            selected={chosen}
            onSelect={(v: View) => setAddress({ v: v === "graph" ? undefined : v }, { replace: true })}
          >
            <button
              type="button"
              className={styles.toggle}
              aria-pressed={isInspectorOpen}
              onClick={() => setInspectorOpen(!isInspectorOpen)}
            >
              Inspector
            </button>
          </Tabs>
          {state === "failed" && history.length === 0 ? (
            <Failure error={following.error} />
          ) : isLoading ? (
            <Loading lines={10} label="Loading events" />
          ) : chosen === "graph" ? (
            <RunGraph {...shared} model={model} error={graph.error} />
          ) : chosen === "timeline" ? (
            <Timeline {...shared} />
          ) : chosen === "events" ? (
            <Events {...shared} setAt={setAt} />
          ) : (
            <Chat {...shared} isNow={at === undefined} />
          )}
        </section>
        {isInspectorOpen && (
          <Inspector
            {...shared}
            row={row.data}
            isLoading={isLoading}
            hasForms={chosen !== "chat"}
            onClose={() => (selection === undefined ? setInspectorOpen(false) : select(undefined))}
          />
        )}
      </div>
      <Scrubber {...shared} isLive={at === undefined} isEnded={state === "ended"} setAt={setAt} />
      {query.has("fork") && row.data !== undefined && history.length > 0 && (
        <Fork
          run={row.data}
          history={history}
          point={point}
          onClose={() => setAddress({ fork: undefined }, { replace: true })}
          onForked={(created) => navigate(`/runs/${encodeURIComponent(created)}`)}
        />
      )}
      <KeepTitle status={status ?? ""} />
    </NamesContext.Provider>
  )
}

/** Milliseconds without a move before the address names the point. */
const REST = 150

/**
 * The point in time: an event number, or undefined for now. It moves with every frame while somebody drags; the address
 * follows when it rests, because browsers refuse hundreds of changes of the address in a row.
 */
function usePoint(
  text: string | null,
  setAddress: ReturnType<typeof useAddress>[1],
): [at: number | undefined, setAt: (at: number | undefined) => void] {
  const named = parseAt(text)
  const [moved, setMoved] = useState<{ readonly to: number | undefined }>()
  const latest = useRef(setAddress)
  latest.current = setAddress
  const written = useRef<string | null>(text)
  useEffect(() => {
    // A link to another point ends the move; what this wrote itself does not end a move that continued since.
    const isOwn = written.current === text
    setMoved((now) => (isOwn && now !== undefined && now.to !== parseAt(text) ? now : undefined))
  }, [text])
  useEffect(() => {
    if (moved === undefined) return
    const { to } = moved
    const timer = setTimeout(() => {
      written.current = to === undefined ? null : String(to)
      latest.current({ at: written.current ?? undefined }, { replace: true })
    }, REST)
    return () => clearTimeout(timer)
  }, [moved])
  return [moved === undefined ? named : moved.to, (to) => setMoved({ to })]
}

/** The tab says how the run is doing while somebody looks elsewhere. */
function KeepTitle({ status }: { readonly status: string }) {
  useEffect(() => {
    const mark = status === "running" ? "▶ " : status === "waiting" ? "⏸ " : status === "failed" ? "✕ " : ""
    document.title = `${mark}${document.title.replace(/^[▶⏸✕] /u, "")}`
  }, [status])
  return null
}
