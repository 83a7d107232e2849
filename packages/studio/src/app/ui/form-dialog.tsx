/** A dialog with a form: Enter or the button sends it. It shows what is refused, and stays open. */
import { type FormEvent, type ReactNode, useId, useState } from "react"
import { Button } from "./button.tsx"
import { Dialog } from "./dialog.tsx"
import parts from "./parts.module.css"
import { failureText } from "./states.tsx"

interface FormDialogProps {
  readonly title: string
  readonly look?: "dialog" | "drawer"
  /** On the button that sends it. */
  readonly verb: string
  /** Closes the dialog when it has succeeded. Returns, or resolves to, why not; an error is shown as well. */
  readonly onSubmit: () => Promise<string | undefined> | string | undefined
  readonly onClose: () => void
  readonly children: ReactNode
}

export function FormDialog({ title, look = "dialog", verb, onSubmit, onClose, children }: FormDialogProps) {
  const id = useId()
  const [isBusy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<string>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setRefusal(undefined)
    try {
      setRefusal(await onSubmit())
    } catch (error) {
      const { title: what, detail } = failureText(error)
      setRefusal(`${what}: ${detail}`)
    }
    setBusy(false)
  }
  return (
    <Dialog
      title={title}
      look={look}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={id} isBusy={isBusy}>
            {verb}
          </Button>
        </>
      }
    >
      <form id={id} className={parts.form} onSubmit={submit} noValidate>
        {children}
        {refusal !== undefined && (
          <p role="alert" className={parts.bad}>
            {refusal}
          </p>
        )}
      </form>
    </Dialog>
  )
}
