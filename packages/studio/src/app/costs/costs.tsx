/** What runs cost: by day, and by workflow, node, model or key with share and trend. The range and the choices are in the address. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { lazy, type ReactNode, Suspense, useMemo } from "react"
import { Link } from "wouter"
import { client } from "../api/session.ts"
import { type Changes, useAddress } from "../frame/address.ts"
import { Bar } from "../frame/frame.tsx"
import { Who } from "../frame/who.tsx"
import { Button } from "../ui/button.tsx"
import { Select, TextInput } from "../ui/field.tsx"
import { FigureList } from "../ui/figure-list.tsx"
import { Count, Money } from "../ui/figures.tsx"
import { count, money, plural, short } from "../ui/format.ts"
import parts from "../ui/parts.module.css"
import { Empty, Failure, Loading } from "../ui/states.tsx"
import { Panel, Table, type TableColumn } from "../ui/table.tsx"
import { Tabs } from "../ui/tabs.tsx"
import { Budgets } from "./budgets.tsx"
import {
  type CostRow,
  type CostView,
  costView,
  GROUPS,
  type Group,
  RANGE_OPTIONS,
  rangeOf,
  trendWords,
  withBefore,
} from "./cost-view.ts"
import styles from "./costs.module.css"
import { NodeCosts } from "./node-costs.tsx"

const SpendChart = lazy(() => import("./spend-chart.tsx"))
const TITLES: Readonly<Record<Group, string>> = {
  workflow: "Workflow",
  node: "Node",
  model: "Model",
  key: "Key",
  day: "Day",
}

export default function Costs() {
  const [params, setAddress] = useAddress()
  const range = rangeOf(params, Date.now())
  const { from, to, days } = range
  const by = GROUPS.find((one) => one === params.get("by")) ?? "workflow"
  const workflow = params.get("workflow") ?? undefined
  const { data, isError, error, refetch } = useQuery({
    queryKey: ["usage", from, to, by, workflow],
    queryFn: async ({ signal }) => {
      const group = by === "day" ? "day" : by === "node" ? "day,workflow,node" : `day,${by}`
      const query = { ...withBefore({ from, to }), group, workflow }
      return (await client.request("GET /v1/usage", { query, signal })).data
    },
    placeholderData: keepPreviousData,
    // Runs are counted soon after they end: while some are not, the figures are about to change.
    refetchInterval: ({ state }) => ((state.data?.behind ?? 0) > 0 ? 1_000 : 5_000),
  })
  const view = useMemo(
    () => (data === undefined ? undefined : costView(data.groups, { from, to }, by)),
    [data, from, to, by],
  )
  const isNothing = view !== undefined && view.rows.length === 0
  return (
    <>
      <Bar trail={[{ name: "Costs" }]} />
      <Filters range={range} workflow={workflow} set={setAddress} />
      {isError && data === undefined ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : view === undefined || (isNothing && (data?.behind ?? 0) > 0) ? (
        // Nothing counted yet is not nothing spent.
        <Loading lines={12} />
      ) : isNothing ? (
        <Empty icon="costs" title="Nothing was spent in these days">
          <p>
            What ended runs used and cost appears here, by day, workflow, node, model and key. A run counts
            when it ends, on that day of UTC.
          </p>
        </Empty>
      ) : (
        <div className={parts.panels}>
          <Figures total={view.total} days={days} />
          <Panel title="Spend by day">
            <Suspense fallback={<div className={styles.plot} />}>
              <SpendChart days={view.days} />
            </Suspense>
          </Panel>
          <div className={styles.groups}>
            <Tabs
              label="Group by"
              tabs={GROUPS.map((id) => ({ id, label: `By ${id}` }))}
              selected={by}
              onSelect={(id) => setAddress({ by: id === "workflow" ? undefined : id }, { replace: true })}
            />
            <Groups view={view} by={by} set={setAddress} />
          </div>
          {workflow === undefined && <Budgets />}
          {workflow !== undefined && <NodeCosts workflow={workflow} days={days} />}
          <p className={parts.calm}>
            {(data?.behind ?? 0) > 0 && `${plural(data?.behind ?? 0, "event")} are not counted yet. `}
            Runs in flight are not counted. Days are those of UTC.
          </p>
        </div>
      )}
    </>
  )
}

type Set = (changes: Changes, options?: { readonly replace?: boolean }) => void

function Filters({
  range: { from, to, days },
  workflow,
  set,
}: {
  readonly range: ReturnType<typeof rangeOf>
  readonly workflow: string | undefined
  readonly set: Set
}) {
  const isFixed = new URLSearchParams(window.location.search).has("from")
  const choose = (changes: { readonly from?: string; readonly to?: string }) =>
    set({ from, to, days: undefined, ...changes }, { replace: true })
  return (
    <div className={parts.bar}>
      <Select
        label="Range"
        value={isFixed ? "" : String(days)}
        onChange={(value) =>
          value === ""
            ? choose({})
            : set({ days: value === "30" ? undefined : value, from: undefined, to: undefined })
        }
        options={[
          ...RANGE_OPTIONS,
          ...(isFixed || RANGE_OPTIONS.some(([value]) => value === String(days))
            ? []
            : [[String(days), `Last ${days} days`] as const]),
          ["", "From … to …"],
        ]}
      />
      <span className={styles.dates}>
        <TextInput
          type="date"
          aria-label="From"
          value={from}
          max={to}
          onChange={(event) =>
            event.currentTarget.value !== "" && choose({ from: event.currentTarget.value })
          }
        />
        <TextInput
          type="date"
          aria-label="To"
          value={to}
          min={from}
          onChange={(event) => event.currentTarget.value !== "" && choose({ to: event.currentTarget.value })}
        />
      </span>
      {workflow !== undefined && (
        <Button icon="cross" onClick={() => set({ workflow: undefined })}>
          {workflow}
        </Button>
      )}
    </div>
  )
}

function Figures({ total, days }: { readonly total: CostView["total"]; readonly days: number }) {
  const { usd, before, runs, failed, tokens } = total
  return (
    <FigureList
      figures={[
        {
          title: `Spent in ${plural(days, "day")}`,
          value: <Money usd={usd} />,
          about:
            before === 0
              ? `nothing in the ${plural(days, "day")} before`
              : `${trendWords(usd, before)} on the ${plural(days, "day")} before`,
        },
        {
          title: "A day",
          value: <Money usd={usd / days} />,
          about: `${money((usd / days) * 30)} in 30 days`,
        },
        {
          title: "Runs",
          value: <Count value={runs} />,
          about:
            runs === undefined
              ? "not in these groups"
              : failed === 0
                ? "none failed"
                : `${count(failed)} failed`,
        },
        {
          title: "A run",
          value: <Money usd={runs === undefined || runs === 0 ? undefined : usd / runs} />,
          about: "on average",
        },
        {
          title: "Tokens",
          value: <span title={count(tokens)}>{short(tokens)}</span>,
          about: "read and written",
        },
      ]}
    />
  )
}

function Groups({ view, by, set }: { readonly view: CostView; readonly by: Group; readonly set: Set }) {
  const columns: TableColumn<CostRow>[] = [
    { id: "name", title: TITLES[by], cell: ({ name }) => nameOf(name) },
    { id: "usd", title: "Cost", isNumber: true, cell: ({ usd }) => <Money usd={usd} /> },
    {
      id: "share",
      title: "Share",
      isNumber: true,
      cell: ({ share }) => (
        <span className={styles.share}>
          <meter min={0} max={1} value={share} aria-hidden="true" />
          <span>{Math.round(100 * share)}%</span>
        </span>
      ),
    },
    {
      id: "trend",
      title: "Trend",
      isNumber: true,
      cell: ({ usd, before }) => (
        <span title={`${money(before)} in as many days before`}>{trendWords(usd, before)}</span>
      ),
    },
    { id: "runs", title: "Runs", isNumber: true, isExtra: true, cell: ({ runs }) => <Count value={runs} /> },
    {
      id: "failed",
      title: "Failed",
      isNumber: true,
      isExtra: true,
      cell: ({ runs, failed }) => (runs === undefined ? "–" : count(failed)),
    },
    {
      id: "tokens",
      title: "Tokens",
      isNumber: true,
      isExtra: true,
      cell: ({ tokens }) => <Count value={tokens} />,
    },
  ]
  const shown = columns.filter(
    ({ id }) =>
      !((by === "model" || by === "node") && (id === "runs" || id === "failed")) &&
      !(by === "day" && id === "trend"),
  )
  return <Table label={`Cost by ${by}`} columns={shown} rows={view.rows} idOf={({ name }) => name} />

  function nameOf(name: string): ReactNode {
    if (by === "workflow") {
      return (
        <button
          type="button"
          className={styles.choose}
          title={`Only ${name}, with its nodes`}
          onClick={() => set({ workflow: name })}
        >
          {name}
        </button>
      )
    }
    if (by === "key") return name === "" ? <em>no key</em> : <Who id={`key:${name}`} />
    if (by === "node") return name
    if (by === "model") return name === "" ? <em>not of a model</em> : name
    return <Link href={`/costs?by=workflow&from=${name}&to=${name}`}>{name}</Link>
  }
}
