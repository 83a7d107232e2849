/** Where a workflow spends money and time, and where it fails: its nodes over many runs, on the graph and as a table. */
import { useQuery } from "@tanstack/react-query"
import { lazy, type ReactNode, Suspense, useMemo } from "react"
import { useWorkflowGraph } from "../api/queries.ts"
import { client } from "../api/session.ts"
import { useAddress } from "../frame/address.ts"
import { graphModel } from "../run/graph/graph-model.ts"
import { RunHistory } from "../run/history.ts"
import { ToggleChip } from "../ui/chip.tsx"
import { Count, Money } from "../ui/figures.tsx"
import { duration, plural } from "../ui/format.ts"
import parts from "../ui/parts.module.css"
import { Failure, Loading } from "../ui/states.tsx"
import { Panel, Table } from "../ui/table.tsx"
import { HEATS, type Heat as HeatBy, heatMarks, type NodeHeat, nodeHeat } from "./cost-view.ts"
import styles from "./costs.module.css"

const RunGraph = lazy(async () => ({ default: (await import("../run/graph/run-graph.tsx")).RunGraph }))
const NOTHING = new RunHistory()
const WORDS: Readonly<Record<HeatBy, string>> = { cost: "Cost", time: "Time", failures: "Failures" }

export function NodeCosts({ workflow, days }: { readonly workflow: string; readonly days: number }) {
  const { data, isError, error, refetch } = useQuery({
    queryKey: ["statistics", workflow, days],
    queryFn: async ({ signal }) =>
      (
        await client.request("GET /v1/workflows/{workflow}/statistics", {
          path: { workflow },
          query: { days },
          signal,
        })
      ).data,
  })
  const { successRate, p50, p95 } = data ?? {}
  const facts = [
    successRate === undefined ? [] : [`${Math.round(100 * successRate)}% completed`],
    p50 === undefined ? [] : [`median ${duration(p50)}`],
    p95 === undefined ? [] : [`95% within ${duration(p95)}`],
  ].flat()
  return (
    <Panel
      title={`Nodes of ${workflow}, last ${plural(days, "day")}`}
      aside={<span className={parts.calm}>{facts.join(", ")}</span>}
    >
      {isError && data === undefined ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <Loading lines={5} />
      ) : data.nodes.length === 0 ? (
        <p className={styles.none}>No run of this workflow has ended in these days.</p>
      ) : (
        <>
          <HeatGraph workflow={workflow} nodes={nodeHeat(data.nodes)} />
          <Table
            label={`Nodes of ${workflow}`}
            rows={nodeHeat(data.nodes)}
            idOf={({ id }) => id}
            columns={[
              { id: "id", title: "Node", cell: ({ id }) => id },
              { id: "tasks", title: "Tasks", isNumber: true, cell: ({ tasks }) => <Count value={tasks} /> },
              {
                id: "cost",
                title: "Cost",
                isNumber: true,
                cell: ({ usd, heat }) => (
                  <Heat value={heat.cost}>
                    <Money usd={usd} />
                  </Heat>
                ),
              },
              {
                id: "took",
                title: "Took, on average",
                isNumber: true,
                cell: ({ took, heat }) => <Heat value={heat.time}>{duration(took)}</Heat>,
              },
              {
                id: "failed",
                title: "Failed",
                isNumber: true,
                cell: ({ failed, tasks, heat }) => (
                  <Heat value={heat.failures} isBad>
                    {failed === 0 ? "0" : `${failed} (${Math.round((100 * failed) / Math.max(1, tasks))}%)`}
                  </Heat>
                ),
              },
            ]}
          />
        </>
      )}
    </Panel>
  )
}

/** The same figures on the graph: the more of all cost, time or failures a node has, the stronger its colour. */
function HeatGraph({ workflow, nodes }: { readonly workflow: string; readonly nodes: readonly NodeHeat[] }) {
  const [params, setAddress] = useAddress()
  const by = HEATS.find((one) => one === params.get("heat")) ?? "cost"
  const { data } = useWorkflowGraph(workflow)
  const model = useMemo(() => (data === undefined ? undefined : graphModel(data.graph)), [data])
  const heat = useMemo(() => heatMarks(nodes, by), [nodes, by])
  return (
    <>
      <div className={styles.heats} role="group" aria-label="Colour the graph by">
        {HEATS.map((one) => (
          <ToggleChip
            key={one}
            isOn={one === by}
            onToggle={() => setAddress({ heat: one === "cost" ? undefined : one }, { replace: true })}
          >
            {WORDS[one]}
          </ToggleChip>
        ))}
      </div>
      <div className={styles.graph}>
        <Suspense fallback={<Loading lines={6} label="Loading the graph" />}>
          <RunGraph
            history={NOTHING}
            version={0}
            point={0}
            selection={undefined}
            select={() => undefined}
            model={model}
            error={undefined}
            heat={heat}
          />
        </Suspense>
      </div>
    </>
  )
}

/** The figure, with a background that is stronger for a hotter one. */
function Heat({
  value,
  isBad = false,
  children,
}: {
  readonly value: number
  readonly isBad?: boolean
  readonly children: ReactNode
}) {
  return (
    <span
      className={`${styles.heat} ${isBad ? styles.failing : ""}`}
      style={{ "--heat": `${Math.round(100 * value)}%` } as object}
    >
      {children}
    </span>
  )
}
