/** One schedule: its next times, its last one, its options, and what can be done with it. */
import type { Schedule } from "@superstep/client"
import { useState } from "react"
import { Link } from "wouter"
import { useMay } from "../api/queries.ts"
import { client, queries } from "../api/session.ts"
import { runHref } from "../frame/address.ts"
import { NeedsRole } from "../frame/needs-role.tsx"
import { Button, LinkButton } from "../ui/button.tsx"
import { Chip } from "../ui/chip.tsx"
import { Confirm } from "../ui/confirm.tsx"
import { Dialog } from "../ui/dialog.tsx"
import { Time } from "../ui/figures.tsx"
import { clock, day, exact, localTime, plural, shortId } from "../ui/format.ts"
import { JsonView } from "../ui/json-view.tsx"
import parts from "../ui/parts.module.css"
import { StatusIcon } from "../ui/status.tsx"
import { toast, toastProblem } from "../ui/toast.tsx"
import { spanText } from "./schedule-draft.ts"
import { CATCH_UPS, OVERLAPS, timingWords } from "./schedule-words.ts"
import styles from "./schedules.module.css"

interface ScheduleDrawerProps {
  readonly schedule: Schedule
  readonly onClose: () => void
  readonly onEdit: () => void
  readonly onBackfill: () => void
}

export function ScheduleDrawer({ schedule, onClose, onEdit, onBackfill }: ScheduleDrawerProps) {
  const { id, workflow, cron, timeZone, at, jitter, overlap, catchUp, queue, labels, isPaused, missed } =
    schedule
  const mayChange = useMay("operator")
  const [isDeleting, setDeleting] = useState(false)
  const isFixed = schedule.isDeclared
  return (
    <Dialog
      title={id}
      look="drawer"
      onClose={onClose}
      footer={
        <>
          <Button look="danger" disabled={!mayChange || isFixed} onClick={() => setDeleting(true)}>
            Delete
          </Button>
          <Button disabled={!mayChange} onClick={onBackfill}>
            Backfill
          </Button>
          <Button disabled={!mayChange || isFixed} onClick={onEdit}>
            Edit
          </Button>
          <Button disabled={!mayChange} onClick={() => void act(id, isPaused ? "resume" : "pause")}>
            {isPaused ? "Resume" : "Pause"}
          </Button>
          <Button look="primary" icon="play" disabled={!mayChange} onClick={() => void act(id, "trigger")}>
            Trigger now
          </Button>
        </>
      }
    >
      {isDeleting && (
        <Confirm
          title={`Delete ${id}`}
          verb="Delete"
          onConfirm={async () => (await act(id, "delete")) && onClose()}
          onClose={() => setDeleting(false)}
        >
          <p>It fires no more. Its runs stay.</p>
        </Confirm>
      )}
      <div className={`${parts.form} ${styles.details}`}>
        <NeedsRole needs="operator" to="change or trigger a schedule" />
        {isFixed && (
          <p role="note">The workflow {workflow} declares this schedule: edit or remove it there.</p>
        )}
        {missed !== undefined && (
          <p role="note">
            Times between {exact(missed.from)} and {exact(missed.to)} were missed. Backfill creates their
            runs.
          </p>
        )}
        <dl className={parts.facts}>
          <dt>Workflow</dt>
          <dd>{workflow}</dd>
          <dt>When</dt>
          <dd>
            {timingWords(schedule)}{" "}
            {cron !== undefined && (
              <span className={parts.calm}>
                <code>{cron}</code>, {timeZone ?? "UTC"}
              </span>
            )}
            {at !== undefined && <span title={exact(at)}>{localTime(at).replace("T", " ")}</span>}
          </dd>
          <dt>Last</dt>
          <dd>
            <Last schedule={schedule} />
          </dd>
          <dt>While an earlier run is in flight</dt>
          <dd>{new Map<string, string>(OVERLAPS).get(overlap)}</dd>
          <dt>After a downtime</dt>
          <dd>{new Map<string, string>(CATCH_UPS).get(catchUp)}</dd>
          {jitter !== undefined && jitter > 0 && (
            <>
              <dt>Delay</dt>
              <dd>up to {spanText(jitter)}</dd>
            </>
          )}
          {queue !== undefined && (
            <>
              <dt>Queue</dt>
              <dd>{queue}</dd>
            </>
          )}
          {labels !== undefined && Object.keys(labels).length > 0 && (
            <>
              <dt>Labels</dt>
              <dd>
                {Object.entries(labels).map(([name, value]) => (
                  <Chip key={name}>
                    {name}={value}
                  </Chip>
                ))}
              </dd>
            </>
          )}
        </dl>
        <section>
          <h3>Next times</h3>
          <Times times={isPaused ? [] : (schedule.next ?? []).map(({ plannedAt }) => plannedAt)}>
            {isPaused ? "Paused: it fires nothing until it is resumed." : "It fires no more."}
          </Times>
        </section>
        <section>
          <h3>Input of its runs</h3>
          <JsonView value={schedule.input ?? null} name="input" />
        </section>
        <p>
          <LinkButton href={`/runs?label=${encodeURIComponent(`schedule=${id}`)}`} icon="runs">
            Runs of this schedule
          </LinkButton>
        </p>
      </div>
    </Dialog>
  )
}

const SHOWN = 100

/** Times in order: exact, and how far away. */
export function Times({ times, children }: { readonly times: readonly number[]; readonly children: string }) {
  if (times.length === 0) return <p className={parts.calm}>{children}</p>
  return (
    <ol className={styles.times}>
      {times.slice(0, SHOWN).map((at) => (
        <li key={at}>
          <span>{`${day(at)} ${clock(at).replace(/:00$/, "")}`}</span>
          <span className={parts.calm}>
            <Time at={at} />
          </span>
        </li>
      ))}
      {times.length > SHOWN && (
        <li className={parts.calm}>… and {plural(times.length - SHOWN, "more time")}</li>
      )}
    </ol>
  )
}

const OUTCOMES = { started: "completed", skipped: "cancelled", failed: "failed" } as const

/** What happened at the last time: the run, or why there is none. */
export function Last({ schedule: { last } }: { readonly schedule: Schedule }) {
  if (last === undefined) return <span className={parts.calm}>has not fired yet</span>
  return (
    <span className={styles.last}>
      <StatusIcon status={OUTCOMES[last.outcome]} />
      {last.outcome}
      {last.run !== undefined && (
        <Link href={runHref(last.run)} className={styles.link}>
          {shortId(last.run)}
        </Link>
      )}
      <span className={parts.calm}>
        <Time at={last.at} />
      </span>
      {last.error !== undefined && <span className={parts.bad}>{last.error.message}</span>}
    </span>
  )
}

/** Resolves to whether the server did it. */
export async function act(
  schedule: string,
  action: "trigger" | "pause" | "resume" | "delete",
): Promise<boolean> {
  // Without a key, the server takes changes with a JSON body only.
  const input = { path: { schedule }, body: {} }
  try {
    if (action === "trigger") {
      const { data } = await client.request("POST /v1/schedules/{schedule}/trigger", input)
      toast(`Asked for run ${shortId(data.run)}.`)
    } else if (action === "delete") {
      await client.request("DELETE /v1/schedules/{schedule}", input)
      toast(`Deleted ${schedule}. Its runs stay.`)
    } else {
      await client.request(`POST /v1/schedules/{schedule}/${action}`, input)
      toast(action === "pause" ? `Paused ${schedule}.` : `Resumed ${schedule}.`)
    }
    await queries.invalidateQueries({ queryKey: ["schedules"] })
    return true
  } catch (error) {
    toastProblem(error)
    return false
  }
}
