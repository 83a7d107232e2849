/** Changes of a value as a list: what was added, removed and changed, with both values. */
import { brief } from "../../ui/format.ts"
import { JsonView } from "../../ui/json-view.tsx"
import styles from "./inspector.module.css"
import type { Change } from "./state-diff.ts"

const SIGNS = { added: "+", removed: "−", changed: "~" } as const

export function Changes({ changes }: { readonly changes: readonly Change[] }) {
  return (
    <ul className={styles.changes}>
      {changes.map(({ path, kind, before, after }) => (
        <li key={path} data-kind={kind}>
          <details open={changes.length <= 3}>
            <summary>
              <span className={styles.sign} aria-hidden="true">
                {SIGNS[kind]}
              </span>
              <code>{path === "" ? "value" : path}</code> <span className={styles.dim}>{kind}</span>{" "}
              <span className={styles.dim}>{brief(kind === "removed" ? before : after, 60)}</span>
            </summary>
            {kind === "changed" && (
              <div className={styles.before}>
                <JsonView value={before} name={`${path}-before`} isBare />
              </div>
            )}
            <JsonView value={kind === "removed" ? before : after} name={path} isBare />
          </details>
        </li>
      ))}
    </ul>
  )
}
