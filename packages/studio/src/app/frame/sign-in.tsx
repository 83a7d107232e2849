/** Asks for an API key. It stays in this tab. */
import { type FormEvent, useState } from "react"
import { serverUrl, signIn } from "../api/session.ts"
import { Button } from "../ui/button.tsx"
import { Field, TextInput } from "../ui/field.tsx"
import { Icon } from "../ui/icon.tsx"
import styles from "./sign-in.module.css"

export function SignIn() {
  const [key, setKey] = useState("")
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setProblem(await signIn(key.trim()))
    setBusy(false)
  }
  return (
    <main className={styles.page}>
      <form className={styles.card} onSubmit={submit}>
        <Icon name="lock" size={20} />
        <h1>Sign in to Superstep</h1>
        <p className={styles.about}>{new URL(serverUrl).host} needs an API key. It stays in this tab.</p>
        <Field
          label="API key"
          problem={problem}
          hint={
            <>
              Create one with <code>superstep keys create NAME</code>.
            </>
          }
        >
          {(props) => (
            <TextInput
              {...props}
              type="password"
              autoComplete="off"
              autoFocus
              value={key}
              onInput={(event) => setKey(event.currentTarget.value)}
            />
          )}
        </Field>
        <Button look="primary" type="submit" isBusy={isBusy} disabled={key.trim() === ""}>
          Sign in
        </Button>
      </form>
    </main>
  )
}
