/** Webhooks out: where events of runs are sent, and whether they arrive. */
import type { Webhook } from "@superstep/client"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { useMay } from "../api/queries.ts"
import { client } from "../api/session.ts"
import { useAddress } from "../frame/address.ts"
import { Button } from "../ui/button.tsx"
import { Time } from "../ui/figures.tsx"
import parts from "../ui/parts.module.css"
import { Empty } from "../ui/states.tsx"
import { Status } from "../ui/status.tsx"
import { Table, type TableColumn } from "../ui/table.tsx"
import { Listed } from "./listed.tsx"
import { WebhookDrawer } from "./webhook-drawer.tsx"
import { WebhookForm } from "./webhook-form.tsx"

export function Webhooks() {
  const [params, setAddress] = useAddress()
  const mayManage = useMay("author")
  const [isCreating, setCreating] = useState(false)
  const query = useQuery({
    queryKey: ["webhooks"],
    enabled: mayManage,
    refetchInterval: 3_000,
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/webhooks", { query: { limit: 200 }, signal })).data.webhooks,
  })
  const open = query.data?.find(({ id }) => id === params.get("hook"))
  return (
    <>
      <Listed
        about="The server sends events of runs to your addresses, signed as Standard Webhooks, and repeats what fails."
        action={
          <Button icon="plus" look="primary" disabled={!mayManage} onClick={() => setCreating(true)}>
            New webhook
          </Button>
        }
        needs="author"
        to="see and manage webhooks"
        query={query}
        empty={
          <Empty icon="inbox" title="No webhooks yet">
            A webhook tells your service when a run ends, a question opens, and more. Its deliveries are
            listed here.
          </Empty>
        }
      >
        {(rows) => (
          <Table
            label="Webhooks"
            columns={columnsOf((hook) => setAddress({ hook }))}
            rows={rows}
            idOf={({ id }) => id}
          />
        )}
      </Listed>
      {open !== undefined && <WebhookDrawer webhook={open} onClose={() => setAddress({ hook: undefined })} />}
      {isCreating && <WebhookForm onClose={() => setCreating(false)} />}
    </>
  )
}

function columnsOf(open: (id: string) => void): readonly TableColumn<Webhook>[] {
  return [
    {
      id: "url",
      title: "Address",
      cell: ({ id, url, description }) => (
        <span className={parts.name}>
          <button type="button" className={parts.open} onClick={() => open(id)}>
            {url}
          </button>
          {description !== undefined && <span className={parts.calm}>{description}</span>}
        </span>
      ),
    },
    { id: "state", title: "State", cell: (webhook) => <WebhookState webhook={webhook} /> },
    { id: "events", title: "Events", isExtra: true, cell: ({ events }) => events.join(", ") },
    {
      id: "workflows",
      title: "Workflows",
      isExtra: true,
      cell: ({ workflows }) => workflows?.join(", ") ?? <span className={parts.calm}>all</span>,
    },
    { id: "created", title: "Created", isExtra: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  ]
}

function WebhookState({ webhook: { enabled, disabled, failingSince } }: { readonly webhook: Webhook }) {
  if (!enabled)
    return (
      <span title={disabled?.reason}>
        <Status status="paused" word="disabled" />
      </span>
    )
  if (failingSince !== undefined)
    return (
      <>
        <Status status="failed" word="failing" /> since <Time at={failingSince} />
      </>
    )
  return <Status status="completed" word="enabled" />
}
