/** What two runs did differently. Reads only the store. */
import type { Json, RunId } from "../core/index.ts"
import { emptyView, foldEvents, type RunView, tasksOf, type WorkflowView } from "../protocol/internal.ts"
import { runUnknown, type Store, type StoredRun } from "../runtime/index.ts"
import { isSame } from "./checkpoints.ts"
import { history, pastEvents, type RunHistory } from "./history.ts"

export interface RunDifference {
  /** `input`, `status`, `node draft`, `node draft, visit 2`, `answer r1`, `state.log`, `output 1` … */
  readonly what: string
  /** Absent if the run has no such part. */
  readonly a?: Json | undefined
  readonly b?: Json | undefined
}

interface RunRecord {
  readonly run: StoredRun
  readonly view: RunView
  readonly past: RunHistory
}

type Parts = ReadonlyMap<string, Json | undefined>

const PARTS: readonly ((record: RunRecord) => Parts)[] = [
  head,
  visits,
  nested,
  answers,
  ({ view }) => new Map(Object.entries(view.state).map(([key, value]) => [`state.${key}`, value])),
  ({ view }) => new Map(view.outputs.map((value, i) => [`output ${i + 1}`, value])),
  ({ view }) => new Map([["error", view.error && { code: view.error.code, message: view.error.message }]]),
]

export async function compareRuns(store: Store, a: RunId, b: RunId): Promise<readonly RunDifference[]> {
  const [one, other] = [await recordOf(store, a), await recordOf(store, b)]
  return PARTS.flatMap((part) => differences(part(one), part(other)))
}

async function recordOf(store: Store, runId: RunId): Promise<RunRecord> {
  const run = await store.run(runId)
  if (run === undefined) throw runUnknown(runId)
  const view = foldEvents(emptyView(), await pastEvents(store, runId))
  return { run, view, past: await history(store, runId) }
}

function differences(a: Parts, b: Parts): RunDifference[] {
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((what): RunDifference[] => {
    const [one, other] = [a.get(what), b.get(what)]
    if (one === undefined ? other === undefined : other !== undefined && isSame(one, other)) return []
    return [{ what, ...(one === undefined ? {} : { a: one }), ...(other === undefined ? {} : { b: other }) }]
  })
}

function head({ run, view }: RunRecord): Parts {
  return new Map<string, Json | undefined>([
    ["workflow", run.workflow],
    ["graph", run.graph],
    ["input", view.input],
    ["status", view.status],
  ])
}

/** What each node sent, or how it failed, by visit. */
function visits({ past }: RunRecord): Parts {
  const times = new Map<string, number>()
  const found = new Map<string, Json>()
  for (const { node, sends, error } of past.checkpoints.flatMap(({ finished }) => finished)) {
    const nth = (times.get(node) ?? 0) + 1
    times.set(node, nth)
    const sent = sends.map(({ value }) => value)
    const outcome = error === undefined ? { sent } : { error: error.message, sent }
    found.set(nth === 1 ? `node ${node}` : `node ${node}, visit ${nth}`, outcome)
  }
  return found
}

/** Nodes of sub-workflows: how often they ran, and how they ended. */
function nested({ view }: RunRecord): Parts {
  const found = new Map<string, { readonly times: number; readonly status: string }>()
  const add = (workflow: WorkflowView, above: string) => {
    for (const { node, status, calls } of tasksOf(workflow)) {
      const name = `${above}${node}`
      if (above !== "") found.set(name, { times: (found.get(name)?.times ?? 0) + 1, status })
      for (const call of calls) add(call, `${name} > `)
    }
  }
  add(view, "")
  return new Map([...found].map(([name, outcome]) => [`node ${name}`, outcome]))
}

function answers({ past }: RunRecord): Parts {
  return new Map(
    past.requests.map(({ id, outcome, answer }) => [
      `answer ${id}`,
      outcome === "answered" ? (answer ?? null) : { outcome },
    ]),
  )
}
