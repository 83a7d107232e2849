/** Cancels, retries, reruns or deletes many runs: first a dry run that lists them, then one request after the other. */
import type { BulkResult, Run } from "@superstep/client"
import { useEffect, useRef, useState } from "react"
import { client } from "../api/session.ts"
import { Button } from "../ui/button.tsx"
import { Dialog } from "../ui/dialog.tsx"
import { Field, Select } from "../ui/field.tsx"
import { plural, shortId } from "../ui/format.ts"
import { Failure, Loading } from "../ui/states.tsx"
import { Status } from "../ui/status.tsx"
import { ACTIONS, type Action, actionsFor, applies, bulkFilter, type ListFilter } from "./run-list.ts"
import styles from "./runs.module.css"

interface BulkDialogProps {
  /** The chosen rows; undefined: all runs of the filter. */
  readonly runs: readonly Run[] | undefined
  readonly filter: ListFilter
  readonly onClose: () => void
}

interface Preview {
  readonly rows: readonly Pick<Run, "id" | "workflow">[]
  readonly more: boolean
}

const WORDS: Readonly<Record<Action, string>> = {
  cancel: "Cancel",
  pause: "Pause",
  resume: "Resume",
  retry: "Retry from the failure",
  rerun: "Run again from the start",
  delete: "Delete",
}

export function BulkDialog({ runs, filter, onClose }: BulkDialogProps) {
  const actions =
    runs === undefined ? actionsFor(filter) : ACTIONS.filter((one) => runs.some((run) => applies(one, run)))
  const [action, setAction] = useState<Action>(actions[0] ?? "cancel")
  const [preview, setPreview] = useState<Preview>()
  const [results, setResults] = useState<BulkResult["results"]>()
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const isOpen = useRef(true)
  // "The last hour" stays the one that the dry run showed.
  const [openedAt] = useState(Date.now)
  useEffect(
    () => () => {
      isOpen.current = false
    },
    [],
  )
  useEffect(() => {
    setPreview(undefined)
    setError(undefined)
    if (runs !== undefined) {
      setPreview({ rows: runs.filter((run) => applies(action, run)), more: false })
      return
    }
    const aborter = new AbortController()
    const body = { action, filter: bulkFilter(action, filter, openedAt), dryRun: true }
    client.request("POST /v1/runs/bulk", { body, signal: aborter.signal }).then(
      ({ data }) => setPreview({ rows: data.results, more: data.more }),
      (problem: unknown) => aborter.signal.aborted || setError(problem),
    )
    return () => aborter.abort()
  }, [action, runs, filter, openedAt])

  const execute = async () => {
    setBusy(true)
    setError(undefined)
    const done: BulkResult["results"][number][] = []
    try {
      if (runs === undefined) {
        let cursor: string | undefined
        for (let more = true; more && isOpen.current; ) {
          const body = {
            action,
            filter: bulkFilter(action, filter, openedAt),
            ...(cursor !== undefined && { cursor }),
          }
          const { data } = await client.request("POST /v1/runs/bulk", { body })
          done.push(...data.results)
          setResults([...done])
          more = data.more && data.results.length > 0
          cursor = data.next
        }
      } else {
        for (const run of runs.filter((one) => applies(action, one))) {
          done.push(await actOn(run, action))
          setResults([...done])
        }
      }
    } catch (problem) {
      setError(problem)
    }
    setBusy(false)
  }

  const failed = results?.filter(({ problem }) => problem !== undefined) ?? []
  const count = preview?.rows.length ?? 0
  return (
    <Dialog
      title={runs === undefined ? "Act on all runs that match" : `Act on ${plural(runs.length, "run")}`}
      onClose={onClose}
      footer={
        results === undefined ? (
          <>
            <Button onClick={onClose}>Close</Button>
            <Button
              look={action === "delete" || action === "cancel" ? "danger" : "primary"}
              isBusy={isBusy}
              disabled={count === 0}
              onClick={() => void execute()}
            >
              {WORDS[action]}: {plural(count, "run")}
              {preview?.more === true ? " and more" : ""}
            </Button>
          </>
        ) : (
          <Button look="primary" onClick={onClose}>
            {isBusy ? "Stop" : "Done"}
          </Button>
        )
      }
    >
      <div className={styles.bulk}>
        <Field label="Action" hint="Nothing happens before you confirm. Below is what it would apply to.">
          {(props) => (
            <Select
              {...props}
              label="Action"
              value={action}
              onChange={(value) => setAction(value as Action)}
              options={actions.map((one) => [one, WORDS[one]] as const)}
            />
          )}
        </Field>
        {error !== undefined && <Failure error={error} />}
        {results !== undefined ? (
          <p role="status">
            {plural(results.length - failed.length, "run")} done
            {failed.length > 0 && `, ${failed.length} refused: ${failed[0]?.problem?.detail}`}
          </p>
        ) : preview === undefined && error === undefined ? (
          <Loading lines={3} />
        ) : (
          <ul className={styles.preview} aria-label="Runs that the action applies to">
            {preview?.rows.slice(0, 50).map(({ id, workflow }) => (
              <li key={id}>
                <code title={id}>{shortId(id)}</code> {workflow}
              </li>
            ))}
            {count === 0 && <li>The action applies to none of them.</li>}
            {(count > 50 || preview?.more === true) && <li>… and more</li>}
          </ul>
        )}
        {failed.length > 0 && (
          <ul className={styles.preview} aria-label="Refused">
            {failed.slice(0, 20).map(({ id, status, problem }) => (
              <li key={id}>
                <Status status={status} /> <code>{shortId(id)}</code> {problem?.detail}
              </li>
            ))}
          </ul>
        )}
      </div>
    </Dialog>
  )
}

async function actOn(run: Run, action: Action): Promise<BulkResult["results"][number]> {
  const { id, workflow, status } = run
  const about = { id, workflow, status }
  const handle = client.get(id)
  try {
    if (action === "cancel") await handle.cancel()
    else if (action === "delete") await handle.remove()
    else if (action === "pause" || action === "resume") {
      await client.request(`POST /v1/runs/{run}/${action}`, { path: { run: id }, body: {} })
      return about
    } else return { ...about, outcome: "created", run: (await handle[action]()).id }
    return { ...about, outcome: action === "cancel" ? "cancelled" : "deleted" }
  } catch (error) {
    const {
      code = "",
      status: httpStatus = 0,
      message,
    } = error as { code?: string; status?: number; message: string }
    return {
      ...about,
      problem: { type: "about:blank", title: "", status: httpStatus, code, detail: message },
    }
  }
}
