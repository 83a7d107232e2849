/** Finds runs by a part of their id: the end, as lists show it, or the beginning. */
import { isSuperstepError, Runtime, type Store, type StoredRun, SuperstepError } from "@superstep/engine"
import { type Cli, EXIT } from "../cli.ts"
import { printError, usageError } from "../print/errors.ts"
import { sanitizeLine, shellWord } from "../terminal/terminal.ts"

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** The id in lists: the end of a generated id, which distinguishes runs; any other id in full. */
export function shortId(runId: string): string {
  return UUID.test(runId) ? runId.slice(-8) : runId
}

/** The short id, quoted for a suggested command. */
export function typedId(runId: string): string {
  return shellWord(shortId(runId))
}

const PAGE = 200
/** Maximum runs to search. A part of an id may also match the names of many workflows. */
const MAX_RUNS = 20_000
const MAX_SHOWN = 5

/** Throws RUN_UNKNOWN, or USAGE if several runs match. */
export async function findRun(store: Pick<Store, "run" | "runs">, id: string): Promise<StoredRun> {
  const exact = await store.run(id)
  if (exact !== undefined) return exact
  const matches: StoredRun[] = []
  let before: string | undefined
  for (let seen = 0; id !== "" && seen < MAX_RUNS; seen += PAGE) {
    const page = await store.runs({ text: id, before, limit: PAGE })
    matches.push(...page.filter(({ runId }) => runId.startsWith(id) || runId.endsWith(id)))
    before = page.at(-1)?.runId
    if (page.length < PAGE || matches.length > MAX_SHOWN) break
  }
  const [only, ...others] = matches
  if (only === undefined) {
    const text = `No run matches "${sanitizeLine(id)}". List the runs:\nsuperstep runs list`
    throw new SuperstepError("RUN_UNKNOWN", text, { run: id })
  }
  if (others.length === 0) return only
  const shown = matches.slice(0, MAX_SHOWN).map(({ runId }) => runId)
  const more = matches.length > shown.length ? ", …" : ""
  throw usageError(
    `Several runs match "${sanitizeLine(id)}": ${shown.join(", ")}${more}. Write more of the id.`,
  )
}

/** Runs `work` for each run. A failure is printed, and the next run follows. */
export async function forEachRun(
  cli: Cli,
  store: Store,
  runs: readonly StoredRun[],
  work: (runtime: Runtime, runId: string) => Promise<void>,
): Promise<void> {
  const runtime = new Runtime({ store, workflows: [], recover: false })
  try {
    for (const { runId } of runs) {
      try {
        await work(runtime, runId)
      } catch (error) {
        if (!isSuperstepError(error)) throw error
        await printError(error, cli)
        cli.exit(EXIT.failed)
      }
    }
  } finally {
    await runtime.close()
  }
}

/** Without duplicates, in the order of the ids. */
export async function findRuns(
  store: Pick<Store, "run" | "runs">,
  ids: readonly string[],
): Promise<readonly StoredRun[]> {
  const found = await Promise.all(ids.map((id) => findRun(store, id)))
  return [...new Map(found.map((run) => [run.runId, run])).values()]
}
