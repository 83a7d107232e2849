/** What a part of a page shows when it has no data: nothing there yet, still loading, or an error. Each has the final size. */
import type { ReactNode } from "react"
import { isUnanswered } from "../api/connection.ts"
import { Button } from "./button.tsx"
import { Icon, type IconName } from "./icon.tsx"
import styles from "./states.module.css"

interface EmptyProps {
  readonly icon?: IconName
  readonly title: string
  /** What would be here, and how to get it. */
  readonly children?: ReactNode
}

export function Empty({ icon = "box", title, children }: EmptyProps) {
  return (
    <div className={styles.state}>
      <span className={styles.icon}>
        <Icon name={icon} size={20} />
      </span>
      <h2>{title}</h2>
      <div className={styles.text}>{children}</div>
    </div>
  )
}

/** Lines in the place of those that will come. */
export function Loading({
  lines = 6,
  label = "Loading",
}: {
  readonly lines?: number
  readonly label?: string
}) {
  return (
    <div className={styles.loading} role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike and never move
        <span key={i} className={styles.bone} data-width={i % 4} />
      ))}
    </div>
  )
}

/** What happened, to what, and what to do; the detail can be copied. */
export function Failure({
  error,
  retry,
}: {
  readonly error: unknown
  readonly retry?: (() => void) | undefined
}) {
  const { title, detail, icon, isBad } = failureText(error)
  return (
    <div className={styles.state} role="alert" data-unanswered={isUnanswered(error) || undefined}>
      <span className={`${styles.icon} ${isBad ? styles.bad : ""}`}>
        <Icon name={icon} size={20} />
      </span>
      <h2>{title}</h2>
      <div className={styles.text}>{detail}</div>
      {retry !== undefined && isBad && <Button onClick={retry}>Try again</Button>}
    </div>
  )
}

interface LoadedProps<Data> {
  /** What a query returns. */
  readonly query: {
    readonly data: Data | undefined
    readonly isError: boolean
    readonly error: unknown
    readonly refetch: () => unknown
  }
  /** As high as what will be here. */
  readonly lines: number
  /** Instead of a list without entries. */
  readonly empty?: ReactNode
  readonly children: (data: Data) => ReactNode
}

/** What was asked for. Until it is there, lines in its place; if it cannot be had, why. What was there before stays. */
export function Loaded<Data>({ query, lines, empty, children }: LoadedProps<Data>) {
  const { data, isError, error, refetch } = query
  if (data === undefined)
    return isError ? <Failure error={error} retry={() => void refetch()} /> : <Loading lines={lines} />
  return empty !== undefined && Array.isArray(data) && data.length === 0 ? empty : children(data)
}

interface PagesProps {
  readonly hasNextPage: boolean
  readonly isFetchingNextPage: boolean
  readonly fetchNextPage: () => unknown
}

/** Below a list that has more pages. */
export function ShowMore({ pages }: { readonly pages: PagesProps }) {
  if (!pages.hasNextPage) return null
  return (
    <p className={styles.more}>
      <Button isBusy={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
        Show more
      </Button>
    </p>
  )
}

interface FailureText {
  readonly title: string
  readonly detail: string
  readonly icon: IconName
  /** Something is wrong that another attempt may not meet. */
  readonly isBad: boolean
}

export function failureText(error: unknown): FailureText {
  const { code, status, message = "" } = error as { code?: string; status?: number; message?: string }
  if (status === undefined) {
    const detail = "Check that it is running. This page continues by itself when it is back."
    return { title: "The server does not answer", detail, icon: "alert", isBad: true }
  }
  const detail = `${message}${code === undefined ? "" : ` (${code})`}`
  if (status === 403) {
    const advice = `${detail} Sign in with another key, or ask for a role that may.`
    return { title: "Not allowed", detail: advice.trim(), icon: "lock", isBad: false }
  }
  if (status === 404) return { title: "Not found", detail, icon: "search", isBad: false }
  return { title: `The server answered ${status}`, detail, icon: "alert", isBad: true }
}
