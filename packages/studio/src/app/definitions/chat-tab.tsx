/**
 * A workflow as a chat: every message starts a run, and its answer is written below, word by word. A label holds the runs of a
 * conversation together; a workflow with state that lasts gets a thread, too.
 */
import type { Definition } from "@superstep/client"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react"
import { Link, useLocation } from "wouter"
import { useMay, useWorkflowGraph } from "../api/queries.ts"
import { client } from "../api/session.ts"
import { runHref, useAddress } from "../frame/address.ts"
import { NeedsRole } from "../frame/needs-role.tsx"
import { CONVERSATION, Messages } from "../run/chat.tsx"
import { conversationOf } from "../run/conversation.ts"
import { graphModel } from "../run/graph/graph-model.ts"
import { printSelection } from "../run/selection.ts"
import { useEventList } from "../run/use-events.ts"
import { useRunAt } from "../run/use-run.ts"
import { Button } from "../ui/button.tsx"
import { Select } from "../ui/field.tsx"
import { shortId } from "../ui/format.ts"
import { Empty, Failure, Loading } from "../ui/states.tsx"
import { toastProblem } from "../ui/toast.tsx"
import styles from "./chat-tab.module.css"
import { versionChoices } from "./definition-model.ts"

interface ChatTabProps {
  readonly name: string
  readonly definition: Definition | undefined
}

const LABEL = "chat"
/** Runs of a conversation that are shown; older ones are in the list of runs. */
const SHOWN = 20

export function ChatTab({ name, definition }: ChatTabProps) {
  const [params, setAddress] = useAddress()
  const cache = useQueryClient()
  const chat = params.get("chat") ?? undefined
  const { data: graph } = useWorkflowGraph(name)
  const remembers = graph !== undefined && hasLastingState(graph.graph)
  const mayStart = useMay("operator")
  const choices = definition === undefined ? [] : versionChoices(definition)
  const [version, setVersion] = useState(choices[0]?.value ?? "")
  const { data, isError, error, refetch } = useQuery({
    queryKey: ["chat", name, chat],
    enabled: chat !== undefined,
    queryFn: async ({ signal }) => {
      const query = { workflow: name, label: [`${LABEL}=${chat}`], limit: SHOWN }
      return (await client.request("GET /v1/runs", { query, signal })).data.runs.toReversed()
    },
  })
  const [isRunning, setRunning] = useState(false)
  const end = useRef<HTMLDivElement>(null)
  const follow = () => end.current?.scrollIntoView({ block: "end" })
  const send = async (text: string): Promise<boolean> => {
    const id = chat ?? crypto.randomUUID().slice(0, 8)
    const choice = choices.find(({ value }) => value === version)
    try {
      await client.start(name, text, {
        labels: { [LABEL]: id },
        ...(remembers && { thread: `${name}-${id}` }),
        ...(choice !== undefined && !choice.isPublished && { version: choice.value }),
      })
    } catch (problem) {
      toastProblem(problem)
      return false
    }
    setRunning(true)
    if (chat === undefined) setAddress({ chat: id }, { replace: true })
    else await cache.invalidateQueries({ queryKey: ["chat", name, chat] })
    return true
  }
  const input = graph && (graphModel(graph.graph).input as { readonly type?: unknown } | undefined)
  if (input?.type !== undefined && input.type !== "string") {
    return (
      <Empty icon="chat" title="This workflow does not take text">
        <p>Its input has other parts. The form under Overview has a field for each.</p>
      </Empty>
    )
  }
  const last = data?.at(-1)?.id
  return (
    <div className={styles.tab}>
      <div className={styles.scroll} role="region" aria-label="Conversation" tabIndex={0}>
        {isError && data === undefined ? (
          <Failure error={error} retry={() => void refetch()} />
        ) : chat === undefined ? (
          <Empty icon="chat" title={`Write to ${name}`}>
            <p>
              Each message starts a run.{" "}
              {remembers
                ? "The runs of one conversation share a thread and its state."
                : "This workflow keeps nothing from one message to the next."}
            </p>
          </Empty>
        ) : data === undefined ? (
          <Loading lines={6} />
        ) : (
          data.map(({ id }) => (
            <Turn key={id} run={id} onChange={follow} onRunning={id === last ? setRunning : undefined} />
          ))
        )}
        <div ref={end} />
      </div>
      <Composer isDisabled={!mayStart || isRunning} onSend={send}>
        {choices.length > 1 && (
          <Select
            label="Version"
            value={version}
            options={choices.map(({ value, label }) => [value, label])}
            onChange={setVersion}
          />
        )}
        {chat !== undefined && (
          <Button
            onClick={() => {
              setRunning(false)
              setAddress({ chat: undefined })
            }}
          >
            New conversation
          </Button>
        )}
        <NeedsRole needs="operator" to="start runs" />
      </Composer>
    </div>
  )
}

function hasLastingState(graph: unknown): boolean {
  const { channels } = (graph ?? {}) as { readonly channels?: unknown }
  return (
    Array.isArray(channels) && channels.some((one: { readonly lasting?: unknown }) => one?.lasting === true)
  )
}

/** One run: what somebody wrote, and what came of it. */
function Turn({
  run,
  onChange,
  onRunning,
}: {
  readonly run: string
  readonly onChange: () => void
  readonly onRunning: ((isRunning: boolean) => void) | undefined
}) {
  const { history, version, state, error, view } = useRunAt(run, undefined)
  const [, navigate] = useLocation()
  const { events } = useEventList(run, history, version, CONVERSATION)
  const isOver = state === "ended" || state === "failed"
  // biome-ignore lint/correctness/useExhaustiveDependencies: new text is the reason to scroll
  useEffect(onChange, [version])
  useEffect(() => onRunning?.(!isOver), [isOver, onRunning])
  if (state === "failed" && history.length === 0) return <Failure error={error} />
  return (
    <section className={styles.turn} aria-label={`Run ${run}`}>
      <Messages
        messages={conversationOf(events, history.length)}
        live={[...history.texts.entries()]}
        run={run}
        view={view}
        isNow
        select={(selection) =>
          selection !== undefined && navigate(runHref(run, { sel: printSelection(selection) }))
        }
      />
      <Link href={runHref(run, { v: "chat" })} className={styles.run}>
        Run {shortId(run)}
      </Link>
    </section>
  )
}

function Composer({
  isDisabled,
  onSend,
  children,
}: {
  readonly isDisabled: boolean
  readonly onSend: (text: string) => Promise<boolean>
  readonly children: React.ReactNode
}) {
  const [text, setText] = useState("")
  const [isBusy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (text.trim() === "" || isBusy || isDisabled) return
    setBusy(true)
    if (await onSend(text)) setText("")
    setBusy(false)
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    form.current?.requestSubmit()
  }
  return (
    <form ref={form} className={styles.composer} onSubmit={submit}>
      <textarea
        aria-label="Message"
        rows={2}
        value={text}
        placeholder="Write a message. Enter sends it, Shift+Enter starts a new line."
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      <div className={styles.actions}>
        {children}
        <Button look="primary" type="submit" isBusy={isBusy} disabled={isDisabled || text.trim() === ""}>
          Send
        </Button>
      </div>
    </form>
  )
}
