/** The form of a new API key. */
import { useState } from "react"
import { ROLES, type Role } from "../api/queries.ts"
import { client, keepSession, queries } from "../api/session.ts"
import { Field, Select, TextInput } from "../ui/field.tsx"
import { FormDialog } from "../ui/form-dialog.tsx"
import parts from "../ui/parts.module.css"
import { type KeyDraft, keyOptions, NEW_KEY } from "./key-draft.ts"
import { showSecret } from "./new-secret.tsx"

const MAY: Readonly<Record<Role, string>> = {
  viewer: "Reads workflows, runs, events and questions.",
  operator: "Also starts, answers, cancels and deletes runs.",
  author: "Also changes definitions, indexes and webhooks.",
  admin: "Also manages keys and reads the audit log.",
}

/** `isFirst`: with it, the server begins to ask for keys. */
export function KeyForm({ isFirst, onClose }: { readonly isFirst: boolean; readonly onClose: () => void }) {
  const [draft, setDraft] = useState<KeyDraft>(() => (isFirst ? { ...NEW_KEY, role: "admin" } : NEW_KEY))
  const [isTried, setTried] = useState(false)
  const { options, problems } = keyOptions(draft, Date.now())
  const submit = async () => {
    setTried(true)
    if (problems.size > 0) return undefined
    const { data } = await client.request("POST /v1/keys", { body: options })
    onClose()
    const about = "Send it as Authorization: Bearer with every request."
    showSecret({ title: `Key ${data.name}`, secret: data.secret, about })
    await keepSession(data.secret)
    await queries.invalidateQueries({ queryKey: ["keys"] })
    return undefined
  }
  const field = (name: Exclude<keyof KeyDraft, "role" | "per">, label: string, hint?: string) => (
    <Field label={label} hint={hint} problem={isTried ? problems.get(name) : undefined}>
      {(props) => (
        <TextInput
          {...props}
          value={draft[name]}
          spellCheck={false}
          autoComplete="off"
          onInput={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
        />
      )}
    </Field>
  )
  return (
    <FormDialog title="New key" verb="Create" onSubmit={submit} onClose={onClose}>
      {isFirst && (
        <p role="note">
          This is the first key of the store. From now on every request needs a key; this page signs in with
          the new one. Choose admin to keep managing keys here.
        </p>
      )}
      {field("name", "Name", "Who or what uses the key, such as ci.")}
      <Field label="Role" hint={MAY[draft.role]}>
        {(props) => (
          <Select
            {...props}
            label="Role"
            value={draft.role}
            onChange={(role) => setDraft({ ...draft, role: role as Role })}
            options={ROLES.map((role) => [role, role] as const)}
          />
        )}
      </Field>
      <div className={parts.pair}>
        {field("tenant", "Tenant (optional)", "It sees only what belongs to this tenant.")}
        {field("expires", "Expires after days (optional)", "Empty: never.")}
      </div>
      {field("workflows", "Workflows (optional)", "Names, separated by commas. Empty: all.")}
      <div className={parts.pair}>
        {field("usd", "Budget in $", "Empty: none.")}
        {field("tokens", "Budget in tokens", "Empty: none.")}
        <Field label="Budget for">
          {(props) => (
            <Select
              {...props}
              label="Budget for"
              value={draft.per}
              onChange={(per) => setDraft({ ...draft, per: per as KeyDraft["per"] })}
              options={[
                ["day", "each day"],
                ["total", "all time"],
              ]}
            />
          )}
        </Field>
      </div>
    </FormDialog>
  )
}
