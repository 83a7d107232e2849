/** The run along time. Choose a bar to inspect its task; drag over a range, or zoom in, to tell short ones apart. */
import { type CSSProperties, useEffect, useMemo, useRef, useState } from "react"
import { IconButton } from "../../ui/button.tsx"
import { clock, count, duration, exact, offset } from "../../ui/format.ts"
import { Empty } from "../../ui/states.tsx"
import { COMMIT } from "../history.ts"
import { useNames } from "../node-names.ts"
import type { RunViewProps } from "../run-view-props.ts"
import styles from "./timeline.module.css"
import {
  type Lane,
  lanesOf,
  type PlacedBar,
  placedBars,
  type Scale,
  scaleOf,
  timeAt,
} from "./timeline-model.ts"
import { useZoom } from "./use-zoom.ts"

/** Pixels between the rows of a lane. */
const ROW = 12
/** Pixels after the last bar. */
const REST = 12

/** Pixels that the names of the lanes take, of so many. */
function namesWidth(width: number): number {
  return width < 600 ? 112 : 200
}

/** So many pixels after the names of the lanes. */
function afterNames(x: number): string {
  return `calc(var(--names) + ${x}px)`
}

export function Timeline({ history, version, view, point, selection, select }: RunViewProps) {
  const box = useRef<HTMLDivElement>(null)
  const [boxWidth, setBoxWidth] = useState(800)
  const left = namesWidth(boxWidth)
  const width = Math.max(200, boxWidth - left - REST)
  const names = useNames()
  const scroller = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const observer = new ResizeObserver(([entry]) => setBoxWidth(entry?.contentRect.width ?? 800))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version says when the history grew
  const lanes = useMemo(() => lanesOf(history, point, names), [history, version, point, names])
  const isOver = view.finishedAt !== undefined
  const last = history.timeAt(point)
  const end = isOver || point < history.length ? last : Math.max(last, Date.now())
  const { zoom, scale, range, canZoomIn, zoomBy, reset, brush } = useZoom(scroller, lanes, end, width, left)
  if (lanes.length === 0) return <Empty icon="clock" title="Nothing has started at this point" />
  return (
    <div className={styles.timeline} ref={box} style={{ "--names": `${left}px` } as CSSProperties}>
      <div className={styles.tools}>
        <span>
          {duration(scale.to - scale.from)}
          {scale.gaps.length > 0 &&
            `, ${scale.gaps.length === 1 ? "one idle gap" : `${scale.gaps.length} idle gaps`} folded`}
        </span>
        <span className={styles.legend}>
          <i data-kind="run" /> executes <i data-kind="wait" /> waits <i data-kind="backoff" /> will retry
        </span>
        <IconButton icon="dash" label="Zoom out" disabled={zoom === 1} onClick={() => zoomBy(1 / 2)} />
        <IconButton icon="plus" label="Zoom in" disabled={!canZoomIn} onClick={() => zoomBy(2)} />
      </div>
      {zoom > 1 && (
        <Minimap lanes={lanes} end={end} width={width} names={left} zoom={zoom} scroller={scroller} />
      )}
      <div
        className={styles.scroll}
        tabIndex={0}
        role="region"
        aria-label="Timeline"
        ref={scroller}
        onDoubleClick={reset}
        onKeyDown={(event) => event.key === "Escape" && zoom > 1 && reset()}
        {...brush}
      >
        <div className={styles.canvas} style={{ width: left + scale.width + REST }}>
          <Axis scale={scale} />
          {range !== undefined && (
            <span
              className={styles.range}
              style={{ left: afterNames(range.from), width: range.to - range.from }}
            />
          )}
          <Supersteps history={history} point={point} scale={scale} />
          {lanes.map((lane) => (
            <LaneRow key={lane.key} lane={lane} scale={scale} selection={selection} select={select} />
          ))}
          {scale.gaps.map((gap) => (
            <div
              key={gap.from}
              className={styles.gap}
              style={{
                left: afterNames(scale.place(gap.from)),
                width: scale.place(gap.to) - scale.place(gap.from),
              }}
              title={`${exact(gap.from)} – ${exact(gap.to)}`}
            >
              <span>{duration(gap.to - gap.from)} idle</span>
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}

/** Lines where supersteps were committed, as many as have room. */
function Supersteps({ history, point, scale }: Pick<RunViewProps, "history" | "point"> & { scale: Scale }) {
  const { commits, startedAt } = history.outline
  const lines: { readonly superstep: number; readonly x: number }[] = []
  for (let i = 0; i < commits.length && (commits[i] as number) <= point; i += COMMIT) {
    const x = scale.place(startedAt + (commits[i + 2] as number))
    if (x - (lines.at(-1)?.x ?? Number.NEGATIVE_INFINITY) < MIN_DISTANCE) continue
    lines.push({ superstep: commits[i + 1] as number, x })
  }
  return (
    <div className={styles.supersteps} aria-hidden="true">
      {lines.map(({ superstep, x }) => (
        <span key={superstep} style={{ left: afterNames(x) }} title={`Superstep ${superstep} is committed`}>
          {superstep}
        </span>
      ))}
    </div>
  )
}

/** Pixels between two lines of supersteps. */
const MIN_DISTANCE = 24

interface MinimapProps {
  readonly lanes: readonly Lane[]
  readonly end: number
  readonly width: number
  /** Pixels before it. */
  readonly names: number
  readonly zoom: number
  readonly scroller: { readonly current: HTMLDivElement | null }
}

/** The whole run above a part of it; press to go there. */
function Minimap({ lanes, end, width, names, zoom, scroller }: MinimapProps) {
  const [left, setLeft] = useState(0)
  useEffect(() => {
    const element = scroller.current
    if (element === null) return
    const follow = () => setLeft(element.scrollLeft / zoom)
    follow()
    element.addEventListener("scroll", follow)
    return () => element.removeEventListener("scroll", follow)
  }, [scroller, zoom])
  const scale = useMemo(() => scaleOf(lanes, end, width), [lanes, end, width])
  const rows = useMemo(
    () => lanes.slice(0, MAX_MAP_LANES).map(({ key, bars }) => ({ key, bars: placedBars(bars, scale) })),
    [lanes, scale],
  )
  return (
    <div
      className={styles.minimap}
      role="slider"
      tabIndex={0}
      aria-label="Part of the timeline"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round((100 * left) / width)}
      onPointerDown={(event) => {
        const x = event.clientX - event.currentTarget.getBoundingClientRect().left - names
        scroller.current?.scrollTo({ left: (x - width / zoom / 2) * zoom })
      }}
      onKeyDown={(event) => {
        const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
        if (step === 0) return
        scroller.current?.scrollBy({ left: (step * width) / 2 })
        event.preventDefault()
        event.stopPropagation()
      }}
    >
      {rows.map(({ key, bars }, row) =>
        bars.map((bar) => (
          <i
            key={`${key} ${bar.task}`}
            data-status={bar.status}
            style={{
              left: afterNames(scale.place(bar.from)),
              width: Math.max(1, scale.place(bar.to ?? scale.to) - scale.place(bar.from)),
              top: 4 + (row * 24) / Math.max(1, rows.length),
            }}
          />
        )),
      )}
      <span className={styles.window} style={{ left: afterNames(left), width: width / zoom }} />
    </div>
  )
}

const MAX_MAP_LANES = 12

interface LaneRowProps extends Pick<RunViewProps, "selection" | "select"> {
  readonly lane: Lane
  readonly scale: Scale
}

function LaneRow({ lane: { key, name, depth, bars }, scale, selection, select }: LaneRowProps) {
  const placed = placedBars(bars, scale)
  const rows = Math.max(0, ...placed.map(({ row }) => row))
  return (
    <div className={styles.lane} style={{ height: 28 + rows * ROW }}>
      <button
        type="button"
        className={styles.name}
        data-depth={Math.min(depth, 4)}
        aria-pressed={selection?.kind === "node" && selection.key === key}
        onClick={() => select({ kind: "node", key })}
      >
        <span>{name}</span>
        {bars.length > 1 && <span className={styles.many}>×{count(bars.length)}</span>}
      </button>
      <div className={styles.bars}>
        {placed.map((bar) => (
          <BarShape
            key={bar.task}
            bar={bar}
            name={name}
            scale={scale}
            isSelected={selection?.kind === "task" && selection.key === bar.task}
            onSelect={() => select({ kind: "task", key: bar.task })}
          />
        ))}
      </div>
    </div>
  )
}

function Axis({ scale }: { readonly scale: Scale }) {
  const ticks = Math.max(2, Math.floor(scale.width / 120))
  const times = Array.from({ length: ticks }, (_, i) => timeAt(scale, (scale.width * i) / ticks)).filter(
    (time) => !scale.gaps.some(({ from, to }) => time > from && time < to),
  )
  return (
    <div className={styles.axis} aria-hidden="true">
      {times.map((time) => (
        <span key={time} style={{ left: afterNames(scale.place(time)) }}>
          {scale.to - scale.from < 60_000 ? `+${offset(time - scale.from)}` : clock(time)}
        </span>
      ))}
    </div>
  )
}

interface BarShapeProps {
  readonly bar: PlacedBar
  readonly name: string
  readonly scale: Scale
  readonly isSelected: boolean
  readonly onSelect: () => void
}

function BarShape({ bar, name, scale, isSelected, onSelect }: BarShapeProps) {
  const left = scale.place(bar.from)
  const right = scale.place(bar.to ?? scale.to)
  const width = Math.max(3, right - left - 1)
  const took = duration((bar.to ?? scale.to) - bar.from)
  const what =
    bar.merged > 1 ? `${bar.merged} tasks of ${name}` : `${name}, task ${bar.task.split("/").at(-1)}`
  const label = `${what}: ${bar.status}, ${took}${bar.attempts > 1 ? `, ${bar.attempts} attempts` : ""}`
  return (
    <button
      type="button"
      className={styles.bar}
      data-status={bar.status}
      data-selected={isSelected || undefined}
      style={{ left, width, top: 9 + bar.row * ROW }}
      aria-label={label}
      title={label}
      onClick={onSelect}
    >
      {bar.segments.map(({ kind, from, to }) =>
        kind === "run" ? null : (
          <span
            key={from}
            className={styles.segment}
            data-kind={kind}
            style={{
              left: scale.place(from) - left,
              width: Math.max(1, scale.place(to ?? scale.to) - scale.place(from)),
            }}
          />
        ),
      )}
    </button>
  )
}
