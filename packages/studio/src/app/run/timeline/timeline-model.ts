/**
 * A run along time: one lane per node, a bar per task with its waits and retries. Time in which nothing executes is folded to
 * a gap of fixed width, so that three hours of waiting do not squash three seconds of work.
 */
import { MARK, type OutlineTask } from "@superstep/engine/protocol"
import type { RunHistory } from "../history.ts"
import { nodeKey, taskKey } from "../keys.ts"
import type { NodeNames } from "../node-names.ts"

interface Segment {
  readonly kind: "run" | "wait" | "backoff"
  readonly from: number
  /** Undefined: it lasts. */
  readonly to: number | undefined
}

export interface Bar {
  /** `taskKey` of the task. */
  readonly task: string
  readonly status: "running" | "waiting" | "finished" | "failed" | "cancelled"
  readonly from: number
  readonly to: number | undefined
  readonly attempts: number
  readonly segments: readonly Segment[]
}

export interface Lane {
  /** The nodes that lead to it, and its own. */
  readonly key: string
  readonly name: string
  readonly depth: number
  readonly bars: readonly Bar[]
}

/** The lanes of the run up to a point, in the order in which their nodes first ran. */
export function lanesOf(history: RunHistory, at: number, names: NodeNames): readonly Lane[] {
  const lanes = new Map<string, Lane & { readonly bars: Bar[] }>()
  const { outline } = history
  for (const task of outline.tasks) {
    if ((task.marks[1] as number) > at) break
    const above = history.nodePathOf(task.path)
    const key = nodeKey(above, task.node)
    if (!names.isShown(key)) continue
    const path = outline.paths[task.path] ?? []
    let lane = lanes.get(key)
    if (lane === undefined) {
      lane = { key, name: names.title(key), depth: path.length, bars: [] }
      lanes.set(key, lane)
    }
    lane.bars.push(barOf(taskKey(path, task.id), task, at, outline.startedAt))
  }
  return [...lanes.values()]
}

const KINDS: Readonly<Record<number, Segment["kind"]>> = {
  [MARK.started]: "run",
  [MARK.resumed]: "run",
  [MARK.parked]: "wait",
  [MARK.retrying]: "backoff",
}

const STATUS: Readonly<Record<number, Bar["status"]>> = {
  [MARK.started]: "running",
  [MARK.resumed]: "running",
  [MARK.parked]: "waiting",
  [MARK.retrying]: "waiting",
  [MARK.finished]: "finished",
  [MARK.cancelled]: "cancelled",
}

function barOf(task: string, { marks }: OutlineTask, at: number, start: number): Bar {
  const segments: { kind: Segment["kind"]; from: number; to: number | undefined }[] = []
  let [attempts, status, to]: [number, Bar["status"], number | undefined] = [0, "running", undefined]
  for (let i = 0; i < marks.length && (marks[i + 1] as number) <= at; i += 3) {
    const mark = marks[i] as number
    const time = start + (marks[i + 2] as number)
    const last = segments.at(-1)
    if (last !== undefined) last.to ??= time
    if (mark === MARK.started) attempts++
    status = STATUS[mark] ?? "failed"
    const kind = KINDS[mark]
    if (kind === undefined) to = time
    else segments.push({ kind, from: time, to: undefined })
  }
  return { task, status, from: start + (marks[2] as number), to, attempts, segments }
}

interface Gap {
  readonly from: number
  readonly to: number
}

/** A scale from time to a place between 0 and `width`. */
export interface Scale {
  readonly from: number
  readonly to: number
  readonly gaps: readonly Gap[]
  readonly width: number
  place(time: number): number
}

export const GAP_WIDTH = 56
const LONG = 4_000

/** Where nothing executes for long: at least four seconds, and longer than everything that executes takes together. */
function idleGaps(lanes: readonly Lane[], end: number): readonly Gap[] {
  const busy = lanes
    .flatMap(({ bars }) => bars.flatMap(({ segments }) => segments))
    .filter(({ kind }) => kind === "run")
    .map(({ from, to }) => ({ from, to: to ?? end }))
    .sort((a, b) => a.from - b.from)
  const gaps: Gap[] = []
  let work = 0
  let until = busy[0]?.from ?? end
  for (const { from, to } of busy) {
    if (from > until) gaps.push({ from: until, to: from })
    work += Math.max(0, to - Math.max(from, until))
    until = Math.max(until, to)
  }
  if (end > until) gaps.push({ from: until, to: end })
  return gaps.filter(({ from, to }) => to - from >= Math.max(LONG, work / 2))
}

export function scaleOf(lanes: readonly Lane[], end: number, width: number): Scale {
  const from = lanes.reduce((least, { bars }) => Math.min(least, bars[0]?.from ?? end), end)
  const to = Math.max(end, from + 1)
  const gaps = idleGaps(lanes, to)
  const folded = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0)
  const gapWidth = gaps.length === 0 ? 0 : Math.min(GAP_WIDTH, (width * 0.5) / gaps.length)
  const perMs = Math.max(0, width - gaps.length * gapWidth) / Math.max(1, to - from - folded)
  return {
    from,
    to,
    gaps,
    width,
    place(time) {
      const limited = Math.min(to, Math.max(from, time))
      let x = 0
      let last = from
      for (const gap of gaps) {
        if (limited <= gap.from) break
        x += (gap.from - last) * perMs
        x += ((Math.min(limited, gap.to) - gap.from) / (gap.to - gap.from)) * gapWidth
        last = gap.to
        if (limited <= gap.to) return x
      }
      return x + (limited - last) * perMs
    },
  }
}

/** The inverse of `place`, by halving. */
export function timeAt(scale: Scale, x: number): number {
  let [low, high] = [scale.from, scale.to]
  for (let i = 0; i < 32; i++) {
    const middle = (low + high) / 2
    if (scale.place(middle) < x) low = middle
    else high = middle
  }
  return low
}

export interface PlacedBar extends Bar {
  /** How many tasks it stands for. */
  readonly merged: number
  /** Bars that overlap are in different rows of their lane. */
  readonly row: number
}

const MAX_ROWS = 8

/**
 * Tasks that execute at the same time are drawn below each other. If there are more of them than rows, they
 * become one: five thousand items of a map stay a few hundred shapes.
 */
export function placedBars(bars: readonly Bar[], scale: Scale): readonly PlacedBar[] {
  const rows: { readonly bars: PlacedBar[]; end: number }[] = []
  for (const bar of bars.toSorted((a, b) => a.from - b.from)) {
    const from = scale.place(bar.from)
    const to = Math.max(from + MIN_WIDTH, scale.place(bar.to ?? scale.to))
    let row = rows.findIndex(({ end }) => end <= from)
    if (row < 0 && rows.length < MAX_ROWS) row = rows.push({ bars: [], end: 0 }) - 1
    const isFull = row < 0
    if (isFull) row = rows.reduce((best, { end }, i) => (end < (rows[best]?.end ?? 0) ? i : best), 0)
    const own = rows[row] as (typeof rows)[number]
    const last = own.bars.at(-1)
    if (isFull && last !== undefined) own.bars[own.bars.length - 1] = mergedBar(last, bar)
    else own.bars.push({ ...bar, merged: 1, row })
    own.end = Math.max(own.end, to)
  }
  return rows.flatMap((row) => row.bars)
}

/** Pixels: the shortest bar that can be seen and pressed. */
const MIN_WIDTH = 3

function mergedBar(last: PlacedBar, bar: Bar): PlacedBar {
  const to = last.to === undefined || bar.to === undefined ? undefined : Math.max(last.to, bar.to)
  const shown = bar.status === "failed" ? bar : last
  return { ...last, task: shown.task, status: shown.status, to, segments: [], merged: last.merged + 1 }
}
