/** Creates or changes a schedule. The next times are previewed while people type, by the server that will fire them. */
import type { Schedule } from "@superstep/client"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useDeferredValue, useId, useMemo, useState } from "react"
import { useWorkflowGraph, useWorkflows } from "../api/queries.ts"
import { client, queries } from "../api/session.ts"
import { graphModel } from "../run/graph/graph-model.ts"
import { Field, Select, TextInput } from "../ui/field.tsx"
import { FormDialog } from "../ui/form-dialog.tsx"
import parts from "../ui/parts.module.css"
import { SchemaFields } from "../ui/schema-fields.tsx"
import { type FormInput, formOf, readForm } from "../ui/schema-form.ts"
import { failureText, Loading } from "../ui/states.tsx"
import { toast } from "../ui/toast.tsx"
import { draftOf, optionsOf, type ScheduleDraft, timingOf } from "./schedule-draft.ts"
import { Times } from "./schedule-drawer.tsx"
import { CATCH_UPS, cronWords, OVERLAPS } from "./schedule-words.ts"
import styles from "./schedules.module.css"

const KINDS = [
  ["cron", "By a cron pattern"],
  ["every", "At an interval"],
  ["at", "Once"],
] as const
const PREVIEWED = 5
interface ScheduleFormProps {
  /** Undefined: a new one. */
  readonly schedule: Schedule | undefined
  readonly onClose: () => void
  readonly onSaved: (id: string) => void
}

export function ScheduleForm({ schedule, onClose, onSaved }: ScheduleFormProps) {
  const [draft, setDraft] = useState(() =>
    draftOf(schedule, Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC"),
  )
  const [isTried, setTried] = useState(false)
  const [input, setInput] = useState<FormInput>(new Map())
  const { data: workflows = [] } = useWorkflows()
  const graph = useWorkflowGraph(draft.workflow)
  const field = useMemo(() => {
    const schema = graph.data === undefined ? undefined : graphModel(graph.data.graph).input
    const initial = schedule?.workflow === draft.workflow ? schedule.input : undefined
    // Without a schema, text is what people write; a value of another kind is edited as JSON.
    const isText = initial === undefined || initial === null || typeof initial === "string"
    return formOf(schema ?? (isText ? { type: "string" } : {}), "Input of each run", initial ?? undefined)
  }, [graph.data, draft.workflow, schedule])
  const form = readForm(field, input)
  const options = optionsOf(draft, form.value, schedule)
  const problems: ReadonlyMap<string, string> = options instanceof Map ? options : new Map()
  const set = (change: Partial<ScheduleDraft>) => setDraft((before) => ({ ...before, ...change }))
  const problem = (name: keyof ScheduleDraft) => (isTried ? problems.get(name) : undefined)

  const submit = async () => {
    setTried(true)
    if (options instanceof Map || form.problems.size > 0) return undefined
    const id = draft.id.trim()
    const body = options as Exclude<typeof options, ReadonlyMap<string, string>>
    await client.request("PUT /v1/schedules/{schedule}", { path: { schedule: id }, body })
    await queries.invalidateQueries({ queryKey: ["schedules"] })
    toast(schedule === undefined ? `Created ${id}.` : `Changed ${id}.`)
    onSaved(id)
    return undefined
  }
  const text = (name: "id" | "cron" | "every" | "jitter") => ({
    value: draft[name],
    spellCheck: false,
    onInput: (event: { readonly currentTarget: HTMLInputElement }) =>
      set({ [name]: event.currentTarget.value }),
  })
  return (
    <FormDialog
      title={schedule === undefined ? "New schedule" : `Edit ${schedule.id}`}
      look="drawer"
      verb={schedule === undefined ? "Create" : "Save"}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label="Name" problem={problem("id")} hint="Part of the key of each run; it stays.">
        {(props) => <TextInput {...props} {...text("id")} disabled={schedule !== undefined} />}
      </Field>
      <Field label="Workflow" problem={problem("workflow")}>
        {(props) => (
          <Select
            {...props}
            label="Workflow"
            value={draft.workflow}
            onChange={(workflow) => {
              set({ workflow })
              setInput(new Map())
            }}
            options={[["", "Choose"], ...workflows.map(({ name }) => [name, name] as const)]}
          />
        )}
      </Field>
      <Field label="When">
        {(props) => (
          <Select
            {...props}
            label="When"
            value={draft.kind}
            onChange={(kind) => set({ kind: kind as ScheduleDraft["kind"] })}
            options={KINDS}
          />
        )}
      </Field>
      {draft.kind === "cron" && (
        <div className={parts.pair}>
          <Field label="Pattern" problem={problem("cron")} hint={cronWords(draft.cron)}>
            {(props) => <TextInput {...props} {...text("cron")} />}
          </Field>
          <TimeZone value={draft.timeZone} onChange={(timeZone) => set({ timeZone })} />
        </div>
      )}
      {draft.kind === "every" && (
        <Field label="Every" problem={problem("every")} hint="Such as 90 s, 15 min or 1 h 30 min">
          {(props) => <TextInput {...props} {...text("every")} />}
        </Field>
      )}
      {draft.kind === "at" && (
        <Field label="At" problem={problem("at")} hint="In the time zone of this browser">
          {(props) => (
            <TextInput
              {...props}
              type="datetime-local"
              value={draft.at}
              onInput={(event) => set({ at: event.currentTarget.value })}
            />
          )}
        </Field>
      )}
      <Preview draft={draft} />
      {draft.workflow !== "" && (
        <SchemaFields
          key={draft.workflow}
          field={field}
          input={input}
          onInput={setInput}
          problems={isTried ? form.problems : new Map()}
        />
      )}
      <Field label="While an earlier run is in flight">
        {(props) => (
          <Select
            {...props}
            label="While an earlier run is in flight"
            value={draft.overlap}
            onChange={(overlap) => set({ overlap })}
            options={OVERLAPS}
          />
        )}
      </Field>
      <Field label="After a downtime">
        {(props) => (
          <Select
            {...props}
            label="After a downtime"
            value={draft.catchUp}
            onChange={(catchUp) => set({ catchUp })}
            options={CATCH_UPS}
          />
        )}
      </Field>
      <Field
        label="Random delay (optional)"
        problem={problem("jitter")}
        hint="Delays each run by up to this time, such as 30 s."
      >
        {(props) => <TextInput {...props} {...text("jitter")} />}
      </Field>
    </FormDialog>
  )
}

function TimeZone({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (zone: string) => void
}) {
  const list = useId()
  const zones = useMemo(() => ["UTC", ...Intl.supportedValuesOf("timeZone")], [])
  return (
    <Field label="Time zone" hint="Such as Europe/Berlin">
      {(props) => (
        <>
          <TextInput
            {...props}
            list={list}
            value={value}
            spellCheck={false}
            onInput={(event) => onChange(event.currentTarget.value)}
          />
          <datalist id={list}>
            {zones.map((zone) => (
              <option key={zone} value={zone} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}

/** What the server says about this timing. */
function Preview({ draft }: { readonly draft: ScheduleDraft }) {
  const timing = useDeferredValue(timingOf(draft))
  const isReady = !(timing instanceof Map)
  const { data, error } = useQuery({
    queryKey: ["schedule-preview", isReady ? timing : undefined],
    enabled: isReady,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const body = { ...(timing as { cron: string }), count: PREVIEWED }
      return (await client.request("POST /v1/schedules/preview", { body, signal })).data.times
    },
  })
  return (
    <section className={styles.preview} aria-label="Next times" aria-live="polite">
      <h3>Next times</h3>
      {!isReady ? (
        <p className={parts.calm}>They appear when the timing is complete.</p>
      ) : error !== null ? (
        <p className={parts.bad}>{failureText(error).detail}</p>
      ) : data === undefined ? (
        <Loading lines={PREVIEWED} />
      ) : (
        <Times times={data.map(({ plannedAt }) => plannedAt)}>It would never fire.</Times>
      )}
    </section>
  )
}
