/** Who did something: a key by its name where it may be known, and anybody else as they are called. */
import { useKeyNames } from "../api/queries.ts"
import styles from "./who.module.css"

/** The id of the key that somebody used; undefined: they used none. */
export function keyOf(id: string | undefined): string | undefined {
  return id?.startsWith("key:") === true ? id.slice(4) : undefined
}

export function Who({ id }: { readonly id: string }) {
  const names = useKeyNames()
  const key = keyOf(id)
  const name = key === undefined ? id : names.get(key)
  return name === undefined ? (
    <code className={styles.who} title={id}>
      {id}
    </code>
  ) : (
    <span title={id}>{name}</span>
  )
}
