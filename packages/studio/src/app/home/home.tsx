/** What needs a person now, what is running, how the last runs went, and what comes next. On an empty store, how to start. */
import type { Run } from "@superstep/client"
import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Link } from "wouter"
import { MAX_OPEN, useNewestRuns, useOpenRequests, useWorkflows } from "../api/queries.ts"
import { client } from "../api/session.ts"
import { RUNNING_OUT } from "../costs/budget-view.ts"
import { useBudgets } from "../costs/use-budgets.ts"
import { runHref } from "../frame/address.ts"
import { Bar } from "../frame/frame.tsx"
import { requestOf } from "../inbox/open-request.ts"
import { questionOf, whereItIs } from "../runs/run-list.ts"
import { LinkButton } from "../ui/button.tsx"
import { Time } from "../ui/figures.tsx"
import { count, line, money, plural, shortId } from "../ui/format.ts"
import { Failure, Loading } from "../ui/states.tsx"
import { StatusIcon } from "../ui/status.tsx"
import { activity, type Bucket } from "./activity.ts"
import { FirstRun } from "./first-run.tsx"
import styles from "./home.module.css"

const FAILED = { status: "failed,limit,quarantined" }
const ACTIVE = { status: "running,queued" }
const RECENT = 500

export function Home() {
  const requests = useOpenRequests()
  const failed = useNewestRuns(FAILED, 6)
  const active = useNewestRuns(ACTIVE, 6)
  const recent = useNewestRuns({}, RECENT)
  const isEmpty = recent.data?.length === 0
  return (
    <>
      <Bar trail={[{ name: "Home" }]}>
        {!isEmpty && (
          <LinkButton href="/workflows" icon="play">
            Start a run
          </LinkButton>
        )}
      </Bar>
      {recent.isError && recent.data === undefined ? (
        <Failure error={recent.error} retry={() => void recent.refetch()} />
      ) : recent.data === undefined ? (
        <Loading lines={10} />
      ) : isEmpty ? (
        <FirstRun />
      ) : (
        <div className={styles.home}>
          <Card
            title="Waiting for a person"
            href="/inbox"
            count={requests.data?.length}
            isMore={requests.data?.length === MAX_OPEN}
          >
            {requests.data?.slice(0, 6).map((one) => (
              <Entry
                key={`${one.run}/${one.id}`}
                href={`/inbox?q=${encodeURIComponent(`${one.run}/${one.id}`)}`}
                status="waiting"
                title={line(requestOf(one.id, one.request).prompt, 100)}
                about={`${one.workflow} ${shortId(one.run)}`}
                at={one.openedAt}
              />
            ))}
            {requests.data?.length === 0 && <p className={styles.calm}>No run waits for a person.</p>}
          </Card>
          <Card
            title="Failed"
            href={`/runs?status=${FAILED.status}`}
            count={failed.data?.length === 6 ? undefined : failed.data?.length}
          >
            {failed.data?.map((run) => (
              <RunEntry key={run.id} run={run} />
            ))}
            {failed.data?.length === 0 && <p className={styles.calm}>Nothing has failed.</p>}
          </Card>
          <Card
            title="Executing"
            href="/runs?status=running"
            count={active.data?.length === 6 ? undefined : active.data?.length}
          >
            {active.data?.map((run) => (
              <RunEntry key={run.id} run={run} />
            ))}
            {active.data?.length === 0 && <p className={styles.calm}>Nothing executes right now.</p>}
          </Card>
          <BudgetCard />
          <Activity runs={recent.data} />
          <NextSchedules />
          <WorkflowCards />
        </div>
      )}
    </>
  )
}

function RunEntry({ run }: { readonly run: Run }) {
  return (
    <Entry
      href={runHref(run.id)}
      status={run.status}
      title={run.error === undefined ? `${run.workflow} ${shortId(run.id)}` : line(run.error.message, 100)}
      about={
        run.error === undefined
          ? whereItIs(run, questionOf({ request: undefined }), Date.now())
          : `${run.workflow} ${shortId(run.id)}`
      }
      at={run.updatedAt}
    />
  )
}

interface CardProps {
  readonly title: string
  readonly href?: string
  readonly count?: number | undefined
  /** There are more than these. */
  readonly isMore?: boolean
  readonly children: ReactNode
}

function Card({ title, href, count: amount, isMore = false, children }: CardProps) {
  return (
    <section className={styles.card}>
      <header className={styles.head}>
        <h2>
          {title}
          {amount !== undefined && amount > 0 && (
            <span className={styles.count}>{`${count(amount)}${isMore ? "+" : ""}`}</span>
          )}
        </h2>
        {href !== undefined && (
          <Link href={href} className={styles.all}>
            Show all<span className="visually-hidden"> of {title}</span>
          </Link>
        )}
      </header>
      {children}
    </section>
  )
}

interface EntryProps {
  readonly href: string
  readonly status: string
  readonly title: string
  readonly about: string
  readonly at: number | undefined
}

function Entry({ href, status, title, about, at }: EntryProps) {
  return (
    <Link href={href} className={styles.entry}>
      <StatusIcon status={status} />
      <span className={styles.words}>
        <span className={styles.title}>{title}</span>
        <span className={styles.about}>{about}</span>
      </span>
      {at !== undefined && (
        <span className={styles.about}>
          <Time at={at} />
        </span>
      )}
    </Link>
  )
}

/** The newest runs over time, by how they ended. */
function Activity({ runs }: { readonly runs: readonly Run[] }) {
  const buckets = activity(runs, Date.now())
  const highest = Math.max(1, ...buckets.map(({ good, bad, other }) => good + bad + other))
  const done = runs.filter(({ status }) => status === "completed").length
  const failed = runs.filter(({ status }) => status === "failed" || status === "limit").length
  return (
    <Card
      title={runs.length === RECENT ? `The last ${count(RECENT)} runs` : plural(runs.length, "run")}
      href="/runs"
    >
      <figure
        className={styles.chart}
        aria-label={`${done} completed, ${failed} failed, ${runs.length - done - failed} other`}
      >
        {buckets.map((bucket) => (
          <BucketBar key={bucket.from} bucket={bucket} highest={highest} />
        ))}
      </figure>
      <Spend />
      <p className={styles.legend}>
        <span data-tone="good">{count(done)} completed</span>
        <span data-tone="bad">{count(failed)} failed</span>
        <span data-tone="other">{count(runs.length - done - failed)} other</span>
      </p>
    </Card>
  )
}

function BucketBar({ bucket, highest }: { readonly bucket: Bucket; readonly highest: number }) {
  const share = (value: number) => ({ height: `${(100 * value) / highest}%` })
  const total = bucket.good + bucket.bad + bucket.other
  return (
    <span
      className={styles.column}
      title={`${plural(total, "run")}, ${bucket.bad} failed; ${new Date(bucket.from).toLocaleTimeString()} – ${new Date(bucket.to).toLocaleTimeString()}`}
    >
      <span data-tone="other" style={share(bucket.other)} />
      <span data-tone="bad" style={share(bucket.bad)} />
      <span data-tone="good" style={share(bucket.good)} />
    </span>
  )
}

/** What runs that ended today have used. */
function Spend() {
  const { data } = useQuery({
    queryKey: ["home", "spend"],
    queryFn: async ({ signal }) =>
      (
        await client.request("GET /v1/usage", {
          query: { from: new Date().toISOString().slice(0, 10) },
          signal,
        })
      ).data.total.usage,
    refetchInterval: 10_000,
  })
  const { usd = 0, inputTokens = 0, outputTokens = 0 } = data ?? {}
  return (
    <p className={styles.spend}>
      <Link href="/costs">
        <strong>{data === undefined ? "–" : money(usd)}</strong> today, {count(inputTokens + outputTokens)}{" "}
        tokens
      </Link>
    </p>
  )
}

function BudgetCard() {
  const { data = [] } = useBudgets()
  const low = data.filter(({ view }) => view.share >= RUNNING_OUT)
  if (low.length === 0) return null
  return (
    <Card title="Budgets running out" href="/costs" count={low.length}>
      {low.slice(0, 6).map(({ key, view }) => (
        <Entry
          key={key.id}
          href="/costs"
          status={view.share >= 1 ? "limit" : "waiting"}
          title={key.name}
          about={`${Math.round(100 * view.share)}% is spent`}
          at={undefined}
        />
      ))}
    </Card>
  )
}

function NextSchedules() {
  const { data = [] } = useQuery({
    queryKey: ["home", "schedules"],
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/schedules", { query: { limit: 200 }, signal })).data.schedules,
    refetchInterval: 10_000,
  })
  const next = data
    .filter(({ isPaused, nextAt }) => !isPaused && nextAt !== undefined)
    .sort((a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0))
  if (next.length === 0) return null
  return (
    <Card title="Next schedules" href="/schedules">
      {next.slice(0, 6).map(({ id, workflow, nextAt }) => (
        <Entry
          key={id}
          href={`/schedules?s=${encodeURIComponent(id)}`}
          status="queued"
          title={id}
          about={workflow}
          at={nextAt}
        />
      ))}
    </Card>
  )
}

function WorkflowCards() {
  const { data = [] } = useWorkflows()
  if (data.length === 0) return null
  return (
    <Card title="Workflows" href="/workflows">
      {data.slice(0, 6).map(({ name, nodes }) => (
        <Link key={name} href={`/workflows/${encodeURIComponent(name)}`} className={styles.entry}>
          <span className={styles.words}>
            <span className={styles.title}>{name}</span>
            <span className={styles.about}>{plural(nodes.length, "node")}</span>
          </span>
          <span className={styles.about}>Start</span>
        </Link>
      ))}
    </Card>
  )
}
