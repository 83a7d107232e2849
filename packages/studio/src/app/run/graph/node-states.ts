/** What each node of the graph shows at a point in time: how many tasks, in which states, how long, at what cost. */
import { MARK, type OutlineTask, type TaskView } from "@superstep/engine/protocol"
import type { RunHistory } from "../history.ts"
import { nodeKey } from "../keys.ts"

type TaskStatus = Exclude<TaskView["status"], "queued">

export interface NodeState {
  /** The state that matters most: what runs, then what waits, then what failed. */
  readonly status: TaskStatus
  readonly total: number
  readonly done: number
  readonly failed: number
  readonly active: number
  readonly attempts: number
  readonly firstStart: number
  readonly lastEnd: number | undefined
  readonly usd: number | undefined
  readonly tokens: number
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

const STATUS: Readonly<Record<number, TaskStatus>> = {
  [MARK.started]: "running",
  [MARK.finished]: "finished",
  [MARK.settled]: "failed",
  [MARK.failed]: "failed",
  [MARK.retrying]: "backoff",
  [MARK.parked]: "parked",
  [MARK.resumed]: "running",
  [MARK.cancelled]: "cancelled",
  [MARK.rejected]: "rejected",
}

/** A task at a point in time; undefined: it has not started. */
export interface TaskAt {
  readonly status: TaskStatus
  readonly attempts: number
  /** Milliseconds since the start of the run. */
  readonly from: number
  readonly to: number | undefined
}

export function taskAt({ marks }: OutlineTask, at: number): TaskAt | undefined {
  let [status, attempts, to]: [TaskStatus | undefined, number, number | undefined] = [undefined, 0, undefined]
  for (let i = 0; i < marks.length && (marks[i + 1] as number) <= at; i += 3) {
    status = STATUS[marks[i] as number]
    if (marks[i] === MARK.started) attempts++
    to = status !== undefined && hasEnded(status) ? marks[i + 2] : undefined
  }
  return status === undefined ? undefined : { status, attempts, from: marks[2] as number, to }
}

/** By the key of the node in the drawing. Only unfolded workflows are counted. */
export function nodeStates(
  history: RunHistory,
  at: number,
  unfolded: ReadonlySet<string>,
): ReadonlyMap<string, NodeState> {
  const { outline } = history
  const states = new Map<string, Writable<NodeState>>()
  const keys = new Map<number, Map<string, string>>()
  const keyOf = (path: number, node: string): string | undefined => {
    let known = keys.get(path)
    if (known === undefined) {
      const above = history.nodePathOf(path)
      if (above !== "" && !isUnfolded(above, unfolded)) return undefined
      known = new Map()
      keys.set(path, known)
    }
    let key = known.get(node)
    if (key === undefined) {
      key = nodeKey(history.nodePathOf(path), node)
      known.set(node, key)
    }
    return key
  }
  for (const task of outline.tasks) {
    // Tasks are in the order of their first events.
    if ((task.marks[1] as number) > at) break
    const key = keyOf(task.path, task.node)
    const now = key === undefined ? undefined : taskAt(task, at)
    if (key !== undefined && now !== undefined) add(states, key, now)
  }
  const { usage, nodes } = outline
  for (let i = 0; i < usage.length && (usage[i] as number) <= at; i += 5) {
    const key = keyOf(usage[i + 1] as number, nodes[usage[i + 2] as number] as string)
    const state = key === undefined ? undefined : states.get(key)
    if (state === undefined) continue
    state.tokens += usage[i + 3] as number
    const usd = usage[i + 4] as number
    if (usd > 0) state.usd = (state.usd ?? 0) + usd
  }
  return states
}

/** Every workflow on the way is unfolded. */
function isUnfolded(path: string, unfolded: ReadonlySet<string>): boolean {
  const parts = path.split("/")
  return parts.every((_, i) => unfolded.has(parts.slice(0, i + 1).join("/")))
}

function add(states: Map<string, Writable<NodeState>>, key: string, task: TaskAt): void {
  const { status, attempts, from, to } = task
  let state = states.get(key)
  if (state === undefined) {
    state = {
      status,
      total: 0,
      done: 0,
      failed: 0,
      active: 0,
      attempts: 0,
      firstStart: from,
      lastEnd: undefined,
      usd: undefined,
      tokens: 0,
    }
    states.set(key, state)
  }
  state.total++
  state.done += Number(status === "finished")
  state.failed += Number(status === "failed" || status === "rejected")
  state.active += Number(!hasEnded(status))
  state.attempts += attempts
  if (RANK[status] >= RANK[state.status]) state.status = status
  if (to !== undefined) state.lastEnd = Math.max(state.lastEnd ?? 0, to)
}

function hasEnded(status: TaskStatus): boolean {
  return RANK[status] < RANK.backoff
}

/** A finished task ranks below one that failed, and above one that was cancelled. */
const RANK: Readonly<Record<TaskStatus, number>> = {
  cancelled: 0,
  finished: 1,
  rejected: 2,
  failed: 3,
  backoff: 4,
  parked: 5,
  running: 6,
}
