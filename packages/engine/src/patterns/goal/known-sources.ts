/** The sources of a pipeline, one line each, for the agent that says what a question is about. */
import type { Context } from "../../runtime/index.ts"
import { clipped } from "../../text/index.ts"
import { withTimeLimit } from "../../tools/index.ts"
import { isNoFailure, messageOf, tried } from "../failures.ts"
import { neutral } from "./answer/evidence.ts"
import { type GoalConfig, type GoalSearch, isRetriever, searchesGraph } from "./goal-config.ts"

const MAX_SOURCES = 30
const MAX_LINE = 240
/** Milliseconds for a source to describe itself; by then its name has to do. */
const MAX_WAIT = 2_000

/** Empty where nothing is known. Sources that cannot be listed are reported by the search that needs them. */
export async function knownSources(config: GoalConfig, ctx: Context): Promise<readonly string[]> {
  const { databases = config.sql?.databases, graph, vector } = config
  if (databases === undefined && graph === undefined && vector === undefined) return []
  const listed = await tried(ctx, "list the sources", async () => {
    const known = (await orNone(ctx, async (signal) => await databases?.listDatabases({ signal }))) ?? []
    const lines = known.map(({ id, name, kind }) =>
      lineOf(kind === "csv" ? "files" : "database", `"${id}"`, name === id ? kind : `${name} (${kind})`),
    )
    if (vector !== undefined) lines.push(lineOf("documents", vector.name, await described(vector, ctx)))
    if (graph !== undefined && searchesGraph(config)) {
      lines.push(lineOf("graph", graph.name, await described(graph, ctx)))
    }
    return lines
  })
  if (!listed.ok) return []
  const lines = listed.value
  if (lines.length <= MAX_SOURCES) return lines
  return [...lines.slice(0, MAX_SOURCES), `- and ${lines.length - MAX_SOURCES} more`]
}

function lineOf(kind: string, name: string, about: string | undefined): string {
  const text = about === undefined || about === name ? name : `${name}: ${about}`
  return `- ${kind} ${clipped(neutral(text).replace(/\s+/g, " ").trim(), MAX_LINE)}`
}

async function described(search: GoalSearch, ctx: Context): Promise<string | undefined> {
  if (!isRetriever(search) || search.describe === undefined) return undefined
  return await orNone(ctx, async (signal) => await search.describe?.({ signal }))
}

async function orNone<T>(
  ctx: Context,
  list: (signal: AbortSignal) => Promise<T | undefined>,
): Promise<T | undefined> {
  const { clock, signal } = ctx
  const timedOut = () => new Error(`it took more than ${MAX_WAIT} ms`)
  try {
    return await withTimeLimit({ clock, milliseconds: MAX_WAIT, signal, timedOut }, list)
  } catch (error) {
    if (isNoFailure(error, ctx)) throw error
    ctx.log("debug", `A source cannot be listed: ${messageOf(error)}`)
    return undefined
  }
}
