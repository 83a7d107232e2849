/** A new run from a point of this one, with changed state, answers, input, prompts, models or settings. The run itself stays as it is. */
import type { Fork as ForkOptions, Run } from "@superstep/client"
import { useQuery } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import { client } from "../api/session.ts"
import { Button } from "../ui/button.tsx"
import { Dialog } from "../ui/dialog.tsx"
import { Field, Select, TextArea, TextInput } from "../ui/field.tsx"
import { line, plural, shortId } from "../ui/format.ts"
import { Failure, Loading } from "../ui/states.tsx"
import { toast, toastProblem } from "../ui/toast.tsx"
import styles from "./fork.module.css"
import {
  type AgentDraft,
  answerBody,
  answersOf,
  changedState,
  forkBody,
  pointsOf,
  settingsProblem,
  withAgent,
} from "./fork-plan.ts"
import type { RunHistory } from "./history.ts"
import { viewOf } from "./use-run.ts"

interface ForkProps {
  readonly run: Run
  readonly history: RunHistory
  readonly point: number
  readonly onClose: () => void
  readonly onForked: (run: string) => void
}

export function Fork({ run, history, point, onClose, onForked }: ForkProps) {
  const points = pointsOf(history)
  const nearest = points.findLast(({ seq }) => seq <= point) ?? points[0]
  // Until somebody chooses, the point follows the run.
  const [picked, setPicked] = useState<string>()
  const answers = answersOf(history.now)
  const asked = answers.find(({ request }) => picked === `answer ${request.id}`)
  // What happened before the question stays: the ledger counts from the superstep before it.
  const before = points.findLast(({ seq }) => history.timeAt(seq) <= (asked?.request.openedAt ?? 0))
  const superstep = asked === undefined ? Number(picked ?? nearest?.superstep ?? 0) : (before?.superstep ?? 0)
  const chosen = points.find((one) => one.superstep === superstep)
  const seq = chosen?.seq ?? 0
  const base = useQuery({
    queryKey: ["view", run.id, seq],
    queryFn: ({ signal }) => viewOf(run.id, seq, signal),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const isStart = superstep === 0
  const inputText = JSON.stringify(history.now.input ?? null, undefined, 2)
  const stateText = useMemo(() => JSON.stringify(base.data?.state ?? {}, undefined, 2), [base.data])
  const [input, setInput] = useState<string>()
  const [state, setState] = useState<{ readonly superstep: number; readonly text: string }>()
  const [isBusy, setBusy] = useState(false)
  const stateNow = state?.superstep === superstep ? state.text : stateText
  const [answer, setAnswer] = useState<{ readonly id: string; readonly text: string }>()
  const answerNow =
    answer !== undefined && answer.id === asked?.request.id
      ? answer.text
      : JSON.stringify(asked?.answer ?? null, undefined, 2)
  const [draft, setDraft] = useState<AgentDraft>({ agent: "", instructions: "", model: "", settings: "" })
  const own =
    asked === undefined
      ? forkBody({
          superstep,
          input: isStart ? (input ?? inputText) : undefined,
          state: isStart ? undefined : stateNow,
          stateBefore: stateText,
        })
      : answerBody(asked.request.id, answerNow)
  const body = withAgent(own, draft)
  const problem = "problem" in body ? String(body.problem) : undefined
  const wrongSettings = settingsProblem(draft)
  const ledger = useQuery({
    queryKey: ["ledger", run.id, superstep],
    queryFn: async ({ signal }) =>
      (
        await client.request("GET /v1/runs/{run}/ledger", {
          path: { run: run.id },
          query: { at: String(superstep) },
          signal,
        })
      ).data,
  })
  const again = ledger.data?.effects
  const submit = async () => {
    if (problem !== undefined || wrongSettings !== undefined) return
    setBusy(true)
    try {
      const { data } = await client.request("POST /v1/runs/{run}/fork", {
        path: { run: run.id },
        body: body as ForkOptions,
      })
      toast("Forked. The new run shares the past of the old one.")
      onForked(data.id)
    } catch (error) {
      toastProblem(error)
    }
    setBusy(false)
  }
  const changed = isStart ? [] : changedState(stateText, stateNow)
  return (
    <Dialog
      look="drawer"
      title={`Fork ${shortId(run.id)}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button
            look="primary"
            icon="fork"
            isBusy={isBusy}
            disabled={problem !== undefined || wrongSettings !== undefined || base.data === undefined}
            onClick={() => void submit()}
          >
            Fork here
          </Button>
        </>
      }
    >
      <div className={styles.form}>
        <Field
          label="From"
          hint="The new run has everything up to this point, and continues from it. This run stays as it is."
        >
          {(props) => (
            <Select
              {...props}
              label="From"
              value={asked === undefined ? String(superstep) : (picked ?? "")}
              onChange={setPicked}
              options={[
                ...points.map(({ superstep: one, words }) => [String(one), words] as const),
                ...answers.map(
                  ({ request: { id, prompt } }) =>
                    [`answer ${id}`, `Another answer to “${line(prompt, 60)}”`] as const,
                ),
              ]}
            />
          )}
        </Field>
        {asked !== undefined ? (
          <Field
            label="Answer"
            hint="JSON. The new run continues with it as if it had been given at the time."
            problem={problem}
          >
            {(props) => (
              <TextArea
                {...props}
                isCode
                rows={4}
                spellCheck={false}
                value={answerNow}
                onInput={(event) => setAnswer({ id: asked.request.id, text: event.currentTarget.value })}
              />
            )}
          </Field>
        ) : isStart ? (
          <Field label="Input" hint="JSON" problem={problem}>
            {(props) => (
              <TextArea
                {...props}
                isCode
                rows={8}
                spellCheck={false}
                value={input ?? inputText}
                onInput={(event) => setInput(event.currentTarget.value)}
              />
            )}
          </Field>
        ) : base.isError ? (
          <Failure error={base.error} />
        ) : base.data === undefined ? (
          <Loading lines={6} />
        ) : (
          <Field
            label="State at this point"
            hint={
              changed.length === 0
                ? "Change a value, and the new run continues with it."
                : `Changes ${changed.join(", ")}.`
            }
            problem={problem}
          >
            {(props) => (
              <TextArea
                {...props}
                isCode
                rows={10}
                spellCheck={false}
                value={stateNow}
                onInput={(event) => setState({ superstep, text: event.currentTarget.value })}
              />
            )}
          </Field>
        )}
        <AgentFields
          agents={Object.keys(history.now.usageByAgent)}
          draft={draft}
          problem={wrongSettings}
          onChange={setDraft}
        />
        <section className={styles.again}>
          <h3>Happens again</h3>
          {ledger.isError ? (
            <Failure error={ledger.error} />
          ) : again === undefined ? (
            <Loading lines={2} />
          ) : again.length === 0 ? (
            <p>Nothing: after this point, the run called no model and no tool, and asked nobody.</p>
          ) : (
            <>
              <p>
                After this point, the run had {plural(again.length, "effect")}, which{" "}
                {again.length === 1 ? "happens" : "happen"} again in the new run:
              </p>
              <ul>
                {again.slice(0, 12).map(({ seq: number, kind, node, name, isUncertain }) => (
                  <li key={`${number} ${name}`}>
                    <strong>{node}</strong> {kind} <code>{name}</code>
                    {isUncertain === true && " (may not have happened)"}
                  </li>
                ))}
                {again.length > 12 && <li>and {again.length - 12} more</li>}
              </ul>
            </>
          )}
        </section>
      </div>
    </Dialog>
  )
}

interface AgentFieldsProps {
  readonly agents: readonly string[]
  readonly draft: AgentDraft
  /** Of the settings. */
  readonly problem: string | undefined
  readonly onChange: (draft: AgentDraft) => void
}

/** Another prompt, model or settings for one of the agents that called a model in the run. */
function AgentFields({ agents, draft, problem, onChange }: AgentFieldsProps) {
  if (agents.length === 0) return null
  return (
    <>
      <Field
        label="Change an agent"
        hint="From this point on, it has other instructions, another model or other settings."
      >
        {(props) => (
          <Select
            {...props}
            label="Change an agent"
            value={draft.agent}
            onChange={(agent) => onChange({ ...draft, agent })}
            options={[["", "None"], ...agents.map((name) => [name, name] as const)]}
          />
        )}
      </Field>
      {draft.agent !== "" && (
        <>
          <Field label="Instructions" hint="Empty: as they were.">
            {(props) => (
              <TextArea
                {...props}
                rows={4}
                value={draft.instructions}
                onInput={(event) => onChange({ ...draft, instructions: event.currentTarget.value })}
              />
            )}
          </Field>
          <Field label="Model" hint="provider/model. Empty: as it was.">
            {(props) => (
              <TextInput
                {...props}
                value={draft.model}
                onInput={(event) => onChange({ ...draft, model: event.currentTarget.value })}
              />
            )}
          </Field>
          <Field
            label="Model settings"
            hint='JSON, such as { "temperature": 0 }. Empty: as they were.'
            problem={problem}
          >
            {(props) => (
              <TextArea
                {...props}
                isCode
                rows={2}
                spellCheck={false}
                value={draft.settings}
                onInput={(event) => onChange({ ...draft, settings: event.currentTarget.value })}
              />
            )}
          </Field>
        </>
      )}
    </>
  )
}
