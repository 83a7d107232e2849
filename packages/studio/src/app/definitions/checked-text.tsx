/** What the server reports about a definition while you write it, and its problems as a list. */
import type { Diagnostic } from "@superstep/client"
import { useEffect, useState } from "react"
import { plural } from "../ui/format.ts"
import { Icon } from "../ui/icon.tsx"
import { useValidated } from "./definition-queries.ts"
import styles from "./edit.module.css"

const NO_PROBLEMS: readonly Diagnostic[] = []
/** Milliseconds without typing before the text is checked. */
const PAUSE = 250

export interface Checked {
  readonly problems: readonly Diagnostic[]
  /** The text can be loaded. False until the server has checked it. */
  readonly isValid: boolean
  /** The graph is that of an earlier text. */
  readonly isBehind: boolean
  readonly graph: unknown
  readonly error: unknown
}

/** What the server says about the text, once nobody types. */
export function useChecked(name: string, text: string | undefined): Checked {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settled === undefined ? 0 : PAUSE)
    return () => clearTimeout(timer)
  }, [text, settled])
  const { data, error, isPlaceholderData } = useValidated(name, settled)
  const [graph, setGraph] = useState<unknown>()
  useEffect(() => {
    if (data?.graph !== undefined) setGraph(data.graph)
  }, [data])
  return {
    problems: data?.diagnostics ?? NO_PROBLEMS,
    isValid: data?.valid === true && settled === text && !isPlaceholderData,
    isBehind: data?.valid === false && graph !== undefined,
    graph: data?.graph ?? graph,
    error,
  }
}

/** The problems as a list, for keyboards and screen readers: choose one to go to its line. */
export function Problems({
  checked: { problems, error, isValid },
  onChoose,
}: {
  readonly checked: Checked
  readonly onChoose: (line: number) => void
}) {
  const errors = problems.filter(({ severity }) => severity === "error").length
  const warnings = problems.length - errors
  const words = [
    ...(errors > 0 ? [plural(errors, "error")] : []),
    ...(warnings > 0 ? [plural(warnings, "warning")] : []),
  ]
  return (
    <section className={styles.problems} aria-label="Problems">
      <p className={styles.summary} role="status">
        <span className={errors > 0 || error ? styles.bad : warnings > 0 ? styles.careful : styles.good}>
          <Icon name={problems.length > 0 || error ? "alert" : isValid ? "check" : "clock"} />
        </span>
        {error
          ? "The text could not be checked: the server does not answer."
          : words.length > 0
            ? words.join(", ")
            : isValid
              ? "No problems"
              : "Checking…"}
      </p>
      <ul>
        {problems.map(({ severity, message, line = 1, column = 1, suggestion }) => (
          <li key={`${line}:${column}:${message}`}>
            <button type="button" className={styles.problem} onClick={() => onChoose(line)}>
              <span className={severity === "error" ? styles.bad : styles.careful}>
                <Icon name="alert" size={14} />
              </span>
              <span className={styles.place}>Line {line}</span>
              <span className={styles.message}>
                {message}
                {suggestion !== undefined && !message.includes(suggestion) && ` Did you mean ${suggestion}?`}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
