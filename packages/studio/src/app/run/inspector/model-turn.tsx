/** A call of a model: its answer, the tools it called, tokens, price, time to the first token; its request and reply as they are. */
import { useState } from "react"
import { duration, money, short } from "../../ui/format.ts"
import { Icon } from "../../ui/icon.tsx"
import { JsonView } from "../../ui/json-view.tsx"
import styles from "./inspector.module.css"
import type { ModelTurn } from "./task-detail.ts"

export function ModelTurnView({ turn }: { readonly turn: ModelTurn }) {
  const [isRaw, setRaw] = useState(false)
  const { model, finish, text, reasoning, calls, usage, firstToken } = turn
  return (
    <article className={styles.turn}>
      <header className={styles.turnHead}>
        <Icon name="spark" size={14} />
        <strong>{model}</strong>
        <span>
          {short(usage.inputTokens ?? 0)} in, {short(usage.outputTokens ?? 0)} out
          {usage.usd === undefined ? "" : `, ${money(usage.usd)}`}
        </span>
        {firstToken !== undefined && <span>first token after {duration(firstToken)}</span>}
        <span>{finish}</span>
        <button type="button" className={styles.link} aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
          {isRaw ? "As a conversation" : "Raw"}
        </button>
      </header>
      {isRaw ? (
        <>
          <h3>Request</h3>
          <JsonView value={turn.request} name="request" />
          <h3>Response</h3>
          <JsonView value={turn.response} name="response" />
        </>
      ) : (
        <>
          {reasoning !== "" && <p className={styles.reasoning}>{reasoning}</p>}
          {text !== "" && <JsonView value={text} name="answer" isBare />}
          <ToolCalls calls={calls} />
        </>
      )}
    </article>
  )
}

export function ToolCalls({ calls }: { readonly calls: ModelTurn["calls"] }) {
  return (
    <>
      {calls.map(({ id, name, args, result }) => (
        <details key={id} className={styles.call}>
          <summary>
            <Icon name="tool" size={14} /> <strong>{name}</strong>{" "}
            <span className={styles.dim}>
              {result === undefined ? "no result yet" : isRefused(result) ? "failed" : "done"}
            </span>
          </summary>
          <h3>Arguments</h3>
          <JsonView value={args} name={`${name}-arguments`} isBare />
          {result !== undefined && (
            <>
              <h3>Result</h3>
              <JsonView value={result} name={`${name}-result`} isBare />
            </>
          )}
        </details>
      ))}
    </>
  )
}

function isRefused(result: unknown): boolean {
  return typeof result === "object" && result !== null && (result as { ok?: unknown }).ok === false
}
