/** A workflow at a glance: its graph, how its runs of the last days did, a form that starts one, and the last ones. */
import type { Definition, Statistics } from "@superstep/client"
import { useMemo, useState } from "react"
import { Link } from "wouter"
import { useWorkflowGraph } from "../api/queries.ts"
import { runHref, useAddress } from "../frame/address.ts"
import { graphModel } from "../run/graph/graph-model.ts"
import { RunGraph } from "../run/graph/run-graph.tsx"
import { RunHistory } from "../run/history.ts"
import type { Selection } from "../run/selection.ts"
import { Button } from "../ui/button.tsx"
import { Time } from "../ui/figures.tsx"
import { count, duration, money, shortId } from "../ui/format.ts"
import { Empty, Failure } from "../ui/states.tsx"
import { Status } from "../ui/status.tsx"
import { useStatistics } from "./definition-queries.ts"
import styles from "./overview.module.css"
import { Start } from "./start.tsx"

const NOTHING = new RunHistory()

interface OverviewProps {
  readonly name: string
  readonly definition: Definition | undefined
}

export function Overview({ name, definition }: OverviewProps) {
  const isDraft = definition?.source === "store" && definition.published === undefined
  if (isDraft) return <NotPublished definition={definition} />
  return <Published name={name} definition={definition} />
}

function Published({ name, definition }: OverviewProps) {
  const graph = useWorkflowGraph(name)
  const [selection, select] = useState<Selection>()
  const { data: statistics } = useStatistics(name)
  const model = useMemo(
    () => (graph.data === undefined ? undefined : graphModel(graph.data.graph)),
    [graph.data],
  )
  if (graph.isError && graph.data === undefined) {
    return <Failure error={graph.error} retry={() => void graph.refetch()} />
  }
  return (
    <div className={styles.overview}>
      <section className={styles.stage} aria-label="Graph">
        <Figures statistics={statistics} />
        <RunGraph
          history={NOTHING}
          version={0}
          point={0}
          selection={selection}
          select={select}
          model={model}
          error={graph.error}
        />
      </section>
      <aside className={styles.side} aria-label="Start">
        {model !== undefined && (
          // The versions to choose from are part of the form's state.
          <Start
            key={`${definition?.published}/${definition?.latest}`}
            workflow={name}
            schema={model.input}
            definition={definition}
          />
        )}
        <LastRuns runs={statistics?.last ?? []} />
      </aside>
    </div>
  )
}

function NotPublished({ definition }: { readonly definition: Definition }) {
  const [, setAddress] = useAddress()
  return (
    <div className={styles.draft}>
      <Empty icon="workflows" title="Not published yet">
        <p>Runs of this workflow start with its published version. You can try a draft from here.</p>
        <Button onClick={() => setAddress({ v: "definition" })}>Open the definition</Button>
      </Empty>
      <div className={styles.try}>
        <Start workflow={definition.name} schema={undefined} definition={definition} />
      </div>
    </div>
  )
}

/** Of the last seven days, as the server counts them. The place is kept while they load. */
function Figures({ statistics }: { readonly statistics: Statistics | undefined }) {
  const { runs, successRate, p50, p95, usage = {} } = statistics ?? {}
  const ended = Object.values(runs ?? {}).reduce((sum, one) => sum + one, 0)
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  const figures: readonly (readonly [name: string, value: string])[] = [
    ["Runs, 7 days", runs === undefined ? "–" : count(ended)],
    ["Completed", successRate === undefined ? "–" : `${Math.round(100 * successRate)}%`],
    ["Median", p50 === undefined ? "–" : duration(p50)],
    ["p95", p95 === undefined ? "–" : duration(p95)],
    ["Cost", usage.usd === undefined ? "–" : money(usage.usd)],
    ["Tokens", tokens === 0 ? "–" : count(tokens)],
  ]
  return (
    <dl className={styles.figures}>
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function LastRuns({ runs }: { readonly runs: Statistics["last"] }) {
  if (runs.length === 0) return null
  return (
    <section className={styles.runs}>
      <h2>Last runs</h2>
      <ul>
        {runs.map(({ id, status, createdAt }) => (
          <li key={id}>
            <Link href={runHref(id)} className={styles.run}>
              <Status status={status} />
              <code>{shortId(id)}</code>
              <Time at={createdAt} />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}
