/** The store: what it holds and how large it is, and deleting finished runs by a policy, after a dry run. */
import type { Storage as StorageData } from "@superstep/client"
import { useQuery } from "@tanstack/react-query"
import { type FormEvent, useState } from "react"
import { useMay } from "../api/queries.ts"
import { client, queries } from "../api/session.ts"
import { NeedsRole } from "../frame/needs-role.tsx"
import { Button } from "../ui/button.tsx"
import { Confirm } from "../ui/confirm.tsx"
import { Field, TextInput } from "../ui/field.tsx"
import { FigureList } from "../ui/figure-list.tsx"
import { Count, Time } from "../ui/figures.tsx"
import { bytes, count, plural } from "../ui/format.ts"
import parts from "../ui/parts.module.css"
import { Failure, Loading } from "../ui/states.tsx"
import { Status } from "../ui/status.tsx"
import { Panel, Table } from "../ui/table.tsx"
import { toast, toastProblem } from "../ui/toast.tsx"
import { policyOf, retentionWords } from "./retention.ts"
import styles from "./settings.module.css"

export function Storage() {
  const mayManage = useMay("admin")
  const { data, isError, error, refetch } = useQuery({
    queryKey: ["storage"],
    enabled: mayManage,
    queryFn: async ({ signal }) => (await client.request("GET /v1/storage", { signal })).data,
    refetchInterval: 10_000,
  })
  if (!mayManage) {
    return (
      <div className={styles.lead}>
        <NeedsRole needs="admin" to="see the store" />
      </div>
    )
  }
  if (isError && data === undefined) return <Failure error={error} retry={() => void refetch()} />
  if (data === undefined) return <Loading lines={10} />
  return (
    <div className={parts.panels}>
      <Contents storage={data} />
      <Retention storage={data} />
      <Panel title="Workflows">
        <Table
          label="Size by workflow"
          rows={data.workflows}
          idOf={({ workflow }) => workflow}
          columns={[
            { id: "workflow", title: "Workflow", cell: ({ workflow }) => workflow },
            { id: "runs", title: "Runs", isNumber: true, cell: ({ runs }) => <Count value={runs} /> },
            { id: "size", title: "Size", isNumber: true, cell: (one) => bytes(one.bytes) },
          ]}
        />
      </Panel>
      <Panel title="Readers of events">
        <Table
          label="Readers of events"
          rows={data.consumers}
          idOf={({ consumer }) => consumer}
          columns={[
            { id: "consumer", title: "Consumer", cell: ({ consumer }) => <code>{consumer}</code> },
            {
              id: "lag",
              title: "Left to read",
              isNumber: true,
              cell: ({ lag }) => <Count value={lag} />,
            },
          ]}
        />
      </Panel>
    </div>
  )
}

function Contents({ storage }: { readonly storage: StorageData }) {
  const { runs, journal, snapshots, blobs, threads, disk } = storage
  const all = Object.values(runs).reduce((sum, one) => sum + one, 0)
  const figures = [
    { title: "Runs", value: count(all), about: plural(Object.keys(runs).length, "status", "statuses") },
    { title: "Journals", value: bytes(journal.bytes), about: plural(journal.count, "record") },
    { title: "Snapshots", value: bytes(snapshots.bytes), about: plural(snapshots.count, "snapshot") },
    { title: "Large values", value: bytes(blobs.bytes), about: plural(blobs.count, "value") },
    { title: "Threads", value: bytes(threads.bytes), about: plural(threads.count, "thread") },
    ...(disk === undefined
      ? []
      : [{ title: "On disk", value: bytes(disk.bytes), about: `${bytes(disk.free)} can be used again` }]),
  ]
  return (
    <section aria-label="Contents of the store">
      <FigureList figures={figures} />
      <p className={styles.statuses}>
        {Object.entries(runs).map(([status, number]) => (
          <Status key={status} status={status} word={`${count(number)} ${status}`} />
        ))}
      </p>
    </section>
  )
}

function Retention({ storage: { retention } }: { readonly storage: StorageData }) {
  const [days, setDays] = useState(
    String(retention.maxAge === undefined ? 30 : retention.maxAge / 86_400_000),
  )
  const [keep, setKeep] = useState(retention.keep === undefined ? "" : String(retention.keep))
  const [found, setFound] = useState<{ readonly count: number; readonly bytes: number }>()
  const [isBusy, setBusy] = useState(false)
  const [asking, setAsking] = useState<"delete" | "store">()
  const { policy, problem } = policyOf(days, keep)
  const prune = async (dryRun: boolean) =>
    (await client.request("POST /v1/storage/prune", { body: { ...policy, dryRun } })).data
  const look = async (event: FormEvent) => {
    event.preventDefault()
    if (problem !== undefined) return
    setBusy(true)
    try {
      setFound(await prune(true))
    } catch (error) {
      toastProblem(error)
    }
    setBusy(false)
  }
  const change = (set: (text: string) => void) => (text: string) => {
    set(text)
    setFound(undefined)
  }
  const removePolicy = async () => {
    try {
      await client.request("DELETE /v1/storage/retention", {})
      await queries.invalidateQueries({ queryKey: ["storage"] })
    } catch (error) {
      toastProblem(error)
    }
  }
  return (
    <Panel
      title="Retention"
      aside={
        <span className={parts.calm}>
          {retentionWords(retention)}
          {retention.setBy !== undefined && (
            <>
              , set by {retention.setBy} <Time at={retention.setAt ?? 0} />
            </>
          )}
        </span>
      }
    >
      <form className={styles.retention} onSubmit={look} noValidate>
        <Field label="Ended longer ago than, in days" hint="Empty: however old they are." problem={problem}>
          {(props) => (
            <TextInput
              {...props}
              inputMode="decimal"
              value={days}
              onInput={(event) => change(setDays)(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Keep the newest of each workflow" hint="Empty: any number.">
          {(props) => (
            <TextInput
              {...props}
              inputMode="numeric"
              value={keep}
              onInput={(event) => change(setKeep)(event.currentTarget.value)}
            />
          )}
        </Field>
        <div className={styles.row}>
          <Button type="submit" isBusy={isBusy} disabled={problem !== undefined}>
            Dry run
          </Button>
          <Button
            look="danger"
            disabled={found === undefined || found.count === 0}
            onClick={() => setAsking("delete")}
          >
            Delete…
          </Button>
          <Button disabled={found === undefined} onClick={() => setAsking("store")}>
            Store as policy…
          </Button>
          {retention.setBy !== undefined && (
            <Button look="quiet" onClick={() => void removePolicy()}>
              Remove the policy
            </Button>
          )}
          <span role="status">
            {found !== undefined &&
              (found.count === 0
                ? "Nothing would be deleted."
                : `${plural(found.count, "run")} with ${bytes(found.bytes)} would be deleted.`)}
          </span>
        </div>
        <p className={parts.calm}>
          A run is deleted if either applies. Runs that are not finished, pinned runs and runs that forks need
          always stay.
        </p>
      </form>
      {asking === "store" && found !== undefined && (
        <Confirm
          title="Store as policy"
          verb="Store"
          onClose={() => setAsking(undefined)}
          onConfirm={async () => {
            const { olderThan: maxAge, keep: newest } = policy
            const body = {
              ...(maxAge !== undefined && { maxAge }),
              ...(newest !== undefined && { keep: newest }),
            }
            await client.request("PUT /v1/storage/retention", { body })
            toast("The policy is stored. Servers and workers apply it within the hour.")
            await queries.invalidateQueries({ queryKey: ["storage"] })
          }}
        >
          <p>
            All servers and workers of this store delete by it from now on, each once an hour, in place of
            what their code says. Right now, it is for {plural(found.count, "run")}.
          </p>
        </Confirm>
      )}
      {asking === "delete" && found !== undefined && (
        <Confirm
          title={`Delete ${plural(found.count, "run")}`}
          verb="Delete"
          onClose={() => setAsking(undefined)}
          onConfirm={async () => {
            const gone = await prune(false)
            toast(`Deleted ${plural(gone.count, "run")}, ${bytes(gone.bytes)}.`)
            setFound(undefined)
            await queries.invalidateQueries()
          }}
        >
          <p>Their events, state and results are gone for good. What they cost stays in the figures.</p>
        </Confirm>
      )}
    </Panel>
  )
}
