/** Cost, tokens and place of the runs that are on the screen: asked for together, and again when a run has changed. */
import type { Run } from "@superstep/client"
import { useQuery } from "@tanstack/react-query"
import { client } from "../api/session.ts"
import { Count, Money } from "../ui/figures.tsx"
import { type Question, whereItIs } from "./run-list.ts"

interface Glance {
  readonly usd?: number | undefined
  readonly tokens: number
  readonly nodes: readonly string[]
}

const MAX_ASKED = 50
/** Milliseconds in which cells that appear are asked for together. */
const WAIT = 16

let waiting = new Map<string, ((glance: Glance | null) => void)[]>()

function load(run: string): Promise<Glance | null> {
  return new Promise((resolve) => {
    if (waiting.size === 0) setTimeout(() => void ask(), WAIT)
    waiting.set(run, [...(waiting.get(run) ?? []), resolve])
  })
}

async function ask(): Promise<void> {
  const asked = waiting
  waiting = new Map()
  const ids = [...asked.keys()]
  for (let i = 0; i < ids.length; i += MAX_ASKED) {
    const run = ids.slice(i, i + MAX_ASKED)
    const found = await client
      .request("GET /v1/usage/runs", { query: { run } })
      .then(({ data }) => new Map(data.runs.map((one) => [one.run, one])))
      .catch(() => new Map<string, Glance>())
    for (const id of run) for (const resolve of asked.get(id) ?? []) resolve(found.get(id) ?? null)
  }
}

function useGlance({ id, updatedAt }: Run): Glance | null | undefined {
  return useQuery({
    queryKey: ["glance", id, updatedAt],
    queryFn: () => load(id),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  }).data
}

export function RunCost({ run }: { readonly run: Run }) {
  return <Money usd={useGlance(run)?.usd} />
}

export function RunTokens({ run }: { readonly run: Run }) {
  const glance = useGlance(run)
  return glance === undefined || glance === null ? <>–</> : <Count value={glance.tokens} />
}

export function RunPlace({ run, question }: { readonly run: Run; readonly question: Question | undefined }) {
  return <>{whereItIs(run, question, Date.now(), useGlance(run)?.nodes)}</>
}
