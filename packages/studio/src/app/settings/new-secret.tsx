/**
 * A secret that the server shows once. It is kept here, not in a component: the first key of a store ends the session of
 * everybody without a key, which removes the screen while the secret is on it.
 */
import { useSyncExternalStore } from "react"
import { Button } from "../ui/button.tsx"
import { Copy } from "../ui/copy.tsx"
import { Dialog } from "../ui/dialog.tsx"
import parts from "../ui/parts.module.css"
import styles from "./settings.module.css"

interface Secret {
  /** Such as "Key ci". */
  readonly title: string
  readonly secret: string
  readonly about: string
}

let shown: Secret | undefined
const listeners = new Set<() => void>()

export function showSecret(secret: Secret | undefined): void {
  shown = secret
  for (const listener of listeners) listener()
}

export function SecretDialog() {
  const secret = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => shown,
  )
  if (secret === undefined) return null
  const close = () => showSecret(undefined)
  return (
    <Dialog
      title={secret.title}
      onClose={close}
      footer={
        <>
          <Copy what="the secret" text={() => secret.secret}>
            Copy
          </Copy>
          <Button look="primary" onClick={close}>
            I have stored it
          </Button>
        </>
      }
    >
      <div className={parts.form}>
        <p>{secret.about}</p>
        <code className={styles.secret} data-secret>
          {secret.secret}
        </code>
        <p className={parts.calm}>Store it now: it is shown this once.</p>
      </div>
    </Dialog>
  )
}
