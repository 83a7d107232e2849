/** Budgets: what is left of those of keys, with a forecast, and runs that one stopped. Both can be raised from here. */
import type { Key, Run } from "@superstep/client"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Link, useLocation } from "wouter"
import { useMay } from "../api/queries.ts"
import { client, queries } from "../api/session.ts"
import { runHref } from "../frame/address.ts"
import { Button } from "../ui/button.tsx"
import { Confirm } from "../ui/confirm.tsx"
import { Field, TextInput } from "../ui/field.tsx"
import { Time } from "../ui/figures.tsx"
import { shortId } from "../ui/format.ts"
import parts from "../ui/parts.module.css"
import { Status } from "../ui/status.tsx"
import { Panel } from "../ui/table.tsx"
import { toast, toastProblem } from "../ui/toast.tsx"
import { amountWords, type BudgetView, type BurnPoint, RUNNING_OUT } from "./budget-view.ts"
import styles from "./costs.module.css"
import { useBudgets } from "./use-budgets.ts"

export function Budgets() {
  const { data } = useBudgets()
  const [raised, setRaised] = useState<Key>()
  return (
    <>
      {data !== undefined && data.length > 0 && (
        <Panel title="Budgets of keys">
          <ul className={styles.budgets}>
            {data
              .toSorted((a, b) => b.view.share - a.view.share)
              .map(({ key, view }) => (
                <li key={key.id}>
                  <Budget apiKey={key} view={view} onRaise={() => setRaised(key)} />
                </li>
              ))}
          </ul>
        </Panel>
      )}
      <StoppedRuns />
      {raised !== undefined && <RaiseDialog apiKey={raised} onClose={() => setRaised(undefined)} />}
    </>
  )
}

function Budget({
  apiKey: { id, name, budget },
  view: { unit, used, limit, share, words, burn, forecast, isPaused },
  onRaise,
}: {
  readonly apiKey: Key
  readonly view: BudgetView
  readonly onRaise: () => void
}) {
  const pause = async () => {
    try {
      await client.request("PATCH /v1/keys/{key}", { path: { key: id }, body: { paused: !isPaused } })
      toast(isPaused ? `${name} starts runs again.` : `${name} starts no more runs. Runs in flight continue.`)
      await queries.invalidateQueries({ queryKey: ["budgets"] })
    } catch (error) {
      toastProblem(error)
    }
  }
  return (
    <div className={styles.budget}>
      <div className={styles.left}>
        <strong>{name}</strong>
        {isPaused ? (
          <Status status="paused" />
        ) : (
          <Status
            status={share >= 1 ? "failed" : share >= RUNNING_OUT ? "waiting" : "completed"}
            word={share >= 1 ? "used up" : share >= RUNNING_OUT ? "running out" : "within"}
          />
        )}
        <span className={parts.calm}>
          {amountWords(used, unit)} of {amountWords(limit, unit)}{" "}
          {budget?.per === "day" ? "today" : "in total"}
        </span>
        <span className={parts.calm}>{words}</span>
      </div>
      <BurnDown name={name} burn={burn} forecast={forecast} words={words} />
      <span className={styles.buttons}>
        <Button aria-label={`${isPaused ? "Resume" : "Pause"} ${name}`} onClick={() => void pause()}>
          {isPaused ? "Resume" : "Pause"}
        </Button>
        <Button aria-label={`Raise the budget of ${name}`} onClick={onRaise}>
          Raise…
        </Button>
      </span>
    </div>
  )
}

const WIDTH = 320
const HEIGHT = 56

/** What was left, as a line; what will be left, dashed. */
function BurnDown({
  name,
  burn,
  forecast,
  words,
}: {
  readonly name: string
  readonly burn: readonly BurnPoint[]
  readonly forecast: readonly BurnPoint[]
  readonly words: string
}) {
  const points = (list: readonly BurnPoint[]) =>
    list
      .map(({ x, left }) => `${(x * WIDTH).toFixed(1)},${(2 + (1 - left) * (HEIGHT - 4)).toFixed(1)}`)
      .join(" ")
  return (
    <svg
      className={styles.burn}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Burn-down of ${name}. ${words}`}
    >
      <line x1="0" y1={HEIGHT - 1} x2={WIDTH} y2={HEIGHT - 1} className={styles.ground} />
      <polyline points={points(burn)} className={styles.burned} />
      <polyline points={points(forecast)} className={styles.forecast} />
    </svg>
  )
}

function RaiseDialog({
  apiKey: { id, name, budget },
  onClose,
}: {
  readonly apiKey: Key
  readonly onClose: () => void
}) {
  const [usd, setUsd] = useState(budget?.usd === undefined ? "" : String(budget.usd))
  const [tokens, setTokens] = useState(budget?.tokens === undefined ? "" : String(budget.tokens))
  const raise = async () => {
    const amount = (text: string) => (text.trim() === "" ? undefined : Number(text))
    const [dollars, words] = [amount(usd), amount(tokens)]
    const per = budget?.per ?? "day"
    const next =
      dollars === undefined && words === undefined
        ? null
        : {
            per,
            ...(dollars !== undefined && { usd: dollars }),
            ...(words !== undefined && { tokens: words }),
          }
    await client.request("PATCH /v1/keys/{key}", { path: { key: id }, body: { budget: next } })
    toast(next === null ? `${name} has no budget any more.` : `Changed the budget of ${name}.`)
    await queries.invalidateQueries({ queryKey: ["budgets"] })
  }
  return (
    <Confirm title={`Budget of ${name}`} verb="Change" look="primary" onConfirm={raise} onClose={onClose}>
      <div className={parts.form}>
        <Field
          label={`US dollars ${budget?.per === "day" ? "a day" : "in total"}`}
          hint="Both empty: no budget."
        >
          {(props) => (
            <TextInput
              {...props}
              inputMode="decimal"
              value={usd}
              onInput={(event) => setUsd(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label={`Tokens ${budget?.per === "day" ? "a day" : "in total"}`}>
          {(props) => (
            <TextInput
              {...props}
              inputMode="numeric"
              value={tokens}
              onInput={(event) => setTokens(event.currentTarget.value)}
            />
          )}
        </Field>
      </div>
    </Confirm>
  )
}

/** Runs that ended because their own budget was used up: a retry with a higher one continues where they stopped. */
function StoppedRuns() {
  const mayRetry = useMay("operator")
  const [run, setRun] = useState<Run>()
  const { data = [] } = useQuery({
    queryKey: ["budget-runs"],
    refetchInterval: 5_000,
    queryFn: async ({ signal }) => {
      const query = { status: "limit", limit: 50 }
      const { runs } = (await client.request("GET /v1/runs", { query, signal })).data
      return runs.filter(({ error }) => error?.code === "BUDGET_EXCEEDED").slice(0, 10)
    },
  })
  if (data.length === 0) return null
  return (
    <Panel title="Runs stopped by their budget">
      <ul className={styles.stopped}>
        {data.map((one) => (
          <li key={one.id}>
            <Status status={one.status} />
            <Link href={runHref(one.id)} className={styles.choose}>
              {one.workflow} {shortId(one.id)}
            </Link>
            <span className={styles.reason}>{one.error?.message}</span>
            <span className={parts.calm}>
              <Time at={one.updatedAt} />
            </span>
            <Button disabled={!mayRetry} aria-label={`Continue ${one.id}`} onClick={() => setRun(one)}>
              Continue…
            </Button>
          </li>
        ))}
      </ul>
      {run !== undefined && <ContinueDialog run={run} onClose={() => setRun(undefined)} />}
    </Panel>
  )
}

function ContinueDialog({ run: { id }, onClose }: { readonly run: Run; readonly onClose: () => void }) {
  const [, navigate] = useLocation()
  const [usd, setUsd] = useState("1")
  const retry = async () => {
    const body = { budget: { usd: Number(usd) } }
    const { data } = await client.request("POST /v1/runs/{run}/retry", { path: { run: id }, body })
    toast("Continues with a higher budget.")
    navigate(runHref(data.id))
  }
  return (
    <Confirm
      title={`Continue ${shortId(id)}`}
      verb="Continue"
      look="primary"
      onConfirm={retry}
      onClose={onClose}
    >
      <Field
        label="Budget in US dollars"
        hint="Of the whole run, with what it has spent. A new run repeats nothing that is recorded."
      >
        {(props) => (
          <TextInput
            {...props}
            inputMode="decimal"
            value={usd}
            onInput={(event) => setUsd(event.currentTarget.value)}
          />
        )}
      </Field>
    </Confirm>
  )
}
