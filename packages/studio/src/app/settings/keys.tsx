/** API keys: create with the secret shown once, rotate, revoke. */
import type { Key } from "@superstep/client"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useState } from "react"
import { useMay, useMe } from "../api/queries.ts"
import { client, keepSession, queries } from "../api/session.ts"
import { keyOf } from "../frame/who.tsx"
import { Button } from "../ui/button.tsx"
import { Chip } from "../ui/chip.tsx"
import { Confirm } from "../ui/confirm.tsx"
import { Field, Select } from "../ui/field.tsx"
import { Time } from "../ui/figures.tsx"
import parts from "../ui/parts.module.css"
import { Empty, ShowMore } from "../ui/states.tsx"
import { Status } from "../ui/status.tsx"
import { Table, type TableColumn } from "../ui/table.tsx"
import { toast } from "../ui/toast.tsx"
import { keyState, limitWords, sortedKeys } from "./key-draft.ts"
import { KeyForm } from "./key-form.tsx"
import { Listed } from "./listed.tsx"
import { showSecret } from "./new-secret.tsx"

export function Keys() {
  const mayManage = useMay("admin")
  const { data: me } = useMe()
  const [dialog, setDialog] = useState<{ readonly kind: "new" | "rotate" | "revoke"; readonly key?: Key }>()
  const pages = useInfiniteQuery({
    queryKey: ["keys"],
    enabled: mayManage,
    queryFn: async ({ pageParam, signal }) => {
      const query = { limit: 100, cursor: pageParam }
      return (await client.request("GET /v1/keys", { query, signal })).data
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  })
  const keys = pages.data?.pages.flatMap(({ keys: page }) => page)
  const close = () => setDialog(undefined)
  const own = keyOf(me?.id)
  const columns = columnsOf(own, (kind, key) => setDialog({ kind, key }))
  return (
    <>
      <Listed
        about="A key identifies a person or a program. Until a store has its first key, the server answers this machine only, and everybody there may do everything."
        action={
          <Button icon="plus" look="primary" disabled={!mayManage} onClick={() => setDialog({ kind: "new" })}>
            New key
          </Button>
        }
        needs="admin"
        to="see and manage keys"
        query={{ ...pages, data: keys }}
        empty={
          <Empty icon="lock" title="No keys yet">
            With the first key, every request needs one. This page then signs in with it.
          </Empty>
        }
      >
        {(rows) => (
          <Table
            label="API keys"
            columns={columns}
            rows={sortedKeys(rows, Date.now())}
            idOf={({ id }) => id}
            footer={<ShowMore pages={pages} />}
          />
        )}
      </Listed>
      {dialog?.kind === "new" && (
        <KeyForm isFirst={keys?.length === 0 && me?.authenticated === false} onClose={close} />
      )}
      {dialog?.kind === "rotate" && dialog.key !== undefined && (
        <RotateDialog apiKey={dialog.key} onClose={close} />
      )}
      {dialog?.kind === "revoke" && dialog.key !== undefined && (
        <RevokeDialog apiKey={dialog.key} isOwn={dialog.key.id === own} onClose={close} />
      )}
    </>
  )
}

const STATES = { active: "completed", expired: "expired", revoked: "withdrawn" } as const

function columnsOf(
  own: string | undefined,
  open: (kind: "rotate" | "revoke", key: Key) => void,
): readonly TableColumn<Key>[] {
  return [
    {
      id: "name",
      title: "Key",
      cell: ({ id, name, prefix }) => (
        <span className={parts.name}>
          <strong>
            {name} {id === own && <Chip>this session</Chip>}
          </strong>
          <code className={parts.calm}>{prefix}…</code>
        </span>
      ),
    },
    {
      id: "state",
      title: "State",
      cell: (key) => {
        const state = keyState(key, Date.now())
        return <Status status={STATES[state]} word={state} />
      },
    },
    { id: "role", title: "Role", cell: ({ role }) => role },
    { id: "tenant", title: "Tenant", isExtra: true, cell: ({ tenant }) => tenant ?? <Calm>all</Calm> },
    {
      id: "limits",
      title: "Limits",
      isExtra: true,
      cell: (key) => limitWords(key) || <Calm>none</Calm>,
    },
    {
      id: "expires",
      title: "Expires",
      isExtra: true,
      cell: ({ expiresAt }) => (expiresAt === undefined ? <Calm>never</Calm> : <Time at={expiresAt} />),
    },
    { id: "created", title: "Created", isExtra: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      id: "actions",
      title: "Actions",
      isTitleHidden: true,
      isNumber: true,
      cell: (key) =>
        key.revokedAt === undefined && (
          <span className={parts.actions}>
            <Button look="quiet" aria-label={`Rotate ${key.name}`} onClick={() => open("rotate", key)}>
              Rotate
            </Button>
            <Button look="quiet" aria-label={`Revoke ${key.name}`} onClick={() => open("revoke", key)}>
              Revoke
            </Button>
          </span>
        ),
    },
  ]
}

function Calm({ children }: { readonly children: string }) {
  return <span className={parts.calm}>{children}</span>
}

const OVERLAPS = [
  ["0", "Stops at once"],
  ["3600", "Works for one more hour"],
  ["86400", "Works for one more day"],
  ["604800", "Works for one more week"],
] as const

interface KeyDialogProps {
  readonly apiKey: Key
  readonly onClose: () => void
}

function RotateDialog({ apiKey: { id, name }, onClose }: KeyDialogProps) {
  const [overlap, setOverlap] = useState("3600")
  const rotate = async () => {
    const { data } = await client.request("POST /v1/keys/{key}/rotate", {
      path: { key: id },
      body: { overlap: Number(overlap) },
    })
    showSecret({
      title: `New secret of ${name}`,
      secret: data.secret,
      about: "Replace the old secret where it is used.",
    })
    await keepSession(data.secret)
    await queries.invalidateQueries({ queryKey: ["keys"] })
  }
  return (
    <Confirm title={`Rotate ${name}`} verb="Rotate" look="primary" onConfirm={rotate} onClose={onClose}>
      <Field label="The old secret" hint="The key gets a new secret, which is shown once.">
        {(props) => (
          <Select
            {...props}
            label="The old secret"
            value={overlap}
            onChange={setOverlap}
            options={OVERLAPS}
          />
        )}
      </Field>
    </Confirm>
  )
}

function RevokeDialog({
  apiKey: { id, name },
  isOwn,
  onClose,
}: KeyDialogProps & { readonly isOwn: boolean }) {
  const revoke = async () => {
    // Without a key, the server takes changes with a JSON body only.
    const input = { path: { key: id }, body: {} }
    await client.request("DELETE /v1/keys/{key}", input)
    toast(`Revoked ${name}.`)
    await queries.invalidateQueries({ queryKey: ["keys"] })
  }
  return (
    <Confirm title={`Revoke ${name}`} verb="Revoke" onConfirm={revoke} onClose={onClose}>
      <p>
        The next request with this key is refused. This cannot be undone; runs that it started continue.
        {isOwn && " It is the key of this session: you are signed out."}
      </p>
    </Confirm>
  )
}
