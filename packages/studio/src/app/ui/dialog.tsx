/** A dialog in the middle or a drawer at the side, as the browser's own modal: it traps the focus, and Escape closes it. */
import { type ReactNode, useId, useLayoutEffect, useRef } from "react"
import { IconButton } from "./button.tsx"
import styles from "./dialog.module.css"

interface DialogProps {
  readonly title: string
  readonly look?: "dialog" | "drawer"
  readonly onClose: () => void
  readonly children: ReactNode
  /** The actions at the end. */
  readonly footer?: ReactNode
}

export function Dialog({ title, look = "dialog", onClose, children, footer }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const body = useRef<HTMLDivElement>(null)
  const id = useId()
  // Before the browser draws: a key pressed right after the one that opened the dialog is for the dialog.
  useLayoutEffect(() => {
    const before = document.activeElement
    ref.current?.showModal()
    // The first field, not the button that closes it: unless a field asks for the focus itself.
    if (ref.current?.querySelector("[autofocus]") === null)
      body.current?.querySelector<HTMLElement>("input, select, textarea")?.focus()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      className={`${styles.dialog} ${styles[look]}`}
      onClose={onClose}
      onCancel={onClose}
      onClick={(event) => event.target === ref.current && onClose()}
    >
      <div className={styles.box}>
        <header className={styles.head}>
          <h2 id={id}>{title}</h2>
          <IconButton icon="cross" label="Close" onClick={onClose} />
        </header>
        <div ref={body} className={styles.body}>
          {children}
        </div>
        {footer !== undefined && <footer className={styles.foot}>{footer}</footer>}
      </div>
    </dialog>
  )
}
