/** Runs for past times of a schedule: first the list of the times, then the runs. */
import type { Schedule } from "@superstep/client"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { client, queries } from "../api/session.ts"
import { Button } from "../ui/button.tsx"
import { Dialog } from "../ui/dialog.tsx"
import { Field, TextInput } from "../ui/field.tsx"
import { localTime, plural } from "../ui/format.ts"
import parts from "../ui/parts.module.css"
import { Failure, Loading } from "../ui/states.tsx"
import { toast, toastProblem } from "../ui/toast.tsx"
import { Times } from "./schedule-drawer.tsx"

const DAY = 86_400_000
const ROUTE = "POST /v1/schedules/{schedule}/backfill"

export function BackfillDialog({
  schedule: { id, missed },
  onClose,
}: {
  readonly schedule: Schedule
  readonly onClose: () => void
}) {
  const [from, setFrom] = useState(() => localTime(missed?.from ?? Date.now() - 7 * DAY))
  const [to, setTo] = useState(() => localTime(missed?.to ?? Date.now()))
  const [isBusy, setBusy] = useState(false)
  const range = { from: new Date(from).getTime(), to: new Date(to).getTime() }
  const isRange = range.to > range.from
  const { data, error, isFetching } = useQuery({
    queryKey: ["backfill", id, from, to],
    enabled: isRange,
    queryFn: async ({ signal }) => {
      const body = { ...range, dryRun: true }
      return (await client.request(ROUTE, { path: { schedule: id }, body, signal })).data.times
    },
  })
  const execute = async () => {
    setBusy(true)
    try {
      const { data: done } = await client.request(ROUTE, { path: { schedule: id }, body: range })
      toast(`Asked for ${plural(done.times.length, "run")} of ${id}.`)
      await queries.invalidateQueries({ queryKey: ["schedules"] })
      onClose()
    } catch (problem) {
      toastProblem(problem)
      setBusy(false)
    }
  }
  const times = isRange && !isFetching ? (data ?? []) : []
  return (
    <Dialog
      title={`Backfill ${id}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button look="primary" isBusy={isBusy} disabled={times.length === 0} onClick={() => void execute()}>
            Create {plural(times.length, "run")}
          </Button>
        </>
      }
    >
      <div className={parts.form}>
        <div className={parts.pair}>
          <Field label="From" hint="The first time that counts">
            {(props) => (
              <TextInput
                {...props}
                type="datetime-local"
                value={from}
                onInput={(event) => setFrom(event.currentTarget.value)}
              />
            )}
          </Field>
          <Field label="To" hint="Up to this time, which is past">
            {(props) => (
              <TextInput
                {...props}
                type="datetime-local"
                value={to}
                onInput={(event) => setTo(event.currentTarget.value)}
              />
            )}
          </Field>
        </div>
        <p className={parts.calm}>
          Nothing happens before you confirm. A time that already has a run keeps it and gets no second one.
        </p>
        {!isRange ? (
          <p role="alert">Choose a start before the end.</p>
        ) : error !== null ? (
          <Failure error={error} />
        ) : data === undefined ? (
          <Loading lines={3} />
        ) : (
          <Times times={data}>The schedule has no time in this range.</Times>
        )}
      </div>
    </Dialog>
  )
}
