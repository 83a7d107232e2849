/** Runs by the part of their id that people type: the end of it, as lists show it, or its beginning. */
import { type Store, type StoredRun, SuperstepError } from "@superstep/engine"
import { shellWord } from "./shell-word.ts"
import { foreignLine } from "./terminal.ts"
import { usageError } from "./usage-error.ts"

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** As lists show it: of an id that was made up, the end, which tells runs apart; a name as it is. */
export function shortId(runId: string): string {
  return UUID.test(runId) ? runId.slice(-8) : runId
}

/** The same in a command that people are told to type. */
export function typedId(runId: string): string {
  return shellWord(shortId(runId))
}

const PAGE = 200
/** Runs that are looked at: a part of an id may be part of a workflow's name too. */
const MOST = 20_000

/** Throws RUN_UNKNOWN, and USAGE where several runs fit. */
export async function findRun(store: Pick<Store, "run" | "runs">, given: string): Promise<StoredRun> {
  const exact = await store.run(given)
  if (exact !== undefined) return exact
  const fitting: StoredRun[] = []
  let before: string | undefined
  for (let seen = 0; given !== "" && seen < MOST; seen += PAGE) {
    const page = await store.runs({ text: given, before, limit: PAGE })
    fitting.push(...page.filter(({ runId }) => runId.startsWith(given) || runId.endsWith(given)))
    before = page.at(-1)?.runId
    if (page.length < PAGE || fitting.length > 5) break
  }
  const [only, ...others] = fitting
  if (only === undefined) throw unknown(given)
  if (others.length > 0) throw ambiguous(given, fitting)
  return only
}

/** Each once, in the order in which they are named. */
export async function findRuns(
  store: Pick<Store, "run" | "runs">,
  given: readonly string[],
): Promise<readonly StoredRun[]> {
  const found = await Promise.all(given.map((id) => findRun(store, id)))
  return [...new Map(found.map((run) => [run.runId, run])).values()]
}

function unknown(given: string): SuperstepError {
  const text = `The store has no run "${foreignLine(given)}". See:\nsuperstep runs list`
  return new SuperstepError("RUN_UNKNOWN", text, { run: given })
}

function ambiguous(given: string, fitting: readonly StoredRun[]): SuperstepError {
  const shown = fitting.slice(0, 5).map(({ runId }) => runId)
  const more = fitting.length > shown.length ? ", …" : ""
  return usageError(
    `"${foreignLine(given)}" fits several runs: ${shown.join(", ")}${more}. Write more of the id.`,
  )
}
