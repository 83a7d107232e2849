/** Publishes a version after a replay check: what the last runs would do with it, run by run, before anything changes. */
import type { Definition } from "@superstep/client"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Link } from "wouter"
import { client } from "../api/session.ts"
import { runHref } from "../frame/address.ts"
import { Button } from "../ui/button.tsx"
import { Dialog } from "../ui/dialog.tsx"
import { Field, Select, TextInput } from "../ui/field.tsx"
import { plural, shortId } from "../ui/format.ts"
import { Icon, type IconName } from "../ui/icon.tsx"
import { Failure, Loading } from "../ui/states.tsx"
import { toast, toastProblem } from "../ui/toast.tsx"
import { type CheckedRun, checkedRuns } from "./definition-model.ts"
import styles from "./publish.module.css"

interface PublishProps {
  readonly definition: Definition
  readonly text: string
  /** The number of the version to publish; saves it first if it has none. */
  readonly version: () => Promise<number>
  readonly onClose: () => void
}

const LAST = [10, 50, 100]

export function PublishDialog({ definition: { name, published }, text, version, onClose }: PublishProps) {
  const cache = useQueryClient()
  const [last, setLast] = useState(LAST[0] as number)
  const [inFlight, setInFlight] = useState<"stay" | "follow">("stay")
  const [reason, setReason] = useState("")
  const [isBusy, setBusy] = useState(false)
  const check = useQuery({
    queryKey: ["replay-check", name, text, last],
    queryFn: async ({ signal }) =>
      (await client.request("POST /v1/replay", { body: { definition: name, text, last }, signal })).data,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
  const runs = check.data === undefined ? undefined : checkedRuns(check.data)
  const different = runs?.filter(({ outcome }) => outcome !== "same").length ?? 0
  const needsReason = different > 0
  const publish = async () => {
    setBusy(true)
    try {
      const number = await version()
      await client.request("POST /v1/definitions/{definition}/publish", {
        path: { definition: name },
        body: {
          version: number,
          last,
          inFlight,
          expected: published ?? 0,
          ...(needsReason && { force: true, reason: reason.trim() }),
        },
      })
      toast(`Version ${number} is published. New runs have it from now on.`)
      await cache.invalidateQueries()
      onClose()
    } catch (error) {
      toastProblem(error)
      setBusy(false)
      // A run may have ended meanwhile that behaves differently.
      await check.refetch()
    }
  }
  return (
    <Dialog
      title={`Publish ${name}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look={needsReason ? "danger" : "primary"}
            icon={needsReason ? "alert" : "check"}
            isBusy={isBusy}
            disabled={runs === undefined || (needsReason && reason.trim() === "")}
            onClick={publish}
          >
            {needsReason ? "Publish anyway" : "Publish"}
          </Button>
        </>
      }
    >
      <div className={styles.publish}>
        <div className={styles.head}>
          <h3>Replay check</h3>
          <Select
            label="Runs to check"
            value={String(last)}
            options={LAST.map((count) => [String(count), `Last ${count} runs`])}
            onChange={(value) => setLast(Number(value))}
          />
        </div>
        {check.isError && runs === undefined ? (
          <Failure error={check.error} retry={() => void check.refetch()} />
        ) : runs === undefined ? (
          <Loading lines={3} label="Loading the replay check" />
        ) : (
          <>
            <p className={styles.verdict} data-bad={needsReason || undefined} role="status">
              <Icon name={needsReason ? "alert" : "check"} />
              {verdict(runs.length, different)}
            </p>
            {runs.length > 0 && <CheckTable runs={runs} />}
          </>
        )}
        {needsReason && (
          <Field label="Reason" hint="Why it may behave differently. The audit log keeps it.">
            {(props) => (
              <TextInput
                {...props}
                value={reason}
                maxLength={1_000}
                onInput={(event) => setReason(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
        {published !== undefined && (
          <Field
            label="Runs in flight"
            hint="They can follow where the graph is the same, such as with other prompts."
          >
            {({ id }) => (
              <Select
                id={id}
                label="Runs in flight"
                value={inFlight}
                options={[
                  ["stay", "Stay with their version"],
                  ["follow", "Follow to this version"],
                ]}
                onChange={(value) => setInFlight(value as "stay" | "follow")}
              />
            )}
          </Field>
        )}
      </div>
    </Dialog>
  )
}

function verdict(total: number, different: number): string {
  if (total === 0) return "No run has ended yet, so there is nothing to compare with."
  if (different === 0) {
    return total === 1
      ? "The last run behaves as before."
      : `The last ${plural(total, "run")} behave as before.`
  }
  return `${different} of ${plural(total, "run")} would behave differently.`
}

const OUTCOMES: Readonly<Record<CheckedRun["outcome"], readonly [word: string, icon: IconName]>> = {
  same: ["same", "check"],
  diverges: ["diverges", "alert"],
  fails: ["would fail", "cross"],
}

function CheckTable({ runs }: { readonly runs: readonly CheckedRun[] }) {
  return (
    <div className={styles.scroll} role="region" aria-label="Runs" tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">What differs</th>
          </tr>
        </thead>
        <tbody>
          {runs.map(({ run, outcome, what }) => (
            <tr key={run}>
              <td>
                <Link href={runHref(run)}>
                  <code>{shortId(run)}</code>
                </Link>{" "}
                <span className={styles.outcome} data-outcome={outcome}>
                  <Icon name={OUTCOMES[outcome][1]} size={14} />
                  {OUTCOMES[outcome][0]}
                </span>
              </td>
              <td className={styles.what}>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
