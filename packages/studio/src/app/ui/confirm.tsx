/** Asks before something that cannot be undone, or that is seen by others: one sentence, and a verb to press. */
import { type ReactNode, useState } from "react"
import { Button } from "./button.tsx"
import { Dialog } from "./dialog.tsx"
import { toastProblem } from "./toast.tsx"

interface ConfirmProps {
  /** What happens to what: "Revoke ci". */
  readonly title: string
  /** On the button. */
  readonly verb: string
  readonly look?: "danger" | "primary"
  /** The dialog closes when it has happened; a refusal is shown, and the dialog stays. */
  readonly onConfirm: () => Promise<unknown>
  readonly onClose: () => void
  /** What follows from it. */
  readonly children: ReactNode
}

export function Confirm({ title, verb, look = "danger", onConfirm, onClose, children }: ConfirmProps) {
  const [isBusy, setBusy] = useState(false)
  const confirm = async () => {
    setBusy(true)
    try {
      await onConfirm()
      onClose()
    } catch (error) {
      toastProblem(error)
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look={look} isBusy={isBusy} onClick={() => void confirm()}>
            {verb}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  )
}
