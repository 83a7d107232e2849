/** The form of a new webhook. */
import type { WebhookOptions } from "@superstep/client"
import { useState } from "react"
import { client, queries } from "../api/session.ts"
import { ToggleChip } from "../ui/chip.tsx"
import { Field, TextInput } from "../ui/field.tsx"
import { FormDialog } from "../ui/form-dialog.tsx"
import { showSecret } from "./new-secret.tsx"
import styles from "./settings.module.css"

type EventName = WebhookOptions["events"][number]
const EVENTS: readonly EventName[] = [
  "run.ended",
  "request.opened",
  "request.closed",
  "run.started",
  "run.queued",
  "run.paused",
  "run.resumed",
  "run.quarantined",
]
export function WebhookForm({ onClose }: { readonly onClose: () => void }) {
  const [url, setUrl] = useState("")
  const [events, setEvents] = useState<ReadonlySet<EventName>>(new Set(["run.ended"]))
  const [workflows, setWorkflows] = useState("")
  const [description, setDescription] = useState("")
  const submit = async () => {
    if (events.size === 0) return "Choose at least one event."
    const names = workflows.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]))
    const body = {
      url: url.trim(),
      events: [...events],
      ...(names.length > 0 && { workflows: names }),
      ...(description.trim() !== "" && { description: description.trim() }),
    }
    const { data } = await client.request("POST /v1/webhooks", { body })
    await queries.invalidateQueries({ queryKey: ["webhooks"] })
    onClose()
    showSecret({
      title: "Secret of the webhook",
      secret: data.secret,
      about: "Your service verifies the signature of each request with it.",
    })
    return undefined
  }
  return (
    <FormDialog title="New webhook" verb="Create" onSubmit={submit} onClose={onClose}>
      <Field label="Address" hint="An https address on the public internet.">
        {(props) => (
          <TextInput
            {...props}
            type="url"
            placeholder="https://"
            value={url}
            onInput={(event) => setUrl(event.currentTarget.value)}
          />
        )}
      </Field>
      <fieldset className={styles.events}>
        <legend>Events</legend>
        {EVENTS.map((name) => (
          <ToggleChip
            key={name}
            isOn={events.has(name)}
            onToggle={() =>
              setEvents(
                new Set(events.has(name) ? [...events].filter((one) => one !== name) : [...events, name]),
              )
            }
          >
            {name}
          </ToggleChip>
        ))}
      </fieldset>
      <Field label="Workflows (optional)" hint="Names, separated by commas. Empty: all.">
        {(props) => (
          <TextInput
            {...props}
            value={workflows}
            onInput={(event) => setWorkflows(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Description (optional)">
        {(props) => (
          <TextInput
            {...props}
            value={description}
            onInput={(event) => setDescription(event.currentTarget.value)}
          />
        )}
      </Field>
    </FormDialog>
  )
}
