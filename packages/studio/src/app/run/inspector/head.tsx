/** The parts that all inspectors share: the title with its status, and sections with a heading. */
import type { ReactNode } from "react"
import { Status } from "../../ui/status.tsx"
import { nodeKey } from "../keys.ts"
import { useNames } from "../node-names.ts"
import styles from "./inspector.module.css"

interface HeadProps {
  readonly title: string
  readonly about: ReactNode
  readonly status?: string
}

export function Head({ title, about, status }: HeadProps) {
  return (
    <header className={styles.head}>
      <h2 className={styles.title} title={title}>
        {title}
      </h2>
      <p className={styles.about}>
        {status !== undefined && <Status status={status} />}
        <span>{about}</span>
      </p>
    </header>
  )
}

export function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className={styles.section}>
      <h3>{title}</h3>
      {children}
    </section>
  )
}

/** An error with its code and its causes. */
export function ErrorBox({ error }: { readonly error: ErrorShape }) {
  const names = useNames()
  return (
    <div className={styles.error}>
      <strong>{error.message}</strong>
      <p>
        {error.code}
        {error.name !== undefined && error.name !== "Error" ? ` · ${error.name}` : ""}
        {error.node !== undefined ? ` · at ${names.title(nodeKey("", error.node))}` : ""}
      </p>
      {error.cause !== undefined && (
        <>
          <p>Caused by</p>
          <ErrorBox error={error.cause} />
        </>
      )}
    </div>
  )
}

interface ErrorShape {
  readonly code: string
  readonly message: string
  readonly name?: string | undefined
  readonly node?: string | undefined
  readonly cause?: ErrorShape | undefined
}
