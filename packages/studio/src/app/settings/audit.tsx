/** Who changed what, when, and with which outcome, the newest first. */
import type { AuditEntry } from "@superstep/client"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useMay, useMe } from "../api/queries.ts"
import { client } from "../api/session.ts"
import { Who } from "../frame/who.tsx"
import { Button } from "../ui/button.tsx"
import { Time } from "../ui/figures.tsx"
import { Empty, ShowMore } from "../ui/states.tsx"
import { Status } from "../ui/status.tsx"
import { Table, type TableColumn } from "../ui/table.tsx"
import { auditPath } from "./key-draft.ts"
import { Listed } from "./listed.tsx"
import styles from "./settings.module.css"

const COLUMNS: readonly TableColumn<AuditEntry>[] = [
  { id: "at", title: "When", cell: ({ at }) => <Time at={at} /> },
  { id: "who", title: "Who", cell: ({ who }) => <Who id={who} /> },
  { id: "tenant", title: "Tenant", isExtra: true, cell: ({ tenant }) => tenant ?? "" },
  {
    id: "what",
    title: "Request",
    cell: ({ method, route, params }) => (
      <code className={styles.request} title={`${method} ${route}`}>
        {method} {auditPath(route, params)}
      </code>
    ),
  },
  { id: "note", title: "Reason", isExtra: true, cell: ({ note }) => note ?? "" },
  {
    id: "status",
    title: "Outcome",
    cell: ({ status }) => (
      <Status
        status={status < 400 ? "completed" : "failed"}
        word={`${status}${status < 400 ? "" : " refused"}`}
      />
    ),
  },
]

export function AuditLog() {
  const mayRead = useMay("admin")
  const { data: me } = useMe()
  const pages = useInfiniteQuery({
    queryKey: ["audit"],
    enabled: mayRead,
    queryFn: async ({ pageParam, signal }) => {
      const query = { limit: 100, cursor: pageParam }
      return (await client.request("GET /v1/audit", { query, signal })).data
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  })
  const entries = pages.data?.pages.flatMap((page) => page.entries)
  return (
    <Listed
      about="Every authenticated request that may change something: the route and its parameters, never a body. Entries are kept for 90 days, unless the server is configured otherwise."
      action={
        <Button
          icon="loop"
          disabled={!mayRead}
          isBusy={pages.isRefetching}
          onClick={() => void pages.refetch()}
        >
          Reload
        </Button>
      }
      needs="admin"
      to="read the audit log"
      query={{ ...pages, data: entries }}
      empty={
        <Empty icon="runs" title="The audit log is empty">
          {me?.authenticated === false
            ? "The server has no keys, so nobody is authenticated. Create a key to know who does what."
            : "Nobody has changed anything yet."}
        </Empty>
      }
    >
      {(rows) => (
        <Table
          label="Audit log"
          columns={COLUMNS}
          rows={rows.map((entry, i) => ({ ...entry, id: `${entry.at} ${i}` }))}
          idOf={(entry) => (entry as AuditEntry & { id: string }).id}
          footer={<ShowMore pages={pages} />}
        />
      )}
    </Listed>
  )
}
