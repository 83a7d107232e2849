/** A tab of the settings with a list: what it is about, what can be done, who may, and the list. */
import type { ReactNode } from "react"
import { type Role, useMay } from "../api/queries.ts"
import { NeedsRole } from "../frame/needs-role.tsx"
import { Loaded } from "../ui/states.tsx"
import styles from "./settings.module.css"

interface ListedProps<Row> {
  readonly about: string
  readonly action: ReactNode
  readonly needs: Role
  /** What it takes the role for, such as "see and manage keys". */
  readonly to: string
  readonly query: Parameters<typeof Loaded<readonly Row[]>>[0]["query"]
  /** Instead of a list without entries. */
  readonly empty: ReactNode
  readonly children: (rows: readonly Row[]) => ReactNode
}

export function Listed<Row>({ about, action, needs, to, query, empty, children }: ListedProps<Row>) {
  const may = useMay(needs)
  return (
    <>
      <div className={styles.lead}>
        <p>{about}</p>
        {action}
        <NeedsRole needs={needs} to={to} />
      </div>
      {may && (
        <Loaded query={query} lines={6} empty={empty}>
          {children}
        </Loaded>
      )}
    </>
  )
}
