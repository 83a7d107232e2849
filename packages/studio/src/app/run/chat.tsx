/** The run as a conversation, with the text that models are writing right now, and a place to answer what is asked. */
import { useEffect, useMemo, useRef } from "react"
import { Answer } from "../inbox/answer.tsx"
import { Button } from "../ui/button.tsx"
import { Time } from "../ui/figures.tsx"
import { money, short } from "../ui/format.ts"
import { Icon } from "../ui/icon.tsx"
import { JsonView } from "../ui/json-view.tsx"
import { Empty, Failure, Loading } from "../ui/states.tsx"
import styles from "./chat.module.css"
import { type ChatMessage, conversationOf } from "./conversation.ts"
import { ToolCalls } from "./inspector/model-turn.tsx"
import type { LiveText } from "./live-text.ts"
import { useNames } from "./node-names.ts"
import type { RunViewProps } from "./run-view-props.ts"
import { useEventList } from "./use-events.ts"

interface ChatProps extends RunViewProps {
  readonly isNow: boolean
}

/** What a conversation is made of. */
export const CONVERSATION = {
  types: ["run.started", "step.recorded", "request.opened", "request.answered", "output", "run.finished"],
}

export function Chat({ history, version, view, point, run, isNow, select }: ChatProps) {
  const list = useEventList(run, history, version, CONVERSATION)
  const { events, isLoading, error } = list
  const names = useNames()
  const messages = useMemo(() => conversationOf(events, point, names), [events, point, names])
  const live = isNow ? [...history.texts.entries()] : []
  const written = live.reduce((sum, [, { text }]) => sum + text.length, messages.length)
  const scroller = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: new text is the reason to scroll
  useEffect(() => {
    const element = scroller.current
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [written])
  if (error !== null && events.length === 0) return <Failure error={error} />
  if (isLoading) return <Loading lines={6} label="Loading the conversation" />
  if (messages.length === 0) return <Empty icon="chat" title="Nothing was written at this point" />
  return (
    <div
      ref={scroller}
      className={styles.chat}
      tabIndex={0}
      role="region"
      aria-label="Conversation"
      onScroll={({ currentTarget: one }) => {
        isAtEnd.current = one.scrollHeight - one.scrollTop - one.clientHeight < 40
      }}
    >
      {list.hasEarlier && (
        <p className={styles.earlier}>
          <Button onClick={list.loadEarlier}>Show earlier messages</Button>
        </p>
      )}
      <Messages messages={messages} live={live} run={run} view={view} isNow={isNow} select={select} />
    </div>
  )
}

interface MessagesProps extends Pick<ChatProps, "run" | "view" | "isNow" | "select"> {
  readonly messages: readonly ChatMessage[]
  /** What models are writing, by call. */
  readonly live: readonly (readonly [string, LiveText])[]
}

/** The messages of one run, in order. */
export function Messages({ messages, live, run, view, isNow, select }: MessagesProps) {
  return (
    <ol className={styles.messages}>
      {messages.map((message) => (
        <Message
          key={message.id}
          message={message}
          answer={
            isNow &&
            message.kind === "question" &&
            view.requests[message.request ?? ""]?.status === "open" ? (
              <Answer run={run} request={view.requests[message.request ?? ""]?.request} />
            ) : null
          }
          onSelect={() => message.task !== undefined && select({ kind: "task", key: message.task })}
        />
      ))}
      {live.map(([key, { agent, node, text, reasoning, tool }]) => (
        <li key={key} className={styles.message} data-kind="agent" aria-live="off">
          <header className={styles.head}>
            <Icon name="spark" size={14} />
            <strong>{agent ?? node}</strong>
            <span className={styles.writing}>writing</span>
          </header>
          {reasoning !== "" && <p className={styles.reasoning}>{reasoning}</p>}
          <p className={styles.text}>
            {text}
            <span className={styles.caret} />
          </p>
          {tool !== undefined && <p className={styles.dim}>calls {tool}…</p>}
        </li>
      ))}
    </ol>
  )
}

const ICONS = {
  input: "person",
  agent: "spark",
  question: "inbox",
  answer: "person",
  output: "check",
  error: "alert",
} as const

interface MessageProps {
  readonly message: ChatMessage
  readonly answer: React.ReactNode
  readonly onSelect: () => void
}

function Message({ message, answer, onSelect }: MessageProps) {
  const { kind, who, value, turn, at } = message
  return (
    <li className={styles.message} data-kind={kind}>
      <header className={styles.head}>
        <Icon name={ICONS[kind]} size={14} />
        <strong>{who}</strong>
        {turn !== undefined && (
          <button type="button" className={styles.facts} onClick={onSelect} title="Inspect this call">
            {turn.model} · {short((turn.usage.inputTokens ?? 0) + (turn.usage.outputTokens ?? 0))} tokens
            {turn.usage.usd !== undefined && ` · ${money(turn.usage.usd)}`}
          </button>
        )}
        <span className={styles.time}>
          <Time at={at} />
        </span>
      </header>
      {turn?.reasoning !== undefined && turn.reasoning !== "" && (
        <p className={styles.reasoning}>{turn.reasoning}</p>
      )}
      {!(kind === "agent" && value === "") && <JsonView value={value} name={kind} isBare />}
      {turn !== undefined && <ToolCalls calls={turn.calls} />}
      {answer}
    </li>
  )
}
