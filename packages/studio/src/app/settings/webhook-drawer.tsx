/** One webhook: its deliveries with each attempt, and what can be done with it. */
import type { Delivery, Webhook } from "@superstep/client"
import { useInfiniteQuery, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { client, queries } from "../api/session.ts"
import { Button } from "../ui/button.tsx"
import { Chip } from "../ui/chip.tsx"
import { Confirm } from "../ui/confirm.tsx"
import { Dialog } from "../ui/dialog.tsx"
import { Time } from "../ui/figures.tsx"
import { plural } from "../ui/format.ts"
import parts from "../ui/parts.module.css"
import { Failure, Loading, ShowMore } from "../ui/states.tsx"
import { Status } from "../ui/status.tsx"
import { toast, toastProblem } from "../ui/toast.tsx"
import { showSecret } from "./new-secret.tsx"
import styles from "./settings.module.css"

const LOOKS = { pending: "running", delivered: "completed", failed: "failed" } as const

export function WebhookDrawer({
  webhook: { id, url, events, workflows, enabled, disabled },
  onClose,
}: {
  readonly webhook: Webhook
  readonly onClose: () => void
}) {
  const path = { webhook: id }
  // Without a key, the server takes changes with a JSON body only.
  const input = { path, body: {} }
  const [isDeleting, setDeleting] = useState(false)
  const act = async (action: () => Promise<unknown>, done: string) => {
    try {
      await action()
      toast(done)
      await queries.invalidateQueries({ queryKey: ["webhooks"] })
    } catch (error) {
      toastProblem(error)
    }
  }
  const rotate = async () => {
    const { data } = await client.request("POST /v1/webhooks/{webhook}/rotate", { path, body: {} })
    const about = "For a day, requests have the signatures of the old and the new secret."
    showSecret({ title: "New secret of the webhook", secret: data.secret, about })
  }
  const remove = async () => {
    await client.request("DELETE /v1/webhooks/{webhook}", input)
    toast("Deleted the webhook.")
    await queries.invalidateQueries({ queryKey: ["webhooks"] })
    onClose()
  }
  return (
    <Dialog
      title={url}
      look="drawer"
      onClose={onClose}
      footer={
        <>
          <Button look="danger" onClick={() => setDeleting(true)}>
            Delete
          </Button>
          <Button onClick={() => void act(rotate, "The webhook has a new secret.")}>Rotate secret</Button>
          <Button
            onClick={() =>
              void act(
                () => client.request("PATCH /v1/webhooks/{webhook}", { path, body: { enabled: !enabled } }),
                enabled ? "Disabled the webhook." : "Enabled the webhook.",
              )
            }
          >
            {enabled ? "Disable" : "Enable"}
          </Button>
          <Button
            look="primary"
            disabled={!enabled}
            onClick={() =>
              void act(() => client.request("POST /v1/webhooks/{webhook}/ping", input), "Sent a ping.")
            }
          >
            Send a ping
          </Button>
        </>
      }
    >
      <div className={parts.form}>
        {disabled !== undefined && (
          <p role="note" className={parts.bad}>
            Disabled <Time at={disabled.at} />: {disabled.reason}
          </p>
        )}
        <p className={styles.chips}>
          {events.map((event) => (
            <Chip key={event}>{event}</Chip>
          ))}
          {workflows?.map((name) => (
            <Chip key={name}>only {name}</Chip>
          ))}
        </p>
        <h3>Deliveries of the last 30 days</h3>
        <Deliveries webhook={id} />
      </div>
      {isDeleting && (
        <Confirm
          title="Delete the webhook"
          verb="Delete"
          onConfirm={remove}
          onClose={() => setDeleting(false)}
        >
          <p>Nothing more is sent to {url}. Its secret and its deliveries are deleted.</p>
        </Confirm>
      )}
    </Dialog>
  )
}

function Deliveries({ webhook }: { readonly webhook: string }) {
  const [open, setOpen] = useState<string>()
  const pages = useInfiniteQuery({
    queryKey: ["webhooks", webhook, "deliveries"],
    queryFn: async ({ pageParam, signal }) =>
      (
        await client.request("GET /v1/webhooks/{webhook}/deliveries", {
          path: { webhook },
          query: { limit: 50, cursor: pageParam },
          signal,
        })
      ).data,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    refetchInterval: 2_000,
  })
  const list = pages.data?.pages.flatMap(({ deliveries }) => deliveries)
  if (pages.isError && list === undefined) return <Failure error={pages.error} />
  if (list === undefined) return <Loading lines={4} />
  if (list.length === 0)
    return <p className={parts.calm}>Nothing was sent yet. Send a ping to try the address.</p>
  return (
    <>
      <ul className={styles.deliveries}>
        {list.map((delivery) => (
          <li key={delivery.id}>
            <button
              type="button"
              className={styles.delivery}
              aria-expanded={open === delivery.id}
              onClick={() => setOpen(open === delivery.id ? undefined : delivery.id)}
            >
              <Status status={LOOKS[delivery.status]} word={delivery.status} />
              <span>{delivery.type}</span>
              <span className={parts.calm}>
                <Time at={delivery.createdAt} />
              </span>
            </button>
            {open === delivery.id && <Attempts webhook={webhook} delivery={delivery} />}
          </li>
        ))}
      </ul>
      <ShowMore pages={pages} />
    </>
  )
}

function Attempts({ webhook, delivery }: { readonly webhook: string; readonly delivery: Delivery }) {
  const path = { webhook, delivery: delivery.id }
  const input = { path, body: {} }
  const { data, isError, error } = useQuery({
    queryKey: ["webhooks", webhook, "delivery", delivery.id, delivery.updatedAt],
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/webhooks/{webhook}/deliveries/{delivery}", { path, signal })).data,
  })
  const redeliver = async () => {
    try {
      await client.request("POST /v1/webhooks/{webhook}/deliveries/{delivery}/redeliver", input)
      toast("Sent the message again.")
      await queries.invalidateQueries({ queryKey: ["webhooks", webhook] })
    } catch (problem) {
      toastProblem(problem)
    }
  }
  return (
    <div className={styles.attempts}>
      {isError && data === undefined ? (
        <Failure error={error} />
      ) : data === undefined ? (
        <Loading lines={2} />
      ) : (
        <>
          <p className={parts.calm}>
            {plural(data.attempts.length, "attempt")} of message <code>{data.message}</code>
          </p>
          <ol>
            {data.attempts.map(({ at, error: reason }) => (
              <li key={at}>
                <Status status={reason === undefined ? "completed" : "failed"} word={reason ?? "accepted"} />{" "}
                <Time at={at} />
              </li>
            ))}
          </ol>
          {data.nextAttemptAt !== undefined && (
            <p className={parts.calm}>
              Tried again <Time at={data.nextAttemptAt} />
            </p>
          )}
          <pre className={styles.body}>{data.body}</pre>
          <Button icon="loop" onClick={() => void redeliver()}>
            Redeliver
          </Button>
        </>
      )}
    </div>
  )
}
