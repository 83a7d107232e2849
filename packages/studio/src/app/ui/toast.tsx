/** Short messages about what just happened. They leave by themselves, unless they report a problem. */
import { useSyncExternalStore } from "react"
import { IconButton } from "./button.tsx"
import { failureText } from "./states.tsx"
import styles from "./toast.module.css"

interface Message {
  readonly id: number
  readonly text: string
  readonly isProblem: boolean
}

const STAY = 5_000
let messages: readonly Message[] = []
let next = 1
const listeners = new Set<() => void>()

function set(list: readonly Message[]): void {
  messages = list
  for (const listener of listeners) listener()
}

function dismiss(id: number): void {
  set(messages.filter((one) => one.id !== id))
}

export function toast(text: string): void {
  const id = next++
  set([...messages.slice(-2), { id, text, isProblem: false }])
  setTimeout(() => dismiss(id), STAY)
}

/** For what a person did and the server refused, or in words what cannot be done. */
export function toastProblem(error: unknown): void {
  const { title, detail } = typeof error === "string" ? { title: error, detail: "" } : failureText(error)
  const text = detail === "" ? title : `${title}: ${detail}`
  set([...messages.slice(-2), { id: next++, text, isProblem: true }])
}

export function Toasts() {
  const list = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => messages,
  )
  return (
    <div className={styles.stack} role="status" aria-live="polite">
      {list.map(({ id, text, isProblem }) => (
        <div key={id} className={`${styles.toast} ${isProblem ? styles.problem : ""}`}>
          <span>{text}</span>
          <IconButton icon="cross" label="Dismiss" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  )
}
