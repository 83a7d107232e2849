/** The form of a question: fields from its schema, approvals with the arguments to edit, hand-offs as conversations. */

import { useQueryClient } from "@tanstack/react-query"
import { type FormEvent, useMemo, useState } from "react"
import { useMay } from "../api/queries.ts"
import { client } from "../api/session.ts"
import { NeedsRole } from "../frame/needs-role.tsx"
import { Button } from "../ui/button.tsx"
import { Chip } from "../ui/chip.tsx"
import { JsonView } from "../ui/json-view.tsx"
import { SchemaFields } from "../ui/schema-fields.tsx"
import { type FormInput, formOf, readForm } from "../ui/schema-form.ts"
import { toast, toastProblem } from "../ui/toast.tsx"
import styles from "./answer.module.css"
import { HandOffForm } from "./hand-off.tsx"
import { approvalOf, choicesOf, handOffOf, type OpenRequest } from "./open-request.ts"
import { submitOnCommandEnter } from "./submit-keys.ts"

interface AnswerProps {
  readonly run: string
  readonly request: OpenRequest | undefined
  readonly onAnswered?: () => void
  readonly autoFocus?: boolean
}

export function Answer({ run, request, onAnswered, autoFocus = false }: AnswerProps) {
  const cache = useQueryClient()
  const mayAnswer = useMay("operator")
  const [isBusy, setBusy] = useState(false)
  if (request === undefined) return null
  const send = async (value: unknown) => {
    setBusy(true)
    try {
      const delivery = await client.get(run).respond(request.id, value)
      toast(
        delivery === "taken"
          ? "Answered. The run continues."
          : "Answered. The run continues when a process executes it.",
      )
      onAnswered?.()
      await cache.invalidateQueries({ queryKey: ["requests"] })
    } catch (error) {
      toastProblem(error)
    }
    setBusy(false)
  }
  const approval = approvalOf(request)
  const handOff = handOffOf(request)
  const props = { request, send, isBusy, autoFocus }
  const data = request.data !== undefined && approval === undefined && handOff === undefined && (
    <details className={styles.data}>
      <summary>What the question is about</summary>
      <JsonView value={request.data} name="data" isBare />
    </details>
  )
  if (!mayAnswer) return <NeedsRole needs="operator" to="answer questions" className={styles.note} />
  return (
    <>
      {data}
      {approval !== undefined ? (
        <Approval {...props} approval={approval} />
      ) : handOff !== undefined ? (
        <HandOffForm {...props} handOff={handOff} />
      ) : (
        <Plain {...props} />
      )}
    </>
  )
}

interface FormProps {
  readonly request: OpenRequest
  readonly send: (value: unknown) => Promise<void>
  readonly isBusy: boolean
  readonly autoFocus: boolean
}

function Plain({ request, send, isBusy, autoFocus }: FormProps) {
  const choices = choicesOf(request)
  const field = useMemo(
    () => formOf(request.schema ?? { type: "string" }, "Answer", request.default),
    [request],
  )
  const [input, setInput] = useState<FormInput>(new Map())
  const [isTried, setTried] = useState(false)
  const { value, problems } = readForm(field, input)
  // One press is enough where one press says everything.
  if (choices !== undefined) {
    return (
      <div className={styles.choices}>
        {choices.map((choice, i) => (
          <Button
            key={String(choice)}
            look={i === 0 ? "primary" : "plain"}
            isBusy={isBusy}
            autoFocus={autoFocus && i === 0}
            onClick={() => void send(choice)}
          >
            {String(choice)}
          </Button>
        ))}
      </div>
    )
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (problems.size === 0) void send(value)
  }
  return (
    <form className={styles.form} onSubmit={submit} onKeyDown={submitOnCommandEnter}>
      <SchemaFields
        field={field}
        input={input}
        onInput={setInput}
        problems={isTried ? problems : new Map()}
        autoFocus={autoFocus}
      />
      <div className={styles.actions}>
        <Button look="primary" type="submit" isBusy={isBusy}>
          Answer
        </Button>
        <kbd>⌘ Enter</kbd>
      </div>
    </form>
  )
}

/** A tool call that waits for permission: the arguments can be changed before it is allowed. */
function Approval({
  request,
  send,
  isBusy,
  autoFocus,
  approval,
}: FormProps & { readonly approval: NonNullable<ReturnType<typeof approvalOf>> }) {
  const { tool, agent, args } = approval
  const field = useMemo(() => formOf(approval.schema, "Arguments", args), [approval.schema, args])
  const [input, setInput] = useState<FormInput>(new Map())
  const [reason, setReason] = useState("")
  const [isAlways, setAlways] = useState(false)
  const { value, problems } = readForm(field, input)
  const isChanged = input.size > 0 && JSON.stringify(value) !== JSON.stringify(args)
  return (
    <form
      className={styles.form}
      onKeyDown={submitOnCommandEnter}
      onSubmit={(event) => {
        event.preventDefault()
        if (problems.size > 0) return
        void send({ approve: true, ...(isChanged && { args: value }), ...(isAlways && { always: true }) })
      }}
    >
      <p>
        <Chip>{agent}</Chip> calls <Chip>{tool}</Chip>
      </p>
      <SchemaFields
        field={field}
        input={input}
        onInput={setInput}
        problems={problems}
        autoFocus={autoFocus}
      />
      {approval.canAlways && (
        <label className={styles.always}>
          <input
            type="checkbox"
            checked={isAlways}
            onChange={(event) => setAlways(event.currentTarget.checked)}
          />
          Always allow {tool} in this run
        </label>
      )}
      <div className={styles.actions}>
        <Button look="primary" icon="check" type="submit" isBusy={isBusy} disabled={problems.size > 0}>
          {isChanged ? "Allow with these changes" : "Allow"}
        </Button>
        <input
          className={styles.reason}
          aria-label="Reason for a refusal"
          placeholder="Reason, if you refuse"
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
        <Button
          look="danger"
          icon="cross"
          isBusy={isBusy}
          onClick={() =>
            void send({ approve: false, ...(reason.trim() !== "" && { reason: reason.trim() }) })
          }
        >
          Refuse
        </Button>
      </div>
      <span className="visually-hidden">Question {request.id}</span>
    </form>
  )
}
