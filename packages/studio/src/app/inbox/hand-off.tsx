/** A hand-off: the conversation so far, and a reply that returns it to the agents, sends it on, or ends it. */
import { type FormEvent, useState } from "react"
import { Button } from "../ui/button.tsx"
import { Field, TextArea } from "../ui/field.tsx"
import { JsonView } from "../ui/json-view.tsx"
import styles from "./answer.module.css"
import type { HandOff } from "./open-request.ts"
import { submitOnCommandEnter } from "./submit-keys.ts"

interface HandOffFormProps {
  readonly handOff: HandOff
  readonly send: (value: unknown) => Promise<void>
  readonly isBusy: boolean
  readonly autoFocus: boolean
}

export function HandOffForm({
  handOff: { messages, latest, routes },
  send,
  isBusy,
  autoFocus,
}: HandOffFormProps) {
  const [text, setText] = useState("")
  const message = text.trim() === "" ? {} : { message: text.trim() }
  const reply = (event: FormEvent) => {
    event.preventDefault()
    if (text.trim() !== "") void send({ message: text.trim() })
  }
  return (
    <form className={styles.form} onSubmit={reply} onKeyDown={submitOnCommandEnter}>
      {messages.length > 0 ? (
        <ol className={styles.talk} aria-label="The conversation so far">
          {messages.map(({ role, text: said }, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a conversation only grows at its end
            <li key={i} data-role={role}>
              <strong>{role}</strong>
              <p>{said}</p>
            </li>
          ))}
        </ol>
      ) : (
        latest !== undefined && <JsonView value={latest} name="latest" isBare />
      )}
      <Field label="Your reply" hint="The agents continue with it. With End, the user gets it.">
        {(props) => (
          <TextArea
            {...props}
            value={text}
            autoFocus={autoFocus}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
      </Field>
      <div className={styles.actions}>
        <Button look="primary" type="submit" isBusy={isBusy} disabled={text.trim() === ""}>
          Reply
        </Button>
        {routes.map((route) => (
          <Button key={route} isBusy={isBusy} onClick={() => void send({ route, ...message })}>
            Send to {route}
          </Button>
        ))}
        <Button isBusy={isBusy} onClick={() => void send({ end: true, ...message })}>
          End the run
        </Button>
      </div>
    </form>
  )
}
