/** Webhooks in: addresses at which other services start runs, how their requests are verified, and what went wrong last. */
import type { Hook, HookOptions } from "@superstep/client"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { useMay, useWorkflows } from "../api/queries.ts"
import { client, queries } from "../api/session.ts"
import { Button } from "../ui/button.tsx"
import { Confirm } from "../ui/confirm.tsx"
import { copyText } from "../ui/copy.tsx"
import { Field, Select, TextInput } from "../ui/field.tsx"
import { Time } from "../ui/figures.tsx"
import { FormDialog } from "../ui/form-dialog.tsx"
import parts from "../ui/parts.module.css"
import { Empty } from "../ui/states.tsx"
import { Status } from "../ui/status.tsx"
import { Table, type TableColumn } from "../ui/table.tsx"
import { toast, toastProblem } from "../ui/toast.tsx"
import { Listed } from "./listed.tsx"
import { showSecret } from "./new-secret.tsx"

export function Hooks() {
  const mayManage = useMay("author")
  const [isCreating, setCreating] = useState(false)
  const [deleting, setDeleting] = useState<Hook>()
  const query = useQuery({
    queryKey: ["hooks"],
    enabled: mayManage,
    refetchInterval: 5_000,
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/hooks", { query: { limit: 200 }, signal })).data.hooks,
  })
  return (
    <>
      <Listed
        about="A hook is an address at which another service starts runs. The server checks who calls it."
        action={
          <Button icon="plus" look="primary" disabled={!mayManage} onClick={() => setCreating(true)}>
            New hook
          </Button>
        }
        needs="author"
        to="see and manage hooks"
        query={query}
        empty={
          <Empty icon="inbox" title="No hooks yet">
            Let GitHub, Stripe, Slack or your own service start a workflow with each of its webhooks.
          </Empty>
        }
      >
        {(rows) => <Table label="Hooks" columns={columnsOf(setDeleting)} rows={rows} idOf={({ id }) => id} />}
      </Listed>
      {isCreating && <HookForm onClose={() => setCreating(false)} />}
      {deleting !== undefined && (
        <Confirm
          title={`Delete ${deleting.name}`}
          verb="Delete"
          onClose={() => setDeleting(undefined)}
          onConfirm={async () => {
            const input = { path: { hook: deleting.id }, body: {} }
            await client.request("DELETE /v1/hooks/{hook}", input)
            toast(`Deleted ${deleting.name}.`)
            await queries.invalidateQueries({ queryKey: ["hooks"] })
          }}
        >
          <p>Its address answers 404 from now on. Runs that it started continue.</p>
        </Confirm>
      )}
    </>
  )
}

function columnsOf(onDelete: (hook: Hook) => void): readonly TableColumn<Hook>[] {
  return [
    {
      id: "name",
      title: "Hook",
      cell: ({ name, url, failure }) => (
        <span className={parts.name}>
          <strong>{name}</strong>
          <code className={parts.calm}>{url}</code>
          {failure !== undefined && (
            <span className={parts.bad}>
              Failed <Time at={failure.at} />: {failure.message}
            </span>
          )}
        </span>
      ),
    },
    {
      id: "state",
      title: "State",
      cell: ({ enabled }) => (
        <Status status={enabled ? "completed" : "paused"} word={enabled ? "enabled" : "disabled"} />
      ),
    },
    {
      id: "workflow",
      title: "Starts",
      isExtra: true,
      cell: ({ workflow, signal }) =>
        signal === undefined ? workflow : `signal ${signal.name} to ${workflow}`,
    },
    { id: "verify", title: "Verified by", isExtra: true, cell: ({ verify }) => verify.type },
    { id: "input", title: "Input", isExtra: true, cell: ({ input }) => <code>{input}</code> },
    {
      id: "actions",
      title: "Actions",
      isTitleHidden: true,
      isNumber: true,
      cell: (hook) => (
        <span className={parts.actions}>
          <Button
            look="quiet"
            aria-label={`Copy the address of ${hook.name}`}
            onClick={() => void copyText(hook.url, `the address of ${hook.name}`)}
          >
            Copy address
          </Button>
          <Button
            look="quiet"
            aria-label={`${hook.enabled ? "Disable" : "Enable"} ${hook.name}`}
            onClick={() => void setEnabled(hook)}
          >
            {hook.enabled ? "Disable" : "Enable"}
          </Button>
          <Button look="quiet" aria-label={`Delete ${hook.name}`} onClick={() => onDelete(hook)}>
            Delete
          </Button>
        </span>
      ),
    },
  ]
}

async function setEnabled({ id, name, enabled }: Hook): Promise<void> {
  try {
    const input = { path: { hook: id }, body: { enabled: !enabled } }
    await client.request("PATCH /v1/hooks/{hook}", input)
    toast(`${enabled ? "Disabled" : "Enabled"} ${name}.`)
    await queries.invalidateQueries({ queryKey: ["hooks"] })
  } catch (error) {
    toastProblem(error)
  }
}

const SENDERS = [
  ["standard", "Standard Webhooks"],
  ["github", "GitHub"],
  ["stripe", "Stripe"],
  ["slack", "Slack"],
  ["header", "A secret in a header"],
] as const
type Sender = (typeof SENDERS)[number][0]

function verification(sender: Sender, secret: string, header: string): HookOptions["verify"] {
  if (sender === "standard") return { type: sender, ...(secret !== "" && { secret }) }
  return sender === "header" ? { type: sender, name: header, secret } : { type: sender, secret }
}

function HookForm({ onClose }: { readonly onClose: () => void }) {
  const { data: workflows = [] } = useWorkflows()
  const [name, setName] = useState("")
  const [workflow, setWorkflow] = useState("")
  const [sender, setSender] = useState<Sender>("standard")
  const [header, setHeader] = useState("X-Secret")
  const [secret, setSecret] = useState("")
  const [input, setInput] = useState("$body")
  const chosen = workflow || (workflows[0]?.name ?? "")
  const submit = async () => {
    const verify = verification(sender, secret.trim(), header.trim())
    const body = { name: name.trim(), workflow: chosen, input: input.trim(), verify }
    const { data } = await client.request("POST /v1/hooks", { body })
    await queries.invalidateQueries({ queryKey: ["hooks"] })
    onClose()
    showSecret({
      title: `Secret of ${data.name}`,
      secret: data.secret,
      about: `Give it to the service that calls ${data.url}.`,
    })
    return undefined
  }
  const text = (label: string, value: string, set: (value: string) => void, hint?: string) => (
    <Field label={label} {...(hint !== undefined && { hint })}>
      {(props) => (
        <TextInput
          {...props}
          value={value}
          spellCheck={false}
          onInput={(event) => set(event.currentTarget.value)}
        />
      )}
    </Field>
  )
  return (
    <FormDialog title="New hook" verb="Create" onSubmit={submit} onClose={onClose}>
      {text("Name", name, setName)}
      <Field label="Workflow">
        {({ id }) => (
          <Select
            id={id}
            label="Workflow"
            value={chosen}
            options={workflows.map((one) => [one.name, one.name])}
            onChange={setWorkflow}
          />
        )}
      </Field>
      <Field label="Who calls it" hint="Requests that this service did not sign are refused.">
        {({ id }) => (
          <Select
            id={id}
            label="Who calls it"
            value={sender}
            options={SENDERS}
            onChange={(value) => setSender(value as Sender)}
          />
        )}
      </Field>
      {sender === "header" && text("Header", header, setHeader)}
      {text(
        sender === "standard" ? "Secret (optional)" : "Secret",
        secret,
        setSecret,
        sender === "standard"
          ? "Empty: a new one, which is shown once."
          : "The one that the service signs with.",
      )}
      {text("Input of the run", input, setInput, "An expression over the request, such as $body.order.")}
    </FormDialog>
  )
}
