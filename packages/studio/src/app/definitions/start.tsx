/** Starts a run: a form from the input schema, with the inputs of past runs, and any version to choose. */
import type { Definition } from "@superstep/client"
import { useQuery } from "@tanstack/react-query"
import { type FormEvent, useMemo, useState } from "react"
import { useLocation } from "wouter"
import { useMay } from "../api/queries.ts"
import { client, serverUrl } from "../api/session.ts"
import { runHref } from "../frame/address.ts"
import { NeedsRole } from "../frame/needs-role.tsx"
import { graphModel } from "../run/graph/graph-model.ts"
import { Button } from "../ui/button.tsx"
import { Copy } from "../ui/copy.tsx"
import { Field, Select } from "../ui/field.tsx"
import { brief } from "../ui/format.ts"
import { SchemaFields } from "../ui/schema-fields.tsx"
import { type FormInput, formOf, readForm } from "../ui/schema-form.ts"
import { toastProblem } from "../ui/toast.tsx"
import { versionChoices } from "./definition-model.ts"
import { useVersion } from "./definition-queries.ts"
import styles from "./overview.module.css"

interface StartProps {
  readonly workflow: string
  /** The input schema of the published version. */
  readonly schema: unknown
  readonly definition: Definition | undefined
}

export function Start({ workflow, schema: publishedSchema, definition }: StartProps) {
  const [, navigate] = useLocation()
  const mayStart = useMay("operator")
  const choices = definition === undefined ? [] : versionChoices(definition)
  const [chosen, setChosen] = useState(choices[0]?.value ?? "")
  const choice = choices.find(({ value }) => value === chosen)
  const other = useVersion(workflow, choice?.isPublished === false ? choice.version : undefined)
  const schema =
    choice?.isPublished === false ? other.data?.graph && graphModel(other.data.graph).input : publishedSchema
  const [initial, setInitial] = useState<unknown>()
  const field = useMemo(() => formOf(schema ?? { type: "string" }, "Input", initial), [schema, initial])
  const [input, setInput] = useState<FormInput>(new Map())
  const [isTried, setTried] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const { value, problems } = readForm(field, input)
  const version = choice === undefined || choice.isPublished ? {} : { version: choice.value }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (problems.size > 0) return
    setBusy(true)
    try {
      const run = await client.start(workflow, value, version)
      navigate(runHref(run.id))
    } catch (error) {
      toastProblem(error)
      setBusy(false)
    }
  }
  const curl = () =>
    `curl -s "${serverUrl}/v1/workflows/${encodeURIComponent(workflow)}/runs" --json '${JSON.stringify({ input: value ?? null, ...version }).replaceAll("'", "'\\''")}'`
  return (
    <form
      className={styles.start}
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) event.currentTarget.requestSubmit()
      }}
    >
      <h2>Start a run</h2>
      <PastInputs
        workflow={workflow}
        onChoose={(past) => {
          setInitial(past)
          setInput(new Map())
        }}
      />
      <SchemaFields
        key={JSON.stringify(initial)}
        field={field}
        input={input}
        onInput={setInput}
        problems={isTried ? problems : new Map()}
      />
      {choices.length > 1 && (
        <Field label="Version">
          {({ id }) => (
            <Select
              id={id}
              label="Version"
              value={chosen}
              options={choices.map(({ value: one, label }) => [one, label])}
              onChange={setChosen}
            />
          )}
        </Field>
      )}
      <div className={styles.actions}>
        <Button look="primary" icon="play" type="submit" isBusy={isBusy} disabled={!mayStart}>
          Start
        </Button>
        <Copy what="the request" text={curl}>
          Copy as curl
        </Copy>
      </div>
      <NeedsRole needs="operator" to="start runs" className={styles.note} />
    </form>
  )
}

const PAST = 5

/** The inputs of the last runs: choose one to start from it. */
function PastInputs({
  workflow,
  onChoose,
}: {
  readonly workflow: string
  readonly onChoose: (input: unknown) => void
}) {
  const { data = [] } = useQuery({
    queryKey: ["past-inputs", workflow],
    staleTime: 30_000,
    queryFn: async ({ signal }) => {
      const { data: page } = await client.request("GET /v1/runs", {
        query: { workflow, limit: PAST },
        signal,
      })
      const inputs = await Promise.all(page.runs.map(async ({ id }) => await inputOf(id, signal)))
      return [...new Map(inputs.map((one) => [JSON.stringify(one), one])).values()]
    },
  })
  if (data.length === 0) return null
  return (
    <div className={styles.past} role="group" aria-label="Inputs of past runs">
      {data.map((one) => (
        <button key={JSON.stringify(one)} type="button" title={brief(one, 400)} onClick={() => onChoose(one)}>
          {brief(one, 48) || "(empty)"}
        </button>
      ))}
    </div>
  )
}

/** The first event of a run has its input. */
async function inputOf(run: string, signal: AbortSignal): Promise<unknown> {
  for await (const event of client.get(run).events({ types: ["run.started"], depth: 0, signal })) {
    if (event.type === "run.started") return event.input
  }
  return undefined
}
