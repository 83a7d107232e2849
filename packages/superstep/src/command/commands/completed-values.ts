/** `superstep __complete KIND WORDS…`: the values that a shell completes, one per line. It never fails, and creates no store. */
import { existsSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import type { Cli } from "../cli.ts"
import { openStore, storeAddress } from "../open/store.ts"
import { shortId } from "../run/find-run.ts"
import { isRecord } from "../run/read-input.ts"

export type CompletedKind = "runs" | "definitions" | "agents" | "threads" | "registered" | "schedules"

const MAX_VALUES = 100
const MAX_BYTES = 1_000_000

export async function completeValues(cli: Cli, [kind, ...words]: readonly string[]): Promise<void> {
  try {
    const values = kind === "agents" ? await agentsIn(cli, words) : await valuesInStore(cli, kind, words)
    // A value with spaces or control characters cannot be completed safely.
    for (const value of new Set(values)) if (/^[\w./:@%+,=-]+$/.test(value)) cli.out.line(value)
  } catch {
    // The shell then offers files.
  }
}

/** The agents of the first file on the command line. */
async function agentsIn({ io }: Cli, words: readonly string[]): Promise<readonly string[]> {
  const file = words
    .map((word) => resolve(io.cwd, word))
    .find((path) => /\.(?:ya?ml|json)$/i.test(path) && existsSync(path))
  if (file === undefined) return []
  const text = readFileSync(file, "utf8")
  if (text.length > MAX_BYTES) return []
  const { parseDocument } = await import("@superstep/engine/definitions")
  const data = parseDocument(text, file).document?.data
  return isRecord(data) && isRecord(data.agents) ? Object.keys(data.agents) : []
}

async function valuesInStore(
  { io }: Cli,
  kind: string | undefined,
  words: readonly string[],
): Promise<readonly string[]> {
  const flag = words.indexOf("--store")
  const url = flag < 0 ? undefined : words[flag + 1]
  const { path } = storeAddress(url, io.cwd)
  if (path !== undefined && !existsSync(path)) return []
  const store = await openStore(url, io)
  try {
    if (kind === "schedules") return (await store.schedules.list({ limit: MAX_VALUES })).map(({ id }) => id)
    if (kind === "definitions" || kind === "registered") {
      const agents = kind === "registered" ? await store.registry.agents() : []
      return [...(await store.registry.definitions()), ...agents].map(({ id }) => id)
    }
    const runs = await store.runs({ limit: MAX_VALUES })
    return kind === "runs"
      ? runs.map(({ runId }) => shortId(runId))
      : runs.flatMap(({ thread }) => thread ?? [])
  } finally {
    await store.close()
  }
}
