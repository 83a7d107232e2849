/** The list of runs as people read it: where each run is, which are new, what an action applies to. Pure. */
import type { Request, Run } from "@superstep/client"
import { line, relative } from "../ui/format.ts"
import { timesAt } from "./time-range.ts"

export const STATUSES = [
  "running",
  "waiting",
  "failed",
  "limit",
  "completed",
  "queued",
  "paused",
  "cancelled",
  "quarantined",
] as const satisfies readonly Run["status"][]

const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled", "limit"])

export function hasEnded({ status }: Pick<Run, "status">): boolean {
  return ENDED.has(status)
}

/** What an open request is about, as far as a list shows it. */
export interface Question {
  readonly prompt: string
  readonly to: string | undefined
}

export function questionOf({ request }: Pick<Request, "request">): Question {
  const { prompt, to } = (typeof request === "object" && request !== null ? request : {}) as {
    prompt?: unknown
    to?: unknown
  }
  return {
    prompt: typeof prompt === "string" ? prompt : "",
    to: typeof to === "string" ? to : undefined,
  }
}

/** In words: the node, the question or the error that makes people open a run. `nodes`: where it is at work, or waits. */
export function whereItIs(
  run: Run,
  question: Question | undefined,
  now: number,
  nodes: readonly string[] = [],
): string {
  const { status, error, wakeAt } = run
  const [first, ...more] = nodes
  const place = first === undefined ? "" : more.length === 0 ? first : `${first} and ${more.length} more`
  const at = error?.node === undefined ? "" : ` at ${error.node}`
  switch (status) {
    case "failed":
      return error === undefined ? "failed" : `failed${at}: ${line(error.message)}`
    case "limit":
      return error === undefined ? "reached a limit" : `reached a limit${at}: ${line(error.message)}`
    case "waiting": {
      if (question !== undefined) {
        const who = question.to === undefined ? "a person" : `“${question.to}”`
        return `waits for ${who}: ${line(question.prompt)}`
      }
      return `${place === "" ? "" : `${place} `}${wakeAt === undefined ? "waits for an answer or a signal" : `continues ${relative(wakeAt, now)}`}`
    }
    case "queued":
      return wakeAt !== undefined && wakeAt > now ? `starts ${relative(wakeAt, now)}` : "waits for a worker"
    case "paused":
      return "paused: resume it to continue"
    case "quarantined":
      return "stopped two processes; release it to try again"
    case "cancelled":
      return error === undefined ? "cancelled" : `cancelled: ${line(error.message)}`
    case "running":
      return place === "" ? "is executing" : `executes ${place}`
    case "completed":
      return "completed"
  }
}

/** The rows of all pages with the newest data, and the runs that started since the list was loaded. */
export function mergeRuns(
  loaded: readonly Run[],
  newest: readonly Run[],
): { readonly rows: readonly Run[]; readonly added: readonly Run[] } {
  const fresh = new Map(newest.map((run) => [run.id, run]))
  const known = new Set(loaded.map(({ id }) => id))
  const [first] = loaded
  return {
    rows: loaded.map((run) => fresh.get(run.id) ?? run),
    added: newest.filter(
      (run) => !known.has(run.id) && (first === undefined || run.createdAt >= first.createdAt),
    ),
  }
}

/** The columns of the list, in order. Which of them are shown is in the address. */
export const COLUMNS = [
  ["status", "Status"],
  ["run", "Run"],
  ["workflow", "Workflow"],
  ["started", "Started"],
  ["took", "Took"],
  ["cost", "Cost"],
  ["tokens", "Tokens"],
  ["thread", "Thread"],
  ["version", "Version"],
  ["where", "Where it is"],
] as const
export type ColumnId = (typeof COLUMNS)[number][0]

const HIDDEN: ReadonlySet<string> = new Set(["thread", "version"])

/** The address names what differs from the usual columns: `cols=-cost,thread`. */
export function columnsShown(text: string | null): ReadonlySet<ColumnId> {
  const shown = new Set<ColumnId>(COLUMNS.map(([id]) => id).filter((id) => !HIDDEN.has(id)))
  for (const part of text?.split(",") ?? []) {
    const id = part.replace(/^-/, "") as ColumnId
    if (!COLUMNS.some(([known]) => known === id)) continue
    if (part.startsWith("-")) shown.delete(id)
    else shown.add(id)
  }
  return shown
}

export function printColumns(shown: ReadonlySet<ColumnId>): string | undefined {
  const parts = COLUMNS.flatMap(([id]) =>
    shown.has(id) === HIDDEN.has(id) ? [shown.has(id) ? id : `-${id}`] : [],
  )
  return parts.length === 0 ? undefined : parts.join(",")
}

export const ACTIONS = ["cancel", "pause", "resume", "retry", "rerun", "delete"] as const
export type Action = (typeof ACTIONS)[number]

/** What the server's bulk actions apply to, so that a dry run over chosen rows says the same. */
export function applies(action: Action, run: Pick<Run, "status">): boolean {
  const { status } = run
  if (action === "cancel") return !hasEnded(run)
  if (action === "pause") return status === "queued" || status === "running" || status === "waiting"
  if (action === "resume") return status === "paused"
  if (action === "retry") return status === "failed" || status === "limit"
  return hasEnded(run)
}

/** What the filter of the address means to the API. */
export interface ListFilter {
  readonly workflow: string | undefined
  readonly status: string | undefined
  readonly label: readonly string[] | undefined
  readonly thread: string | undefined
  readonly text: string | undefined
  readonly since: string | undefined
  readonly until: string | undefined
}

export function filterOf(params: URLSearchParams): ListFilter {
  const one = (name: string) => params.get(name) || undefined
  const label = params.getAll("label").filter((text) => text.indexOf("=") > 0)
  return {
    workflow: one("workflow"),
    status: one("status"),
    label: label.length === 0 ? undefined : label,
    thread: one("thread"),
    text: one("text"),
    since: one("since"),
    until: one("until"),
  }
}

export function isFiltered(filter: ListFilter): boolean {
  return Object.values(filter).some((value) => value !== undefined)
}

/** The statuses of the filter that the action applies to; undefined: the filter names none. */
function statusesFor(action: Action, { status }: ListFilter): readonly Run["status"][] | undefined {
  const named = status?.split(",") as Run["status"][] | undefined
  return named?.filter((one) => applies(action, { status: one }))
}

/** Actions that may apply to runs of the filter. */
export function actionsFor(filter: ListFilter): readonly Action[] {
  return ACTIONS.filter((action) => statusesFor(action, filter)?.length !== 0)
}

/** Of the list's filter, what a bulk action takes: it is refused for statuses that it does not apply to. */
export function bulkFilter(action: Action, filter: ListFilter, now: number) {
  const { workflow, status: _, label, thread, text, ...times } = filter
  const status = statusesFor(action, filter)
  return {
    ...timesAt(times, now),
    ...(workflow !== undefined && { workflow }),
    ...(status !== undefined && { status: [...status] }),
    ...(label !== undefined && {
      labels: Object.fromEntries(
        label.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
      ),
    }),
    ...(thread !== undefined && { thread }),
    ...(text !== undefined && { text }),
  }
}
