/** Passes a question on to somebody else, with a note for them. */
import { useState } from "react"
import { client, queries } from "../api/session.ts"
import { Confirm } from "../ui/confirm.tsx"
import { Field, TextArea, TextInput } from "../ui/field.tsx"
import { toast } from "../ui/toast.tsx"
import styles from "./answer.module.css"

interface EscalateProps {
  readonly run: string
  readonly request: string
  readonly onClose: () => void
}

export function Escalate({ run, request, onClose }: EscalateProps) {
  const [to, setTo] = useState("")
  const [note, setNote] = useState("")
  const pass = async () => {
    await client.request("POST /v1/runs/{run}/requests/{request}/escalate", {
      path: { run, request },
      body: { to: to.trim(), ...(note.trim() !== "" && { note: note.trim() }) },
    })
    toast(`Passed on to ${to.trim()}.`)
    await queries.invalidateQueries({ queryKey: ["requests"] })
  }
  return (
    <Confirm title="Pass the question on" verb="Pass on" look="primary" onConfirm={pass} onClose={onClose}>
      <div className={styles.form}>
        <Field label="To" hint="A person, a team or a role. Its deadline stays as it is.">
          {(props) => (
            <TextInput
              {...props}
              autoFocus
              value={to}
              onInput={(event) => setTo(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Note (optional)">
          {(props) => (
            <TextArea {...props} value={note} onInput={(event) => setNote(event.currentTarget.value)} />
          )}
        </Field>
      </div>
    </Confirm>
  )
}
